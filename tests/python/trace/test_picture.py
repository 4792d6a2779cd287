# SPDX-License-Identifier: Apache-2.0
"""The picture of a rank: axes with units, all lanes, wide enough to read. Layer: tests, no ranks."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import trace_by_hand
from ascend_deepep.trace.plot import plot
from ascend_deepep.trace.recording import Call
from ascend_deepep.trace.summary import slowest_rank, summarise

pytestmark = pytest.mark.fast
pytest.importorskip("matplotlib")


def test_both_files_are_written_and_labelled(tmp_path: Path) -> None:
    recording = trace_by_hand.recording()
    assert slowest_rank(recording, "dispatch_v2") == 1
    png, svg = plot(recording, tmp_path / "cores", "by hand")
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    assert width == 1200 and height > 300
    drawn = svg.read_text()
    for words in (
        "by hand",
        "dispatch_v2, rank 1, call 0, its longest",
        "core 0",
        "core 1",
        "all cores wait",
        "landed from rank 0",
        "since the call began, us of real time",
        "collect",
        "waits",
        "write landed",
    ):
        assert f">{words}<" in drawn, words


def test_a_rank_can_be_chosen(tmp_path: Path) -> None:
    _, svg = plot(trace_by_hand.recording("simulator"), tmp_path / "cores", "by hand", rank=0)
    drawn = svg.read_text()
    assert ">dispatch_v2, rank 0, call 0, its longest<" in drawn
    assert ">since the call began, us of virtual time<" in drawn
    assert ">all cores wait<" not in drawn


def test_a_rank_without_calls_is_refused(tmp_path: Path) -> None:
    recording = trace_by_hand.recording()
    recording.calls.clear()
    with pytest.raises(ValueError, match="rank 0 made no call"):
        plot(recording, tmp_path / "cores", "nothing", rank=0)


def test_the_longest_call_of_the_rank_that_the_summary_names_is_drawn(tmp_path: Path) -> None:
    recording = trace_by_hand.recording()
    recording.calls += [Call(0, 1, "dispatch_v2", 200_000, 500_000), Call(1, 1, "dispatch_v2", 480_000, 510_000)]
    (found,) = summarise(recording).operators
    _, svg = plot(recording, tmp_path / "cores", "by hand")
    assert found.rank == 1  # rank 0 only waited for it
    assert ">dispatch_v2, rank 1, call 0, its longest<" in svg.read_text()
