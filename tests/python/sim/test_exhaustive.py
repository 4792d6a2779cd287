# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim --exhaustive`: what it counts, what it finds, and one run again. Layer: tests."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from ascend_deepep import _simulator
from ascend_deepep.cli.app import run
from ascend_deepep.simulator.mutants import build, checkout, copy_sources
from sim_cli import running_kernels, sim, started, value_of

ROOT = checkout(Path(__file__).resolve())


def search(*words: str) -> tuple[int, dict[str, Any]]:
    done = sim("--exhaustive", *words, "--json")
    return done.returncode, value_of(done)


def test_every_single_delay_is_withstood_and_counted() -> None:
    status, value = search("--bound", "1")
    assert status == 0
    assert (value["bound"], value["is_complete"], value["failures"], value["failed"]) == (1, True, 0, [])
    assert [world["world"] for world in value["worlds"]] == _simulator.search_worlds()
    assert value["runs"] == sum(world["runs"] for world in value["worlds"])
    for world in value["worlds"]:
        assert world["is_complete"]
        assert 500 < world["runs"] < world["replayed"]
        assert world["runs"] / 2 < world["different"] <= world["runs"]


def test_a_failure_is_a_line_that_replays_with_its_timeline(tmp_path: Path) -> None:
    status, value = search("--bound", "1", "--drop", "a1")
    assert (status, value["is_complete"]) == (1, False)
    finding = next(finding for finding in value["findings"] if finding["world"] == "dispatch")
    assert finding["checker"] == "unwritten"
    words = shlex.split(finding["replay"])
    assert words[:3] == ["ascend-deepep", "sim", "--exhaustive"]
    path = tmp_path / "trace.json"
    status, again = search(*words[3:], "--trace", str(path))
    assert (status, again["outcome"], again["checker"], again["text"]) == (1, "failed", "unwritten", finding["text"])
    assert again["replay"] == finding["replay"]
    assert json.loads(path.read_text())["traceEvents"]


def test_a_limit_is_no_failure_and_said() -> None:
    status, value = search("--bound", "2", "--max-seconds", "1")
    assert (status, value["is_complete"], value["failures"]) == (0, False, 0)


@pytest.mark.long
def test_two_tokens_a_rank_are_other_worlds() -> None:
    status, one = search("--bound", "0")
    status_of_two, two = search("--bound", "0", "--tokens", "2")
    assert (status, one["tokens"], status_of_two, two["tokens"]) == (0, 1, 0, 2)
    for world, larger in zip(one["worlds"], two["worlds"], strict=True):
        assert world["points"] < larger["points"]
    status, value = search("--bound", "1", "--tokens", "2", "--drop", "a1", "--max-failures", "1")
    assert status == 1
    for finding in value["findings"]:
        assert "--tokens 2 --drop a1" in finding["replay"]
        status, again = search(*shlex.split(finding["replay"])[3:])
        assert (status, again["tokens"], again["text"]) == (1, 2, finding["text"])
        assert again["replay"] == finding["replay"]


@pytest.mark.long
def test_kernels_that_crash_are_a_failure_with_a_line_that_replays(tmp_path: Path) -> None:
    sources = copy_sources(ROOT, tmp_path)
    path = sources / "combine/reduce.h"
    text = path.read_text()
    assert text.count("inline void reduce(") == 1
    head, body = text.split("inline void reduce(")
    path.write_text(f"{head}inline void reduce({body.replace('{', '{ __builtin_trap();', 1)}")
    module = build(ROOT, sources)
    status, value = search("--bound", "1", "--kernels", str(module))
    assert (status, value["is_complete"]) == (1, False)
    assert [world["is_complete"] for world in value["worlds"]] == [True, True, False, False]
    assert [finding["world"] for finding in value["findings"]] == ["combine-mte", "combine-urma"]
    for finding in value["findings"]:
        assert finding["checker"] == "process"
        assert finding["text"] == "its process was ended by SIGILL"
        words = shlex.split(finding["replay"])
        assert words[3:] == ["--delays", f"{finding['world']}:", "--kernels", str(module)]
        status, again = search(*words[3:])
        assert (status, again["hash"], again["checker"], again["text"]) == (1, None, "process", finding["text"])


@pytest.mark.long
def test_a_crash_names_the_delays_of_the_run() -> None:
    process = started("--exhaustive", "--bound", "2", "--max-seconds", "4", "--jobs", "4", "--json", processes=4)
    victim = running_kernels(process)[0]
    time.sleep(1.0)
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "")
    value = json.loads(out)
    (finding,) = value["findings"]
    assert (finding["checker"], finding["text"]) == ("process", "its process was ended by SIGKILL")
    words = shlex.split(finding["replay"])
    assert re.fullmatch(rf"{finding['world']}:\d+[lpt]?(,\d+[lpt]?)?", words[-1])
    status, again = search(*words[3:])
    assert (status, again["outcome"]) == (0, "held")  # it was not the kernels


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--seed", "3"], "--seed does not go with --exhaustive: it goes with --seed"),
        (["--fault", "rank-dies"], "--fault does not go with --exhaustive"),
        (["--set", "ranks=2"], "--set does not go with --exhaustive"),
        (["--no-shrink"], "--no-shrink does not go with --exhaustive"),
        (["--trace", "t.json"], "--trace does not go with --exhaustive"),
        (["--delays", "dispatch:3", "--bound", "1"], "--bound does not go with --exhaustive --delays"),
        (["--delays", "dispatch:3", "--jobs", "1"], "--jobs does not go with --exhaustive --delays"),
        (["--bound", "9"], "--bound 9 is outside [0, 4]"),
        (["--tokens", "3"], "--tokens 3 is outside [1, 2]"),
        (["--max-failures", "0"], "--max-failures 0 is outside"),
        (["--kernels", "none.so"], "none.so"),
        (["--delays", "nothing:3"], "no world 'nothing'"),
        (["--delays", "dispatch:x"], "no delay"),
        (["--delays", "dispatch:9999999"], "no such points"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sim", "--exhaustive", *words]) == 2
    said = capsys.readouterr()
    assert said.out == "" and part in said.err and said.err.count("\n") == 1
