# SPDX-License-Identifier: Apache-2.0
"""What the conformance tests share: payload, routings, oracle, poison, and the judgement EXACT. Layer: tests.

Everything here runs on ranks of ascend_deepep.testing, so it imports no pytest. A `Shape` says how large a call is, a
routing who chooses whom, a `Plan` is a call of all ranks, and `Expected` is what one rank must see of it, bit by bit.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from ascend_deepep import Communicator, combine_v2, dispatch_v2, reference
from torch import Tensor

POISON = 0x7F  # bytes of outputs and windows before a call


@dataclass(frozen=True)
class Shape:
    """Sizes of a call: tokens per rank, top-k, experts in all, hidden size, element type."""

    tokens: tuple[int, ...]
    topk: int
    experts: int
    hidden: int = 1024
    dtype: torch.dtype = torch.bfloat16

    @property
    def num_ranks(self) -> int:
        return len(self.tokens)

    @property
    def local_experts(self) -> int:
        return self.experts // self.num_ranks


def even(num_ranks: int, tokens: int, topk: int, experts: int, **more: Any) -> Shape:
    """A shape whose ranks bring the same number of tokens."""
    return Shape((tokens,) * num_ranks, topk, experts, **more)


def payload_at(sources: Tensor, tokens: Tensor, hidden: int, dtype: torch.dtype) -> Tensor:
    """Rows whose values are exact in every sum of the tests, and whose first columns say whose they are."""
    sources, tokens = sources.long(), tokens.long()
    x = ((37 * sources + 11 * tokens)[:, None] + torch.arange(hidden)) % 61 - 30
    x[:, 0], x[:, 1], x[:, 2] = sources, tokens % 256, tokens // 256
    return x.to(dtype)


def payload(rank: int, num_tokens: int, hidden: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """The tokens of a rank."""
    return payload_at(torch.full((num_tokens,), rank), torch.arange(num_tokens), hidden, dtype)


def weights(num_tokens: int, topk: int) -> Tensor:
    """(tokens, top-k) float32: powers of two, so that no product rounds."""
    return (2.0 ** -(1.0 + torch.arange(topk) % 4)).expand(num_tokens, topk).contiguous()


def expert_step(rows: Tensor, experts: Tensor) -> Tensor:
    """The experts' work: a power of two that depends on the expert."""
    return (rows.float() * (2.0 ** (experts % 4))[:, None]).to(rows.dtype)


# Routings: (shape, rank, generator) -> (tokens, top-k) int32.


def random_ids(shape: Shape, rank: int, generator: torch.Generator) -> Tensor:
    """K distinct experts for each token, at random."""
    scores = torch.rand(shape.tokens[rank], shape.experts, generator=generator)
    return scores.argsort(dim=1)[:, : shape.topk].to(torch.int32)


def in_turn(shape: Shape, rank: int, _generator: torch.Generator) -> Tensor:
    """One choice for each expert in turn."""
    first = (torch.arange(shape.tokens[rank]) + rank * max(shape.tokens))[:, None] * shape.topk
    return ((first + torch.arange(shape.topk)) % shape.experts).to(torch.int32)


def last_local(shape: Shape, rank: int, _generator: torch.Generator) -> Tensor:
    """Every token to the last expert of as many ranks as it may choose."""
    hosts = torch.arange(min(shape.topk, shape.num_ranks)) + 1
    chosen = torch.full((shape.topk,), -1)
    chosen[: len(hosts)] = hosts * shape.local_experts - 1
    return chosen.expand(shape.tokens[rank], shape.topk).to(torch.int32)


def last_expert(shape: Shape, rank: int, _generator: torch.Generator) -> Tensor:
    """Every token to the very last expert alone."""
    ids = torch.full((shape.tokens[rank], shape.topk), -1, dtype=torch.int32)
    ids[:, 0] = shape.experts - 1
    return ids


def last_rank(shape: Shape, rank: int, _generator: torch.Generator) -> Tensor:
    """Every token to the last rank's experts, as many as there are."""
    width = min(shape.topk, shape.local_experts)
    ids = torch.full((shape.tokens[rank], shape.topk), -1, dtype=torch.int32)
    ids[:, :width] = torch.arange(shape.experts - width, shape.experts)
    return ids


def first_rank(shape: Shape, rank: int, _generator: torch.Generator) -> Tensor:
    """Every token to the first experts."""
    return torch.arange(shape.topk).expand(shape.tokens[rank], shape.topk).to(torch.int32)


def no_block_heads(shape: Shape, rank: int, generator: torch.Generator) -> Tensor:
    """Random, but nobody chooses an expert whose count is the first word of a 512 B block of counts."""
    words = torch.arange(shape.experts) % shape.local_experts * shape.num_ranks
    scores = torch.rand(shape.tokens[rank], shape.experts, generator=generator)
    scores[:, words % 128 == 0] = 2.0  # above all others: behind them in the order
    order = scores.argsort(dim=1)[:, : shape.topk].to(torch.int32)
    return torch.where(scores.gather(1, order.long()) < 2.0, order, -1)


def one_token(shape: Shape, rank: int, _generator: torch.Generator) -> Tensor:
    """A single choice in the whole call: the first rank's last token, the last expert."""
    ids = torch.full((shape.tokens[rank], shape.topk), -1, dtype=torch.int32)
    if rank == 0:
        ids[-1, -1] = shape.experts - 1
    return ids


def shared_list(shape: Shape, rank: int, generator: torch.Generator) -> Tensor:
    """All tokens from the tenth on choose one list of experts; the others choose at random."""
    ids = random_ids(shape, rank, generator)
    ids[10:] = torch.arange(shape.topk) * (shape.experts // shape.topk)
    return ids


def next_rank(shape: Shape, rank: int, _generator: torch.Generator) -> Tensor:
    """Rank r chooses experts of rank r + 1 only."""
    first = (rank + 1) % shape.num_ranks * shape.local_experts
    return (
        (first + torch.arange(shape.topk) % shape.local_experts).expand(shape.tokens[rank], shape.topk).to(torch.int32)
    )


def hot_first(shape: Shape, rank: int, generator: torch.Generator) -> Tensor:
    """The first choice of every token is expert 0, the others are at random."""
    scores = torch.rand(shape.tokens[rank], shape.experts, generator=generator)
    scores[:, 0] = -1.0
    return scores.argsort(dim=1)[:, : shape.topk].to(torch.int32)


Routing = Callable[[Shape, int, torch.Generator], Tensor]


@dataclass(frozen=True)
class Plan:
    """A call of all ranks."""

    shape: Shape
    ids: tuple[Tensor, ...]

    @staticmethod
    def make(shape: Shape, routing: Routing, seed: int) -> Plan:
        """The call that every rank computes alike."""
        ids = []
        for rank in range(shape.num_ranks):
            ids.append(routing(shape, rank, torch.Generator().manual_seed(seed * 1009 + rank)))
        return Plan(shape, tuple(ids))

    def x(self, rank: int) -> Tensor:
        """The tokens of a rank."""
        return payload(rank, self.shape.tokens[rank], self.shape.hidden, self.shape.dtype)


@dataclass(frozen=True)
class Expected:
    """What one rank must see of a plan."""

    plan: Plan
    rank: int
    route: reference.Route
    rows: Tensor
    combined: Tensor

    @staticmethod
    def of(plan: Plan, rank: int, expert_scales: Tensor | None = None) -> Expected:
        """`expert_scales` of this rank: the usual weights unless given; an empty tensor is a plain sum."""
        shape = plan.shape
        scales = weights(shape.tokens[rank], shape.topk) if expert_scales is None else expert_scales
        routed = reference.route(plan.ids, shape.experts)
        triples = routed.ranks[rank].triples
        x = plan.x(rank)
        combined = reference.combine_rank(
            lambda _column, tokens, experts: expert_step(x[tokens], experts),
            plan.ids[rank],
            scales if scales.numel() else None,
            shape.hidden,
            shape.dtype,
        )
        rows = payload_at(triples[:, 0], triples[:, 1], shape.hidden, shape.dtype)
        return Expected(plan, rank, routed, rows, combined)


def same(what: str, got: Tensor, want: Tensor) -> None:
    """Bitwise equality, or an AssertionError that names the first place of difference."""
    if got.dtype != want.dtype or got.shape != want.shape:
        raise AssertionError(f"{what}: {got.dtype} {tuple(got.shape)}, expected {want.dtype} {tuple(want.shape)}")
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[got.element_size()]
    differs = got.contiguous().view(width) != want.contiguous().view(width)
    if bool(differs.any()):
        place = tuple(differs.nonzero()[0].tolist())
        raise AssertionError(
            f"{what}{list(place)} is {got[place].item()}, expected {want[place].item()}; {int(differs.sum())} of "
            f"{differs.numel()} differ"
        )


def poison(*tensors: Tensor) -> None:
    """Leave bytes that no call writes; an output memory that is used again shows them where it was not written."""
    for tensor in tensors:
        if tensor.numel():
            tensor.view(torch.uint8).fill_(POISON)


def check_dispatch(expected: Expected, out: Any) -> None:
    """Counts, rows and triples of a dispatch, bit by bit."""
    mine = expected.route.ranks[expected.rank]
    same("ep_recv_counts", out.ep_recv_counts, mine.ep_recv_counts)
    same("expert_token_nums", out.expert_token_nums, mine.expert_token_nums(1))
    same("triples", out.triples, mine.triples)
    same("rows", out.rows, expected.rows)


def experts_work(expected: Expected, expand_x: Tensor) -> Tensor:
    """What the experts make of `expand_x`; NaN behind the last row, so that a stray read shows."""
    mine = expected.route.ranks[expected.rank]
    shape = expected.plan.shape
    local = torch.arange(shape.local_experts).repeat_interleave(mine.rows_per_expert)
    y = torch.full_like(expand_x, float("nan"))
    y[: mine.num_rows] = expert_step(expand_x[: mine.num_rows], local + expected.rank * shape.local_experts)
    return y


def round_trip(
    comm: Communicator,
    expected: Expected,
    *,
    expert_scales: Tensor | None = None,
    ids: Tensor | None = None,
    pause: Callable[[], None] = lambda: None,
    **options: Any,
) -> None:
    """Dispatch, experts, combine; EXACT or an AssertionError. `pause` is called between and after the two."""
    rank, plan = expected.rank, expected.plan
    shape = plan.shape
    ids = plan.ids[rank] if ids is None else ids
    scales = weights(shape.tokens[rank], shape.topk) if expert_scales is None else expert_scales
    out = dispatch_v2(plan.x(rank), ids, comm, moe_expert_num=shape.experts, **options)
    check_dispatch(expected, out)
    y = experts_work(expected, out.expand_x)
    pause()
    combined = combine_v2(
        y, ids, out.assist_info_for_combine, out.ep_recv_counts, scales, comm, moe_expert_num=shape.experts, **options
    )
    same("combined", combined, expected.combined)
    poison(*out, combined, y)
    pause()


def communicator(context: Any, shape: Shape, **more: Any) -> Communicator:
    """A communicator whose maxima are the shape's, unless told otherwise."""
    sizes = {
        "max_tokens": max(1, *shape.tokens),
        "hidden": shape.hidden,
        "num_topk": shape.topk,
        "num_experts": shape.experts,
        **more,
    }
    return Communicator(context.group, **sizes)


def pauses(seed: int, rank: int, longest_ms: float) -> Callable[[], None]:
    """Sleeps of random length, half of them none."""
    draw = random.Random(seed * 1009 + rank)

    def pause() -> None:
        if longest_ms and draw.random() < 0.5:
            time.sleep(draw.random() * longest_ms / 1000)

    return pause


def rounds(
    context: Any,
    shape: Shape,
    routings: Sequence[Routing],
    count: int,
    *,
    seed: int = 1,
    distinct: int = 6,
    longest_ms: float = 0.0,
    **more: Any,
) -> None:
    """Body: `count` round trips without a barrier, through the routings in turn, `distinct` plans of each."""
    plans = [Plan.make(shape, routing, seed + n) for n in range(min(distinct, count)) for routing in routings]
    expected = [Expected.of(plan, context.rank) for plan in plans]
    pause = pauses(seed, context.rank, longest_ms)
    with communicator(context, shape, **more) as comm:
        for number in range(count):
            try:
                round_trip(comm, expected[number % len(expected)], pause=pause)
            except AssertionError as error:
                raise AssertionError(f"round {number}: {error}") from None


@dataclass(frozen=True)
class Caught:
    """How an attempt ended: the error's class, text and attributes, or kind None; and how long it took."""

    kind: str | None
    text: str
    seconds: float
    root: int | None = None
    stage: str | None = None
    operation: str | None = None
    #: Attribute `seconds` of the error: since entering the call.
    waited: float | None = None
    bases: tuple[str, ...] = ()
    #: The clock (time.monotonic) at the end.
    at: float = 0.0
    rank: int | None = None


def attempt(function: Callable[[], object]) -> Caught:
    """Call `function`; an exception, KeyboardInterrupt too, is told and not raised."""
    start = time.monotonic()
    try:
        function()
    except (Exception, KeyboardInterrupt) as error:
        now = time.monotonic()
        return Caught(
            type(error).__name__,
            str(error),
            now - start,
            getattr(error, "root", None),
            getattr(error, "stage", None),
            getattr(error, "operation", None),
            getattr(error, "seconds", None),
            tuple(base.__name__ for base in type(error).__mro__),
            now,
            getattr(error, "rank", None),
        )
    now = time.monotonic()
    return Caught(None, "", now - start, at=now)
