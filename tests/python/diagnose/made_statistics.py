# SPDX-License-Identifier: Apache-2.0
"""Statistics made by hand: even ones, and what is to be changed in them. Layer: tests."""

from __future__ import annotations

from ascend_deepep.stats import COMBINE, DISPATCH, Link, OperatorStatistics, Statistics

CALL_US, AWAY_US = 400.0, 100.0
ROW_BYTES = 512


def even(ranks: int = 8, steps: int = 5, *, link: bool = True, rows: int = 16) -> Statistics:
    """All ranks alike. By the model a call takes 380 us: 100 and, for the fullest link, 280."""
    entry, operators = 0.0, {}
    entries: dict[str, list[list[float]]] = {DISPATCH: [], COMBINE: []}
    for _ in range(steps):
        for operator in (DISPATCH, COMBINE):
            entries[operator].append([entry] * ranks)
            entry += CALL_US + AWAY_US
    for operator in (DISPATCH, COMBINE):
        operators[operator] = OperatorStatistics(
            waits_us=[[[20 + (rank + source) % 3 for source in range(ranks)] for rank in range(ranks)]] * steps,
            entry_us=entries[operator],
            call_us=[[CALL_US] * ranks for _ in range(steps)],
            bytes_put=[ROW_BYTES * rows * (ranks - 1) * steps] * ranks,
        )
        operators[operator].waits_us[:] = [[list(row) for row in step] for step in operators[operator].waits_us]
    table = [[[rows * steps // 2] * ranks for _ in range(2)] for _ in range(ranks)]
    tokens = [[rows] * ranks for _ in range(steps)]
    per_us = ROW_BYTES * rows / 280.0
    return Statistics("made", ranks, 2 * ranks, operators, table, tokens, link=Link(100.0, per_us) if link else None)


def add_wait(statistics: Statistics, operator: str, rank: int, source: int, us: int) -> None:
    """In all steps."""
    for step in statistics.operators[operator].waits_us:
        step[rank][source] += us


def enter_late(statistics: Statistics, operator: str, rank: int, us: float, *, since: int = 0) -> None:
    """The rank is away longer before each call from step `since` on; all others wait for it, and end later for it."""
    of = statistics.operators[operator]
    for step in range(since, statistics.num_steps):
        _shift_from(statistics, operator, step, us)
        for other in range(statistics.num_ranks):
            if other == rank:
                continue
            of.entry_us[step][other] -= us
            of.call_us[step][other] += us
            of.waits_us[step][other][rank] += round(us)


def take_longer(statistics: Statistics, operator: str, ranks: list[int], us: float) -> None:
    """These ranks end later, and enter the next call later."""
    for step in range(statistics.num_steps):
        for rank in ranks:
            statistics.operators[operator].call_us[step][rank] += us


def _shift_from(statistics: Statistics, operator: str, step: int, us: float) -> None:
    """This call and all after it begin later, on all ranks."""
    is_after = False
    for number in range(statistics.num_steps):
        for name in (DISPATCH, COMBINE):
            is_after = is_after or (number == step and name == operator)
            if is_after:
                entries = statistics.operators[name].entry_us[number]
                entries[:] = [entry + us for entry in entries]


def load(statistics: Statistics, rank: int, times: float) -> None:
    """The rank's experts get so many times the rows."""
    statistics.rows[rank][:] = [[round(count * times) for count in sources] for sources in statistics.rows[rank]]
