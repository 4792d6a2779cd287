# SPDX-License-Identifier: Apache-2.0
"""Edges P1.. and invariants I1..: what op_kernel/ cites stands in docs/protocol.md, and what stands there is kept.

Layer: build. A definition is a line of docs/protocol.md that begins with the number (after list, table, heading or bold
marks); a citation is a number in a comment of op_kernel/ (`// ORDER P3: payload before count`) or, for invariants, in a
test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.check.tree import CPP_SUFFIXES, Finding, Tree, comments

PROTOCOL = "docs/protocol.md"
DEFINITION = re.compile(r"^[\s#|*`-]*([PI][0-9]+)\b")
NUMBER = re.compile(r"\b[PI][0-9]+\b")


def definitions(tree: Tree) -> dict[str, int]:
    """Number -> line of docs/protocol.md that defines it."""
    defined: dict[str, int] = {}
    for line, text in enumerate(tree.lines(PROTOCOL) if PROTOCOL in tree.paths else (), 1):
        match = DEFINITION.match(text)
        if match:
            defined.setdefault(match[1], line)
    return defined


def citations(tree: Tree) -> Iterator[tuple[str, str, int]]:
    """(number, path, line) of each citation in op_kernel/, "P2 to P4" for three numbers included."""
    for path in tree.written(*CPP_SUFFIXES):
        if path.startswith("op_kernel/"):
            for line, text in comments(tree.text(path)):
                for name in NUMBER.findall(text):
                    yield name, path, line
                for first, last in re.findall(r"\bP([0-9]+) to P([0-9]+)\b", text):
                    for number in range(int(first) + 1, int(last)):
                        yield f"P{number}", path, line


def orders(tree: Tree) -> Iterator[Finding]:
    """Citations and definitions match, both ways."""
    defined = definitions(tree)
    cited: set[str] = set()
    for name, path, line in citations(tree):
        cited.add(name)
        if name not in defined:
            yield Finding(path, line, "orders", f"{name} is not defined in {PROTOCOL}")
    for path in tree.written(*CPP_SUFFIXES, ".py"):
        if path.startswith("tests/") and not path.startswith("tests/tidy/"):
            cited |= {name for name in NUMBER.findall(tree.text(path)) if name.startswith("I")}
    for name, line in defined.items():
        if name not in cited:
            yield Finding(PROTOCOL, line, "orders", f"{name} is cited nowhere in op_kernel/ (// ORDER {name}: ...)")
