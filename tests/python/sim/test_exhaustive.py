# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim --exhaustive`: what it counts, what it finds, and one run again. Layer: tests."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ascend_deepep import _simulator

PROGRAM = [sys.executable, "-m", "ascend_deepep.cli", "sim", "--exhaustive"]


def sim(*words: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run([*PROGRAM, *words, "--json"], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == "" and done.stdout.count("\n") == 1, done.stdout + done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return done.returncode, value


def test_every_single_delay_is_withstood_and_counted() -> None:
    status, value = sim("--bound", "1")
    assert status == 0
    assert (value["bound"], value["is_complete"], value["failures"], value["failed"]) == (1, True, 0, [])
    assert [world["world"] for world in value["worlds"]] == _simulator.search_worlds()
    assert value["runs"] == sum(world["runs"] for world in value["worlds"])
    for world in value["worlds"]:
        assert world["is_complete"]
        assert 500 < world["runs"] < world["replayed"]
        assert world["runs"] / 2 < world["different"] <= world["runs"]


def test_a_failure_is_a_line_that_replays_with_its_timeline(tmp_path: Path) -> None:
    status, value = sim("--bound", "1", "--drop", "a1")
    assert (status, value["is_complete"]) == (1, False)
    finding = next(finding for finding in value["findings"] if finding["world"] == "dispatch")
    assert finding["checker"] == "unwritten"
    words = shlex.split(finding["replay"])
    assert words[:3] == ["ascend-deepep", "sim", "--exhaustive"]
    path = tmp_path / "trace.json"
    status, again = sim(*words[3:], "--trace", str(path))
    assert (status, again["outcome"], again["checker"], again["text"]) == (1, "failed", "unwritten", finding["text"])
    assert again["replay"] == finding["replay"]
    assert json.loads(path.read_text())["traceEvents"]


def test_a_limit_is_no_failure_and_said() -> None:
    status, value = sim("--bound", "2", "--max-seconds", "1")
    assert (status, value["is_complete"], value["failures"]) == (0, False, 0)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--seed", "3"], "draws nothing"),
        (["--fault", "rank-dies"], "draws nothing"),
        (["--bound", "9"], "--bound"),
        (["--delays", "nothing:3"], "no world 'nothing'"),
        (["--delays", "dispatch:x"], "no delay"),
        (["--delays", "dispatch:9999999"], "no such points"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], part: str) -> None:
    done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert part in done.stderr
    assert "Traceback" not in done.stderr
