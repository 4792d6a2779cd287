# SPDX-License-Identifier: Apache-2.0
"""The simulator's oracle, in C++, against the package's, in torch: neither knows the other. Layer: tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from ascend_deepep import _simulator, reference, reference_by_rank, reference_quant
from torch import Tensor

pytestmark = pytest.mark.fast

FLOATS = {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
QUANTS = [f"{family}-{element}" for family in ("pertoken", "pergroup", "mx") for element in ("e4m3", "e5m2")]
QUANTS += ["static-int8", "pertoken-int8"]


def raw(tensor: Tensor) -> bytes:
    return bytes(tensor.contiguous().flatten().view(torch.uint8).tolist())


def typed(data: bytes, dtype: torch.dtype, *shape: int) -> Tensor:
    if not data:
        return torch.empty([max(0, extent) for extent in shape], dtype=dtype)
    return torch.tensor(list(data), dtype=torch.uint8).view(dtype).reshape(shape)


def quantised(quant: str, x: Tensor, factors: Tensor | None) -> reference_quant.Quantised:
    family, _, element = quant.partition("-")
    dtype = torch.int8 if element == "int8" else FLOATS[element]
    if family == "static":
        assert factors is not None
        return reference_quant.static_int8(x, factors)
    if family == "mx":
        return reference_quant.mx(x, dtype)
    scale = reference_quant.per_token if family == "pertoken" else reference_quant.per_group
    return scale(x, dtype, factors)


def one_nan(values: Tensor) -> Tensor:
    """Elements as bytes; those of a NaN, whose sign nobody defines, as one."""
    if not values.is_floating_point() or values.dtype == torch.float8_e8m0fnu:
        return values.view(torch.uint8)
    size, nan = values.element_size(), values.to(torch.float32).isnan()
    bits = values.view(torch.uint8).reshape(*values.shape, size)
    return torch.where(nan[..., None], torch.full_like(bits, 0x7F if size == 1 else 0xFF), bits)


def samples(dtype: torch.dtype, hidden: int) -> Tensor:
    """Rows of sizes from the smallest to the largest, of zeros of both signs, and of any bits, NaN among them."""
    generator = torch.Generator().manual_seed(hidden)
    normal = torch.randn(24, hidden, generator=generator)
    sizes = torch.randint(-30, 14, (24, hidden // 16), generator=generator).repeat_interleave(16, dim=1)
    noise = torch.randint(-(2**15), 2**15, (24, hidden), generator=generator, dtype=torch.int32).to(torch.int16)
    rare = torch.rand(24, hidden, generator=generator) < 1 / hidden
    noise_here = torch.where(rare, noise, normal.to(dtype).view(torch.int16))
    tiny = torch.randint(0, 300, (8, hidden), generator=generator, dtype=torch.int32).to(torch.int16)
    zeros = torch.zeros(2, hidden)
    zeros[1] = -0.0
    largest = normal[:4].clamp(-1, 1) * torch.finfo(dtype).max
    rows = [(normal * torch.exp2(sizes.float())).to(dtype), noise.view(dtype), noise_here.view(dtype)]
    return torch.cat([*rows, tiny.view(dtype), zeros.to(dtype), largest.to(dtype)])


@pytest.mark.parametrize("hidden", [64, 144, 272, 512])
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize("quant", QUANTS)
def test_rows_are_quantised_alike(quant: str, dtype: str, hidden: int) -> None:
    generator = torch.Generator().manual_seed(7)
    x = samples(FLOATS[dtype], hidden)
    choices: list[Tensor | None] = [torch.rand(hidden, generator=generator) * 4]
    choices += [None] if quant != "static-int8" else [torch.tensor([3.7])]
    for factors in choices if not quant.startswith("mx") else [None]:
        want = quantised(quant, x, factors)
        for row in range(x.shape[0]):
            got = _simulator.quantise(quant, dtype, raw(x[row]), b"" if factors is None else raw(factors))
            assert got[0] == raw(one_nan(want.values[row])), row
            assert got[1] == (b"" if want.scales is None else raw(one_nan(want.scales[row]))), row


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_rows_of_combine_are_quantised_alike(dtype: str) -> None:
    y = samples(FLOATS[dtype], 512)
    y = torch.where(y.isfinite(), y, torch.zeros_like(y))
    want = reference_quant.combine_int8_round_trip(y)
    for row in range(y.shape[0]):
        assert _simulator.combine_int8(dtype, raw(y[row])) == raw(want[row]), row


class World:
    """Inputs of all ranks, and what the simulator's oracle makes of them."""

    def __init__(self, seed: int, settings: Sequence[tuple[str, str]]) -> None:
        self.oracle = _simulator.oracle(seed, settings=settings)
        self.batches: list[dict[str, Any]] = self.oracle["batches"]
        self.shape = self.batches[0]
        self.shared = reference.SharedExperts(*self.shape["shared"])
        self.dtype = FLOATS[self.shape["dtype"]]
        self.masks = None if self.shape["mask_kind"] == "none" else [self._mask(batch) for batch in self.batches]

    def tensor(self, rank: int, name: str, dtype: torch.dtype, columns: int) -> Tensor:
        batch = self.batches[rank]
        return typed(batch[name], dtype, batch["tokens"], columns)

    def _mask(self, batch: dict[str, Any]) -> Tensor:
        mask = typed(batch["mask"], torch.bool, -1)
        return mask if self.shape["mask_kind"] == "tokens" else mask.reshape(batch["tokens"], batch["topk"])

    def ids(self) -> list[Tensor]:
        return [self.tensor(rank, "expert_ids", torch.int32, self.shape["topk"]) for rank in range(len(self.batches))]

    def rows(self, routed: reference.Route, received: Tensor, rank: int) -> tuple[bytes, bytes]:
        """expand_x and dynamic_scales of a rank."""
        if self.shape["quant"] == "none":
            parts = [self.tensor(source, "travelling", torch.uint8, -1) for source in range(len(self.batches))]
            return raw(received), b"".join(raw(parts[s][t]) for s, t, _ in routed.ranks[rank].triples.tolist())
        kind = self.shape["quant_scales"]
        pieces = []
        for row, (source, _, _) in enumerate(routed.ranks[rank].triples.tolist()):
            factors = typed(self.batches[source]["factors"], torch.float32, -1)
            if kind == "expert":
                at = int(routed.ranks[rank].scale_rows[row]) * received.shape[1]
                factors = factors[at : at + received.shape[1]]
            pieces.append(quantised(self.shape["quant"], received[row : row + 1], None if kind == "none" else factors))
        values = b"".join(raw(one_nan(piece.values)) for piece in pieces)
        scales = [raw(one_nan(piece.scales)) for piece in pieces if piece.scales is not None]
        return values, b"".join(scales)


FEATURES: list[list[tuple[str, str]]] = [
    [],
    [("mask", "tokens")],
    [("mask", "pairs"), ("combine_int8", "1"), ("dtype", "fp16")],
    [("ranks", "5"), ("shared", "2"), ("weights", "1"), ("running_sums", "1")],
    [("ranks", "5"), ("shared", "1"), ("shared_ranks", "3"), ("mask", "pairs"), ("quant", "pergroup-e5m2")],
    [("ranks", "4"), ("shared", "1"), ("quant", "pertoken-int8"), ("quant_scales", "expert"), ("weights", "1")],
    [("quant", "static-int8"), ("quant_scales", "expert"), ("uneven", "1"), ("shared_x", "1")],
    [("quant", "mx-e4m3"), ("dtype", "fp16"), ("odd_values", "1"), ("hidden", "144"), ("max_hidden", "512")],
    [("dtype", "e4m3"), ("quant_scales", "e8m0"), ("mask", "tokens"), ("combine_int8", "1")],
    [("shared_x", "1"), ("mask", "pairs"), ("weights", "1")],
    [("combine_by_rank", "1"), ("mask", "pairs"), ("shared_x", "1")],
    [("combine_by_rank", "1"), ("ranks", "5"), ("shared", "2"), ("dtype", "fp16"), ("quant", "none")],
]


@pytest.mark.parametrize("settings", FEATURES, ids=lambda pairs: ",".join("=".join(pair) for pair in pairs) or "plain")
def test_routes_rows_and_sums_are_alike(settings: list[tuple[str, str]]) -> None:
    for seed in range(1, 13):
        world = World(seed, settings)
        shape, hidden, topk = world.shape, world.shape["hidden"], world.shape["topk"]
        ranks = range(len(world.batches))
        x = [world.tensor(rank, "x", world.dtype, hidden) for rank in ranks]
        routed, received = reference.dispatch(
            [part.view(torch.uint8) if part.element_size() == 1 else part for part in x],
            world.ids(), shape["experts"], world.masks, world.shared,
        )  # fmt: skip
        for rank in ranks:
            want, got = routed.ranks[rank], world.oracle["dispatch"][rank]
            assert got["triples"] == raw(want.triples)
            assert got["counts"] == raw(want.ep_recv_counts)
            assert got["token_nums"] == raw(want.expert_token_nums(0 if shape["running_sums"] else 1))
            assert (got["rows"], got["scales"]) == world.rows(routed, received[rank], rank)
            if world.batches[0]["weights"]:
                parts = [world.tensor(source, "weights", torch.float32, topk) for source in ranks]
                parts = [torch.nn.functional.pad(part, (0, world.shared.num), value=1.0) for part in parts]
                assert got["weights"] == b"".join(raw(parts[s][t, c : c + 1]) for s, t, c in want.triples.tolist())
        compare_sums(world, routed)


def compare_sums(world: World, routed: reference.Route) -> None:
    ranks, hidden, topk = range(len(world.batches)), world.shape["hidden"], world.shape["topk"]
    dtype = FLOATS[world.shape["combine_dtype"]]
    y = [typed(world.oracle["experts"][rank], dtype, routed.ranks[rank].num_rows, hidden) for rank in ranks]
    if world.shape["combine_int8"]:
        y = [reference_quant.combine_int8_round_trip(rows) if len(rows) else rows for rows in y]
    weights = [world.tensor(rank, "scales", torch.float32, topk) for rank in ranks]
    added = [world.tensor(rank, "shared_x", dtype, hidden) for rank in ranks] if world.shape["shared_x"] else None
    has_weights = any(batch["scales"] for batch in world.batches)
    if world.shape["combine_by_rank"]:
        weights = [world.tensor(rank, "weights", torch.float32, topk) for rank in ranks] if has_weights else []
        places = (routed.destination, routed.row, routed.active)
        got = reference_by_rank.combine(y, *places, weights if has_weights else None, added)
    else:
        got = reference.combine(y, routed, world.ids(), weights if has_weights else None, added)
    assert [raw(output) for output in got] == list(world.oracle["combine"])
