# SPDX-License-Identifier: Apache-2.0
"""Hidden states, choices and weights of the demo, all from the seed. Layer: Python, torch only.

Every process makes the same hidden states for any token of any rank, so nothing big travels. Choices and weights are
made once, by the process that starts the ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Protocol

import torch
from torch import Tensor

from ascend_deepep.demo.gate import Gate
from ascend_deepep.demo.options import Options

TORCH_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
_CONTEXT = 3  # bytes that make a token's embedding: itself and those before it
_ZIPF = 1.2
_KEPT_CHOICES = 0.7


class Payload(Protocol):
    """Hidden states by round, rank and token."""

    def rows(self, round_index: int, rank: int, tokens: Tensor) -> Tensor:
        """(len(tokens), hidden) of these tokens of this rank."""


class TextPayload:
    """Text, a byte a token, embedded by seeded tables for the byte itself and the two before it."""

    def __init__(self, options: Options) -> None:
        text = resources.files("ascend_deepep").joinpath("data/demo.txt").read_bytes()
        self._text = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
        generator = torch.Generator().manual_seed(options.seed)
        spread = _CONTEXT**-0.5
        self._tables = [torch.randn(256, options.hidden, generator=generator) * spread for _ in range(_CONTEXT)]
        self._dtype = TORCH_DTYPES[options.dtype]
        self._stride = options.max_tokens
        self._num_ranks = options.num_ranks
        self._start = options.seed * 4099

    def rows(self, round_index: int, rank: int, tokens: Tensor) -> Tensor:
        """Embeddings of the text from where this rank stands in this round."""
        first = self._start + (round_index * self._num_ranks + rank) * self._stride
        total = torch.zeros(len(tokens), self._tables[0].shape[1])
        for back, table in enumerate(self._tables):
            total += table[self._text[(first + tokens - back) % len(self._text)]]
        return total.to(self._dtype)


class IndexPayload:
    """x[rank, token, h] = ((37 rank + 11 token + h) mod 61) - 30, and the first three columns say which row it is.

    All values stay exact in bf16 and fp16 when multiplied by 1 to 8, so any sum of a few is exact in float32 too.
    """

    def __init__(self, options: Options) -> None:
        phase = torch.arange(61)[:, None] + torch.arange(options.hidden)[None, :]
        self._table = (phase % 61 - 30).to(TORCH_DTYPES[options.dtype])

    def rows(self, round_index: int, rank: int, tokens: Tensor) -> Tensor:
        """Rows by the formula; a round counts as so many tokens further on, apart from the first three columns."""
        rows = self._table[(37 * rank + 11 * (tokens + round_index)) % 61]
        rows[:, 0] = rank
        rows[:, 1] = (tokens % 256).to(rows.dtype)
        rows[:, 2] = (tokens // 256).to(rows.dtype)
        return rows


def make_payload(options: Options) -> Payload:
    """The payload that the options name."""
    return TextPayload(options) if options.payload == "text" else IndexPayload(options)


@dataclass(frozen=True)
class Round:
    """Choices of all ranks in one round: (tokens, top-k) int32 ids and float32 weights."""

    ids: list[Tensor]
    weights: list[Tensor]
    #: Of each rank, bool (tokens,) or (tokens, top-k); None without masks.
    masks: list[Tensor | None]

    @property
    def tokens(self) -> list[int]:
        """Tokens of each rank."""
        return [int(ids.shape[0]) for ids in self.ids]


def make_rounds(options: Options, payload: Payload) -> list[Round]:
    """The rounds whose inputs differ."""
    generator = torch.Generator().manual_seed(options.seed + 1)
    choose = _chooser(options, payload, generator)
    rounds = []
    for index in range(options.num_rounds):
        tokens = list(options.tokens)
        if options.vary:
            tokens = [int(torch.randint(0, most + 1, (), generator=generator)) for most in options.tokens]
            if options.features.mask:
                tokens = [tokens[0]] * options.num_ranks  # a mask goes with batches of one size
        pairs = [choose(index, rank, count) for rank, count in enumerate(tokens)]
        masks = [_mask(options.features.mask, ids.shape, generator) for ids, _ in pairs]
        rounds.append(Round([ids for ids, _ in pairs], [weights for _, weights in pairs], masks))
    return rounds


def _mask(kind: str | None, shape: torch.Size, generator: torch.Generator) -> Tensor | None:
    """Some first tokens, or single choices with holes between them."""
    if kind is None:
        return None
    if kind == "1d":
        return torch.arange(shape[0]) < torch.randint(0, shape[0] + 1, (), generator=generator)
    return torch.rand(shape, generator=generator) < _KEPT_CHOICES


def _chooser(
    options: Options, payload: Payload, generator: torch.Generator
) -> Callable[[int, int, int], tuple[Tensor, Tensor]]:
    experts, topk = options.num_experts, options.num_topk
    if options.routing == "gate":
        gate = Gate.from_seed(options.seed + 2, options.hidden, experts, topk)
        return lambda index, rank, count: gate(payload.rows(index, rank, torch.arange(count)))

    odds = torch.ones(experts)
    if options.routing == "skewed":
        odds = torch.arange(1, experts + 1).pow(-_ZIPF)
        odds = odds[torch.randperm(experts, generator=generator)]

    def choose(index: int, rank: int, count: int) -> tuple[Tensor, Tensor]:
        weights = torch.rand(count, topk, generator=generator) + 0.25
        weights = weights / weights.sum(dim=1, keepdim=True)
        if options.routing == "none":
            return torch.full((count, topk), -1, dtype=torch.int32), weights
        if options.routing == "one-hot":
            return torch.arange(topk, dtype=torch.int32).repeat(count, 1), weights
        # Weighted draws without replacement: the largest of exponential race times.
        race = -torch.rand(count, experts, generator=generator).clamp_min(1e-12).log() / odds
        return race.topk(topk, dim=1, largest=False).indices.to(torch.int32), weights

    return choose
