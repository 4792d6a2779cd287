# SPDX-License-Identifier: Apache-2.0
"""Tokens, ids and weights of a rank, such that every right layer gives the same bits. Layer: Python, torch.

Experts give back what they get, weights are powers of two from 1/2 to 1/16, and tokens have so few bits that no sum of
some of the products rounds, not even in bfloat16: a layer may add in any order, and round between. Where the tokens are
quantised, every element of one is 0 or plus or minus its largest, which int8 with a scale holds exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ascend_deepep.bench.routing import choose
from ascend_deepep.bench.shapes import Shape

_LARGEST = 8


@dataclass(frozen=True)
class Batch:
    """What a rank brings to one iteration."""

    #: (tokens, hidden) bfloat16.
    x: Tensor
    #: (tokens, top-k) int32.
    ids: Tensor
    #: (tokens, top-k) float32.
    weights: Tensor

    def answer(self) -> Tensor:
        """(tokens, hidden): what the layer makes of x."""
        return (self.x.to(torch.float32) * self.weights.sum(dim=1, keepdim=True)).to(self.x.dtype)


def make_batch(shape: Shape, rank: int, number: int) -> Batch:
    """The batch of this number, the same in every process."""
    generator = torch.Generator().manual_seed((shape.seed << 20) + (number << 12) + rank)
    size = (shape.tokens, shape.hidden)
    if shape.is_quantised:
        x = torch.randint(-1, 2, size, generator=generator) * 2 ** (torch.arange(shape.tokens) % 4)[:, None]
    else:
        x = torch.randint(-_LARGEST, _LARGEST + 1, size, generator=generator)
    x = x.to(torch.bfloat16)
    ids = choose(shape.routing, x, shape.topk, shape.experts, shape.seed + number, generator)
    weights = (2.0 ** -(1.0 + torch.arange(shape.topk) % 4)).expand(shape.tokens, shape.topk).contiguous()
    return Batch(x, ids, weights)
