# SPDX-License-Identifier: Apache-2.0
"""Draws the model: times over a parameter, and predictions beside measurements. Layer: Python, matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_deepep.bench.plot import SUFFIXES
from ascend_deepep.calibration import Prediction
from ascend_deepep.model_sweep import Row, Value

_COLOURS = ("#d1495b", "#30638e", "#4f9d69", "#edae49", "#7b5ea7", "#6b705c", "#00a6a6", "#b56576")
_SETTINGS: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "ascend-deepep", "font.size": 11}
_UNITS = {
    "ep": "EP size, ranks",
    "tokens": "tokens per rank",
    "hidden": "hidden, elements of a token",
    "topk": "experts of a token",
    "skew": "skew, largest load / mean",
    "groups": "groups of a token",
    "nic-gb-s": "NIC, GB/s",
    "peer-gb-s": "peer links of a rank, GB/s",
    "issue-us": "issue cost of a message, us",
}
_DPI = 130


def plot_axis(varied: Mapping[str, Sequence[Value]]) -> str | None:
    """The parameter along x: the first that varies and is a number."""
    return next((name for name, values in varied.items() if len(values) > 1 and not isinstance(values[0], str)), None)


def plot_sweep(rows: Sequence[Row], axis: str, stem: Path, caption: str) -> list[Path]:
    """Write STEM.png and STEM.svg: dispatch, combine and the layer over `axis`, a line for each other combination."""
    plt: Any = _pyplot()
    panels: tuple[tuple[str, Callable[[Row], float]], ...] = (
        ("dispatch", lambda row: row.time.dispatch.total_us),
        ("combine", lambda row: row.time.combine.total_us),
        ("layer (dashed: with counts and host sync)", lambda row: row.time.total_us),
    )
    lines: dict[str, list[Row]] = {}
    for row in rows:
        others = ", ".join(f"{name} {value}" for name, value in row.varied.items() if name != axis)
        lines.setdefault(others or "the model", []).append(row)
    with plt.rc_context(_SETTINGS):
        figure, grid = plt.subplots(1, len(panels), figsize=(12.6, 4.8), sharey=True)
        for axes, (title, us) in zip(grid, panels, strict=True):
            for number, (name, of_line) in enumerate(lines.items()):
                ordered = sorted(of_line, key=lambda row: float(row.varied[axis]))
                x = [float(row.varied[axis]) for row in ordered]
                style: dict[str, Any] = {"color": _COLOURS[number % len(_COLOURS)], "markersize": 4}
                axes.plot(x, [us(row) for row in ordered], "-", marker="o", label=name, **style)
                if axes is grid[-1]:
                    axes.plot(x, [row.time.collective_us for row in ordered], "--", **style)
            axes.set_title(title, fontsize=11)
            axes.set_xlabel(_UNITS.get(axis, axis))
            _scale(axes, sorted({float(row.varied[axis]) for row in rows}))
        grid[0].set_ylabel("least time by the model, us")
        grid[0].legend(fontsize=9, frameon=False)
        figure.suptitle(caption, fontsize=11)
        return _save(figure, stem)


def plot_predictions(found: Sequence[Prediction], stem: Path, caption: str) -> list[Path]:
    """Write STEM.png and STEM.svg: predicted over measured time of each shape, and the band of 30 %."""
    plt = _pyplot()
    with plt.rc_context(_SETTINGS):
        figure, axes = plt.subplots(figsize=(9.3, 7.0))
        for number, ranks in enumerate(sorted({one.shape.ranks for one in found})):
            of_ranks = [one for one in found if one.shape.ranks == ranks]
            measured = [sum(one.measured_us.values()) / 1e3 for one in of_ranks]
            predicted = [sum(one.predicted_us.values()) / 1e3 for one in of_ranks]
            axes.plot(measured, predicted, "o", color=_COLOURS[number], label=f"{ranks} ranks")
        times = [sum(one.measured_us.values()) / 1e3 for one in found]
        ends = [min(times) / 1.5, max(times) * 1.5]
        axes.plot(ends, ends, color="black", linewidth=0.8)
        axes.fill_between(ends, [0.7 * end for end in ends], [1.3 * end for end in ends], color="black", alpha=0.08)
        axes.set(xscale="log", yscale="log", xlabel="measured, ms", ylabel="predicted, ms")
        for one in (axes.xaxis, axes.yaxis):
            one.set_major_formatter("{x:g}")
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(frameon=False)
        axes.set_title(caption, fontsize=11)
        return _save(figure, stem)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _scale(axes: Any, ticks: Sequence[float]) -> None:
    """Both axes by factors; x with what varies as its ticks, where that is above 0."""
    if ticks[0] > 0:
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.minorticks_off()
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(True, which="major", alpha=0.3)


def _save(figure: Any, stem: Path) -> list[Path]:
    figure.tight_layout()
    paths = [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
    for path in paths:
        figure.savefig(path, dpi=_DPI, metadata={"Date": None} if path.suffix == ".svg" else None)
    _pyplot().close(figure)
    return paths
