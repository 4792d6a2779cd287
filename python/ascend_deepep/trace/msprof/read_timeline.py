# SPDX-License-Identifier: Apache-2.0
"""What msprof_*.json knows beyond the tables. Layer: Python, no torch.

Of an NPU nothing: its spans of operators are the rows of op_summary, and it may be as large as memory, so it is not
opened. The twin's says where the recording is from, how many ranks it has, what the inputs are called, and which stage
every core was in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from ascend_deepep.demo.usage import UsageError
from ascend_deepep.trace.msprof import columns
from ascend_deepep.trace.msprof.values import Cell
from ascend_deepep.trace.msprof.write_timeline import STAGE, WAIT
from ascend_deepep.trace.recording import Stage, Wait

_SOURCES = ("twin", "simulator", "npu")
_HEAD = 4096  # characters of a timeline of ours that hold its first label


@dataclass
class Timeline:
    """The twin's part of a timeline."""

    source: str | None = None
    num_ranks: int = 0
    names: dict[tuple[int, int], list[str]] = field(default_factory=dict)  # of inputs, by rank and call
    stages: list[Stage] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)


def is_ours(path: Path) -> bool:
    """write_timeline() wrote it: it begins with the processes and their labels."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    return any(f'"labels": "{source} ' in head for source in _SOURCES)


def read_timelines(paths: list[Path]) -> Timeline:
    """All of them together; each one ours."""
    timeline = Timeline()
    for path in paths:
        events = _events(path)
        ranks = _ranks(events, timeline)
        for index, event in enumerate(events):
            if event.get("ph") != "X":
                continue
            try:
                _add(timeline, ranks, event, f"{path}, event {index}")
            except (KeyError, TypeError, ValueError) as error:
                name = str(event.get("name"))[:40]
                raise UsageError(f"{path}, event {index} ({name!r}) is not what the twin writes: {error!r}") from None
    timeline.stages.sort(key=lambda row: (row.start_ns, row.rank, row.core))
    timeline.waits.sort(key=lambda row: (row.start_ns, row.rank, row.core))
    return timeline


def _events(path: Path) -> list[dict[str, Any]]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    events = value.get("traceEvents") if isinstance(value, dict) else value
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise UsageError(f"{path} is not a Chrome trace: neither a list of events nor an object with traceEvents")
    return events


def _ranks(events: list[dict[str, Any]], timeline: Timeline) -> dict[object, int]:
    """Rank of each process that the twin labelled, such as `twin 3`."""
    ranks: dict[object, int] = {}
    for event in events:
        if event.get("ph") != "M" or event.get("name") != "process_labels" or not isinstance(event.get("args"), dict):
            continue
        source, _, rank = str(event["args"].get("labels", "")).partition(" ")
        if source in _SOURCES and rank.isascii() and rank.isdecimal() and len(rank) <= 6:
            timeline.source = source
            timeline.num_ranks = max(timeline.num_ranks, int(rank) + 1)
            if not isinstance(event.get("pid"), (list, dict)):
                ranks[event.get("pid")] = int(rank)
    return ranks


def _add(timeline: Timeline, ranks: dict[object, int], event: dict[str, Any], where: str) -> None:
    kind, args = event.get("cat"), event.get("args")
    if not isinstance(args, dict) or isinstance(event.get("pid"), (list, dict)):
        return
    if kind in (STAGE, WAIT) and event.get("pid") in ranks:
        rank, core, call = ranks[event["pid"]], int(event["tid"]), int(args["call"])
        start = _nanoseconds(where, "ts", event["ts"])
        end = start + _nanoseconds(where, "dur", event["dur"])
        if kind == STAGE:
            timeline.stages.append(Stage(rank, core, call, str(event["name"]), start, end))
        else:
            peer, what = int(args["peer"]), str(args["what"])
            timeline.waits.append(Wait(rank, core, call, str(args["stage"]), peer, start, end, what))
    elif "Input Names" in args and (numbered := columns.rank_and_number(str(event.get("name")))):
        timeline.names[numbered] = str(args["Input Names"]).split(";")


def _nanoseconds(where: str, key: str, value: object) -> int:
    result = Cell(f"{where}, {key}", str(value)).nanoseconds()
    if result is None:
        raise ValueError(f"no {key}")
    return result
