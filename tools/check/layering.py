# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: contract <- protocol <- dispatch, combine; op_kernel/ closed; the oracle on its own.

Layer: build. The rules are those of docs/architecture.md; a new directory of op_kernel/ needs a row in MAY_INCLUDE.
host_layering.py has the rules of host code.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator

from tools.check.tree import CPP_SUFFIXES, Finding, Tree, blank_comments

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b(.*)")
GUARD = re.compile(r"^\s*#\s*ifndef\s+ASCEND_DEEPEP_\w+_H_?\s*$")
MOE_WORD = re.compile(r"\w*(?:expert|token|topk|hidden|combine|dispatch)\w*", re.IGNORECASE)
# Fields of a URMA queue context: there a token is the access key of a memory segment.
URMA_FIELD = re.compile(r"\b(?:remote_token|local_token|token_enable)\b")

# Directory of op_kernel/ ("" = the entry points) -> directories of op_kernel/ that it may include.
MAY_INCLUDE = {
    "contract": {"contract"},
    "port": {"contract", "port"},
    "protocol": {"contract", "port", "protocol"},
    "quant": {"contract", "port", "protocol", "quant"},
    "routing": {"contract", "port", "protocol", "routing"},
    "dispatch": {"contract", "port", "protocol", "quant", "routing", "dispatch"},
    "combine": {"contract", "port", "protocol", "quant", "routing", "combine"},
    "package": {"contract", "port", "protocol", "quant", "routing", "dispatch", "combine"},
    "": {"contract", "port", "protocol", "quant", "routing", "dispatch", "combine"},
}
# Where kernels may give way while they poll. The one wait primitive bounds every wait and watches the abort word; a
# role that serves several peers calls it by go_on_for. port.h is where the name is made.
MAY_GIVE_WAY = ("op_kernel/port/port.h", "op_kernel/protocol/wait.h")
GIVES_WAY = re.compile(r"\b(?:poll_pause|poll_yield|poll_wait)\b")
LEAF_HEADERS = {"cstdint", "cstddef", "cstring", "immintrin.h", "arm_neon.h"}


def includes(tree: Tree, path: str) -> Iterator[tuple[int, bool, str]]:
    """(line, is quoted, name) of each include of a file."""
    for number, line in enumerate(tree.lines(path), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def resolve(tree: Tree, path: str, name: str) -> str | None:
    """Repository path of an include, looked up beside the file, below op_kernel/ and below the root."""
    for base in (posixpath.dirname(path), "op_kernel", ""):
        candidate = posixpath.normpath(posixpath.join(base, name))
        if candidate in tree.paths:
            return candidate
    return None


def room(path: str) -> str:
    """Directory below op_kernel/ that a file of it is in, "" for the entry points."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def kernel_includes(tree: Tree) -> Iterator[Finding]:
    """op_kernel/ includes itself, the AscendC headers and <cstdint> (port/ also the twin); layers go one way only."""
    for path in tree.written(*CPP_SUFFIXES):
        if not path.startswith("op_kernel/"):
            continue
        here = room(path)
        if here not in MAY_INCLUDE:
            yield Finding(path, 1, "layering", f"op_kernel/{here} has no row in tools/check/layering.py")
            continue
        for line, quoted, name in includes(tree, path):
            ascendc = name == "kernel_operator.h" or name.startswith("simt_api/")
            if name == "cstdint" or (ascendc and here != "contract"):
                continue
            target = resolve(tree, path, name) if quoted else None
            if here == "port" and target and target.startswith("twin/"):
                continue
            if target is None or not target.startswith("op_kernel/"):
                yield Finding(path, line, "layering", f"op_kernel/ is closed: '{name}' lies outside")
            elif room(target) not in MAY_INCLUDE[here]:
                yield Finding(path, line, "layering", f"{here or 'entry point'} must not include {target}")


def leaf_includes(tree: Tree) -> Iterator[Finding]:
    """A leaf unit includes no header with inline functions (cmake/LeafVariants.cmake says why)."""
    for path in tree.written("_leaf.cpp"):
        for line, quoted, name in includes(tree, path):
            if not quoted and name not in LEAF_HEADERS:
                yield Finding(path, line, "layering", f"a leaf unit must not include <{name}>")


def protocol_words(tree: Tree) -> Iterator[Finding]:
    """protocol/ knows blocks, flags and queues; no MoE word outside comments."""
    for path in tree.written(*CPP_SUFFIXES):
        if path.startswith("op_kernel/protocol/"):
            # Literals are blanked too, so the names in include lines are looked at in the original.
            code = blank_comments(tree.text(path)).splitlines()
            for number, (bare, line) in enumerate(zip(code, tree.lines(path), strict=True), 1):
                match = MOE_WORD.search(URMA_FIELD.sub("", line if INCLUDE.match(line) else bare))
                if match:
                    yield Finding(path, number, "layering", f"'{match[0]}': protocol/ has no MoE word")


def target_conditionals(tree: Tree) -> Iterator[Finding]:
    """One kernel source for all targets: no conditional compilation in op_kernel/ outside port/."""
    for path in tree.written(*CPP_SUFFIXES):
        if path.startswith("op_kernel/") and room(path) != "port":
            for number, line in enumerate(tree.lines(path), 1):
                if CONDITIONAL.match(line) and not GUARD.match(line):
                    yield Finding(path, number, "layering", "no #if in op_kernel/ outside port/ but the include guard")


def polls(tree: Tree) -> Iterator[Finding]:
    """op_kernel/ polls by the wait primitive only: nothing else gives way. (A poll that does not is a twin's fault.)"""
    for path in tree.written(*CPP_SUFFIXES):
        if path.startswith("op_kernel/") and path not in MAY_GIVE_WAY:
            for number, line in enumerate(blank_comments(tree.text(path)).splitlines(), 1):
                match = GIVES_WAY.search(line)
                if match:
                    yield Finding(path, number, "layering", f"{match[0]} outside of protocol/wait.h: use Wait::go_on")


def oracle_imports(tree: Tree) -> Iterator[Finding]:
    """reference.py, the independent witness, imports nothing of the package."""
    path = "python/ascend_deepep/reference.py"
    if path not in tree.paths:
        return
    for node in ast.walk(ast.parse(tree.text(path))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        else:
            continue
        for name in names:
            if name.startswith(".") or name.split(".")[0] == "ascend_deepep":
                yield Finding(path, node.lineno, "layering", f"the oracle must not import '{name}'")
