# SPDX-License-Identifier: Apache-2.0
"""Figures that the literature prints, beside those of the model. Layer: Python, no torch.

`data/model_reference.json` has them as they are printed; a figure holds when ours, rounded to as many digits, is the
same text. The bytes of the low-latency path (7.6 MB in 128 tokens) have a header of 16 B in each message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_deepep.model import Cost, Layer, copy_bytes, cost, places

_DATA = Path(__file__).with_name("data") / "model_reference.json"
_MESSAGE_HEADER = 16


@dataclass(frozen=True)
class Figure:
    """One printed number."""

    name: str
    printed: str
    computed: float

    @property
    def ours(self) -> str:
        """To as many digits as are printed."""
        return f"{self.computed:.{len(self.printed.partition('.')[2])}f}"

    @property
    def holds(self) -> bool:
        """Whether both are the same."""
        return self.ours == self.printed

    def to_json(self) -> dict[str, object]:
        """The object of --json."""
        return {"name": self.name, "printed": self.printed, "ours": self.ours, "holds": self.holds}


def figures() -> list[Figure]:
    """All of them."""
    data = json.loads(_DATA.read_text())
    return [*_table(data), *_copies(data), *_bytes(data), *_published(data)]


def _table(data: dict[str, Any]) -> Iterator[Figure]:
    for row in data["rows"]:
        of = cost(Layer(row["ranks"], row["tokens"], routing=row["routing"], groups=row["groups"]))
        computed = {
            "copies": of.dispatch.copies_off_node,
            "nic_mb": of.dispatch.nic_bytes / 1e6,
            "nic_us": of.dispatch.nic_us,
            "local_us": of.dispatch.local_us,
            "dispatch_us": of.dispatch.us,
            "combine_us": of.combine.us,
            "layer_us": of.us,
            "collective_us": of.collective_us,
        }
        for column, value in computed.items():
            yield Figure(f"{row['name']}, {row['ranks']} ranks: {column}", row[column], value)


def _copies(data: dict[str, Any]) -> Iterator[Figure]:
    for row in data["copies"]:
        nodes, topk = row["nodes"], row["topk"]
        computed = {
            "flat": topk * (1 - 1 / nodes),
            "dedup": places(nodes, topk, 256, "with-replacement") * (1 - 1 / nodes),
            "groups of 4": places(nodes, topk, 256, "with-replacement", 4) * (1 - 1 / nodes),
        }
        for column, value in computed.items():
            yield Figure(f"{row['name']}: {column}", row[column], value)


def _bytes(data: dict[str, Any]) -> Iterator[Figure]:
    layer = Layer(8, 128)
    bf16, fp8 = copy_bytes(layer, "bf16"), copy_bytes(layer, "fp8")
    messages = layer.tokens * layer.topk
    computed = {
        "bf16 copy, B": bf16,
        "fp8 copy, B": fp8,
        "dispatch of a token, top-8, fp8, KB": layer.topk * fp8 / 1e3,
        "dispatch of a token, top-8, bf16, KB": layer.topk * bf16 / 1e3,
        "combine of a token, top-8, KB": layer.topk * bf16 / 1e3,
        "fp8 dispatch of 4096 tokens, MB": 4096 * layer.topk * fp8 / 1e6,
        "bf16 combine of 4096 tokens, MB": 4096 * layer.topk * bf16 / 1e6,
        "fp8 dispatch of 128 tokens, MB": messages * (fp8 + _MESSAGE_HEADER) / 1e6,
        "messages of 128 tokens": messages,
        "messages a us in 173 us": messages / 173,
    }
    for name, value in computed.items():
        yield Figure(name, data["bytes"][name], value)


def _published(data: dict[str, Any]) -> Iterator[Figure]:
    for row in data["published"]:
        of: Cost = cost(Layer(row["ranks"], 128))
        for name, part, printed in zip(("dispatch", "combine"), (of.dispatch, of.combine), row["left"], strict=True):
            left = row[f"{name}_us"] - part.bytes_us
            yield Figure(f"DeepEP low latency, {row['ranks']} ranks, {name}: us beside the bytes", printed, left)
