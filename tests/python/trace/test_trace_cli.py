# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep trace` and the same by hand: ranks on the twin and worlds of the simulator. Layer: tests."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import perfetto_schema
import pytest
import trace_calls
from ascend_deepep.cli.app import run
from ascend_deepep.testing import Pool
from ascend_deepep.trace import Recording, load
from ascend_deepep.trace import run as trace_run
from ascend_deepep.trace.run import Made

SMALL = ["--ranks", "2", "--tokens", "4", "--hidden", "128", "--topk", "2", "--experts", "8", "--calls", "2"]


@pytest.fixture(autouse=True)
def one_pool(ranks: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_deepep.testing.Pool", lambda: contextlib.nullcontext(ranks))


def trace(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any], str]:
    code = run(["trace", "--json", *words])
    out, err = capfd.readouterr()
    return code, json.loads(out.splitlines()[-1]), err


def check_files(folder: Path, value: dict[str, Any]) -> Recording:
    """The files are there, agree, and are what viewers take."""
    timeline = json.loads((folder / "timeline.json").read_text())
    assert perfetto_schema.problems(timeline) == []
    recording = load(folder / "recording.json.gz")
    assert {name: len(getattr(recording, name)) for name in value["events"]} == value["events"]
    summary = " ".join((folder / "summary.txt").read_text().split())
    for operator in value["operators"]:
        assert operator["sentence"] in summary
        assert sum(part["ns"] for part in operator["parts"]) == pytest.approx(operator["ns"], rel=0.02)
    return recording


def check_calls(recording: Recording, num_calls: int) -> None:
    assert Counter((call.rank, call.name) for call in recording.calls) == {
        (rank, name): num_calls for rank in range(recording.num_ranks) for name in ("dispatch_v2", "combine_v2")
    }
    # Each copy and each row, and each message to the other rank, was written once and read by the other rank.
    regions = {write.region for write in recording.writes if write.peer != write.rank}
    assert regions == {"control ring", "dispatch half", "combine half"}
    read = {one.write for one in recording.collected}
    assert [write for number, write in enumerate(recording.writes) if number not in read] == []
    for one in recording.collected:
        assert one.write is not None
        write = recording.writes[one.write]
        assert (write.peer, write.rank) == (one.rank, one.source) and write.left_ns <= one.at_ns


def test_ranks_of_the_twin(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, value, err = trace(capfd, *SMALL, "--out", str(tmp_path / "new" / "trace"), "--plot", str(tmp_path / "cores"))
    assert code == 0, err
    assert value["exact"] and value["source"] == "twin" and value["dropped"] == 0
    recording = check_files(tmp_path / "new" / "trace", value)
    check_calls(recording, 2)
    assert len(recording.wqes) == sum(write.region == "dispatch half" for write in recording.writes)
    assert {Path(name).name for name in value["files"]} >= {"cores.png", "cores.svg", "timeline.json"}
    again = tmp_path / "again"
    code, second, err = trace(capfd, "--from", str(tmp_path / "new/trace/recording.json.gz"), "--out", str(again))
    assert code == 0, err
    assert second["operators"] == value["operators"]
    assert (again / "timeline.json").read_bytes() == (tmp_path / "new/trace/timeline.json").read_bytes()


def test_reading_writes_nothing_unless_asked(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert trace(capfd, *SMALL, "--sim", "--cores", "5")[0] == 0
    before = {path: path.read_bytes() for path in (tmp_path / "trace").rglob("*") if path.is_file()}
    assert trace(capfd, "--from", "trace/recording.json.gz")[0] == 0
    assert trace(capfd, "--from-msprof", "trace/msprof")[0] == 0
    code, value, _ = trace(capfd, "--from", "trace/recording.json.gz", "--out", "trace")
    assert code == 2 and "would write over" in value["error"]["message"]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_few_events_are_told(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, value, err = trace(capfd, *SMALL, "--events", "50", "--out", str(tmp_path))
    assert code == 0, err
    assert value["dropped"] > 0 and "raise --events" in value["notes"][0]
    assert perfetto_schema.problems(json.loads((tmp_path / "timeline.json").read_text())) == []


def test_the_msprof_folder_is_read_back(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [*SMALL, "--sim", "--cores", "5", "--out", str(tmp_path / "one")]
    assert trace(capfd, *words)[0] == 0
    code, value, err = trace(capfd, "--from-msprof", str(tmp_path / "one/msprof"), "--out", str(tmp_path / "two"))
    assert code == 0, err
    assert len(value["calls"]) == 8
    calls = [
        (call.rank, call.name, call.end_ns - call.start_ns) for call in load(tmp_path / "one/recording.json.gz").calls
    ]
    back = [
        (call.rank, call.name, call.end_ns - call.start_ns) for call in load(tmp_path / "two/recording.json.gz").calls
    ]
    assert back == calls
    assert perfetto_schema.problems(json.loads((tmp_path / "two/timeline.json").read_text())) == []
    assert trace(capfd, *words)[0] == 0  # over the one before


@pytest.mark.parametrize("engine", ["mte", "urma"])
def test_a_world_of_the_simulator(capfd: pytest.CaptureFixture[str], tmp_path: Path, engine: str) -> None:
    words = [*SMALL, "--sim", "--cores", "5", "--combine-engine", engine, "--out", str(tmp_path)]
    code, value, err = trace(capfd, *words)
    assert code == 0, err
    assert value["source"] == "simulator"
    recording = check_files(tmp_path, value)
    check_calls(recording, 2)
    first = (tmp_path / "timeline.json").read_bytes()
    assert trace(capfd, *words)[0] == 0
    assert (tmp_path / "timeline.json").read_bytes() == first  # virtual time


def test_a_trace_of_wrong_results_is_none(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Made(Recording("twin", 2), ["rank 1, round 0: 3 of 512 elements are not x times the sum of its weights"])
    monkeypatch.setattr(trace_run, "trace_twin", lambda *_: wrong)
    code, value, err = trace(capfd, *SMALL, "--out", str(tmp_path))
    assert code == 1 and not value["exact"]
    assert "rank 1, round 0" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--ranks", "3"], "256 experts cannot be divided among 3 ranks"),
        (["--calls", "0"], "--calls 0 is outside [1, 1000]"),
        (["--events", "0"], "--events 0 is outside"),
        (["--cores", "8"], "--cores does not go with the twin: it goes with --sim"),
        (["--sim", "--dtype", "int8"], "--dtype does not go with --sim"),
        (["--sim", "--ranks", "1"], "ranks of a large world"),
        (["--sim", "--from", "x.json"], "--sim and --from exclude each other"),
        (["--from", "absent.json"], "absent.json is no recording"),
        (["--from-msprof", "."], "holds no op_summary"),
        (["--from", "x.json", "--from-msprof", "."], "--from and --from-msprof exclude each other"),
        (["--rank", "0"], "--rank goes with --plot"),
        (["--dtype", "fp4"], "--dtype 'fp4' is not one of"),
        (["--out", "/dev/null/x"], "--out /dev/null/x: Not a directory"),
    ],
)
def test_mistakes(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, value, _ = trace(capfd, *words)
    assert code == 2
    assert why in value["error"]["message"]


def test_communicators_are_traced_by_hand(ranks: Pool) -> None:
    results = ranks.run(trace_calls.gathered, 2)
    assert results[0][0] == results[1][0]  # every rank has the whole recording
    check_calls(results[0][0], 1)
    assert [name for name, _, _ in results[0][0].calls[0].shapes][:2] == ["x", "expert_ids"]
    for _, errors in results:
        none, zero, twice = errors
        assert "start one first" in none and "events = 0 is outside" in zero and "stop it first" in twice
