# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim --mutants`. Layer: Python: table, JSON and exit code; the work is in simulator.mutants."""

from __future__ import annotations

import json

from rich.table import Table

from ascend_deepep.cli.progress import progress, results_console
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.simulator.mutants import Mutant, MutantsError, Report, checkout, mutants, run_all, to_json


def sim_mutants(name_contains: str, jobs: int, as_json: bool) -> int:
    """Run the mutants whose name, kind or number holds the text. 0: each is found, and the sources pass the seeds."""
    try:
        root = checkout()
        chosen = mutants(root, name_contains)
        if not chosen:
            raise UsageError(f"--filter {name_contains}: no mutant has it in its name, kind, edges or invariants")
        with progress("mutants", len(chosen) + 1) as advance:
            report = run_all(root, chosen, jobs=jobs, advance=advance)
    except MutantsError as error:
        raise UsageError(str(error), error.kind) from None
    if as_json:
        print(json.dumps(to_json(report, chosen)))
    else:
        _print(report, chosen)
    return 0 if report.holds else 1


def _print(report: Report, chosen: list[Mutant]) -> None:
    console = results_console()
    table = Table("mutant", "breaks", "kind", "found by", "seeds", "s")
    for mutant in chosen:
        seeds = report.results[mutant.name]
        found = seeds.checker or "SURVIVES"
        numbers = ", ".join(mutant.numbers())
        table.add_row(mutant.name, numbers, mutant.header["Kind"], found, str(seeds.count), f"{seeds.seconds:.1f}")
    console.print(table)
    same = report.unmutated
    if same is not None:
        verdict = "all hold" if same.checker is None else f"seed {same.count} fails [{same.checker}] {same.text}"
        console.print(f"sources as they are: {same.count} seeds, {verdict}")
    survivors = report.survivors()
    found_by = {seeds.checker for seeds in report.results.values() if seeds.checker is not None}
    console.print(f"{len(chosen)} mutants, {len(survivors)} survive, found by {len(found_by)} checkers")
