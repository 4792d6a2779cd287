# SPDX-License-Identifier: Apache-2.0
"""The layers that are timed: ours, and two over gloo as one writes them with whole-tensor operations. Layer: Python.

All do the same: bring the tokens to their experts, sorted by expert, and the experts' rows back, weighted and added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ascend_deepep import combine_v2, dispatch_v2
from ascend_deepep.bench.inputs import Batch
from ascend_deepep.bench.shapes import DTYPES, Shape
from ascend_deepep.communicator import Communicator

_SCALE_BYTES = 4
# Newer torch has it by another name, and warns of the old one.
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


@dataclass(frozen=True)
class Received:
    """What dispatch gives the experts of a rank."""

    #: (at least num_rows, hidden) bfloat16 or int8, by local expert.
    rows: Tensor
    #: (at least num_rows,) float32 of int8 rows.
    scales: Tensor | None
    num_rows: int
    #: What combine wants back.
    state: Any


class Contestant:
    """A layer on one rank. Making one, dispatch and combine are collective over the default group."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def dispatch(self, batch: Batch) -> Received:
        """The rows that this rank's experts work on."""
        raise NotImplementedError

    def combine(self, batch: Batch, received: Received, y: Tensor) -> Tensor:
        """(tokens, hidden) bfloat16, from y, bfloat16: the experts' outputs, in as many rows as `received.rows`."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back what is not memory of torch."""


class Ours(Contestant):
    """dispatch_v2 and combine_v2."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.comm = Communicator(dist.group.WORLD, **shape.maxima)
        features = DTYPES[shape.dtype]
        self._dispatch_options: Any = {"quant_mode": features.quant_mode} if shape.is_quantised else {}
        self._combine_options: Any = {"comm_quant_mode": 2} if features.comm_quant == "int8" else {}

    def dispatch(self, batch: Batch) -> Received:
        """See `Contestant`."""
        got = dispatch_v2(batch.x, batch.ids, self.comm, **self._dispatch_options)
        scales = got.dynamic_scales if self.shape.is_quantised else None
        return Received(got.expand_x, scales, got.num_rows, (got.assist_info_for_combine, got.ep_recv_counts))

    def combine(self, batch: Batch, received: Received, y: Tensor) -> Tensor:
        """See `Contestant`."""
        places, counts = received.state
        return combine_v2(y, batch.ids, places, counts, batch.weights, self.comm, **self._combine_options)

    def close(self) -> None:
        """See `Contestant`."""
        self.comm.close()


class AllToAll(Contestant):
    """Sort by expert, exchange counts, all_to_all_single of a row per choice, sort by local expert; and back."""

    def dispatch(self, batch: Batch) -> Received:
        """See `Contestant`."""
        ranks, local = self.shape.ranks, self.shape.local_experts
        chosen = batch.ids.flatten()
        order = chosen.argsort(stable=True)
        counts = torch.bincount(chosen, minlength=self.shape.experts)
        outgoing = _on_the_wire(batch.x, self.shape).index_select(0, order // self.shape.topk)

        incoming_counts = torch.empty_like(counts)  # (source, local expert)
        dist.all_to_all_single(incoming_counts, counts)
        to_peers = counts.view(ranks, local).sum(dim=1).tolist()
        from_peers = incoming_counts.view(ranks, local).sum(dim=1).tolist()
        incoming = torch.empty(sum(from_peers), outgoing.shape[1], dtype=outgoing.dtype)
        dist.all_to_all_single(incoming, outgoing, from_peers, to_peers)
        del outgoing

        expert_of_row = torch.arange(local).repeat(ranks).repeat_interleave(incoming_counts)
        by_expert = expert_of_row.argsort(stable=True)
        rows, scales = _off_the_wire(incoming.index_select(0, by_expert), self.shape)
        return Received(rows, scales, len(rows), (order, by_expert, to_peers, from_peers))

    def combine(self, batch: Batch, received: Received, y: Tensor) -> Tensor:
        """See `Contestant`."""
        order, by_expert, to_peers, from_peers = received.state
        answers = torch.empty_like(y).index_copy_(0, by_expert, y)
        returned = torch.empty(len(order), self.shape.hidden, dtype=y.dtype)
        dist.all_to_all_single(returned, answers, to_peers, from_peers)
        del answers
        # Column by column: half the time of one product over (tokens, top-k, hidden), and our order of adding.
        place = torch.empty_like(order)
        place[order] = torch.arange(order.numel())
        place = place.view(batch.ids.shape)
        total = torch.zeros(batch.x.shape, dtype=torch.float32)
        for column in range(self.shape.topk):
            total.addcmul_(returned.index_select(0, place[:, column]).float(), batch.weights[:, column : column + 1])
        return total.to(y.dtype)


class AllGather(Contestant):
    """All tokens to all ranks, each takes what its experts want; back by a sum of each rank's part, reduce-scatter.

    The reduce-scatter is all_to_all_single and a sum: about half the time of gloo's own. Parts travel as bfloat16.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self._rank = dist.get_rank()

    def dispatch(self, batch: Batch) -> Received:
        """See `Contestant`."""
        topk, ranks = self.shape.topk, self.shape.ranks
        mine = _on_the_wire(batch.x, self.shape)
        tokens = torch.empty(ranks * len(mine), mine.shape[1], dtype=mine.dtype)
        _all_gather(tokens, mine)
        choices = torch.cat([batch.ids, batch.weights.view(torch.int32)], dim=1)
        gathered = torch.empty(ranks * len(mine), 2 * topk, dtype=torch.int32)
        _all_gather(gathered, choices)
        ids, weights = gathered[:, :topk], gathered[:, topk:].contiguous().view(torch.float32)

        local = self.shape.local_experts
        token, column = (ids // local == self._rank).nonzero().unbind(1)
        by_expert = ids[token, column].argsort(stable=True)
        token, column = token[by_expert], column[by_expert]
        rows, scales = _off_the_wire(tokens.index_select(0, token), self.shape)
        return Received(rows, scales, len(rows), (token, weights[token, column]))

    def combine(self, batch: Batch, received: Received, y: Tensor) -> Tensor:
        """See `Contestant`."""
        token, weights = received.state
        ranks, (tokens, hidden) = self.shape.ranks, batch.x.shape
        part = torch.zeros(ranks * tokens, hidden, dtype=torch.float32)
        part.index_add_(0, token, y.float().mul_(weights[:, None]))
        outgoing = part.to(y.dtype)
        del part
        parts = torch.empty_like(outgoing)
        dist.all_to_all_single(parts, outgoing)
        return parts.view(ranks, tokens, hidden).sum(dim=0)  # float32 inside, one rounding


def _on_the_wire(x: Tensor, shape: Shape) -> Tensor:
    """x, or (tokens, hidden + 4) int8: the quantised tokens, and the bytes of their scales."""
    if not shape.is_quantised:
        return x
    u = x.to(torch.float32)
    scales = (u.abs().amax(dim=1, keepdim=True) / 127.0).clamp_(min=torch.finfo(torch.float32).tiny)
    packed = torch.empty(len(x), shape.hidden + _SCALE_BYTES, dtype=torch.int8)
    packed[:, : shape.hidden] = u.div_(scales).round_()
    packed[:, shape.hidden :] = scales.view(torch.int8)
    return packed


def _off_the_wire(rows: Tensor, shape: Shape) -> tuple[Tensor, Tensor | None]:
    if not shape.is_quantised:
        return rows, None
    return rows[:, : shape.hidden], rows[:, shape.hidden :].contiguous().view(torch.float32)[:, 0]


#: By name. The classes travel to the ranks by their own names.
CONTESTANTS: dict[str, type[Contestant]] = {"ours": Ours, "alltoall": AllToAll, "allgather": AllGather}
