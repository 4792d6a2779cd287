# SPDX-License-Identifier: Apache-2.0
"""The simulator finds every mutant of tests/mutants/ within 300 seeds, and each checker, edge and invariant has one.

Layer: tests. Some mutants are here in the normal lane; all of them, with what they cover, in the long one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ascend_deepep.simulator.mutants import SEEDS, MutantsError, Report, checkout, mutants, run_all, to_json, try_one

from tools.check import orders
from tools.check.mutants import checkers
from tools.check.tree import Tree

ROOT = checkout(Path(__file__).resolve())
TREE = Tree.of_repository(ROOT)
ALL = mutants(ROOT)
FEW = ["frontier-before-blocks", "no-deadline"]
# Slips that published kernels of this kind have, or nearly had.
KINDS = {
    "abort not posted",
    "bitmap or partition stride",
    "constant flag",
    "consumed credit off by one",
    "control message of combine not awaited",
    "count from raw instead of masked ids",
    "early half reuse",
    "flag written before payload",
    "group tail",
    "lost completion",
    "mask ignored by one role",
    "missing V_MTE3 flag",
    "missing barrier before a flag",
    "ordinal wrong",
    "owner-bit or wrap error",
    "per-expert copy",
    "per-expert slot stride",
    "rounding left out",
    "shared slot off by one",
    "single send buffer",
    "space check dropped at ring 4",
    "stale scalar read",
    "tag compared in one word",
    "weight of the wrong column",
    "wrong replica",
    "wrong scale row",
}


@pytest.mark.parametrize("name", FEW)
def test_the_simulator_finds_it(name: str) -> None:
    (mutant,) = [mutant for mutant in ALL if mutant.name == name]
    seeds = try_one(ROOT, mutant)
    assert seeds.checker in checkers(TREE)
    assert seeds.count <= SEEDS


def test_all_kinds_of_slips_are_there() -> None:
    assert len(ALL) >= 25
    assert {mutant.header["Kind"] for mutant in ALL} >= KINDS


def test_without_sources_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(MutantsError, match="checkout") as caught:
        checkout(tmp_path)
    assert caught.value.kind == "NoCheckout"


def test_a_filter_is_part_of_a_name_a_kind_or_a_number() -> None:
    assert [mutant.name for mutant in mutants(ROOT, "space-off")] == ["space-off-by-one"]
    assert [mutant.name for mutant in mutants(ROOT, "V_MTE3")] == ["row-put-before-it-is-quantised", "sum-not-awaited"]
    assert all("P3" in mutant.numbers() for mutant in mutants(ROOT, "P3"))
    assert mutants(ROOT, "no such thing") == []


@pytest.fixture(scope="module")
def report() -> Report:
    """One run over all mutants."""
    return run_all(ROOT, ALL)


@pytest.mark.long
def test_no_mutant_survives(report: Report) -> None:
    assert report.survivors() == []
    assert report.unmutated is not None
    assert (report.unmutated.count, report.unmutated.checker) == (SEEDS, None), report.unmutated.text


@pytest.mark.long
def test_every_checker_edge_and_invariant_finds_one(report: Report) -> None:
    summary = to_json(report, ALL)
    assert set(summary["checkers"]) == checkers(TREE)  # type: ignore[call-overload]
    wanted = {number for number in orders.entries(TREE) if number[0] in "PI"}
    assert set(summary["edges"]) >= wanted  # type: ignore[call-overload]


@pytest.mark.long
def test_the_page_names_a_checker_that_finds_one(report: Report) -> None:
    for number, entry in orders.entries(TREE).items():
        listed = re.search(r"\bCheckers?: ((?:`[^`]+`(?:, )?)+)", entry.text)
        assert listed, number
        finding = {report.results[mutant.name].checker for mutant in ALL if number in mutant.numbers()}
        assert not finding or finding & set(re.findall(r"`([^`]+)`", listed[1])), (number, finding)
