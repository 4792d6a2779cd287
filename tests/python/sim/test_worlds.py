# SPDX-License-Identifier: Apache-2.0
"""The kill test: a rank dies at one of 500 points, and the others go on. Layer: tests.

What each call must give is checked in the world: exact, or an error in time whose root is the dead rank, with stage and
sequence number; and all calls of the communicator that the survivors make are good.
"""

from __future__ import annotations

import re

import pytest
from sim_run import sim_run

WORLDS = re.compile(r"^worlds (\d+) with remote rows \d+ with failed calls (\d+) with survivors (\d+)$", re.MULTILINE)


@pytest.mark.long
def test_a_rank_dies_at_500_points() -> None:
    result = sim_run("--fault", "rank-dies", "--seeds", "1..500", timeout=540)
    assert result.returncode == 0, result.stdout
    match = WORLDS.search(result.stdout)
    assert match
    worlds, failed, survivors = (int(count) for count in match.groups())
    assert worlds == 500
    assert survivors >= 490  # near its end a rank may be done before it dies: that is no death
    struck = re.search(r"^struck: rank-dies (\d+)$", result.stdout, re.MULTILINE)
    # A rank may die when all have met, nothing has failed and none is needed any more.
    assert struck and survivors <= int(struck[1]) <= survivors + 5
    assert failed >= 400
