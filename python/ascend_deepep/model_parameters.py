# SPDX-License-Identifier: Apache-2.0
"""The cost model's parameters by name, as text from a command line. Layer: Python, no torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ascend_deepep.demo.usage import UsageError
from ascend_deepep.model import DTYPES, FORMULAS, REDUCES, ROUTINGS, WIRES, Cluster, Cost, Layer, Link, cost

Value = int | float | str | bool | None
MAX_COMBINATIONS = 10_000


@dataclass(frozen=True)
class Parameter:
    """One of them."""

    read: Callable[[str], Value]
    what: str


def _optional(read: Callable[[str], Value]) -> Callable[[str], Value]:
    return lambda text: None if text == "none" else read(text)


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError
    return text == "yes"


PARAMETERS: dict[str, Parameter] = {
    "ranks": Parameter(int, "ranks"),
    "tokens": Parameter(int, "tokens of a rank"),
    "hidden": Parameter(int, "elements of a token"),
    "topk": Parameter(int, "experts of a token"),
    "experts": Parameter(int, "experts of all ranks"),
    "routing": Parameter(str, " or ".join(ROUTINGS)),
    "groups": Parameter(_optional(int), "most nodes of a token's experts, or none"),
    "formula": Parameter(str, " or ".join(FORMULAS)),
    "dispatch": Parameter(str, "element type: " + " or ".join(DTYPES)),
    "combine": Parameter(str, "element type of the rows that return"),
    "combine_reduce": Parameter(str, " or ".join(REDUCES)),
    "wire": Parameter(str, " or ".join(WIRES)),
    "own_rows_travel": Parameter(_yes_or_no, "yes or no: rows for the own rank cross local links"),
    "skew": Parameter(float, "largest load of a rank / the mean"),
    "ranks_per_node": Parameter(int, "ranks of a node"),
    "intra_gb_s": Parameter(float, "GB/s of a rank's local links together"),
    "intra_alpha_us": Parameter(float, "us to start on them"),
    "nic_gb_s": Parameter(float, "GB/s of a rank's NIC"),
    "nic_alpha_us": Parameter(float, "us to start on it"),
    "peer_gb_s": Parameter(_optional(float), "GB/s of the link to one peer of the node, or none"),
    "issue_us": Parameter(float, "us that posting a message takes one issuer"),
    "issuers": Parameter(int, "issuers of a rank"),
    "sync_us": Parameter(float, "us of a synchronisation with the host"),
}
_LAYER = tuple(one.name for one in fields(Layer))


def defaults() -> dict[str, Value]:
    """Values where nothing is said: a decode layer on the cluster of the reference table."""
    layer, cluster = Layer(8, 128), Cluster()
    values: dict[str, Value] = {name: getattr(layer, name) for name in _LAYER}
    values |= {
        name: getattr(cluster, name) for name in ("ranks_per_node", "peer_gb_s", "issue_us", "issuers", "sync_us")
    }
    for name, link in (("intra", cluster.intra), ("nic", cluster.nic)):
        values |= {f"{name}_gb_s": link.gb_s, f"{name}_alpha_us": link.alpha_us}
    return values


def make(values: Mapping[str, Value]) -> Cost:
    """The model of all parameters."""
    of: dict[str, Any] = dict(values)
    layer = Layer(**{name: of[name] for name in _LAYER})
    cluster = Cluster(
        ranks_per_node=of["ranks_per_node"],
        intra=Link(of["intra_alpha_us"], of["intra_gb_s"]),
        nic=Link(of["nic_alpha_us"], of["nic_gb_s"]),
        peer_gb_s=of["peer_gb_s"],
        issue_us=of["issue_us"],
        issuers=of["issuers"],
        sync_us=of["sync_us"],
    )
    return cost(layer, cluster)


def read(option: str, text: str) -> tuple[str, list[Value]]:
    """NAME=a,b,c: the name and its values."""
    name, equals, listed = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or name not in PARAMETERS:
        raise UsageError(f"{option} {text!r}: NAME=VALUE, with a NAME of {', '.join(PARAMETERS)}")
    values = []
    for word in listed.split(","):
        try:
            values.append(PARAMETERS[name].read(word.strip()))
        except ValueError:
            raise UsageError(f"{option} {text!r}: {word!r} is no value of {name} ({PARAMETERS[name].what})") from None
    return name, values


def sweep(values: Mapping[str, Value], axes: Mapping[str, Sequence[Value]]) -> list[Cost]:
    """A model for every combination; the last axis changes fastest."""
    number = 1
    for axis in axes.values():
        number *= len(axis)
    if number > MAX_COMBINATIONS:
        raise UsageError(f"--what-if asks for {number} combinations, more than {MAX_COMBINATIONS}; name fewer values")
    return [
        make({**values, **dict(zip(axes, combination, strict=True))})
        for combination in itertools.product(*axes.values())
    ]
