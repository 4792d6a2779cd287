# SPDX-License-Identifier: Apache-2.0
"""Purpose: torch.compile sees symbolic shapes, and neither drops, merges nor reorders a call. Layer: tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from ascend_deepep._load import load_ops
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from tests.python.ops.support import SMALL, TWO_RANKS, Shape

load_ops()
dispatch_v2 = torch.ops.npu.dispatch_v2
combine_v2 = torch.ops.npu.combine_v2


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def trace(function: Callable[..., Any], *arguments: torch.Tensor) -> torch.fx.GraphModule:
    """The graph that a backend is given after functionalisation."""
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch._aot_autograd.utils import make_boxed_func

        def keep(inner: torch.fx.GraphModule, _: Any) -> Any:
            graphs.append(inner)
            return make_boxed_func(inner.forward)

        return aot_autograd(fw_compiler=keep)(graph, inputs)

    torch.compile(function, backend=backend, fullgraph=True)(*arguments)
    (graph,) = graphs
    return graph


def calls(graph: torch.fx.GraphModule) -> list[str]:
    """Our operators in the graph, in its order."""
    found = []
    for node in graph.graph.nodes:
        for value in (node.target, *node.args):
            if isinstance(value, torch._ops.OpOverload) and value.namespace in ("npu", "ascend_deepep"):
                found.append(str(value._name).rpartition("_deepep::")[2])
    return found


def test_calls_are_neither_dropped_nor_merged() -> None:
    x, ids, *rest = SMALL.dispatch_arguments("meta")

    def same_call_three_times(x: torch.Tensor, ids: torch.Tensor) -> Any:
        dispatch_v2(x, ids, *rest)
        dispatch_v2(x, ids, *rest)
        return dispatch_v2(x, ids, *rest)[0] + 1

    graph = trace(same_call_three_times, x, ids)
    graph.graph.eliminate_dead_code()
    assert calls(graph) == ["ordered_dispatch_v2"] * 3


def test_order_without_data_dependence() -> None:
    x, ids, *rest = SMALL.dispatch_arguments("meta")
    combine = SMALL.combine_arguments("meta")

    def independent(x: torch.Tensor, ids: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = combine_v2(rows, *combine[1:])
        second = dispatch_v2(x, ids, *rest)[0]
        combine_v2(rows, *combine[1:])
        return second, first

    graph = trace(independent, x, ids, combine[0])
    assert calls(graph) == ["ordered_combine_v2", "ordered_dispatch_v2", "ordered_combine_v2"]
    # Each call takes the token that the call before it gave.
    nodes = [node for node in graph.graph.nodes if node.target is torch.ops.higher_order.with_effects]
    for earlier, later in pairwise(nodes):
        assert later.args[0].args[0] is earlier


def symbols(tensor: torch.Tensor) -> list[Any]:
    sizes: list[Any] = list(tensor.shape)
    assert all(isinstance(size, torch.SymInt) for size in sizes)
    return sizes


SYMBOLIC = [
    Shape(tokens=6, hidden=64, topk=2, experts=4, ranks=2),
    Shape(tokens=6, hidden=64, topk=8, experts=8, ranks=4),
    Shape(tokens=6, hidden=64, topk=8, experts=8, ranks=4, global_bs=64),
]


@pytest.mark.parametrize("shape", SYMBOLIC, ids=str)
def test_symbolic_shapes_are_those_of_the_meta_kernel(shape: Shape) -> None:
    """Shapes inferred for any number of tokens, put to numbers, are those of a call with that number."""
    x, ids, *rest = shape.dispatch_arguments("cpu")
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x, ids = (mode.from_tensor(value, static_shapes=False) for value in (x, ids))
        outputs = dispatch_v2(x, ids, *rest, global_bs=shape.global_bs)
        combined = combine_v2(outputs[0], ids, outputs[2], outputs[4], torch.ones(ids.shape), *rest)
    (tokens, hidden), (also_tokens, topk) = symbols(x), symbols(ids)
    assert topk.node.maybe_as_int() == shape.topk, "another top-k needs another compilation"
    for other, width in ((3, 64), (7, 80), (16, 1024)):
        numbers = {tokens.node.expr: other, hidden.node.expr: width, also_tokens.node.expr: other}

        def at(output: torch.Tensor, numbers: dict[Any, int] = numbers) -> tuple[int, ...]:
            return tuple(s if isinstance(s, int) else int(s.node.expr.subs(numbers)) for s in output.shape)

        number = Shape(other, width, shape.topk, shape.experts, shape.ranks, shape.global_bs)
        assert [at(output) for output in outputs] == [sizes for sizes, _ in number.outputs(torch.bfloat16)]
        assert at(combined) == (other, width)


def test_one_compilation_serves_all_numbers_of_tokens() -> None:
    counter = CompileCounterWithBackend("aot_eager")

    @torch.compile(backend=counter, fullgraph=True, dynamic=True)
    def layer(x: torch.Tensor, ids: torch.Tensor, scales: torch.Tensor) -> Any:
        o = dispatch_v2(x, ids, "any", 2, 0, 4)
        return combine_v2(o[0] * 2, ids, o[2], o[4], scales, "any", 2, 0, 4)

    for tokens in (4, 5, 9, 32):
        shape = Shape(tokens, 64, 2, 4, 2)
        x, ids, *_ = shape.dispatch_arguments("meta")
        assert layer(x, ids, torch.ones(tokens, 2, device="meta")).shape == (tokens, 64)
    assert counter.frame_count == 1


def test_a_batch_that_changes_between_calls() -> None:
    @torch.compile(backend="aot_eager", fullgraph=True)
    def rows(x: torch.Tensor, ids: torch.Tensor, global_bs: int) -> torch.Tensor:
        out: torch.Tensor = dispatch_v2(x, ids, "any", 2, 0, 4, global_bs=global_bs)[0]
        return out

    x, ids, *_ = TWO_RANKS.dispatch_arguments("meta")
    for batch in (8, 16, 64):
        assert rows(x, ids, batch).shape == (batch * 2, 64)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("keywords", "needs_grad", "words"),
    [({"quant_mode": 5}, False, "quant_mode = 5"), ({}, True, "x requires grad")],
)
def test_refusals_while_tracing(device: str, keywords: dict[str, int], needs_grad: bool, words: str) -> None:
    x, ids, *rest = SMALL.dispatch_arguments(device)
    compiled = torch.compile(lambda x: dispatch_v2(x, ids, *rest, **keywords)[0], backend="aot_eager", fullgraph=True)
    with pytest.raises(Exception, match=words):
        compiled(x.requires_grad_(needs_grad))


def test_performance_info_is_refused_while_tracing() -> None:
    """It is written, and torch orders no effects of operators that write: numbers would be silently stale."""
    x, ids, *rest = SMALL.dispatch_arguments("meta")
    waited = torch.zeros(1, dtype=torch.int64, device="meta")

    @torch.compile(backend="aot_eager", fullgraph=True)
    def layer(x: torch.Tensor) -> torch.Tensor:
        rows: torch.Tensor = dispatch_v2(x, ids, *rest, performance_info=waited)[0]
        return rows

    with pytest.raises(Exception, match=r"dispatch_v2: performance_info is written.*outside torch\.compile"):
        layer(x)


QUANTISED = {
    "per token": ({"quant_mode": 2}, torch.int8, None),
    "per group": ({"quant_mode": 3, "y_dtype": torch.float8_e5m2}, torch.float8_e5m2, 2),
    "MX": ({"quant_mode": 4, "y_dtype": torch.float8_e4m3fn}, torch.float8_e4m3fn, 6),
}


@pytest.mark.parametrize(("keywords", "dtype", "columns"), QUANTISED.values(), ids=QUANTISED)
def test_symbolic_shapes_of_quantised_rows(keywords: dict[str, Any], dtype: torch.dtype, columns: int | None) -> None:
    """Numbers of tokens and hidden stay symbols; the columns of scales follow hidden."""
    shape = Shape(tokens=6, hidden=144, topk=2, experts=4, ranks=2)
    x, ids, *rest = shape.dispatch_arguments("cpu")
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x, ids = (mode.from_tensor(value, static_shapes=False) for value in (x, ids))
        rows, scales, *_ = dispatch_v2(x, ids, *rest, **keywords)
    (tokens, hidden), also_tokens = symbols(x), symbols(ids)[0]
    assert rows.dtype == dtype and scales.dim() == (1 if columns is None else 2)
    at = {tokens.node.expr: 5, also_tokens.node.expr: 5, hidden.node.expr: 144}
    sizes = [int(size.node.expr.subs(at)) for size in scales.shape]
    assert sizes == [5 * 2 * 2, *([] if columns is None else [columns])]
    assert [int(size.node.expr.subs(at)) for size in rows.shape] == [5 * 2 * 2, 144]
