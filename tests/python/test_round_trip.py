# SPDX-License-Identifier: Apache-2.0
"""Round trips over the operators: 40 cases of the sweep, and what the demo does not do."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from ascend_deepep import Communicator, combine_v2, dispatch_v2, reference
from ascend_deepep.demo import sweep
from ascend_deepep.demo.experts import ExactExperts, apply_blocks, exact_factor
from ascend_deepep.demo.features import Features
from ascend_deepep.demo.inputs import IndexPayload, make_rounds
from ascend_deepep.demo.options import Options
from ascend_deepep.demo.report import last_line
from ascend_deepep.demo.runner import run_demo
from ascend_deepep.testing import Context, Pool
from torch import Tensor

_CASES = sweep.cases()
_CHOSEN = [_CASES[index * len(_CASES) // 40] for index in range(40)]


# The sim policy and the sanitizers are slower: they take a few of the cases each.
_PARAMS = [
    pytest.param(
        options,
        marks=[pytest.mark.sim] * (index % 4 == 0 and sum(options.tokens) * options.hidden < 1 << 21)
        + [pytest.mark.sanitizer] * (index % 8 == 1 and options.num_ranks <= 4)
        + [pytest.mark.fast] * (index % 8 == 2),
        id=f"case{options.seed}",
    )
    for index, options in enumerate(_CHOSEN)
]


@pytest.mark.parametrize("options", _PARAMS)
def test_case_of_the_sweep(ranks: Pool, options: Options) -> None:
    result = run_demo(options, ranks)
    assert result.exact, f"{last_line(result)}\n{options.command()}"


def test_varying_rounds_over_three_communicators(ranks: Pool) -> None:
    """Two communicators in turn and one over half of the ranks, no barrier anywhere."""
    options = Options((32,) * 4, 256, 8, 256, iters=60, vary=True, communicators=2, seed=5)
    result = run_demo(options, ranks)
    assert result.exact, last_line(result)


@pytest.mark.parametrize("engine", ["mte", "urma"])
@pytest.mark.parametrize("mask", [None, "2d"])
def test_sums_by_rank_are_exact_and_fewer_rows_return(ranks: Pool, engine: str, mask: str | None) -> None:
    results = []
    for reduce in ("row", "rank"):
        features = Features(mask=mask, shared_expert_num=1, shared_expert_rank_num=1, combine_reduce=reduce)
        options = Options(
            (9, 9, 9, 9), 144, 8, 48, iters=2, combine_engine=engine, payload="index", seed=3, features=features
        )
        results.append(run_demo(options, ranks))
        assert results[-1].exact, last_line(results[-1])
    row, rank = (sum(part.counters["rows"] for part in result.results) for result in results)
    assert 0 < rank < row


# --- the operators by themselves

_SHAPE = {"max_tokens": 16, "hidden": 256, "num_topk": 4, "num_experts": 16}


def _layer(context: Context, tokens: tuple[int, ...], hidden: int, num_topk: int) -> tuple[list[Tensor], list[Tensor]]:
    """All ranks' hidden states and ids."""
    options = Options(tokens, hidden, num_topk, 16, routing="uniform", payload="index", seed=sum(tokens) + hidden)
    payload = IndexPayload(options)
    x = [payload.rows(0, rank, torch.arange(count)) for rank, count in enumerate(tokens)]
    return x, make_rounds(options, payload)[0].ids


def _expected(x: Tensor, ids: Tensor, scales: Tensor | None) -> Tensor:
    factors = torch.tensor([exact_factor(expert) for expert in range(16)])

    def rows_of(_column: int, tokens: Tensor, experts: Tensor) -> Tensor:
        return x[tokens].float() * factors[experts, None]

    return reference.combine_rank(rows_of, ids, scales, x.shape[1], x.dtype)


def _check_round(context: Context, comm: Communicator, tokens: tuple[int, ...], hidden: int, num_topk: int) -> None:
    x, ids = _layer(context, tokens, hidden, num_topk)
    rank = context.rank
    routed, rows = reference.dispatch(x, ids, 16)
    received = dispatch_v2(x[rank], ids[rank], comm)
    assert received.num_rows == routed.ranks[rank].num_rows
    assert torch.equal(received.rows, rows[rank])
    assert torch.equal(received.triples, routed.ranks[rank].triples)
    local = 16 // context.num_ranks
    apply_blocks(ExactExperts(), rank * local, routed.ranks[rank].rows_per_expert, received.rows)
    triples, counts = received.assist_info_for_combine, received.ep_recv_counts
    output = combine_v2(received.expand_x, ids[rank], triples, counts, torch.empty(0), comm)
    assert torch.equal(output, _expected(x[rank], ids[rank], None))


def _smaller_calls(context: Context) -> None:
    with Communicator(context.group, **_SHAPE) as comm:
        for tokens, hidden, num_topk in [((16, 16), 256, 4), ((0, 1), 64, 1), ((3, 16), 80, 4), ((0, 0), 256, 2)] * 3:
            _check_round(context, comm, tokens, hidden, num_topk)


@pytest.mark.sim
@pytest.mark.sanitizer
@pytest.mark.fast
def test_smaller_calls_follow_each_other(ranks: Pool) -> None:
    ranks.run(_smaller_calls, 2)


def _recorded(context: Context) -> list[bool]:
    """The raw operators, called twice with one block of arguments."""
    x, ids = _layer(context, (7, 4), 256, 4)
    mine = context.rank
    with Communicator(context.group, **_SHAPE) as comm:
        arguments = (x[mine], ids[mine], comm.name, 2, mine, 16)
        keywords = {"global_bs": 32, "expert_token_nums_type": 0}
        scales = torch.full((len(ids[mine]), 4), 0.5)
        same = []
        _, rows = reference.dispatch(x, ids, 16)
        want = reference.route(ids, 16).ranks[mine]
        for _ in range(2):
            outputs = torch.ops.npu.dispatch_v2(*arguments, **keywords)
            same.append(torch.equal(outputs[0][: want.num_rows], rows[mine]))
            same.append(torch.equal(outputs[3], want.expert_token_nums(0)))
        apply_blocks(ExactExperts(), mine * 8, want.rows_per_expert, outputs[0][: want.num_rows])
        block = (outputs[0], ids[mine], outputs[2], outputs[4], scales, comm.name, 2, mine, 16)
        for _ in range(2):
            output = torch.ops.npu.combine_v2(*block, global_bs=32)
            same.append(torch.equal(output, _expected(x[mine], ids[mine], scales)))
    return same


@pytest.mark.sim
@pytest.mark.fast
def test_recorded_arguments_can_be_used_twice(ranks: Pool) -> None:
    assert ranks.run(_recorded, 2) == [[True] * 6] * 2


@pytest.mark.sim
@pytest.mark.sanitizer
@pytest.mark.fast
def test_one_rank_needs_no_process_group() -> None:
    context = Context(0, 1, 30.0, None)  # type: ignore[arg-type]
    with Communicator(None, **_SHAPE) as comm:
        assert (comm.rank, comm.num_ranks, comm.target) == (0, 1, "twin")
        _check_round(context, comm, (9,), 256, 4)
    assert comm.closed


def _int64_ids(context: Context) -> bool:
    x, ids = _layer(context, (5, 6), 256, 4)
    mine = context.rank
    with Communicator(context.group, **_SHAPE) as comm:
        wide = dispatch_v2(x[mine], ids[mine].long(), comm)
        narrow = dispatch_v2(x[mine], ids[mine], comm)
        return torch.equal(wide.triples, narrow.triples) and torch.equal(wide.rows, narrow.rows)


@pytest.mark.fast
def test_int64_ids_are_taken(ranks: Pool) -> None:
    assert ranks.run(_int64_ids, 2) == [True, True]


def _outputs(context: Context) -> list[tuple[tuple[int, ...], torch.dtype]]:
    x, ids = _layer(context, (5, 6), 256, 4)
    with Communicator(context.group, **_SHAPE) as comm:
        received = dispatch_v2(x[context.rank], ids[context.rank], comm)
        return [(tuple(output.shape), output.dtype) for output in received]


@pytest.mark.fast
def test_outputs_have_the_documented_shapes(ranks: Pool) -> None:
    """G = 32, min(L, K) = 4: a capacity of 128 rows."""
    capacity = 128
    assert ranks.run(_outputs, 2)[0] == [
        ((capacity, 256), torch.bfloat16),
        ((capacity,), torch.float32),
        ((128 * capacity,), torch.int32),
        ((8,), torch.int64),
        ((16,), torch.int32),
        ((0,), torch.int32),
        ((capacity,), torch.float32),
    ]


def _over_subgroup(context: Context) -> None:
    group = dist.new_group([1, 3])
    if context.rank in (1, 3):
        with Communicator(group, **_SHAPE) as comm:
            inner = Context(comm.rank, comm.num_ranks, context.timeout, None)  # type: ignore[arg-type]
            _check_round(inner, comm, (4, 2), 256, 4)


@pytest.mark.fast
def test_communicator_over_a_subgroup(ranks: Pool) -> None:
    ranks.run(_over_subgroup, 4)
