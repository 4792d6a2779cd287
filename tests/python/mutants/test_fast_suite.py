# SPDX-License-Identifier: Apache-2.0
"""tests/mutants/fast.json says which mutants only the simulator finds: true for a few, at both ends. Layer: tests."""

from __future__ import annotations

import json

import pytest
from ascend_deepep.simulator.mutants import mutants
from fast_suite import RECORD, ROOT, passes

PASS = json.loads(RECORD.read_text(encoding="utf-8"))["pass"]


@pytest.mark.long
@pytest.mark.parametrize("name", PASS[:: max(1, len(PASS) // 3)])
def test_the_suite_does_not_find_it(name: str) -> None:
    (mutant,) = [mutant for mutant in mutants(ROOT) if mutant.name == name]
    assert passes(mutant)


@pytest.mark.long
def test_the_suite_finds_one_that_is_not_named() -> None:
    (mutant,) = mutants(ROOT, "counts-off-by-one")
    assert mutant.name not in PASS
    assert not passes(mutant)
