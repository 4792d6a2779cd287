# SPDX-License-Identifier: Apache-2.0
"""Where the demo's tensors lie: on the host for the twin, on this rank's NPU for ascend950. Layer: Python.

The NPU branch was never run: no NPU was at hand.
"""

from __future__ import annotations

import torch

from ascend_deepep import DispatchOutput, _target
from ascend_deepep.config import TWIN, settings


def choose_device(rank: int) -> torch.device:
    """The device of a rank's tensors, made current; before the communicator, which belongs to the current device."""
    if _target.choose(settings().target) == TWIN:
        return torch.device("cpu")
    npu = torch.npu  # type: ignore[attr-defined]
    device = torch.device("npu", rank % npu.device_count())
    npu.set_device(device)
    return device


def to_host(received: DispatchOutput) -> DispatchOutput:
    """The outputs as CPU tensors: the very same ones on the twin."""
    return DispatchOutput(*(output.cpu() for output in received))
