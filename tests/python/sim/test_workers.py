# SPDX-License-Identifier: Apache-2.0
"""Seeds in processes: the order, the number of processes, and what a death costs. Layer: tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ascend_deepep.simulator.options import WorldOptions
from ascend_deepep.simulator.run import SeedsResult, run_seeds
from ascend_deepep.simulator.workers import CannotRun, Job, Workers


def sums(result: SeedsResult) -> tuple[object, ...]:
    """Everything but times."""
    return (
        result.seeds,
        result.failures,
        result.hashes,
        result.struck,
        result.conditions,
        result.remote,
        result.failed_calls,
        result.steps,
        result.refused,
    )


def test_twenty_seeds_take_the_same_steps_in_two_processes() -> None:
    hashes = []
    for _ in range(2):
        with Workers(1) as workers:
            outcomes = list(workers.run(Job(seed, WorldOptions()) for seed in range(1000, 1020)))
        hashes.append([outcome.run["hash"] for outcome in outcomes if outcome.run is not None])
    assert len(set(hashes[0])) == 20 and hashes[0] == hashes[1]


@pytest.mark.parametrize("max_failures", [2, pytest.param(1000, marks=pytest.mark.long)])
def test_the_result_does_not_depend_on_the_number_of_processes(max_failures: int) -> None:
    options = WorldOptions(faults=False, drop=("a1",))
    results = []
    for jobs in (1, 2, 3):
        with Workers(jobs) as workers:
            results.append(sums(run_seeds(workers, range(1, 60), options, max_failures)))
    assert results[0] == results[1] == results[2]
    assert len(results[0][1]) >= 2  # type: ignore[arg-type]


def test_outcomes_come_in_order_and_a_second_run_hears_nothing_of_the_first() -> None:
    with Workers(2) as workers:
        first = workers.run([Job(seed, WorldOptions()) for seed in range(1, 50)], chunk=3)
        assert [next(first).job.seed for _ in range(5)] == [1, 2, 3, 4, 5]
        first.close()
        again = list(workers.run([Job(seed, WorldOptions()) for seed in range(7, 12)], chunk=1))
    assert [outcome.job.seed for outcome in again] == [7, 8, 9, 10, 11]
    assert [outcome.run["seed"] for outcome in again if outcome.run is not None] == [7, 8, 9, 10, 11]


def test_a_process_that_dies_costs_one_seed_and_names_it() -> None:
    with Workers(1) as workers:
        outcomes = workers.run([Job(seed, WorldOptions()) for seed in range(1, 17)])
        next(outcomes)
        pid = workers.processes()[0]
        os.kill(pid, signal.SIGSTOP)  # nothing more of it is on its way than what it has sent
        os.kill(pid, signal.SIGKILL)
        rest = list(outcomes)
    dead = [outcome for outcome in rest if outcome.died]
    assert len(dead) == 1
    assert dead[0].checker == "process" and dead[0].text == "its process was ended by SIGKILL"
    assert [outcome.job.seed for outcome in rest] == list(range(2, 17))
    assert all(outcome.run is not None for outcome in rest if outcome not in dead)


def test_a_seed_that_does_not_end_costs_its_process_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_deepep.simulator.workers._SEED_SECONDS", 4.0)
    options = WorldOptions(settings=(("ranks", "1"), ("cores", "4"), ("fault", "none")))
    with Workers(1) as workers:
        outcomes = workers.run([Job(seed, options) for seed in range(1, 17)])
        next(outcomes)
        os.kill(workers.processes()[0], signal.SIGSTOP)
        rest = list(outcomes)
    late = [outcome for outcome in rest if outcome.died]
    assert [outcome.text for outcome in late] == ["it did not end within 4 s"]
    assert [outcome.job.seed for outcome in rest] == list(range(2, 17))
    assert all(outcome.run is not None for outcome in rest if outcome not in late)


def test_kernels_that_cannot_be_opened_are_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"none\.so"):
        Workers(2, str(tmp_path / "none.so"))


def test_processes_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os\n"
        "from ascend_deepep.simulator.workers import Workers\n"
        "if __name__ == '__main__':\n"
        "    workers = Workers(1)\n"
        "    print(workers.processes()[0], flush=True)\n"
        "    os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=True)
    pid = int(done.stdout)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_text():
        assert time.monotonic() < deadline, "the process lives on"
        time.sleep(0.05)
    assert done.stderr == ""
