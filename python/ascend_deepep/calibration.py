# SPDX-License-Identifier: Apache-2.0
"""The twin's parameters from measured shapes, and predictions of others. Layer: Python, numpy; measures nothing itself.

On the twin a rank is a process that computes, copies and waits on cores which all ranks share. So the time of an
operator, on the slowest rank, is

    alpha + share x (rank + peer x ranks + message x messages + byte x bytes)

with share = max(1, ranks / cores). Messages are the rows that the rank stages, sends and places, bytes what these
copies read; both are counted (`work`), the five costs are fitted. alpha is what more cores would not shorten.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ascend_deepep.model import Fabric, MoeLayer, copy_bytes, traffic

OPERATORS = ("dispatch", "combine")
#: The fitted costs, microseconds of one: in the order of `_row`.
COSTS = ("alpha", "rank", "peer", "message", "byte")


@dataclass(frozen=True)
class TwinShape:
    """A shape to measure or predict: `tokens` a rank, uniform choices, bf16."""

    ranks: int
    tokens: int
    hidden: int
    topk: int
    experts: int = 64

    def layer(self) -> MoeLayer:
        """The layer as this project runs it."""
        sizes = (self.ranks, self.tokens, self.hidden, self.topk, self.experts)
        return MoeLayer(*sizes, "rank", "row", "bf16", "bf16", "blocks")


@dataclass(frozen=True)
class Measured:
    """Medians of a shape, microseconds by operator."""

    shape: TwinShape
    us: Mapping[str, float]


@dataclass(frozen=True)
class Twin:
    """The fitted twin: cores that the ranks share, and costs by operator, microseconds."""

    cores: int
    us: Mapping[str, Mapping[str, float]]
    #: Median error of the fit on its own shapes, a part of the measured time.
    fit_error: float

    def predict_us(self, shape: TwinShape) -> dict[str, float]:
        """Microseconds by operator."""
        return {
            name: float(_row(shape, name, self.cores) @ np.array([self.us[name][cost] for cost in COSTS]))
            for name in OPERATORS
        }


@dataclass(frozen=True)
class Prediction:
    """A shape of the grid: what was predicted and what was measured of dispatch and combine together."""

    shape: TwinShape
    predicted_us: Mapping[str, float]
    measured_us: Mapping[str, float]

    @property
    def error(self) -> float:
        """Of the layer, a part of the measured time; above 0 where too much was predicted."""
        measured = sum(self.measured_us.values())
        return (sum(self.predicted_us.values()) - measured) / measured

    def to_json(self) -> dict[str, object]:
        """For `--json`."""
        times = {"predicted_us": _rounded(self.predicted_us), "measured_us": _rounded(self.measured_us)}
        return {**asdict(self.shape), **times, "error": round(self.error, 4)}


def _rounded(times: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 1) for name, value in times.items()}


def work(shape: TwinShape, operator: str) -> tuple[float, float]:
    """Rows that a rank handles in one operator, and bytes that it reads for them; expected.

    Dispatch stages each token, sends its copies, and places a row for each choice; combine sends a row for each choice,
    adds up as many, and writes the sums.
    """
    layer = shape.layer()
    one_node = Fabric(ranks_per_node=shape.ranks)
    sent = traffic(layer, one_node, operator).messages
    rows = shape.tokens * shape.topk
    wire, row = copy_bytes(layer, operator), 2 * shape.hidden
    if operator == "dispatch":
        return shape.tokens + sent + rows, (shape.tokens + sent) * wire + rows * row
    return rows + sent + shape.tokens, rows * row + sent * wire + shape.tokens * row


def _row(shape: TwinShape, operator: str, cores: int) -> NDArray[np.float64]:
    messages, num_bytes = work(shape, operator)
    share = max(1.0, shape.ranks / cores)
    return np.array([1.0, share, share * shape.ranks, share * messages, share * num_bytes])


def fit(measured: Sequence[Measured], cores: int) -> Twin:
    """The costs with the least relative errors, none negative. ValueError: fewer shapes than costs."""
    if len(measured) < len(COSTS):
        raise ValueError(f"{len(measured)} shapes are fewer than the {len(COSTS)} costs to be fitted")
    us = {}
    for operator in OPERATORS:
        times = np.array([one.us[operator] for one in measured])
        rows = np.array([_row(one.shape, operator, cores) for one in measured])
        us[operator] = dict(zip(COSTS, map(float, _nonnegative(rows / times[:, None])), strict=True))
    errors = [abs(one.error) for one in predictions(Twin(cores, us, 0.0), measured)]
    return Twin(cores, us, statistics.median(errors))


def _nonnegative(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Costs, none negative, that bring every row nearest to 1: least squares over each choice of columns, the best."""
    scales = rows.max(axis=0)
    best, least = np.zeros(rows.shape[1]), float("inf")
    for size in range(1, rows.shape[1] + 1):
        for columns in combinations(range(rows.shape[1]), size):
            chosen = rows[:, columns] / scales[list(columns)]
            solution = np.linalg.lstsq(chosen, np.ones(len(rows)), rcond=None)[0]
            wrong = float(((chosen @ solution - 1) ** 2).sum())
            if (solution >= 0).all() and wrong < least:
                best, least = np.zeros(rows.shape[1]), wrong
                best[list(columns)] = solution / scales[list(columns)]
    return best


def predictions(twin: Twin, grid: Sequence[Measured]) -> list[Prediction]:
    """What the twin is predicted to take for each shape, beside what it took."""
    return [Prediction(one.shape, twin.predict_us(one.shape), one.us) for one in grid]


def median_error(found: Sequence[Prediction]) -> float:
    """Median of the absolute errors, a part of the measured times."""
    return statistics.median(abs(one.error) for one in found)
