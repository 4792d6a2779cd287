# SPDX-License-Identifier: Apache-2.0
"""Draws rows: time, ratio and limit_ratio against tokens per rank, a column of panels for each number of ranks.

Layer: Python; matplotlib, which the package does not need otherwise.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_deepep.bench.result import Row
from ascend_deepep.demo.usage import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_TIMES: dict[str, tuple[str, str, Callable[[Row], float | None]]] = {
    "ours": ("#d1495b", "-", lambda row: row.ours_ms),
    "gloo all-to-all": ("#30638e", "-", lambda row: (row.gloo_ms or {}).get("plain")),
    "gloo all-to-all, tuned": ("#30638e", "--", lambda row: (row.gloo_ms or {}).get("tuned")),
    "gloo all-gather, reduce-scatter": ("#4f9d69", "-", lambda row: row.allgather_ms),
}
_FIGURES = {"ours": "ours", "gloo all-to-all": "plain", "gloo all-to-all, tuned": "tuned"}
_COLOURS = {"uniform": "#30638e", "gate": "#d1495b", "skewed": "#edae49"}
_ABOVE = 1.08  # height of a panel over that of its highest point
_LINES = {"bf16": "-", "int8": "--", "int8-both": ":"}


def check_plot(stem: Path) -> None:
    """Raise UsageError unless files can be written there; before the hours of a sweep."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib, which is not installed: pip install matplotlib")
    folder = stem.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"--plot {stem}: {folder} is no folder that can be written to")
    for path in (stem.with_name(stem.name + suffix) for suffix in SUFFIXES):
        was_there = path.exists()
        try:
            path.open("ab").close()
        except OSError as error:
            raise UsageError(f"--plot {stem}: {path} cannot be written: {error.strerror}") from None
        if not was_there:
            path.unlink()


def plot(rows: Sequence[Row], stem: Path, caption: str) -> list[Path]:
    """Write STEM.png and STEM.svg; their paths."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    counts = sorted({row.ranks for row in rows})
    size = (2.6 + 3.4 * len(counts), 9.0)
    settings: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "ascend-deepep", "font.size": 9}
    with mpl.rc_context(settings):
        figure, grid = plt.subplots(3, len(counts), figsize=size, sharex="col", sharey="row", squeeze=False)
        for column, ranks in enumerate(counts):
            of_ranks = sorted((row for row in rows if row.ranks == ranks), key=lambda row: row.tokens)
            grid[0][column].set_title(f"{ranks} ranks")
            _draw_times(grid[0][column], of_ranks)
            _draw_lines(grid[1][column], of_ranks, lambda row: row.ratio, 1.0)
            _draw_lines(grid[2][column], of_ranks, lambda row: row.limit_ratio, None)
            grid[2][column].set_xlabel("tokens per rank")
            _set_ticks(grid[2][column], sorted({row.tokens for row in rows}))
        # The panels of a line share the axis.
        grid[1][0].set_ylim(0.0, _ABOVE * max([1.0, *(row.ratio for row in rows if row.ratio is not None)]))
        grid[2][0].set_ylim(0.0, _ABOVE * max(row.limit_ratio for row in rows))
        _label(grid, _shown(rows))
        figure.suptitle(caption, fontsize=10)
        figure.tight_layout()
        paths = [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
        for path in paths:
            figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths


def _shown(rows: Sequence[Row]) -> tuple[str, str]:
    """The dtype and routing whose times are drawn: the usual ones where they are there."""
    dtypes, routings = {row.dtype for row in rows}, {row.routing for row in rows}
    return ("bf16" if "bf16" in dtypes else min(dtypes)), ("gate" if "gate" in routings else min(routings))


def _draw_times(axes: Axes, rows: Sequence[Row]) -> None:
    """Medians, and from the least to the largest of the rounds."""
    dtype, routing = _shown(rows)
    shown = [row for row in rows if (row.dtype, row.routing) == (dtype, routing)]
    for name, (colour, line, figure) in _TIMES.items():
        points = [(row, value) for row in shown if (value := figure(row)) is not None]
        if not points:
            continue
        tokens, values = [row.tokens for row, _ in points], [value for _, value in points]
        axes.plot(tokens, values, line, color=colour, marker="o", markersize=3.5, label=name)
        spreads = [row.spread[_FIGURES.get(name, "allgather")] for row, _ in points]
        low, high = [least for least, _ in spreads], [largest for _, largest in spreads]
        axes.fill_between(tokens, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(True, which="major", alpha=0.3)


def _draw_lines(axes: Axes, rows: Sequence[Row], figure: Callable[[Row], float | None], level: float | None) -> None:
    """A line for each dtype and routing; `level` is a value to compare with."""
    if level is not None:
        axes.axhline(level, color="black", linewidth=0.8)
    for dtype, routing in sorted({(row.dtype, row.routing) for row in rows}):
        points = [(row.tokens, figure(row)) for row in rows if (row.dtype, row.routing) == (dtype, routing)]
        points = [point for point in points if point[1] is not None]
        if points:
            style: dict[str, Any] = {"color": _COLOURS[routing], "linestyle": _LINES[dtype], "marker": "o"}
            axes.plot(*zip(*points, strict=True), label=f"{dtype}, {routing}", markersize=3.5, **style)
    axes.set_xscale("log", base=2)
    axes.grid(True, which="major", alpha=0.3)


def _set_ticks(axes: Axes, tokens: Sequence[int]) -> None:
    axes.set_xticks(tokens, [str(count) for count in tokens], minor=False)
    axes.minorticks_off()
    axes.set_xlim(tokens[0] / 1.4, tokens[-1] * 1.4)


def _label(grid: Any, shown: tuple[str, str]) -> None:
    """Axes on the left, legends on the right of all panels. The lower two panels of a column have one legend."""
    grid[0][0].set_ylabel(f"dispatch and combine, ms\n({shown[0]}, {shown[1]})")
    grid[1][0].set_ylabel("ratio:\nbetter gloo all-to-all / ours")
    grid[2][0].set_ylabel("limit_ratio:\nleast traffic at copy bandwidth / ours")
    for axes in (grid[0][-1], grid[2][-1]):
        axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
