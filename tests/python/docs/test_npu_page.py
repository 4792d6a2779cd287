# SPDX-License-Identifier: Apache-2.0
"""docs/npu.md claims no run on an NPU, and the names on it are those of the package. Layer: tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ascend_deepep import config, errors
from ascend_deepep.communicator import Communicator

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/npu.md").read_text()
LINK = "docs/npu.md#what-was-done-to-each-part"


def table(heading: str) -> list[list[str]]:
    """Cells of the rows of the table below a heading, its own row first."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]


def test_no_part_is_said_to_have_run_on_an_npu() -> None:
    head, *rows = table("What was done to each part")
    assert head == ["part", "compiled", "type-checked", "simulated", "run on NPU"]
    assert len(rows) >= 8
    assert [row[4] for row in rows] == ["no"] * len(rows)
    assert "Nothing on this page was tried" in PAGE.split("##")[0].replace("\n", " ")


def test_both_readmes_link_the_table() -> None:
    for readme in ("README.md", "README.zh.md"):
        assert LINK in (ROOT / readme).read_text()


def test_our_variables_are_those_of_the_table() -> None:
    named = set(re.findall(r"ASCEND_DEEPEP_[A-Z_]+", PAGE))
    assert "ASCEND_DEEPEP_TARGET" in named
    assert named <= {variable.name for variable in config.VARIABLES}


def test_methods_and_options_exist() -> None:
    named = set(re.findall(r"Communicator\.(\w+)", PAGE))
    assert {"target", "check", "synchronize", "progress"} <= named
    assert [name for name in named if not hasattr(Communicator, name)] == []
    assert not set(re.findall(r"`(\w+Error)`", PAGE)) - {*errors.__all__, "NotImplementedError"}
