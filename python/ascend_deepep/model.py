# SPDX-License-Identifier: Apache-2.0
"""A cost model of one MoE layer: bytes, messages, links and a lower bound of the time. Layer: Python, no torch.

The bound is the alpha-beta model with two classes of links. Links work at the same time, so one direction takes

    T = alpha + max(NIC bytes / beta_nic, local bytes / beta_intra, bytes to one peer / beta_peer, issue time)

with bytes of the rank that has most of them, and alpha that of the farthest link that is used. A layer is dispatch plus
combine. Sources of the formulas: docs/model.md. Nothing here knows how long kernels compute: a measured time is never
below the bound, and how far it is above is what there is to find (`ascend-deepep diagnose`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ascend_deepep.demo.usage import UsageError

ROUTINGS = ("flat", "rank-dedup", "node-dedup")
FORMULAS = ("with-replacement", "distinct")
REDUCES = ("row", "rank")
WIRES = ("packed", "blocks")
#: Bytes of one element, and of one scale that `_SCALED` elements of a token share (0: a token has one).
DTYPES: dict[str, tuple[int, int, int]] = {
    "bf16": (2, 0, 0),
    "fp8": (1, 4, 128),
    "int8": (1, 4, 0),
}
# Blocks as docs/layout.md has them.
_BLOCK, _BLOCK_DATA, _PART = 512, 480, 32
_HEADER = 8  # and 4 for each expert of a token


@dataclass(frozen=True)
class Link:
    """A class of links: start-up time, and bytes in one direction of one rank."""

    alpha_us: float
    gb_s: float  # 10^9 bytes a second


@dataclass(frozen=True)
class Cluster:
    """The machine. The defaults are those of the reference table."""

    ranks_per_node: int = 8
    intra: Link = Link(5.0, 150.0)
    nic: Link = Link(20.0, 50.0)
    #: Of the link to one peer of the node, in a full mesh; None: a switch, all of `intra` can go to one peer.
    peer_gb_s: float | None = None
    #: What posting a message takes one issuer, and how many issue at the same time.
    issue_us: float = 0.0
    issuers: int = 1
    #: Device to host and back, which a path with sizes on the host pays in each direction.
    sync_us: float = 30.0


@dataclass(frozen=True)
class Layer:
    """One MoE layer and what a rank brings to it."""

    ranks: int
    tokens: int  # of a rank
    hidden: int = 7168
    topk: int = 8
    experts: int = 256
    #: flat: a copy to each expert. rank-dedup: to each rank that has one. node-dedup: over a NIC to each node, and
    #: from there to each expert.
    routing: str = "flat"
    #: Most nodes that the experts of a token lie on, by a group-limited gate; None: no limit.
    groups: int | None = None
    #: How many distinct places: "with-replacement", as the literature counts, or "distinct" experts, as gates choose.
    formula: str = "with-replacement"
    dispatch: str = "fp8"
    combine: str = "bf16"
    #: "row": each expert's row returns. "rank" (rank-dedup): the sum of a rank's rows returns.
    combine_reduce: str = "row"
    #: packed: nothing but the data. blocks: 512 B blocks that hold 480 B, and a header, as our kernels write.
    wire: str = "packed"
    #: Rows of an own expert cross the local links too, as the reference table has it; our kernels copy them in memory.
    own_rows_travel: bool = True
    #: Largest number of tokens that a rank gets / the mean. The slowest rank sets the time.
    skew: float = 1.0


@dataclass(frozen=True)
class Direction:
    """Dispatch or combine of one rank. Times in microseconds."""

    bytes_per_copy: int
    #: Of a token: copies that leave the rank, that leave the node, that cross local links.
    copies_off_rank: float
    copies_off_node: float
    copies_local: float
    messages: float  # of the rank
    nic_bytes: float
    local_bytes: float
    #: Links of the rank that carry something: to peers of its node, and over the NIC to ranks of others.
    peer_links: int
    nic_links: int
    alpha_us: float
    nic_us: float
    local_us: float
    peer_us: float
    issue_us: float

    @property
    def bytes_us(self) -> float:
        """The term of the bytes."""
        return max(self.nic_us, self.local_us, self.peer_us)

    @property
    def us(self) -> float:
        """Lower bound."""
        return self.alpha_us + max(self.bytes_us, self.issue_us)

    @property
    def bound_by(self) -> str:
        """The term that decides: "nic", "local", "peer" or "issue"."""
        terms = {"nic": self.nic_us, "local": self.local_us, "peer": self.peer_us, "issue": self.issue_us}
        return max(terms, key=lambda name: terms[name])


@dataclass(frozen=True)
class Cost:
    """A layer on a cluster."""

    layer: Layer
    cluster: Cluster
    dispatch: Direction
    combine: Direction

    @property
    def us(self) -> float:
        """Dispatch and combine."""
        return self.dispatch.us + self.combine.us

    @property
    def collective_us(self) -> float:
        """The same with counts exchanged first and read by the host: an alpha and a synchronisation a direction."""
        return self.us + sum(part.alpha_us + self.cluster.sync_us for part in (self.dispatch, self.combine))


def copy_bytes(layer: Layer, dtype: str, is_dispatch: bool = True) -> int:
    """Bytes of one token copy (dispatch) or row (combine) on the wire."""
    size, scale, shared_by = DTYPES[dtype]
    data = layer.hidden * size
    scales = scale * (math.ceil(layer.hidden / shared_by) if shared_by else 1) if scale else 0
    if layer.wire == "packed":
        return data + scales
    parts = [data, scales, _HEADER + 4 * layer.topk if is_dispatch else 0]
    end = 0
    for part in parts:
        if part:
            end = _up(end, _PART) + part
    return _up(end, _BLOCK_DATA) // _BLOCK_DATA * _BLOCK


def places(count: int, topk: int, experts: int, formula: str, groups: int | None = None) -> float:
    """How many of `count` places (ranks, nodes) the experts of a token lie on, on average, uniform routing.

    with-replacement: n (1 - (1 - 1/n)^k). distinct: n (1 - C(E - L, k) / C(E, k)) with L = E / n experts a place. A
    group-limited gate leaves min(groups, count) places, and the experts on them.
    """
    n = count if groups is None else min(groups, count)
    if formula == "with-replacement":
        return n * (1 - (1 - 1 / n) ** topk)
    of_place = experts // count
    of_all = of_place * n
    return n * (1 - math.comb(of_all - of_place, topk) / math.comb(of_all, topk))


def cost(layer: Layer, cluster: Cluster | None = None) -> Cost:
    """Bytes, messages, links and lower bound of one layer. Errors: UsageError, one line, for what cannot be."""
    cluster = Cluster() if cluster is None else cluster
    check(layer, cluster)
    return Cost(layer, cluster, _direction(layer, cluster, True), _direction(layer, cluster, False))


def operator_time(
    num_bytes: Sequence[Sequence[float]],
    *,
    alpha_us: float,
    peer_gb_s: float,
    rank_gb_s: float | None = None,
    messages: Sequence[float] | None = None,
    issue_us: float = 0.0,
) -> list[float]:
    """Lower bound of one operator, by rank, from what really travelled.

    Args:
        num_bytes: [source][destination]; the diagonal does not travel.
        alpha_us: start-up time.
        peer_gb_s: 10^9 bytes a second of the link between two ranks.
        rank_gb_s: of all links of a rank together, in or out; None: no limit but the links'.
        messages: of each rank, each `issue_us` of its issuers' time.

    Returns microseconds until a rank has sent and received all of its own.
    """
    ranks = range(len(num_bytes))
    times = []
    for rank in ranks:
        out = [num_bytes[rank][peer] for peer in ranks if peer != rank]
        into = [num_bytes[peer][rank] for peer in ranks if peer != rank]
        term = max([0.0, *out, *into]) / (peer_gb_s * 1e3)
        if rank_gb_s is not None:
            term = max(term, sum(out) / (rank_gb_s * 1e3), sum(into) / (rank_gb_s * 1e3))
        if messages is not None:
            term = max(term, messages[rank] * issue_us)
        times.append(alpha_us + term)
    return times


def path_bytes(layer: Layer) -> dict[str, float]:
    """Bytes that a rank sends in dispatch and combine together, by the path that is taken, in the combine's dtype.

    all-gather and reduce-scatter: (R - 1) T H b each, whatever k is. all-to-all: (R - 1) / R T k H b each. per rank: a
    copy to each rank that hosts an expert of the token, and a row back (combine_reduce "rank").
    """
    ranks, row = layer.ranks, copy_bytes(layer, layer.combine, is_dispatch=False)
    off = places(ranks, layer.topk, layer.experts, layer.formula) * (1 - 1 / ranks)
    return {
        "all-gather + reduce-scatter": 2.0 * (ranks - 1) * layer.tokens * row,
        "all-to-all": 2.0 * (ranks - 1) / ranks * layer.tokens * layer.topk * row,
        "per rank": 2.0 * off * layer.tokens * row,
    }


def check(layer: Layer, cluster: Cluster) -> None:
    """Raise UsageError, which names the value and what to change, for a layer that cannot be."""
    for name, least in (("ranks", 1), ("tokens", 0), ("hidden", 1), ("topk", 1), ("experts", 1)):
        if getattr(layer, name) < least:
            raise UsageError(f"{name} = {getattr(layer, name)} is below {least}")
    for name, value, legal in (
        ("routing", layer.routing, ROUTINGS),
        ("formula", layer.formula, FORMULAS),
        ("combine_reduce", layer.combine_reduce, REDUCES),
        ("wire", layer.wire, WIRES),
        ("dispatch", layer.dispatch, tuple(DTYPES)),
        ("combine", layer.combine, tuple(DTYPES)),
    ):
        if value not in legal:
            raise UsageError(f"{name} = {value!r} is not one of {', '.join(legal)}")
    if layer.experts % layer.ranks:
        raise UsageError(f"{layer.experts} experts cannot be divided among {layer.ranks} ranks; change either")
    if layer.topk > layer.experts:
        raise UsageError(f"topk = {layer.topk} is more than the {layer.experts} experts")
    if cluster.ranks_per_node < 1:
        raise UsageError(f"ranks_per_node = {cluster.ranks_per_node} is below 1")
    if layer.ranks > cluster.ranks_per_node and layer.ranks % cluster.ranks_per_node:
        raise UsageError(f"{layer.ranks} ranks do not fill nodes of {cluster.ranks_per_node}; change either")
    if layer.groups is not None:
        reachable = min(layer.groups, _nodes(layer, cluster)) * layer.experts // _nodes(layer, cluster)
        if layer.groups < 1 or reachable < layer.topk:
            raise UsageError(
                f"groups = {layer.groups} leaves {max(reachable, 0)} experts for top-{layer.topk}; raise it"
            )
    if layer.combine_reduce == "rank" and layer.routing != "rank-dedup":
        raise UsageError(f"combine_reduce = 'rank' goes with routing 'rank-dedup', not {layer.routing!r}")
    rates = {"intra": cluster.intra.gb_s, "nic": cluster.nic.gb_s, "peer_gb_s": cluster.peer_gb_s or 1.0}
    for name, rate in rates.items():
        if not rate > 0:
            raise UsageError(f"{name} = {rate} GB/s is not above 0")
    if not layer.skew >= 1.0:
        raise UsageError(f"skew = {layer.skew} is below 1: it is the largest load over the mean")
    if cluster.issuers < 1:
        raise UsageError(f"issuers = {cluster.issuers} is below 1")


@dataclass(frozen=True)
class _Copies:
    """Of a token, on average."""

    off_rank: float
    off_node: float
    local: float
    messages: float = field(default=0.0)


def _copies(layer: Layer, cluster: Cluster, is_dispatch: bool) -> _Copies:
    nodes, ranks = _nodes(layer, cluster), layer.ranks
    is_by_rank = layer.routing == "rank-dedup" and (is_dispatch or layer.combine_reduce == "rank")
    if is_by_rank:
        # Ranks of the nodes that a token reaches; a share of 1 / nodes of them is in its own.
        within = None if layer.groups is None else min(layer.groups, nodes) * (ranks // nodes)
        all_copies = places(ranks, layer.topk, layer.experts, layer.formula, within)
    else:
        all_copies = float(layer.topk)
    if layer.routing == "node-dedup":
        off_node = places(nodes, layer.topk, layer.experts, layer.formula, layer.groups) * (1 - 1 / nodes)
        local = all_copies
    else:
        off_node = all_copies * (1 - 1 / nodes)
        local = all_copies
    if not layer.own_rows_travel:
        local -= all_copies / ranks
    off_rank = all_copies * (1 - 1 / ranks)
    messages = off_node + all_copies / nodes * (1 - nodes / ranks) if layer.routing == "node-dedup" else off_rank
    return _Copies(off_rank, off_node, local, messages)


def _direction(layer: Layer, cluster: Cluster, is_dispatch: bool) -> Direction:
    size = copy_bytes(layer, layer.dispatch if is_dispatch else layer.combine, is_dispatch)
    copies = _copies(layer, cluster, is_dispatch)
    tokens = layer.tokens * layer.skew
    nodes = _nodes(layer, cluster)
    nic_bytes, local_bytes = tokens * copies.off_node * size, tokens * copies.local * size
    messages = tokens * copies.messages
    per_node = layer.ranks // nodes
    peer_us = 0.0
    if cluster.peer_gb_s is not None and per_node > 1:
        peer_us = local_bytes / per_node / (cluster.peer_gb_s * 1e3)
    return Direction(
        bytes_per_copy=size,
        copies_off_rank=copies.off_rank,
        copies_off_node=copies.off_node,
        copies_local=copies.local,
        messages=messages,
        nic_bytes=nic_bytes,
        local_bytes=local_bytes,
        peer_links=per_node - 1,
        nic_links=layer.ranks - per_node if layer.routing != "node-dedup" else nodes - 1,
        alpha_us=(cluster.intra if nodes == 1 else cluster.nic).alpha_us,
        nic_us=nic_bytes / (cluster.nic.gb_s * 1e3),
        local_us=local_bytes / (cluster.intra.gb_s * 1e3),
        peer_us=peer_us,
        issue_us=messages * cluster.issue_us / cluster.issuers,
    )


def _nodes(layer: Layer, cluster: Cluster) -> int:
    return max(1, layer.ranks // cluster.ranks_per_node)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
