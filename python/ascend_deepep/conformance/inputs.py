# SPDX-License-Identifier: Apache-2.0
"""The tensors of a case, from its seed: what any rank brings, computed alike on every rank. Layer: Python, torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ascend_deepep.bench.routing import choose
from ascend_deepep.conformance.cases import Call, Case
from ascend_deepep.reference import active_tokens

_X, _IDS, _WEIGHTS, _SCALES, _TABLE, _MASK, _SHARED_X = range(7)  # streams of random numbers of a rank
_TABLE_RANK = 1 << 10  # the table of smoothing scales is one for all ranks
KEPT_US = 1 << 40  # a wait that no call reaches


def _generator(seed: int, rank: int, stream: int) -> torch.Generator:
    return torch.Generator().manual_seed((seed << 16) + (rank << 4) + stream)


@dataclass(frozen=True)
class Inputs:
    """Inputs of all ranks. Tensors of other ranks are made where they are asked for."""

    case: Case

    @property
    def call(self) -> Call:
        """The case's call."""
        return self.case.call

    @cached_property
    def ids(self) -> list[Tensor]:
        """Per rank, (tokens, top-k) int32."""
        return [self._ids(rank) for rank in range(self.call.ranks)]

    def _ids(self, rank: int) -> Tensor:
        call, generator = self.call, _generator(self.case.seed, rank, _IDS)
        if call.routing in ("gate", "skewed"):  # those that are timed
            return choose(call.routing, self.x(rank), call.topk, call.experts, self.case.seed, generator)
        return _route(call, rank, generator)

    @cached_property
    def masks(self) -> list[Tensor | None]:
        """Per rank, bool, or None without a mask."""
        return [_mask(self.call, rank, _generator(self.case.seed, rank, _MASK)) for rank in range(self.call.ranks)]

    @cached_property
    def _rows(self) -> dict[int, Tensor]:
        return {}

    def x(self, rank: int) -> Tensor:
        """(tokens, hidden) of the element type."""
        if rank not in self._rows:
            rows = _payload(self.call, rank, _generator(self.case.seed, rank, _X))
            self._rows[rank] = rows.to(getattr(torch, self.call.dtype))
        return self._rows[rank]

    def row_scales(self, rank: int) -> Tensor | None:
        """(tokens, columns): scales that pass through with x."""
        generator = _generator(self.case.seed, rank, _SCALES)
        shape = (self.call.tokens[rank], self.call.scale_columns)
        if self.call.scales == "rows-float32":
            return torch.rand(shape, generator=generator)
        if self.call.scales == "rows-e8m0":
            return torch.randint(0, 255, shape, generator=generator, dtype=torch.uint8).view(torch.float8_e8m0fnu)
        return None

    @cached_property
    def table(self) -> Tensor | None:
        """float32 factors: (1,), (hidden,) or a row for each expert, shared ones first."""
        call = self.call
        shapes = {"scalar": (1,), "channel": (call.hidden,), "expert": (call.shared_num + call.experts, call.hidden)}
        if call.scales not in shapes:
            return None
        factors = torch.rand(shapes[call.scales], generator=_generator(self.case.seed, _TABLE_RANK, _TABLE)) + 0.5
        return factors * 16 if call.quant == 1 else factors

    def weights(self, rank: int) -> Tensor:
        """(tokens, top-k) float32; NaN where nobody is chosen or all is masked, as nobody may look at it."""
        ids, mask = self.ids[rank], self.masks[rank]
        live = (ids >= 0) & active_tokens(ids, mask)[:, None]
        if mask is not None and mask.dim() == 2:
            live &= mask
        weights = torch.rand(ids.shape, generator=_generator(self.case.seed, rank, _WEIGHTS))
        return torch.where(live, weights, torch.nan)

    def shared_x(self, rank: int) -> Tensor | None:
        """(tokens, hidden) of the experts' output type."""
        if self.call.shared_x == "none":
            return None
        shape = (self.call.tokens[rank], self.call.hidden)
        rows = torch.randn(shape, generator=_generator(self.case.seed, rank, _SHARED_X))
        return rows.to(getattr(torch, self.call.out_dtype))

    def performance(self) -> Tensor | None:
        """(ranks,) int64."""
        if self.call.performance == "none":
            return None
        value = KEPT_US if self.call.performance == "kept" else 0
        return torch.full((self.call.ranks,), value, dtype=torch.int64)


def _route(call: Call, rank: int, generator: torch.Generator) -> Tensor:
    tokens, topk, experts = call.tokens[rank], call.topk, call.experts
    kind, _, value = call.routing.partition(":")
    ids = torch.full((tokens, topk), -1, dtype=torch.int32)
    scores = torch.rand(tokens, experts, generator=generator)
    if kind in ("uniform", "sparse", "without"):
        ids = scores.argsort(dim=1)[:, :topk].to(torch.int32)
        if kind == "sparse":
            return torch.where(torch.rand(ids.shape, generator=generator) < 0.4, -1, ids)
        return torch.where(ids == int(value), -1, ids) if value else ids
    if kind == "turn":
        first = (torch.arange(tokens) + rank * max(call.tokens))[:, None] * topk
        return ((first + torch.arange(topk)) % experts).to(torch.int32)
    if kind == "expert":
        ids[:, 0] = int(value)
    elif kind == "list":
        ids[:] = torch.tensor([int(word) for word in value.split(",")], dtype=torch.int32)
    elif kind == "host":
        local = experts // call.hosts
        width = min(topk, local)
        ids[:, :width] = torch.arange(width, dtype=torch.int32) + int(value) * local
    else:
        assert kind == "none", call.routing
    return ids


def _mask(call: Call, rank: int, generator: torch.Generator) -> Tensor | None:
    tokens, kind = call.tokens[rank], call.mask
    if kind == "none":
        return None
    if kind == "holes":
        return torch.arange(tokens) % 3 != 1
    if kind.startswith("pairs"):
        shape = (tokens, call.topk)
        if kind != "pairs":
            return torch.full(shape, kind == "pairs-all")
        kept = torch.rand(shape, generator=generator) < 0.6
        kept[1::4] = False
        return kept
    live = {"first": -(-tokens // 2), "all": tokens, "off": 0, "rank-off": 0 if rank == 1 else tokens}
    count = call.live[rank] if kind == "live" else live[kind]
    return torch.arange(tokens) < count


def _payload(call: Call, rank: int, generator: torch.Generator) -> Tensor:
    """float32 rows."""
    tokens, hidden = call.tokens[rank], call.hidden
    if call.payload == "zeros":
        return torch.zeros(tokens, hidden)
    token, column = torch.arange(tokens)[:, None], torch.arange(hidden)
    if call.payload == "index":
        rows = ((37 * rank + 11 * token + column) % 61 - 30).to(torch.float32)
        rows[:, 0], rows[:, 1] = rank, token[:, 0] % 256
        return rows
    rows = torch.randn(tokens, hidden, generator=generator) * torch.exp2((token % 7 - 3).to(torch.float32))
    if call.payload == "zero-groups":
        rows[(column // 32 + token) % 3 == 0] = 0.0
        rows[(column // 128 == token % (hidden // 128 + 1)).expand_as(rows)] = 0.0
        rows[:1] = 0.0
    elif call.payload == "edge":
        _set_edges(rows, getattr(torch, call.out_dtype))
    return rows


def _set_edges(rows: Tensor, dtype: torch.dtype) -> None:
    """Rows without an ordinary result, eight kinds in turn; the eighth stays ordinary."""
    info = torch.finfo(dtype)
    rows[0::8] = 0.0
    rows[1::8] = -0.0
    rows[2::8] = 0.0
    rows[2::8, 5] = 1e-38 if dtype == torch.bfloat16 else info.tiny
    rows[3::8] = 0.0
    rows[3::8, 17] = info.tiny * 2.0**-3  # subnormal
    rows[4::8, 3] = info.max
    rows[5::8, 40] = torch.nan
    rows[6::8, 33] = torch.inf
