# SPDX-License-Identifier: Apache-2.0
"""The plots: every point is in sight, whatever was measured. Layer: tests, no ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ascend_deepep.bench.plot import SUFFIXES, check_plot, plot
from ascend_deepep.bench.result import Row
from ascend_deepep.demo.usage import UsageError

pytestmark = pytest.mark.fast
plt = pytest.importorskip("matplotlib.pyplot")


def row(ranks: int, tokens: int, ours: float, gloo: float | None, limit: float) -> Row:
    times = {"ours": ours} if gloo is None else {"ours": ours, "plain": 2 * gloo, "tuned": gloo, "allgather": 3 * gloo}
    return Row(
        *(ranks, tokens, 7168, 8, 256, "bf16", "gate", "per-rank"),
        ours_ms=ours,
        dispatch_ms=ours / 2,
        combine_ms=ours / 2,
        copy_gb_s=10.0,
        limit_ratio=limit,
        gloo_ms=None if gloo is None else {"plain": 2 * gloo, "tuned": gloo},
        allgather_ms=None if gloo is None else 3 * gloo,
        ratio=None if gloo is None else gloo / ours,
        ratios={},
        copies=1,
        bytes_put={},
        wqes=1,
        doorbells=1,
        window_bytes=1,
        iterations={},
        spread={name: [0.9 * time, 1.2 * time] for name, time in times.items()},
    )


def test_a_place_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    for stem in (tmp_path / "folder", tmp_path / "none" / "x", Path("/proc/x")):
        with pytest.raises(UsageError, match=f"--plot {stem}"):
            check_plot(stem)
    (tmp_path / "old.png").write_text("kept")
    check_plot(tmp_path / "old")
    check_plot(tmp_path / "new")
    assert (tmp_path / "old.png").read_text() == "kept"
    assert not any((tmp_path / f"new{suffix}").exists() for suffix in SUFFIXES)


@pytest.mark.parametrize("with_gloo", [True, False])
def test_all_points_are_in_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_gloo: bool) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(plt, "close", figures.append)
    gloo = {2: 4.0, 8: 90.0} if with_gloo else {2: None, 8: None}
    rows = [row(ranks, tokens, 1.0, gloo[ranks], ranks / 20) for ranks in (2, 8) for tokens in (1, 128, 4096)]
    paths = plot(rows, tmp_path / "a.b", "caption")
    assert [path.name for path in paths] == ["a.b.png", "a.b.svg"]
    assert all(path.stat().st_size > 1000 for path in paths)
    assert len(figures[0].axes) == 6
    lines = 0
    for axes in figures[0].axes:
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        for line in axes.get_lines():
            if len(line.get_xdata()) == 3:
                lines += 1
                assert left < min(line.get_xdata()) and max(line.get_xdata()) < right
                assert low <= min(line.get_ydata()) and max(line.get_ydata()) < high
    assert lines == (2 * (4 + 1 + 1) if with_gloo else 2 * (1 + 1))
