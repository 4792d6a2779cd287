# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep model`. Layer: Python: options, output and exit code; the formulas are in ascend_deepep.model.

Exit codes: 0 done, and every figure of --reference is equal; 1 one differs, or the twin gave a wrong result while it
was timed; 2 nothing was computed.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from ascend_deepep.bench.plot import check_plot
from ascend_deepep.cli.progress import progress, results_console
from ascend_deepep.cli.values import refuse_others
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.model_parameters import PARAMETERS, Value, defaults, make, read, sweep

_NAMES = ", ".join(PARAMETERS)
_MOST_ROUNDS = 100
_Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=f"A parameter, may be repeated: {_NAMES}.")
]
_WhatIf = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=A,B,..", help="Values that a parameter takes; with several, every combination."),
]
_Reference = Annotated[bool, typer.Option("--reference", help="Compare with the figures that the literature prints.")]
_Calibrate = Annotated[
    bool, typer.Option("--calibrate", help="Fit a model of this machine's twin, and predict other shapes with it.")
]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the times: FILE.png and FILE.svg.")]
_Rounds = Annotated[int, typer.Option(help="With --calibrate: turns of each shape; medians of them count.")]


def model(
    context: typer.Context,
    settings: _Set = None,
    what_if: _WhatIf = None,
    reference: _Reference = False,
    calibrate: _Calibrate = False,
    rounds: _Rounds = 3,
    plot: _Plot = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Bytes, messages, links and the lower bound of the time of a MoE layer, by the alpha-beta model."""
    if reference and calibrate:
        raise UsageError("--reference does not go with --calibrate; run one after the other")
    if reference:
        refuse_others(context, ("reference", "as_json"), lambda _, option: f"{option} does not go with --reference")
        return _reference(as_json)
    if calibrate:
        allowed = ("calibrate", "rounds", "plot", "as_json")
        refuse_others(context, allowed, lambda _, option: f"{option} does not go with --calibrate")
        return _calibrate(rounds, plot, as_json)
    refuse_others(
        context, ("settings", "what_if", "plot", "as_json"), lambda _, option: f"{option} goes with --calibrate"
    )
    values = defaults()
    for text in settings or []:
        name, given = read("--set", text)
        if len(given) != 1:
            raise UsageError(f"--set {text!r} has {len(given)} values; --what-if takes several")
        values[name] = given[0]
    axes: dict[str, list[Value]] = dict(read("--what-if", text) for text in what_if or [])
    return _model(values, axes, plot, as_json)


def _model(values: dict[str, Value], axes: dict[str, list[Value]], plot: Path | None, as_json: bool) -> int:
    from ascend_deepep import model_tables

    if plot is not None:
        check_plot(plot)
        if not axes:
            raise UsageError(
                "--plot draws what --what-if changes; name a parameter, such as --what-if tokens=1,128,4096"
            )
    costs = sweep(values, axes) if axes else [make(values)]
    if plot is not None:
        _written(model_tables.plot(costs, axes, plot))
    if as_json:
        rows = [model_tables.to_json(of) for of in costs]
        print(json.dumps({"what_if": axes, "rows": rows}))
    else:
        model_tables.print_costs(costs, axes, results_console())
    return 0


def _reference(as_json: bool) -> int:
    from ascend_deepep.model_reference import figures
    from ascend_deepep.model_tables import print_figures

    found = figures()
    differ = [figure for figure in found if not figure.holds]
    if as_json:
        holds = {"figures": len(found), "differ": len(differ)}
        print(json.dumps({**holds, "reference": [figure.to_json() for figure in found]}))
    else:
        print_figures(found, results_console())
        print(f"{len(found) - len(differ)} of {len(found)} figures equal to the printed precision")
    return 1 if differ else 0


def _calibrate(rounds: int, plot: Path | None, as_json: bool) -> int:
    from ascend_deepep import calibration
    from ascend_deepep.demo.usage import check_range

    check_range("--rounds", rounds, 1, _MOST_ROUNDS)
    if plot is not None:
        check_plot(plot)
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with progress("rounds", calibration.rounds_of(rounds)) as advance:
        result = calibration.calibrate(rounds, advance)
    for line in result.findings:
        print(line, file=sys.stderr)
    if plot is not None and result.rows:
        _written(calibration.plot(result, plot))
    command = f"ascend-deepep model --calibrate --rounds {rounds}"
    if as_json:
        print(json.dumps({**result.to_json(), "command": command, "date": date}))
    else:
        calibration.print_result(result, results_console())
        print(f"{date}: {command}")
    return 1 if result.findings else 0


def _written(paths: list[Path]) -> None:
    print(f"written: {', '.join(map(str, paths))}", file=sys.stderr)
