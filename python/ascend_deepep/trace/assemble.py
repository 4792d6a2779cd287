# SPDX-License-Identifier: Apache-2.0
"""What the ranks captured, each for itself, as one recording. Layer: Python, no torch."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from ascend_deepep.trace.recording import (
    Call,
    Collected,
    Doorbell,
    Idle,
    Pause,
    Recording,
    Stage,
    Wait,
    Wqe,
    Write,
)

if TYPE_CHECKING:
    from ascend_deepep._runtime import TraceDict


def recording_of(source: str, ranks: Sequence[TraceDict]) -> Recording:
    """The recording of all ranks, in rank order. Their clocks are one; it begins with their first event."""
    start = min((time for rank in ranks for time in _starts(rank)), default=0)
    recording = Recording(source, len(ranks), dropped=sum(rank["dropped"] for rank in ranks))
    for rank, trace in enumerate(ranks):
        _add_calls(recording, rank, trace, start)
        _add_cores(recording, rank, trace, start)
    _add_wqes_and_writes(recording, ranks, start)
    for events in (recording.calls, recording.stages, recording.waits, recording.pauses, recording.idles):
        events.sort(key=attrgetter("start_ns"))
    recording.doorbells.sort(key=attrgetter("at_ns"))
    _add_collected(recording, ranks, start)
    return recording


def _starts(rank: TraceDict) -> Iterable[int]:
    yield from (call[1] for call in rank["calls"])
    yield from (stage[3] for stage in rank["stages"])
    yield from (wqe[8] for wqe in rank["wqes"])
    yield from (put[5] for put in rank["puts"])


def _add_calls(recording: Recording, rank: int, trace: TraceDict, start: int) -> None:
    for number, (name, begin, end, cores, inputs) in enumerate(trace["calls"]):
        shapes = tuple((name, dtype, sizes) for name, dtype, sizes in inputs)
        recording.calls.append(Call(rank, number, name, begin - start, end - start, cores, shapes=shapes))


def _add_cores(recording: Recording, rank: int, trace: TraceDict, start: int) -> None:
    for core, call, stage, begin, end in trace["stages"]:
        recording.stages.append(Stage(rank, core, call, stage, begin - start, end - start))
    for core, call, stage, peer, begin, end in trace["waits"]:
        recording.waits.append(Wait(rank, core, call, stage, peer, begin - start, end - start))
    for core, call, begin, end in trace["pauses"]:
        recording.pauses.append(Pause(rank, core, call, begin - start, end - start))
    for call, begin, end in trace["idles"]:
        recording.idles.append(Idle(rank, call, begin - start, end - start))
    for core, call, peer, queue, producer, at in trace["doorbells"]:
        recording.doorbells.append(Doorbell(rank, core, call, peer, queue, producer, at - start))


def _add_wqes_and_writes(recording: Recording, ranks: Sequence[TraceDict], start: int) -> None:
    entries = sorted((wqe[5], rank, wqe) for rank, trace in enumerate(ranks) for wqe in trace["wqes"])
    writes = []
    for number, (_, rank, wqe) in enumerate(entries):
        core, call, peer, queue, index, fetched, executed, completed, left, landed, offset, num_bytes, region = wqe
        times = (fetched - start, executed - start, completed - start)
        recording.wqes.append(Wqe(rank, call, peer, queue, index, *times))
        if num_bytes != 0:  # else it failed, and wrote nothing
            place = (peer, offset, num_bytes, left - start, landed - start, region)
            writes.append(Write(rank, call, *place, core=core, wqe=number))
    for rank, trace in enumerate(ranks):
        for core, call, peer, offset, num_bytes, left, landed, region in trace["puts"]:
            writes.append(Write(rank, call, peer, offset, num_bytes, left - start, landed - start, region, core=core))
    recording.writes = sorted(writes, key=attrgetter("left_ns"))


def _add_collected(recording: Recording, ranks: Sequence[TraceDict], start: int) -> None:
    """Reads of what a recorded write has brought; others, of writes before the recording, are left out."""
    places = _Places(recording.writes)
    for rank, trace in enumerate(ranks):
        for core, call, offset, num_bytes, at in trace["reads"]:
            write = places.find(rank, offset, at - start)
            if write is not None:
                source = recording.writes[write].rank
                recording.collected.append(Collected(rank, core, call, source, offset, num_bytes, at - start, write))
    recording.collected.sort(key=attrgetter("at_ns"))


class _Places:
    """Which write brought the bytes that a window holds at an offset. Writes to a slot begin where it begins."""

    def __init__(self, writes: Sequence[Write]) -> None:
        self._writes = writes
        self._at: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, write in enumerate(writes):  # by the time they left
            self._at[write.peer][write.offset].append(number)
        self._offsets = {peer: sorted(of_peer) for peer, of_peer in self._at.items()}

    def find(self, peer: int, offset: int, at_ns: int) -> int | None:
        """The last one that left for there before."""
        offsets = self._offsets.get(peer, [])
        place = bisect_right(offsets, offset) - 1
        if place < 0:
            return None
        candidates = self._at[peer][offsets[place]]
        last = bisect_right(candidates, at_ns, key=lambda number: self._writes[number].left_ns) - 1
        if last < 0:
            return None
        write = self._writes[candidates[last]]
        return candidates[last] if offset < write.offset + write.num_bytes else None
