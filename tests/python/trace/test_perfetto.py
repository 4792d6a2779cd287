# SPDX-License-Identifier: Apache-2.0
"""The timeline is what Perfetto takes, of every source of recordings. Layer: tests."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import perfetto_schema
import pytest
import trace_by_hand
from ascend_deepep.trace import perfetto

pytestmark = pytest.mark.fast

Trace = dict[str, Any]


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    perfetto.write(trace_by_hand.recording(), tmp_path / "timeline.json")
    loaded: Trace = json.loads((tmp_path / "timeline.json").read_text())
    return loaded


def of(trace: Trace, phase: str, name: str = "") -> list[Any]:
    return [event for event in trace["traceEvents"] if event["ph"] == phase and name in event["name"]]


def test_the_schema_holds(trace: Trace) -> None:
    assert perfetto_schema.problems(trace) == []


def test_tracks_say_whose_they_are(trace: Trace) -> None:
    assert {event["args"]["name"] for event in of(trace, "M", "process_name")} == {"rank 0", "rank 1"}
    names = {event["args"]["name"] for event in of(trace, "M", "thread_name")}
    assert {"host: calls", "core 0: cumsum collect", "core 1: doorbell", "queue 1 to rank 1"} <= names
    assert {"writes to rank 1", "thread: all cores wait"} <= names


def test_spans_are_where_they_were(trace: Trace) -> None:
    (wait,) = of(trace, "X", "control message")
    assert (wait["name"], wait["pid"], wait["ts"], wait["dur"]) == ("waits: rank 0's control message", 2, 6.0, 30.0)
    (entry,) = of(trace, "X", "WQE 0")
    assert (entry["ts"], entry["dur"], entry["args"]["executed_us"]) == (31.0, 4.0, 34.0)


def test_arrows_lead_from_the_entry_to_who_collected(trace: Trace) -> None:
    steps = [event for event in trace["traceEvents"] if event["ph"] in "stf" and event["name"] == "dispatch half"]
    assert [(step["ph"], step["pid"]) for step in sorted(steps, key=lambda step: step["ts"])] == [
        ("s", 1),
        ("t", 1),
        ("f", 2),
    ]
    bells = [event for event in trace["traceEvents"] if event["ph"] in "sf" and event["name"] == "doorbell"]
    assert [(bell["ph"], bell["ts"]) for bell in sorted(bells, key=lambda bell: bell["ts"])] == [
        ("s", 30.0),
        ("f", 31.0),
    ]


def _drop_duration(events: list[Any]) -> None:
    del next(event for event in events if event["ph"] == "X")["dur"]


def _end_too_late(events: list[Any]) -> None:
    next(event for event in events if event["ph"] == "X" and event["cat"] == "wait")["dur"] = 500.0


def _lose_the_end_of_a_flow(events: list[Any]) -> None:
    events.remove(next(event for event in events if event["ph"] == "f"))


def _forget_a_name(events: list[Any]) -> None:
    events.remove(next(event for event in events if event["name"] == "thread_name"))


def _swap(events: list[Any]) -> None:
    events.sort(key=lambda event: event["ph"] == "M" or -event["ts"])


def _begin_a_flow_nowhere(events: list[Any]) -> None:
    next(event for event in events if event["ph"] == "s")["ts"] = 4000.0


@pytest.mark.parametrize(
    "spoil",
    [_drop_duration, _end_too_late, _lose_the_end_of_a_flow, _forget_a_name, _swap, _begin_a_flow_nowhere],
)
def test_the_schema_can_fail(trace: Trace, spoil: Callable[[list[Any]], None]) -> None:
    spoiled = copy.deepcopy(trace)
    spoil(spoiled["traceEvents"])
    assert perfetto_schema.problems(spoiled)
