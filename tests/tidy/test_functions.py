# SPDX-License-Identifier: Apache-2.0
"""The length of functions is measured by syntax in Python and by braces in C++. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check import functions

pytestmark = pytest.mark.fast

LINES_68 = "    x = 1;\n" * 68
LINES_69 = "    x = 1;\n" * 69


def test_python(findings: Findings) -> None:
    files = {
        "a.py": "def good():\n" + "    x = 1\n" * 69,
        "b.py": "class A:\n    def bad(self):\n" + "        x = 1\n" * 70,
    }
    assert findings(functions.function_length, files) == ["b.py:2"]


@pytest.mark.parametrize(
    "head",
    [
        "void f() {\n",
        "template <typename T, int N = (3)>\nvoid f(T x) {\n",
        "A::A(int x) : x_{x}, y_(2) {\n",
        "extern \"C\" __global__ void f(uint8_t* p) {\n",
        "TEST(name) {\n",
    ],
)  # fmt: skip
def test_cpp_head_opens_a_function(head: str) -> None:
    source = f'namespace a {{\nextern "C" {{\nstruct B {{\n{head}{LINES_68}}}\n}};\n}}\n}}\n'
    longest = max((count for _, _, count in functions.cpp_functions(source)), default=0)
    assert longest == head.count("\n") + 69


def test_cpp_limit(findings: Findings) -> None:
    good = f"void good() {{\n{LINES_68}}}\n"
    bad = f"namespace n {{\nint k[] = {{1, 2}};\nclass C {{\n    void bad() const {{\n{LINES_69}    }}\n}};\n}}\n"
    assert findings(functions.function_length, {"a.cpp": good, "b.h": bad}) == ["b.h:4"]


def test_cpp_scopes_and_tables_are_no_functions(findings: Findings) -> None:
    table = "constexpr int kTable[] = {\n" + "    (1),\n" * 90 + "};\n"
    scope = "namespace n {\n" + "int f(int);\n" * 90 + "}\nenum class E {\n" + "    kA,\n" * 90 + "};\n"
    assert findings(functions.function_length, {"a.h": table + scope}) == []


def test_cpp_braces_in_comments_and_literals_do_not_count(findings: Findings) -> None:
    body = "    x = '{'; y = \"{{\"; z = 1'000; // {\n"
    text = f"#define OPEN {{\nvoid f() {{\n{body * 3}}}\nvoid g() {{\n{body * 69}}}\n"
    assert findings(functions.function_length, {"a.cpp": text}) == ["a.cpp:7"]
