# SPDX-License-Identifier: Apache-2.0
"""Small calls in which every two values of two features that can go together meet at least once. Layer: build."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

from tools.gen_conformance.build import Group

_SEED = 950
_CANDIDATES = 40

_PASS = {"pass": "none", "pass-float32": "rows-float32", "pass-e8m0": "rows-e8m0"}
_STATIC = {"static-scalar": "scalar", "static-channel": "channel", "static-expert": "expert"}
_SCALED = {
    "token-int8": (2, None),
    "token-e4m3": (2, 24),
    "token-e5m2": (2, 291),
    "group-e4m3": (3, 292),
    "group-e5m2": (3, 23),
    "mx-e4m3": (4, 24),
    "mx-e5m2": (4, 23),
}
PARAMETERS: dict[str, tuple[Any, ...]] = {
    "ranks": (1, 2, 3, 4),
    "shared": ((1, 0), (1, 1), (1, 2), (2, 2)),
    "topk": (1, 2, 5),
    "local": (1, 2, 3),
    "batch": ("equal", "global", "larger", "unequal"),
    "mask": ("none", "first", "holes", "pairs", "rank-off"),
    "shared_x": ("none", "2d", "3d"),
    "quant": (*_PASS, *_STATIC, *_SCALED),
    "smooth": (False, True),
    "half": ("bfloat16", "float16"),
    "hidden": (64, 288, 1056),
    "alg": ("", "fullmesh_v1", "fullmesh_v2", "fullmesh_dedup"),
    "nums_type": (0, 1),
    "expert_scales": (False, True),
    "weights": (True, False),
    "comm_quant": (0, 2),
    "performance": ("none", "zeroed", "kept"),
    "routing": ("uniform", "sparse", "turn", "expert:0", "host:0", "none"),
    "payload": ("normal", "index", "zero-groups", "edge"),
}
Values = dict[str, Any]
Pair = tuple[tuple[str, Any], tuple[str, Any]]


def _shape_is_legal(v: Values) -> bool:
    hosts = v["ranks"] - v["shared"][1]
    if hosts < 1 or v["topk"] > hosts * v["local"]:
        return False
    if v["mask"] != "none" and v["batch"] in ("larger", "unequal"):
        return False
    if v["ranks"] == 1 and (v["mask"] == "rank-off" or v["batch"] == "unequal"):
        return False
    return bool(v["shared_x"] == "none" or v["shared"][1] == 0)


def _quant_is_legal(v: Values) -> bool:
    return bool(not v["smooth"] or v["quant"].startswith(("token", "group")))


#: Parameters that bind each other, and how; all others go with everything.
_BOUND: tuple[tuple[tuple[str, ...], Callable[[Values], bool]], ...] = (
    (("ranks", "shared", "topk", "local", "batch", "mask", "shared_x"), _shape_is_legal),
    (("quant", "smooth"), _quant_is_legal),
)


def _legal(names: tuple[str, ...], is_legal: Callable[[Values], bool]) -> list[Values]:
    every = (dict(zip(names, values, strict=True)) for values in product(*(PARAMETERS[name] for name in names)))
    return [values for values in every if is_legal(values)]


def _components() -> list[list[Values]]:
    bound = [_legal(names, is_legal) for names, is_legal in _BOUND]
    free = [name for name in PARAMETERS if not any(name in names for names, _ in _BOUND)]
    return bound + [[{name: value} for value in PARAMETERS[name]] for name in free]


def pairs_of(values: Values) -> set[Pair]:
    """The pairs that a combination has."""
    items = [(name, values[name]) for name in PARAMETERS if name in values]
    return set(combinations(items, 2))


@functools.cache
def legal_pairs() -> frozenset[Pair]:
    """All pairs that some legal combination has."""
    components = _components()
    found: set[Pair] = set()
    for component in components:
        for values in component:
            found |= pairs_of(values)
    order = list(PARAMETERS)
    for one, other in combinations(components, 2):
        left = {item for values in one for item in values.items()}
        right = {item for values in other for item in values.items()}
        for a, b in product(left, right):
            found.add((a, b) if order.index(a[0]) < order.index(b[0]) else (b, a))
    return frozenset(found)


def _grow(pair: Pair, components: list[list[Values]], draw: random.Random) -> Values:
    wanted = dict(pair)
    values: Values = {}
    for component in components:
        fitting = [one for one in component if all(one.get(name, value) == value for name, value in wanted.items())]
        values |= draw.choice(fitting)
    return values


def combinations_of_features() -> Iterator[Values]:
    """The covering array; the same every time."""
    draw = random.Random(_SEED)
    components = _components()
    order = sorted(legal_pairs(), key=str)
    missing = set(order)
    for pair in order:
        if pair in missing:
            candidates = [_grow(pair, components, draw) for _ in range(_CANDIDATES)]
            best = max(candidates, key=lambda values: len(pairs_of(values) & missing))
            missing -= pairs_of(best)
            yield best


def to_call(values: Values) -> dict[str, Any]:
    """The call of a combination."""
    ranks, shared = values["ranks"], values["shared"]
    tokens: Any = [5, 0, 2, 7][:ranks] if values["batch"] == "unequal" else 6
    batch = {"equal": 0, "global": 6, "larger": 8, "unequal": 8}[values["batch"]]
    quant = values["quant"]
    call = {name: values[name] for name in ("mask", "shared_x", "hidden", "topk", "nums_type", "expert_scales")}
    call |= {name: values[name] for name in ("weights", "comm_quant", "performance", "routing", "payload")}
    call |= {"ranks": ranks, "tokens": tokens, "shared": list(shared), "comm_alg": values["alg"]}
    call |= {"experts": values["local"] * (ranks - shared[1]), "global_bs": batch * ranks, "dtype": values["half"]}
    if quant in _PASS:
        call["scales"] = _PASS[quant]
        if quant != "pass":
            call["dtype"] = "float8_e4m3fn" if values["half"] == "bfloat16" else "float8_e5m2"
            call["scale_columns"] = 5
    elif quant in _STATIC:
        call |= {"quant": 1, "scales": _STATIC[quant]}
    else:
        mode, number = _SCALED[quant]
        call |= {"quant": mode, "y_dtype": number, "scales": "expert" if values["smooth"] else "none"}
    return call


def pairwise() -> Group:
    """The covering array as cases."""
    group = Group("pair", {"ranks": 2, "tokens": 6, "hidden": 64, "topk": 1, "experts": 2})
    for number, values in enumerate(combinations_of_features()):
        group.exact(f"{number:03d}", "pairwise combination of features", **to_call(values))
    return group
