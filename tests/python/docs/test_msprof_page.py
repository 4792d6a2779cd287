# SPDX-License-Identifier: Apache-2.0
"""docs/msprof.md tells which columns the twin fills and which spellings are read, as the code does. Layer: tests."""

from __future__ import annotations

import csv
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from ascend_deepep.trace.msprof import columns, write_folder

from tests.python.trace.msprof_recordings import small_recording

pytestmark = pytest.mark.fast

PAGE = (Path(__file__).resolve().parents[3] / "docs/msprof.md").read_text()


def rows(header: str) -> list[list[str]]:
    """Cells of the rows of the table with this header."""
    lines = PAGE.split(f"\n| {header} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def patterns(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def filled(folder: Path, pattern: str) -> set[str]:
    """Columns with a value in some row of some file."""
    found: set[str] = set()
    for path in folder.rglob(pattern):
        with path.open(newline="") as stream:
            found |= {name for row in csv.DictReader(stream) for name, value in row.items() if value}
    return found


def test_every_column_of_op_summary_has_a_row_and_only_the_full_ones_say_so(tmp_path: Path) -> None:
    write_folder(small_recording(), tmp_path)
    table = rows("column of op_summary | on the twin | why empty")
    full = filled(tmp_path, "op_summary_*.csv")
    for column in columns.OP_SUMMARY:
        cells = [row for row in table if column in patterns(row[0])]
        cells = cells or [row for row in table if any(fnmatchcase(column, name) for name in patterns(row[0]))]
        assert len(cells) == 1, column
        assert (cells[0][1] == "empty") == (column not in full), column
        assert cells[0][1] != "empty" or cells[0][2]


def test_the_columns_of_msopprofs_files_are_told_apart_too(tmp_path: Path) -> None:
    write_folder(small_recording(), tmp_path)
    by_file: dict[str, dict[bool, set[str]]] = {}
    for cells in rows("column of the other files | on the twin"):
        file, _, names = cells[0].partition(":")
        by_file.setdefault(file, {})[cells[1] == "empty"] = set(patterns(names))
    basic, pipes = by_file["OpBasicInfo"], by_file["PipeUtilization"]
    assert filled(tmp_path, "OpBasicInfo*") == basic[False]
    assert set(columns.OP_BASIC_INFO) == basic[False] | basic[True]
    assert filled(tmp_path, "PipeUtilization*") == pipes[False]


def test_the_spellings_are_those_that_are_read() -> None:
    named = {name for row in rows("field | spellings") for name in patterns(row[1])}
    fields = (columns.NAME, columns.TYPE, columns.DEVICE, columns.START, columns.DURATION, columns.WAIT, columns.CORES)
    assert named == {name for spellings in (*fields, columns.STREAM, columns.TASK) for name in spellings}
