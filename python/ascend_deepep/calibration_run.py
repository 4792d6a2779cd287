# SPDX-License-Identifier: Apache-2.0
"""Measures shapes on this machine's twin: those that calibrate, and a grid of others. Layer: Python over bench."""

from __future__ import annotations

import itertools
import math
import os
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_deepep.bench import ranks as rank_side
from ascend_deepep.bench.contestants import Ours
from ascend_deepep.bench.measure import slowest
from ascend_deepep.bench.processes import Processes
from ascend_deepep.bench.shapes import Shape
from ascend_deepep.calibration import OPERATORS, Measured, Prediction, Twin, TwinShape, fit, predictions

_WARMUP = 1
_FEWEST, _MOST = 2, 20  # iterations of a turn
_TURN_SECONDS = 0.1
#: Seconds by operator.
_Times = dict[str, list[float]]

#: What the costs are fitted to: ranks, tokens, hidden, top-k.
CALIBRATION = tuple(
    TwinShape(*sizes)
    for sizes in (
        (2, 4, 4096, 4),
        (2, 48, 7168, 8),
        (2, 512, 1024, 8),
        (2, 384, 4096, 4),
        (4, 2, 1024, 4),
        (4, 32, 4096, 8),
        (4, 256, 7168, 2),
        (4, 640, 2048, 4),
        (8, 2, 4096, 8),
        (8, 24, 2048, 2),
        (8, 64, 7168, 8),
        (8, 320, 2048, 6),
        (8, 512, 1024, 4),
    )
)
#: What is predicted: no shape of it is one of the above.
GRID = tuple(
    TwinShape(ranks, tokens, hidden, topk)
    for ranks, tokens, (hidden, topk) in itertools.product(
        (2, 4, 8), (1, 16, 128, 1024), ((1024, 4), (2048, 8), (7168, 2))
    )
)


@dataclass(frozen=True)
class Calibration:
    """The fitted twin, and what it says of the grid."""

    twin: Twin
    measured: list[Measured]
    predictions: list[Prediction]


def calibrate(
    shapes: Sequence[TwinShape] = CALIBRATION,
    grid: Sequence[TwinShape] = GRID,
    passes: int = 3,
    on_shape: Callable[[int], None] | None = None,
) -> Calibration:
    """Measure `shapes` and `grid` in turns, fit to the former alone, predict the latter.

    `passes`: how often all are measured, each time in another drawn order. A shape counts with the least of the passes'
    medians, the one that the machine disturbed least, in the fit as in the grid. Errors: those of the pool and the
    operators, as bench has them.
    """
    times: dict[TwinShape, _Times] = {shape: {name: [] for name in OPERATORS} for shape in (*shapes, *grid)}
    drawn = random.Random(0)
    order = [shape for _ in range(passes) for shape in drawn.sample(list(times), len(times))]
    with Processes() as processes:
        for number, shape in enumerate(order):
            for name, taken in _measure(processes, shape).items():
                times[shape][name].append(statistics.median(taken))
            if on_shape is not None:
                on_shape(number + 1)
    least = {
        shape: Measured(shape, {name: 1e6 * min(medians) for name, medians in parts.items()})
        for shape, parts in times.items()
    }
    twin = fit([least[shape] for shape in shapes], len(os.sched_getaffinity(0)))
    return Calibration(twin, [least[shape] for shape in shapes], predictions(twin, [least[shape] for shape in grid]))


def _measure(processes: Processes, shape: TwinShape) -> _Times:
    """Seconds by operator of each iteration of a turn: those of the slowest rank."""
    sizes = (shape.ranks, shape.tokens, shape.hidden, shape.topk, shape.experts)
    processes.call("plain", rank_side.enter, shape.ranks, Shape(*sizes, routing="uniform"), {"ours": Ours})
    warm = slowest(processes.call("plain", rank_side.turn, shape.ranks, "ours", _WARMUP), "total")
    iterations = min(_MOST, max(_FEWEST, math.ceil(_TURN_SECONDS / warm[-1])))
    turns = processes.call("plain", rank_side.turn, shape.ranks, "ours", iterations)
    processes.call("plain", rank_side.leave, shape.ranks)
    return {name: slowest(turns, name) for name in OPERATORS}
