# SPDX-License-Identifier: Apache-2.0
"""Recordings as files: what comes back, and what is refused. Layer: tests, no ranks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trace_by_hand
from ascend_deepep.trace.storage import load, save

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_file_gives_the_same_back(tmp_path: Path, name: str) -> None:
    recording = trace_by_hand.recording()
    save(recording, tmp_path / name)
    assert load(tmp_path / name) == recording


def _swap_times(value: dict[str, Any]) -> None:
    start, end = (value["fields"]["calls"].index(name) for name in ("start_ns", "end_ns"))
    call = value["calls"][0]
    call[start], call[end] = call[end], call[start] - 1


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no kind": (lambda value: value.pop("kind"), "is no recording of `ascend-deepep trace`"),
    "statistics": (
        lambda value: [value.clear(), value.update(format=1, operators={}, tokens=[])],
        "it has statistics: ascend-deepep diagnose --from",
    ),
    "format": (lambda value: value.update(format=9), "of format 9: this version reads format 1"),
    "no source": (lambda value: value.pop("source"), "a field is missing"),
    "source": (lambda value: value.update(source=3), "source is 3, want a text"),
    "no fields": (lambda value: value.pop("fields"), "a field is missing"),
    "unknown field": (lambda value: value["fields"]["calls"].append("height"), "a field is missing or of another kind"),
    "short row": (lambda value: value["calls"][0].pop(), "a field is missing or of another kind"),
    "no list": (lambda value: value.update(calls=5), "a field is missing or of another kind"),
    "no ranks": (lambda value: value.update(num_ranks=0), "num_ranks is 0"),
    "ranks": (lambda value: value.update(num_ranks="two"), "num_ranks is 'two'"),
    "few ranks": (lambda value: value.update(num_ranks=1), "rank is 1, want one of 1"),
    "times": (_swap_times, "want whole numbers that do not go back"),
}


@pytest.mark.parametrize(("change", "part"), CHANGES.values(), ids=CHANGES)
def test_another_file_is_refused_by_one_line(
    change: Callable[[dict[str, Any]], object], part: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    save(trace_by_hand.recording(), path)
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    with pytest.raises(ValueError) as caught:
        load(path)
    assert part in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"{"), gzip.compress(b"{}" * 99)[:-9], gzip.compress(b"[" * 100_000)]
)
def test_a_broken_file_is_refused_by_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no recording"):
        load(path)
