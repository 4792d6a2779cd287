# SPDX-License-Identifier: Apache-2.0
"""What a wait is for, in words. Layer: Python, no torch. The roles' waits are in docs/protocol.md, "Roles"."""

from __future__ import annotations

from ascend_deepep.trace.recording import Wait

_MESSAGE = "control message"
# Stage of a wait -> what of the peer it waits for; of the rank's own cores where the peer is the rank itself.
_FROM_PEER = {"cumsum": _MESSAGE, "control": _MESSAGE, "collect": "token copies", "reduce": "rows"}
_OWN = {
    "route": "its own routing table",
    "stage": "its own stage cores",
    "prefix": "its own cumsum cores",
    "collect": "its own token copies",
    "send": "its own validation",
    "reduce": "its own control core",
    "cumsum": f"its own {_MESSAGE}",
    "control": f"its own {_MESSAGE}",
}
_QUEUES = {
    "wqe_builder": "room in the queue to rank {}",
    "doorbell": "entries or completions of the queue to rank {}",
    "send": "room in the queue to rank {}",
}


def is_for_peer(wait: Wait) -> bool:
    """Whether only another rank can end it. A queue's end is here, whoever its peer is."""
    return wait.peer != wait.rank and wait.stage in _FROM_PEER


def reason(wait: Wait) -> str:
    """Such as "rank 3's control message" or "its own routing table"."""
    if is_for_peer(wait):
        return f"rank {wait.peer}'s {_FROM_PEER[wait.stage]}"
    if wait.stage in _QUEUES and (wait.peer != wait.rank or wait.stage not in _OWN):
        return _QUEUES[wait.stage].format(wait.peer)
    return _OWN.get(wait.stage, f"its own cores ({wait.stage})")
