# SPDX-License-Identifier: Apache-2.0
"""The oracle of quantisation against loops over scalars of numpy and ml_dtypes, and against values found by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
import pytest
import torch
from ascend_deepep import reference_quant as quant
from torch import Tensor

pytestmark = pytest.mark.fast

INT8, E4M3, E5M2 = torch.int8, torch.float8_e4m3fn, torch.float8_e5m2
NUMPY = {E4M3: ml_dtypes.float8_e4m3fn, E5M2: ml_dtypes.float8_e5m2}
NAN, INF = float("nan"), float("inf")
F32 = np.float32


def bits(t: Tensor) -> list[list[int]]:
    """Elements as integers, so that NaN and signed zeros count."""
    return t.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[t.element_size()]).tolist()


def samples(dtype: torch.dtype, hidden: int, finite: bool = True) -> Tensor:
    """Rows of ordinary values, of very different sizes, of zeros, of subnormal and of huge numbers, of random bits."""
    generator = torch.Generator().manual_seed(hidden)
    normal = torch.randn(4, hidden, generator=generator)
    spread = torch.randn(4, hidden, generator=generator) * torch.exp2(
        torch.randint(-20, 14, (4, hidden), generator=generator).float()
    )
    smallest, largest = torch.finfo(dtype).smallest_normal, torch.finfo(dtype).max
    rows = [normal.to(dtype), spread.to(dtype), torch.zeros(1, hidden, dtype=dtype)]
    rows.append((normal[:1] * smallest / 4).to(dtype))
    rows.append((normal[:1].clamp(-1, 1) * largest).to(dtype))
    noise = torch.randint(-(2**15), 2**15, (8, hidden), generator=generator, dtype=torch.int32).to(torch.int16)
    noise = noise.view(dtype)
    rows.append(torch.where(noise.isfinite(), noise, torch.ones_like(noise)) if finite else noise)
    return torch.cat(rows)


def nearest_int8(t: F32) -> int:
    """Nearest even, saturating; NaN is 0."""
    if np.isnan(t):
        return 0
    return int(max(-128, min(127, np.rint(t)))) if np.isfinite(t) else (127 if t > 0 else -128)


def element(t: F32, dtype: torch.dtype) -> int:
    """A float32 as the byte of an element."""
    if dtype == INT8:
        return nearest_int8(t) & 0xFF
    limit = F32(quant.MAX[dtype])
    kept = t if np.isnan(t) else max(-limit, min(limit, t))
    return int(np.array(kept, dtype=F32).astype(NUMPY[dtype]).view(np.uint8))


def scalars(row: Tensor) -> list[F32]:
    return [F32(v) for v in row.to(torch.float32).numpy()]


def scaled_group(u: list[F32], dtype: torch.dtype) -> tuple[list[int], F32]:
    """Bytes and scale of a group of float32."""
    with np.errstate(all="ignore"):
        largest = F32(NAN) if any(np.isnan(v) for v in u) else max(abs(v) for v in u)
        factor = F32(quant.MAX[dtype]) / largest
        if np.isinf(factor):
            return [0] * len(u), F32(0)
        return [element(v * factor, dtype) for v in u], F32(1) / factor


def equal_bytes(values: Tensor, want: list[list[int]]) -> None:
    got = values.view(torch.uint8).tolist()
    if values.dtype != INT8:  # any NaN is a NaN
        limit = {E4M3: 0x7F, E5M2: 0x7D}[values.dtype]
        fold: Callable[[int], int] = lambda b: 0x7F if (b & 0x7F) >= limit else b  # noqa: E731
        got, want = [[fold(b) for b in row] for row in got], [[fold(b) for b in row] for row in want]
    assert got == want


def equal_floats(scales: Tensor, want: list[list[F32]]) -> None:
    np.testing.assert_array_equal(scales.to(torch.float32).numpy(), np.array(want, dtype=F32))


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("to", [INT8, E4M3, E5M2])
def test_per_token_is_the_formula(dtype: torch.dtype, to: torch.dtype, finite: bool) -> None:
    x = samples(dtype, 80, finite)
    smooth = torch.rand(80, generator=torch.Generator().manual_seed(1)) + 0.5
    for factors in (None, smooth):
        got = quant.per_token(x, to, factors)
        want = []
        for row in x:
            with np.errstate(all="ignore"):
                u = [v * (F32(1) if factors is None else F32(s)) for v, s in zip(scalars(row), smooth, strict=True)]
            want.append(scaled_group(u, to))
        assert got.scales is not None and got.scales.shape == (x.shape[0], 1) and got.values.dtype == to
        equal_bytes(got.values, [w[0] for w in want])
        equal_floats(got.scales, [[w[1]] for w in want])


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("to", [E4M3, E5M2])
@pytest.mark.parametrize("hidden", [64, 128, 272])
def test_per_group_is_the_formula(hidden: int, dtype: torch.dtype, to: torch.dtype, finite: bool) -> None:
    x = samples(dtype, hidden, finite)
    got = quant.per_group(x, to)
    want_bytes, want_scales = [], []
    for row in x:
        u = scalars(row)
        groups = [scaled_group(u[at : at + 128], to) for at in range(0, hidden, 128)]
        want_bytes.append([b for group, _ in groups for b in group])
        want_scales.append([scale for _, scale in groups])
    assert got.scales is not None and got.scales.shape == (x.shape[0], -(-hidden // 128))
    equal_bytes(got.values, want_bytes)
    equal_floats(got.scales, want_scales)


def mx_group(u: list[F32], to: torch.dtype) -> tuple[list[int], int]:
    """Bytes and scale byte of a group, with the exact product."""
    emax = {E4M3: 8, E5M2: 15}[to]
    largest = max((int(v.view(np.uint32)) >> 23) & 0xFF for v in u)
    if largest == 255:
        return [element(F32(NAN), to)] * len(u), 255
    scale = max(largest, emax) - emax
    if largest == 0:
        return [0] * len(u), scale
    limit = quant.MAX[to]
    products = [max(-limit, min(limit, math.ldexp(float(v), 127 - scale))) for v in u]
    return [int(np.array(p).astype(NUMPY[to]).view(np.uint8)) for p in products], scale


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("to", [E4M3, E5M2])
@pytest.mark.parametrize("hidden", [64, 80, 96])
def test_mx_is_the_formula(hidden: int, dtype: torch.dtype, to: torch.dtype, finite: bool) -> None:
    x = samples(dtype, hidden, finite)
    got = quant.mx(x, to)
    want_bytes, want_scales = [], []
    for row in x:
        u = scalars(row)
        groups = [mx_group(u[at : at + 32], to) for at in range(0, hidden, 32)]
        want_bytes.append([b for group, _ in groups for b in group])
        scales = [scale for _, scale in groups]
        want_scales.append(scales + [0] * (len(scales) % 2))
    assert got.scales is not None and got.scales.dtype == torch.float8_e8m0fnu
    equal_bytes(got.values, want_bytes)
    assert got.scales.view(torch.uint8).tolist() == want_scales


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["scalar", "channel", "row"])
def test_static_int8_is_the_formula(kind: str, dtype: torch.dtype) -> None:
    x = samples(dtype, 64, finite=False)
    shape = {"scalar": (1,), "channel": (64,), "row": (x.shape[0], 64)}[kind]
    scales = torch.rand(shape, generator=torch.Generator().manual_seed(2)) * 60
    got = quant.static_int8(x, scales)
    factors = scales.expand(x.shape)
    with np.errstate(all="ignore"):
        want = [
            [nearest_int8(v * F32(s)) & 0xFF for v, s in zip(scalars(row), scale.numpy(), strict=True)]
            for row, scale in zip(x, factors, strict=True)
        ]
    assert got.scales is None
    equal_bytes(got.values, want)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("finite", [True, False])
def test_combine_int8_is_the_formula(dtype: torch.dtype, finite: bool) -> None:
    y = samples(dtype, 80, finite)
    got = quant.combine_int8(y)
    want_bytes, want_scales = [], []
    with np.errstate(all="ignore"):
        for row in y:
            u, row_bytes, row_scales = scalars(row), [], []
            for at in range(0, 80, 8):
                group = u[at : at + 8]
                largest = F32(NAN) if any(np.isnan(v) for v in group) else max(abs(v) for v in group)
                scale = largest * F32(1.0 / 127.0)
                row_bytes += [nearest_int8(F32(np.float16(v / scale))) & 0xFF for v in group]
                row_scales.append(scale)
            want_bytes.append(row_bytes)
            want_scales.append(row_scales)
    equal_bytes(got.values, want_bytes)
    want = torch.tensor(np.array(want_scales)).to(dtype)
    assert got.scales is not None and got.scales.dtype == dtype
    torch.testing.assert_close(got.scales, want, rtol=0, atol=0, equal_nan=True)
    decoded = got.values.to(torch.float32) * got.scales.to(torch.float32).repeat_interleave(8, dim=1)
    torch.testing.assert_close(quant.combine_int8_round_trip(y), decoded.to(dtype), rtol=0, atol=0, equal_nan=True)


def by_hand() -> Iterator[tuple[str, quant.Quantised, list[int], list[float]]]:
    row = torch.zeros(1, 64, dtype=torch.bfloat16)
    row[0, :4] = torch.tensor([254.0, -127.0, 1.0, 3.0])  # factor 0.5: 0.5 and 1.5 round to even
    yield "per_token int8", quant.per_token(row, INT8), [127, 0xC0, 0, 2], [2.0]
    yield "static int8", quant.static_int8(row, torch.tensor([0.5])), [127, 0xC0, 0, 2], []
    yield "static int8 saturates", quant.static_int8(row, torch.tensor([-2.0])), [0x80, 127, 0xFE, 0xFA], []
    # 448 is 0x7E and its half 0x76 in e4m3.
    row[0, :4] = torch.tensor([896.0, 448.0, -896.0, 0.0])
    yield "per_group e4m3", quant.per_group(row, E4M3), [0x7E, 0x76, 0xFE, 0], [2.0]
    # Largest 480 = 1.875 * 2^8: s = 135 - 8 = 127, that is 1; 480 saturates to 448.
    row[0, :4] = torch.tensor([480.0, 448.0, -480.0, 0.0])
    yield "mx e4m3", quant.mx(row, E4M3), [0x7E, 0x7E, 0xFE, 0], [1.0]


@pytest.mark.parametrize(("name", "got", "values", "scales"), [pytest.param(*case, id=case[0]) for case in by_hand()])
def test_by_hand(name: str, got: quant.Quantised, values: list[int], scales: list[float]) -> None:
    assert got.values.view(torch.uint8)[0, :4].tolist() == values, name
    if got.scales is not None:
        assert got.scales.to(torch.float32)[0, : len(scales)].tolist() == scales


@pytest.mark.parametrize("to", [INT8, E4M3, E5M2])
def test_a_value_without_a_result_is_never_lost(to: torch.dtype) -> None:
    """NaN and infinities make all of their group NaN when decoded; zeros and tiny values decode to zeros."""
    for bad in (NAN, INF, -INF):
        row = torch.ones(1, 64, dtype=torch.bfloat16)
        row[0, 5] = bad
        got = quant.per_token(row, to)
        assert got.scales is not None
        assert bool((got.values.to(torch.float32) * got.scales).isnan().all())
    for tiny in (0.0, 1e-40):
        got = quant.per_token(torch.full((1, 64), tiny, dtype=torch.bfloat16), to)
        assert got.scales is not None and got.scales.tolist() == [[0.0]]
        assert bits(got.values) == [[0] * 64]


@pytest.mark.parametrize(
    ("made", "scales"),
    [
        (lambda x: quant.per_token(x, torch.int8), (0, 1)),
        (lambda x: quant.per_group(x, torch.float8_e5m2), (0, 2)),
        (lambda x: quant.mx(x, torch.float8_e4m3fn), (0, 6)),
        (quant.combine_int8, (0, 18)),
    ],
)
def test_a_rank_without_rows(made: Callable[[Tensor], quant.Quantised], scales: tuple[int, int]) -> None:
    got = made(torch.zeros(0, 144, dtype=torch.bfloat16))
    assert got.values.shape == (0, 144) and got.scales is not None and got.scales.shape == scales
    assert quant.combine_int8_round_trip(torch.zeros(0, 144, dtype=torch.bfloat16)).shape == (0, 144)
