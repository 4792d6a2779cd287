# SPDX-License-Identifier: Apache-2.0
"""Edges P1.., invariants I1.., assumptions A1..: docs/protocol.md, the code and the tests name the same ones.

Layer: build. An entry is a line of docs/protocol.md that begins with the number (after list, table, heading or bold
marks), up to the next entry or empty line. It names its tests: "Test: `name`", or several after each other. What counts
as a citation depends on the letter:

    P  `ORDER P3` (also `ORDER P3, P4`, `ORDER P3 to P5`) in a comment of op_kernel/ beside the code that keeps the
       order: the head of a file does not count, nor does a mere mention
    I  a mention in a comment of op_kernel/ or in a test
    A  a mention in a comment of op_kernel/, twin/ or tests/cpp/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.check.tree import CPP_SUFFIXES, Finding, Tree, blank_comments, comments

PROTOCOL = "docs/protocol.md"
ENTRY = re.compile(r"^[\s#|*`-]*([PIA][0-9]+)\b")
NUMBER = re.compile(r"\b[PIA][0-9]+\b")
RANGE = re.compile(r"\b([PIA])([0-9]+) to \1([0-9]+)\b")
ORDER = re.compile(r"\bORDER ((?:P[0-9]+)(?:(?:, | and | to )P[0-9]+)*)")
NAMED_TESTS = re.compile(r"\bTests?:\s*(`\w+`(?:(?:,|,? and)\s+`\w+`)*)")
CPP_TEST = re.compile(r"^\s*TEST\((\w+)\)", re.MULTILINE)
PYTHON_TEST = re.compile(r"^\s*def (test_\w+)\(", re.MULTILINE)
HOMES = {
    "P": "as `// ORDER {}: ...` in op_kernel/",
    "I": "in op_kernel/ or tests/",
    "A": "in a comment of the C++ code",
}


@dataclass
class Entry:
    """One entry of the page: where it begins, and its text in one line."""

    line: int
    text: str


def entries(tree: Tree) -> dict[str, Entry]:
    """Number -> its entry."""
    found: dict[str, Entry] = {}
    current: Entry | None = None
    for line, text in enumerate(tree.lines(PROTOCOL) if PROTOCOL in tree.paths else (), 1):
        match = ENTRY.match(text)
        if match and match[1] not in found:
            current = found[match[1]] = Entry(line, text)
        elif match or not text.strip():
            current = None
        elif current:
            current.text += " " + text.strip()
    return found


def numbers(text: str) -> Iterator[str]:
    """The numbers of a text, "P2 to P4" being three."""
    yield from NUMBER.findall(text)
    for letter, first, last in RANGE.findall(text):
        for number in range(int(first) + 1, int(last)):
            yield f"{letter}{number}"


def head_end(text: str) -> int:
    """The line of a C++ text on which its head comment is over: that of the first code or directive."""
    lines = blank_comments(text).splitlines()
    return next((line for line, code in enumerate(lines, 1) if code.strip()), len(lines) + 1)


def mentions(tree: Tree) -> Iterator[tuple[str, str, int, bool]]:
    """(number, path, line, whether it counts as a citation) of each mention in a comment of the C++ code."""
    for path in tree.written(*CPP_SUFFIXES):
        if not path.startswith(("op_kernel/", "twin/", "tests/cpp/")):
            continue
        text = tree.text(path)
        is_kernel, end = path.startswith("op_kernel/"), head_end(text)
        for line, comment in comments(text):
            ordered = {name for match in ORDER.finditer(comment) for name in numbers(match[1])}
            for name in numbers(comment):
                counts = {"P": is_kernel and line >= end and name in ordered, "I": is_kernel, "A": True}
                yield name, path, line, counts[name[0]]


def tests(tree: Tree) -> tuple[set[str], set[str]]:
    """Names of all tests, and the invariants that tests mention."""
    names: set[str] = set()
    invariants: set[str] = set()
    for path in tree.written(*CPP_SUFFIXES, ".py"):
        if not path.startswith("tests/"):
            continue
        text = tree.text(path)
        if path.startswith("tests/cpp/"):
            names.update(CPP_TEST.findall(text))
        elif path.endswith(".py"):
            names.update(PYTHON_TEST.findall(text))
        if not path.startswith("tests/tidy/"):
            invariants.update(name for name in NUMBER.findall(text) if name.startswith("I"))
    return names, invariants


def orders(tree: Tree) -> Iterator[Finding]:
    """Citations and entries match, both ways, and every entry names tests that exist."""
    defined = entries(tree)
    names, cited = tests(tree)
    for name, path, line, counts in mentions(tree):
        if counts:
            cited.add(name)
        if name not in defined:
            yield Finding(path, line, "orders", f"{name} has no entry in {PROTOCOL}")
    for name, entry in defined.items():
        if name not in cited:
            yield Finding(PROTOCOL, entry.line, "orders", f"{name} is cited nowhere {HOMES[name[0]].format(name)}")
        named = [test for match in NAMED_TESTS.findall(entry.text) for test in re.findall(r"`(\w+)`", match)]
        if not named:
            yield Finding(PROTOCOL, entry.line, "orders", f"{name} names no test (Test: `name`)")
        for test in named:
            if test not in names:
                yield Finding(PROTOCOL, entry.line, "orders", f"{name}: there is no test `{test}`")
