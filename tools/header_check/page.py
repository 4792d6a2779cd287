# SPDX-License-Identifier: Apache-2.0
"""Tables of Markdown pages by column: the names of docs/ascendc_subset.md, the rows of the generated report.

Layer: build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SUBSET = Path("docs/ascendc_subset.md")
REPORT = Path("docs/ascendc_headers.md")


def rows(text: str, head: str) -> Iterator[list[str]]:
    """Rows, as lists of cells, of every table whose first column is called `head`."""
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif inside and not set(cells[0]) <= set("-: "):
            yield cells
        elif cells[0] == head:
            inside = True


def subset_names(root: Path) -> dict[str, str]:
    """Name -> cell "header" of the tables of names, in their order; a name may stand on the page once."""
    found: dict[str, str] = {}
    for cells in rows((root / SUBSET).read_text(), "name"):
        for name in re.findall(r"`([^`]+)`", cells[0]):
            if name in found:
                raise ValueError(f"{SUBSET} lists {name} twice: keep one row")
            found[name] = cells[1].strip("`")
    return found
