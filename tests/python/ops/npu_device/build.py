# SPDX-License-Identifier: Apache-2.0
"""Builds the library of kernels for NPU tensors over a device on host memory, torch_npu and communicator stand-ins.

Layer: tests. The units of framework/npu are the objects that tools/torch_npu_check made.
"""

from __future__ import annotations

import fcntl
import subprocess
from dataclasses import replace
from pathlib import Path

from tools.torch_npu_check import units
from tools.torch_npu_check.wheel import obtain, torch_directory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]


def objects() -> tuple[units.Compiler, Path, list[Path]]:
    """The compiler, torch, and the objects of the product and of the stand-ins."""
    wheel = obtain(ROOT)
    torch = torch_directory(wheel.version)
    chosen = units.compiler(ROOT, wheel, torch)
    # The stand-ins speak to ATen, which the stable ABI leaves out.
    flags = tuple(flag for flag in chosen.flags if not flag.startswith("-DTORCH_TARGET_VERSION"))
    ours = replace(chosen, flags=flags, key=chosen.key + " without the stable ABI")
    made = [
        *units.compile_all(chosen, units.sources(ROOT)),
        *units.compile_all(ours, sorted(HERE.glob("*.cpp"))),
    ]
    failed = [unit.errors for unit in made if unit.errors]
    assert not failed, "\n".join(failed)
    return chosen, torch, [unit.object for unit in made]


def build(target: Path, package: Path) -> Path:
    """Link `target` to the libraries of the installed package."""
    cache = ROOT / "build/torch_npu"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:  # several workers may want it at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        chosen, torch, files = objects()
    libraries = [package / f"libascend_deepep_{name}.so" for name in ("ops", "runtime")]
    command = [
        *(chosen.program, "-shared", "-o", str(target), *map(str, files), *map(str, libraries)),
        *(f"-L{torch / 'lib'}", "-ltorch_cpu", "-lc10", "-ldl", f"-Wl,-rpath,{package}", "-Wl,-z,defs"),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return target
