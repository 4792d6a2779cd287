# SPDX-License-Identifier: Apache-2.0
"""The pictures of the cost model. Layer: tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from ascend_deepep.cli.app import run

pytest.importorskip("matplotlib")


def test_axes_have_names_and_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--what-if", "ranks=8,16,32,64", "--what-if", "routing=flat,node-dedup", "--set", "tokens=4096"]
    assert run(["model", *words, "--plot", str(tmp_path / "model")]) == 0
    assert "written: " in capsys.readouterr().err
    svg = (tmp_path / "model.svg").read_text()
    for text in (
        "lower bound of the time, us",
        "ranks",
        "dispatch_v2",
        "combine_v2",
        "routing node-dedup",
        "hidden 7168",
    ):
        assert f">{text}" in svg or text in svg
    assert (tmp_path / "model.png").stat().st_size > 20_000


def test_values_without_a_number_are_drawn_too(tmp_path: Path) -> None:
    assert run(["model", "--what-if", "dispatch=fp8,bf16", "--plot", str(tmp_path / "types")]) == 0
    assert ">fp8<" in (tmp_path / "types.svg").read_text()


def test_a_place_that_cannot_be_written_is_told_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "--what-if", "ranks=8,16", "--plot", str(tmp_path / "none" / "x")]) == 2
    assert "no folder that can be written to" in capsys.readouterr().err
