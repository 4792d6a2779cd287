# SPDX-License-Identifier: Apache-2.0
"""Purpose: shape inference: documented shapes and dtypes, and the refusals of a real call. Layer: tests."""

from __future__ import annotations

import pytest
import torch
from ascend_deepep._load import load_ops
from ascend_deepep.errors import ArgumentError

from tests.python.ops.support import COMBINE_LATER, DISPATCH_LATER, SMALL, Later, Shape

pytestmark = pytest.mark.fast

load_ops()
dispatch_v2 = torch.ops.npu.dispatch_v2
combine_v2 = torch.ops.npu.combine_v2

SHAPES = [
    Shape(tokens=0, hidden=64, topk=1, experts=1, ranks=1),
    Shape(tokens=1, hidden=64, topk=1, experts=1, ranks=1),
    Shape(tokens=7, hidden=80, topk=2, experts=6, ranks=6),
    Shape(tokens=128, hidden=7168, topk=8, experts=256, ranks=8),
    Shape(tokens=512, hidden=8192, topk=16, experts=64, ranks=16),
    Shape(tokens=8192, hidden=1040, topk=8, experts=1024, ranks=1024),
    Shape(tokens=3, hidden=64, topk=4, experts=8, ranks=4, global_bs=64),
    Shape(tokens=0, hidden=64, topk=4, experts=8, ranks=4, global_bs=64),
]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dispatch_shapes(shape: Shape, dtype: torch.dtype) -> None:
    outputs = dispatch_v2(*shape.dispatch_arguments("meta", dtype=dtype), global_bs=shape.global_bs)
    assert [(tuple(output.shape), output.dtype) for output in outputs] == shape.outputs(dtype)
    assert all(output.device.type == "meta" and output.is_contiguous() for output in outputs)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_combine_shape(shape: Shape, dtype: torch.dtype) -> None:
    y = combine_v2(*shape.combine_arguments("meta", dtype=dtype), global_bs=shape.global_bs)
    assert (tuple(y.shape), y.dtype, y.device.type) == ((shape.tokens, shape.hidden), dtype, "meta")


def test_one_tensor_parallel_rank_has_one_count() -> None:
    assert dispatch_v2(*SMALL.dispatch_arguments("meta"), tp_world_size=1)[5].shape == (1,)


@pytest.mark.parametrize("later", DISPATCH_LATER, ids=lambda later: later.name)
def test_dispatch_argument_of_a_later_release(later: Later) -> None:
    with pytest.raises(NotImplementedError, match=later.words):
        dispatch_v2(*SMALL.dispatch_arguments("meta"), **later.keywords("meta"))


@pytest.mark.parametrize("later", COMBINE_LATER, ids=lambda later: later.name)
def test_combine_argument_of_a_later_release(later: Later) -> None:
    with pytest.raises(NotImplementedError, match=later.words):
        combine_v2(*SMALL.combine_arguments("meta"), **later.keywords("meta"))


@pytest.mark.parametrize(
    ("index", "change", "words"),
    [
        (0, torch.Tensor.float, "x is float32"),
        (1, torch.Tensor.long, "expert_ids is int64"),
        (0, lambda x: x[0], "x"),
        (1, lambda ids: ids[:3], "expert_ids"),
        (3, lambda ranks: 0, "ep_world_size"),
        (3, lambda ranks: 5000, "ep_world_size"),
        (5, lambda experts: -4, "moe_expert_num"),
        (5, lambda experts: 5000, "moe_expert_num"),
    ],
)
def test_illegal_argument(index: int, change: object, words: str) -> None:
    arguments = SMALL.dispatch_arguments("meta")
    arguments[index] = change(arguments[index])  # type: ignore[operator]
    with pytest.raises(ArgumentError, match=words):
        dispatch_v2(*arguments)


def test_inference_only() -> None:
    x, *rest = SMALL.dispatch_arguments("meta")
    x = x.requires_grad_()
    with pytest.raises(ArgumentError, match="x requires grad"):
        dispatch_v2(x, *rest)
    with torch.no_grad():
        assert not dispatch_v2(x, *rest)[0].requires_grad
