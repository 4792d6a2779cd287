# SPDX-License-Identifier: Apache-2.0
"""Builds the kernel module from changed sources. Layer: tests.

A mutant is a copy of op_kernel/ in which one place was changed; the runtime opens it instead of its own module when
ASCEND_DEEPEP_KERNELS names it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ascend_deepep import _runtime

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Mutant:
    """One change: in `file`, `old` (exactly once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str


def empty_body(source: str, function: str) -> str:
    """The source with the body of `inline void function(...)` emptied."""
    match = re.search(rf"inline void {function}\([^)]*\) \{{", source)
    if match is None:
        raise ValueError(f"no function `void {function}(...)` with a body")
    depth, at = 1, match.end()
    while depth > 0:
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
    return source[: match.end()] + source[at - 1 :]


def replace_once(source: str, old: str, new: str) -> str:
    if source.count(old) != 1:
        raise ValueError(f"{source.count(old)} places instead of one hold: {old}")
    return source.replace(old, new)


def copy_sources(folder: Path) -> Path:
    """A copy of op_kernel/ to change. Returns its path."""
    target = folder / "op_kernel"
    shutil.copytree(ROOT / "op_kernel", target)
    return target


def build(op_kernel: Path, policy: str = "Fast") -> Path:
    """Compiles the module from `op_kernel` for a policy of the twin. Returns the library."""
    library = op_kernel.parent / f"kernels_{policy.lower()}.so"
    package = Path(_runtime.__file__).parent
    command = [
        os.environ.get("CXX", "g++"),
        *("-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-gnu-unique", "-fno-strict-aliasing"),
        *("-ffp-contract=off", "-w", f"-DASCEND_DEEPEP_TWIN_POLICY={policy}"),
        *(f"-I{ROOT / 'twin/include'}", f"-I{op_kernel}", f"-I{ROOT}"),
        str(ROOT / "twin/kernels/table.cpp"),
        *(f"-L{package}", "-lascend_deepep_runtime", f"-Wl,-rpath,{package}", "-o", str(library)),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    return library
