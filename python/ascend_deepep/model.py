# SPDX-License-Identifier: Apache-2.0
"""Cost model of one MoE layer: copies, bytes, messages and the least time of dispatch and combine.

Layer: Python, numpy; neither torch nor the compiled module. docs/model.md has the formulas, their sources and what
they cannot say. Times are microseconds, bandwidths 10^9 bytes per second, sizes bytes; figures are of one rank and
direction, expected over uniform choices of experts unless measured loads are given (`operator_time`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: One copy for each expert; for each rank with an expert of the token; for each node with one, forwarded inside.
ROUTINGS = ("flat", "rank", "node")
#: How expected copies are counted: experts drawn without replacement (what gates do), or with it (the literature).
COPY_FORMULAS = ("distinct", "replacement")
#: What crosses the fabric inside a node: copies for its other ranks, or every copy once, own and outgoing ones too.
LOCAL_COPIES = ("peers", "every")
#: How a copy is laid out: payload and scales alone, or this project's blocks of 512 B with 480 B of data.
WIRES = ("plain", "blocks")
#: What returns to a token in combine: as dispatch went; a row for each expert; a partial sum for each rank.
COMBINE_REDUCES = ("dispatch", "row", "rank")

_BLOCK, _BLOCK_DATA, _UNIT = 512, 480, 32
_HEADER, _ENTRY, _WEIGHT = 8, 4, 4
_MOST_EXPERTS, _MOST_TOPK = 1 << 20, 1 << 12  # beyond, binomials take minutes
_BYTES_PER_US = 1000.0  # of 10^9 bytes per second


@dataclass(frozen=True)
class Element:
    """An element type on the wire: bytes of an element; elements that share a scale (0: the row, if any), its bytes."""

    size: int
    group: int = 0
    scale: int = 0

    def scale_bytes(self, hidden: int) -> int:
        """Bytes of the scales of a row."""
        return self.scale * (ceil(hidden / self.group) if self.group else 1)


#: By name. mxfp8 has a byte for each 32 elements, an even number of them; int8-8, combine's int8 here, has 16 bits
#: for each 8 elements.
ELEMENTS = {
    "bf16": Element(2),
    "fp8": Element(1, 128, 4),
    "mxfp8": Element(1, 64, 2),
    "int8": Element(1, 0, 4),
    "int8-8": Element(1, 8, 2),
}


#: Fields of a MoeLayer that take one of some words.
CHOICES: dict[str, tuple[str, ...]] = {
    "routing": ROUTINGS,
    "combine_reduce": COMBINE_REDUCES,
    "dispatch": tuple(ELEMENTS),
    "combine": tuple(ELEMENTS),
    "wire": WIRES,
    "copies": COPY_FORMULAS,
    "local": LOCAL_COPIES,
}


@dataclass(frozen=True)
class Link:
    """A class of links: microseconds of a step, and 10^9 bytes per second of a rank over all its links of the class."""

    alpha_us: float
    gb_s: float

    def us(self, num_bytes: float) -> float:
        """Of so many bytes, without alpha."""
        return num_bytes / (self.gb_s * _BYTES_PER_US)


@dataclass(frozen=True)
class Fabric:
    """The links of a rank, and what a message and a host synchronisation cost. The values are the literature's."""

    ranks_per_node: int = 8
    #: Full mesh: every rank of a node has a link to each other one.
    peer: Link = Link(5.0, 150.0)
    #: Scale-out: between nodes.
    nic: Link = Link(20.0, 50.0)
    #: Of a collective path, in each direction, besides one more alpha for its counts.
    sync_us: float = 30.0
    #: Of one message, by one of `issuers` that work in parallel.
    issue_us: float = 0.0
    issuers: int = 1
    #: True: messages are issued while bytes travel, and the longer of the two counts. False: one after the other.
    issue_overlaps: bool = False


@dataclass(frozen=True)
class MoeLayer:
    """One layer of one step. `ep` ranks with `experts` in all; a rank brings `tokens` that choose `topk` each."""

    ep: int = 8
    tokens: int = 128
    hidden: int = 7168
    topk: int = 8
    experts: int = 256
    routing: str = "rank"
    combine_reduce: str = "dispatch"
    dispatch: str = "fp8"
    combine: str = "bf16"
    wire: str = "plain"
    #: Further bytes of a plain dispatch copy, such as the 16 of DeepEP's low-latency messages.
    header_bytes: int = 0
    #: A token's experts lie in at most so many groups; 0: anywhere.
    groups: int = 0
    #: Groups that the gate knows; 0: a group is the experts of a node.
    expert_groups: int = 0
    copies: str = "distinct"
    local: str = "peers"
    #: Load of the slowest rank over the mean.
    skew: float = 1.0


@dataclass(frozen=True)
class Traffic:
    """What the mean rank sends in one direction, and what of it crosses which links. Expected numbers: not whole."""

    copy_bytes: int
    #: Per token.
    nic_copies: float
    peer_copies: float
    #: Per rank.
    nic_bytes: float
    peer_bytes: float
    nic_messages: float
    peer_messages: float
    #: What a rank issues; less than the sum of the above where "every" counts an outgoing copy in both classes.
    messages: float
    #: Links of a rank inside its node, and ranks that it reaches over the NIC.
    peer_links: int
    nic_ranks: int


@dataclass(frozen=True)
class Direction:
    """Dispatch or combine on the slowest rank: terms of the least time, and the largest of them by name."""

    traffic: Traffic
    alpha_us: float
    nic_us: float
    peer_us: float
    issue_us: float
    total_us: float
    bound: str


@dataclass(frozen=True)
class LayerTime:
    """A layer: both directions, their sum, and the same with a count exchange and host synchronisation in each."""

    dispatch: Direction
    combine: Direction
    total_us: float
    collective_us: float


def copy_bytes(layer: MoeLayer, direction: str) -> int:
    """Bytes of a dispatch copy or a combine row on the wire, by `layer.wire`."""
    element = ELEMENTS[layer.dispatch if direction == "dispatch" else layer.combine]
    payload, scales = layer.hidden * element.size, element.scale_bytes(layer.hidden)
    if layer.wire == "plain":
        return payload + scales + (layer.header_bytes if direction == "dispatch" else 0)
    data = _align(payload) + scales
    if direction == "dispatch":
        # Who sums by rank needs the weights at the experts.
        entry = _ENTRY + (0 if routing_of(layer, "combine") == "flat" else _WEIGHT)
        data = _align(data) + _align(_HEADER + entry * layer.topk)
    return ceil(data / _BLOCK_DATA) * _BLOCK


def _align(num_bytes: int) -> int:
    return ceil(num_bytes / _UNIT) * _UNIT


def destinations(layer: MoeLayer, parts: int, nodes: int) -> float:
    """Expected distinct destinations of a token, its own included, where the experts lie in `parts` equal parts.

    "replacement": N (1 - (1 - 1/N)^k), where N is the parts that the drawn groups of a group-limited gate lie on.
    "distinct": a part of L of E experts is missed with C(E - L, k) / C(E, k); a group-limited gate first draws its
    groups.
    """
    topk = layer.topk
    if layer.copies == "replacement":
        known = layer.expert_groups or nodes
        chosen_groups = min(layer.groups, known) if layer.groups else known
        # A group has parts / known parts, or less than one of them.
        reached = max(1.0, min(float(parts), chosen_groups * max(1.0, parts / known)))
        return reached * (1 - (1 - 1 / reached) ** topk)
    size = layer.experts // parts
    if not layer.groups:
        return parts * (1 - comb(layer.experts - size, topk) / comb(layer.experts, topk))
    all_groups = layer.expert_groups or nodes
    chosen = min(layer.groups, all_groups)
    group = layer.experts // all_groups
    among = chosen * group  # experts that are left to choose from
    if size <= group:  # a part lies within one group
        return parts * chosen / all_groups * (1 - comb(among - size, topk) / comb(among, topk))
    within = size // group
    missed = sum(
        comb(within, drawn) * comb(all_groups - within, chosen - drawn) * comb(among - drawn * group, topk)
        for drawn in range(min(within, chosen) + 1)
    )
    return parts * (1 - missed / (comb(all_groups, chosen) * comb(among, topk)))


def copies_that_leave(layer: MoeLayer, parts: int, nodes: int) -> float:
    """Expected copies of a token to other parts than its own, one for each; (1 - 1/parts) of `destinations`."""
    return destinations(layer, parts, nodes) * (1 - 1 / parts)


def num_nodes(layer: MoeLayer, fabric: Fabric) -> int:
    """Nodes of the ranks; one where they all fit in it."""
    return max(1, layer.ep // fabric.ranks_per_node)


def routing_of(layer: MoeLayer, direction: str) -> str:
    """One of ROUTINGS: how the copies of a direction travel."""
    if direction == "dispatch" or layer.combine_reduce == "dispatch":
        return layer.routing
    return "rank" if layer.combine_reduce == "rank" else "flat"


def traffic(layer: MoeLayer, fabric: Fabric, direction: str) -> Traffic:
    """Bytes, messages and links of the mean rank; `direction` is dispatch or combine."""
    nodes, routing = num_nodes(layer, fabric), routing_of(layer, direction)
    in_node = layer.ep // nodes
    to_ranks = layer.topk if routing == "flat" else destinations(layer, layer.ep, nodes)
    if routing == "node":
        nic = copies_that_leave(layer, nodes, nodes)
        peer = layer.topk if layer.local == "every" else to_ranks * (1 - 1 / in_node)
        issued = nic + peer
    else:
        nic = to_ranks * (1 - 1 / nodes)
        peer = to_ranks if layer.local == "every" else to_ranks * (in_node - 1) / layer.ep
        issued = to_ranks if layer.local == "every" else nic + peer
    size, tokens = copy_bytes(layer, direction), layer.tokens
    return Traffic(
        copy_bytes=size,
        nic_copies=nic,
        peer_copies=peer,
        nic_bytes=tokens * nic * size,
        peer_bytes=tokens * peer * size,
        nic_messages=tokens * nic,
        peer_messages=tokens * peer,
        messages=tokens * issued,
        peer_links=in_node - 1,
        nic_ranks=layer.ep - in_node,
    )


def direction_time(layer: MoeLayer, fabric: Fabric, direction: str) -> Direction:
    """alpha + max(NIC, inside the node) + issue, on the rank whose load is `skew` times the mean."""
    moved = traffic(layer, fabric, direction)
    alpha = (fabric.peer if num_nodes(layer, fabric) == 1 else fabric.nic).alpha_us
    terms = {
        "nic": fabric.nic.us(layer.skew * moved.nic_bytes),
        "peer": fabric.peer.us(layer.skew * moved.peer_bytes),
        "issue": fabric.issue_us * layer.skew * moved.messages / fabric.issuers,
    }
    moving = max(terms["nic"], terms["peer"])
    beyond = max(moving, terms["issue"]) if fabric.issue_overlaps else moving + terms["issue"]
    bound = max({"alpha": alpha, **terms}.items(), key=lambda term: term[1])[0]
    return Direction(moved, alpha, terms["nic"], terms["peer"], terms["issue"], alpha + beyond, bound)


def layer_time(layer: MoeLayer, fabric: Fabric) -> LayerTime:
    """Both directions of a layer, and beside them the same bytes by a collective path. Illegal sizes: ValueError."""
    check(layer, fabric)
    dispatch, combine = (direction_time(layer, fabric, name) for name in ("dispatch", "combine"))
    total = dispatch.total_us + combine.total_us
    return LayerTime(dispatch, combine, total, total + 2 * (dispatch.alpha_us + fabric.sync_us))


def check(layer: MoeLayer, fabric: Fabric) -> None:
    """Raise ValueError, with the field, its value and what to change, for what the formulas have no meaning for."""
    for name in ("ep", "tokens", "hidden", "topk", "experts"):
        _need(getattr(layer, name) >= 1, name, getattr(layer, name), "is less than 1")
    for name, choices in CHOICES.items():
        value = getattr(layer, name)
        _need(value in choices, name, value, f"is not one of {', '.join(choices)}")
    _need(layer.skew >= 1, "skew", layer.skew, "is less than 1: it is the largest load over the mean")
    _need(layer.header_bytes >= 0, "header_bytes", layer.header_bytes, "is negative")
    for name, most in (("experts", _MOST_EXPERTS), ("topk", _MOST_TOPK)):
        _need(getattr(layer, name) <= most, name, getattr(layer, name), f"is more than {most}")
    _need(layer.topk <= layer.experts, "topk", layer.topk, f"is more than the {layer.experts} experts")
    _need(layer.experts % layer.ep == 0, "experts", layer.experts, f"cannot be divided among {layer.ep} ranks")
    for name in ("ranks_per_node", "issuers"):
        _need(getattr(fabric, name) >= 1, name, getattr(fabric, name), "is less than 1")
    per_node = fabric.ranks_per_node
    whole = layer.ep <= per_node or layer.ep % per_node == 0
    _need(whole, "ep", layer.ep, f"is no whole number of nodes of {per_node} ranks: change ep or ranks_per_node")
    for name, link in (("peer", fabric.peer), ("nic", fabric.nic)):
        _need(link.gb_s > 0, f"{name} gb_s", link.gb_s, "is not positive")
    times = {"peer alpha_us": fabric.peer.alpha_us, "nic alpha_us": fabric.nic.alpha_us}
    for name, time in {**times, "sync_us": fabric.sync_us, "issue_us": fabric.issue_us}.items():
        _need(time >= 0, name, time, "is negative")
    _check_groups(layer, num_nodes(layer, fabric))


def _check_groups(layer: MoeLayer, nodes: int) -> None:
    _need(layer.groups >= 0, "groups", layer.groups, "is negative")
    _need(layer.expert_groups >= 0, "expert_groups", layer.expert_groups, "is negative")
    if not layer.groups or layer.copies == "replacement":
        return
    known = layer.expert_groups or nodes
    _need(layer.experts % known == 0, "expert_groups", known, f"does not divide the {layer.experts} experts")
    group, chosen = layer.experts // known, min(layer.groups, known)
    fits = chosen * group >= layer.topk
    _need(fits, "groups", layer.groups, f"of {group} experts hold less than the {layer.topk} of a token")
    for parts in (nodes, layer.ep):
        size = layer.experts // parts
        nests = size % group == 0 or group % size == 0
        _need(nests, "expert_groups", known, f"of {group} experts overlap the {size} of a rank or node")


def _need(holds: bool, name: str, value: object, what: str) -> None:
    if not holds:
        raise ValueError(f"{name} {value} {what}")


def operator_time(
    bytes_by_pair: ArrayLike,
    *,
    alpha_us: ArrayLike = 0.0,
    us_per_byte: ArrayLike = 0.0,
    messages_by_pair: ArrayLike | None = None,
    us_per_message: ArrayLike = 0.0,
    parallel_links: bool = False,
) -> NDArray[np.float64]:
    """The least time of one operator for measured loads: (ranks,) float64, microseconds of each rank.

    `bytes_by_pair`, `messages_by_pair`: (ranks, ranks), [source, destination]; what lies on the diagonal is charged
    like the rest, so leave 0 there where own copies cross no link. `alpha_us`, `us_per_byte`, `us_per_message`: a
    number, or (ranks, ranks) where links differ (1e-3 / GB/s is a link's us_per_byte).

    A rank is done when it has sent and received all of its bytes, both at once: alpha of the slowest link that it uses
    + max(sum over its row, sum over its column) of bytes x us_per_byte + messages x us_per_message. With
    `parallel_links` every pair has a link of its own, and the slowest pair counts instead of the sums. A rank without
    any bytes or messages takes 0. ValueError: not square, shapes that differ, or a negative value.
    """
    moved = np.asarray(bytes_by_pair, dtype=np.float64)
    if moved.ndim != 2 or moved.shape[0] != moved.shape[1]:
        raise ValueError(f"bytes_by_pair has the shape {moved.shape}, not (ranks, ranks)")
    sent = np.zeros_like(moved) if messages_by_pair is None else np.asarray(messages_by_pair, dtype=np.float64)
    if sent.shape != moved.shape:
        raise ValueError(f"messages_by_pair has the shape {sent.shape}, bytes_by_pair {moved.shape}")
    alpha, per_byte, per_message = (
        np.broadcast_to(np.asarray(value, dtype=np.float64), moved.shape)
        for value in (alpha_us, us_per_byte, us_per_message)
    )
    names = ("bytes_by_pair", "messages_by_pair", "alpha_us", "us_per_byte", "us_per_message")
    for name, values in zip(names, (moved, sent, alpha, per_byte, per_message), strict=True):
        if (values < 0).any():
            raise ValueError(f"{name} has a negative value: {values.min():g}")
    step = np.where((moved > 0) | (sent > 0), alpha, 0.0)
    cost = moved * per_byte + sent * per_message
    times: NDArray[np.float64]
    if parallel_links:
        both = step + cost
        times = np.maximum(both.max(axis=1), both.max(axis=0))
    else:
        first = np.maximum(step.max(axis=1), step.max(axis=0))
        times = first + np.maximum(cost.sum(axis=1), cost.sum(axis=0))
    return times
