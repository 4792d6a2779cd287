# SPDX-License-Identifier: Apache-2.0
"""The model beside figures that are known: data/model_reference.json, as printed there. Layer: Python.

A figure is equal when ours, rounded to as many decimals as the printed one has, is the same text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ascend_deepep.model import Direction, Fabric, LayerTime, Link, MoeLayer, layer_time

_DATA = Path(__file__).parent / "data" / "model_reference.json"


@dataclass(frozen=True)
class Figure:
    """One figure: where it stands, its name and text there, and our value as the same number of decimals."""

    row: str
    name: str
    printed: str
    ours: str
    value: float

    @property
    def equal(self) -> bool:
        """Whether it holds."""
        return self.printed == self.ours

    def to_json(self) -> dict[str, object]:
        """For `--json`."""
        return {**asdict(self), "equal": self.equal}


@dataclass(frozen=True)
class _Case:
    time: LayerTime
    published_us: Mapping[str, float]

    def left_us(self, name: str) -> float:
        """What the bytes leave over of a published time."""
        direction: Direction = getattr(self.time, name)
        return self.published_us[name] - max(direction.nic_us, direction.peer_us)


_FIGURES: dict[str, Callable[[_Case], float]] = {
    "copies": lambda case: case.time.dispatch.traffic.nic_copies,
    "nic_mb": lambda case: case.time.dispatch.traffic.nic_bytes / 1e6,
    "nic_us": lambda case: case.time.dispatch.nic_us,
    "peer_us": lambda case: case.time.dispatch.peer_us,
    "dispatch_us": lambda case: case.time.dispatch.total_us,
    "combine_us": lambda case: case.time.combine.total_us,
    "layer_us": lambda case: case.time.total_us,
    "collective_us": lambda case: case.time.collective_us,
    "dispatch_left_us": lambda case: case.left_us("dispatch"),
    "combine_left_us": lambda case: case.left_us("combine"),
    "messages": lambda case: case.time.dispatch.traffic.messages,
    "messages_per_us": lambda case: case.time.dispatch.traffic.messages / case.published_us["dispatch"],
    "dispatch_copy_bytes": lambda case: case.time.dispatch.traffic.copy_bytes,
    "combine_copy_bytes": lambda case: case.time.combine.traffic.copy_bytes,
    "dispatch_copy_kb": lambda case: case.time.dispatch.traffic.copy_bytes / 1e3,
    "dispatch_kb": lambda case: case.time.dispatch.traffic.peer_bytes / 1e3,
    "combine_kb": lambda case: case.time.combine.traffic.peer_bytes / 1e3,
    "dispatch_mb": lambda case: case.time.dispatch.traffic.peer_bytes / 1e6,
    "combine_mb": lambda case: case.time.combine.traffic.peer_bytes / 1e6,
}


def reference_figures() -> list[Figure]:
    """All figures of the table, in its order."""
    table = json.loads(_DATA.read_text())
    links = {name: Link(**table["fabric"][name]) for name in ("peer", "nic")}
    fabric = Fabric(**{**table["fabric"], **links})
    return [figure for row in table["rows"] for figure in _of_row(row, table["layer"], fabric)]


def _of_row(row: Mapping[str, Any], common: Mapping[str, Any], fabric: Fabric) -> list[Figure]:
    case = _Case(layer_time(MoeLayer(**{**common, **row["layer"]}), fabric), row.get("published_us", {}))
    figures = []
    for name, printed in row["figures"].items():
        value = _FIGURES[name](case)
        decimals = len(printed.partition(".")[2])
        figures.append(Figure(row["name"], name, printed, f"{value:.{decimals}f}", value))
    return figures
