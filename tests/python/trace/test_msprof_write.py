# SPDX-License-Identifier: Apache-2.0
"""A recording as msprof's folder, and back. Layer: tests, no ranks."""

from __future__ import annotations

import csv
import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.trace.msprof import columns, read_folder, show_profile, write_folder
from ascend_deepep.trace.recording import COMBINE, DISPATCH, Call, Recording, Stage
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.trace.msprof_recordings import small_recording

pytestmark = pytest.mark.fast

WHEN = datetime(2026, 6, 15, 9, 30, 11, 42_000)


def rows(folder: Path, pattern: str) -> list[dict[str, str]]:
    """Of all tables that match, in the order of their paths."""
    found = []
    for path in sorted(folder.rglob(pattern)):
        with path.open(newline="") as stream:
            found += csv.DictReader(stream)
    return found


def by_start(calls: list[Call]) -> list[Call]:
    return sorted(calls, key=lambda call: (call.start_ns, call.rank, call.number))


def test_files_have_msprofs_names_and_columns(tmp_path: Path) -> None:
    files = write_folder(small_recording(), tmp_path, WHEN)
    prof = next(tmp_path.glob("PROF_000001_20260615093011042_*"))
    output = prof / "mindstudio_profiler_output"
    assert {path.name for path in output.iterdir()} == {
        "op_summary_20260615093011.csv",
        "op_statistic_20260615093011.csv",
        "task_time_20260615093011.csv",
        "msprof_20260615093011.json",
        "README.txt",
    }
    assert len(prof.name) == 46  # six digits, seventeen, eight and eight
    launch = next(tmp_path.glob("OPPROF_*")) / "device1/dispatch_v2/0"
    assert {path.name for path in launch.iterdir()} == {
        "OpBasicInfo_20260615093011042.csv",
        "PipeUtilization_20260615093011042.csv",
    }
    assert sorted(files) == sorted(path for path in tmp_path.rglob("*") if path.is_file())
    header = (output / "op_summary_20260615093011.csv").read_text().splitlines()[0]
    assert tuple(header.split(",")) == columns.OP_SUMMARY


def test_what_the_twin_knows_is_there_and_the_rest_is_empty(tmp_path: Path) -> None:
    write_folder(small_recording(), tmp_path, WHEN)
    summary = rows(tmp_path, "op_summary_*.csv")
    assert [row["Op Name"] for row in summary] == [
        "dispatch_v2_rank0_call0",
        "combine_v2_rank0_call1",
        "dispatch_v2_rank1_call0",
        "combine_v2_rank1_call1",
    ]
    first, second, _, last = summary
    assert first["Task Duration(us)"] == "4.123"
    assert first["Task Wait Time(us)"] == ""  # no task before it
    assert second["Task Wait Time(us)"] == "1.878"
    assert last["Task Wait Time(us)"] == "1"
    assert first["Input Shapes"] == "128,7168;128,8"
    assert first["Input Data Types"] == "DT_BF16;INT32"
    # Core 0 ran 4.399 us, core 4 0.2 us.
    assert [row["aiv_time(us)"] for row in summary] == ["", "", "2.299", ""]
    of_pipes = {name for name in columns.OP_SUMMARY if name.startswith(("aic", "aiv", "cube"))} - {"aiv_time(us)"}
    nowhere = of_pipes | {"Model ID", "OP State", "Mix Block Num", "HF32 Eligible", "Context ID", "Output Shapes"}
    assert {row[name] for row in summary for name in nowhere} == {""}
    assert [row["aiv_time(us)"] for row in rows(tmp_path, "PipeUtilization_*.csv")] == ["4.399", "0.2"]


def test_statistic_and_task_time_are_those_of_the_calls(tmp_path: Path) -> None:
    recording = small_recording()
    recording.calls.append(Call(1, 2, DISPATCH, 8_000, 9_500))
    write_folder(recording, tmp_path, WHEN)
    of_rank_1 = [row for row in rows(tmp_path, "op_statistic_*.csv") if row["Device_id"] == "1"]
    assert [list(row.values())[1:] for row in of_rank_1] == [
        ["dispatch_v2", "AI_VECTOR_CORE", "2", "6", "1.5", "3", "4.5", "99.983"],
        ["combine_v2", "AI_VECTOR_CORE", "1", "0.001", "0.001", "0.001", "0.001", "0.017"],
    ]
    assert [row["task_stop(us)"] for row in rows(tmp_path, "task_time_*.csv")][:2] == ["5.123", "1234567.89"]


def test_the_timeline_has_a_process_for_each_rank(tmp_path: Path) -> None:
    write_folder(small_recording(), tmp_path, WHEN)
    events = json.loads(next(tmp_path.rglob("msprof_*.json")).read_text())
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert names == ["Ascend Hardware", "Ascend Hardware", "AIV cores", "Ascend Hardware"]
    spans = {event["name"]: event for event in events if event["ph"] == "X"}
    assert spans["combine_v2_rank1_call1"]["tid"] == 3
    assert (spans["dispatch_v2_rank0_call0"]["ts"], spans["dispatch_v2_rank0_call0"]["dur"]) == (1.0, 4.123)
    assert spans["collect"]["pid"] == spans["wait for rank 0"]["pid"]


def test_a_folder_with_a_recording_is_left_alone(tmp_path: Path) -> None:
    write_folder(small_recording(), tmp_path, WHEN)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=r"already holds OPPROF_2026\S+: name a folder without a recording"):
        write_folder(small_recording(), tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_only_what_was_written_here_is_replaced(tmp_path: Path) -> None:
    write_folder(small_recording(), tmp_path, WHEN)
    files = write_folder(small_recording(), tmp_path, replace=True)
    assert sorted(files) == sorted(path for path in tmp_path.rglob("*") if path.is_file())
    (tmp_path / "PROF_000001_20260615093011042_00004711QMBDFKLA").mkdir()
    with pytest.raises(UsageError, match="already holds PROF_000001_20260615093011042_00004711QMBDFKLA"):
        write_folder(small_recording(), tmp_path, replace=True)
    assert all(path.is_file() for path in files)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match=r"file/out cannot be written: Not a directory"):
        write_folder(small_recording(), tmp_path / "file/out")


def test_the_small_recording_comes_back(tmp_path: Path) -> None:
    recording = small_recording()
    write_folder(recording, tmp_path)
    profile = read_folder(tmp_path)
    assert profile.recording == replace(recording, calls=by_start(recording.calls))
    assert (profile.missing, profile.unknown, profile.absent, profile.others) == ({}, {}, [], [])
    launch = profile.operators[0]
    assert (launch.rank, launch.number, launch.name, launch.cores) == (1, 0, DISPATCH, 8)
    assert [(core.core, core.duration_ns) for core in launch.per_core] == [(0, 4_399), (4, 200)]


def test_launches_come_by_rank_and_call(tmp_path: Path) -> None:
    calls = [
        Call(rank, number, (DISPATCH, COMBINE)[number % 2], number, number + 1)
        for rank in (0, 1)
        for number in range(4)
    ]
    stages = [Stage(call.rank, 0, call.number, "collect", call.start_ns, call.end_ns) for call in calls]
    write_folder(Recording("twin", 2, calls, stages), tmp_path)
    found = [(row.rank, row.number, row.name) for row in read_folder(tmp_path).operators]
    assert found == [(call.rank, call.number, call.name) for call in calls]


def shown(folder: Path) -> dict[str, object]:
    with redirect_stdout(io.StringIO()) as text:
        assert show_profile(folder, as_json=True) == 0
    value: dict[str, object] = json.loads(text.getvalue())
    return value


times = st.integers(0, 10**15)  # eleven days, in nanoseconds


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Ranks with any number of calls, some cores with stages; lists in the order of their start."""
    num_ranks = draw(st.integers(1, 4))
    calls, stages = [], []
    for rank in range(num_ranks):
        for number in range(draw(st.integers(0, 3))):
            start, length = draw(times), draw(st.integers(0, 10**10))
            cores = draw(st.none() | st.integers(1, 72))
            sizes = draw(st.lists(st.integers(0, 9), max_size=3))
            shapes = tuple((f"in{i}", draw(st.sampled_from(sorted(columns.CANN_DTYPES))), f"{n},8") for i, n in
                           enumerate(sizes))  # fmt: skip
            stream = draw(st.none() | st.integers(0, 9))
            name = draw(st.sampled_from((DISPATCH, COMBINE)))
            calls.append(Call(rank, number, name, start, start + length, cores, stream, shapes))
            for core in range(draw(st.integers(0, 2))):
                stages.append(Stage(rank, core, number, "collect", start, start + length))
    stages.sort(key=lambda row: (row.start_ns, row.rank, row.core))
    return Recording(draw(st.sampled_from(("twin", "simulator"))), num_ranks, by_start(calls), stages)


@settings(max_examples=15, deadline=None)
@given(recordings())
def test_any_recording_comes_back_and_its_table_with_it(recording: Recording) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as two:
        write_folder(recording, one, WHEN)
        profile = read_folder(one)
        assert profile.recording == recording
        write_folder(profile.recording, two, WHEN)
        if recording.calls:
            assert shown(Path(one)) == shown(Path(two))
