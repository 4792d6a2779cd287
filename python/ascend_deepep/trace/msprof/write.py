# SPDX-License-Identifier: Apache-2.0
"""A recording as the folder that msprof would have exported. Layer: Python, no torch.

What has no meaning where the recording comes from is empty, never 0. Files whose columns would all be empty are not
written. Times are the recording's own: microseconds from its first event, where an NPU has those since 1970.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from ascend_deepep.demo.usage import UsageError
from ascend_deepep.trace.msprof import columns
from ascend_deepep.trace.msprof.values import microseconds
from ascend_deepep.trace.msprof.write_timeline import write_timeline
from ascend_deepep.trace.recording import Call, Recording

_Row = Mapping[str, object]
# Where msprof and msopprof have random letters; as many of them.
_MARK = "DEEPTWIN"
_LONG_MARK = "ASCENDEP" + _MARK
_CoreTimes = dict[tuple[int, int], dict[int, int]]  # by rank and call: ns of each core


def write_folder(
    recording: Recording, folder: Path | str, when: datetime | None = None, *, replace: bool = False
) -> list[Path]:
    """Write PROF_* (msprof) and, where the cores' stages are known, OPPROF_* (msopprof) below `folder`.

    `when` goes into the names, as with msprof; now, if None. `replace`: folders that this function has written there
    before go. Returns the files. UsageError: the folder holds another such recording, or cannot be written.
    """
    folder = Path(folder)
    when = when or datetime.now()
    stamp = when.strftime("%Y%m%d%H%M%S")
    long_stamp = stamp + f"{when.microsecond // 1000:03d}"
    try:
        taken = sorted(path for pattern in ("PROF_*", "OPPROF_*") for path in folder.glob(pattern))
        for path in taken:
            if not (replace and path.name.endswith(_MARK)):
                raise UsageError(f"{folder} already holds {path.name}: name a folder without a recording")
        for path in taken:
            shutil.rmtree(path)
        return _write(recording, folder, stamp, long_stamp)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}") from None


def _write(recording: Recording, folder: Path, stamp: str, long_stamp: str) -> list[Path]:
    output = folder / f"PROF_000001_{long_stamp}_{os.getpid() % 10**8:08d}{_MARK}" / columns.OUTPUT
    core_times = _core_times(recording)
    calls = sorted(recording.calls, key=lambda call: (call.rank, call.number))
    files = [
        _table(output / f"op_summary_{stamp}.csv", columns.OP_SUMMARY, _summary(calls, core_times)),
        _table(output / f"op_statistic_{stamp}.csv", columns.OP_STATISTIC, _statistic(calls)),
        _table(output / f"task_time_{stamp}.csv", columns.TASK_TIME, _task_times(calls)),
        write_timeline(recording, output / f"msprof_{stamp}.json"),
        _readme(recording, output / "README.txt"),
    ]
    operators = folder / f"OPPROF_{long_stamp}_{_LONG_MARK}"
    launches: dict[tuple[int, str], int] = {}
    for call in calls:
        if (call.rank, call.number) not in core_times:
            continue
        order = launches.get((call.rank, call.name), 0)
        launches[call.rank, call.name] = order + 1
        place = operators / f"device{call.rank}" / call.name / str(order)
        cores = core_times[call.rank, call.number]
        files += (
            _table(place / f"OpBasicInfo_{long_stamp}.csv", columns.OP_BASIC_INFO, [_basic_info(call)]),
            _table(place / f"PipeUtilization_{long_stamp}.csv", columns.PIPE_UTILIZATION, _pipes(cores)),
        )
    return files


def _table(path: Path, header: Sequence[str], rows: Iterable[_Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, header, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _core_times(recording: Recording) -> _CoreTimes:
    """From a core's first stage in a call to the end of its last."""
    spans: dict[tuple[int, int], dict[int, tuple[int, int]]] = {}
    for stage in recording.stages:
        cores = spans.setdefault((stage.rank, stage.call), {})
        start, end = cores.get(stage.core, (stage.start_ns, stage.end_ns))
        cores[stage.core] = (min(start, stage.start_ns), max(end, stage.end_ns))
    return {call: {core: end - start for core, (start, end) in cores.items()} for call, cores in spans.items()}


def _summary(calls: list[Call], core_times: _CoreTimes) -> Iterable[_Row]:
    waits = _wait_times(calls)
    for call in calls:
        row: dict[str, object] = {
            "Device_id": call.rank,
            "Task ID": call.number,
            "Stream ID": "" if call.stream is None else call.stream,
            "Op Name": columns.numbered_name(call.name, call.rank, call.number),
            "OP Type": call.name,
            "Task Type": columns.VECTOR_CORE,
            "Task Start Time(us)": microseconds(call.start_ns),
            "Task Duration(us)": microseconds(call.end_ns - call.start_ns),
            "Block Num": "" if call.cores is None else call.cores,
            "Input Shapes": ";".join(shape for _, _, shape in call.shapes),
            "Input Data Types": ";".join(columns.CANN_DTYPES.get(dtype, dtype) for _, dtype, _ in call.shapes),
            "Input Formats": ";".join("ND" for _ in call.shapes),
        }
        if call in waits:
            row["Task Wait Time(us)"] = microseconds(waits[call])
        if cores := core_times.get((call.rank, call.number)):
            row["aiv_time(us)"] = microseconds(sum(cores.values()) // len(cores))
        yield row


def _wait_times(calls: list[Call]) -> dict[Call, int]:
    """From the end of the task before it on the device; the first has none."""
    waits, ends = {}, dict[int, int]()
    for call in sorted(calls, key=lambda call: (call.rank, call.start_ns, call.number)):
        if call.rank in ends:
            waits[call] = max(0, call.start_ns - ends[call.rank])
        ends[call.rank] = max(call.end_ns, ends.get(call.rank, call.end_ns))
    return waits


def _statistic(calls: list[Call]) -> Iterable[_Row]:
    times: dict[int, dict[str, list[int]]] = {}
    for call in calls:
        times.setdefault(call.rank, {}).setdefault(call.name, []).append(call.end_ns - call.start_ns)
    for rank, by_name in times.items():
        all_of_rank = sum(sum(durations) for durations in by_name.values())
        for name, durations in sorted(by_name.items(), key=lambda item: -sum(item[1])):
            total = sum(durations)
            yield {
                "Device_id": rank,
                "OP Type": name,
                "Core Type": columns.VECTOR_CORE,
                "Count": len(durations),
                "Total Time(us)": microseconds(total),
                "Min Time(us)": microseconds(min(durations)),
                "Avg Time(us)": microseconds(total // len(durations)),
                "Max Time(us)": microseconds(max(durations)),
                "Ratio(%)": f"{100 * total / all_of_rank:.3f}" if all_of_rank else "",
            }


def _task_times(calls: list[Call]) -> Iterable[_Row]:
    for call in calls:
        yield {
            "Device_id": call.rank,
            "kernel_name": columns.numbered_name(call.name, call.rank, call.number),
            "kernel_type": columns.VECTOR_CORE,
            "stream_id": "" if call.stream is None else call.stream,
            "task_id": call.number,
            "task_time(us)": microseconds(call.end_ns - call.start_ns),
            "task_start(us)": microseconds(call.start_ns),
            "task_stop(us)": microseconds(call.end_ns),
        }


def _basic_info(call: Call) -> _Row:
    return {
        "Op Name": columns.numbered_name(call.name, call.rank, call.number),
        "Op Type": "vector",
        "Task Duration(us)": microseconds(call.end_ns - call.start_ns),
        "Block Dim": "" if call.cores is None else call.cores,
        "Device Id": call.rank,
    }


def _pipes(cores: dict[int, int]) -> Iterable[_Row]:
    for core, nanoseconds in sorted(cores.items()):
        yield {"block_id": core, "sub_block_id": "vector0", "aiv_time(us)": microseconds(nanoseconds)}


def _readme(recording: Recording, path: Path) -> Path:
    path.write_text(
        f"Written by ascend-deepep from a recording of {recording.num_ranks} ranks, source: {recording.source}.\n"
        "Device_id is the rank; times are microseconds from the first event of the recording.\n"
        "A cell is empty where its column has no meaning there. docs/msprof.md of ascend-deepep has the columns.\n"
    )
    return path
