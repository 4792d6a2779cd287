# SPDX-License-Identifier: Apache-2.0
"""Every refusal: who raises what, how soon, that nothing of the refused call lands, that life goes on. Layer: tests.

The rank that made the call raises ArgumentError (NotImplementedError where a feature comes later) with argument, value
and limit; all others raise Mismatch within a second, naming that rank; the next call on the communicator is EXACT.
"""

from __future__ import annotations

from typing import Any

import conformance_refusals as table
import pytest
import torch
import torch.distributed as dist
from ascend_deepep import Communicator, DispatchOutput, dispatch_v2
from ascend_deepep.testing import run
from conformance_support import (
    Caught,
    Expected,
    Plan,
    attempt,
    communicator,
    even,
    experts_work,
    random_ids,
    round_trip,
    weights,
)
from conformance_windows import Sizes, Windows

POISON = 0x7F
OFFENDER = 2
SHAPE = even(table.NUM_RANKS, table.TOKENS, table.TOPK, table.EXPERTS, hidden=table.HIDDEN)
MAXIMA = {"max_tokens": table.MAX_TOKENS, "num_topk": table.MAX_TOPK}
SIZES = Sizes(table.NUM_RANKS, table.MAX_TOKENS, table.HIDDEN, table.MAX_TOPK, table.EXPERTS)


def place(comm: Communicator) -> table.Arguments:
    return {
        "group_ep": comm.name,
        "ep_world_size": comm.num_ranks,
        "ep_rank_id": comm.rank,
        "moe_expert_num": table.EXPERTS,
        "global_bs": table.GLOBAL_BS,
    }


def dispatch_arguments(comm: Communicator, expected: Expected) -> table.Arguments:
    rank = expected.rank
    return {"x": expected.plan.x(rank), "expert_ids": expected.plan.ids[rank].clone(), **place(comm)}


def combine_arguments(comm: Communicator, expected: Expected, out: DispatchOutput) -> table.Arguments:
    return {
        "expand_x": experts_work(expected, out.expand_x),
        "expert_ids": expected.plan.ids[expected.rank].clone(),
        "assist_info_for_combine": out.assist_info_for_combine,
        "ep_send_counts": out.ep_recv_counts,
        "expert_scales": weights(table.TOKENS, table.TOPK),
        **place(comm),
    }


def no_write_of(source: int, windows: Windows, expected: Expected) -> None:
    """AssertionError if a slot that only `source` writes was touched in this rank's receive areas."""
    dispatch, combine = windows.touched(POISON)
    slots = [half.view(SIZES.num_ranks, -1)[source] for half in dispatch]
    if windows.own != source:
        hosts = expected.route.destination[windows.own].flatten()  # by slot: token * top-k of the call + column
        rows = SIZES.max_tokens * SIZES.topk
        slots += [half.view(rows, -1)[: hosts.numel()][hosts == source] for half in combine]
    if any(bool(slot.any()) for slot in slots):
        raise AssertionError(f"something of rank {source}'s refused call landed on rank {windows.own}")


def put_bytes(comm: Communicator) -> tuple[int, int]:
    counters = comm.counters()
    return counters["bytes_put_dispatch"], counters["bytes_put_combine"]


def refusal_body(context: Any, kind: str, name: str) -> Caught:
    case = table.BY_NAME[kind, name]
    expected = Expected.of(Plan.make(SHAPE, random_ids, 3), context.rank)
    is_offender = context.rank == OFFENDER
    with communicator(context, SHAPE, **MAXIMA) as comm:
        windows = Windows(comm, SIZES)
        round_trip(comm, expected)
        if kind == "combine":
            out = dispatch_v2(expected.plan.x(context.rank), expected.plan.ids[context.rank], comm)
            arguments, operation = combine_arguments(comm, expected, out), torch.ops.npu.combine_v2
        else:
            arguments, operation = dispatch_arguments(comm, expected), torch.ops.npu.dispatch_v2
        if is_offender:
            case.change(arguments)
        dist.barrier()
        windows.poison(POISON)
        before = put_bytes(comm)
        dist.barrier()
        caught = attempt(lambda: operation(**arguments))
        dist.barrier()
        if is_offender and put_bytes(comm) != before:
            raise AssertionError(f"the refused call put {before} to {put_bytes(comm)} bytes")
        no_write_of(OFFENDER, windows, expected)
        dist.barrier()
        round_trip(comm, expected)
    return caught


def judge(case: table.Case, found: list[Caught], operation: str) -> None:
    texts = [text.format(offender=OFFENDER, next=OFFENDER + 1) for text in case.texts]
    for rank, caught in enumerate(found):
        if rank == OFFENDER:
            assert caught.kind == case.error, caught
            assert case.error != "ArgumentError" or ("ValueError" in caught.bases and caught.rank == rank)
        else:
            assert caught.kind == "Mismatch" and "DeepEPError" in caught.bases, caught
            assert f"rank {OFFENDER} refused {operation}" in caught.text
            assert caught.root == OFFENDER and caught.rank == rank
        assert all(text in caught.text for text in texts), caught.text
        assert caught.seconds < 1.0, caught


@pytest.mark.parametrize("case", table.DISPATCH, ids=lambda case: case.name)
def test_refused_dispatch(case: table.Case) -> None:
    judge(case, run(refusal_body, table.NUM_RANKS, "dispatch", case.name, timeout=30), "dispatch_v2")


@pytest.mark.parametrize("case", table.COMBINE, ids=lambda case: case.name)
def test_refused_combine(case: table.Case) -> None:
    judge(case, run(refusal_body, table.NUM_RANKS, "combine", case.name, timeout=30), "combine_v2")


def foreign_body(context: Any) -> Caught:
    """Triples of a dispatch on another communicator: well formed, of the same sizes, and not ours."""
    expected = Expected.of(Plan.make(SHAPE, random_ids, 3), context.rank)
    with communicator(context, SHAPE, **MAXIMA) as comm, communicator(context, SHAPE, **MAXIMA) as other:
        x, ids = expected.plan.x(context.rank), expected.plan.ids[context.rank]
        out, foreign = dispatch_v2(x, ids, comm), dispatch_v2(x, ids, other)
        arguments = combine_arguments(comm, expected, foreign if context.rank == OFFENDER else out)
        before = put_bytes(comm)
        caught = attempt(lambda: torch.ops.npu.combine_v2(**arguments))
        if context.rank == OFFENDER and put_bytes(comm) != before:
            raise AssertionError("the refused call put rows")
        round_trip(comm, expected)
        round_trip(other, expected)
    return caught


def test_refused_triples_of_another_communicator() -> None:
    case = table.Case("foreign", lambda arguments: None, ("assist_info_for_combine is not from a dispatch_v2",))
    judge(case, run(foreign_body, table.NUM_RANKS, timeout=30), "combine_v2")


def everyone_body(context: Any) -> list[Caught]:
    """All ranks make the same illegal call: each is told of its own."""
    expected = Expected.of(Plan.make(SHAPE, random_ids, 3), context.rank)
    found = []
    with communicator(context, SHAPE, **MAXIMA) as comm:
        for name in ("too_many_tokens", "id_too_large", "quant_mode_later"):
            arguments = dispatch_arguments(comm, expected)
            table.BY_NAME["dispatch", name].change(arguments)
            found.append(attempt(lambda arguments=arguments: torch.ops.npu.dispatch_v2(**arguments)))
            round_trip(comm, expected)
    return found


def test_refused_on_every_rank() -> None:
    for rank, found in enumerate(run(everyone_body, table.NUM_RANKS, timeout=30)):
        assert [caught.kind for caught in found] == ["ArgumentError", "ArgumentError", "NotImplementedError"], found
        assert "num_tokens (x.shape[0]) = 9" in found[0].text and "expert_ids[2, 1] = 16" in found[1].text
        assert [caught.rank for caught in found[:2]] == [rank, rank]
