# SPDX-License-Identifier: Apache-2.0
"""docs/ascendc_subset.md and the code name the same things: what kernels use, what the twin has, which rules it checks.

Layer: tests. Reads sources only. The page is read by its tables: columns called "name" hold identifiers in backticks,
the table of rules holds a piece of each message and the test that provokes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.check.tree import blank_comments

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/ascendc_subset.md"
HEADERS = {"asc_simt", "asc_fp16", "asc_bf16"}  # file names, not functions

KEYWORD = re.compile(r"\b__[A-Za-z]\w*\b")
SIMT_NAME = re.compile(r"\basc_\w+\b")
ASCENDC_NAME = re.compile(r"\bAscendC::(\w+)(?:::(\w+))?")
GLOBAL_NAME = re.compile(r"\b(?:GM_ADDR|GetTPipePtr|dim3|threadIdx|blockDim|blockIdx|gridDim|PIPE_\w+|EVENT_ID[0-7])\b")


def tables(head: str) -> Iterator[list[str]]:
    """Rows, as lists of cells, of every table of the page whose first column is called `head`."""
    inside = False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif inside and not set(cells[0]) <= set("-: "):
            yield cells
        elif cells[0] == head:
            inside = True


def page_names() -> set[str]:
    """Every identifier that the page lists."""
    return {name for cells in tables("name") for name in re.findall(r"`([^`]+)`", cells[0])}


def code(folder: str, *suffixes: str) -> str:
    """All C++ sources below a folder, without comments and literals."""
    paths = [path for suffix in suffixes for path in sorted((ROOT / folder).rglob(f"*{suffix}"))]
    assert paths, f"{folder} holds no sources"
    return "\n".join(blank_comments(path.read_text()) for path in paths)


def used_names() -> set[str]:
    """Names of AscendC in op_kernel/."""
    text = "\n".join(
        line for line in code("op_kernel", ".h", ".cpp").splitlines() if not line.startswith(("#include", "#if"))
    )
    names = set(KEYWORD.findall(text)) - {"__builtin_offsetof"}
    names |= set(SIMT_NAME.findall(text)) | set(GLOBAL_NAME.findall(text))
    for first, second in ASCENDC_NAME.findall(text):
        names |= {first, second} - {""}
    return names


def test_what_kernels_use_is_on_the_page() -> None:
    used = used_names()
    assert {"DataCopy", "TPipe", "MTE3_S", "asc_ldcg", "__simt_vf__", "GM_ADDR"} <= used
    assert sorted(used - page_names()) == []


def test_the_page_lists_identifiers() -> None:
    odd = [name for name in page_names() if not re.fullmatch(r"[A-Za-z_]\w*", name)]
    assert odd == []


def test_what_is_on_the_page_exists_in_the_twin() -> None:
    words = set(re.findall(r"[A-Za-z_]\w*", code("twin/include", ".h")))
    # The built-in variables of SIMT code are declared where the runner keeps them.
    words |= set(re.findall(r"[A-Za-z_]\w*", blank_comments((ROOT / "twin/runtime/simt.h").read_text())))
    assert sorted(page_names() - words) == []


def test_every_simt_function_of_the_twin_is_on_the_page() -> None:
    names = set(SIMT_NAME.findall(code("twin/include", ".h")))
    assert "asc_vf_call" in names
    assert sorted(names - page_names() - HEADERS) == []


def test_rules_stand_in_the_twin() -> None:
    rules = list(tables("rule"))
    assert len(rules) > 40
    sources = "\n".join(path.read_text() for path in (ROOT / "twin").rglob("*.[hc]*"))
    missing = [cells[1] for cells in rules if cells[1].strip("`") not in sources]
    assert missing == []


def test_tests_of_rules_exist() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "tests/cpp").rglob("*_test.cpp"))
    tests = set(re.findall(r"^TEST\((\w+)\)", sources, re.MULTILINE))
    missing = [cells[2] for cells in tables("rule") if cells[2] != "-" and cells[2].strip("`") not in tests]
    assert missing == []
