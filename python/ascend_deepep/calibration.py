# SPDX-License-Identifier: Apache-2.0
"""A model of this machine's twin: fitted to a few shapes, held against others. Layer: Python, numpy.

On the twin the cores of all ranks are fibers on the CPU cores of one machine, so time is work over CPU cores rather
than bytes over links. An operator takes

    share x (call + rank x ranks + row x rows + byte x bytes + far x far bytes),   share = max(1, ranks / CPU cores)

microseconds. rows: choices of a rank's tokens. bytes: what a rank reads and writes, by the cost model's counts. far
bytes: the same where rows come to more than the runtime lets go through the caches (twin/fabric). The coefficients are
fitted with no negative one, relative errors squared.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ascend_deepep.bench.plot import SUFFIXES
from ascend_deepep.bench.shapes import Shape
from ascend_deepep.fitting import non_negative
from ascend_deepep.model import Layer, copy_bytes, places

OPERATORS = ("dispatch_v2", "combine_v2")
TERMS = ("call", "rank", "row", "byte", "far")
_EXPERTS = 64
_FAR_BYTES = 2 << 20  # of a rank's rows


def _shape(ranks: int, tokens: int, hidden: int = 7168, topk: int = 8) -> Shape:
    return Shape(ranks, tokens, hidden, topk, _EXPERTS, routing="uniform")


#: What the fit sees, and what it is held against.
FITTED = tuple(
    _shape(*of)
    for of in ((2, 1), (2, 64), (2, 512), (4, 1), (4, 16), (4, 256), (8, 1), (8, 128), (2, 256, 1024), (8, 64, 1024))
)
GRID = tuple(
    _shape(*of)
    for of in (
        *((ranks, tokens) for ranks in (2, 4, 8) for tokens in (8, 32)),
        (2, 128),
        (2, 1024),
        (4, 128),
        (4, 512),
        (8, 256),
        (2, 128, 2048),
        (4, 128, 2048),
        (4, 512, 2048, 4),
        (4, 64, 4096, 4),
        (8, 16, 2048, 4),
    )
)


@dataclass(frozen=True)
class Timed:
    """A shape and what it took: medians of turns, microseconds of the slowest rank."""

    shape: Shape
    us: dict[str, float]  # by operator


@dataclass(frozen=True)
class Row:
    """A shape of the grid."""

    shape: Shape
    predicted_us: dict[str, float]
    measured_us: dict[str, float]

    @property
    def error(self) -> float:
        """Of the layer: (predicted - measured) / measured."""
        measured = sum(self.measured_us.values())
        return (sum(self.predicted_us.values()) - measured) / measured


@dataclass
class Calibration:
    """What came of it."""

    cpus: int
    coefficients: dict[str, dict[str, float]]  # by operator and term, us
    machine: dict[str, object] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def median_error(self) -> float:
        """Of the layers' errors without their signs."""
        return statistics.median(abs(row.error) for row in self.rows)

    def predict(self, shape: Shape) -> dict[str, float]:
        """Microseconds by operator."""
        return {
            operator: sum(
                count * self.coefficients[operator][term]
                for term, count in zip(TERMS, loads(shape, operator, self.cpus), strict=True)
            )
            for operator in OPERATORS
        }

    def to_json(self) -> dict[str, Any]:
        """The object of --json."""
        rows = [
            {
                **{name: getattr(row.shape, name) for name in ("ranks", "tokens", "hidden", "topk", "experts")},
                "predicted_us": row.predicted_us,
                "measured_us": row.measured_us,
                "error": row.error,
            }
            for row in self.rows
        ]
        error = self.median_error if rows else None
        return {**asdict(self), "rows": rows, "median_error": error}


def loads(shape: Shape, operator: str, cpus: int) -> list[float]:
    """How many of each term the operator has on the rank that the others wait for, in microseconds of it."""
    share = max(1.0, shape.ranks / cpus)
    layer = Layer(shape.ranks, shape.tokens, shape.hidden, shape.topk, shape.experts, formula="distinct", wire="blocks")
    rows = shape.tokens * shape.topk
    row_bytes = shape.row_bytes
    off = 1 - 1 / shape.ranks
    if operator == "dispatch_v2":
        copies = shape.tokens * places(shape.ranks, shape.topk, shape.experts, "distinct") * off
        moved = 2 * copies * copy_bytes(layer, "bf16")
        num_bytes = moved + shape.tokens * row_bytes + rows * row_bytes
    else:
        moved = 2 * rows * off * copy_bytes(layer, "bf16", is_dispatch=False)
        num_bytes = moved + rows * row_bytes + shape.tokens * row_bytes
    far = num_bytes if rows * row_bytes > _FAR_BYTES else 0.0
    return [share * count for count in (1.0, shape.ranks, rows, num_bytes, far)]


def fit(timed: Sequence[Timed], cpus: int) -> Calibration:
    """Coefficients from what shapes took."""
    coefficients = {}
    for operator in OPERATORS:
        us = np.array([one.us[operator] for one in timed])
        matrix = np.array([loads(one.shape, operator, cpus) for one in timed]) / us[:, None]
        scale = matrix.max(axis=0)  # terms differ by many powers of ten
        scale[scale == 0.0] = 1.0
        solution = non_negative(matrix / scale, np.ones(len(timed))) / scale
        coefficients[operator] = dict(zip(TERMS, map(float, solution), strict=True))
    return Calibration(cpus, coefficients)


def rounds_of(rounds: int, fitted: Sequence[Shape] = FITTED, grid: Sequence[Shape] = GRID) -> int:
    """How many rounds `calibrate` takes."""
    return rounds * (len(fitted) + len(grid))


def calibrate(
    rounds: int,
    on_round: Callable[[int], None] | None = None,
    fitted: Sequence[Shape] = FITTED,
    grid: Sequence[Shape] = GRID,
) -> Calibration:
    """Time all shapes on the twin, fit, predict. A wrong result of the twin is a finding, and there are no rows then.

    Errors: those of `bench.run.run_bench`.
    """
    from ascend_deepep.bench.measure import Options
    from ascend_deepep.bench.run import run_bench

    # Shapes of both kinds take turns, so that what the machine does besides strikes both.
    order = sorted((*fitted, *grid), key=lambda shape: (shape.tokens, shape.ranks, shape.hidden))
    results = run_bench(order, Options(layers=(), rounds=rounds, copy_bytes=1 << 20), on_round)
    cpus = len(os.sched_getaffinity(0))
    if results.findings:
        return Calibration(cpus, {}, results.machine, findings=results.findings)
    taken = {
        (row.ranks, row.tokens, row.hidden, row.topk): {
            "dispatch_v2": 1000 * row.dispatch_ms,
            "combine_v2": 1000 * row.combine_ms,
        }
        for row in results.rows
    }

    def timed(shapes: Sequence[Shape]) -> list[Timed]:
        keys = [(shape, (shape.ranks, shape.tokens, shape.hidden, shape.topk)) for shape in shapes]
        return [Timed(shape, taken[key]) for shape, key in keys if key in taken]

    result = fit(timed(fitted), cpus)
    result.machine, result.findings = results.machine, list(results.left_out)
    result.rows = [Row(one.shape, result.predict(one.shape), one.us) for one in timed(grid)]
    return result


def print_result(result: Calibration, console: Console) -> None:
    """Coefficients, and predicted beside measured."""
    if not result.rows:
        return
    table = Table("operator", *(f"{term}, {unit}" for term, unit in zip(TERMS, _UNITS, strict=True)), box=None)
    for operator, terms in result.coefficients.items():
        values = [terms[term] * (1e6 if term in ("byte", "far") else 1.0) for term in TERMS]
        table.add_row(operator, *(f"{value:.3g}" for value in values))
    console.print(table)
    names = ("ranks", "tokens", "hidden", "top-k", "predicted us", "measured us", "error")
    table = Table(box=None)
    for name in names:
        table.add_column(name, justify="right")
    for row in result.rows:
        shape = row.shape
        sums = (sum(row.predicted_us.values()), sum(row.measured_us.values()))
        sizes = (shape.ranks, shape.tokens, shape.hidden, shape.topk)
        table.add_row(*map(str, sizes), *(f"{value:.0f}" for value in sums), f"{100 * row.error:+.0f} %")
    console.print(table)
    print(f"median error {100 * result.median_error:.0f} % over {len(result.rows)} shapes that the fit did not see")


_UNITS = ("us", "us", "us", "us a MB", "us a MB")


def plot(result: Calibration, stem: Path) -> list[Path]:
    """Write STEM.png and STEM.svg: predicted against measured time of each shape of the grid. Returns the paths."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    settings: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "ascend-deepep", "font.size": 10}
    with mpl.rc_context(settings):
        figure, axes = plt.subplots(figsize=(6.4, 5.6))
        for ranks in sorted({row.shape.ranks for row in result.rows}):
            rows = [row for row in result.rows if row.shape.ranks == ranks]
            measured = [sum(row.measured_us.values()) for row in rows]
            axes.plot(measured, [sum(row.predicted_us.values()) for row in rows], "o", label=f"{ranks} ranks")
        ends = [sum(row.measured_us.values()) for row in result.rows]
        span = [min(ends) / 1.5, max(ends) * 1.5]
        axes.plot(span, span, color="black", linewidth=0.8)
        axes.fill_between(span, [0.7 * at for at in span], [1.3 * at for at in span], alpha=0.1, label="within 30 %")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("measured, us (dispatch and combine)")
        axes.set_ylabel("predicted, us")
        axes.legend(frameon=False)
        axes.set_title(f"twin, {result.cpus} CPU cores: median error {100 * result.median_error:.0f} %", fontsize=10)
        figure.tight_layout()
        paths = [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
        for path in paths:
            figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths
