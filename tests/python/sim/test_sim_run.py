# SPDX-License-Identifier: Apache-2.0
"""sim_run as a program: a seed is the same run in every process, and bad arguments are named. Layer: tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sim_run import hashes, sim_run


def test_two_processes_take_the_same_steps() -> None:
    first = sim_run("--seeds", "1..20", "--verbose")
    second = sim_run("--seeds", "1..20", "--verbose")
    assert first.returncode == second.returncode == 0
    of_first = hashes(first.stdout)
    assert of_first == hashes(second.stdout)
    assert len(set(of_first.values())) == 20


def test_a_seed_alone_is_the_seed_among_others() -> None:
    among = hashes(sim_run("--seeds", "1..8", "--verbose").stdout)
    alone = hashes(sim_run("--seed", "8", "--verbose").stdout)
    assert alone == {"8": among["8"]}


def test_a_dropped_assumption_fails_and_says_how_to_replay() -> None:
    result = sim_run("--seeds", "1..40", "--no-faults", "--drop", "a1", "--max-failures", "1")
    assert result.returncode == 1
    match = re.search(r"^FAILED seed (\d+) \[.*; replay: sim_run (.*)$", result.stdout, re.MULTILINE)
    assert match
    replay = sim_run(*match[2].split())
    assert replay.returncode == 1
    assert result.stdout.splitlines()[0] == replay.stdout.splitlines()[0]


@pytest.mark.parametrize("arguments", [["--seed", "x"], ["--seeds", "9..3"], ["--drop", "a9"], ["--seed"], ["--what"]])
def test_bad_arguments_end_in_status_2(arguments: list[str]) -> None:
    result = sim_run(*arguments)
    assert result.returncode == 2
    assert "usage: sim_run" in result.stderr


def test_a_module_that_cannot_be_opened_ends_in_status_2(tmp_path: Path) -> None:
    result = sim_run("--kernels", str(tmp_path / "none.so"))
    assert result.returncode == 2
    assert "none.so" in result.stderr
