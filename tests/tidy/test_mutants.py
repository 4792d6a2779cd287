# SPDX-License-Identifier: Apache-2.0
"""Patches that do not apply, headers that lack something, a short list. Layer: tests of tools/check."""

from __future__ import annotations

import json

import pytest

from tests.tidy.conftest import Findings
from tools.check.mutants import MIN_FAST, mutants

pytestmark = pytest.mark.fast

HEADER = "A flag comes too early.\nEdge: P1, P2\nInvariant: I1\nKind: early flag\n"
DIFF = """--- a/op_kernel/protocol/a.h
+++ b/op_kernel/protocol/a.h
@@ -1,3 +1,2 @@
 int a;
-int b;
 int c;
"""
PATCH = "tests/mutants/early.patch"
FAST = "tests/mutants/fast.json"


def tree(patch: str, passing: list[str] | None = None) -> dict[str, str]:
    names = [f"m{number}" for number in range(MIN_FAST)] if passing is None else passing
    return {
        "docs/protocol.md": "- P1 a.\n- P2 b.\n- I1 c.\n",
        "op_kernel/protocol/a.h": "int a;\nint b;\nint c;\n",
        PATCH: patch,
        FAST: json.dumps({"pass": names}),
        **{f"tests/mutants/{name}.patch": HEADER + DIFF for name in names if name != "none"},
    }


def test_a_good_one(findings: Findings) -> None:
    assert findings(mutants, tree(HEADER + DIFF)) == []


def test_a_tree_without_mutants(findings: Findings) -> None:
    assert findings(mutants, {"docs/protocol.md": "- P1 a.\n"}) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("A flag comes too early.\n", "", 1),
        ("early.", "early", 1),
        ("Edge: P1, P2", "Edge: P1, P3", 2),
        ("Edge: P1, P2", "Edge: I1", 2),
        ("Invariant: I1", "Assumption: I1", 3),
        ("Kind: early flag\n", "", 1),
        ("Kind: early flag", "Kind: early flag\nKind: late flag", 1),
        ("Kind: early flag", "Kind: early flag\nAuthor: me", 5),
        ("Kind: early flag", "Kind: early flag\n", 5),
    ],
)
def test_the_header(findings: Findings, old: str, new: str, line: int) -> None:
    assert f"{PATCH}:{line}" in findings(mutants, tree(HEADER.replace(old, new) + DIFF))


@pytest.mark.parametrize(("old", "new"), [("-int b;", "-int d;"), (" int a;", " int e;"), ("protocol/a.h", "a.h")])
def test_a_patch_that_does_not_apply(findings: Findings, old: str, new: str) -> None:
    assert findings(mutants, tree(HEADER + DIFF.replace(old, new))) == [f"{PATCH}:1"]


def test_a_patch_of_something_else_than_kernels(findings: Findings) -> None:
    files = tree(HEADER + DIFF.replace("op_kernel/", "twin/"))
    assert f"{PATCH}:1" in findings(mutants, {**files, "twin/protocol/a.h": "int a;\nint b;\nint c;\n"})


def test_the_list_is_long_enough_and_about_patches(findings: Findings) -> None:
    names = [f"m{number}" for number in range(MIN_FAST - 1)]
    assert findings(mutants, tree(HEADER + DIFF, names)) == [f"{FAST}:1"]
    assert findings(mutants, tree(HEADER + DIFF, [*names, "none"])) == [f"{FAST}:1"]
