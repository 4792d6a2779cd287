# SPDX-License-Identifier: Apache-2.0
"""How a world may be made smaller, by kind, the largest step first. Layer: Python, no torch.

A world is the settings of `_simulator.scenario`, all of them; a step is the settings that it changes. Whether the
smaller world is legal is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

World = Mapping[str, str]
Steps = Iterator[dict[str, str]]

# Settings of a world that has nothing special, and of a calm one: tried one by one. What makes no world smaller or
# calmer, such as the values of tags, is not here: each would make the line longer.
_PLAIN = {
    "second": "0",
    "survivors": "0",
    "uneven": "0",
    "one_hot": "0",
    "routing": "uniform",
    "hole_one_in": "0",
    "engine": "mte",
    "depth": "64",
    "queues": "1",
    "drawn_roles": "0",
    "first_index": "0",
}
_CALM = {
    "run_bits": "9",
    "slow_shift": "0",
    "pipe_shift": "0",
    "piece_units": "15",
    "delivery_ns": "1",
    "wqe_ns": "1",
    "completion_ns": "1",
    "host_ns": "1",
    "store_slots": "0",
    "store_ns": "1",
    "evictions": "off",
    "block_ns": "0",
}


class Operation(NamedTuple):
    """One word of the setting `operations`, with the round of a combine written out."""

    kind: str
    round: int
    act: str  # with its colon; empty: good

    @property
    def is_dispatch(self) -> bool:
        """Of a round of its own: a good one."""
        return self.kind == "D" and not self.act


def parse_operations(text: str) -> list[Operation]:
    """The operations of a world, as `simulator/scenario/operations.h` writes them."""
    operations: list[Operation] = []
    last = 0
    for word in text.split(","):
        head, colon, act = word.partition(":")
        last += head == "D" and not colon
        operations.append(Operation(head[0], int(head[1:] or last), colon + act))
    return operations


def operations_text(operations: list[Operation]) -> str:
    """The setting that stands for them."""
    return ",".join(f"{o.kind}{o.round if o.kind == 'C' else ''}{o.act}" for o in operations)


def without(operations: list[Operation], index: int) -> list[Operation]:
    """One operation less; with a good dispatch go the combines of its round."""
    gone = operations[index]
    rest = operations[:index] + operations[index + 1 :]
    if not gone.is_dispatch:
        return rest
    kept = [o for o in rest if not (o.kind == "C" and o.round == gone.round)]
    return [o._replace(round=o.round - 1) if o.kind == "C" and o.round > gone.round else o for o in kept]


def _operations(world: World) -> Steps:
    operations = parse_operations(world["operations"])
    fewer = [operations[:count] for count in range(1, len(operations))]
    fewer += [without(operations, index) for index in range(len(operations))]
    good = [[*operations[:i], o._replace(act=""), *operations[i + 1 :]] for i, o in enumerate(operations) if o.act]
    # A dispatch that becomes good would have a round of its own: those are dropped, not mended.
    fewer += [changed for changed in good if [o.is_dispatch for o in changed] == [o.is_dispatch for o in operations]]
    for candidate in fewer:
        if candidate:
            yield {"operations": operations_text(candidate)}


# Features of the calls, those that others need last.
_FEATURELESS = {
    "mask": "none",
    "shared_x": "0",
    "combine_int8": "0",
    "combine_by_rank": "0",
    "weights": "0",
    "running_sums": "0",
    "performance": "0",
    "odd_values": "0",
    "copies": "rank",
}


def _features(world: World) -> Steps:
    yield from _one_by_one(_FEATURELESS)(world)
    if world["shared_ranks"] != "0":
        experts = str(_local(world) * int(world["ranks"]))
        yield {"shared": "0", "shared_ranks": "0", "experts": experts, "max_experts": experts}
    if world["quant"] != "none" or world["dtype"] in ("e4m3", "e5m2"):
        yield {"quant": "none", "dtype": "bf16", "quant_scales": "none"}
    yield from _one_by_one({"dtype": "bf16", "max_shared": "0", "room_per_expert": "0"})(world)


def _local(world: World) -> int:
    """Experts of a rank that holds routed ones."""
    return int(world["experts"]) // (int(world["ranks"]) - int(world["shared_ranks"]))


def _of_local(local: int, ranks: int, world: World) -> dict[str, str]:
    """So many experts a rank, in a world of so many ranks."""
    return {"experts": str(local * (ranks - int(world["shared_ranks"]))), "max_experts": str(local * ranks)}


def _less(now: int, least: int) -> list[int]:
    """Values below `now`, the least first, then nearer ones."""
    return sorted({least, (least + now) // 2, now - 1} - {now}) if now > least else []


def _limits() -> dict[str, int]:
    from ascend_deepep import _runtime

    return _runtime.limits()


def _fault(world: World) -> Steps:
    if world["fault"] != "none":
        yield {"fault": "none"}


def _ranks(world: World) -> Steps:
    ranks = int(world["ranks"])
    operations = parse_operations(world["operations"])
    for fewer in _less(ranks, 1):
        changes = {"ranks": str(fewer), **_of_local(_local(world), fewer, world)}
        for name in ("fault_rank", "fault_peer"):
            changes[name] = str(int(world[name]) % fewer)
        if changes["fault_rank"] == changes["fault_peer"]:
            changes["fault_peer"] = str((int(changes["fault_rank"]) + 1) % fewer)
        moved = [o._replace(act=_act_of(o.act, fewer)) if o.act else o for o in operations]
        yield {**changes, "operations": operations_text(moved)}


def _act_of(act: str, ranks: int) -> str:
    name, _, rank = act.partition("@")
    return f"{name}@{int(rank) % ranks}"


def _cores(world: World) -> Steps:
    for cores in _less(int(world["cores"]), _limits()["min_cores"]):
        yield {"cores": str(cores), "fault_core": str(int(world["fault_core"]) % cores)}


def _tokens(world: World) -> Steps:
    for tokens in _less(int(world["tokens"]), 1):
        yield {"max_tokens": str(tokens), "tokens": str(tokens)}
    if world["tokens"] != world["max_tokens"]:
        yield {"max_tokens": world["tokens"]}


def _experts(world: World) -> Steps:
    for local in _less(_local(world), 1):
        experts = _of_local(local, int(world["ranks"]), world)
        topk = str(min(int(world["topk"]), int(experts["experts"])))
        yield {**experts, "topk": topk, "max_topk": topk}
    if world["experts"] != world["max_experts"]:
        yield {"max_experts": world["experts"]}


def _topk(world: World) -> Steps:
    for topk in _less(int(world["topk"]), 1):
        yield {"topk": str(topk), "max_topk": str(topk)}
    if world["topk"] != world["max_topk"]:
        yield {"max_topk": world["topk"]}


def _hidden(world: World) -> Steps:
    limits = _limits()
    unit = limits["hidden_multiple"]
    for units in _less(int(world["hidden"]) // unit, limits["min_hidden"] // unit):
        hidden = str(units * unit)
        yield {"hidden": hidden, "max_hidden": hidden}
    if world["hidden"] != world["max_hidden"]:
        yield {"max_hidden": world["hidden"]}


def _one_by_one(values: dict[str, str]) -> Callable[[World], Steps]:
    def steps(world: World) -> Steps:
        for name, value in values.items():
            if world[name] != value:
                yield {name: value}

    return steps


KINDS: dict[str, Callable[[World], Steps]] = {
    "fault": _fault,
    "operations": _operations,
    "features": _features,
    "ranks": _ranks,
    "cores": _cores,
    "tokens": _tokens,
    "experts": _experts,
    "top-k": _topk,
    "hidden": _hidden,
    "what is special": _one_by_one(_PLAIN),
    "schedule": _one_by_one(_CALM),
}
