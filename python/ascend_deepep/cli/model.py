# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep model`. Layer: Python: options, tables, JSON and exit code; the formulas are in ascend_deepep.model.

Exit codes: 0 done (and every known figure is equal, and the prediction as near as required); 1 it is not; 2 nothing was
computed or measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ascend_deepep import model_sweep
from ascend_deepep.cli.progress import progress, results_console
from ascend_deepep.cli.values import one_of, refuse_others
from ascend_deepep.demo.usage import UsageError, check_range
from ascend_deepep.model_sweep import PARAMETERS, PHASES, Row, Value

if TYPE_CHECKING:
    from ascend_deepep.calibration_run import Calibration

_MAX_PASSES = 100
_OF_CALIBRATE = ("calibrate", "passes", "require", "plot", "as_json")
_OF_REFERENCE = ("reference", "as_json")

_Phase = Annotated[str | None, typer.Option(metavar="|".join(PHASES), help="128 tokens flat, or 4096 by node.")]
_WhatIf = Annotated[
    list[str] | None,
    typer.Option("--what-if", metavar="NAME=A,B..", help="Rows for all values; may be given again: all combinations."),
]
_Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help=f"A parameter: {', '.join(PARAMETERS)}."),
]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: FILE.png and FILE.svg.")]
_Require = Annotated[float | None, typer.Option(metavar="PART", help="Exit 1 where the median error is above it; 0.3.")]


def model(
    context: typer.Context,
    phase: _Phase = None,
    ep: Annotated[int | None, typer.Option(help="Ranks of the group. (default: 8)")] = None,
    tokens: Annotated[int | None, typer.Option(help="Tokens of a rank. (default: 128)")] = None,
    routing: Annotated[str | None, typer.Option(metavar="flat|rank|node", help="One copy for each. (rank)")] = None,
    settings: _Set = None,
    what_if: _WhatIf = None,
    reference: Annotated[bool, typer.Option("--reference", help="Compare with every known figure.")] = False,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Fit and test it on this machine's twin.")] = False,
    passes: Annotated[int, typer.Option(help="With --calibrate: how often each shape is measured.")] = 3,
    require: _Require = None,
    plot: _Plot = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Say what one MoE layer moves and the least time it takes, by bytes, messages and links."""
    if reference and calibrate:
        raise UsageError("--reference and --calibrate are two runs: give one of them")
    if reference:
        refuse_others(context, _OF_REFERENCE, lambda _, option: f"{option} has no meaning with --reference")
        return _reference(as_json)
    if plot is not None:
        from ascend_deepep.bench.plot import check_plot

        check_plot(plot)
    if calibrate:
        refuse_others(context, _OF_CALIBRATE, lambda _, option: f"{option} has no meaning with --calibrate")
        check_range("--passes", passes, 1, _MAX_PASSES)
        return _calibrate(passes, require, plot, as_json)
    for name in ("passes", "require"):
        refuse_others(
            context,
            [one.name or "" for one in context.command.params if one.name != name],
            lambda _, option: f"{option} needs --calibrate",
        )
    given: dict[str, Value] = {} if phase is None else dict(PHASES[one_of("--phase", phase, tuple(PHASES))])
    fixed = _given(settings or [], {"ep": ep, "tokens": tokens, "routing": routing})
    for word in what_if or []:
        if (name := word.partition("=")[0]) in fixed:
            raise UsageError(
                f"--what-if {word} varies {name}, which is {fixed[name]} by another option: give one of them"
            )
    return _sweep(given | fixed, what_if or [], plot, as_json)


def _given(words: list[str], short: dict[str, int | str | None]) -> dict[str, Value]:
    """The values of --set, and of the options that have names of their own."""
    values: dict[str, Value] = {}
    words = [*words, *(f"{name}={value}" for name, value in short.items() if value is not None)]
    for word in words:
        name, _, text = word.partition("=")
        if name in values:
            raise UsageError(f"--set {word} gives {name} a second time")
        try:
            values[name] = model_sweep.parse(name, text)
        except ValueError as error:
            raise UsageError(f"--{name}: {error}" if name in short else f"--set {word}: {error}") from None
    return values


def _sweep(given: dict[str, Value], words: list[str], plot: Path | None, as_json: bool) -> int:
    try:
        varied = model_sweep.parse_what_if(words)
        rows = model_sweep.sweep(given, varied)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if plot is not None:
        from ascend_deepep.model_plot import plot_axis, plot_sweep

        axis = plot_axis(varied)
        if axis is None:
            raise UsageError("--plot needs something to draw over: --what-if with several numbers, such as ep=8,16,32")
        _written(plot_sweep(rows, axis, plot, _caption(given, varied)))
    if as_json:
        print(json.dumps({"rows": [row.to_json() for row in rows]}))
    else:
        _print_rows(rows, _caption(given, varied))
    return 0


def _caption(given: dict[str, Value], varied: dict[str, list[Value]]) -> str:
    """What does not vary: the sizes, and what counts the copies."""
    every = PARAMETERS | given
    parts = (
        ("ep", "EP {}"), ("tokens", "{} tokens"), ("hidden", "hidden {}"), ("topk", "top-{}"),
        ("experts", "{} experts"), ("routing", "{} routing"), ("dispatch", "{} out"), ("combine", "{} back"),
        ("copies", "copies: {}"), ("local", "local: {}"),
    )  # fmt: skip
    return ", ".join(text.format(every[name]) for name, text in parts if name not in varied)


def _print_rows(rows: list[Row], caption: str) -> None:
    console = results_console()
    console.print(caption, highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in rows[0].varied:
        table.add_column(name, no_wrap=True)
    columns = ("", "copies NIC", "peer", "MB NIC", "peer", "messages", "alpha", "NIC us", "peer us", "issue us", "us")
    for name in columns:
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    table.add_column("bound", no_wrap=True)
    for row in rows:
        head = [str(value) for value in row.varied.values()]
        for name, one in (("dispatch", row.time.dispatch), ("combine", row.time.combine)):
            moved = one.traffic
            texts = [f"{moved.nic_copies:.2f}", f"{moved.peer_copies:.2f}"]
            texts += [f"{moved.nic_bytes / 1e6:.1f}", f"{moved.peer_bytes / 1e6:.1f}", f"{moved.messages:.0f}"]
            times = (one.alpha_us, one.nic_us, one.peer_us, one.issue_us, one.total_us)
            table.add_row(*head, name, *texts, *(f"{value:.1f}" for value in times), one.bound)
            head = [""] * len(head)
        table.add_row(*head, "layer", *[""] * 9, f"{row.time.total_us:.1f}", "")
        table.add_row(*head, "with counts + sync", *[""] * 9, f"{row.time.collective_us:.1f}", "")
    console.print(table)
    links = rows[0].time.dispatch.traffic
    if len(rows) == 1:
        console.print(f"a rank has {links.peer_links} peer links and reaches {links.nic_ranks} ranks over the NIC")
    console.print("copies a token, the rest a rank and direction; times are least times, not predictions")


def _reference(as_json: bool) -> int:
    from ascend_deepep.model_reference import reference_figures

    figures = reference_figures()
    wrong = [figure for figure in figures if not figure.equal]
    if as_json:
        value = {"holds": not wrong, "equal": len(figures) - len(wrong), "differ": len(wrong)}
        print(json.dumps({**value, "figures": [figure.to_json() for figure in figures]}))
        return 1 if wrong else 0
    table = Table(box=None, pad_edge=False)
    for name in ("row", "figure", "known", "ours", ""):
        table.add_column(name, justify="right" if name in ("known", "ours") else "left", no_wrap=True)
    for figure in figures:
        verdict = "equal" if figure.equal else "DIFFERS"
        table.add_row(figure.row, figure.name, figure.printed, figure.ours, verdict)
    results_console().print(table)
    print(f"{'HELD' if not wrong else 'FAILED'} {len(figures) - len(wrong)} of {len(figures)} figures are equal")
    return 1 if wrong else 0


def _calibrate(passes: int, require: float | None, plot: Path | None, as_json: bool) -> int:
    from ascend_deepep.calibration import median_error
    from ascend_deepep.calibration_run import CALIBRATION, GRID
    from ascend_deepep.calibration_run import calibrate as measure
    from ascend_deepep.cli.environment import check_environment

    check_environment()
    with progress("shapes", passes * len({*CALIBRATION, *GRID})) as advance:
        found = measure(passes=passes, on_shape=advance)
    error = median_error(found.predictions)
    if plot is not None:
        from ascend_deepep.model_plot import plot_predictions

        caption = f"dispatch and combine on the twin, {found.twin.cores} cores; median error {error:.0%}; band: 30 %"
        _written(plot_predictions(found.predictions, plot, caption))
    if as_json:
        print(json.dumps(_calibration_json(found, error)))
    else:
        _print_calibration(found, error)
    return 1 if require is not None and error > require else 0


def _calibration_json(found: Calibration, error: float) -> dict[str, object]:
    return {
        "cores": found.twin.cores,
        "us": found.twin.us,
        "fitted_to": [{**one.shape.__dict__, "measured_us": one.us} for one in found.measured],
        "fit_error": found.twin.fit_error,
        "median_error": error,
        "grid": [one.to_json() for one in found.predictions],
    }


def _print_calibration(found: Calibration, error: float) -> None:
    console = results_console()
    table = Table(title="ms of a layer, uniform routing, bf16, 64 experts", box=None, title_justify="left")
    for name in ("ranks", "tokens", "hidden", "top-k", "predicted", "measured", "error"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.predictions:
        shape = one.shape
        times = (sum(one.predicted_us.values()) / 1e3, sum(one.measured_us.values()) / 1e3)
        sizes = map(str, (shape.ranks, shape.tokens, shape.hidden, shape.topk))
        table.add_row(*sizes, *(f"{time:.2f}" for time in times), f"{one.error:+.0%}")
    console.print(table)
    for operator, costs in found.twin.us.items():
        texts = ", ".join(f"{name} {value:.4g}" for name, value in costs.items())
        console.print(f"{operator}, us: {texts}", highlight=False, soft_wrap=True)
    fitted = f"fitted to {len(found.measured)} other shapes, {found.twin.fit_error:.0%} off them"
    cores = f"{found.twin.cores} cores that all ranks share; {fitted}"
    console.print(cores, highlight=False, soft_wrap=True)
    console.print(f"median error over {len(found.predictions)} shapes: {error:.1%}", highlight=False)


def _written(paths: list[Path]) -> None:
    print(f"written: {', '.join(map(str, paths))}", file=sys.stderr)
