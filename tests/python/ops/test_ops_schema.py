# SPDX-License-Identifier: Apache-2.0
"""Purpose: the operators' names and schemas are those of torch_npu. Layer: tests."""

from __future__ import annotations

import pytest
import torch
from ascend_deepep._load import load_ops

from tests.python.ops.support import COMBINE_SCHEMA, DISPATCH_SCHEMA, run_program

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(("name", "schema"), [("dispatch_v2", DISPATCH_SCHEMA), ("combine_v2", COMBINE_SCHEMA)])
def test_schema_text(name: str, schema: str) -> None:
    load_ops()
    assert str(getattr(torch.ops.npu, name).default._schema) == schema


def test_npu_holds_only_the_two_operators() -> None:
    listed = run_program("""
        import torch
        before = set(torch._C._dispatch_get_all_op_names())
        from ascend_deepep._load import load_ops
        load_ops()
        print(*sorted(set(torch._C._dispatch_get_all_op_names()) - before))
    """).split()
    assert [name for name in listed if name.startswith("npu::")] == ["npu::combine_v2", "npu::dispatch_v2"]
    assert all(name.startswith(("npu::", "ascend_deepep::")) for name in listed)
