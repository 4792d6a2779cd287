# SPDX-License-Identifier: Apache-2.0
"""Quantisation as the demo needs it: what rows are to look like on arrival, and what experts make of them.

Layer: Python, torch. The oracle of the formulas is `ascend_deepep.reference_quant`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ascend_deepep import reference, reference_quant
from ascend_deepep.demo.features import QUANTS, Features
from ascend_deepep.reference_quant import Quantised

_STATIC_FACTOR = 12.5


@dataclass(frozen=True)
class Quantiser:
    """How the rows of a run change on their way."""

    features: Features
    #: (shared + routed experts, hidden) float32 of a run with smoothing, shared first.
    smooth: Tensor | None

    @property
    def is_plain(self) -> bool:
        """Rows arrive as they were sent, without scales."""
        return self.features.quant == "none"

    @property
    def dtype(self) -> torch.dtype:
        """Element type of expand_x, where rows are quantised."""
        name = QUANTS[self.features.quant][1]
        assert name is not None
        dtype: torch.dtype = getattr(torch, name)
        return dtype

    def tokens(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """What a rank passes to dispatch as `x` and `scales`."""
        if self.features.passes_fp8:
            passed = reference_quant.per_group(x, self.dtype)
            return passed.values, passed.scales
        if self.features.quant_mode == 1 and self.smooth is None:
            return x, torch.tensor([_STATIC_FACTOR])
        return x, self.smooth

    def rows(self, x: Tensor, scale_rows: Tensor) -> Quantised:
        """What arrives for 16-bit rows (n, hidden), `scale_rows` (n,) being the experts' rows of `smooth`."""
        smooth = None if self.smooth is None else self.smooth[scale_rows]
        mode = self.features.quant_mode
        if self.features.passes_fp8:
            return reference_quant.per_group(x, self.dtype)
        if mode == 1:
            return reference_quant.static_int8(x, torch.tensor([_STATIC_FACTOR]) if smooth is None else smooth)
        if mode == 2:
            return reference_quant.per_token(x, self.dtype, smooth)
        if mode == 3:
            return reference_quant.per_group(x, self.dtype, smooth)
        return reference_quant.mx(x, self.dtype)

    def arrived(self, x: Tensor, scale_rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """As `rows`, for any run: values, and scales in the shape and dtype of dynamic_scales."""
        if self.is_plain:
            return x, None
        quantised = self.rows(x, scale_rows)
        scales = quantised.scales
        if scales is not None and self.features.quant_mode == 2:
            scales = scales[:, 0]
        return quantised.values, scales.view(
            torch.uint8
        ) if self.features.quant_mode == 4 and scales is not None else scales

    def decode(self, values: Tensor, scales: Tensor | None, dtype: torch.dtype) -> Tensor:
        """Rows as the experts take them: value times scale, rounded to `dtype`. Static scales are left in."""
        if self.is_plain:
            return values
        rows = values.to(torch.float32)
        if scales is None or self.features.quant_mode == 1:
            return rows.to(dtype)
        if self.features.quant_mode == 4:
            scales = scales.view(torch.float8_e8m0fnu).to(torch.float32)
        scales = scales.flatten(1) if scales.dim() > 1 else scales[:, None]
        group = {2: rows.shape[1], 4: reference_quant.MX_GROUP}.get(self.features.quant_mode, reference_quant.GROUP)
        spread = scales.repeat_interleave(group, dim=1)[:, : rows.shape[1]]
        return (rows * spread).to(dtype)

    def returned(self, rows: Tensor) -> Tensor:
        """An expert's rows as their source sees them."""
        return reference_quant.combine_int8_round_trip(rows) if self.features.comm_quant == "int8" else rows

    def wire(self, hidden: int, num_topk: int, max_local_experts: int) -> reference.Wire:
        """Bytes of a copy and of a row."""
        mode, name = QUANTS[self.features.quant]
        scale_bytes = {2: 4, 3: 4 * -(-hidden // reference_quant.GROUP), 4: 2 * -(-hidden // 64)}.get(mode, 0)
        if self.features.passes_fp8:
            scale_bytes = 4 * -(-hidden // reference_quant.GROUP)
        is_int8 = self.features.comm_quant == "int8"
        return reference.Wire(
            payload_bytes=hidden * (2 if name is None else 1),
            scale_bytes=scale_bytes,
            num_columns=num_topk + self.features.shared_expert_num,
            num_weights=num_topk if self.features.sums_by_rank else 0,
            sums_by_rank=self.features.sums_by_rank,
            per_expert=self.features.per_expert_copies,
            row_bytes=hidden if is_int8 else 2 * hidden,
            row_scale_bytes=hidden // 8 * 2 if is_int8 else 0,
            max_local_experts=max_local_experts,
        )


def make_quantiser(features: Features, hidden: int, num_experts: int, seed: int) -> Quantiser:
    """The quantiser of a run; its smoothing factors follow from the seed."""
    if not features.smooth:
        return Quantiser(features, None)
    generator = torch.Generator().manual_seed(seed + 3)
    rows = features.shared_expert_num + num_experts
    return Quantiser(features, torch.rand(rows, hidden, generator=generator) * 1.5 + 0.25)
