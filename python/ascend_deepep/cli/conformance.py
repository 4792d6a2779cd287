# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep conformance`. Layer: Python: options, progress bar and exit code; the work is in its package."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from ascend_deepep.cli.environment import check_environment
from ascend_deepep.cli.progress import progress, results_console
from ascend_deepep.cli.values import one_of
from ascend_deepep.config import NPU, TWIN
from ascend_deepep.conformance.cases import Case, load
from ascend_deepep.conformance.select import NAMES, select, unknown_names
from ascend_deepep.demo.usage import UsageError


def conformance(
    only: Annotated[
        str,
        typer.Option("--filter", metavar="EXPR", help="Cases with all these words: a text, NAME=VALUE, A|B, !A."),
    ] = "",
    target: Annotated[
        str | None,
        typer.Option(metavar=f"{TWIN}|{NPU}", help="What runs the kernels. (default: as for other commands)"),
    ] = None,
    large: Annotated[
        bool, typer.Option("--large", help="Also the cases that take gigabytes; --filter runs whatever it fits.")
    ] = False,
    show_list: Annotated[bool, typer.Option("--list", help="Only name the cases.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Run the operators' contract, case by case, and compare every bit and every refusal."""
    wish = one_of("--target", target, (TWIN, NPU)) if target else check_environment().target
    cases = _cases(only)
    if show_list:
        _print_list(cases, as_json)
        return 0
    if not (large or only):
        cases = [case for case in cases if not case.is_large]
    chosen, devices = _target(wish)
    fitting = [case for case in cases if devices is None or case.call.ranks <= devices]
    if not fitting:
        raise UsageError(f"none of the {len(cases)} cases fits the {devices} devices of this machine")
    return _run(fitting, len(cases) - len(fitting), chosen, as_json)


def _print_list(cases: list[Case], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"cases": [{"id": case.id, "source": case.source} for case in cases]}))
        return
    for case in cases:
        ends = f"refused, {case.refusal.row}" if case.refusal else "exact"
        print(f"{case.id:40} {ends:14} {case.source}")


def _run(cases: list[Case], skipped: int, target: str, as_json: bool) -> int:
    from ascend_deepep.conformance.report import print_failures, print_results, to_json
    from ascend_deepep.conformance.runner import run_cases
    from ascend_deepep.testing import Pool

    start = time.monotonic()
    with Pool() as pool, progress("cases", len(cases)) as advance:
        results = run_cases(cases, pool, target, advance)
    print_failures(results)
    if as_json:
        print(json.dumps(to_json(results, skipped)))
    else:
        print_results(results, skipped, time.monotonic() - start, results_console())
    return 0 if all(result.passed for result in results) else 1


def _cases(expression: str) -> list[Case]:
    unknown = unknown_names(expression)
    if unknown:
        raise UsageError(f"--filter: no case has {unknown[0]!r}; names are {', '.join(NAMES)}")
    cases = select(load(), expression)
    if not cases:
        raise UsageError(f"--filter {expression!r} fits no case; --list shows them")
    return cases


def _target(wish: str) -> tuple[str, int | None]:
    """The target, and how many devices it has for ranks; the twin has as many as it is asked for."""
    from ascend_deepep import _target
    from ascend_deepep._load import load_ops
    from ascend_deepep.errors import ArgumentError

    load_ops()
    try:
        chosen = _target.choose(wish)
    except ArgumentError:
        raise UsageError(f"--target {wish}: {_target.missing()}") from None
    if chosen == TWIN:
        return chosen, None
    import torch

    return chosen, int(torch.npu.device_count())  # type: ignore[attr-defined]
