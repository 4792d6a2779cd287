# SPDX-License-Identifier: Apache-2.0
"""Rows of results: of a measured shape, as JSON, as a table. Layer: Python."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from ascend_deepep.bench.measure import Measured, Round

_DIGITS = 4  # that say something


@dataclass(frozen=True)
class Row:
    """A line of the results; docs/benchmarks.md says what each figure means. None: was not measured."""

    ranks: int
    tokens: int
    hidden: int
    topk: int
    experts: int
    dtype: str
    routing: str
    layout: str
    ours_ms: float
    dispatch_ms: float
    combine_ms: float
    gloo_ms: dict[str, float] | None
    allgather_ms: float | None
    copy_gb_s: float
    ratio: float | None
    #: Each contestant's time over ours.
    ratios: dict[str, float]
    limit_ratio: float
    copies: int
    bytes_put: dict[str, int]
    wqes: int
    doorbells: int
    window_bytes: int
    #: Least and largest of the rounds, by figure.
    spread: dict[str, list[float]]
    #: Of a turn, by contestant.
    iterations: dict[str, int]


def make_row(measured: Measured) -> Row:
    """A row of a shape that has rounds."""
    shape, rounds, counted = measured.shape, measured.rounds, measured.counted
    others = [name for name in rounds[0].ms if name != "ours"]
    gloo = [name for name in ("plain", "tuned") if name in others]

    def median(figure: Callable[[Round], float]) -> float:
        return _rounded(statistics.median(map(figure, rounds)))

    def spread(figure: Callable[[Round], float]) -> list[float]:
        values = sorted(map(figure, rounds))
        return [_rounded(values[0]), _rounded(values[-1])]

    figures: dict[str, Callable[[Round], float]] = {
        "ours": lambda one: one.ms["ours"],
        "dispatch": lambda one: one.dispatch_ms,
        "combine": lambda one: one.combine_ms,
        **{name: _time_of(name) for name in others},
        "copy_gb_s": lambda one: one.copy_rate / 1e9,
        "limit_ratio": lambda one: shape.least_bytes / one.copy_rate / (one.ms["ours"] / 1000),
    }
    if gloo:
        figures["ratio"] = lambda one: min(one.ms[name] for name in gloo) / one.ms["ours"]
    return Row(
        ranks=shape.ranks,
        tokens=shape.tokens,
        hidden=shape.hidden,
        topk=shape.topk,
        experts=shape.experts,
        dtype=shape.dtype,
        routing=shape.routing,
        layout=measured.layout,
        ours_ms=median(figures["ours"]),
        dispatch_ms=median(figures["dispatch"]),
        combine_ms=median(figures["combine"]),
        gloo_ms={name: median(figures[name]) for name in gloo} or None,
        allgather_ms=median(figures["allgather"]) if "allgather" in others else None,
        copy_gb_s=median(figures["copy_gb_s"]),
        ratio=median(figures["ratio"]) if gloo else None,
        ratios={name: median(_ratio_of(name)) for name in others},
        limit_ratio=median(figures["limit_ratio"]),
        copies=counted["copies"],
        bytes_put={part: counted[f"bytes_put_{part}"] for part in ("dispatch", "combine", "control")},
        wqes=counted["wqes_dispatch"] + counted["wqes_combine"],
        doorbells=round(measured.doorbells),
        window_bytes=measured.window_bytes,
        spread={name: spread(figure) for name, figure in figures.items()},
        iterations=measured.iterations,
    )


def _time_of(name: str) -> Callable[[Round], float]:
    return lambda one: one.ms[name]


def _ratio_of(name: str) -> Callable[[Round], float]:
    return lambda one: one.ms[name] / one.ms["ours"]


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def to_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as JSON has them."""
    return [asdict(row) for row in rows]


_COLUMNS = (
    "ranks",
    "tokens",
    "dtype",
    "routing",
    "layout",
    "ours",
    "disp.",
    "comb.",
    "gloo",
    "tuned",
    "gather",
    "ratio",
    "limit",
    "copies",
    "MB put",
    "WQEs",
    "bells",
    "win. MB",
)
_TEXTS = 5  # columns of words, or of the shape


def print_rows(rows: Sequence[Row], console: Console) -> None:
    """The table, and a line of spreads for each row."""
    first = rows[0]
    table = Table(
        title=f"dispatch and combine in ms, hidden {first.hidden}, top-{first.topk} of {first.experts} experts",
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title_justify="left",
    )
    for column, name in enumerate(_COLUMNS):
        table.add_column(name, justify="right" if column >= _TEXTS or column < 2 else "left", no_wrap=True)
    for row in rows:
        gloo = row.gloo_ms or {}
        table.add_row(
            *map(str, (row.ranks, row.tokens, row.dtype, row.routing, row.layout)),
            *map(_shown, (row.ours_ms, row.dispatch_ms, row.combine_ms, gloo.get("plain"), gloo.get("tuned"))),
            *map(_shown, (row.allgather_ms, row.ratio, row.limit_ratio)),
            str(row.copies),
            _shown(sum(row.bytes_put.values()) / 1e6),
            *map(str, (row.wqes, row.doorbells)),
            _shown(row.window_bytes / 1e6),
        )
    console.print(table)
    for row in rows:
        shape = f"{row.ranks} ranks, {row.tokens} tokens, {row.dtype}, {row.routing}"
        parts = [f"{name} {_shown(low)} to {_shown(high)}" for name, (low, high) in row.spread.items()]
        console.print(f"{shape}: {', '.join(parts)}", style="dim", soft_wrap=True, highlight=False)


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
