# SPDX-License-Identifier: Apache-2.0
"""Sources for CANN that do not compile are found with their line, launches included. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check import cann
from tools.check.tree import Tree

pytestmark = pytest.mark.fast

LAUNCHES = "framework/npu/launch.asc"
GOOD = """// a comment
void kernel(unsigned char* tiling) { (void)tiling; }
void launch(uint32_t cores, void* stream, void* tiling) {
    kernel<<<cores, 1024, stream>>>((unsigned char*)tiling);
}
"""


def test_a_launch_becomes_a_call_on_the_same_line() -> None:
    assert cann.as_calls("a\nk<<<1, 2, s>>>(x);\n") == "a\nchecked_launch(1, 2, s), k(x);\n"


def test_good_sources_pass(findings: Findings) -> None:
    assert findings(cann.kernel_launches, {LAUNCHES: GOOD}) == []
    assert findings(cann.cann_wrappers, {"op_host/cann/good.cpp": "int one() { return 1; }\n"}) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(unsigned char*)tiling);", "1.5);"),
        ("cores, 1024, stream", "cores, 1024"),
        ("kernel<<<", "krenel<<<"),
        ("cores, 1024, stream", "stream, 1024, stream"),
    ],
    ids=["argument", "no stream", "name", "pointer as a number"],
)
def test_a_wrong_launch_is_found(findings: Findings, old: str, new: str) -> None:
    found = findings(cann.kernel_launches, {LAUNCHES: GOOD.replace(old, new)})
    assert f"{LAUNCHES}:4" in found


def test_warnings_and_errors_of_wrappers_are_found(findings: Findings) -> None:
    sources = {
        "op_host/cann/warns.cpp": "int f() {\n    int unused = 1;\n    return 2;\n}\n",
        "op_host/cann/fails.cpp": "int g() { return h(); }\n",
        "op_host/other.cpp": "int k() { return h(); }\n",
    }
    assert sorted(findings(cann.cann_wrappers, sources)) == ["op_host/cann/fails.cpp:1", "op_host/cann/warns.cpp:2"]


def test_without_a_compiler_it_is_said(monkeypatch: pytest.MonkeyPatch, findings: Findings) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert findings(cann.cann_wrappers, {"op_host/cann/good.cpp": ""}) == ["op_host/cann/good.cpp:1"]
    assert findings(cann.kernel_launches, {LAUNCHES: GOOD}) == [f"{LAUNCHES}:1"]


def test_this_repository_has_the_launches() -> None:
    from tools.check.__main__ import ROOT

    assert LAUNCHES in Tree.of_repository(ROOT).paths
