# SPDX-License-Identifier: Apache-2.0
"""What docs/twin.md says of the simulator's command line is so. Layer: tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ascend_deepep import _simulator
from ascend_deepep.cli.app import run

PAGE = (Path(__file__).resolve().parents[3] / "docs/twin.md").read_text()


@pytest.mark.fast
def test_the_table_has_every_setting() -> None:
    section = PAGE.split("\n### Settings of a world\n")[1].split("\n### ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(_simulator.scenario(1)["settings"])


@pytest.mark.fast
def test_the_options_of_the_samples_exist(capsys: pytest.CaptureFixture[str]) -> None:
    block = PAGE.split("\n## Simulator\n")[1].split("```sh\n")[1].split("```")[0]
    run(["sim", "--help"])
    known = capsys.readouterr().out
    assert [option for option in re.findall(r"--[a-z-]+", block) if option not in known] == []
