# SPDX-License-Identifier: Apache-2.0
"""Edges and invariants: a citation needs a definition and the other way round. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check.orders import orders

pytestmark = pytest.mark.fast

PAGE = "# Edges\n\n- **P1** a -> b\n| P2 | c |\n\n- **I1** always\n\nP9 is only mentioned when a line begins so.\n"


def test_matching(findings: Findings) -> None:
    page = PAGE.replace("P9 is", "And P9 is")
    files = {
        "docs/protocol.md": page,
        "op_kernel/protocol/a.h": "// ORDER P1: a before b\n/* edges P1\n * and P2 */\nint P7;\n",
        "tests/cpp/a_test.cpp": "// I1\n",
    }
    assert findings(orders, files) == []


def test_a_range_cites_all_of_it(findings: Findings) -> None:
    files = {
        "docs/protocol.md": "- P1 a\n- P2 b\n- P3 c\n",
        "op_kernel/a.cpp": "// P1 to P3\n",
    }
    assert findings(orders, files) == []


def test_both_directions(findings: Findings) -> None:
    files = {"docs/protocol.md": PAGE, "op_kernel/a.cpp": "int a;\nint b;  // ORDER P1, P4: never defined\n"}
    assert findings(orders, files) == [
        "op_kernel/a.cpp:2",
        "docs/protocol.md:4",
        "docs/protocol.md:6",
        "docs/protocol.md:8",
    ]
