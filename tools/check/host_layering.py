# SPDX-License-Identifier: Apache-2.0
"""Who may include whom on the host, outside op_kernel/; and who may see which library.

Layer: build. The rules are those of docs/architecture.md; a new directory below ROOTS needs a row in MAY_INCLUDE. Of
op_kernel/ host code sees the contract only.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from tools.check.layering import includes, resolve
from tools.check.tree import CPP_SUFFIXES, Finding, Tree

CONTRACT = "op_kernel/contract"
# Directory -> directories that its files may include besides the contract; itself is always one of them.
MAY_INCLUDE = {
    "op_host": set[str](),
    "op_host/cann": {"op_host"},
    "twin/runtime": set[str](),
    "twin/fabric": {"twin/runtime"},
    "twin/sim": {"twin/runtime", "twin/fabric"},
    "simulator/timeline": {"op_host", "twin/fabric", "twin/sim"},
    "simulator/scenario": {
        "op_host",
        "twin/runtime",
        "twin/fabric",
        "twin/sim",
        "simulator/timeline",
        "simulator/scenario/checks",
    },
    "simulator/scenario/checks": {"twin/sim", "twin/fabric", "simulator/scenario"},
    "simulator/search": {"twin/runtime", "twin/sim", "simulator/scenario"},
    "simulator/scale": {"op_host", "twin/runtime", "twin/sim", "simulator/scenario"},
    "simulator/binding": {
        "op_host",
        "simulator/scenario",
        "simulator/search",
        "simulator/scale",
        "twin/runtime",
        "twin/sim",
        "framework/runtime",
    },
    "framework/runtime": {"op_host", "twin/runtime", "twin/fabric"},
    "framework/npu": {"op_host", "framework/runtime"},
    "framework/ops": {"op_host", "framework/runtime"},
    "framework/npu/ops": {"op_host", "framework/runtime", "framework/npu", "framework/ops"},
    "framework/binding": {"op_host", "framework/runtime", "twin/fabric", "twin/runtime"},
}
ROOTS = ("op_host/", "simulator/", "framework/")  # every directory below them has a row
# Headers of a library, by how their names begin -> the directories or files that may see them.
LIBRARIES = {
    ("pybind11/",): ("framework/binding/", "simulator/binding/", "framework/ops/definitions_errors.cpp"),
    ("torch/", "ATen/", "c10/"): ("framework/ops/", "framework/npu/ops/"),
    ("torch_npu/", "acl/"): ("framework/npu/ops/torch_stream.cpp",),
    ("exe_graph/", "graph/", "register/"): ("op_host/cann/",),
}


def room(path: str) -> str:
    """Directory of a file, cut to the one of MAY_INCLUDE that it lies in; itself where there is none."""
    directory = posixpath.dirname(path)
    above = directory
    while above and above not in MAY_INCLUDE:
        above = posixpath.dirname(above)
    return directory if directory.startswith(ROOTS) or not above else above


def complaint(path: str, name: str, target: str | None) -> str:
    """What is wrong with one include of a file in a known directory; empty when it may be."""
    here = room(path)
    for beginnings, seen_by in LIBRARIES.items():
        if target is None and name.startswith(beginnings) and not path.startswith(seen_by):
            return f"<{name}> is for {', '.join(seen_by)} only"
    if target is None:
        return ""
    if target.startswith("op_kernel/"):
        return "" if target.startswith(CONTRACT) else f"host code sees only {CONTRACT}, not {target}"
    there = room(target)
    return "" if there == here or there in MAY_INCLUDE[here] else f"{here} must not include {target}"


def host_includes(tree: Tree) -> Iterator[Finding]:
    """Host code includes what its row allows, of op_kernel/ the contract, and libraries where they belong."""
    for path in tree.written(*CPP_SUFFIXES):
        here = room(path)
        if here not in MAY_INCLUDE:
            if path.startswith(ROOTS):
                yield Finding(path, 1, "layering", f"{here} has no row in tools/check/host_layering.py")
            continue
        for line, quoted, name in includes(tree, path):
            problem = complaint(path, name, resolve(tree, path, name) if quoted else None)
            if problem:
                yield Finding(path, line, "layering", problem)
