# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep diagnose`: what it says, and with which exit code. Layer: tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ascend_deepep.cli.app import run
from ascend_deepep.stats import Statistics
from made_statistics import add_wait, enter_late, even

SMALL = ("--sim", "--ranks", "4", "--cores", "4", "--tokens", "16", "--hidden", "512", "--steps", "2")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and the JSON object, which is the last line."""
    code = run(["diagnose", *words, "--json"])
    value = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert isinstance(value, dict)
    return code, value


def test_a_world_with_nothing_planted(capsys: pytest.CaptureFixture[str]) -> None:
    code, value = said(capsys, "--sim")
    assert (code, value["picture"], value["causes"], value["holds"]) == (0, "bytes", [], True)
    assert value["model_us"] > 0 and value["ratio"] == pytest.approx(value["measured_us"] / value["model_us"], abs=0.01)
    assert value["planted"] is None and "virtual time, 8 ranks, 32 tokens" in value["title"]


def test_a_planted_cause_is_status_one_and_in_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    code, value = said(capsys, "--sim", "--plant", "link:2:5", "--save", str(path))
    assert (code, value["picture"], value["causes"][0]["ranks"]) == (1, "slow-link", [2, 5])
    assert value["planted"] == "a slow link, rank 2 -> rank 5"
    again = said(capsys, "--from", str(path))
    assert again == (1, {**value, "planted": None})
    assert Statistics.load(path).num_ranks == 8


def test_lines_for_a_person(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    statistics = even()
    enter_late(statistics, "dispatch_v2", 3, 900.0)
    statistics.save(path)
    assert run(["diagnose", "--from", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "late entry, rank 3"
    assert any("rank 3 is away 900 us longer than the others before dispatch_v2" in line for line in lines)
    assert any(line.strip().startswith("next: look at what that rank does") for line in lines)


def test_links_figures_of_the_command_line_count(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    even(link=False).save(path)
    assert said(capsys, "--from", str(path))[1]["picture"] == "even"
    # 16 rows of 512 B at 0.0293 GB/s: 280 us.
    code, value = said(capsys, "--from", str(path), "--link", "100,0.0292571")
    assert (code, value["picture"], value["model_us"]) == (0, "bytes", pytest.approx(760, abs=1))
    code, value = said(capsys, "--from", str(path), "--link", "5,50")
    assert (code, value["picture"]) == (1, "overhead")


def test_it_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.json"
    statistics = even(ranks=4, steps=1)
    add_wait(statistics, "combine_v2", 1, 2, 50)
    statistics.save(path)
    assert run(["diagnose", "--from", str(path), "--plot", str(tmp_path / "waits")]) == 0
    assert "waits.png" in capsys.readouterr().err
    assert (tmp_path / "waits.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "waits.svg").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--plant", "cable"], "--plant 'cable': 'cable' is not one of skew, core, link, late"),
        (["--plant", "link"], "--plant 'link' needs --sim: in real time skew and late can be planted"),
        (["--from", "/no/file"], "--from /no/file: No such file or directory"),
        (["--from", "/no/file", "--ranks", "3"], "--ranks does not go with --from, which runs nothing"),
        ([*SMALL, "--save", "/no/folder/a.json"], "--save /no/folder/a.json: No such file or directory"),
        ([*SMALL, "--plot", "/no/folder/a"], "--plot /no/folder/a: /no/folder is no folder"),
        ([*SMALL, "--link", "5"], "--link '5' is not ALPHA_US,GB_PER_S, such as 5,50"),
        ([*SMALL, "--link", "5,0"], "more than 0 GB/s"),
        (["--sim", "--experts", "9"], "num_experts = 9 is not a multiple of num_ranks = 8"),
        (["--experts", "9"], "num_experts = 9 is not a multiple of num_ranks = 8"),
        (["--ranks", "1"], "--ranks 1 is outside [2, 64]"),
        (["--sim", "--steps", "17"], "--steps 17 is outside [1, 16]"),
        (["--sim", "--cores", "0"], "--cores 0 is outside [4, 72]"),
        (["--sim", "--cores", "0", "--plant", "core"], "--cores 0 is outside [4, 72]"),
        (["--cores", "0"], "--cores 0 is outside [4, 72]"),
        (["--tokens", "0"], "0 is outside [1, 8192]"),
        (["--routing", "gated"], "--routing 'gated' is not one of uniform, gate, skewed"),
        (["--sim", "--tokens", "8192"], "13107200 blocks of 512 B are too many for virtual time"),
    ],
)
def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], words: list[str], text: str) -> None:
    assert run(["diagnose", *words]) == 2
    output = capsys.readouterr()
    assert output.out == "" and output.err.count("\n") == 1 and text in output.err


@pytest.mark.long
def test_the_twin_in_real_time(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    words = ("--ranks", "4", "--tokens", "16", "--hidden", "256", "--steps", "4", "--plant", "late:1")
    code, value = said(capsys, *words, "--save", str(path))
    assert (code, value["picture"], value["causes"][0]["ranks"]) == (1, "late-entry", [1])
    statistics = Statistics.load(path)
    assert (statistics.source, statistics.num_steps) == ("twin", 4) and statistics.link is not None
