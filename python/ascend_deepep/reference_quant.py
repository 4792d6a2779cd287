# SPDX-License-Identifier: Apache-2.0
"""The oracle of quantisation: what dispatch and combine put on the wire, in plain torch. Layer: none.

Imports nothing of this package. Everything is per row of (rows, hidden) and independent of where the row goes. `u` is
the float32 of `x`, times a smoothing row where one is given. MAX is 127 for int8, 448 for e4m3, 57344 for e5m2.
Source of the formulas: the public operators' kernels for Ascend 950, as docs/compatibility.md cites them.

Values without an ordinary result, the same in every mode that computes its scale: a group of zeros, or one so small
that MAX / max|u| is no float32, gives zeros and scale 0. A NaN or an infinity gives a scale that is NaN or infinite, so
that every value of its group decodes to NaN: it is never lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = [
    "GROUP",
    "MAX",
    "MX_GROUP",
    "Quantised",
    "combine_int8",
    "combine_int8_round_trip",
    "mx",
    "per_group",
    "per_token",
    "static_int8",
]

#: Largest magnitude of each element type.
MAX = {torch.int8: 127.0, torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}
#: Elements that share a scale in `per_group`, and in `mx`.
GROUP, MX_GROUP = 128, 32
#: Elements that share a scale on combine's wire.
COMBINE_GROUP = 8
#: The exponent of the largest number of an element type, which `mx` aligns a group's largest exponent with.
_EMAX = {torch.float8_e4m3fn: 8, torch.float8_e5m2: 15}


@dataclass(frozen=True)
class Quantised:
    """Rows as they travel."""

    #: (rows, hidden) int8, float8_e4m3fn or float8_e5m2.
    values: Tensor
    #: (rows, scales of a row): float32, float8_e8m0fnu for `mx`, the rows' own type for `combine_int8`; None: static.
    scales: Tensor | None


def _round_int8(t: Tensor) -> Tensor:
    """float32 to int8: nearest even, saturating, NaN to 0."""
    return t.nan_to_num(nan=0.0, posinf=127.0, neginf=-128.0).round().clamp(-128, 127).to(torch.int8)


def _cast(t: Tensor, dtype: torch.dtype) -> Tensor:
    """float32 to an element type: nearest even, saturating; NaN to 0 for int8 and to NaN otherwise."""
    if dtype == torch.int8:
        return _round_int8(t)
    return t.clamp(-MAX[dtype], MAX[dtype]).to(dtype)


def _smoothed(x: Tensor, smooth: Tensor | None) -> Tensor:
    u = x.to(torch.float32)
    return u if smooth is None else u * smooth.to(torch.float32)


def static_int8(x: Tensor, scales: Tensor) -> Quantised:
    """Mode 1. `scales` float32: (1,) for all, (hidden,) by channel, or (rows, hidden): the row of each one's expert."""
    return Quantised(_round_int8(x.to(torch.float32) * scales.to(torch.float32)), None)


def _scaled(groups: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Values and scales of float32 groups (..., group): f = MAX / max|u|, rounded(u * f), 1 / f."""
    largest = groups.abs().amax(dim=-1, keepdim=True)
    # Not `MAX / largest`: torch multiplies a number by the reciprocal, which rounds twice.
    factor = torch.full_like(largest, MAX[dtype]).div(largest)
    is_nothing = factor.isinf()  # max|u| is 0, or so small that the division overflows
    values = _cast(torch.where(is_nothing, torch.zeros_like(groups), groups * factor), dtype)
    scales = torch.where(is_nothing, torch.zeros_like(factor), 1.0 / factor)
    return values, scales.squeeze(-1)


def per_token(x: Tensor, dtype: torch.dtype, smooth: Tensor | None = None) -> Quantised:
    """Mode 2: one float32 scale a row. `smooth` (hidden,) or (rows, hidden). Scales (rows, 1)."""
    values, scales = _scaled(_smoothed(x, smooth), dtype)
    return Quantised(values, scales[:, None])


def _in_groups(u: Tensor, group: int) -> Tensor:
    """(rows, groups, group), the last group filled with zeros."""
    rows, hidden = u.shape
    groups = -(-hidden // group)
    padded = torch.zeros(rows, groups * group, dtype=u.dtype)
    padded[:, :hidden] = u
    return padded.view(rows, groups, group)


def per_group(x: Tensor, dtype: torch.dtype, smooth: Tensor | None = None) -> Quantised:
    """Mode 3: one float32 scale per 128 elements of a row. Scales (rows, ceil(hidden / 128))."""
    groups = _in_groups(_smoothed(x, smooth), GROUP)
    values, scales = _scaled(groups, dtype)
    return Quantised(values.flatten(1)[:, : x.shape[1]].contiguous(), scales)


def mx(x: Tensor, dtype: torch.dtype) -> Quantised:
    """Mode 4: one power of two per 32 elements, as float8_e8m0fnu; an even number of scales, the last may be padding.

    With E the largest biased exponent of a group (of bfloat16; a float16 is cut to one first): byte s = max(E, emax) -
    emax, elements x * 2^(127 - s), nearest even, saturating. E = 0 gives zeros and s = 0, E = 255 gives NaN, s = 255.
    """
    groups = _in_groups(x.to(torch.float32), MX_GROUP)
    exponents = (groups.view(torch.int32) >> 23) & 0xFF
    largest = exponents.amax(dim=-1, keepdim=True)
    scales = largest.clamp(min=_EMAX[dtype]) - _EMAX[dtype]
    # float64 holds every product of these exactly, so that the cast rounds once.
    product = groups.to(torch.float64) * torch.exp2((127 - scales).to(torch.float64))
    product = torch.where(largest == 0, torch.zeros_like(product), product)
    product = torch.where(largest == 255, torch.full_like(product, float("nan")), product)
    scales = torch.where(largest == 255, torch.full_like(scales, 255), scales)
    values = _cast(product.to(torch.float32), dtype).flatten(1)[:, : x.shape[1]].contiguous()
    count = groups.shape[1]
    bytes_ = torch.zeros(x.shape[0], count + count % 2, dtype=torch.uint8)
    bytes_[:, :count] = scales.squeeze(-1).to(torch.uint8)
    return Quantised(values, bytes_.view(torch.float8_e8m0fnu))


def combine_int8(y: Tensor) -> Quantised:
    """Combine's wire mode 2: s = max|v| * (1 / 127) per 8 elements, int8 of float16 of v / s; s kept in y's type.

    The division takes the float32 s, decoding the rounded one.
    """
    groups = _in_groups(y.to(torch.float32), COMBINE_GROUP)
    scales = groups.abs().amax(dim=-1, keepdim=True) * torch.tensor(1.0 / 127.0, dtype=torch.float32)
    values = _round_int8((groups / scales).to(torch.float16).to(torch.float32))
    return Quantised(values.flatten(1)[:, : y.shape[1]].contiguous(), scales.squeeze(-1).to(y.dtype))


def combine_int8_round_trip(y: Tensor) -> Tensor:
    """What the source of a row sees of an expert's output: int8 times scale, rounded once to y's type."""
    wire = combine_int8(y)
    assert wire.scales is not None
    values = _in_groups(wire.values.to(torch.float32), COMBINE_GROUP)
    decoded = (values * wire.scales.to(torch.float32)[..., None]).to(y.dtype)
    return decoded.flatten(1)[:, : y.shape[1]].contiguous()
