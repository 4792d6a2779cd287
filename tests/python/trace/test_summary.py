# SPDX-License-Identifier: Apache-2.0
"""The summary: shares by hand. Layer: tests, no ranks."""

from __future__ import annotations

import dataclasses

import pytest
import trace_by_hand
from ascend_deepep.trace.recording import Call, Wait
from ascend_deepep.trace.summary import OperatorSummary, Part, summarise, text
from ascend_deepep.trace.waits import is_for_peer, reason

pytestmark = pytest.mark.fast


def ns(parts: list[Part]) -> dict[tuple[str, str], int]:
    return {(part.kind, part.name): part.ns for part in parts}


def only(source: str) -> OperatorSummary:
    (found,) = summarise(trace_by_hand.recording(source)).operators
    return found


def test_of_a_thread_time_is_what_ran_and_what_all_waited_for() -> None:
    found = only("twin")
    assert (found.operator, found.rank, found.calls, found.ns) == ("dispatch_v2", 1, 1, 100_000)
    assert found.rank_ns == [60_000, 100_000]
    # Cores: cumsum 36 less a wait of 30; collect 60 less a wait of 20 and a pause of 10; stage 2. Idle: 24 us, in which
    # one core waits for the message and one for the first, and the copy lands 2 us before the end; 18 us for copies, 9
    # of them behind a landing. The rest is the call's own.
    assert ns(found.parts) == {
        ("runs", "collect"): 30_000,
        ("runs", "cumsum"): 6_000,
        ("runs", "stage"): 2_000,
        ("waits", "rank 0's control message"): 22_000,
        ("waits", "rank 0's token copies"): 9_000,
        ("waits", "a processor: what it waited for had landed"): 11_000,
        ("rest", "outside any stage"): 20_000,
    }
    assert sum(part.ns for part in found.parts) == found.ns
    assert found.sentence == (
        "rank 1 was the slowest in dispatch_v2: for 42% of its time all its cores waited, 22% for rank 0's control "
        "message; the role that ran longest was collect, 30%."
    )


def test_of_cores_beside_each_other_the_one_that_ended_last_counts() -> None:
    found = only("simulator")
    assert found.critical_core == 0
    assert ns(found.parts) == {
        ("runs", "collect"): 40_000,
        ("runs", "cumsum"): 6_000,
        ("waits", "rank 0's control message"): 30_000,
        ("waits", "rank 0's token copies"): 20_000,
        ("rest", "outside any stage"): 4_000,
    }
    assert "its critical core, 0, waited, 30% for rank 0's control message" in found.sentence


def test_idle_time_is_for_all_that_was_waited_for() -> None:
    recording = trace_by_hand.recording()
    recording.waits.append(Wait(1, 1, 0, "collect", 0, 62_000, 80_000))
    recording.waits.append(Wait(1, 2, 0, "reduce", 0, 65_000, 80_000))
    (found,) = summarise(recording).operators
    parts = ns(found.parts)
    # Two cores wait for copies, which is one reason; for 6 us up to the landing a third one waits for rows.
    assert parts["waits", "rank 0's token copies"] == 3_000
    assert parts["waits", "rank 0's rows and rank 0's token copies"] == 6_000


def test_calls_alone_name_the_slowest_rank() -> None:
    recording = trace_by_hand.recording("npu")
    recording.stages, recording.waits = [], []
    (found,) = summarise(recording).operators
    assert (found.rank, found.parts) == (1, [])
    assert found.sentence == "rank 1 was the slowest in dispatch_v2; the recording says nothing of its cores."
    assert "runs" not in text(summarise(recording))


def test_a_recording_of_the_twin_without_idle_time_has_no_shares() -> None:
    """A profiler's folder does not know when all cores waited."""
    recording = trace_by_hand.recording()
    recording.idles.clear()
    (found,) = summarise(recording).operators
    assert (found.rank, found.parts) == (1, [])


def test_who_enters_first_and_waits_is_not_the_slowest() -> None:
    recording = trace_by_hand.recording()
    recording.calls = [Call(0, 0, "dispatch_v2", 0, 1_000_000), Call(1, 0, "dispatch_v2", 900_000, 1_000_500)]
    (found,) = summarise(recording).operators
    assert found.rank == 1
    assert found.rank_ns == [1_000_000, 100_500]


def test_events_that_were_lost_are_told() -> None:
    recording = dataclasses.replace(trace_by_hand.recording(), dropped=12)
    assert "12 events found no room, so shares are too small: raise --events" in text(summarise(recording))


def test_the_text_has_every_part() -> None:
    summary = summarise(trace_by_hand.recording())
    lines = text(summary).splitlines()
    assert lines[0] == "dispatch_v2: 1 calls; us a call, by rank: 60.0, 100.0"
    for part in summary.operators[0].parts:
        assert any(part.name in line and f"{part.share:.1%}" in line for line in lines)


@pytest.mark.parametrize(
    ("stage", "peer", "for_peer", "words"),
    [
        ("cumsum", 3, True, "rank 3's control message"),
        ("control", 0, False, "its own control message"),
        ("collect", 2, True, "rank 2's token copies"),
        ("reduce", 2, True, "rank 2's rows"),
        ("route", 0, False, "its own routing table"),
        ("prefix", 0, False, "its own cumsum cores"),
        ("doorbell", 1, False, "entries or completions of the queue to rank 1"),
        ("wqe_builder", 1, False, "room in the queue to rank 1"),
        ("send", 0, False, "its own validation"),
        ("send", 1, False, "room in the queue to rank 1"),
        ("entry", 0, False, "its own cores (entry)"),
    ],
)
def test_a_wait_has_words(stage: str, peer: int, for_peer: bool, words: str) -> None:
    wait = Wait(0, 0, 0, stage, peer, 0, 1)
    assert (is_for_peer(wait), reason(wait)) == (for_peer, words)
