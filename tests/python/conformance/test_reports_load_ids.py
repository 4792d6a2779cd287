# SPDX-License-Identifier: Apache-2.0
"""Public reports 2, 7, 13 and 14: who has how many tokens, ids that choose nobody, ids that do not exist. Layer: tests.

Report 13 without its redundant experts, which come with a later release.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from ascend_deepep import dispatch_v2
from ascend_deepep.testing import run, shared_pool
from conformance_delays import jitter
from conformance_support import (
    Caught,
    Expected,
    Plan,
    Routing,
    Shape,
    attempt,
    communicator,
    even,
    first_rank,
    next_rank,
    payload,
    random_ids,
    round_trip,
    rounds,
    shared_list,
    weights,
)
from conformance_windows import Sizes, Windows, stray_writes
from torch import Tensor

ONE_OF_SIXTEEN = Shape((1, *(15 * (0,))), 8, 64)


@pytest.mark.fast
@pytest.mark.sim
@pytest.mark.sanitizer
def test_report_02_first_rank_is_idle() -> None:
    """Ranks 1 to 3 send all they have to the experts of rank 0, which brings nothing itself."""
    shape = Shape((0, 4, 4, 4), 6, 24)
    mine = Expected.of(Plan.make(shape, first_rank, 1), 0)
    assert mine.route.ranks[0].num_rows == 72 and mine.combined.shape == (0, 1024)
    assert mine.route.ranks[0].rows_per_expert.tolist() == 6 * [12]
    run(rounds, 4, shape, [first_rank, random_ids], 4, timeout=30)


def test_report_02_one_token_in_sixteen_ranks() -> None:
    run(rounds, 16, ONE_OF_SIXTEEN, [random_ids], 2, timeout=30)


DEAD_SHAPE = even(4, 8, 4, 8)


def column_two(ids: Tensor, rank: int) -> None:
    ids[:, 2] = -1


def first_and_last_token(ids: Tensor, rank: int) -> None:
    ids[[0, -1]] = -1


def only_rank_three(ids: Tensor, rank: int) -> None:
    if rank != 3:
        ids[:] = -1


def nobody(ids: Tensor, rank: int) -> None:
    ids[:] = -1


DEAD = {"a_column": column_two, "b_tokens": first_and_last_token, "c_one_rank": only_rank_three, "d_nobody": nobody}


def dead_body(context: Any, shape: Shape, which: str, weight: float) -> None:
    ids = [random_ids(shape, rank, torch.Generator().manual_seed(rank)) for rank in range(shape.num_ranks)]
    for rank, own in enumerate(ids):
        DEAD[which](own, rank)
    plan = Plan(shape, tuple(ids))
    scales = weights(shape.tokens[context.rank], shape.topk)
    scales[ids[context.rank] < 0] = weight
    expected = Expected.of(plan, context.rank, scales)
    dead = (ids[context.rank] < 0).all(dim=1)
    if bool(expected.combined[dead].view(torch.int16).any()) or bool(expected.combined.isnan().any()):
        raise AssertionError("the oracle must give zeros for a token that chose nobody")
    with communicator(context, shape) as comm:
        for _ in range(3):
            round_trip(comm, expected, expert_scales=scales)


@pytest.mark.sim
@pytest.mark.parametrize("weight", [float("nan"), 1e30], ids=["nan", "huge"])
@pytest.mark.parametrize("which", DEAD)
def test_report_07_ids_that_choose_nobody(which: str, weight: float) -> None:
    run(dead_body, 4, DEAD_SHAPE, which, weight, timeout=30)


@pytest.mark.parametrize("which", DEAD)
def test_report_07_single_token(which: str) -> None:
    """(e): one token a rank."""
    run(dead_body, 4, even(4, 1, 4, 8), which, float("nan"), timeout=30)


ILLEGAL_IDS = (8, 9, 1 << 15, (1 << 31) - 1, -2, -(1 << 31))
PLACES = ((0, 0), (0, 1), (3, 0), (3, 1))
OFFENDER = 2
POISON = 0x7F


def illegal_id_body(context: Any, bad: int, operation: str) -> list[Caught]:
    """The id at each place in turn, on one rank; nothing of that rank lands anywhere; the next good call is EXACT."""
    shape = even(4, 4, 2, 8)
    expected = Expected.of(Plan.make(shape, random_ids, 5), context.rank)
    good = expected.plan.ids[context.rank]
    x = payload(context.rank, 4, 1024)
    found = []
    with communicator(context, shape) as comm:
        windows = Windows(comm, Sizes(4, 4, 1024, 2, 8))
        for place in PLACES:
            out = dispatch_v2(x, good, comm) if operation == "combine" else None
            ids = good.clone()
            if context.rank == OFFENDER:
                ids[place] = bad
            dist.barrier()
            windows.poison(POISON)
            dist.barrier()
            if out is None:
                found.append(attempt(lambda ids=ids: dispatch_v2(x, ids, comm)))
            else:
                found.append(attempt(lambda ids=ids, out=out: combine(out, ids, comm)))
            dist.barrier()
            no_copy_of(OFFENDER, windows, expected)
            dist.barrier()
            round_trip(comm, expected)
    return found


def combine(out: Any, ids: Tensor, comm: Any) -> Tensor:
    from ascend_deepep import combine_v2

    scales = weights(4, 2)
    return combine_v2(out.expand_x, ids, out.assist_info_for_combine, out.ep_recv_counts, scales, comm)


def no_copy_of(source: int, windows: Windows, expected: Expected) -> None:
    """AssertionError if a slot that only `source` writes was touched."""
    s = windows.sizes
    dispatch, rows = windows.touched(POISON)
    for half in dispatch:
        if bool(half.view(s.num_ranks, -1)[source].any()):
            raise AssertionError(f"a token copy of rank {source} landed on rank {windows.own}")
    from_source = expected.route.destination[windows.own] == source
    for half in rows:
        if windows.own != source and bool(half.view(s.max_tokens, s.topk, -1)[from_source].any()):
            raise AssertionError(f"a row of rank {source} landed on rank {windows.own}")


@pytest.mark.parametrize("operation", ["dispatch", "combine"])
@pytest.mark.parametrize("bad", ILLEGAL_IDS)
def test_report_13_ids_that_do_not_exist(bad: int, operation: str) -> None:
    for rank, found in enumerate(run(illegal_id_body, 4, bad, operation, timeout=30)):
        for (token, column), caught in zip(PLACES, found, strict=True):
            assert caught.kind == ("ArgumentError" if rank == OFFENDER else "Mismatch"), caught
            assert f"expert_ids[{token}, {column}] = {bad}" in caught.text and "[-1, 7]" in caught.text
            assert caught.rank == rank and caught.root == OFFENDER
            assert caught.seconds < 1.0
            assert rank == OFFENDER or f"rank {OFFENDER}" in caught.text


def beyond_32_bits_body(context: Any) -> Caught:
    shape = even(4, 4, 2, 8)
    expected = Expected.of(Plan.make(shape, random_ids, 5), context.rank)
    ids = expected.plan.ids[context.rank].long()
    if context.rank == OFFENDER:
        ids[1, 1] = (1 << 32) + 3
    with communicator(context, shape) as comm:
        caught = attempt(lambda: dispatch_v2(payload(context.rank, 4, 1024), ids, comm))
        round_trip(comm, expected)
    return caught


def test_report_13_int64_id_beyond_32_bits() -> None:
    """Its low half is a legal expert; it must not be taken for one."""
    for rank, caught in enumerate(run(beyond_32_bits_body, 4, timeout=30)):
        assert caught.kind == ("ArgumentError" if rank == OFFENDER else "Mismatch"), caught
        assert "expert_ids[1, 1]" in caught.text


SKEWS: dict[str, tuple[Shape, Routing]] = {
    "a_shared_list": (even(8, 64, 4, 32), shared_list),
    "b_all_to_first_rank": (even(8, 64, 4, 32), first_rank),
    "c_all_to_one_expert": (even(8, 64, 1, 32), first_rank),
    "d_next_rank": (even(8, 64, 4, 32), next_rank),
}
SKEW_ROUNDS, SKEW_ROUNDS_LONG = 8, 20


def skew_body(context: Any, which: str, count: int) -> None:
    """Rounds without a barrier, then one that looks for stray writes."""
    shape, routing = SKEWS[which]
    rounds(context, shape, [routing], count, longest_ms=1.0 if context.rank == 0 else 0.0)
    expected = Expected.of(Plan.make(shape, routing, 99), context.rank)
    with communicator(context, shape) as comm:
        windows = Windows(comm, Sizes(8, 64, shape.hidden, shape.topk, shape.experts))
        windows.poison(POISON)
        dist.barrier()
        round_trip(comm, expected)
        dist.barrier()
        stray_writes(windows, expected.route, POISON)


@pytest.mark.parametrize("engine", ["mte", "urma"])
@pytest.mark.parametrize("count", [SKEW_ROUNDS, pytest.param(SKEW_ROUNDS_LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize("which", SKEWS)
def test_report_14_nearly_all_to_the_same(which: str, count: int, engine: str) -> None:
    """The rank that gets it all is also the one that is held up, by pauses and by stops from outside."""
    with jitter(shared_pool().pids(8)[:1], seed=count):
        run(skew_body, 8, which, count, timeout=30 + 2 * count, env={"ASCEND_DEEPEP_COMBINE_ENGINE": engine})


def test_report_14_hot_rank_receives_all() -> None:
    shape, routing = SKEWS["b_all_to_first_rank"]
    received = [rank.num_rows for rank in Expected.of(Plan.make(shape, routing, 1), 0).route.ranks]
    assert received == [8 * 64 * 4, 0, 0, 0, 0, 0, 0, 0]
