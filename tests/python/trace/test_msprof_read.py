# SPDX-License-Identifier: Apache-2.0
"""Folders as NPUs have them: the sample in the package, other layouts, and mistakes. Layer: tests, no ranks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import ascend_deepep
import pytest
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.trace.msprof import call_table, columns, print_profile, read_folder, show_profile, write_folder
from ascend_deepep.trace.msprof.values import Cell, microseconds
from ascend_deepep.trace.recording import COMBINE, DISPATCH, Call

from tests.python.trace.msprof_recordings import small_recording

pytestmark = pytest.mark.fast

SAMPLE = Path(ascend_deepep.__file__).parent / "data/msprof_sample"
HEADER = (
    "Device_id,Task ID,Stream ID,Op Name,OP Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Num"
)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "sample"))


def export(folder: Path, name: str, *lines: str) -> Path:
    """A table of one process, at the place where msprof puts it."""
    path = folder / "PROF_000001_1_1/mindstudio_profiler_output" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_samples_calls() -> None:
    profile = read_folder(SAMPLE / "msprof")
    assert (profile.source, profile.num_ranks) == ("npu", 2)
    assert [(row.rank, row.number, row.name, row.duration_ns) for row in profile.calls] == [
        (0, 0, DISPATCH, 86_420),
        (0, 1, COMBINE, 61_075),
        (0, 2, DISPATCH, 84_900),
        (0, 3, COMBINE, 60_500),
        (1, 0, DISPATCH, 89_020),
        (1, 1, COMBINE, 62_255),
    ]
    # The first row of the folder is another operator, of device 0, at ...042016.120.
    assert [row.start_ns for row in profile.calls] == [15_380, 519_760, 688_130, 775_880, 12_780, 518_580]
    assert [row.wait_ns for row in profile.calls] == [5_540, 2_960, 3_050, 2_850, None, None]
    assert {(row.cores, row.stream) for row in profile.calls} == {(48, 2)}
    assert profile.calls[0].shapes == (("", "bfloat16", "128,7168"), ("", "int32", "128,8"))
    assert profile.calls[2].shapes == ()  # through aclnn; N/A
    assert profile.calls[0].pipes["aiv_vec_ratio"] == 0.412
    assert profile.calls[0].pipes["aic_total_cycles"] == 0  # an NPU's 0 is a value


def test_the_samples_unknown_and_missing_columns_are_named() -> None:
    profile = read_folder(SAMPLE / "msprof")
    second = "PROF_000002_20260615093011055_00004712HJREWTZP/mindstudio_profiler_output/op_summary_20260615093021.csv"
    assert profile.missing == {second: ["Task Wait Time(us)", "aiv_icache_miss_rate"]}
    assert profile.unknown == {second: ["aiv_reg_0x501"]}
    assert [row.more for row in profile.calls[3:]] == [{}, {"aiv_reg_0x501": "40212"}, {"aiv_reg_0x501": "38117"}]
    assert [Path(name).name for name in profile.absent] == ["msprof_*.json", "op_statistic_*.csv", "task_time_*.csv"]


def test_the_samples_other_operators_are_counted() -> None:
    others = read_folder(SAMPLE / "msprof").others
    assert [(row.name, row.count, row.total_ns) for row in others] == [
        ("GroupedMatmul", 2, 823_800),
        ("MoeDistributeDispatchV2", 1, 101_200),
        ("MoeGatingTopK", 1, 9_840),
    ]


def test_the_samples_recording_has_its_calls() -> None:
    recording = read_folder(SAMPLE / "msprof").recording
    assert (recording.source, recording.num_ranks, recording.stages) == ("npu", 2, [])
    assert [(call.rank, call.number) for call in recording.calls] == [(1, 0), (0, 0), (1, 1), (0, 1), (0, 2), (0, 3)]
    assert recording.calls[0] == Call(
        1, 0, DISPATCH, 12_780, 101_800, 48, 2, (("", "bfloat16", "128,7168"), ("", "int32", "128,8"))
    )


def test_the_sample_of_msopprof() -> None:
    profile = read_folder(SAMPLE / "msopprof")
    assert profile.calls == []
    (launch,) = profile.operators
    assert (launch.name, launch.device, launch.rank, launch.duration_ns, launch.cores) == (DISPATCH, 0, None, 88_140, 3)
    assert [core.duration_ns for core in launch.per_core] == [79_500, 80_263, 41_000]
    assert launch.per_core[2].pipes["aiv_scalar_ratio"] == 0.5
    assert launch.per_core[2].more == {"aiv_simt_wait_ratio": "0.31"}
    assert profile.recording.calls == []  # it has no place in time


def test_both_samples_at_once_and_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_profile(SAMPLE, as_json=True) == 0
    value = json.loads(capsys.readouterr().out)
    assert (len(value["calls"]), len(value["launches"])) == (6, 1)
    assert value["calls"][4]["wait_us"] is None
    assert show_profile(SAMPLE, as_json=False, most_rows=5) == 0
    text = capsys.readouterr().out
    for words in (
        "1 more calls: --json has all",
        "other operators, 4 rows: GroupedMatmul 2x 823.8 us",
        "no column Task Wait Time(us), aiv_icache_miss_rate: msprof/PROF_000002",
        "columns kept as they are aiv_simt_wait_ratio: msopprof/OPPROF_",
        "npu: 6 calls on 2 ranks, 1 launch on 1 device",
    ):
        assert words in text
    table = call_table(read_folder(SAMPLE))
    assert (table.row_count, len(table.columns)) == (6, 13)


def test_the_samples_own_files_agree() -> None:
    """op_statistic, task_time and the timeline, which are not read for calls, tell what op_summary tells."""
    (folder,) = SAMPLE.glob("msprof/PROF_000001*/*")
    lines = {name: next(folder.glob(f"{name}_*")).read_text() for name in ("op_statistic", "task_time", "msprof")}
    for row in read_folder(SAMPLE / "msprof").calls[:4]:
        assert f",{microseconds(row.duration_ns)}," in lines["op_statistic"]
        assert f",{microseconds(row.duration_ns)}," in lines["task_time"]
    assert [event["dur"] for event in json.loads(lines["msprof"]) if event["ph"] == "X"] == [86.42, 61.075]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (("dispatch_v2", "N/A"), DISPATCH),
        (("_Z11dispatch_v2Ph", ""), DISPATCH),
        (("combine_v2_0_mix_aiv", ""), COMBINE),
        (("aclnnCombineV2_CombineV2_CombineV2", "CombineV2"), COMBINE),
        (("te_op_5", "DispatchV2"), DISPATCH),
        (("aclnnMoeDistributeDispatchV2_MoeDistributeDispatchV2", "MoeDistributeDispatchV2"), None),
        (("moe_distribute_dispatch_v2", "N/A"), None),
        (("dispatch_v2x", ""), None),
        (("dispatch_v21", ""), None),
    ],
)
def test_names_of_our_operators(texts: tuple[str, str], name: str | None) -> None:
    assert columns.operator_name(*texts) == name


def test_devices_become_ranks_in_their_order(tmp_path: Path) -> None:
    export(tmp_path, "op_summary_1.csv", HEADER, *(f"{d},1,0,dispatch_v2,,1{d},2,0,48" for d in (6, 4, 7)))
    rows = read_folder(tmp_path).calls
    assert [(row.rank, row.device) for row in rows] == [(0, 4), (1, 6), (2, 7)]
    assert [row.start_ns for row in rows] == [0, 2_000, 3_000]


def test_a_rank_that_torch_npus_profiler_wrote_beside_it_counts(tmp_path: Path) -> None:
    for rank, device in ((5, 0), (2, 1)):
        below = tmp_path / f"host_{rank}_ascend_pt"
        export(below, "op_summary_1.csv", HEADER, f"{device},1,0,dispatch_v2,,10,2,0,48")
        (below / f"profiler_info_{rank}.json").write_text("{}")
    profile = read_folder(tmp_path)
    assert [(row.rank, row.device) for row in profile.calls] == [(2, 1), (5, 0)]
    assert profile.num_ranks == 6


def test_kernel_details_of_torch_npu(tmp_path: Path) -> None:
    (tmp_path / "kernel_details.csv").write_text(
        "Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
        '3,0,dispatch_v2,N/A,AI_VECTOR_CORE,"1781515811042031.500\t",86.42,1,48\n'
    )
    (row,) = read_folder(tmp_path).calls
    assert (row.duration_ns, row.wait_ns, row.cores, row.start_ns) == (86_420, 1_000, 48, 0)


def test_task_time_stands_in_where_op_summary_was_not_exported(sample: Path) -> None:
    for path in (sample / "msprof").rglob("op_summary*"):
        path.unlink()
    profile = read_folder(sample / "msprof")
    assert [row.duration_ns for row in profile.calls] == [86_420, 61_075, 84_900, 60_500]
    assert {row.name for row in profile.others} >= {"aclnnMoeGatingTopK_MoeGatingTopK_MoeGatingTopK"}  # no types there
    assert "op_summary_*.csv" in [Path(name).name for name in profile.absent]


def test_slices_are_one_table_and_an_older_export_is_left_out(tmp_path: Path) -> None:
    row = "0,1,0,dispatch_v2,,{},2,0,48"
    export(tmp_path, "op_summary_slice_0_20260101000002.csv", HEADER, row.format(10))
    export(tmp_path, "op_summary_slice_1_20260101000002.csv", HEADER, row.format(20))
    older = export(tmp_path, "op_summary_20260101000001.csv", HEADER, row.format(10))
    profile = read_folder(tmp_path)
    assert [call.start_ns for call in profile.calls] == [0, 10_000]
    assert profile.older == [older.relative_to(tmp_path).as_posix()]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,1,0,dispatch_v2,,10,fast,0,48", r"row 2, column 'Task Duration\(us\)': 'fast' is not a number of micros"),
        ("0,1,0,dispatch_v2,,10,nan,0,48", r"column 'Task Duration\(us\)': 'nan' is not a number"),
        ("0,1,0,dispatch_v2,,10,-3,0,48", r"column 'Task Duration\(us\)': '-3' is negative"),
        ("0,1,0,dispatch_v2,,10,N/A,0,48", r"column 'Task Duration\(us\)': no value, and every row needs one"),
        ("0,1,0,dispatch_v2,,1e30,2,0,48", r"column 'Task Start Time\(us\)': '1e30' is more microseconds than"),
        ("0,1,0,dispatch_v2,,10,2,0,many", r"column 'Block Num': 'many' is not a whole number"),
        ("0,1,0,dispatch_v2,,10,2", r"row 2: 7 cells, the header has 9: was the file cut off"),
        ("0,1,0,dispatch_v2,,10,2,0,48,9", r"row 2: 10 cells, the header has 9"),
    ],
)
def test_a_wrong_value_names_file_row_and_column(tmp_path: Path, line: str, message: str) -> None:
    path = export(tmp_path, "op_summary_1.csv", HEADER, line)
    with pytest.raises(UsageError, match=message) as raised:
        read_folder(tmp_path)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty: it has not even a row of column names"),
        (b"\xff\xfe\x00", "is not a CSV file in UTF-8"),
        (b"Device_id,Op Name\n", r"has no column 'Task Duration\(us\)' or 'Duration\(us\)' or 'task_time\(us\)'"),
        (b"Op Name,Op Name,Task Duration(us)\n", "row 1: column 'Op Name' stands there twice"),
    ],
)
def test_a_file_that_is_no_table(tmp_path: Path, content: bytes, message: str) -> None:
    path = export(tmp_path, "op_summary_1.csv")
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_folder(tmp_path)


LABEL = '{"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "twin 0"}}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"[{LABEL}", "is not JSON"),
        (f'{{"events": {LABEL}}}', "is not a Chrome trace"),
        (
            f'[{LABEL}, {{"ph": "X", "name": "collect", "cat": "stage", "pid": 1, "tid": 0, "ts": 1, "dur": 1,'
            ' "args": {}}]',
            r"event 1 \('collect'\) is not what the twin writes: KeyError\('call'\)",
        ),
        (
            f'[{LABEL}, {{"ph": "X", "name": "a", "cat": "stage", "pid": 1, "tid": 0, "ts": "x", "dur": 1,'
            ' "args": {"call": 0}}]',
            r"event 1, ts: 'x' is not a number of microseconds",
        ),
    ],
)
def test_a_timeline_of_the_twin_that_is_damaged(tmp_path: Path, content: str, message: str) -> None:
    table = export(tmp_path, "op_summary_1.csv", HEADER, "0,1,0,dispatch_v2,,10,2,0,48")
    (table.parent / "msprof_1.json").write_text(content)
    with pytest.raises(UsageError, match=message):
        read_folder(tmp_path)


def test_the_timeline_of_an_npu_is_not_opened(tmp_path: Path) -> None:
    table = export(tmp_path, "op_summary_1.csv", HEADER, "0,1,0,dispatch_v2,,10,2,0,48")
    (table.parent / "msprof_1.json").write_text('[{"ph": "M", "args": {"labels": "NPU"}}, gigabytes of')
    assert len(read_folder(tmp_path).calls) == 1


def test_folders_without_a_recording(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere is not there: name a folder"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"holds no op_summary\*.csv, .* one above"):
        read_folder(tmp_path)
    path = export(tmp_path, "op_summary_1.csv", HEADER, "0,1,0,Add,Add,10,2,0,48")
    with pytest.raises(UsageError, match="is a file: name the folder"):
        read_folder(path)
    profile = read_folder(tmp_path)
    with pytest.raises(UsageError, match="is dispatch_v2 or combine_v2; there are 1 others, such as Add"):
        print_profile(profile, as_json=False)


def test_two_recordings_of_the_twin_are_not_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_folder(small_recording(), tmp_path / name)
    with pytest.raises(UsageError, match="call 0 of rank 0 is there twice: the folder holds two recordings"):
        read_folder(tmp_path)


@pytest.mark.parametrize(("text", "expected"), [("155.740005", 155_740), ("1e-99999", 0), ("0", 0), (" NA ", None)])
def test_microseconds_are_read_to_the_nanosecond(text: str, expected: int | None) -> None:
    assert Cell("there", text).nanoseconds() == expected


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (1, "0.001"), (1_000, "1"), (1_230, "1.23"), (100_000, "100")])
def test_microseconds_are_written_as_msprof_does(value: int, text: str) -> None:
    assert microseconds(value) == text
