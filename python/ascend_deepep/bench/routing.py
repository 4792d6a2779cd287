# SPDX-License-Identifier: Apache-2.0
"""Who chooses whom: (tokens, top-k) int32 ids, distinct in a row by construction. Layer: Python, torch only."""

from __future__ import annotations

import torch
from torch import Tensor

_ZIPF_EXPONENT = 1.0


def uniform(tokens: int, topk: int, experts: int, generator: torch.Generator) -> Tensor:
    """Every set of experts is as likely as any other."""
    return _best(torch.rand(tokens, experts, generator=generator), topk)


def gate(x: Tensor, topk: int, experts: int, seed: int) -> Tensor:
    """What a linear gate with random weights, the same on all ranks, likes best of each row of x, (tokens, hidden)."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(experts, x.shape[1], generator=generator) / x.shape[1] ** 0.5
    return _best((x.to(torch.float32) @ weight.T).softmax(dim=1), topk)


def skewed(tokens: int, topk: int, experts: int, seed: int, generator: torch.Generator) -> Tensor:
    """Drawn one after the other, none twice, an expert as likely as 1 / its place in an order that `seed` shuffles.

    The largest of log(weight) + Gumbel noise are such a draw (Efraimidis and Spirakis 2006; Kool et al. 2019).
    """
    order = torch.randperm(experts, generator=torch.Generator().manual_seed(seed))
    weights = (order + 1.0).pow(-_ZIPF_EXPONENT)
    noise = torch.empty(tokens, experts).exponential_(generator=generator).log()  # minus a Gumbel variable
    return _best(weights.log() - noise, topk)


def _best(scores: Tensor, topk: int) -> Tensor:
    return scores.topk(topk, dim=1).indices.to(torch.int32)


def choose(routing: str, x: Tensor, topk: int, experts: int, seed: int, generator: torch.Generator) -> Tensor:
    """The ids of a rank by the routing's name. `seed` is of all ranks, `generator` this rank's own."""
    if routing == "uniform":
        return uniform(x.shape[0], topk, experts, generator)
    if routing == "gate":
        return gate(x, topk, experts, seed)
    assert routing == "skewed", routing
    return skewed(x.shape[0], topk, experts, seed, generator)
