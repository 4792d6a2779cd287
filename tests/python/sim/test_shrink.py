# SPDX-License-Identifier: Apache-2.0
"""Shrinking: the line that comes out fails by itself, in the same way, in a smaller world. Layer: tests."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from ascend_deepep import _simulator
from ascend_deepep.simulator.options import WorldOptions
from ascend_deepep.simulator.shrink import shrink
from ascend_deepep.simulator.smaller import KINDS, operations_text, parse_operations, without
from ascend_deepep.simulator.workers import Workers


def size(world: dict[str, str]) -> list[int]:
    numbers = [len(world["operations"].split(","))]
    return numbers + [int(world[name]) for name in ("ranks", "cores", "max_tokens", "experts", "topk", "hidden")]


@pytest.mark.parametrize(("switch", "checker"), [("a1", "unwritten"), ("a3", "queues")])
def test_the_smallest_world_fails_by_itself(switch: str, checker: str) -> None:
    options = WorldOptions(faults=False, drop=(switch,))
    seed = next(
        seed
        for seed in range(1, 200)
        if (run := _simulator.run(seed, **options.arguments()))["findings"]
        and run["findings"][0][0] == checker
        and int(_simulator.scenario(seed)["settings"]["ranks"]) > 2
    )
    with Workers(2) as workers:
        shrunk = shrink(workers, seed, options, checker, seconds=60.0)
    assert shrunk is not None
    before = size(_simulator.scenario(seed, **options.arguments())["settings"])
    after = size(_simulator.scenario(seed, **shrunk.options.arguments())["settings"])
    assert all(small <= large for small, large in zip(after, before, strict=True)) and after != before
    assert after[1] == 2

    words = shlex.split(shrunk.replay)
    assert words[0] == "ascend-deepep"
    command = [sys.executable, "-m", "ascend_deepep.cli", *words[1:], "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    value = json.loads(done.stdout)
    assert (value["outcome"], value["checker"], value["replay"]) == ("failed", checker, shrunk.replay)
    assert value["description"] == shrunk.description


def test_without_time_the_world_stays_as_it_was() -> None:
    options = WorldOptions(faults=False, drop=("a1",))
    seed = next(seed for seed in range(1, 50) if _simulator.run(seed, **options.arguments())["findings"])
    with Workers(1) as workers:
        shrunk = shrink(workers, seed, options, "unwritten", seconds=0.0)
        assert shrunk is not None
        assert (shrunk.options, shrunk.runs, shrunk.is_done) == (options, 0, False)
        assert shrink(workers, seed, options, "some other", seconds=0.0) is None


@pytest.mark.fast
def test_an_operation_goes_with_the_combines_of_its_round() -> None:
    operations = parse_operations("D,D:bad-ids@1,C,D,C1,C,D:host-refuses@0,C:foreign-tag@1")
    assert operations_text(operations) == "D,D:bad-ids@1,C1,D,C1,C2,D:host-refuses@0,C2:foreign-tag@1"
    assert operations_text(without(operations, 0)) == "D:bad-ids@1,D,C1,D:host-refuses@0,C1:foreign-tag@1"
    assert operations_text(without(operations, 3)) == "D,D:bad-ids@1,C1,C1,D:host-refuses@0"
    assert operations_text(without(operations, 1)) == "D,C1,D,C1,C2,D:host-refuses@0,C2:foreign-tag@1"


@pytest.mark.fast
def test_steps_lead_to_legal_worlds_and_to_an_end() -> None:
    """Following the first step of each kind again and again ends: every step makes something smaller."""
    for seed in range(1, 40):
        world = _simulator.scenario(seed)["settings"]
        settings: dict[str, str] = {}
        for steps in KINDS.values():
            for _ in range(100):
                changes = next(steps(world), None)
                if changes is None:
                    break
                settings |= changes
                world = _simulator.scenario(seed, settings=list(settings.items()))["settings"]
            else:
                pytest.fail(f"seed {seed}: no end")
        assert size(world) == [1, 1, 4, 1, 1, 1, 64]
