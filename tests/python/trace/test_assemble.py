# SPDX-License-Identifier: Apache-2.0
"""Traces of ranks become one recording: one clock, writes with what carried them and who read them. Layer: tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import trace_by_hand
from ascend_deepep.trace import Recording, load, recording_of, save

pytestmark = pytest.mark.fast


@pytest.fixture
def recording() -> Recording:
    return trace_by_hand.recording()


def test_times_begin_with_the_first_event(recording: Recording) -> None:
    assert (recording.source, recording.num_ranks, recording.dropped) == ("twin", 2, 0)
    assert [(call.rank, call.number, call.start_ns, call.end_ns) for call in recording.calls] == [
        (0, 0, 0, 60_000),
        (1, 0, 2_000, 102_000),
    ]
    assert recording.calls[0].shapes == (("x", "bfloat16", "4,64"),)
    starts = [stage.start_ns for stage in recording.stages]
    assert starts == sorted(starts)


def test_a_write_knows_what_carried_it(recording: Recording) -> None:
    by_wqe = [write for write in recording.writes if write.wqe is not None]
    assert len(recording.wqes) == 2
    assert len(by_wqe) == 1  # the other entry failed
    wqe = recording.wqes[by_wqe[0].wqe or 0]
    assert (wqe.index, wqe.fetched_ns, wqe.completed_ns) == (0, 31_000, 35_000)
    assert (by_wqe[0].rank, by_wqe[0].peer, by_wqe[0].region) == (0, 1, "dispatch half")
    assert [write.left_ns for write in recording.writes] == [18_000, 31_000, 70_000]


def test_a_read_belongs_to_the_last_write_before_it(recording: Recording) -> None:
    # The read at 3 us is of an older message, which nobody recorded; the one at 38 us is not of that sent at 70.
    found = [(one.rank, one.source, one.at_ns, one.write) for one in recording.collected]
    assert found == [(1, 0, 38_000, 0), (1, 0, 82_000, 1)]


def test_no_events_are_a_recording_too() -> None:
    nothing = {key: [] for key in trace_by_hand.ranks()[0]}
    empty = recording_of("twin", [{**nothing, "dropped": 7}, {**nothing, "dropped": 1}])  # type: ignore[list-item]
    assert (empty.num_ranks, empty.dropped, empty.calls) == (2, 8, [])


@pytest.mark.parametrize("name", ["recording.json", "recording.json.gz"])
def test_a_file_holds_all_of_it(recording: Recording, tmp_path: Path, name: str) -> None:
    save(recording, tmp_path / name)
    assert load(tmp_path / name) == recording
    first = (tmp_path / name).read_bytes()
    save(recording, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"format": 99}'])
def test_another_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.json is (no recording|a recording of format 99)"):
        load(path)
    with pytest.raises(ValueError, match="absent"):
        load(tmp_path / "absent.json.gz")
