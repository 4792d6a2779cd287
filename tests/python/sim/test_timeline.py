# SPDX-License-Identifier: Apache-2.0
"""The timeline of a seed is a trace that viewers read, and recording it changes nothing. Layer: tests."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

import pytest
import sim_run

# Kinds of worlds, by how `sim_run --verbose` describes them: the first seed of each is looked at.
WORLDS = {
    "one rank": r"ranks 1 .*",
    "fault": r"ranks [2-9] .* fault rank-dies .*",
    "mte": r"ranks [2-4] .* mte .*C(?!.*fault).*",
    "urma": r"ranks [2-4] .* urma .*C(?!.*fault).*",
}

Event = dict[str, Any]


def output(*arguments: str) -> str:
    result = sim_run.sim_run(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def fingerprint(*arguments: str) -> tuple[str, int]:
    found = sim_run.HASH.search(output("--verbose", *arguments))
    assert found
    return found[2], int(found[3])


def ns(event: Event) -> int:
    return round(event["ts"] * 1000)


@pytest.fixture(scope="module")
def descriptions() -> str:
    return output("--verbose", "--seeds", "1..150")


@pytest.fixture(scope="module", params=WORLDS)
def trace(
    request: pytest.FixtureRequest, descriptions: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[Event], int]:
    """Kind of world, events, and the virtual time that the run took."""
    path = tmp_path_factory.mktemp("timeline") / "trace.json"
    found = re.search(rf"^seed (\d+): {WORLDS[request.param]}$", descriptions, re.MULTILINE)
    assert found
    seed = found[1]
    plain = fingerprint("--seed", seed)
    assert fingerprint("--seed", seed, "--trace", str(path)) == plain
    first = path.read_bytes()
    assert fingerprint("--seed", seed, "--trace", str(path)) == plain
    assert path.read_bytes() == first
    loaded = json.loads(first)
    assert set(loaded) == {"traceEvents", "displayTimeUnit"}
    return request.param, loaded["traceEvents"], plain[1]


def test_every_event_has_what_its_phase_needs(trace: tuple[str, list[Event], int]) -> None:
    _, events, virtual_ns = trace
    for event in events:
        assert event["ph"] in {"X", "M", "i", "s", "f"}
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert 0 <= ns(event) <= virtual_ns + 100_000  # microseconds: a turn may go on past the last moment
        assert event["name"]
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert event["cat"] in {"stage", "wait", "wqe", "write", "call"}


def test_processes_and_threads_have_names(trace: tuple[str, list[Event], int]) -> None:
    _, events, _ = trace
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    ranks = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] != "M"} <= named
    assert ranks == {pid: f"rank {pid - 1}" for pid in range(1, len(ranks) + 1)}
    assert {e["pid"] for e in events} == set(ranks)


def test_flows_pair_up_and_go_forward(trace: tuple[str, list[Event], int]) -> None:
    _, events, _ = trace
    flows: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] in {"s", "f"}:
            flows[event["id"]].append(event)
    assert flows
    for start, finish in flows.values():
        assert (start["ph"], finish["ph"]) == ("s", "f")
        assert ns(start) <= ns(finish)


def test_spans_of_a_thread_nest(trace: tuple[str, list[Event], int]) -> None:
    _, events, _ = trace
    threads: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((ns(event), ns(event) + round(event["dur"] * 1000)))
    for spans in threads.values():
        open_ends: list[int] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def test_it_shows_roles_waits_queues_writes_and_faults(trace: tuple[str, list[Event], int]) -> None:
    world, events, _ = trace
    categories = {e["cat"] for e in events if e["ph"] == "X"}
    starts = {e["name"] for e in events if e["ph"] == "s"}
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert {"stage", "wait", "call"} <= categories
    assert any(re.fullmatch(r"core \d+ .*stage.*", name) for name in threads)
    if world == "fault":
        assert any(e["ph"] == "i" and e["name"] == "rank-dies" for e in events)
    if world in {"mte", "urma"}:
        assert {"wqe", "write"} <= categories
        assert any(re.match(r"queue (\d )?to rank ", name) for name in threads)
        assert {"doorbell", "execute", "put"} <= starts
        assert {"flag route", "flag validated"} & starts  # somebody has slept on one of them
        assert any(name.startswith("message of rank ") for name in starts)
