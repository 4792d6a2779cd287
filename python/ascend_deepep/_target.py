# SPDX-License-Identifier: Apache-2.0
"""Which targets this process has, and which of them a communicator runs on. Layer: Python.

The twin is always there. `ascend950` is there once the library of NPU kernels is loaded, which registers it; that
library stands beside the others only where the package was built with CANN, and it needs torch_npu in the process.
"""

from __future__ import annotations

import importlib
import os
import warnings
from pathlib import Path

from ascend_deepep import _runtime
from ascend_deepep.config import NPU, PREFIX, TWIN
from ascend_deepep.errors import ArgumentError

NPU_LIBRARY = "libascend_deepep_ops_npu.so"

_missing = "the operators are not loaded"


def load_npu_library(directory: Path) -> None:
    """Load the kernels of NPU tensors, if `directory` has them; a library that cannot be loaded is a warning."""
    global _missing
    library = directory / NPU_LIBRARY
    if os.environ.get(PREFIX + "TARGET") == TWIN:
        _missing = f"{PREFIX}TARGET = {TWIN!r} keeps it out of this process"
        return
    if not library.is_file():
        _missing = f"{library} is not there: this package was built without CANN; docs/npu.md says how to build with it"
        return
    try:
        import torch

        importlib.import_module("torch_npu")  # the device type `npu`, and libraries that ours is linked against
        torch.ops.load_library(os.fspath(library))  # type: ignore[no-untyped-call]
    except Exception as error:  # torch_npu raises what it likes: ImportError, OSError, RuntimeError
        _missing = f"{library} cannot be loaded: {type(error).__name__}: {error}"
        warnings.warn(
            f"target {NPU} is left out, calls run on the twin: {_missing}. `ascend-deepep doctor` tells more; "
            f"{PREFIX}TARGET={TWIN} silences this",
            RuntimeWarning,
            stacklevel=2,
        )


def targets() -> list[str]:
    """Targets that this process has."""
    return list(_runtime.targets())


def missing() -> str:
    """Why the NPU is not among the targets; empty where it is."""
    return "" if NPU in targets() else _missing


def choose(wish: str) -> str:
    """The target for a wish of the configuration: `auto` takes the NPU where there is one."""
    have = targets()
    if wish == "auto":
        return NPU if NPU in have else TWIN
    if wish not in have:
        raise ArgumentError(f"{PREFIX}TARGET = {wish!r}, but this process has only {', '.join(have)}: {_missing}")
    return wish
