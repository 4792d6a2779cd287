# SPDX-License-Identifier: Apache-2.0
"""Compiles, without CANN, the sources that only a build with CANN links: warnings are errors.

Layer: build. op_host/cann/ is compiled against the stand-in of CANN's registration headers (tools/cann_headers/), the
launches of framework/npu/launch.asc as calls with the same arguments. `compile_sources` takes further sets of sources.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.check.tree import Finding, Tree

STAND_IN = "tools/cann_headers"
LAUNCHES = "framework/npu/launch.asc"
WARNINGS = ("-Wall", "-Wextra", "-Werror")
MESSAGE = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
# kernel<<<blocks, ub_bytes, stream>>>(arguments): the one thing in a .asc file that a host compiler cannot read.
LAUNCH = re.compile(r"(\w+)\s*<<<(.*?)>>>\s*\(", re.DOTALL)
LAUNCH_PRELUDE = "inline void checked_launch(uint32_t, uint32_t, void*) {}\n"


def compiler() -> str | None:
    """CXX, else g++."""
    return shutil.which(os.environ.get("CXX", "g++"))


def run(command: Sequence[str], root: Path, source: str, text: str | None = None) -> list[Finding]:
    """One compiler run; `text` is compiled in place of the file's own content."""
    done = subprocess.run(
        [*command, "-" if text is not None else source], cwd=root, input=text, capture_output=True, text=True
    )
    found = [
        Finding(match["path"], int(match["line"]), "cann", match["text"]) for match in MESSAGE.finditer(done.stderr)
    ]
    if done.returncode and not found:
        found = [Finding(source, 1, "cann", f"{command[0]} exits {done.returncode}: {done.stderr.strip()[:300]}")]
    return found


def compile_sources(tree: Tree, sources: Sequence[str], flags: Sequence[str]) -> Iterator[Finding]:
    """Each source alone, nothing kept: what a build with `flags` and warnings as errors would refuse."""
    cxx = compiler()
    if cxx is None:
        yield Finding(sources[0], 1, "cann", "no C++ compiler: install g++, or name one in CXX")
        return
    command = [cxx, "-fsyntax-only", *WARNINGS, *flags]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for findings in pool.map(lambda source: run(command, tree.root, source), sources):
            yield from findings


def cann_wrappers(tree: Tree) -> Iterator[Finding]:
    """The operator package's host side compiles, also with the older C++ ABI that CANN's build uses."""
    sources = [path for path in tree.written(".cpp") if path.startswith("op_host/cann/")]
    flags = ["-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=0", "-I.", "-Iop_kernel", f"-I{STAND_IN}"]
    yield from compile_sources(tree, sources, flags)


def as_calls(text: str) -> str:
    """The text of a .asc file with launches turned into calls; lines stay where they are."""
    return LAUNCH.sub(lambda match: f"checked_launch({match[2]}), {match[1]}(", text)


def kernel_launches(tree: Tree) -> Iterator[Finding]:
    """Direct launches pass what the kernels take, and are defined as their header declares them."""
    cxx = compiler()
    if cxx is None or LAUNCHES not in tree.paths:
        yield Finding(LAUNCHES, 1, "cann", "no C++ compiler (install g++, or name one in CXX) or no such file")
        return
    flags = ["-std=c++17", "-DASCEND_DEEPEP_TWIN_POLICY=Fast", "-Itwin/include", "-I.", "-Iop_kernel"]
    command = [cxx, "-fsyntax-only", *WARNINGS, *flags, "-x", "c++"]
    text = f'#include <cstdint>\n{LAUNCH_PRELUDE}\n#line 1 "{LAUNCHES}"\n{as_calls(tree.text(LAUNCHES))}'
    yield from run(command, tree.root, LAUNCHES, text)
