# SPDX-License-Identifier: Apache-2.0
"""torch's own checks of an operator's registration, and a compiled layer with every feature. Layer: tests.

`opcheck` compares whole outputs of an eager and a traced call. Those of dispatch differ between any two calls, traced
or not: rows behind the last are unspecified, and the trailer of the triples numbers the call. So its comparison of
traced calls runs on meta tensors, and the parts that are specified are compared here on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from ascend_deepep import Communicator
from ascend_deepep._load import load_ops
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

pytestmark = pytest.mark.fast

load_ops()
TOKENS, HIDDEN, TOPK, EXPERTS = 6, 128, 2, 8
NAME = "opcheck"
PLACE = (NAME, 1, 0, EXPERTS)
dispatch_v2 = torch.ops.npu.dispatch_v2.default
combine_v2 = torch.ops.npu.combine_v2.default
_WITHOUT_VALUES = ("test_schema", "test_autograd_registration", "test_faketensor")


@pytest.fixture(scope="module", autouse=True)
def communicator() -> Iterator[Communicator]:
    """One rank, room for everything."""
    sizes = {"max_tokens": 64, "hidden": HIDDEN, "num_topk": TOPK, "num_experts": EXPERTS}
    with Communicator(None, **sizes, per_expert_copies=True, name=NAME) as comm:
        yield comm


def inputs(tokens: int = TOKENS, device: str = "cpu") -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states, ids and weights."""
    generator = torch.Generator().manual_seed(tokens)
    x = torch.randn(tokens, HIDDEN, generator=generator).to(torch.bfloat16)
    weights, ids = torch.rand(tokens, EXPERTS, generator=generator).topk(TOPK)
    return x.to(device), ids.to(torch.int32).to(device), weights.to(device)


def keywords(name: str, device: str) -> dict[str, Any]:
    """The arguments of one feature of dispatch."""
    mask = torch.tensor([1, 0, 1, 1, 0, 1], dtype=torch.bool, device=device)
    return {
        "plain": {},
        "int8": {"quant_mode": 2},
        "smoothed": {"quant_mode": 2, "scales": torch.ones(EXPERTS, HIDDEN, device=device)},
        "MX": {"quant_mode": 4, "y_dtype": torch.float8_e4m3fn},
        "mask": {"x_active_mask": mask},
        "weights": {"expert_scales": torch.ones(TOKENS, TOPK, device=device)},
    }[name]


FEATURES = ("plain", "int8", "smoothed", "MX", "mask", "weights")


@pytest.mark.parametrize("feature", FEATURES)
def test_dispatch_is_registered_right(feature: str) -> None:
    x, ids, _ = inputs()
    torch.library.opcheck(dispatch_v2, (x, ids, *PLACE), keywords(feature, "cpu"), test_utils=_WITHOUT_VALUES)
    x, ids, _ = inputs(device="meta")
    torch.library.opcheck(dispatch_v2, (x, ids, *PLACE), keywords(feature, "meta"))


@pytest.mark.parametrize("feature", ["plain", "int8", "shared_expert_x"])
def test_combine_is_registered_right(feature: str) -> None:
    x, ids, weights = inputs()
    rows, _, assist_info, _, counts, *_ = dispatch_v2(x, ids, *PLACE)
    more = {"plain": {}, "int8": {"comm_quant_mode": 2}, "shared_expert_x": {"shared_expert_x": x}}[feature]
    torch.library.opcheck(combine_v2, (rows, ids, assist_info, counts, weights, *PLACE), more)


def test_performance_info_is_told_as_written() -> None:
    x, ids, _ = inputs()
    waited = {"performance_info": torch.zeros(1, dtype=torch.int64)}
    torch.library.opcheck(dispatch_v2, (x, ids, *PLACE), waited, test_utils=_WITHOUT_VALUES)


def layer(x: Tensor, ids: Tensor, weights: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """A mixture-of-experts layer: quantised there, int8 back, padding masked. The counts, and the output."""
    rows, scales, assist_info, _, counts, _, _ = torch.ops.npu.dispatch_v2(
        x, ids, *PLACE, x_active_mask=mask, quant_mode=2, y_dtype=torch.float8_e4m3fn, expert_scales=weights
    )
    y = torch.nn.functional.silu(rows.float() * scales[:, None]).to(torch.bfloat16)
    output = torch.ops.npu.combine_v2(
        y, ids, assist_info, counts, weights, *PLACE, x_active_mask=mask, comm_quant_mode=2
    )
    return counts, output


@pytest.mark.parametrize("dynamic", [True, None])
def test_a_compiled_layer_is_the_eager_one_for_any_number_of_tokens(dynamic: bool | None) -> None:
    """At most three compilations, though torch takes 0 and 1 for numbers of their own."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(layer, backend=counter, fullgraph=True, dynamic=dynamic)
    generator = torch.Generator().manual_seed(5)
    drawn = torch.randint(0, 65, (18,), generator=generator).tolist()
    for tokens in (0, 64, *drawn):
        x, ids, weights = inputs(tokens)
        mask = torch.rand(tokens, generator=generator) < 0.8
        for got, want in zip(compiled(x, ids, weights, mask), layer(x, ids, weights, mask), strict=True):
            assert torch.equal(got, want)
    assert counter.frame_count <= 3, counter.frame_count


def test_a_dispatch_whose_result_nobody_reads_is_made(communicator: Communicator) -> None:
    """The other ranks wait for it."""
    x, ids, _ = inputs()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def ignores(x: Tensor, ids: Tensor) -> Tensor:
        torch.ops.npu.dispatch_v2(x, ids, *PLACE, quant_mode=2)
        return x + 1

    before = communicator.counters()["operations"]
    ignores(x, ids)
    assert communicator.counters()["operations"] == before + 1
