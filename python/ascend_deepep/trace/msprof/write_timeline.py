# SPDX-License-Identifier: Apache-2.0
"""The timeline of an msprof folder, as a Chrome trace. Layer: Python, no torch.

Calls stand as msprof has them: a process "Ascend Hardware" for each device, a thread for each stream. A recording that
knows its cores has a second process for each rank, with a thread for each core: its stages, and its waits in them.
"""

from __future__ import annotations

import json
from pathlib import Path

from ascend_deepep.trace.msprof import columns
from ascend_deepep.trace.recording import Recording

HARDWARE = "Ascend Hardware"
CORES = "AIV cores"
STAGE, WAIT = "stage", "wait"

_Event = dict[str, object]


def write_timeline(recording: Recording, path: Path) -> Path:
    """One event a line, so that two traces can be compared."""
    events = [*_processes(recording), *_calls(recording), *_stages(recording), *_waits(recording)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.write("[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n")
    return path


def _hardware(rank: int) -> int:
    return 2 * rank


def _of_cores(rank: int) -> int:
    return 2 * rank + 1


def _meta(kind: str, pid: int, value: object, tid: int = 0) -> _Event:
    key = {"process_labels": "labels", "process_sort_index": "sort_index"}.get(kind, "name")
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {key: value}}


def _processes(recording: Recording) -> list[_Event]:
    streams = {(call.rank, call.stream or 0) for call in recording.calls}
    cores = {(row.rank, row.core) for row in recording.stages} | {(row.rank, row.core) for row in recording.waits}
    events = []
    for rank in range(recording.num_ranks):
        pids = [_hardware(rank)] + ([_of_cores(rank)] if any(core[0] == rank for core in cores) else [])
        for pid in pids:
            events.append(_meta("process_name", pid, HARDWARE if pid == pids[0] else CORES))
            events.append(_meta("process_labels", pid, f"{recording.source} {rank}"))
            events.append(_meta("process_sort_index", pid, pid))
    events += [_meta("thread_name", _hardware(rank), f"Stream {stream}", stream) for rank, stream in sorted(streams)]
    events += [_meta("thread_name", _of_cores(rank), f"core {core}", core) for rank, core in sorted(cores)]
    return events


def _span(name: str, pid: int, tid: int, start_ns: int, end_ns: int, args: _Event, cat: str = "") -> _Event:
    event: _Event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start_ns / 1000}
    event |= {"dur": (end_ns - start_ns) / 1000, "args": args}
    return event | {"cat": cat} if cat else event


def _calls(recording: Recording) -> list[_Event]:
    events = []
    for call in recording.calls:
        args: _Event = {"Task Type": columns.VECTOR_CORE, "Task Id": call.number}
        if call.stream is not None:
            args["Physic Stream Id"] = call.stream
        if call.shapes:
            args["Input Names"] = ";".join(name for name, _, _ in call.shapes)
        name = columns.numbered_name(call.name, call.rank, call.number)
        events.append(_span(name, _hardware(call.rank), call.stream or 0, call.start_ns, call.end_ns, args))
    return events


def _stages(recording: Recording) -> list[_Event]:
    return [
        _span(row.stage, _of_cores(row.rank), row.core, row.start_ns, row.end_ns, {"call": row.call}, STAGE)
        for row in recording.stages
    ]


def _waits(recording: Recording) -> list[_Event]:
    events = []
    for row in recording.waits:
        args: _Event = {"call": row.call, "stage": row.stage, "peer": row.peer, "what": row.what}
        name = f"wait for rank {row.peer}"
        events.append(_span(name, _of_cores(row.rank), row.core, row.start_ns, row.end_ns, args, WAIT))
    return events
