# SPDX-License-Identifier: Apache-2.0
"""The gate of DeepSeek-V3: sigmoid scores, a bias that only chooses, groups of experts. Layer: Python, torch only.

Source: DeepSeek-V3 technical report, section 2.1.2 and the published inference code.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_GROUPS = 8
_BEST_GROUPS = 4
_SCALING = 2.5
_BIAS_SPREAD = 0.05


@dataclass(frozen=True)
class Gate:
    """Chooses `num_topk` of `num_experts` experts for a hidden state."""

    weight: Tensor  # (num_experts, hidden) float32
    bias: Tensor  # (num_experts,) float32
    num_topk: int

    @classmethod
    def from_seed(cls, seed: int, hidden: int, num_experts: int, num_topk: int) -> Gate:
        """A gate as training might have left it: scores spread out, biases small."""
        generator = torch.Generator().manual_seed(seed)
        weight = torch.randn(num_experts, hidden, generator=generator) / hidden**0.5
        return cls(weight, _BIAS_SPREAD * torch.randn(num_experts, generator=generator), num_topk)

    @property
    def num_groups(self) -> int:
        """Eight where there are at least 64 experts, they divide evenly and the best groups hold enough of them."""
        experts = self.weight.shape[0]
        fits = experts >= 64 and experts % _GROUPS == 0 and self.num_topk <= experts // _GROUPS * _BEST_GROUPS
        return _GROUPS if fits else 1

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(tokens, top-k) int32 ids and float32 weights for x of (tokens, hidden)."""
        scores = (x.to(torch.float32) @ self.weight.T).sigmoid()
        biased = scores + self.bias
        if self.num_groups > 1:
            grouped = biased.view(len(x), self.num_groups, biased.shape[1] // self.num_groups)
            group_scores = grouped.topk(2, dim=2).values.sum(dim=2)
            best = group_scores.topk(_BEST_GROUPS, dim=1).indices
            keep = torch.zeros_like(group_scores, dtype=torch.bool).scatter_(1, best, True)
            biased = grouped.masked_fill(~keep[:, :, None], float("-inf")).flatten(1)
        ids = biased.topk(self.num_topk, dim=1).indices
        weights = scores.gather(1, ids)
        weights = weights / weights.sum(dim=1, keepdim=True) * _SCALING
        return ids.to(torch.int32), weights
