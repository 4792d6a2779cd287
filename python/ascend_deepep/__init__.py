# SPDX-License-Identifier: Apache-2.0
"""MoE expert-parallel dispatch and combine for Ascend 950, with a host twin that runs the same kernels.

    with Communicator(group, max_tokens=128, hidden=7168, num_topk=8, num_experts=256) as comm:
        received = dispatch_v2(x, expert_ids, comm)
        ...                                            # run the experts on received.rows
        y = combine_v2(received.expand_x, expert_ids, received.assist_info_for_combine, received.ep_recv_counts,
                       expert_scales, comm)

Names are imported when first used: `import ascend_deepep` loads neither torch nor the compiled parts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_deepep.communicator import Communicator as Communicator
    from ascend_deepep.communicator import required_window_bytes as required_window_bytes
    from ascend_deepep.errors import ArgumentError as ArgumentError
    from ascend_deepep.errors import DeepEPError as DeepEPError
    from ascend_deepep.errors import FabricError as FabricError
    from ascend_deepep.errors import Mismatch as Mismatch
    from ascend_deepep.errors import PeerLost as PeerLost
    from ascend_deepep.errors import WaitTimeout as WaitTimeout
    from ascend_deepep.ops import DispatchOutput as DispatchOutput
    from ascend_deepep.ops import combine_v2 as combine_v2
    from ascend_deepep.ops import dispatch_v2 as dispatch_v2

    __version__: str

_HOME = {
    "Communicator": "communicator",
    "DispatchOutput": "ops",
    "combine_v2": "ops",
    "dispatch_v2": "ops",
    "required_window_bytes": "communicator",
    "ArgumentError": "errors",
    "DeepEPError": "errors",
    "FabricError": "errors",
    "Mismatch": "errors",
    "PeerLost": "errors",
    "WaitTimeout": "errors",
}
_MODULES = frozenset(
    {
        "bench",
        "calibration",
        "cli",
        "communicator",
        "config",
        "demo",
        "diagnosis",
        "errors",
        "integrations",
        "model",
        "ops",
        "reference",
        "reference_by_rank",
        "reference_quant",
        "simulator",
        "sizing",
        "stats",
        "testing",
        "trace",
    }
)

__all__ = [
    "ArgumentError",
    "Communicator",
    "DeepEPError",
    "DispatchOutput",
    "FabricError",
    "Mismatch",
    "PeerLost",
    "WaitTimeout",
    "__version__",
    "combine_v2",
    "dispatch_v2",
    "required_window_bytes",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("ascend-deepep")
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
