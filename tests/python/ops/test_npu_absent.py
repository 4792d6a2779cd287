# SPDX-License-Identifier: Apache-2.0
"""Purpose: without the library of the NPU nothing is registered for its tensors. Layer: tests."""

from __future__ import annotations

import pytest
import torch
from ascend_deepep._load import load_ops

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "name",
    ["npu::dispatch_v2", "npu::combine_v2", "ascend_deepep::ordered_dispatch_v2", "ascend_deepep::ordered_combine_v2"],
)
def test_no_kernel_for_npu_tensors(name: str) -> None:
    load_ops()
    assert torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU")
    assert not torch._C._dispatch_has_kernel_for_dispatch_key(name, "PrivateUse1")


def test_no_owner_of_kernels_for_npu_tensors() -> None:
    load_ops()
    assert torch._C._jit_get_schemas_for_operator("ascend_deepep::npu_owner") == []
