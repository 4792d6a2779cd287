# SPDX-License-Identifier: Apache-2.0
"""The oracle: dispatch, combine and the traffic of both, from the definition, in plain torch. Layer: none.

Imports nothing of this package and shares no number with it: what the kernels do is judged against this file. Inputs
are those of all ranks at once. Rows are ordered by local expert, then source rank, token and column; -1 chooses nobody.

A mask is bool: (tokens,) says which tokens are active; (tokens, top-k) says of every choice whether it counts, and a
token is active when any of its choices does. What is masked is not looked at.
Shared experts receive every active token; to a token they are further columns behind its top-k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = [
    "NO_SHARED",
    "RankRoute",
    "Route",
    "SharedExperts",
    "Traffic",
    "Wire",
    "active_tokens",
    "check_route",
    "combine",
    "combine_rank",
    "dispatch",
    "route",
    "traffic",
]


@dataclass(frozen=True)
class SharedExperts:
    """`num` shared experts on the ranks [0, num_ranks): each on num_ranks / num of them, its replicas."""

    num: int = 0
    num_ranks: int = 0

    def host(self, expert: int, source: int) -> int:
        """The rank whose replica of `expert` serves the tokens of `source`."""
        replicas = self.num_ranks // self.num
        return expert * replicas + source % replicas


NO_SHARED = SharedExperts()


@dataclass(frozen=True)
class RankRoute:
    """What one rank receives. L local experts (1 where a shared expert is), R ranks, N rows."""

    #: (N, 3) int32: source rank, token, column.
    triples: Tensor
    #: (L * R,) int32: inclusive running sum of rows by (local expert, source rank).
    ep_recv_counts: Tensor
    #: (L,) int64.
    rows_per_expert: Tensor
    #: (N,) int64: the row of `scales` that a row is smoothed with: shared experts first, then the others.
    scale_rows: Tensor

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
    #: Per source rank, (tokens, top-k + shared) int64: the rank that hosts the chosen expert; -1 for none.
    destination: list[Tensor]
    #: Per source rank, (tokens, top-k + shared) int64: the row on that rank; -1 for none.
    row: list[Tensor]
    #: Per source rank, (tokens,) bool.
    active: list[Tensor]

    @property
    def num_rows(self) -> int:
        """Rows of all ranks together."""
        return sum(rank.num_rows for rank in self.ranks)


def active_tokens(ids: Tensor, mask: Tensor | None) -> Tensor:
    """(tokens,) bool."""
    tokens = ids.shape[0]
    if mask is None:
        return torch.ones(tokens, dtype=torch.bool)
    return mask if mask.dim() == 1 else mask.any(dim=1)


def _unmasked(ids: Tensor, mask: Tensor | None) -> Tensor:
    """The ids, -1 where they are masked."""
    if mask is None:
        return ids
    kept = mask if mask.dim() == 2 else active_tokens(ids, mask)[:, None].expand(ids.shape)
    return torch.where(kept, ids, torch.full_like(ids, -1))


def check_route(expert_ids: Sequence[Tensor], num_experts: int, shared: SharedExperts = NO_SHARED) -> None:
    """Raise ValueError unless ids are in [-1, num_experts) and no expert stands twice in a row."""
    hosts = len(expert_ids) - shared.num_ranks
    if hosts < 1 or num_experts % hosts != 0:
        raise ValueError(f"{num_experts} experts over {hosts} ranks")
    for rank, ids in enumerate(expert_ids):
        if bool(((ids < -1) | (ids >= num_experts)).any()):
            raise ValueError(f"rank {rank}: an id is outside [-1, {num_experts})")
        ordered = ids.sort(dim=1).values
        if bool(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any()):
            raise ValueError(f"rank {rank}: an expert stands twice in a row")


@dataclass(frozen=True)
class _Pairs:
    """All live (token, column) pairs of all ranks, one entry each."""

    host: Tensor
    local: Tensor
    scale_row: Tensor
    source: Tensor
    token: Tensor
    column: Tensor

    def ordered(self) -> _Pairs:
        """By host and local expert; what is equal keeps its order."""
        key = self.host * (int(self.local.max()) + 1 if len(self.local) else 1) + self.local
        order = key.sort(stable=True).indices
        return _Pairs(*(getattr(self, name)[order] for name in self.__dataclass_fields__))


def _pairs(ids: Sequence[Tensor], active: Sequence[Tensor], num_experts: int, shared: SharedExperts) -> _Pairs:
    """In order of (source, token, column) for each expert. `ids` are -1 where they are masked."""
    local_experts = num_experts // (len(ids) - shared.num_ranks)
    columns: list[list[Tensor]] = []
    for source, rank_ids in enumerate(ids):
        tokens, column = (rank_ids >= 0).nonzero().unbind(1)
        experts = rank_ids[tokens, column].long()
        hosts = shared.num_ranks + experts // local_experts
        from_here = torch.full_like(tokens, source)
        columns.append([hosts, experts % local_experts, experts + shared.num, from_here, tokens, column])
        for expert in range(shared.num):
            tokens = active[source].nonzero()[:, 0]
            rest = (shared.host(expert, source), 0, expert, source)
            same = [torch.full_like(tokens, value) for value in rest]
            columns.append([*same, tokens, torch.full_like(tokens, rank_ids.shape[1] + expert)])
    return _Pairs(*(torch.cat(parts) for parts in zip(*columns, strict=True)))


def route(
    expert_ids: Sequence[Tensor],
    num_experts: int,
    masks: Sequence[Tensor | None] | None = None,
    shared: SharedExperts = NO_SHARED,
) -> Route:
    """Where the choices of all ranks go. `expert_ids[rank]` is (tokens, top-k)."""
    num_ranks = len(expert_ids)
    masks = [None] * num_ranks if masks is None else masks
    active = [active_tokens(ids, mask) for ids, mask in zip(expert_ids, masks, strict=True)]
    kept = [_unmasked(ids, mask) for ids, mask in zip(expert_ids, masks, strict=True)]
    check_route(kept, num_experts, shared)
    local_experts = num_experts // (num_ranks - shared.num_ranks)
    pairs = _pairs(kept, active, num_experts, shared).ordered()
    counts = torch.zeros(num_ranks, local_experts, num_ranks, dtype=torch.int64)
    counts.index_put_((pairs.host, pairs.local, pairs.source), torch.ones_like(pairs.host), accumulate=True)

    ranks = []
    position = torch.empty_like(pairs.host)  # row on its host
    for rank in range(num_ranks):
        mine = pairs.host == rank
        triples = torch.stack([pairs.source[mine], pairs.token[mine], pairs.column[mine]], dim=1).to(torch.int32)
        position[mine] = torch.arange(triples.shape[0])
        block = counts[rank, :1] if rank < shared.num_ranks else counts[rank]
        sums = block.flatten().cumsum(0).to(torch.int32)
        ranks.append(RankRoute(triples, sums, block.sum(dim=1), pairs.scale_row[mine]))

    shapes = [(ids.shape[0], ids.shape[1] + shared.num) for ids in expert_ids]
    destination = [torch.full(shape, -1, dtype=torch.int64) for shape in shapes]
    row = [torch.full(shape, -1, dtype=torch.int64) for shape in shapes]
    for rank in range(num_ranks):
        mine = pairs.source == rank
        destination[rank][pairs.token[mine], pairs.column[mine]] = pairs.host[mine]
        row[rank][pairs.token[mine], pairs.column[mine]] = position[mine]
    return Route(ranks, destination, row, active)


def dispatch(
    x: Sequence[Tensor],
    expert_ids: Sequence[Tensor],
    num_experts: int,
    masks: Sequence[Tensor | None] | None = None,
    shared: SharedExperts = NO_SHARED,
) -> tuple[Route, list[Tensor]]:
    """The route and, per rank, the (rows, hidden) that it receives, as they are in `x[rank]`, (tokens, hidden)."""
    result = route(expert_ids, num_experts, masks, shared)
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
    shared: Sequence[Tensor] = (),
) -> Tensor:
    """The (tokens, hidden) output of one rank.

    `rows_of(column, tokens, experts)` gives the experts' outputs for these tokens' choice in this column; it is asked
    for live choices only. The sum is float32, column ascending, each term multiplied, then added, from zero; one
    rounding to nearest even at the end. `expert_scales` None is a plain sum. `expert_ids` are -1 where they are masked.
    `shared`: (tokens, hidden) each, added behind the columns, in order, unweighted; zeros where nothing is to be added.
    """
    total = torch.zeros(expert_ids.shape[0], hidden, dtype=torch.float32)
    for column in range(expert_ids.shape[1]):
        tokens = (expert_ids[:, column] >= 0).nonzero()[:, 0]
        term = rows_of(column, tokens, expert_ids[tokens, column].long()).to(torch.float32)
        if expert_scales is not None:
            term = term * expert_scales[tokens, column].to(torch.float32)[:, None]
        total[tokens] = total[tokens] + term
    for addend in shared:
        total = total + addend.to(torch.float32)
    return total.to(dtype)


def combine(
    y: Sequence[Tensor],
    routed: Route,
    expert_ids: Sequence[Tensor],
    expert_scales: Sequence[Tensor] | None = None,
    shared_expert_x: Sequence[Tensor] | None = None,
) -> list[Tensor]:
    """Per rank, the (tokens, hidden) output. `y[rank]` holds the experts' outputs in the row order of dispatch.

    Rows of the ranks' shared experts come behind the columns, then `shared_expert_x[rank]`, (tokens, hidden), of the
    tokens that are active. Where a token is not, its output is zeros.
    """
    outputs = []
    for source, ids in enumerate(expert_ids):
        destination, row = routed.destination[source], routed.row[source]
        num_topk, hidden = ids.shape[1], y[0].shape[1]

        def rows_of(
            column: int, tokens: Tensor, _experts: Tensor, destination: Tensor = destination, row: Tensor = row
        ) -> Tensor:
            hosts, positions = destination[tokens, column], row[tokens, column]
            rows = torch.empty(tokens.shape[0], y[0].shape[1], dtype=y[0].dtype)
            for host in sorted(set(hosts.tolist())):
                mine = hosts == host
                rows[mine] = y[host][positions[mine]]
            return rows

        active = routed.active[source]
        added = []
        for column in range(num_topk, destination.shape[1]):
            tokens = active.nonzero()[:, 0]
            addend = torch.zeros(ids.shape[0], hidden, dtype=y[0].dtype)
            addend[tokens] = rows_of(column, tokens, tokens)
            added.append(addend)
        if shared_expert_x is not None:
            added.append(torch.where(active[:, None], shared_expert_x[source], 0))
        kept = torch.where(destination[:, :num_topk] >= 0, ids, -1)
        scales = None if expert_scales is None else expert_scales[source]
        outputs.append(combine_rank(rows_of, kept, scales, hidden, y[0].dtype, added))
    return outputs


@dataclass(frozen=True)
class Wire:
    """Bytes of what travels."""

    #: Of the hidden state in a token copy, quantised or not, and of its scales.
    payload_bytes: int
    #: Columns of a token: top-k and shared experts.
    num_columns: int
    #: Of an expert's row on its way back, and of its scales.
    row_bytes: int
    #: The most experts of a rank that the communicator allows: a control message has room for as many.
    max_local_experts: int
    scale_bytes: int = 0
    row_scale_bytes: int = 0
    #: Columns whose weights travel with the token.
    num_weights: int = 0
    #: A copy for each choice of a token, rather than for each rank that it goes to.
    per_expert: bool = False
    #: Rows of a token that one rank has computed go back as one.
    sums_by_rank: bool = False

    @property
    def token_blocks(self) -> int:
        """Blocks of a token copy: hidden state, scales, header, each from a multiple of 32 B on."""
        header = 8 + 4 * self.num_columns + 4 * self.num_weights
        return _blocks(_up(_up(self.payload_bytes, 32) + self.scale_bytes, 32) + _up(header, 32))

    @property
    def row_blocks(self) -> int:
        """Blocks of an expert's row."""
        return _blocks(_up(self.row_bytes, 32) + self.row_scale_bytes)

    @property
    def control_blocks(self) -> int:
        """Blocks of a control message: 160 B, and 4 B per local expert."""
        return _blocks(160 + 4 * self.max_local_experts)


@dataclass(frozen=True)
class Traffic:
    """What one rank puts into the windows of other ranks in one dispatch and one combine."""

    #: Token copies: one per token and rank other than its own that hosts an expert of the token, or one per choice.
    copies: int
    #: Rows that go back to other ranks: experts' outputs, or by rank the sums of a token's.
    rows: int
    bytes_put_dispatch: int
    bytes_put_combine: int
    #: Control messages of both operations, one to every other rank.
    bytes_put_control: int
    wqes_dispatch: int
    #: Rows, where the queues carry them; none where they are stored directly.
    wqes_combine: int


def traffic(routed: Route, wire: Wire, combine_engine: str) -> list[Traffic]:
    """The closed form of `Traffic`, per rank. Everything remote is whole 512 B blocks that hold 480 B of data."""
    num_ranks = len(routed.ranks)
    control_bytes = 2 * (num_ranks - 1) * wire.control_blocks * 512
    result = []
    for rank in range(num_ranks):
        destination = routed.destination[rank]
        if wire.per_expert:
            copies = int(((destination >= 0) & (destination != rank)).sum())
        else:
            others = torch.zeros(destination.shape[0], num_ranks + 1, dtype=torch.bool)
            others.scatter_(1, destination + 1, True)
            others[:, 0] = False
            others[:, rank + 1] = False
            copies = int(others.sum())
        returned = routed.ranks[rank].triples
        returned = returned[returned[:, 0] != rank]
        pairs = {(source, token) for source, token, _ in returned.tolist()}
        rows = len(pairs) if wire.sums_by_rank else len(returned)
        result.append(
            Traffic(
                copies=copies,
                rows=rows,
                bytes_put_dispatch=copies * wire.token_blocks * 512,
                bytes_put_combine=rows * wire.row_blocks * 512,
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
