# SPDX-License-Identifier: Apache-2.0
"""The traces of all ranks on every rank. Layer: Python; torch.distributed when it is called."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from ascend_deepep.trace.assemble import recording_of
from ascend_deepep.trace.recording import Recording

if TYPE_CHECKING:
    import torch.distributed as dist

    from ascend_deepep._runtime import TraceDict


def gather(own: TraceDict, group: dist.ProcessGroup | None) -> Recording:
    """What `Communicator.stop_trace()` gave on every rank of the group, as one recording. Collective."""
    from ascend_deepep._group import members

    _, _, all_gather = members(group)
    return recording_of("twin", [pickle.loads(blob) for blob in all_gather(pickle.dumps(own))])
