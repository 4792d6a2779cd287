# SPDX-License-Identifier: Apache-2.0
"""What a command shows while it works. Layer: Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress(unit: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """A bar on stderr, if that is a terminal; it hears how many are done. Without a total it only moves and counts."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda finished: bar.update(task, completed=finished)


def results_console() -> Console:
    """The one for tables. A pipe has no width of its own; rich would cut them to 80 columns."""
    return Console(width=None if sys.stdout.isatty() else 120)
