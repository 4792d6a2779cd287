# SPDX-License-Identifier: Apache-2.0
"""All files that this tool writes. Layer: build."""

from __future__ import annotations

from pathlib import Path

from ascend_deepep.conformance.cases import Case

from tools.gen_conformance.build import Group
from tools.gen_conformance.cells import cells
from tools.gen_conformance.contract import contract, extras
from tools.gen_conformance.later import later
from tools.gen_conformance.page import with_matrix
from tools.gen_conformance.pairwise import pairwise
from tools.gen_conformance.refusals_combine import combine_refusals
from tools.gen_conformance.refusals_dispatch import dispatch_refusals
from tools.gen_conformance.reports import reports
from tools.gen_conformance.timed import timed

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "python/ascend_deepep/data/conformance"
PAGE = ROOT / "docs/compatibility.md"


def groups() -> list[Group]:
    """All groups, each a file."""
    makers = (contract, extras, reports, cells, pairwise, dispatch_refusals, combine_refusals, later, timed)
    return [make() for make in makers]


def contents() -> dict[Path, str]:
    """Every written file's text; the page keeps what is not between its markers."""
    made = groups()
    cases: list[Case] = [case for group in made for case in group.cases]
    files = {DATA / f"cases_{group.name}.json": group.text() for group in made}
    files[PAGE] = with_matrix(PAGE.read_text(), cases)
    return files


def outdated() -> list[str]:
    """Files whose text is another one, or which this tool does not write, relative to the repository."""
    wanted = contents()
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text() != text]
    stale += [path for path in DATA.glob("cases_*.json") if path not in wanted]
    return [path.relative_to(ROOT).as_posix() for path in stale]


def write() -> None:
    """Write all of them."""
    wanted = contents()
    for path in DATA.glob("cases_*.json"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.write_text(text)
