# SPDX-License-Identifier: Apache-2.0
"""Each layering rule finds what is forbidden and lets the allowed be. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check import layering

pytestmark = pytest.mark.fast

BASE = {
    "op_kernel/contract/limits.h": "#include <cstdint>\n",
    "op_kernel/port/port.h": '#include "kernel_operator.h"\n#include "twin/runtime/poll.h"\n',
    "op_kernel/protocol/wait.h": '#include "kernel_operator.h"\n#include "contract/limits.h"\n',
    "op_kernel/routing/table.h": '#include "protocol/wait.h"\n',
    "op_kernel/dispatch/route.h": '#include "simt_api/asc_simt.h"\n#include "../routing/table.h"\n',
    "op_kernel/combine/send.h": '#include "op_kernel/protocol/wait.h"\n',
    "op_kernel/dispatch_v2.cpp": '#include "dispatch/route.h"\n',
    "twin/runtime/poll.h": "#include <cstdint>\n",
}


def test_the_allowed_includes(findings: Findings) -> None:
    assert findings(layering.kernel_includes, BASE) == []


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("op_kernel/contract/a.h", "<cstddef>"),
        ("op_kernel/contract/a.h", '"kernel_operator.h"'),
        ("op_kernel/contract/a.h", '"protocol/wait.h"'),
        ("op_kernel/protocol/a.h", '"dispatch/route.h"'),
        ("op_kernel/protocol/a.h", '"../routing/table.h"'),
        ("op_kernel/dispatch/a.h", '"combine/send.h"'),
        ("op_kernel/combine/a.h", '"../dispatch/route.h"'),
        ("op_kernel/combine/a.h", "<vector>"),
        ("op_kernel/combine/a.h", '"twin/runtime/poll.h"'),
        ("op_kernel/combine/a.h", '"nowhere.h"'),
        ("op_kernel/combine_v2.cpp", '"op_host/tiling.h"'),
    ],
)
def test_forbidden_includes_in_kernels(findings: Findings, path: str, include: str) -> None:
    assert findings(layering.kernel_includes, BASE | {path: f"//\n#include {include}\n"}) == [f"{path}:2"]


def test_an_unknown_room_is_named(findings: Findings) -> None:
    assert findings(layering.kernel_includes, {"op_kernel/cellar/a.h": "//\n"}) == ["op_kernel/cellar/a.h:1"]


def test_leaf_units(findings: Findings) -> None:
    files = {"twin/runtime/copy_leaf.cpp": '#include <cstdint>\n#include "copy.h"\n#include <vector>\n'}
    assert findings(layering.leaf_includes, files) == ["twin/runtime/copy_leaf.cpp:3"]


def test_protocol_has_no_moe_word(findings: Findings) -> None:
    text = (
        "// an expert, in a comment\nint num_blocks; // hidden\nint remote_token;\nint num_tokens;\n"
        '#include "contract/token_layout.h"\n/* topk\n combine */ int x;\n'
    )
    files = {"op_kernel/protocol/a.h": text, "op_kernel/dispatch/b.h": "int num_tokens;\n"}
    assert findings(layering.protocol_words, files) == ["op_kernel/protocol/a.h:4", "op_kernel/protocol/a.h:5"]


def test_target_conditionals(findings: Findings) -> None:
    guard = "#ifndef ASCEND_DEEPEP_A_H\n#define ASCEND_DEEPEP_A_H\n"
    files = {
        "op_kernel/dispatch/a.h": guard + "#if defined(ASCEND_DEEPEP_TWIN_POLICY)\n#endif\n#endif\n",
        "op_kernel/port/b.h": "#ifdef ASCEND_DEEPEP_TWIN_POLICY\n#endif\n",
    }
    assert findings(layering.target_conditionals, files) == ["op_kernel/dispatch/a.h:3"]


def test_kernels_give_way_in_the_wait_primitive_only(findings: Findings) -> None:
    text = "// poll_pause in a comment\nport::poll_pause();\n"
    files = dict.fromkeys((*layering.MAY_GIVE_WAY, "op_kernel/combine/a.h", "tests/cpp/twin/a.cpp"), text)
    files["op_kernel/dispatch/b.cpp"] = "void f() {}\ntwin::poll_yield();\n"
    assert findings(layering.polls, files) == ["op_kernel/combine/a.h:2", "op_kernel/dispatch/b.cpp:2"]


@pytest.mark.parametrize(
    "line", ["import ascend_deepep", "from ascend_deepep.ops import x", "from . import _runtime", "from .ops import x"]
)
def test_the_oracle_stands_alone(findings: Findings, line: str) -> None:
    path = "python/ascend_deepep/reference.py"
    assert findings(layering.oracle_imports, {path: f"import torch\n{line}\n"}) == [f"{path}:2"]
