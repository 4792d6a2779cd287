# SPDX-License-Identifier: Apache-2.0
"""What the rules look at, out of statistics: one number for all steps. Layer: Python, numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ascend_deepep.model import operator_time
from ascend_deepep.stats.statistics import COMBINE, DISPATCH, Matrix, Statistics

_STEADY = 0.25  # of the steps may have less


@dataclass(frozen=True)
class Measures:
    """Of one operator, in microseconds: medians over the steps, or what three quarters of the steps have at least.

    The latter where it is to say that a part is slow, as a slow part is slow in all steps.
    """

    #: [rank][source]: the longest wait.
    waits_us: Matrix
    #: [rank][source]: what of it neither the source's later entry nor, where the link is known, its bytes explain: in
    #: three quarters of the steps.
    beyond_us: Matrix
    #: [rank]: from the last entry of all to the end of the rank's call.
    own_us: list[float]
    #: [rank]: how much longer than the median of the others its own time is, in three quarters of the steps.
    longer_us: list[float]
    #: [rank]: how much longer than the median of the others it was away before the call, in three quarters of the
    #: steps; below 0: shorter.
    late_us: list[float]
    clock_error_us: float
    #: What the call would take by the model; None without figures of a link, or bytes.
    model_us: float | None

    @property
    def num_ranks(self) -> int:
        """Ranks."""
        return len(self.own_us)

    @property
    def typical_us(self) -> float:
        """Own time of the rank in the middle: of the call, without late entries."""
        return median(self.own_us)

    @property
    def slowest_us(self) -> float:
        """Own time of the slowest rank, which sets the time of all."""
        return max(self.own_us)

    @property
    def due_us(self) -> float:
        """What the call takes, or should, whichever is less: all ranks may be waiting for one."""
        return self.typical_us if self.model_us is None else min(self.typical_us, self.model_us)


def measures(statistics: Statistics, operator: str) -> Measures:
    """Of this operator."""
    of = statistics.operators[operator]
    ranks, steps = range(statistics.num_ranks), range(statistics.num_steps)
    entries, waits = of.entry_us, of.waits_us
    bytes_us = transfer_us(statistics, operator)

    def beyond(step: int, rank: int, source: int) -> float:
        explained = max(0.0, entries[step][source] - entries[step][rank]) + bytes_us[source][rank]
        return max(0.0, waits[step][rank][source] - explained)

    return Measures(
        waits_us=of.wait_matrix(),
        beyond_us=[[_steady([beyond(step, rank, source) for step in steps]) for source in ranks] for rank in ranks],
        own_us=[median(of.end_us(step, rank) - max(entries[step]) for step in steps) for rank in ranks],
        longer_us=_longer(statistics, operator),
        late_us=_late(statistics, operator),
        clock_error_us=statistics.clock_error_us,
        model_us=model_us(statistics, operator),
    )


def model_us(statistics: Statistics, operator: str) -> float | None:
    """The cost model's time of the slowest rank, where every pair has a link of its own.

    None without figures of a link, or bytes.
    """
    link = statistics.link
    if link is None:
        return None
    moved = statistics.bytes_moved(operator)
    times = operator_time(moved, alpha_us=link.alpha_us, us_per_byte=1 / link.bytes_per_us, parallel_links=True)
    return float(times.max()) or None


def transfer_us(statistics: Statistics, operator: str) -> Matrix:
    """[from][to]: how long the bytes of a step take on their link; zeros where its figures are not known."""
    per_us = float("inf") if statistics.link is None else statistics.link.bytes_per_us
    return [[moved / per_us for moved in line] for line in statistics.bytes_moved(operator)]


def _late(statistics: Statistics, operator: str) -> list[float]:
    """By rank. Before the first dispatch of all there is no call whose end could be known."""
    ranks = range(statistics.num_ranks)
    before = statistics.operators[COMBINE if operator == DISPATCH else DISPATCH]
    of = statistics.operators[operator]
    away = []
    for step in range(statistics.num_steps):
        if operator == COMBINE:
            ends = [before.end_us(step, rank) for rank in ranks]
        elif step > 0:
            ends = [before.end_us(step - 1, rank) for rank in ranks]
        elif statistics.num_steps == 1:
            ends = [0.0 for _ in ranks]
        else:
            continue
        away.append([of.entry_us[step][rank] - ends[rank] for rank in ranks])
    return _beside_others(away)


def _longer(statistics: Statistics, operator: str) -> list[float]:
    """By rank: its call's end beside that of the others."""
    of, ranks = statistics.operators[operator], range(statistics.num_ranks)
    return _beside_others([[of.end_us(step, rank) for rank in ranks] for step in range(statistics.num_steps)])


def _beside_others(steps: list[list[float]]) -> list[float]:
    """By rank: what it has more than the median of the others, in three quarters of the steps."""
    more = [[mine - middle(others(step, rank), mine) for rank, mine in enumerate(step)] for step in steps]
    return [_steady([of_step[rank] for of_step in more]) for rank in range(len(steps[0]))]


def _steady(values: list[float]) -> float:
    return sorted(values)[int(_STEADY * (len(values) - 1))]


def middle(values: Sequence[float], otherwise: float = 0.0) -> float:
    """The median; `otherwise` where there are no values."""
    return median(values) if values else otherwise


def others(values: Sequence[float], rank: int) -> list[float]:
    """Without that of the rank."""
    return [value for number, value in enumerate(values) if number != rank]


def column(matrix: Matrix, source: int) -> list[float]:
    """What the other ranks have for this source."""
    return [line[source] for rank, line in enumerate(matrix) if rank != source] or [0.0]


def row(matrix: Matrix, rank: int) -> list[float]:
    """What this rank has for the other sources."""
    return others(matrix[rank], rank) or [0.0]
