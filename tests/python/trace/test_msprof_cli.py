# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep trace` and the folders of profilers: what it writes is what it reads. Layer: tests."""

from __future__ import annotations

import json
from pathlib import Path

import ascend_deepep
import pytest
from ascend_deepep.cli.app import run
from ascend_deepep.trace.storage import load

SAMPLE = Path(ascend_deepep.__path__[0]) / "data" / "msprof_sample"


def test_a_recording_comes_back_from_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A world of the simulator: recorded, written, read, the same calls to the nanosecond and the same timeline."""
    there, back = tmp_path / "there", tmp_path / "back"
    words = ["--ranks", "2", "--tokens", "2", "--hidden", "64", "--topk", "2", "--experts", "4", "--calls", "2"]
    assert run(["trace", "--sim", *words, "--out", str(there), "--json"]) == 0
    assert str(there / "msprof") in json.loads(capsys.readouterr().out)["files"]
    assert run(["trace", "--from-msprof", str(there), "--out", str(back), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["calls"]
    recorded, read = load(there / "recording.json.gz"), load(back / "recording.json.gz")
    assert [(call.rank, call.name, call.end_ns - call.start_ns) for call in read.calls] == [
        (call.rank, call.name, call.end_ns - call.start_ns) for call in recorded.calls
    ]
    assert len(rows) == len(recorded.calls) == 8
    assert {(stage.rank, stage.core, stage.stage, stage.end_ns - stage.start_ns) for stage in read.stages} == {
        (stage.rank, stage.core, stage.stage, stage.end_ns - stage.start_ns) for stage in recorded.stages
    }
    timelines = [json.loads((folder / "timeline.json").read_text())["traceEvents"] for folder in (there, back)]
    spans = [sum(event["ph"] == "X" and event.get("cat") == "call" for event in events) for events in timelines]
    assert spans[0] == spans[1] == 8
    assert run(["trace", "--sim", *words, "--out", str(there), "--json"]) == 0  # once more into the same folder
    capsys.readouterr()
    assert run(["trace", "--from-msprof", str(there), "--out", str(back), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["calls"]) == 8


def test_the_sample_of_an_npu_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", "--from-msprof", str(SAMPLE), "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "dispatch_v2" in out and "combine_v2" in out and "written: " in err
    assert (tmp_path / "timeline.json").exists() and not (tmp_path / "summary.txt").exists()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--from-msprof", "{}/none"], "none"),
        (["--from-msprof", "{}", "--ranks", "2"], "--ranks does not go with --from-msprof"),
        (["--from-msprof", "{}", "--sim"], "--sim and --from-msprof exclude each other"),
        (["--from-msprof", str(SAMPLE), "--plot", "{}/x"], "the timeline has the calls"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", *(word.format(tmp_path) for word in words), "--out", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and part in err and err.count("\n") == 1
