# SPDX-License-Identifier: Apache-2.0
"""Bitwise comparison with the oracle: the first difference, and the role that is to blame. Layer: Python, torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ascend_deepep.reference import RankRoute, Traffic

if TYPE_CHECKING:
    from ascend_deepep._runtime import CountersDict

_CHUNK_BYTES = 32 << 20  # rows of the oracle made at a time
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Mismatch:
    """The first difference on a rank: "role: what", and where in it."""

    rank: int
    what: str
    index: list[int]


def tensors(rank: int, what: str, got: Tensor, want: Tensor, first_row: int = 0) -> Mismatch | None:
    """Compare shape, dtype and every bit. `first_row` is added to the first index."""
    if got.shape != want.shape:
        return Mismatch(rank, f"{what}, shape {list(got.shape)} instead of {list(want.shape)}", [])
    if got.dtype != want.dtype:
        return Mismatch(rank, f"{what}, {got.dtype} instead of {want.dtype}", [])
    bits = _BITS[got.element_size()]
    got_bits, want_bits = got.contiguous().view(bits), want.contiguous().view(bits)
    if torch.equal(got_bits, want_bits):
        return None
    index = [int(i) for i in (got_bits != want_bits).nonzero()[0]]
    return Mismatch(rank, what, [index[0] + first_row, *index[1:]])


RowsOf = Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor | None]]


def rows(rank: int, got: Tensor, got_scales: Tensor | None, want: RankRoute, rows_of: RowsOf) -> Mismatch | None:
    """Compare received rows and their scales with those of their source, a piece at a time.

    `rows_of(source, tokens, scale_rows)` gives what is to arrive of these tokens for these rows of the scales.
    """
    step = max(1, _CHUNK_BYTES // (got.shape[1] * got.element_size()))
    for start in range(0, want.num_rows, step):
        part = want.triples[start : start + step].long()
        scale_rows = want.scale_rows[start : start + step]
        values = torch.empty(len(part), got.shape[1], dtype=got.dtype)
        scales = None if got_scales is None else torch.zeros_like(got_scales[start : start + step])
        for source in sorted(set(part[:, 0].tolist())):
            mine = part[:, 0] == source
            values[mine], made = rows_of(source, part[mine, 1], scale_rows[mine])
            if scales is not None and made is not None:
                scales[mine] = made
        mismatch = tensors(rank, "collect: rows", got[start : start + step], values, start)
        if mismatch is None and scales is not None and got_scales is not None:
            mismatch = tensors(rank, "collect: scales", got_scales[start : start + step], scales, start)
        if mismatch is not None:
            return mismatch
    return None


def difference(before: CountersDict, after: CountersDict) -> dict[str, int]:
    """What was counted between two readings; times of roles are left out."""
    earlier, later = dict(before), dict(after)
    return {key: _number(later, key) - _number(earlier, key) for key in later if key != "role_ns"}


def _number(counters: dict[str, object], key: str) -> int:
    value = counters[key]
    assert isinstance(value, int)
    return value


def traffic(want: Traffic, before: CountersDict, after: CountersDict, rank: int) -> Mismatch | None:
    """Compare the counters of one round with the closed form."""
    got = difference(before, after)
    for key, value in asdict(want).items():
        if got[key] != value:
            return Mismatch(rank, f"counters: {key} is {got[key]} instead of {value}", [])
    for way in ("dispatch", "combine"):
        bells, wqes = got[f"doorbells_{way}"], got[f"wqes_{way}"]
        if not min(wqes, 1) <= bells <= wqes:
            return Mismatch(rank, f"counters: {bells} doorbells for {wqes} WQEs of {way}", [])
    return None
