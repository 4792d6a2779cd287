# SPDX-License-Identifier: Apache-2.0
"""The experts of the demo. Layer: Python, torch only.

An expert runs once on its whole block of rows, in dispatch order, on one thread: how a matrix product rounds depends on
the number of rows, so the oracle runs the very same blocks.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ascend_deepep.demo.options import Options

_WEIGHT_BYTES = 512 << 20  # all experts together
_MAX_INTERMEDIATE = 16


class Experts(Protocol):
    """Functions of a block of rows, by expert id."""

    def apply(self, expert: int, rows: Tensor) -> None:
        """Replace the rows of one expert's block by its outputs."""


class SwiGluExperts:
    """down(silu(gate(x)) * up(x)) in float32, weights from the seed and the expert id, made when first needed."""

    def __init__(self, options: Options, keep: bool) -> None:
        per_unit = options.num_experts * 3 * options.hidden * 4
        self._intermediate = max(1, min(_MAX_INTERMEDIATE, _WEIGHT_BYTES // per_unit))
        self._hidden = options.hidden
        self._seed = options.seed
        self._keep = keep
        self._weights: dict[int, tuple[Tensor, Tensor]] = {}

    def apply(self, expert: int, rows: Tensor) -> None:
        """Replace the block by the expert's outputs, rounded to the dtype of the rows; an empty block stays empty."""
        if len(rows) == 0:
            return
        gate_up, down = self._weights_of(expert)
        gate, up = (rows.to(torch.float32) @ gate_up.T).chunk(2, dim=1)
        rows.copy_((torch.nn.functional.silu(gate) * up) @ down.T)

    def _weights_of(self, expert: int) -> tuple[Tensor, Tensor]:
        if expert in self._weights:
            return self._weights[expert]
        generator = torch.Generator().manual_seed((self._seed << 20) + expert)
        width, hidden = self._intermediate, self._hidden
        gate_up = torch.empty(2 * width, hidden).uniform_(-1.0, 1.0, generator=generator)
        down = torch.empty(hidden, width).uniform_(-1.0, 1.0, generator=generator)
        weights = gate_up.mul_((3.0 / hidden) ** 0.5), down.mul_((3.0 / width) ** 0.5)
        if self._keep:
            self._weights[expert] = weights
        return weights


class ExactExperts:
    """x * 2^(id mod 4): exact in every dtype, so that outputs can be told from the row alone."""

    def apply(self, expert: int, rows: Tensor) -> None:
        """Multiply the block by `exact_factor(expert)`."""
        rows.mul_(exact_factor(expert))


def exact_factor(expert: int) -> float:
    """What `ExactExperts` multiplies by."""
    return float(1 << expert % 4)


def make_experts(options: Options, keep: bool = True) -> Experts:
    """Experts for the payload: the exact ones for rows made of indices. `keep` holds on to weights once made."""
    return SwiGluExperts(options, keep) if options.payload == "text" else ExactExperts()


def apply_blocks(experts: Experts, first_expert: int, rows_per_expert: Tensor, rows: Tensor) -> None:
    """Run each local expert on its block; `rows` is in dispatch order and is overwritten."""
    start = 0
    for local, count in enumerate(rows_per_expert.tolist()):
        experts.apply(first_expert + local, rows[start : start + count])
        start += count
