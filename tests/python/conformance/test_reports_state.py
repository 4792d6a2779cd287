# SPDX-License-Identifier: Apache-2.0
"""Public reports 15 and 19: calls of changing size on one communicator, dispatches in flight. Layer: tests."""

from __future__ import annotations

import random
from typing import Any

import pytest
from ascend_deepep import Communicator, DispatchOutput, combine_v2, dispatch_v2
from ascend_deepep.testing import run
from conformance_support import (
    Caught,
    Expected,
    Plan,
    attempt,
    check_dispatch,
    communicator,
    even,
    experts_work,
    random_ids,
    round_trip,
    same,
    weights,
)
from torch import Tensor

LISTED = ((1, 4096), (64, 4096), (8, 2048), (64, 1024), (1, 4096), (8, 4096))
RANDOM_CALLS, RANDOM_CALLS_LONG = 50, 200


def mixed_sizes_body(context: Any, calls: tuple[tuple[int, int], ...]) -> None:
    """One communicator, a call of each (limit, hidden), nothing cleaned in between."""
    with communicator(context, even(4, 64, 2, 8, hidden=4096)) as comm:
        for number, (limit, hidden) in enumerate(calls):
            plan = Plan.make(even(4, limit, 2, 8, hidden=hidden), random_ids, number)
            try:
                round_trip(comm, Expected.of(plan, context.rank), global_bs=4 * limit)
            except AssertionError as error:
                raise AssertionError(f"call {number}, limit {limit}, hidden {hidden}: {error}") from None


@pytest.mark.sim
@pytest.mark.sanitizer
def test_report_15_listed_sizes() -> None:
    run(mixed_sizes_body, 4, LISTED, timeout=30)


@pytest.mark.parametrize("count", [RANDOM_CALLS, pytest.param(RANDOM_CALLS_LONG, marks=pytest.mark.long)])
def test_report_15_random_sizes(count: int) -> None:
    draw = random.Random(count)
    calls = tuple((draw.choice((1, 2, 7, 8, 33, 64)), 16 * draw.randint(4, 256)) for _ in range(count))
    run(mixed_sizes_body, 4, calls, timeout=30 + count * 0.2)


class Batch:
    """A batch that is dispatched at one time and combined at another."""

    def __init__(self, rank: int, seed: int) -> None:
        self.expected = Expected.of(Plan.make(even(4, 8, 2, 8), random_ids, seed), rank)
        self.ids = self.expected.plan.ids[rank]
        self.x = self.expected.plan.x(rank)
        self.out: DispatchOutput | None = None

    def dispatch(self, comm: Communicator) -> None:
        self.out = dispatch_v2(self.x, self.ids, comm)

    def check(self) -> None:
        check_dispatch(self.expected, self.out)

    def combine(self, comm: Communicator) -> Tensor:
        assert self.out is not None
        y = experts_work(self.expected, self.out.expand_x)
        return combine_v2(y, self.ids, self.out.assist_info_for_combine, self.out.ep_recv_counts, weights(8, 2), comm)


def in_flight_body(context: Any, order: tuple[str, ...], count: int) -> None:
    """`order` of dispatches (dA) and combines (cA), EXACT for every batch."""
    with communicator(context, even(4, 8, 2, 8)) as comm:
        for number in range(count):
            batches = {name: Batch(context.rank, 3 * number + place) for place, name in enumerate("ABC")}
            for step in order:
                batch = batches[step[1]]
                if step[0] == "d":
                    batch.dispatch(comm)
                    continue
                batch.check()  # what was dispatched earlier must still be as it was
                same(f"round {number} {step}", batch.combine(comm), batch.expected.combined)


FLIGHTS = ("dA dB cA cB", "dA dB cB cA", "dA cA dB cB", "dA dB dC cC cB cA")
FLIGHT_ROUNDS, FLIGHT_ROUNDS_LONG = 40, 100


@pytest.mark.parametrize("count", [FLIGHT_ROUNDS, pytest.param(FLIGHT_ROUNDS_LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize("order", FLIGHTS)
def test_report_19_dispatches_in_flight(order: str, count: int) -> None:
    """What a dispatch returns is all a combine needs, so any number may be open, in any order."""
    run(in_flight_body, 4, tuple(order.split()), count, timeout=30 + count * 0.2)


def out_of_order_body(context: Any) -> list[Caught]:
    """Rank 2 dispatches B before A. Its combines then belong to other dispatches than those of its peers."""
    first, second = ("B", "A") if context.rank == 2 else ("A", "B")
    batches = {"A": Batch(context.rank, 0), "B": Batch(context.rank, 1)}
    with communicator(context, even(4, 8, 2, 8)) as comm:
        batches[first].dispatch(comm)
        batches[second].dispatch(comm)
        found = [attempt(lambda: batches["A"].combine(comm)), attempt(lambda: batches["B"].combine(comm))]
        round_trip(comm, batches["A"].expected)
    return found


def test_report_19_rank_out_of_order() -> None:
    for rank, found in enumerate(run(out_of_order_body, 4, timeout=30)):
        for caught in found:
            assert caught.kind == "Mismatch", caught
            assert "dispatch number" in caught.text and "number 0" in caught.text and "number 1" in caught.text
            assert rank == 2 or "rank 2" in caught.text
