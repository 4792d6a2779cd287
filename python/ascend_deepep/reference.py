# SPDX-License-Identifier: Apache-2.0
"""The oracle: dispatch, combine and the traffic of both, from the definition, in plain torch. Layer: none.

Imports nothing of this package and shares no number with it: what the kernels do is judged against this file. Inputs
are those of all ranks at once. Rows are ordered by local expert, then source rank, token and column; -1 chooses nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["RankRoute", "Route", "Traffic", "check_route", "combine", "combine_rank", "dispatch", "route", "traffic"]


@dataclass(frozen=True)
class RankRoute:
    """What one rank receives. L local experts, R ranks, N rows."""

    #: (N, 3) int32: source rank, token, column.
    triples: Tensor
    #: (L * R,) int32: inclusive running sum of rows by (local expert, source rank).
    ep_recv_counts: Tensor
    #: (L,) int64.
    rows_per_expert: Tensor

    @property
    def num_rows(self) -> int:
        """Rows this rank receives."""
        return int(self.triples.shape[0])

    def expert_token_nums(self, kind: int) -> Tensor:
        """(L,) int64: rows of each local expert (kind 1) or their inclusive running sum (kind 0)."""
        return self.rows_per_expert if kind == 1 else self.rows_per_expert.cumsum(0)


@dataclass(frozen=True)
class Route:
    """What every rank receives, and where every choice went."""

    ranks: list[RankRoute]
    #: Per source rank, (tokens, top-k) int64: the rank that hosts the chosen expert; -1 for none.
    destination: list[Tensor]
    #: Per source rank, (tokens, top-k) int64: the row on that rank; -1 for none.
    row: list[Tensor]

    @property
    def num_rows(self) -> int:
        """Rows of all ranks together."""
        return sum(rank.num_rows for rank in self.ranks)


def check_route(expert_ids: Sequence[Tensor], num_experts: int) -> None:
    """Raise ValueError unless ids are in [-1, num_experts) and no expert stands twice in a row."""
    if not expert_ids or num_experts % len(expert_ids) != 0:
        raise ValueError(f"{num_experts} experts over {len(expert_ids)} ranks")
    for rank, ids in enumerate(expert_ids):
        if bool(((ids < -1) | (ids >= num_experts)).any()):
            raise ValueError(f"rank {rank}: an id is outside [-1, {num_experts})")
        ordered = ids.sort(dim=1).values
        if bool(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any()):
            raise ValueError(f"rank {rank}: an expert stands twice in a row")


def route(expert_ids: Sequence[Tensor], num_experts: int) -> Route:
    """Where the choices of all ranks go. `expert_ids[rank]` is (tokens, top-k)."""
    check_route(expert_ids, num_experts)
    num_ranks = len(expert_ids)
    local_experts = num_experts // num_ranks
    # All live choices as one list, in order of (source, token, column); a stable sort by expert keeps that order.
    places = [(ids >= 0).nonzero() for ids in expert_ids]
    sources = torch.cat([torch.full((place.shape[0],), rank) for rank, place in enumerate(places)])
    tokens_columns = torch.cat(places)
    experts = torch.cat([ids[place[:, 0], place[:, 1]] for ids, place in zip(expert_ids, places, strict=True)]).long()
    order = experts.sort(stable=True).indices
    experts, sources, tokens_columns = experts[order], sources[order], tokens_columns[order]
    hosts = experts // local_experts
    counts = torch.zeros(num_experts, num_ranks, dtype=torch.int64)
    counts.index_put_((experts, sources), torch.ones_like(experts), accumulate=True)

    ranks = []
    position = torch.empty_like(experts)  # row on its host
    for rank in range(num_ranks):
        mine = hosts == rank
        triples = torch.cat([sources[mine, None], tokens_columns[mine]], dim=1).to(torch.int32)
        position[mine] = torch.arange(triples.shape[0])
        block = counts[rank * local_experts : (rank + 1) * local_experts]
        ranks.append(RankRoute(triples, block.flatten().cumsum(0).to(torch.int32), block.sum(dim=1)))

    destination = [torch.full(ids.shape, -1, dtype=torch.int64) for ids in expert_ids]
    row = [torch.full(ids.shape, -1, dtype=torch.int64) for ids in expert_ids]
    for rank in range(num_ranks):
        mine = sources == rank
        tokens, columns = tokens_columns[mine].unbind(1)
        destination[rank][tokens, columns] = hosts[mine]
        row[rank][tokens, columns] = position[mine]
    return Route(ranks, destination, row)


def dispatch(x: Sequence[Tensor], expert_ids: Sequence[Tensor], num_experts: int) -> tuple[Route, list[Tensor]]:
    """The route and, per rank, the (rows, hidden) that it receives. `x[rank]` is (tokens, hidden)."""
    result = route(expert_ids, num_experts)
    received = []
    for rank in result.ranks:
        rows = torch.empty(rank.num_rows, x[0].shape[1], dtype=x[0].dtype)
        sources, tokens = rank.triples[:, 0].long(), rank.triples[:, 1].long()
        for source in range(len(x)):
            mine = sources == source
            rows[mine] = x[source][tokens[mine]]
        received.append(rows)
    return result, received


def combine_rank(
    rows_of: Callable[[int, Tensor, Tensor], Tensor],
    expert_ids: Tensor,
    expert_scales: Tensor | None,
    hidden: int,
    dtype: torch.dtype,
) -> Tensor:
    """The (tokens, hidden) output of one rank.

    `rows_of(column, tokens, experts)` gives the experts' outputs for these tokens' choice in this column; it is asked
    for live choices only. The sum is float32, column ascending, each term multiplied, then added, from zero; one
    rounding to nearest even at the end. `expert_scales` None is a plain sum.
    """
    total = torch.zeros(expert_ids.shape[0], hidden, dtype=torch.float32)
    for column in range(expert_ids.shape[1]):
        tokens = (expert_ids[:, column] >= 0).nonzero()[:, 0]
        term = rows_of(column, tokens, expert_ids[tokens, column].long()).to(torch.float32)
        if expert_scales is not None:
            term = term * expert_scales[tokens, column].to(torch.float32)[:, None]
        total[tokens] = total[tokens] + term
    return total.to(dtype)


def combine(
    y: Sequence[Tensor], routed: Route, expert_ids: Sequence[Tensor], expert_scales: Sequence[Tensor] | None = None
) -> list[Tensor]:
    """Per rank, the (tokens, hidden) output. `y[rank]` holds the experts' outputs in the row order of dispatch."""
    outputs = []
    for source, ids in enumerate(expert_ids):
        destination, row = routed.destination[source], routed.row[source]

        def rows_of(
            column: int, tokens: Tensor, _experts: Tensor, destination: Tensor = destination, row: Tensor = row
        ) -> Tensor:
            hosts, positions = destination[tokens, column], row[tokens, column]
            rows = torch.empty(tokens.shape[0], y[0].shape[1], dtype=y[0].dtype)
            for host in sorted(set(hosts.tolist())):
                mine = hosts == host
                rows[mine] = y[host][positions[mine]]
            return rows

        scales = None if expert_scales is None else expert_scales[source]
        outputs.append(combine_rank(rows_of, ids, scales, y[0].shape[1], y[0].dtype))
    return outputs


@dataclass(frozen=True)
class Traffic:
    """What one rank puts into the windows of other ranks in one dispatch and one combine."""

    #: Token copies: one per token and rank other than its own that hosts an expert the token chose.
    copies: int
    #: Rows of experts' outputs that go back to other ranks.
    rows: int
    bytes_put_dispatch: int
    bytes_put_combine: int
    #: Control messages of both operations, one to every other rank.
    bytes_put_control: int
    wqes_dispatch: int
    #: Rows, where the queues carry them; none where they are stored directly.
    wqes_combine: int


def traffic(routed: Route, hidden: int, num_topk: int, combine_engine: str, element_bytes: int = 2) -> list[Traffic]:
    """The closed form of `Traffic`, per rank.

    Everything remote is whole 512 B blocks that hold 480 B of data. A token copy is the hidden state, up to a multiple
    of 32 B, then a header of 8 B and 4 B per column, up to a multiple of 32 B. A row is the hidden state alone. A
    control message is 128 B and 4 B per local expert.
    """
    num_ranks = len(routed.ranks)
    payload = hidden * element_bytes
    token_bytes = _blocks(_up(payload, 32) + _up(8 + 4 * num_topk, 32)) * 512
    row_bytes = _blocks(payload) * 512
    local_experts = routed.ranks[0].rows_per_expert.shape[0]
    control_bytes = 2 * (num_ranks - 1) * _blocks(128 + 4 * local_experts) * 512
    result = []
    for rank in range(num_ranks):
        destination = routed.destination[rank]
        others = torch.zeros(destination.shape[0], num_ranks + 1, dtype=torch.bool)
        others.scatter_(1, destination + 1, True)
        others[:, 0] = False
        others[:, rank + 1] = False
        copies = int(others.sum())
        rows = int((routed.ranks[rank].triples[:, 0] != rank).sum())
        result.append(
            Traffic(
                copies=copies,
                rows=rows,
                bytes_put_dispatch=copies * token_bytes,
                bytes_put_combine=rows * row_bytes,
                bytes_put_control=control_bytes,
                wqes_dispatch=copies,
                wqes_combine=rows if combine_engine == "urma" else 0,
            )
        )
    return result


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _blocks(data_bytes: int) -> int:
    return -(-data_bytes // 480)
