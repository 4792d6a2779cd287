# SPDX-License-Identifier: Apache-2.0
"""Where the time of the slowest rank went, by role and by wait. Layer: Python, no torch.

The slowest rank is the one that ends last after the last rank has entered, all calls together: who enters first only
waits longest. On the twin the cores of a rank share one thread. So time is what its cores ran, one at a time, by stage;
when all of them waited (idle), by what they waited for, and from the last landing on for a processor of the machine;
and the rest, which is the call's own. In the simulator, and on devices, cores run beside each other: there the core
that ended last, the *critical* one, says where the time went.
"""

from __future__ import annotations

import textwrap
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ascend_deepep.trace.recording import COMBINE, DISPATCH, Call, Recording, Stage, Wait
from ascend_deepep.trace.waits import is_for_peer, reason

TWIN = "twin"
_WIDTH = 100
_REST = "outside any stage"
_PROCESSOR = "a processor: what it waited for had landed"


@dataclass(frozen=True)
class Part:
    """A share of the time: what ran, or what was waited for."""

    kind: str  # "runs", "waits" or "rest"
    name: str
    ns: int
    share: float  # of the rank's time


@dataclass
class OperatorSummary:
    """All calls of an operator, on the rank that took longest for them."""

    operator: str
    rank: int
    calls: int
    ns: int
    rank_ns: list[int]  # by rank
    #: Of the thread on the twin, of the critical core elsewhere; largest first.
    parts: list[Part]
    critical_core: int
    #: How long the core that was critical in most calls waited, by reason; cores of the twin wait for their turn too.
    core_waits: list[Part]
    sentence: str = ""


@dataclass
class Summary:
    """What is told of a recording."""

    source: str
    operators: list[OperatorSummary]
    dropped: int
    notes: list[str] = field(default_factory=list)


def summarise(recording: Recording) -> Summary:
    """One summary for each operator that was called."""
    summary = Summary(recording.source, [], recording.dropped)
    for operator in (DISPATCH, COMBINE):
        calls = [call for call in recording.calls if call.name == operator]
        if calls:
            summary.operators.append(_operator(recording, operator, calls))
    if recording.dropped:
        summary.notes.append(f"{recording.dropped} events found no room, so shares are too small: raise --events")
    return summary


def _operator(recording: Recording, operator: str, calls: Sequence[Call]) -> OperatorSummary:
    rank_ns = [0] * recording.num_ranks
    for call in calls:
        rank_ns[call.rank] += call.end_ns - call.start_ns
    rank = _slowest(recording, calls)
    mine = {call.number: call for call in calls if call.rank == rank}
    stages = [stage for stage in recording.stages if stage.rank == rank and stage.call in mine]
    waits = [wait for wait in recording.waits if wait.rank == rank and wait.call in mine]
    critical = _critical_cores(stages)
    core = max(set(critical.values()), key=list(critical.values()).count) if critical else 0
    total = rank_ns[rank]
    of_core = [wait for wait in waits if critical.get(wait.call) == wait.core]
    core_waits = _parts("waits", _by_reason(of_core), total)
    if not stages or (recording.source == TWIN and waits and not recording.idles):
        parts = []  # a profiler's folder has no word of when all cores of a thread waited
    elif recording.source == TWIN:
        parts = _of_thread(recording, rank, mine, stages, waits, total)
    else:
        parts = _of_core([stage for stage in stages if critical[stage.call] == stage.core], of_core, total)
    found = OperatorSummary(operator, rank, len(mine), total, rank_ns, parts, core, core_waits)
    found.sentence = _sentence(found, recording)
    return found


def slowest_rank(recording: Recording, operator: str) -> int:
    """The rank that ended last in the operator's calls, all together, counted from the last entry of each call."""
    return _slowest(recording, [call for call in recording.calls if call.name == operator])


def _slowest(recording: Recording, calls: Sequence[Call]) -> int:
    entered: dict[int, int] = {}
    for call in calls:
        entered[call.number] = max(call.start_ns, entered.get(call.number, 0))
    spent = [0] * recording.num_ranks
    for call in calls:
        spent[call.rank] += max(0, call.end_ns - entered[call.number])
    return max(range(recording.num_ranks), key=lambda rank: spent[rank])


def _critical_cores(stages: Iterable[Stage]) -> dict[int, int]:
    """By call: the core that ended last."""
    last: dict[int, Stage] = {}
    for stage in stages:
        if stage.call not in last or stage.end_ns > last[stage.call].end_ns:
            last[stage.call] = stage
    return {call: stage.core for call, stage in last.items()}


def _by_reason(waits: Iterable[Wait]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for wait in waits:
        sums[reason(wait)] += wait.end_ns - wait.start_ns
    return sums


def _parts(kind: str, sums: dict[str, int], total: int) -> list[Part]:
    parts = [Part(kind, name, ns, ns / total if total else 0.0) for name, ns in sums.items() if ns > 0]
    return sorted(parts, key=lambda part: (-part.ns, part.name))


def _running(stages: Iterable[Stage], *others: Iterable[object]) -> dict[str, int]:
    """By stage: its spans without what lies inside them."""
    inside: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for events in others:
        for event in events:
            inside[event.core, event.call].append((event.start_ns, event.end_ns))  # type: ignore[attr-defined]
    for spans in inside.values():
        spans.sort()
    sums: dict[str, int] = defaultdict(int)
    cursors: dict[tuple[int, int], int] = defaultdict(int)
    for stage in sorted(stages, key=lambda stage: stage.start_ns):
        key = stage.core, stage.call
        spans, cursor = inside[key], cursors[key]
        ns = stage.end_ns - stage.start_ns
        while cursor < len(spans) and spans[cursor][0] < stage.end_ns:
            ns -= min(spans[cursor][1], stage.end_ns) - max(spans[cursor][0], stage.start_ns)
            cursor += 1
        cursors[key] = cursor
        sums[stage.stage] += max(ns, 0)
    return sums


def _of_core(stages: Sequence[Stage], waits: Sequence[Wait], total: int) -> list[Part]:
    running, waiting = _running(stages, waits), _by_reason(waits)
    rest = total - sum(running.values()) - sum(waiting.values())
    return [*_parts("runs", running, total), *_parts("waits", waiting, total), *_parts("rest", {_REST: rest}, total)]


def _of_thread(
    recording: Recording,
    rank: int,
    calls: dict[int, Call],
    stages: Sequence[Stage],
    waits: Sequence[Wait],
    total: int,
) -> list[Part]:
    pauses = [pause for pause in recording.pauses if pause.rank == rank and pause.call in calls]
    idles = [(idle.start_ns, idle.end_ns) for idle in recording.idles if idle.rank == rank and idle.call in calls]
    awaited, late_ns = _until_landed(recording, rank, idles)
    running, waiting = _running(stages, waits, pauses), _idle_by_reason(awaited, waits)
    if late_ns:
        waiting[_PROCESSOR] = late_ns
    rest = total - sum(running.values()) - sum(waiting.values())
    return [*_parts("runs", running, total), *_parts("waits", waiting, total), *_parts("rest", {_REST: rest}, total)]


def _until_landed(
    recording: Recording, rank: int, idles: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], int]:
    """Idle spans up to the last write that landed in them, and the time behind it: by then a processor was missing."""
    landed = sorted(write.landed_ns for write in recording.writes if write.peer == rank != write.rank)
    if not landed:
        return list(idles), 0
    awaited, late_ns = [], 0
    for start, end in idles:
        place = bisect_right(landed, end) - 1
        last = max(landed[place], start) if place >= 0 else end
        awaited.append((start, last))
        late_ns += end - last
    return awaited, late_ns


def _idle_by_reason(idles: Sequence[tuple[int, int]], waits: Sequence[Wait]) -> dict[str, int]:
    """Idle time by all that cores waited for then: peers' doing where there is any of it."""
    changes: list[tuple[int, int, Wait | None]] = []
    for start, end in idles:
        changes += [(start, 1, None), (end, -1, None)]
    for one in waits:
        changes += [(one.start_ns, 1, one), (one.end_ns, -1, one)]
    changes.sort(key=lambda change: (change[0], change[1]))
    sums: dict[str, int] = defaultdict(int)
    open_waits: dict[tuple[bool, str], int] = defaultdict(int)
    is_idle, before = 0, 0
    for at, step, wait in changes:
        if is_idle and at > before:
            now = [key for key, count in open_waits.items() if count > 0]
            peers = [text for for_peer, text in now if for_peer]
            reasons = peers or [text for _, text in now] or ["its turn to look"]
            sums[" and ".join(sorted(set(reasons)))] += at - before
        before = at
        if wait is None:
            is_idle += step
        else:
            open_waits[is_for_peer(wait), reason(wait)] += step
    return sums


def _sentence(found: OperatorSummary, recording: Recording) -> str:
    waits = [part for part in found.parts if part.kind == "waits"]
    runs = [part for part in found.parts if part.kind == "runs"]
    who = "all its cores" if recording.source == TWIN else f"its critical core, {found.critical_core},"
    text = f"rank {found.rank} was the slowest in {found.operator}"
    if not found.parts:
        return text + "; the recording says nothing of its cores."
    if waits:
        waited = sum(part.share for part in waits)
        text += f": for {waited:.0%} of its time {who} waited, {waits[0].share:.0%} for {waits[0].name}"
    if runs:
        text += f"; the role that ran longest was {runs[0].name}, {runs[0].share:.0%}"
    return text + "."


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def text(summary: Summary) -> str:
    """The summary as it is printed and written: a table and a sentence an operator."""
    lines: list[str] = []
    for found in summary.operators:
        ranks = ", ".join(f"{ns / 1e3 / found.calls:.1f}" for ns in found.rank_ns)
        whose = "thread" if summary.source == TWIN else f"critical core {found.critical_core}"
        lines += [
            f"{found.operator}: {found.calls} calls; us a call, by rank: {ranks}",
        ]
        if found.parts:
            lines.append(f"  time of rank {found.rank} ({whose}), us a call")
        for part in found.parts:
            lines.append(f"    {part.kind:5} {part.ns / 1e3 / found.calls:10.1f} {part.share:6.1%}  {part.name}")
        lines += _wrapped(found.sentence)
        if found.core_waits and summary.source == TWIN:
            most = found.core_waits[0]
            lines += _wrapped(
                f"Its core that ended last, {found.critical_core} in most calls, waited longest for {most.name}: "
                f"{most.ns / 1e3 / found.calls:.1f} us a call, turns of other cores included."
            )
        lines.append("")
    lines += summary.notes
    return "\n".join(lines).rstrip("\n") + "\n"
