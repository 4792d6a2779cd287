# SPDX-License-Identifier: Apache-2.0
"""Calls and communicators that are legal alone and differ between ranks, and names that nobody knows. Layer: tests.

Every rank is told, at once, by an error that names a rank that differs and both values; then life goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import conformance_refusals as table
import pytest
import torch
import torch.distributed as dist
from ascend_deepep import Communicator, combine_v2, dispatch_v2
from ascend_deepep.testing import run
from conformance_support import (
    Caught,
    Expected,
    Plan,
    attempt,
    communicator,
    even,
    experts_work,
    payload,
    random_ids,
    round_trip,
    weights,
)

OFFENDER = 2
SHAPE = even(table.NUM_RANKS, table.TOKENS, table.TOPK, table.EXPERTS, hidden=table.HIDDEN)
MAXIMA = {"max_tokens": table.MAX_TOKENS, "num_topk": table.MAX_TOPK}


@dataclass(frozen=True)
class Sides:
    """What the offender and what the others do in one operation, and the words of the errors."""

    offender: Callable[[Communicator, Expected, Any], object]
    others: Callable[[Communicator, Expected, Any], object]
    texts: tuple[str, ...]


def dispatch(
    tokens: int = 6, hidden: int = 128, topk: int = 3, dtype: torch.dtype = torch.bfloat16, **options: Any
) -> Any:
    """A dispatch of these sizes, whose ids are legal."""

    def call(comm: Communicator, _expected: Expected, _outs: Any) -> object:
        ids = torch.arange(topk, dtype=torch.int32).expand(tokens, topk)
        return dispatch_v2(payload(comm.rank, tokens, hidden, dtype), ids, comm, **options)

    return call


def combine(which: int) -> Any:
    """A combine of the first or the second dispatch before it."""

    def call(comm: Communicator, expected: Expected, outs: Any) -> object:
        out, ids = outs[which], expected.plan.ids[comm.rank]
        y = experts_work(expected, out.expand_x)
        scales = weights(table.TOKENS, table.TOPK)
        return combine_v2(y, ids, out.assist_info_for_combine, out.ep_recv_counts, scales, comm)

    return call


DIFFERENT = {
    "hidden": Sides(dispatch(hidden=64), dispatch(), ("hidden", "64", "128")),
    "topk": Sides(dispatch(topk=2), dispatch(), ("num_topk", "2", "3")),
    "experts": Sides(dispatch(moe_expert_num=8), dispatch(), ("moe_expert_num", "8", "16")),
    "dtype": Sides(dispatch(dtype=torch.float16), dispatch(), ("float16", "bfloat16")),
    "largest_batch": Sides(dispatch(global_bs=24), dispatch(), ("global_bs", "6", "8")),
    "tokens_without_global_bs": Sides(
        dispatch(tokens=5, global_bs=0), dispatch(global_bs=0), ("num_tokens with global_bs = 0", "5", "6")
    ),
    "kind": Sides(combine(1), dispatch(), ("combine_v2", "dispatch_v2")),
    "kind_other_way": Sides(dispatch(), combine(1), ("combine_v2", "dispatch_v2")),
    "combine_of_another_dispatch": Sides(combine(0), combine(1), ("dispatch number",)),
}


def different_body(context: Any, which: str) -> Caught:
    expected = Expected.of(Plan.make(SHAPE, random_ids, 3), context.rank)
    sides = DIFFERENT[which]
    with communicator(context, SHAPE, **MAXIMA) as comm:
        x, ids = expected.plan.x(context.rank), expected.plan.ids[context.rank]
        outs = [dispatch_v2(x, ids, comm), dispatch_v2(x, ids, comm)]
        call = sides.offender if context.rank == OFFENDER else sides.others
        dist.barrier()
        caught = attempt(lambda: call(comm, expected, outs))
        dist.barrier()
        round_trip(comm, expected)
    return caught


@pytest.mark.parametrize("which", DIFFERENT)
def test_calls_that_differ(which: str) -> None:
    for rank, caught in enumerate(run(different_body, table.NUM_RANKS, which, timeout=30)):
        assert caught.kind == "Mismatch" and caught.rank == rank, caught
        assert all(text in caught.text for text in DIFFERENT[which].texts), caught.text
        assert caught.seconds < 1.0
        if rank != OFFENDER:
            assert f"rank {OFFENDER}" in caught.text and caught.root == OFFENDER
        else:
            assert caught.root in (0, 1, 3) and f"rank {caught.root}" in caught.text


LIMITS: dict[str, tuple[int, int]] = {
    "max_tokens": (16, 8),
    "hidden": (256, 128),
    "num_topk": (4, 6),
    "num_experts": (32, 16),
    "shared_expert_num": (1, 0),
    "timeout_ms": (20_000, 10_000),
    "window_bytes": (1 << 24, 1 << 23),
}


def limits_body(context: Any, limit: str) -> Caught:
    theirs, ours = LIMITS[limit]
    more = {**MAXIMA, limit: theirs if context.rank == OFFENDER else ours}
    caught = attempt(lambda: communicator(context, SHAPE, **more))
    with communicator(context, SHAPE, **MAXIMA) as comm:
        round_trip(comm, Expected.of(Plan.make(SHAPE, random_ids, 3), context.rank))
    return caught


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_that_differ(limit: str) -> None:
    theirs, ours = LIMITS[limit]
    for caught in run(limits_body, table.NUM_RANKS, limit, timeout=30):
        assert caught.kind in ("Mismatch", "ArgumentError"), caught
        for text in (limit, str(theirs), str(ours), f"rank {OFFENDER}"):
            assert text in caught.text, caught.text
        assert caught.root == OFFENDER


ILLEGAL_LIMITS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "max_tokens": ({"max_tokens": 8193}, ("max_tokens = 8193", "8192")),
    "hidden_too_large": ({"hidden": 8208}, ("hidden = 8208", "8192")),
    "hidden_too_small": ({"hidden": 48}, ("hidden = 48", "64")),
    "hidden_not_a_multiple": ({"hidden": 1000}, ("hidden = 1000", "16")),
    "topk": ({"num_topk": 17}, ("num_topk = 17", "16")),
    "topk_above_experts": ({"num_topk": 5, "num_experts": 4}, ("num_topk = 5", "num_experts = 4")),
    "experts": ({"num_experts": 1028}, ("num_experts = 1028", "1024")),
    "experts_not_divisible": ({"num_experts": 18}, ("num_experts = 18", "num_ranks = 4")),
    "timeout": ({"timeout_ms": 0}, ("timeout_ms = 0",)),
    "name_too_long": ({"name": 128 * "n"}, ("name", "127")),
    "name_empty": ({"name": ""}, ("name", "127")),
    "not_a_number": ({"max_tokens": "many"}, ("max_tokens = 'many'",)),
}


def illegal_limit_body(context: Any, which: str) -> Caught:
    more = {**MAXIMA, **(ILLEGAL_LIMITS[which][0] if context.rank == OFFENDER else {})}
    caught = attempt(lambda: communicator(context, SHAPE, **more))
    with communicator(context, SHAPE, **MAXIMA) as comm:
        round_trip(comm, Expected.of(Plan.make(SHAPE, random_ids, 3), context.rank))
    return caught


@pytest.mark.parametrize("which", ILLEGAL_LIMITS)
def test_illegal_limits_of_one_rank(which: str) -> None:
    texts = ILLEGAL_LIMITS[which][1]
    for rank, caught in enumerate(run(illegal_limit_body, table.NUM_RANKS, which, timeout=30)):
        assert caught.kind == ("ArgumentError" if rank == OFFENDER else "Mismatch"), caught
        assert all(text in caught.text for text in texts), caught.text
        # Before there is a communicator a rank's own mistake need not carry its number.
        assert rank == OFFENDER or (caught.root == OFFENDER and f"rank {OFFENDER}" in caught.text)


def name_body(context: Any) -> list[Caught]:
    """A name that is taken, one that differs, one that nobody made, one that is closed."""
    expected = Expected.of(Plan.make(SHAPE, random_ids, 3), context.rank)
    x, ids = expected.plan.x(context.rank), expected.plan.ids[context.rank]

    def use(name: str) -> Caught:
        rank = context.rank
        return attempt(lambda: torch.ops.npu.dispatch_v2(x, ids, name, table.NUM_RANKS, rank, table.EXPERTS))

    with communicator(context, SHAPE, name="layer-one", **MAXIMA) as comm:
        taken = attempt(lambda: communicator(context, SHAPE, name="layer-one", **MAXIMA))
        differs = attempt(lambda: communicator(context, SHAPE, name=f"of-rank-{context.rank // 2}", **MAXIMA))
        unknown = use("layer-two")
        round_trip(comm, expected)
    closed = [use("layer-one"), attempt(lambda: dispatch_v2(x, ids, comm))]
    with communicator(context, SHAPE, name="layer-one", **MAXIMA) as again:
        round_trip(again, expected)
    return [taken, differs, unknown, *closed]


def test_names() -> None:
    for taken, differs, unknown, closed, closed_object in run(name_body, table.NUM_RANKS, timeout=30):
        assert taken.kind == "ArgumentError" and "'layer-one' is in use" in taken.text, taken
        assert differs.kind == "Mismatch" and "of-rank-0" in differs.text and "of-rank-1" in differs.text, differs
        assert unknown.kind == "ArgumentError" and "layer-two" in unknown.text, unknown
        assert "layer-one" in unknown.text and "Communicator(" in unknown.text, unknown.text
        assert closed.kind == "ArgumentError" and "layer-one" in closed.text, closed
        assert closed_object.kind == "ArgumentError" and "closed" in closed_object.text, closed_object
