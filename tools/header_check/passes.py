# SPDX-License-Identifier: Apache-2.0
"""The three compiler passes over one source.

Layer: build. `space` makes address spaces real types, so every overload, template and static_assert is checked;
`exec/device` and `exec/host` add clang's CUDA call-graph rules, seen from the SIMT and from the kernel side.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
CUDA = ["-x", "cuda", "--cuda-gpu-arch=sm_90", "-nocudainc", "-nocudalib", "-DASCCHK_EXEC"]
PASSES = {
    "space": ["-x", "c++"],
    "exec/device": [*CUDA, "--cuda-device-only", "-Xclang", "-fcuda-allow-variadic-functions"],
    "exec/host": [*CUDA, "--cuda-host-only"],
}
# What the device compiler predefines for dav-3510. LIB_KERNEL_API_H skips the umbrella of all adv_api headers, which
# needs a generated file; the wanted ones are included singly.
TARGET = [
    "-D__NPU_ARCH__=3510",
    "-D__DAV_VEC__",
    "-D__DAV_C310__",
    "-D__CCE_AICORE__=310",
    "-DASC_DEVKIT_MAJOR=9",
    "-DLIB_KERNEL_API_H",
]
WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wno-unused",
    "-Wno-unknown-pragmas",
    "-Wno-undefined-inline",
    "-Wno-undefined-internal",
    "-Wno-undefined-var-template",
    "-Wno-unknown-attributes",
    "-Wno-unknown-cuda-version",
    "-Wno-cuda-compat",
]
ERROR = re.compile(r"(?:fatal )?error: ")
# `__ubuf__ T buffer[N];` in a function is legal for the device compiler; clang knows no such storage.
LEGAL = "automatic variable qualified with an address space"


@dataclasses.dataclass(frozen=True)
class Result:
    """Outcome of one pass over one source."""

    source: str
    name: str
    errors: tuple[str, ...]
    output: str


def compiler() -> str:
    """CLANGXX, or Debian's clang 19: older releases lack arithmetic on __bf16."""
    return os.environ.get("CLANGXX", "clang++-19")


def run_pass(source: Path, name: str, includes: list[str], flags: list[str]) -> Result:
    """Compile `source` (syntax only) in pass `name`."""
    command = [compiler(), *PASSES[name], "-fsyntax-only", "-std=c++17", "-ferror-limit=0", *TARGET, *WARNINGS]
    command += ["-ftemplate-backtrace-limit=6", f"-I{HERE / 'stubs'}", "-include", "npu_prelude.h", *includes]
    command += ["-include", "kernel_operator.h", "-include", "npu_user.h", *flags, str(source)]
    run = subprocess.run(command, capture_output=True, text=True)
    errors = tuple(line for line in run.stderr.splitlines() if ERROR.search(line) and LEGAL not in line)
    if run.returncode and not ERROR.search(run.stderr):
        errors = (f"{source}: error: {compiler()} exits {run.returncode}: {run.stderr.strip()[:300]}",)
    return Result(str(source), name, errors, run.stderr)


def run_all(jobs: list[tuple[Path, list[str]]], includes: list[str]) -> list[Result]:
    """All passes over all (source, flags), as many at once as there are cores; results in the order of `jobs`."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [pool.submit(run_pass, source, name, includes, flags) for source, flags in jobs for name in PASSES]
        return [future.result() for future in futures]
