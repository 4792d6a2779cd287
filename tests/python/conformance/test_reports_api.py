# SPDX-License-Identifier: Apache-2.0
"""Public reports 17, 18 and 24: integer widths, the sum's precision, strides. Layer: tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from ascend_deepep import combine_v2, dispatch_v2, reference
from ascend_deepep.testing import run, shared_pool
from conformance_delays import jitter
from conformance_support import (
    Caught,
    Expected,
    Plan,
    attempt,
    check_dispatch,
    communicator,
    even,
    experts_work,
    pauses,
    payload,
    random_ids,
    round_trip,
    same,
    weights,
)
from torch import Tensor

WIDTH_SHAPE = even(2, 8, 2, 8)


def without_zero(shape: Any, rank: int, generator: torch.Generator) -> Tensor:
    """Ids in 1..7: a 0 can only be half of a wider integer."""
    scores = torch.rand(shape.tokens[rank], shape.experts - 1, generator=generator)
    return (scores.argsort(dim=1)[:, : shape.topk] + 1).to(torch.int32)


def widths_body(context: Any, argument: str, dtype: torch.dtype, raw: bool) -> Caught:
    """One argument in another dtype, through the wrappers or straight through the operators; then a good call."""
    expected = Expected.of(Plan.make(WIDTH_SHAPE, without_zero, 1), context.rank)
    ids = expected.plan.ids[context.rank]
    with communicator(context, WIDTH_SHAPE) as comm:

        def call() -> None:
            given = ids.to(dtype) if argument == "expert_ids" else ids
            scales = weights(8, 2).to(dtype) if argument == "expert_scales" else weights(8, 2)
            x = expected.plan.x(context.rank)
            want = expected
            if argument == "x":
                x = x.to(dtype)
                want = Expected.of(Plan(replace(WIDTH_SHAPE, dtype=dtype), expected.plan.ids), context.rank)
            if raw:
                torch.ops.npu.dispatch_v2(x, given, comm.name, 2, context.rank, 8, global_bs=16)
                return
            out = dispatch_v2(x, given, comm)
            check_dispatch(want, out)
            y = experts_work(want, out.expand_x)
            got = combine_v2(y, given, out.assist_info_for_combine, out.ep_recv_counts, scales, comm)
            same("combined", got, want.combined)

        caught = attempt(call)
        round_trip(comm, expected)
    return caught


EXACT_WIDTHS = [
    ("expert_ids", torch.int32, False),
    ("expert_ids", torch.int32, True),
    ("expert_ids", torch.int64, False),
    ("expert_scales", torch.float32, False),
    ("x", torch.bfloat16, False),
    ("x", torch.float16, False),
]
REFUSED_WIDTHS = [
    ("expert_ids", torch.int64, True, "int32"),
    ("expert_ids", torch.int16, False, "int32"),
    ("expert_ids", torch.uint8, False, "int32"),
    ("expert_ids", torch.float32, False, "int32"),
    ("expert_scales", torch.bfloat16, False, "float32"),
    ("expert_scales", torch.float64, False, "float32"),
    ("x", torch.float32, False, "bfloat16 or float16"),
]


@pytest.mark.sim
@pytest.mark.parametrize("argument, dtype, raw", EXACT_WIDTHS)
def test_report_17_legal_dtypes(argument: str, dtype: torch.dtype, raw: bool) -> None:
    for caught in run(widths_body, 2, argument, dtype, raw, timeout=30):
        assert caught.kind is None, caught


@pytest.mark.parametrize("argument, dtype, raw, needed", REFUSED_WIDTHS)
def test_report_17_illegal_dtypes(argument: str, dtype: torch.dtype, raw: bool, needed: str) -> None:
    given = str(dtype).removeprefix("torch.")
    for caught in run(widths_body, 2, argument, dtype, raw, timeout=30):
        assert caught.kind == "ArgumentError", caught
        assert f"{argument} is {given}, must be {needed}" in caught.text


TERMS = 8
RUNS = 10


def terms_of(source: int) -> Tensor:
    """(4 tokens, 8 columns, hidden) bfloat16: what the experts answer to the tokens of a rank."""
    tiny = 2.0**-9
    rows = torch.zeros(4, TERMS, 1024)
    rows[0, 0], rows[0, 1:] = 1.0, tiny
    rows[1, 0], rows[1, 1], rows[1, 2] = 1.0, tiny, -1.0
    rows[2, 0], rows[2, 1:] = 256.0, 1.0
    rows[3] = torch.randn(TERMS, 1024, generator=torch.Generator().manual_seed(source))
    return rows.to(torch.bfloat16)


def precision_body(context: Any) -> list[Tensor]:
    """Combine again and again, with random delays; the outputs of all runs."""
    shape = even(2, 4, TERMS, TERMS)
    plan = Plan.make(shape, random_ids, 7)
    everyone = torch.stack([terms_of(0), terms_of(1)])
    pause = pauses(3, context.rank, 2.0)
    results = []
    with communicator(context, shape) as comm:
        for _ in range(RUNS):
            out = dispatch_v2(plan.x(context.rank), plan.ids[context.rank], comm)
            source, token, column = out.triples.long().unbind(1)
            y = torch.full_like(out.expand_x, float("nan"))
            y[: out.num_rows] = everyone[source, token, column]
            pause()
            results.append(
                combine_v2(
                    y,
                    plan.ids[context.rank],
                    out.assist_info_for_combine,
                    out.ep_recv_counts,
                    torch.ones(4, TERMS),
                    comm,
                )
            )
    return results


@pytest.mark.parametrize("engine", ["mte", "urma"])
def test_report_18_sum_in_float32(engine: str) -> None:
    """A, B and C have one right answer; D is within a unit in the last place of the exact sum, and always the same."""
    with jitter(shared_pool().pids(2), seed=5):
        found = run(precision_body, 2, timeout=30, env={"ASCEND_DEEPEP_COMBINE_ENGINE": engine})
    for source, results in enumerate(found):
        terms = terms_of(source)
        in_order = torch.zeros(4, 1024)
        for column in range(TERMS):
            in_order = in_order + terms[:, column].float()
        for result in results:
            same("combined", result, in_order.to(torch.bfloat16))
        first = results[0]
        assert first[0].unique().tolist() == [1.015625]  # 1 + 7 * 2^-9, not 1
        assert first[1].unique().tolist() == [2.0**-9]  # not 0
        assert first[2].unique().tolist() == [264.0]  # 263, not 256
        exact = terms[3].double().sum(dim=0)
        ulp = 2.0 ** (exact.abs().log2().floor() - 7)
        assert bool(((first[3].double() - exact).abs() <= ulp).all())


STRIDE_SHAPE = even(2, 6, 2, 4)


def wide_slice(x: Tensor) -> Tensor:
    wide = torch.zeros(x.shape[0], 2 * x.shape[1], dtype=x.dtype)
    wide[:, : x.shape[1]] = x
    return wide[:, : x.shape[1]]


def every_other(x: Tensor) -> Tensor:
    base = torch.zeros(2 * x.shape[0], *x.shape[1:], dtype=x.dtype)
    base[::2] = x
    return base[::2]


def offset_by_one(x: Tensor) -> Tensor:
    """Contiguous, but its first element lies at an odd place."""
    base = torch.zeros(x.numel() + 1, dtype=x.dtype)
    view = base[1:].view(x.shape)
    view.copy_(x)
    return view


def transposed(x: Tensor) -> Tensor:
    return x.t().contiguous().t()


def wide_columns(x: Tensor) -> Tensor:
    wide = torch.zeros(x.shape[0], 2 * x.shape[1], dtype=x.dtype)
    wide[:, ::2] = x
    return wide[:, ::2]


VIEWS = {view.__name__: view for view in (wide_slice, every_other, offset_by_one, transposed, wide_columns)}
STRIDED = [
    *((argument, view) for argument in ("x", "expert_ids", "expand_x", "expert_scales") for view in VIEWS),
    *(
        (argument, view)
        for argument in ("assist_info_for_combine", "ep_send_counts")  # of one dimension
        for view in ("every_other", "offset_by_one")
    ),
]


def strides_body(context: Any, argument: str, view: str) -> None:
    """One argument as a view; EXACT, and what the view looks into is unchanged."""
    expected = Expected.of(Plan.make(STRIDE_SHAPE, random_ids, 1), context.rank)
    seen: list[tuple[Tensor, Tensor]] = []

    def given(name: str, tensor: Tensor) -> Tensor:
        if name != argument:
            return tensor
        strided = VIEWS[view](tensor)
        storage = torch.empty(0, dtype=tensor.dtype).set_(strided.untyped_storage())  # type: ignore[call-overload]
        seen.append((storage, storage.clone()))
        return strided

    with communicator(context, STRIDE_SHAPE) as comm:
        ids = given("expert_ids", expected.plan.ids[context.rank])
        out = dispatch_v2(given("x", payload(context.rank, 6, 1024)), ids, comm)
        check_dispatch(expected, out)
        combined = combine_v2(
            given("expand_x", experts_work(expected, out.expand_x)),
            ids,
            given("assist_info_for_combine", out.assist_info_for_combine),
            given("ep_send_counts", out.ep_recv_counts),
            given("expert_scales", weights(6, 2)),
            comm,
        )
        same("combined", combined, expected.combined)
    if not seen:
        raise AssertionError(f"{argument} is no argument of this test")
    for now, before in seen:
        same(f"memory of {argument}", now, before)


@pytest.mark.parametrize("argument, view", STRIDED)
def test_report_24_strided_inputs(argument: str, view: str) -> None:
    run(strides_body, 2, argument, view, timeout=30)


def strided_mask_body(context: Any) -> None:
    """Every second byte of a wider mask counts."""
    plan = Plan.make(STRIDE_SHAPE, random_ids, 1)
    wide = torch.tensor([1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1], dtype=torch.bool)
    kept = wide.clone()
    masks = [wide[::2]] * STRIDE_SHAPE.num_ranks
    routed = reference.route(plan.ids, STRIDE_SHAPE.experts, masks)
    with communicator(context, STRIDE_SHAPE) as comm:
        out = dispatch_v2(plan.x(context.rank), plan.ids[context.rank], comm, x_active_mask=wide[::2])
    same("triples", out.triples, routed.ranks[context.rank].triples)
    same("counts", out.ep_recv_counts, routed.ranks[context.rank].ep_recv_counts)
    same("the mask's memory", wide, kept)


def test_report_24_strided_mask() -> None:
    run(strided_mask_body, 2, timeout=30)
