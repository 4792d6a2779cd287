# SPDX-License-Identifier: Apache-2.0
"""Mutants (tests/mutants/): every patch applies to the kernels as they are, and its header is complete.

Layer: build. The header stands before the first `---`: a line that says what is broken, then `Name: value` lines:

    Kind        of slip, in a few words; always there
    Edge        numbers of docs/protocol.md that the mutant breaks, comma between them: P
    Invariant   the same: I
    Assumption  the same: A; such a mutant shows what the assumption is good for

tests/mutants/fast.json names those that the suite of the Fast policy does not find; there are at least 15.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator

from tools.check.orders import PROTOCOL, entries
from tools.check.tree import CPP_SUFFIXES, Finding, Tree

FOLDER = "tests/mutants/"
FAST = f"{FOLDER}fast.json"
MIN_FAST = 15
LETTERS = {"Edge": "P", "Invariant": "I", "Assumption": "A"}
FIELD = re.compile(r"([A-Z][a-z]+): (\S.*)")
TARGET = re.compile(r"^(?:---|\+\+\+) (\S+)", re.MULTILINE)
REPORTED = re.compile(r'\breport\(\s*"([a-z ]+)"')


def checkers(tree: Tree) -> set[str]:
    """The names under which the simulator reports what it found."""
    paths = (path for path in tree.written(*CPP_SUFFIXES) if path.startswith(("twin/sim/", "simulator/")))
    return {name for path in paths for name in REPORTED.findall(tree.text(path))}


def header_problems(head: list[str], defined: set[str]) -> Iterator[tuple[int, str]]:
    """(line, what is wrong) of the lines before the diff."""
    if not head or not re.fullmatch(r"[A-Z].*\.", head[0]):
        yield 1, "the first line is a sentence that says what is broken"
    names = []
    for line, text in enumerate(head[1:], 2):
        match = FIELD.fullmatch(text)
        name = match[1] if match else ""
        names.append(name)
        if match is None or name not in (*LETTERS, "Kind"):
            yield line, f"'{text}' is no line of the header (Kind, {', '.join(LETTERS)})"
        elif name in LETTERS:
            for number in match[2].split(", "):
                if not number.startswith(LETTERS[name]) or number not in defined:
                    yield line, f"{PROTOCOL} has no {name.lower()} '{number}'"
    if names.count("Kind") != 1 or len(set(names)) != len(names):
        yield 1, "the header has one line Kind and each of the others at most once"


def apply_problem(tree: Tree, path: str) -> str:
    """Why the patch does not apply to the tree, or nothing."""
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(tree.root.resolve().parent))
    command = ["git", "apply", "--check", path]
    result = subprocess.run(command, cwd=tree.root, env=environment, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else " ".join(result.stderr.split())


def mutants(tree: Tree) -> Iterator[Finding]:
    """Patches apply and say what they break; the list of those that only the simulator finds is about them."""
    defined = set(entries(tree))
    names = set()
    for path in tree.paths:
        if not path.startswith(FOLDER) or not path.endswith(".patch"):
            continue
        names.add(path.removeprefix(FOLDER).removesuffix(".patch"))
        text = tree.text(path)
        for line, problem in header_problems(text.split("\n--- ", 1)[0].split("\n"), defined):
            yield Finding(path, line, "mutants", problem)
        for target in TARGET.findall(text):
            if not target.startswith(("a/op_kernel/", "b/op_kernel/")):
                yield Finding(path, 1, "mutants", f"{target} is no file of op_kernel/")
        problem = apply_problem(tree, path)
        if problem:
            yield Finding(path, 1, "mutants", f"does not apply: {problem}")
    if not names:
        return
    fast = json.loads(tree.text(FAST))["pass"] if FAST in tree.paths else []
    for name in fast:
        if name not in names:
            yield Finding(FAST, 1, "mutants", f"there is no patch '{name}'")
    if len(fast) < MIN_FAST:
        yield Finding(FAST, 1, "mutants", f"{len(fast)} mutants pass the suite of the Fast policy, {MIN_FAST} are to")
