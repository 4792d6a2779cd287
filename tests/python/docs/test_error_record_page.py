# SPDX-License-Identifier: Apache-2.0
"""docs/error_record.md names every field of record and page, every stage and every code. Layer: tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ascend_deepep.communicator import Communicator

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/error_record.md").read_text()
STATUS = (ROOT / "op_kernel/contract/status.h").read_text()
CONTROL_PAGE = (ROOT / "op_kernel/contract/control_page.h").read_text()
NAMES = (ROOT / "op_host/names.cpp").read_text()
FAILURE_TEXT = (ROOT / "op_host/failure_text.cpp").read_text()


def fields(header: str, struct: str) -> set[str]:
    """Names of the members of a struct."""
    body = header.split(f"struct {struct} {{")[1].split("\n};")[0]
    return set(re.findall(r"^ +[\w:]+ (\w+)(?:\[[^;]*\])?;", body, re.MULTILINE))


def first_column(heading: str) -> set[str]:
    """Names in backquotes in the first cells of the table below a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")][2:]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def strings(array: str) -> list[str]:
    """Texts of an array of names in op_host."""
    body = NAMES.split(f"constexpr const char* {array}[] = {{")[1].split("};")[0]
    return re.findall(r'"([^"]+)"', body)


def test_every_field_of_the_record_is_explained() -> None:
    named = fields(STATUS, "ErrorRecord")
    assert len(named) == 16
    assert first_column("The record, field by field") == named


def test_every_word_of_the_control_page_is_explained() -> None:
    named = fields(CONTROL_PAGE, "ControlPage")
    assert {"state", "record", "times", "built"} <= named
    assert first_column("What else stands on the page") == named


def test_every_stage_is_explained() -> None:
    stages = strings("kStages")
    assert len(stages) == len(
        re.findall(r"^ +k\w+(?: = 0)?,?", STATUS.split("enum class Stage")[1].split("};")[0], re.M)
    )
    assert first_column("The progress page") == set(stages)


def test_every_failure_is_explained() -> None:
    codes = strings("kCodes")
    failures = codes[codes.index("time-out") :]
    section = PAGE.split("\n## The codes\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")][2:]
    assert sorted(rows) == sorted(failures)


def test_the_words_of_the_examples_are_those_of_op_host() -> None:
    joined = re.sub(r'"\s*"', "", FAILURE_TEXT)
    flat = " ".join(PAGE.split())
    for words in (
        "; no control message from ",
        "time-out of another rank waiting for ",
        ", heard from rank ",
        "what it sent did not arrive in time; look at the errors of the other ranks",
        "its control message came and its data did not: look at that rank's own error and at the fabric between",
        "look whether that rank runs and issues the same operations; if it is only slow, raise timeout_ms or ",
        "peer lost: the process of rank ",
        " is gone or closed its communicator, noticed ",
        "bad completion from the queue to rank ",
        " was stopped or failed first",
        "call Communicator.progress() from another thread",
        "the communicator is broken, close it and make a new one",
    ):
        assert words in joined, words
        assert words.strip(" ;,") in flat, words
    assert hasattr(Communicator, "progress")
