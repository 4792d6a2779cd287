# SPDX-License-Identifier: Apache-2.0
"""The generated part of docs/compatibility.md: the support matrix and the rows of checks. Layer: build."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ascend_deepep.conformance.cases import DATA, Case
from ascend_deepep.conformance.features import LEGAL, features

BEGIN = "<!-- written by `python -m tools.gen_conformance` from here on -->"
END = "<!-- to here -->"
ROWS = DATA / "rows.json"


def read_rows(path: Path = ROWS) -> dict[str, dict[str, str]]:
    """Their checks by number: "rule", and "here" where this operator has none of it or a wider one."""
    rows: dict[str, dict[str, str]] = json.loads(path.read_text())
    return rows


def with_matrix(page: str, cases: Sequence[Case]) -> str:
    """The page with its generated part renewed."""
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    return "".join((head, BEGIN, "\n\n", "\n".join([*_matrix(cases), "", *_rows(cases)]), "\n\n", END, tail))


def _matrix(cases: Sequence[Case]) -> Iterator[str]:
    exact = [case for case in cases if case.refusal is None]
    counts = Counter(feature for case in exact for feature in features(case))
    refused = len(cases) - len(exact)
    yield f"{len(exact)} cases with an exact result; the number is that of cases with the value. {refused} are refused."
    yield ""
    yield "| argument | value | cases |"
    yield "|---|---|---|"
    for dimension, values in LEGAL.items():
        for index, value in enumerate(values):
            yield f"| {dimension if index == 0 else ''} | {value} | {counts[dimension, value]} |"


def _rows(cases: Sequence[Case]) -> Iterator[str]:
    counts = Counter(case.refusal.row for case in cases if case.refusal is not None)
    yield "| row | their rule | here | cases |"
    yield "|---|---|---|---|"
    for row, entry in read_rows().items():
        here = entry.get("here", "the same")
        yield f"| {row} | {entry['rule']} | {here} | {counts[row] or '-'} |"
    yield f'| | our own rules: ids, what is handed through, calls that differ | see "Deviations" | {counts["own"]} |'
    yield f"| | legal, and of a later release | `NotImplementedError` | {counts['later']} |"
