# SPDX-License-Identifier: Apache-2.0
"""Draws statistics: the wait matrix of each operator as a heat map, and rows by expert and by rank as bars.

Layer: Python; matplotlib, which the package does not need otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_deepep.stats.statistics import OPERATORS, Matrix, Statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_MOST_NUMBERS = 16  # ranks up to which cells carry their number
_COLOURS = ("#30638e", "#edae49")  # of experts of even and odd ranks
_ABOVE = 1.18  # height of a panel of bars over the largest


def plot(statistics: Statistics, stem: Path) -> list[Path]:
    """Write STEM.png and STEM.svg; their paths. ImportError without matplotlib, OSError where they cannot be written.

    Waits are medians over the steps of the longest single wait of a call, rows are means of a step.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    settings: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "ascend-deepep", "font.size": 9}
    with mpl.rc_context(settings):
        figure, panels = plt.subplots(2, 2, figsize=(10, 8), layout="constrained", height_ratios=(3, 2))
        matrices = [statistics.operators[operator].wait_matrix() for operator in OPERATORS]
        largest = max(1.0, *(max(map(max, matrix)) for matrix in matrices))
        for axes, operator, matrix in zip(panels[0], OPERATORS, matrices, strict=True):
            image = _draw_waits(axes, operator, matrix, largest)
        figure.colorbar(image, ax=list(panels[0]), label="longest wait of a call, us (median of steps)")
        _draw_experts(panels[1][0], statistics)
        _draw_ranks(panels[1][1], statistics)
        figure.suptitle(f"{statistics.title or statistics.source}\n{statistics.num_steps} steps", fontsize=10)
        paths = [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
        for path in paths:
            figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths


def _draw_waits(axes: Axes, operator: str, matrix: Matrix, largest: float) -> Any:
    """Both maps have one scale. Numbers stand in the cells where they can be read."""
    image = axes.imshow(matrix, cmap="viridis", vmin=0.0, vmax=largest)
    axes.set_title(operator)
    axes.set_xlabel("source: rank waited for")
    axes.set_ylabel("rank that waits")
    ranks = range(len(matrix))
    if len(matrix) > _MOST_NUMBERS:
        return image
    axes.set_xticks(ranks)
    axes.set_yticks(ranks)
    for rank in ranks:
        for source in ranks:
            us = matrix[rank][source]
            colour = "black" if us > 0.6 * largest else "white"
            size = 8 if largest < 10_000 else 6
            axes.text(source, rank, f"{us:.0f}", ha="center", va="center", color=colour, fontsize=size)
    return image


def _draw_experts(axes: Axes, statistics: Statistics) -> None:
    rows = [count / statistics.num_steps for count in statistics.expert_rows()]
    colours = [_COLOURS[expert // statistics.local_experts % 2] for expert in range(len(rows))]
    axes.bar(range(len(rows)), rows, color=colours, width=0.9)
    axes.set_xlabel("expert (the colour changes from rank to rank)")
    _finish_bars(axes, rows)


def _draw_ranks(axes: Axes, statistics: Statistics) -> None:
    rows = [count / statistics.num_steps for count in statistics.rank_rows()]
    axes.bar(range(len(rows)), rows, color=[_COLOURS[rank % 2] for rank in range(len(rows))], width=0.9)
    if len(rows) <= _MOST_NUMBERS:
        axes.set_xticks(range(len(rows)))
    axes.set_xlabel("rank")
    _finish_bars(axes, rows)


def _finish_bars(axes: Axes, rows: list[float]) -> None:
    mean, most = sum(rows) / len(rows), max(rows)
    ratio = most / mean if mean else 1.0
    axes.axhline(mean, color="#d1495b", linewidth=1.2, label=f"mean {mean:.0f}; max/mean {ratio:.2f}")
    axes.set_ylabel("rows of a step")
    axes.set_ylim(0.0, max(1.0, _ABOVE * most))
    axes.legend(frameon=False, loc="upper right", fontsize=8)
