# SPDX-License-Identifier: Apache-2.0
"""What a trace for Perfetto has to be, checked without the code that writes it. Layer: tests."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

Event = dict[str, Any]

_KEYS = {
    "M": {"pid", "tid", "ts", "name", "args"},
    "X": {"pid", "tid", "ts", "dur", "name", "cat", "args"},
    "i": {"pid", "tid", "ts", "name", "s"},
    "s": {"pid", "tid", "ts", "name", "cat", "id"},
    "t": {"pid", "tid", "ts", "name", "cat", "id", "bp"},
    "f": {"pid", "tid", "ts", "name", "cat", "id", "bp"},
}


def _ns(us: float) -> int:
    return round(us * 1000)


def problems(trace: Event) -> list[str]:
    """A line for each thing that a viewer would not take, or show wrong; empty for a good trace."""
    events: list[Event] = trace["traceEvents"]
    found = []
    for event in events:
        keys = _KEYS.get(event.get("ph", ""))
        if keys is None:
            found.append(f"phase {event.get('ph')!r}")
        elif keys - set(event):
            found.append(f"{event['ph']} {event.get('name')!r} lacks {sorted(keys - set(event))}")
    if found:
        return found
    for event in events:
        if event["ts"] < 0 or event.get("dur", 0) < 0:
            found.append(f"{event['name']!r} has a negative time")
    return [*found, *_names(events), *_order(events), *_nesting(events), *_flows(events)]


def _names(events: list[Event]) -> list[str]:
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    processes = {event["pid"] for event in events if event["name"] == "process_name"}
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"}
    return [f"track {track} has no name" for track in sorted(used - named)] + [
        f"process {pid} has no name" for pid in sorted({pid for pid, _ in used} - processes)
    ]


def _order(events: list[Event]) -> list[str]:
    last: dict[tuple[int, int], float] = defaultdict(float)
    found = []
    for event in events:
        if event["ph"] == "M":
            continue
        track = event["pid"], event["tid"]
        if event["ts"] < last[track]:
            found.append(f"{event['name']!r} on {track} comes behind a later event")
        last[track] = event["ts"]
    return found


def _nesting(events: list[Event]) -> list[str]:
    open_spans: dict[tuple[int, int], list[int]] = defaultdict(list)
    found = []
    for event in events:
        if event["ph"] != "X":
            continue
        ends = open_spans[event["pid"], event["tid"]]
        start, end = _ns(event["ts"]), _ns(event["ts"]) + _ns(event["dur"])
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and end > ends[-1]:
            found.append(f"{event['name']!r} ends behind the span that it begins in")
        ends.append(end)
    return found


def _flows(events: list[Event]) -> list[str]:
    flows: dict[int, list[Event]] = defaultdict(list)
    spans: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            flows[event["id"]].append(event)
        elif event["ph"] == "X":
            start = _ns(event["ts"])
            spans[event["pid"], event["tid"]].append((start, start + _ns(event["dur"])))
    found = []
    for number, steps in flows.items():
        steps.sort(key=lambda event: (event["ts"], "stf".index(event["ph"])))
        phases = "".join(step["ph"] for step in steps)
        if phases not in ("sf", "stf"):
            found.append(f"flow {number} goes {phases}")
        for step in steps:
            at = _ns(step["ts"])
            if not any(start <= at <= end for start, end in spans[step["pid"], step["tid"]]):
                found.append(f"flow {number} touches no span at its {step['ph']}")
    return found
