# SPDX-License-Identifier: Apache-2.0
"""Entries of the protocol and what cites them: both ways, by letter; and their tests. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check.orders import orders

pytestmark = pytest.mark.fast

PAGE = """# Edges

- **P1** a -> b. Test: `one`.
| P2 | c, which goes on in the next line. Tests: `one`,
  `test_two`.

- **I1** always. Test: `one`.
- **A1** the fabric. Tests: `one` and `test_two`.
"""
CODE = "// Head.\n#pragma once\n// ORDER P1: a before b\nint P7;\nint b;  // ORDER P2\n"
TESTS = {
    "tests/cpp/a/a_test.cpp": "TEST(one) {\n}\n",
    "tests/python/test_a.py": "class A:\n    def test_two(self) -> None: ...\n",
}
OTHERS = {"twin/fabric/a.h": "// A1\n", "tests/cpp/b/b_test.cpp": "// I1\n"}


def page_and(page: str, code: str) -> dict[str, str]:
    return {**TESTS, "docs/protocol.md": page, "op_kernel/protocol/a.h": code}


def test_matching(findings: Findings) -> None:
    assert findings(orders, {**page_and(PAGE, CODE), **OTHERS}) == []


@pytest.mark.parametrize(
    "comment", ["// ORDER P1 to P3\n", "// ORDER P1, P2 and P3: a\n", "/* x\n * ORDER P1, P2\n * ORDER P3: a */\n"]
)
def test_several_in_one_citation(findings: Findings, comment: str) -> None:
    page = "- P1 a. Test: `one`\n- P2 b. Test: `one`\n- P3 c. Test: `one`\n"
    assert findings(orders, page_and(page, "int a;\n" + comment)) == []


@pytest.mark.parametrize(
    "code",
    [
        "int a;\n// see P1\n",
        "int a;\n// ORDER: P1\n",
        "// Head. ORDER P1\n#pragma once\nint a;\n",
        "int a;\n// ORDER P2 comes before P1\n",
        'const char* a = "ORDER P1";\n',
    ],
)
def test_an_edge_needs_its_order_beside_the_code(findings: Findings, code: str) -> None:
    page = "- P1 a. Test: `one`\n- P2 b. Test: `one`\n"
    assert "docs/protocol.md:1" in findings(orders, page_and(page, code))


def test_an_edge_is_kept_in_the_kernels(findings: Findings) -> None:
    files = {**TESTS, "docs/protocol.md": "- P1 a. Test: `one`\n", "twin/fabric/a.h": "int a;\n// ORDER P1\n"}
    assert findings(orders, files) == ["docs/protocol.md:1"]


@pytest.mark.parametrize("path", ["op_kernel/a.h", "twin/fabric/a.h", "tests/cpp/a/b_test.cpp"])
def test_an_assumption_is_cited_anywhere_in_a_comment(findings: Findings, path: str) -> None:
    page = "- A1 a. Test: `one`\n"
    assert findings(orders, {**TESTS, "docs/protocol.md": page, path: "// (A1)\n"}) == []


@pytest.mark.parametrize("path", ["op_host/a.h", "tests/python/test_b.py"])
def test_an_assumption_is_not_cited_elsewhere(findings: Findings, path: str) -> None:
    page = "- A1 a. Test: `one`\n"
    assert findings(orders, {**TESTS, "docs/protocol.md": page, path: "# // A1\n"}) == ["docs/protocol.md:1"]


@pytest.mark.parametrize("path", ["op_kernel/a.h", "tests/cpp/a/b_test.cpp", "tests/python/test_b.py"])
def test_an_invariant_is_cited_in_kernels_or_tests(findings: Findings, path: str) -> None:
    page = "- I2 a. Test: `one`\n"
    assert findings(orders, {**TESTS, "docs/protocol.md": page, path: "# // I2\n"}) == []


def test_an_invariant_is_not_cited_elsewhere(findings: Findings) -> None:
    page = "- I2 a. Test: `one`\n"
    files = {"op_host/a.h": "// I2\n", "tests/tidy/test_a.py": "# I2\n", "op_kernel/a.h": "int I2;\n"}
    assert findings(orders, {**TESTS, **files, "docs/protocol.md": page}) == ["docs/protocol.md:1"]


@pytest.mark.parametrize("path", ["op_kernel/a.h", "twin/a.h", "tests/cpp/a/b_test.cpp"])
@pytest.mark.parametrize("number", ["P4", "I4", "A4"])
def test_what_is_cited_has_an_entry(findings: Findings, path: str, number: str) -> None:
    files = {**page_and(PAGE, CODE), **OTHERS, path: f"int a;\nint b;  // ORDER {number}: no entry\n"}
    assert findings(orders, files) == [f"{path}:2"]


def test_entries_without_a_citation(findings: Findings) -> None:
    code = "int a;\n// P1, P2\n"
    assert findings(orders, page_and(PAGE, code)) == [f"docs/protocol.md:{line}" for line in (3, 4, 7, 8)]


@pytest.mark.parametrize(
    "end",
    ["", " `one`.", " Test: one.", " Test: `gone`.", " Tests: `one`, `gone`.", " Test: `orders`.", "\n\nTest: `one`."],
)
@pytest.mark.parametrize("entry", ["P1", "I1", "A1"])
def test_every_entry_names_tests_that_exist(findings: Findings, entry: str, end: str) -> None:
    code = "int a;  // ORDER P1, I1, A1\n"
    names = {"tests/python/b.py": "def orders() -> None: ...\n"}
    page = "".join(f"- {name} a.{end if name == entry else ' Test: `one`.'}\n" for name in ("P1", "I1", "A1"))
    line = ("P1", "I1", "A1").index(entry) + 1
    assert findings(orders, {**page_and(page, code), **names}) == [f"docs/protocol.md:{line}"]
