# SPDX-License-Identifier: Apache-2.0
"""Kernels reach a word of GM by an accessor, never through the pointer itself.

Layer: build. `*p`, `p[i]` and `p->f` on a `__gm__` pointer are cached accesses of the device, and plain ones of the
twin, which no model of caches sees. Allowed is an address (`&p->f`), for load, store, an atomic or asc_ldcg to take. A
heuristic over names: one that is declared as a `__gm__` pointer counts up to the end of its block or function, a
member everywhere behind a dot or an arrow. A pointer that `auto` hides is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.check.tree import CPP_SUFFIXES, Finding, Tree, blank_comments

DECLARED = re.compile(r"(?:\b__gm__\s+[\w:<>]+\s*\*|\bGM_ADDR)\s*(?:const\s+)?(\w+)\s*(?=[;,)={])")
# What stands in a structure of its own: `ctx.page->...`.
MEMBER = re.compile(r"^    (?:__gm__\s+[\w:<>]+\s*\*|GM_ADDR)\s*(\w+);", re.MULTILINE)
CAST = re.compile(
    r"(?:(?<![\w)\]])|\breturn)\s*\*\s*\(\s*__gm__"  # *(__gm__ T*)x
    r"|\(\s*\(\s*__gm__[^()]*\*\s*\)\s*[\w.]+\s*\)\s*(?:\[|->)"  # ((__gm__ T*)x)[i]
)
ADVICE = "use load, store, an atomic, or asc_ldcg and asc_stcg in SIMT code"


def scope_end(code: str, start: int) -> int:
    """Where a name declared before `start` ends: at its block's end, or at its function's, if it is a parameter."""
    opened = max(code.rfind(char, 0, start) for char in ";{}")
    is_parameter = code.count("(", opened + 1, start) > code.count(")", opened + 1, start)
    depth = 0
    for position in range(start, len(code)):
        if code[position] == "{":
            depth += 1
        elif code[position] == "}":
            depth -= 1
            if depth < 0 or (is_parameter and depth == 0):
                return position
        elif code[position] == ";" and is_parameter and depth == 0:
            return position
    return len(code)


def direct_uses(code: str, name: str, start: int, end: int) -> Iterator[int]:
    """Positions in [start, end) where the pointer `name` is followed."""
    use = re.compile(rf"((?:\b\w+\s*(?:\.|->)\s*)*)\b{name}\b\s*(\[|->)?")
    for match in use.finditer(code, start, end):
        before = code[: match.start()].rstrip()
        is_address = before.endswith("&") and not before.endswith("&&")
        is_star = before.endswith("*") and re.search(r"(?:[^\w)\]>\s]|\breturn)\s*\*$", before) is not None
        if (match[2] and not is_address) or is_star:
            yield match.start()


def direct_accesses(code: str, members: set[str]) -> set[int]:
    """Positions of accesses through GM pointers."""
    found = {match.end() - 1 for match in CAST.finditer(code)}
    for match in DECLARED.finditer(code):
        found.update(direct_uses(code, match[1], match.end(), scope_end(code, match.end())))
    for member in members:
        found.update(at for at in direct_uses(code, rf"(?<=[.>]){member}", 0, len(code)))
    return found


def gm_words(tree: Tree) -> Iterator[Finding]:
    """op_kernel/ follows no GM pointer itself."""
    sources = {
        path: blank_comments(tree.text(path)) for path in tree.written(*CPP_SUFFIXES) if path.startswith("op_kernel/")
    }
    members = {match[1] for code in sources.values() for match in MEMBER.finditer(code)}
    for path, code in sources.items():
        lines = {code.count("\n", 0, position) + 1 for position in direct_accesses(code, members)}
        for line in sorted(lines):
            yield Finding(path, line, "gm-words", f"GM is reached through a pointer: {ADVICE}")
