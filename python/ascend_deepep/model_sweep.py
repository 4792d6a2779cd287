# SPDX-License-Identifier: Apache-2.0
"""Every parameter of the cost model by its name on the command line, and sweeps over some of them. Layer: Python."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from ascend_deepep.model import CHOICES, Direction, Fabric, LayerTime, Link, MoeLayer, layer_time, num_nodes

Value = int | float | str
#: More rows than anybody reads.
MAX_ROWS = 4096
_FABRIC = Fabric()
_LINKS: dict[str, Value] = {
    "ranks-per-node": _FABRIC.ranks_per_node,
    "peer-alpha-us": _FABRIC.peer.alpha_us,
    "peer-gb-s": _FABRIC.peer.gb_s,
    "nic-alpha-us": _FABRIC.nic.alpha_us,
    "nic-gb-s": _FABRIC.nic.gb_s,
    "sync-us": _FABRIC.sync_us,
    "issue-us": _FABRIC.issue_us,
    "issuers": _FABRIC.issuers,
    "issue-overlaps": int(_FABRIC.issue_overlaps),
}
#: Name -> default. The default's type is the parameter's.
PARAMETERS: dict[str, Value] = {name.replace("_", "-"): value for name, value in asdict(MoeLayer()).items()} | _LINKS
#: What --phase sets: as the literature runs the two.
PHASES: dict[str, dict[str, Value]] = {
    "decode": {"tokens": 128, "routing": "flat"},
    "prefill": {"tokens": 4096, "routing": "node"},
}


@dataclass(frozen=True)
class Row:
    """One combination of the values that vary, and what the model says of it."""

    varied: Mapping[str, Value]
    layer: MoeLayer
    fabric: Fabric
    time: LayerTime

    def to_json(self) -> dict[str, object]:
        """The row of `--json`: microseconds, bytes, and per token copies."""
        return {
            **self.varied,
            "layer": asdict(self.layer),
            "fabric": asdict(self.fabric),
            "nodes": num_nodes(self.layer, self.fabric),
            "dispatch": _direction(self.time.dispatch),
            "combine": _direction(self.time.combine),
            "layer_us": self.time.total_us,
            "collective_us": self.time.collective_us,
        }


def _direction(direction: Direction) -> dict[str, object]:
    return {**asdict(direction.traffic), **{k: v for k, v in asdict(direction).items() if k != "traffic"}}


def parse(name: str, text: str) -> Value:
    """A parameter's value from its text. ValueError: no such parameter, or not of its type."""
    if name not in PARAMETERS:
        raise ValueError(f"{name!r} is not one of {', '.join(PARAMETERS)}")
    default = PARAMETERS[name]
    if isinstance(default, str):
        choices = CHOICES[name.replace("-", "_")]
        if text not in choices:
            raise ValueError(f"{name} {text!r} is not one of {', '.join(choices)}")
        return text
    kind = type(default)
    try:
        value = kind(text)
    except ValueError:
        value = None
    if name == "issue-overlaps" and value not in (0, 1):
        raise ValueError(f"{name} {text!r} is neither 0 nor 1")
    # Far beyond everything that the formulas have a meaning for; nan is refused too.
    if value is None or not 0 <= value <= 1e9:
        raise ValueError(f"{name} {text!r} is not a {'whole ' if kind is int else ''}number from 0 to 1e9")
    return value


def parse_what_if(words: Sequence[str]) -> dict[str, list[Value]]:
    """NAME=a,b,c, each name once: the values that vary. ValueError names the word."""
    varied: dict[str, list[Value]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not equals:
            raise ValueError(f"{word!r} is not NAME=VALUE,VALUE..")
        if name in varied:
            raise ValueError(f"{word!r} names {name} a second time: put all its values into one list")
        varied[name] = list(dict.fromkeys(parse(name, text.strip()) for text in values.split(",")))
    rows = prod(len(values) for values in varied.values())
    if rows > MAX_ROWS:
        raise ValueError(f"the values make {rows} rows, and {MAX_ROWS} are the most")
    return varied


def sweep(given: Mapping[str, Value], varied: Mapping[str, Sequence[Value]]) -> list[Row]:
    """A row for each combination of what varies, beside the values given. ValueError: what makes no layer."""
    rows = []
    for combination in itertools.product(*varied.values()):
        chosen = dict(zip(varied, combination, strict=True))
        layer, fabric = build({**given, **chosen})
        try:
            rows.append(Row(chosen, layer, fabric, layer_time(layer, fabric)))
        except ValueError as error:
            where = ", ".join(f"{name}={value}" for name, value in chosen.items())
            raise ValueError(f"{error}{f' (at {where})' if where else ''}") from None
    return rows


def build(values: Mapping[str, Value]) -> tuple[MoeLayer, Fabric]:
    """Layer and links of some of PARAMETERS; the rest are as they stand there."""
    every = PARAMETERS | dict(values)
    sizes: dict[str, Any] = {name.replace("-", "_"): every[name] for name in PARAMETERS if name not in _LINKS}
    numbers = {name: float(every[name]) for name in _LINKS}
    return MoeLayer(**sizes), Fabric(
        ranks_per_node=int(numbers["ranks-per-node"]),
        peer=Link(numbers["peer-alpha-us"], numbers["peer-gb-s"]),
        nic=Link(numbers["nic-alpha-us"], numbers["nic-gb-s"]),
        sync_us=numbers["sync-us"],
        issue_us=numbers["issue-us"],
        issuers=int(numbers["issuers"]),
        issue_overlaps=bool(numbers["issue-overlaps"]),
    )
