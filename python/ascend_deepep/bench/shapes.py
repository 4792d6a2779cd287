# SPDX-License-Identifier: Apache-2.0
"""What is timed: shapes, and the lists of them that have names. Layer: Python, no torch."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from ascend_deepep.demo.features import Features

#: --dtype by name: how tokens travel to the experts, and rows back. int8 is per token there, per 8 elements back.
DTYPES: dict[str, Features] = {
    "bf16": Features(),
    "int8": Features(quant="pertoken-int8"),
    "int8-both": Features(quant="pertoken-int8", comm_quant="int8"),
}
ROUTINGS = ("uniform", "gate", "skewed")
_FEW_TOKENS = 128


@dataclass(frozen=True)
class Shape:
    """A row of the results."""

    ranks: int
    #: Of each rank.
    tokens: int
    hidden: int = 7168
    topk: int = 8
    #: Of all ranks.
    experts: int = 256
    dtype: str = "bf16"
    routing: str = "gate"
    seed: int = 0

    @property
    def local_experts(self) -> int:
        """Experts of a rank."""
        return self.experts // self.ranks

    @property
    def is_quantised(self) -> bool:
        """Whether the experts receive int8."""
        return DTYPES[self.dtype].quant_mode != 0

    @property
    def maxima(self) -> dict[str, Any]:
        """The communicator's, which are those of the calls."""
        sizes = {"max_tokens": self.tokens, "hidden": self.hidden}
        return {**sizes, "num_topk": self.topk, "num_experts": self.experts}

    @property
    def num_batches(self) -> int:
        """Inputs that take turns, so that no iteration finds its own in a cache: fewer where they are large."""
        return 4 if self.tokens <= _FEW_TOKENS else 2

    @property
    def row_bytes(self) -> int:
        """Of a token, and of an expert's output: bfloat16."""
        return 2 * self.hidden

    @property
    def received_row_bytes(self) -> int:
        """Of a row of expand_x, without its scale."""
        return self.hidden if self.is_quantised else self.row_bytes

    @property
    def num_rows(self) -> int:
        """Rows of expand_x of all ranks together: every choice counts, as every token makes all of its."""
        return self.ranks * self.tokens * self.topk

    @property
    def least_bytes(self) -> int:
        """x read once, rows of expand_x written once and read once as the experts' outputs, the output written once."""
        ends = 2 * self.ranks * self.tokens * self.row_bytes
        return ends + self.num_rows * (self.received_row_bytes + self.row_bytes)

    def describe(self) -> str:
        """For a line about it."""
        sizes = f"{self.ranks} ranks, {self.tokens} tokens, hidden {self.hidden}, top-{self.topk} of {self.experts}"
        return f"{sizes}, {self.dtype}, {self.routing}"


@dataclass(frozen=True)
class Grid:
    """Values of which every combination is a shape."""

    ranks: tuple[int, ...] = (4,)
    tokens: tuple[int, ...] = (128, 2048)
    dtype: tuple[str, ...] = ("bf16",)
    routing: tuple[str, ...] = ("gate",)

    def shapes(self, hidden: int, topk: int, experts: int, seed: int) -> list[Shape]:
        """All combinations, by ranks, then as the fields stand here."""
        axes = itertools.product(self.ranks, self.dtype, self.routing, self.tokens)
        return [
            Shape(ranks, tokens, hidden, topk, experts, dtype, routing, seed) for ranks, dtype, routing, tokens in axes
        ]


#: What is timed unless options say otherwise.
DEFAULT = Grid()
#: Decode and prefill.
SWEEP = Grid((2, 4, 8), (1, 8, 32, 128, 1024, 4096), ("bf16", "int8"), ROUTINGS)
