# SPDX-License-Identifier: Apache-2.0
"""Results as a table by feature, and as the JSON object. Layer: Python; rich, no torch."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ascend_deepep.conformance.features import LEGAL, features
from ascend_deepep.conformance.runner import Result


def to_json(results: Sequence[Result], skipped: int) -> dict[str, object]:
    """The object of the last line."""
    by_feature = {
        f"{dimension}: {value}": {"passed": passed, "failed": failed}
        for (dimension, value), (passed, failed) in _by_feature(results).items()
    }
    return {
        "passed": sum(result.passed for result in results),
        "failed": sum(not result.passed for result in results),
        "skipped": skipped,
        "refusals": sum(result.passed and result.case.refusal is not None for result in results),
        "by_feature": by_feature,
    }


def print_results(results: Sequence[Result], skipped: int, seconds: float, console: Console) -> None:
    """The table, then one line."""
    table = Table(box=None)
    for column in ("argument", "value"):
        table.add_column(column)
    for column in ("passed", "failed"):
        table.add_column(column, justify="right")
    last = ""
    for (dimension, value), (passed, failed) in _by_feature(results).items():
        table.add_row("" if dimension == last else dimension, value, str(passed), str(failed or ""))
        last = dimension
    console.print(table)
    good = sum(result.passed for result in results)
    verdict = "EXACT" if good == len(results) else f"FAILED {len(results) - good} of"
    refusals = sum(result.case.refusal is not None for result in results)
    more = f", {skipped} skipped" if skipped else ""
    console.print(f"{verdict} {len(results)} cases, {refusals} of them refusals{more}, {seconds:.0f} s")


def print_failures(results: Sequence[Result]) -> None:
    """Each failure, and the line that runs its case alone."""
    for result in results:
        if not result.passed:
            found = "\n".join(f"  {finding}" for finding in result.findings)
            again = f"ascend-deepep conformance --filter id={result.case.id}"
            print(f"{result.case.id} ({result.case.source})\n{found}\n  again: {again}", file=sys.stderr)


def _by_feature(results: Sequence[Result]) -> dict[tuple[str, str], tuple[int, int]]:
    """Passed and failed by feature, in order of the support matrix, then refusals by row."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for result in results:
        for feature in features(result.case):
            passed, failed = counts.get(feature, (0, 0))
            counts[feature] = (passed + result.passed, failed + (not result.passed))
    known = [(dimension, value) for dimension, values in LEGAL.items() for value in values]
    place = {feature: index for index, feature in enumerate(known)}
    return dict(sorted(counts.items(), key=lambda item: (place.get(item[0], len(known)), _natural(item[0][1]))))


def _natural(row: str) -> tuple[str, int]:
    """D2 before D10."""
    number = row[1:]
    return (row[0], int(number)) if number.isdecimal() else ("z" + row, 0)
