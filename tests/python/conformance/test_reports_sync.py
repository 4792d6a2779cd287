# SPDX-License-Identifier: Apache-2.0
"""Public reports 3, 8 and 11: arrival of counts, many experts a rank, fast ranks beside a slow one. Layer: tests.

Delays come as pauses between calls and as stops from outside, which strike inside the kernels.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import pytest
import torch
import torch.distributed as dist
from ascend_deepep.testing import run, shared_pool
from conformance_delays import hold, jitter
from conformance_support import (
    Caught,
    Expected,
    Plan,
    Routing,
    attempt,
    communicator,
    even,
    in_turn,
    last_local,
    no_block_heads,
    one_token,
    pauses,
    random_ids,
    round_trip,
    rounds,
)
from conformance_windows import Sizes, Windows

# Ranks and experts a rank of the report; then the two sizes around the end of our own first block of counts.
COUNT_ARRAYS = ((8, 16), (8, 17), (4, 33), (4, 3), (3, 5), (2, 1), (2, 88), (2, 89))
COUNT_ROUNDS, COUNT_ROUNDS_LONG = 20, 200
COUNT_ROUTINGS: dict[str, Routing] = {"a_random": random_ids, "b_zero_heads": no_block_heads, "c_one_token": one_token}


def count_array_body(context: Any, local_experts: int, routing: Routing, count: int) -> None:
    """Rounds with random pauses; the receive areas are poisoned between rounds."""
    shape = even(context.num_ranks, 8, 2, local_experts * context.num_ranks)
    expected = [Expected.of(Plan.make(shape, routing, seed), context.rank) for seed in range(min(count, 8))]
    pause = pauses(count, context.rank, 2.0)
    draw = random.Random(context.rank)
    with communicator(context, shape) as comm:
        windows = Windows(comm, Sizes(context.num_ranks, 8, shape.hidden, shape.topk, shape.experts))
        for number in range(count):
            dist.barrier()
            windows.poison(draw.choice((0x00, 0x7F, 0xFF)))
            dist.barrier()
            pause()
            round_trip(comm, expected[number % len(expected)], pause=pause)


@pytest.mark.parametrize("count", [COUNT_ROUNDS, pytest.param(COUNT_ROUNDS_LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize("routing", COUNT_ROUTINGS)
@pytest.mark.parametrize("num_ranks, local_experts", COUNT_ARRAYS)
def test_report_03_counts_of_any_length(num_ranks: int, local_experts: int, routing: str, count: int) -> None:
    with jitter(shared_pool().pids(num_ranks), seed=count):
        limit = 30 + count * 0.3
        run(count_array_body, num_ranks, local_experts, COUNT_ROUTINGS[routing], count, timeout=limit)


LOCAL_EXPERTS = (1, 15, 16, 17, 30, 31, 32, 33, 64, 128)
EXPERT_ROUTINGS: Sequence[Routing] = (in_turn, last_local, random_ids)
EXPERT_ROUNDS, EXPERT_ROUNDS_LONG = 30, 150  # 50 of each routing


@pytest.mark.parametrize("count", [EXPERT_ROUNDS, pytest.param(EXPERT_ROUNDS_LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize("cores", [None, 4, 72], ids=["default", "fewest", "most"])
@pytest.mark.parametrize("local_experts", LOCAL_EXPERTS)
def test_report_08_experts_of_a_rank(local_experts: int, cores: int | None, count: int) -> None:
    shape = even(2, 8, 2, 2 * local_experts)
    run(rounds, 2, shape, EXPERT_ROUTINGS, count, num_cores=cores, timeout=30 + count * 0.2)


@pytest.mark.parametrize("cores", [None, 4, 72], ids=["default", "fewest", "most"])
def test_report_08_most_experts(cores: int | None) -> None:
    """As many as the manual allows."""
    run(rounds, 2, even(2, 8, 2, 1024), EXPERT_ROUTINGS, 3, num_cores=cores, timeout=30)


def refused_body(context: Any, experts: int, cores: int | None) -> Caught:
    return attempt(lambda: communicator(context, even(2, 8, 2, experts), num_cores=cores))


@pytest.mark.parametrize(
    "experts, cores, texts",
    [(1026, None, ("num_experts = 1026", "1024")), (32, 1, ("num_cores = 1", "[4, 72]"))],
    ids=["experts", "cores"],
)
def test_report_08_beyond_the_limits(experts: int, cores: int | None, texts: tuple[str, ...]) -> None:
    for caught in run(refused_body, 2, experts, cores, timeout=30):
        assert caught.kind == "ArgumentError", caught
        assert all(text in caught.text for text in texts), caught.text


FREE_ROUNDS = 30
HOLD_SECONDS = 0.2
HELD_ROUND = 3


def held_body(context: Any, slow: int, where: str) -> float:
    """No barrier anywhere; the slow rank stands still once, the others run as far ahead as the protocol lets them."""
    shape = even(4, 16, 2, 8)
    expected = [Expected.of(Plan.make(shape, random_ids, seed), context.rank) for seed in range(8)]
    calls = 0

    def pause() -> None:
        nonlocal calls
        calls += 1
        before_combine, after_combine = 2 * HELD_ROUND + 1, 2 * HELD_ROUND + 2
        if context.rank == slow and calls == {"b": before_combine, "c": after_combine, "a": 0}[where]:
            time.sleep(HOLD_SECONDS)

    start = time.monotonic()
    with communicator(context, shape) as comm:
        for number in range(FREE_ROUNDS):
            if where == "a" and context.rank == slow and number % 10 == HELD_ROUND:
                context.report(number)
            round_trip(comm, expected[number % len(expected)], pause=pause)
    return time.monotonic() - start


@pytest.mark.parametrize("engine", ["mte", "urma"])
@pytest.mark.parametrize("where", ["a", "b", "c"])
@pytest.mark.parametrize("slow", [0, *(pytest.param(rank, marks=pytest.mark.long) for rank in (1, 2, 3))])
def test_report_11_slow_rank(slow: int, where: str, engine: str) -> None:
    """(a) is a stop from outside within 3 ms of the start of a dispatch: in its waits, copies, or copy-out."""
    pid = shared_pool().pids(4)[slow]
    draw = random.Random(slow)
    stops = []

    def stop(_rank: int, number: int) -> None:
        time.sleep(draw.random() * 0.003)
        hold(pid, HOLD_SECONDS)
        stops.append(number)

    env = {"ASCEND_DEEPEP_COMBINE_ENGINE": engine}
    took = run(held_body, 4, slow, where, timeout=30, env=env, on_report=stop)
    assert len(stops) == (3 if where == "a" else 0)
    # Nobody finishes without the slow rank: an operation needs the messages of all.
    assert min(took) >= HOLD_SECONDS


@pytest.mark.parametrize("count", [50, pytest.param(400, marks=pytest.mark.long)])
def test_report_11_everyone_is_stopped_in_turn(count: int) -> None:
    with jitter(shared_pool().pids(4), seed=count, longest_ms=20.0):
        run(rounds, 4, even(4, 16, 2, 8), [random_ids], count, timeout=30 + count * 0.3)


@pytest.mark.fast
def test_block_heads_are_avoided() -> None:
    """The routing of report 3 B does what it says, for every size."""
    for num_ranks, local_experts in COUNT_ARRAYS:
        shape = even(num_ranks, 8, 2, local_experts * num_ranks)
        ids = no_block_heads(shape, 0, torch.Generator().manual_seed(1))
        local = ids[ids >= 0] % local_experts
        assert not bool((local * num_ranks % 128 == 0).any())
        assert local.numel() == (0 if local_experts == 1 else 16)
