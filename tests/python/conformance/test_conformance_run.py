# SPDX-License-Identifier: Apache-2.0
"""The suite on ranks: one case of each kind and each group here, all of it in the long lane. Layer: tests."""

from __future__ import annotations

import os
from collections import UserDict

import pytest
from ascend_deepep.config import TWIN
from ascend_deepep.conformance.cases import Case, Refusal, load
from ascend_deepep.conformance.features import features
from ascend_deepep.conformance.runner import run_cases
from ascend_deepep.testing import Pool

CASES = load()


def sample(cases: list[Case]) -> list[Case]:
    """Cases until each feature was met, the small worlds first."""
    met: set[tuple[str, str]] = set()
    chosen = []
    for case in sorted(cases, key=lambda case: (case.call.path == "compile", case.call.ranks, case.call.hidden)):
        new = set(features(case)) - met
        if new and case.call.hidden <= 2048:
            chosen.append(case)
            met |= new
    return chosen


def failures(cases: list[Case], ranks: Pool) -> list[str]:
    results = run_cases(cases, ranks, TWIN)
    assert sorted(result.case.id for result in results) == sorted(case.id for case in cases)
    return [f"{result.case.id}: {finding}" for result in results for finding in result.findings]


def test_a_sample_of_all_features(ranks: Pool) -> None:
    assert failures(sample(CASES), ranks) == []


@pytest.mark.long
def test_the_whole_suite(ranks: Pool) -> None:
    assert failures(CASES, ranks) == []


class Deadly(UserDict[str, object]):
    """A change of a tensor that ends the process which looks into it: the rank that makes the call."""

    def __contains__(self, key: object) -> bool:
        os._exit(7)


def test_a_rank_that_dies_takes_one_case_along(ranks: Pool) -> None:
    """The case is a failure, those behind it run on new ranks."""
    first, last = (case for case in CASES if case.id in ("report.6-equal", "report.6-unequal"))
    dies = Case("test.dies", "here", first.call, Refusal("own", "dispatch", {"x": Deadly()}, "x"))
    results = {result.case.id: result.findings for result in run_cases([first, dies, last], ranks, TWIN)}
    assert results[first.id] == results[last.id] == []
    assert any("exit code 7" in finding for finding in results["test.dies"])
