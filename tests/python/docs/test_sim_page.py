# SPDX-License-Identifier: Apache-2.0
"""What docs/twin.md says of the simulator's command line is so. Layer: tests."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from ascend_deepep import _simulator
from ascend_deepep.cli.app import app

PAGE = (Path(__file__).resolve().parents[3] / "docs/twin.md").read_text()


@pytest.mark.fast
def test_the_table_has_every_setting() -> None:
    section = PAGE.split("\n### Settings of a world\n")[1].split("\n### ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(_simulator.scenario(1)["settings"])


def words_of_commands() -> list[tuple[str, list[str]]]:
    """Each `ascend-deepep COMMAND ..` of the page's sh blocks and of its text: the command, and its words."""
    lines = [
        line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for line in block.split("\n")
    ]
    prose = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    lines += [" ".join(span.split()) for span in re.findall(r"`(ascend-deepep [^`]*)`", prose)]
    found = (shlex.split(line, comments=True) for line in lines if line.startswith("ascend-deepep "))
    return [(words[1], words[2:]) for words in found]


@pytest.mark.fast
def test_the_options_of_the_samples_exist() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    samples = words_of_commands()
    assert len(samples) >= 10
    for name, words in samples:
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert [word for word in words if word.startswith("--") and word.split("=")[0] not in known] == []
