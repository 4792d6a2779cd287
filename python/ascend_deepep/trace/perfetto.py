# SPDX-License-Identifier: Apache-2.0
"""A recording in the Chrome trace format, which Perfetto and chrome://tracing open. Layer: Python, no torch.

A process is a rank; its tracks are the host with the calls, the cores, the queues and the links to its peers. Spans
that overlap on a queue or link lie on several tracks of one name. Arrows lead from a doorbell to its entries, and from
an entry or a core's put over the landing to the core that collected it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from pathlib import Path
from typing import Any

from ascend_deepep.trace.recording import Collected, Recording
from ascend_deepep.trace.waits import reason

Event = dict[str, Any]

HOST_TRACK = 1
_THREAD_TRACK = 2
_FIRST_CORE = 10
_FIRST_QUEUE = 1_000  # LANES a queue
_FIRST_LINK = 1_000_000
LANES = 100
_NOT_ROLES = ("none", "entry", "exit")


def write(recording: Recording, path: Path) -> None:
    """Write it to a file."""
    with path.open("w") as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        file.write(",\n".join(json.dumps(event, separators=(",", ":")) for event in events(recording)))
        file.write("\n]}\n")


def events(recording: Recording) -> list[Event]:
    """The events, names first, then by process, track and time, a span before those inside it."""
    return _Tracks(recording).all()


def _us(ns: int) -> float:
    return ns / 1000


class _Tracks:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._names: dict[tuple[int, int], str] = {}
        self._events: list[Event] = []
        self._busy: dict[tuple[int, int], list[int]] = defaultdict(list)  # by rank and first track: ends of its lanes
        self._stages: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        self._flows = 0
        self._wqe_tracks: list[int] = []
        self._write_tracks: list[int] = []

    def all(self) -> list[Event]:
        self._add_hosts()
        self._add_cores()
        self._add_wqes()
        self._add_writes()
        self._add_arrows()
        names = []
        for rank in range(self._recording.num_ranks):
            names.append(self._meta(rank, 0, "process_name", {"name": f"rank {rank}"}))
            names.append(self._meta(rank, 0, "process_sort_index", {"sort_index": rank}))
        for (rank, track), name in sorted(self._names.items()):
            names.append(self._meta(rank, track, "thread_name", {"name": name}))
            names.append(self._meta(rank, track, "thread_sort_index", {"sort_index": track}))
        self._events.sort(key=lambda event: (event["pid"], event["tid"], event["ts"], -event.get("dur", 0.0)))
        return names + self._events

    @staticmethod
    def _meta(rank: int, track: int, name: str, arguments: Event) -> Event:
        return {"ph": "M", "pid": rank + 1, "tid": track, "ts": 0, "name": name, "args": arguments}

    def _span(
        self, rank: int, track: int, kind: str, name: str, start_ns: int, end_ns: int, **arguments: object
    ) -> None:
        place = {"pid": rank + 1, "tid": track, "ts": _us(start_ns), "dur": _us(end_ns - start_ns)}
        self._events.append({"ph": "X", "cat": kind, "name": name, **place, "args": arguments})

    def _flow(self, phase: str, rank: int, track: int, at_ns: int, name: str, number: int) -> None:
        place = {"pid": rank + 1, "tid": track, "ts": _us(at_ns), "id": number}
        bound = {"bp": "e"} if phase != "s" else {}
        self._events.append({"ph": phase, "cat": "flow", "name": name, **place, **bound})

    def _lane(self, rank: int, first: int, start_ns: int, end_ns: int, name: str) -> int:
        """A track for a span that others may overlap: the first one that is free."""
        ends = self._busy[rank, first]
        lane = next((lane for lane, end in enumerate(ends) if end <= start_ns), len(ends))
        if lane == len(ends):
            ends.append(0)
        ends[lane] = end_ns
        track = first + min(lane, LANES - 1)
        self._names[rank, track] = name
        return track

    def _add_hosts(self) -> None:
        for rank in range(self._recording.num_ranks):
            self._names[rank, HOST_TRACK] = "host: calls"
        for call in self._recording.calls:
            arguments = {"call": call.number, **{name: f"{dtype} [{sizes}]" for name, dtype, sizes in call.shapes}}
            self._span(call.rank, HOST_TRACK, "call", call.name, call.start_ns, call.end_ns, **arguments)
        for idle in self._recording.idles:
            self._names[idle.rank, _THREAD_TRACK] = "thread: all cores wait"
            self._span(idle.rank, _THREAD_TRACK, "idle", "all cores wait", idle.start_ns, idle.end_ns, call=idle.call)

    def _add_cores(self) -> None:
        roles: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)
        for stage in self._recording.stages:
            of_core = roles[stage.rank, stage.core]
            if stage.stage not in _NOT_ROLES:
                of_core[stage.stage] = None
            track = _FIRST_CORE + stage.core
            starts, ends = self._stages[stage.rank, stage.core]
            starts.append(stage.start_ns)
            ends.append(stage.end_ns)
            self._span(stage.rank, track, "stage", stage.stage, stage.start_ns, stage.end_ns, call=stage.call)
        for (rank, core), of_core in roles.items():
            self._names[rank, _FIRST_CORE + core] = " ".join([f"core {core}:", *of_core])
        for wait in self._recording.waits:
            name = f"waits: {wait.what or reason(wait)}"
            track = _FIRST_CORE + wait.core
            self._span(wait.rank, track, "wait", name, wait.start_ns, wait.end_ns, stage=wait.stage, peer=wait.peer)
        for pause in self._recording.pauses:
            track = _FIRST_CORE + pause.core
            self._span(pause.rank, track, "pause", "others run", pause.start_ns, pause.end_ns)
        for bell in self._recording.doorbells:
            place = {"pid": bell.rank + 1, "tid": _FIRST_CORE + bell.core, "ts": _us(bell.at_ns), "s": "t"}
            arguments = {"queue": bell.queue, "peer": bell.peer, "producer": bell.producer}
            self._events.append({"ph": "i", "cat": "doorbell", "name": "doorbell", **place, "args": arguments})

    def _add_wqes(self) -> None:
        for wqe in self._recording.wqes:
            first = _FIRST_QUEUE + LANES * wqe.queue
            name = f"queue {wqe.queue} to rank {wqe.peer}"
            track = self._lane(wqe.rank, first, wqe.fetched_ns, wqe.completed_ns, name)
            self._wqe_tracks.append(track)
            executed = {"executed_us": _us(wqe.executed_ns), "call": wqe.call}
            self._span(wqe.rank, track, "wqe", f"WQE {wqe.index}", wqe.fetched_ns, wqe.completed_ns, **executed)

    def _add_writes(self) -> None:
        for write in self._recording.writes:
            first = _FIRST_LINK + LANES * write.peer
            name = f"writes to rank {write.peer}"
            track = self._lane(write.rank, first, write.left_ns, write.landed_ns, name)
            self._write_tracks.append(track)
            place = {"offset": write.offset, "bytes": write.num_bytes, "call": write.call}
            self._span(write.rank, track, "write", write.region, write.left_ns, write.landed_ns, **place)

    def _add_arrows(self) -> None:
        self._add_doorbell_arrows()
        firsts: dict[int, Collected] = {}  # by write: what collected it first
        for collected in self._recording.collected:
            if collected.write is not None:
                firsts.setdefault(collected.write, collected)
        for number, write in enumerate(self._recording.writes):
            track = self._write_tracks[number]
            flow, name = self._next(), write.region
            if write.wqe is not None:
                self._flow("s", write.rank, self._wqe_tracks[write.wqe], write.left_ns, name, flow)
            elif write.core is not None and self._is_in_stage(write.rank, write.core, write.left_ns):
                self._flow("s", write.rank, _FIRST_CORE + write.core, write.left_ns, name, flow)
            else:
                self._flow("s", write.rank, track, write.left_ns, name, flow)
            reader = firsts.get(number)
            if reader is None or not self._is_in_stage(reader.rank, reader.core, reader.at_ns):
                self._flow("f", write.rank, track, write.landed_ns, name, flow)
                continue
            # A reader may see the last block a moment before the writer has looked at its clock again.
            self._flow("t", write.rank, track, min(write.landed_ns, reader.at_ns), name, flow)
            self._flow("f", reader.rank, _FIRST_CORE + reader.core, reader.at_ns, name, flow)

    def _add_doorbell_arrows(self) -> None:
        """To the first entry that each has announced: the first one fetched behind it."""
        bells: dict[tuple[int, int], list[Any]] = defaultdict(list)
        for bell in reversed(self._recording.doorbells):
            bells[bell.rank, bell.queue].append(bell)
        for number, wqe in enumerate(self._recording.wqes):
            waiting = bells[wqe.rank, wqe.queue]
            if not waiting or waiting[-1].at_ns > wqe.fetched_ns:
                continue
            bell = waiting.pop()
            if not self._is_in_stage(bell.rank, bell.core, bell.at_ns):
                continue
            flow = self._next()
            self._flow("s", bell.rank, _FIRST_CORE + bell.core, bell.at_ns, "doorbell", flow)
            self._flow("f", wqe.rank, self._wqe_tracks[number], wqe.fetched_ns, "doorbell", flow)

    def _is_in_stage(self, rank: int, core: int, at_ns: int) -> bool:
        """Whether there is a span for an arrow to touch: of a full recording some are missing."""
        starts, ends = self._stages[rank, core]
        place = bisect_right(starts, at_ns) - 1
        return place >= 0 and at_ns <= ends[place]

    def _next(self) -> int:
        self._flows += 1
        return self._flows
