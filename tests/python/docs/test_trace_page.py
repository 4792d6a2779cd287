# SPDX-License-Identifier: Apache-2.0
"""What docs/trace.md says of `ascend-deepep trace` is so. Layer: tests."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from ascend_deepep import trace
from ascend_deepep.cli.app import app

pytestmark = pytest.mark.fast

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "trace.md").read_text()


def test_the_options_are_those_of_the_command() -> None:
    command = typer.main.get_command(app).commands["trace"]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts} - {"--help"}
    table = PAGE.split("\n| option |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(--[\w-]+)", table)) == options
    for line in re.findall(r"^ascend-deepep trace.*$", PAGE, re.MULTILINE):
        assert {word for word in shlex.split(line, comments=True) if word.startswith("--")} <= options


def test_the_sample_is_a_summary_of_the_picture() -> None:
    """The recording that the page shows is not kept, but its picture and the words of its summary are there."""
    picture = re.search(r"!\[.*\]\((images/.*\.png)\)", PAGE)
    assert picture
    assert (DOCS / picture[1]).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert re.search(r"^dispatch_v2: \d+ calls; us a call, by rank:", PAGE, re.MULTILINE)


def test_the_names_of_the_sample_program_exist() -> None:
    for name in re.findall(r"\btrace\.((?:perfetto|summary)\.\w+|\w+)\(", PAGE.split("```python")[1].split("```")[0]):
        found: object = trace
        for part in name.split("."):
            found = getattr(found, part)
