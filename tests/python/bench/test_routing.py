# SPDX-License-Identifier: Apache-2.0
"""Routing, inputs and the closed forms of the benchmark. Layer: tests, no ranks."""

from __future__ import annotations

import math

import pytest
import torch
from ascend_deepep.bench import routing
from ascend_deepep.bench.inputs import make_batch
from ascend_deepep.bench.measure import traffic
from ascend_deepep.bench.shapes import DTYPES, ROUTINGS, SWEEP, Shape

pytestmark = pytest.mark.fast

SMALL = Shape(ranks=4, tokens=64, hidden=64, topk=8, experts=32)


def shape_of(kind: str, dtype: str = "bf16") -> Shape:
    return Shape(**{**vars(SMALL), "routing": kind, "dtype": dtype})


@pytest.mark.parametrize("kind", ROUTINGS)
def test_ids_are_distinct_in_range_and_of_the_seed(kind: str) -> None:
    batches = [make_batch(shape_of(kind), rank, number) for rank in range(2) for number in range(2)]
    for batch in batches:
        ordered = batch.ids.sort(dim=1).values
        assert batch.ids.dtype == torch.int32 and batch.ids.shape == (64, 8)
        assert bool((ordered[:, 1:] > ordered[:, :-1]).all())
        assert int(batch.ids.min()) >= 0 and int(batch.ids.max()) < 32
    assert torch.equal(batches[0].ids, make_batch(shape_of(kind), 0, 0).ids)
    assert not any(torch.equal(batches[0].ids, other.ids) for other in batches[1:])


def test_the_gate_is_the_largest_products() -> None:
    x = torch.randn(5, 64, generator=torch.Generator().manual_seed(1))
    weight = torch.randn(32, 64, generator=torch.Generator().manual_seed(9))
    for token, ids in enumerate(routing.gate(x, 8, 32, seed=9).tolist()):
        products = [float((x[token] * weight[expert]).sum()) for expert in range(32)]
        assert ids == sorted(range(32), key=lambda expert: -products[expert])[:8]


def test_skewed_draws_follow_their_weights() -> None:
    """With one draw a token, an expert's share is its weight's: 1, 1/2, 1/3, ... in the order of the seed."""
    tokens, experts = 40_000, 16
    ids = routing.skewed(tokens, 1, experts, 3, torch.Generator().manual_seed(4))
    shares = torch.bincount(ids.flatten(), minlength=experts).sort(descending=True).values / tokens
    harmonic = sum(1 / place for place in range(1, experts + 1))
    for place, share in enumerate(shares.tolist(), 1):
        assert share == pytest.approx(1 / place / harmonic, abs=0.01)
    other = routing.skewed(tokens, 1, experts, 5, torch.Generator().manual_seed(4))
    assert int(ids.flatten().mode().values) != int(other.flatten().mode().values)


def test_skewed_is_uneven_and_uniform_is_even() -> None:
    loads = {}
    for kind in ROUTINGS:
        ids = torch.cat([make_batch(shape_of(kind), rank, 0).ids for rank in range(4)])
        loads[kind] = int(torch.bincount(ids.flatten(), minlength=32).max())
    assert loads["skewed"] > 2 * loads["uniform"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_part_of_a_sum_rounds(dtype: str) -> None:
    """Any columns of a token, added in float32 and rounded to bfloat16, are what exact arithmetic gives."""
    batch = make_batch(shape_of("uniform", dtype), 0, 0)
    exact = batch.x.double()
    for columns in range(1, 1 << 8):
        chosen = [column for column in range(8) if columns >> column & 1]
        part = exact * batch.weights[:, chosen].double().sum(dim=1, keepdim=True)
        assert torch.equal(part.to(torch.bfloat16).double(), part)
    assert torch.equal(batch.answer().double(), exact * batch.weights.double().sum(dim=1, keepdim=True))


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_copies_of_uniform_ids_are_what_chance_gives(ranks: int) -> None:
    """Of a token that chooses K of E experts, each of the N - 1 other ranks has none with C(E - L, K) / C(E, K)."""
    tokens, topk, experts = 8192, 8, 256
    shape = Shape(ranks, tokens // ranks, 512, topk, experts, routing="uniform")
    ids = [make_batch(shape, rank, 0).ids for rank in range(ranks)]
    moved = traffic(shape, ids, "per-rank")
    missed = math.comb(experts - experts // ranks, topk) / math.comb(experts, topk)
    assert moved.copies == pytest.approx(tokens * (ranks - 1) * (1 - missed), rel=0.01)
    # hidden state 1024 B, header 8 + 4 * 8 B to the next multiple of 32; 480 B of data a block
    assert moved.bytes_put_dispatch == moved.copies * math.ceil((1024 + 64) / 480) * 512
    per_expert = traffic(shape, ids, "per-expert")
    assert per_expert.copies == pytest.approx(tokens * topk * (ranks - 1) / ranks, rel=0.01)


def test_copies_by_counting() -> None:
    shape = Shape(ranks=2, tokens=3, hidden=64, topk=2, experts=4)
    ids = [torch.tensor([[0, 1], [0, 2], [2, 3]]), torch.tensor([[2, 3], [1, 0], [3, 2]])]
    assert traffic(shape, ids, "per-rank").copies == 2 + 1
    assert traffic(shape, ids, "per-expert").copies == 3 + 2


def test_the_sweep_is_decode_and_prefill() -> None:
    shapes = SWEEP.shapes(7168, 8, 256, 0)
    assert len(shapes) == 3 * 6 * 2 * 3 == len(set(shapes))
    assert {shape.tokens for shape in shapes} == {1, 8, 32, 128, 1024, 4096}


def test_least_bytes() -> None:
    shape = Shape(ranks=2, tokens=3, hidden=64, topk=2, experts=4)
    assert shape.least_bytes == 2 * 3 * 128 * (1 + 2 + 2 + 1)
    int8 = Shape(ranks=2, tokens=3, hidden=64, topk=2, experts=4, dtype="int8")
    assert int8.least_bytes == 2 * 3 * (128 * (1 + 2 + 1) + 64 * 2)
