# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim`: the JSON objects, exit codes, and one line for a user's mistake. Layer: tests."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from ascend_deepep import _simulator
from ascend_deepep.cli.app import run
from sim_cli import PROGRAM, sim, started, value_of

# Besides faults, what a world's size and schedule put at an edge.
CONDITIONS = {
    *(f"ring-{2**power}" for power in range(2, 16)),
    *("tag-wrap", "index-wrap", "cq-index-wrap", "two-communicators", "limited-links"),
    *("evictions-off", "evictions-random", "evictions-storm", "drawn-roles"),
    *(f"queues-{queues}" for queues in range(1, 5)),
}


FEATURES = {
    *("mask-tokens", "mask-pairs", "shared-experts", "shared-remainder", "copies-per-expert", "weights"),
    *("quant-static-int8", "quant-pertoken-int8", "static-scalar", "static-row", "static-expert", "smoothing"),
    *(f"quant-{family}-{element}" for family in ("pertoken", "pergroup", "mx") for element in ("e4m3", "e5m2")),
    *("pass-e4m3", "pass-e5m2", "float16", "odd-values", "running-sums", "performance-info", "combine-int8"),
    *("combine-by-rank", "shared-expert-x", "unequal-batches", "smaller-batches"),
}


@pytest.mark.fast
def test_seeds_that_hold() -> None:
    done = sim("--seeds", "30", "--json")
    assert done.returncode == 0
    value = value_of(done)
    assert list(value) == [
        *("seeds", "failures", "failed", "distinct", "seeds_per_s", "p95_ms", "max_ms", "seconds", "remote_percent"),
        *("faults", "conditions", "features", "timed", "failed_calls", "refused", "steps", "findings"),
    ]
    assert (value["seeds"], value["failures"], value["failed"], value["distinct"]) == (30, 0, [], 30)
    assert list(value["faults"]) == _simulator.faults()
    assert {"ring-4", "evictions-off"} <= set(value["conditions"]) <= CONDITIONS
    assert {"mask-pairs", "shared-experts"} <= set(value["features"]) <= FEATURES
    assert value["timed"] == {}  # the first is seed 88
    assert sum(value["conditions"][f"evictions-{kind}"] for kind in ("off", "random", "storm")) == 30
    assert 0 < value["p95_ms"] <= value["max_ms"]
    shown = sim("--seeds", "30")
    assert shown.returncode == 0 and shown.stderr == ""
    assert re.fullmatch(r"HELD 30 seeds, 30 distinct runs, \d+ s", shown.stdout.splitlines()[-1])
    assert all(kind in shown.stdout for kind in (*_simulator.faults(), *value["conditions"], *value["features"]))


@pytest.mark.long
def test_worlds_are_worth_their_time() -> None:
    value = value_of(sim("--json"))
    assert (value["seeds"], value["failures"]) == (200, 0)
    assert value["remote_percent"] >= 80
    assert value["distinct"] >= 190
    assert all(value["faults"][kind] >= 1 for kind in _simulator.faults())


@pytest.mark.long
def test_two_thousand_seeds_hold_and_see_every_fault() -> None:
    start = time.monotonic()
    value = value_of(done := sim("--seeds", "2000", "--json"))
    assert done.returncode == 0
    assert (value["seeds"], value["failures"], value["failed"]) == (2000, 0, [])
    assert value["remote_percent"] >= 80
    assert value["distinct"] >= 1900
    assert set(value["conditions"]) == CONDITIONS
    assert set(value["features"]) == FEATURES
    assert {name: times for name, times in value["features"].items() if times < 100} == {}
    worlds = {**value["faults"], **value["conditions"]}
    assert {kind: times for kind, times in worlds.items() if times < 20} == {}
    assert time.monotonic() - start < 20 * 60


@pytest.mark.long
def test_a_failure_is_a_line_that_replays() -> None:
    options = ["--no-faults", "--drop", "a1"]
    value = value_of(done := sim("--first", "5", "--seeds", "60", *options, "--max-failures", "2", "--json"))
    assert done.returncode == 1
    assert (value["failures"], len(value["failed"])) == (2, 2)
    assert value["seeds"] < 60
    for finding, line in zip(value["findings"], value["failed"], strict=True):
        assert finding["replay"] == line == f"ascend-deepep sim --seed {finding['seed']} --no-faults --drop a1"
        replayed = value_of(again := sim(*shlex.split(line)[2:], "--json"))
        assert again.returncode == 1
        assert (replayed["checker"], replayed["text"]) == (finding["checker"], finding["text"])
    assert value["findings"][0]["shrunk"]["replay"].startswith(value["failed"][0])
    without = value_of(sim("--first", "5", "--seeds", "60", *options, "--max-failures", "2", "--no-shrink", "--json"))
    assert without["failed"] == value["failed"]
    assert all("shrunk" not in finding for finding in without["findings"])
    shown = sim("--first", "5", "--seeds", "60", *options, "--max-failures", "2")
    assert shown.returncode == 1
    assert shown.stdout.splitlines()[-1].startswith(f"FAILED 2 of {value['seeds']} seeds")
    assert all(line in shown.stdout for line in value["failed"])


def test_one_seed_twice() -> None:
    first, second = value_of(sim("--seed", "11", "--json")), value_of(sim("--seed", "11", "--json"))
    assert first == second
    assert (first["outcome"], first["checker"], first["replay"]) == ("held", None, "ascend-deepep sim --seed 11")
    run = _simulator.run(11)
    assert (first["hash"], first["conditions"]) == (f"{run['hash']:016x}", run["conditions"])
    assert set(first["struck"]) <= set(_simulator.faults()) and set(first["conditions"]) <= CONDITIONS
    assert first["features"] == run["features"]
    assert first["settings"] == _simulator.scenario(11)["settings"]
    shown = sim("--seed", "11")
    assert shown.returncode == 0
    assert first["description"] in shown.stdout and first["hash"] in shown.stdout
    assert shown.stdout.splitlines()[-1] == "HELD"


def test_the_timeline_of_a_seed(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    value = value_of(done := sim("--seed", "11", "--trace", str(file), "--json"))
    assert done.returncode == 0
    assert value == value_of(sim("--seed", "11", "--json"))
    names = {event["name"] for event in json.loads(file.read_text())["traceEvents"]}
    assert {"process_name", "thread_name"} <= names


@pytest.mark.long
def test_every_fault_can_be_asked_for() -> None:
    for kind in _simulator.faults():
        value = value_of(done := sim("--seeds", "12", "--set", "ranks=3", "--fault", kind, "--json"))
        assert done.returncode == 0
        assert value["faults"][kind] >= 1


@pytest.mark.fast
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--seeds", "0"], "--seeds 0 is outside [1, 1000000000]"),
        (["--seeds", "x"], "--seeds"),
        (["--first", "-1"], "--first -1 is outside"),
        (["--seed", "18446744073709551616"], "--seed 18446744073709551616 is outside [0, 18446744073709551615]"),
        (["--seed", "1", "--seeds", "2"], "--seeds does not go with --seed: it goes with seeds"),
        (["--seed", "1", "--jobs", "2"], "--jobs does not go with --seed"),
        (["--seed", "1", "--max-failures", "2"], "--max-failures does not go with --seed"),
        (["--seed", "1", "--no-shrink"], "--no-shrink does not go with --seed: it goes with seeds"),
        (["--seeds", "5", "--bound", "3"], "--bound does not go with seeds: it goes with --exhaustive"),
        (["--seeds", "5", "--tokens", "2"], "--tokens does not go with seeds"),
        (["--seed", "5", "--max-seconds", "2"], "--max-seconds does not go with --seed"),
        (["--filter", "P3"], "--filter does not go with seeds: it goes with --mutants"),
        (["--delays", "dispatch:3"], "--delays does not go with seeds: it goes with --exhaustive --delays"),
        (["--schedule-seed", "-1"], "--schedule-seed -1 is outside"),
        (["--jobs", "0"], "--jobs 0 is outside [1, 256]"),
        (["--max-failures", "0"], "--max-failures 0 is outside"),
        (["--fault", "gremlin"], "--fault 'gremlin' is not one of rank-dies, core-stalls"),
        (["--fault", "link-cut", "--no-faults"], "--fault and --no-faults exclude each other"),
        (["--drop", "a9"], "--drop 'a9' is not one of a1, a2, a3"),
        (["--set", "ranks"], "--set 'ranks' is not NAME=VALUE"),
        (["--set", "rank=2"], "'rank' is no setting"),
        (
            ["--set", "ranks=2", "--set", "experts=3", "--set", "shared=0"],
            "experts 3 is not a multiple of the 2 ranks that hold them",
        ),
        (["--seed", "4", "--set", "hidden=8"], "hidden"),
        (["--kernels", "none.so"], "none.so"),
        (["--trace", "t.json"], "--trace does not go with seeds: it goes with --seed or --exhaustive --delays"),
        (["--seed", "1", "--trace", "/nonexistent/t.json"], "/nonexistent/t.json"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_mistakes_exit_2_with_one_line(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sim", *words]) == 2
    said = capsys.readouterr()
    assert said.out == "" and text in said.err and said.err.count("\n") == 1
    assert run(["sim", *words, "--json"]) == 2
    said = capsys.readouterr()
    assert said.err == "" and said.out.count("\n") == 1
    error = json.loads(said.out)["error"]
    assert set(error) == {"kind", "message"} and text in error["message"]


def test_kernels_of_another_policy_are_refused() -> None:
    fast = Path(_simulator.__file__).with_name("libascend_deepep_kernels_fast.so")
    done = sim("--kernels", str(fast), "--json")
    assert done.returncode == 2
    error = value_of(done)["error"]
    assert error == {
        "kind": "CannotRun",
        "message": "the kernels are compiled for the policy Fast, the simulator needs Sim",
    }


@pytest.mark.parametrize("words", [["--kernels"], []])
def test_a_line_that_replays_names_the_kernels(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = str(Path(_simulator.__file__).with_name("libascend_deepep_kernels_sim.so"))
    if not words:
        monkeypatch.setenv("ASCEND_DEEPEP_KERNELS", module)
    assert run(["sim", "--seed", "1", *words, *[module][: len(words)], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["replay"] == f"ascend-deepep sim --seed 1 --kernels {module}"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--seeds", "1000000"], id="seeds"),
        pytest.param(["--exhaustive", "--bound", "3"], id="search", marks=pytest.mark.long),
    ],
)
def test_ctrl_c_ends_all_processes_at_once(words: list[str]) -> None:
    process = started(*words, "--jobs", "2", processes=2)
    time.sleep(0.5)
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 1.0
    assert (process.returncode, out, err) == (1, "", "interrupted\n")
    with pytest.raises(ProcessLookupError):
        while time.monotonic() - start < 5.0:  # the helper of multiprocessing ends after its parent
            os.killpg(process.pid, 0)
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        pytest.param(["--seeds", "300"], "seeds", id="seeds"),
        pytest.param(["--exhaustive", "--bound", "1"], "runs", id="search", marks=pytest.mark.long),
    ],
)
def test_a_terminal_sees_how_far_it_is(words: list[str], unit: str) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen([*PROGRAM, *words, "--json"], stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # EIO: nobody has the other end any more
        while data := os.read(ours, 4096):
            shown += data
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and json.loads(out)["failures"] == 0
    counts = {int(count) for count in re.findall(rf"{unit} .*?(\d+)/[\d?]+", shown.decode())}
    assert len(counts) > 2 and max(counts) > 0
