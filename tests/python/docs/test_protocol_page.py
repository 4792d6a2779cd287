# SPDX-License-Identifier: Apache-2.0
"""docs/protocol.md names what holds each edge, invariant and assumption, and what it names is there. Layer: tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ascend_deepep.simulator import mutants

from tools.check import orders
from tools.check.mutants import checkers
from tools.check.tree import Tree

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[3]
TREE = Tree.of_repository(ROOT)
ENTRIES = orders.entries(TREE)


def named(number: str, label: str) -> list[str]:
    """What an entry names after `label:` or `labels:`."""
    lists = re.findall(rf"\b{label}s?: ((?:`[^`]+`(?:, )?)+)", ENTRIES[number].text)
    return [name for text in lists for name in re.findall(r"`([^`]+)`", text)]


def test_the_page_has_entries_of_each_kind() -> None:
    assert {number[0] for number in ENTRIES} == {"P", "I", "A"}


@pytest.mark.parametrize("number", ENTRIES)
def test_an_entry_names_tests_that_exist(number: str) -> None:
    names, _ = orders.tests(TREE)
    assert named(number, "Test")
    assert set(named(number, "Test")) <= names


@pytest.mark.parametrize("number", ENTRIES)
def test_an_entry_names_checkers_that_report(number: str) -> None:
    assert named(number, "Checker")
    assert set(named(number, "Checker")) <= checkers(TREE)


# An assumption is dropped by a switch of the simulator; edges and invariants are what kernels can get wrong.
@pytest.mark.parametrize("number", ENTRIES)
def test_an_entry_names_the_mutants_that_break_it(number: str) -> None:
    breaking = [mutant.name for mutant in mutants.mutants(ROOT) if number in mutant.numbers()]
    assert named(number, "Mutant") == breaking
    assert breaking or number.startswith("A")


def test_every_checker_is_named() -> None:
    assert {name for number in ENTRIES for name in named(number, "Checker")} == checkers(TREE)
