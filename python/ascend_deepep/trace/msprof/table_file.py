# SPDX-License-Identifier: Apache-2.0
"""One CSV file of a profiler: its header, its rows, and what of it is not understood. Layer: Python, no torch."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from ascend_deepep.demo.usage import UsageError
from ascend_deepep.trace.msprof.values import Cell

Spellings = Sequence[str]


class Row:
    """Cells by column; of a field that has several spellings, the one this file uses."""

    def __init__(self, where: str, cells: dict[str, str]) -> None:
        self._where, self._cells = where, cells

    def cell(self, spellings: Spellings) -> Cell:
        """Empty where the file has no such column."""
        column = self._column(spellings)
        return Cell(f"{self._where}, column {column!r}", self._cells.get(column, ""))

    def needed(self, value: int | None, spellings: Spellings) -> int:
        """The value, which a row is of no use without."""
        if value is None:
            raise UsageError(f"{self._where}, column {self._column(spellings)!r}: no value, and every row needs one")
        return value

    def _column(self, spellings: Spellings) -> str:
        return next((name for name in spellings if name in self._cells), spellings[0])

    def rest(self, known: set[str]) -> dict[str, str]:
        """Columns outside `known`, as they stand."""
        return {name: text.strip() for name, text in self._cells.items() if name not in known}


class TableFile:
    """Read at once: these files are exports of one run. `name` is how messages call it."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        try:
            with path.open(newline="", encoding="utf-8-sig") as stream:
                lines = list(csv.reader(stream))
        except OSError as error:
            raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise UsageError(f"{name} is not a CSV file in UTF-8: {error}") from None
        if not lines or not any(cell.strip() for cell in lines[0]):
            raise UsageError(f"{name} is empty: it has not even a row of column names")
        self._header = [column.strip() for column in lines[0]]
        self.columns = [column for column in self._header if column]
        double = next((column for column in self.columns if self.columns.count(column) > 1), None)
        if double is not None:
            raise UsageError(f"{name}, row 1: column {double!r} stands there twice")
        self._lines = lines[1:]

    def require(self, *fields: Spellings) -> None:
        """Refuse a file without one of these."""
        for spellings in fields:
            if not any(column in self.columns for column in spellings):
                names = " or ".join(repr(column) for column in spellings)
                raise UsageError(f"{self.name} has no column {names}: is it what its name says?")

    def missing(self, fields: Sequence[Spellings]) -> list[str]:
        """Of these fields, those it has in no spelling; by their first."""
        return [spellings[0] for spellings in fields if not any(column in self.columns for column in spellings)]

    def rows(self) -> Iterator[Row]:
        """All rows but empty ones. Numbers count as in an editor while no cell holds a line break."""
        for number, cells in enumerate(self._lines, 2):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) < len(self.columns) or any(cell.strip() for cell in cells[len(self._header) :]):
                raise UsageError(
                    f"{self.name}, row {number}: {len(cells)} cells, the header has {len(self.columns)}: "
                    "was the file cut off?"
                )
            named = zip(self._header, cells, strict=False)
            yield Row(f"{self.name}, row {number}", {column: cell for column, cell in named if column})
