# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep bench`: JSON, exit codes, and that its checks can fail. No time is judged. Layer: tests."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import wrong_layer
from ascend_deepep.bench import contestants, measure
from ascend_deepep.bench import ranks as rank_side
from ascend_deepep.bench import run as bench_run
from ascend_deepep.bench.processes import TUNED, Processes
from ascend_deepep.bench.result import make_row
from ascend_deepep.bench.shapes import Shape
from ascend_deepep.cli.app import run
from ascend_deepep.testing import Context, Pool, RankErrors

SMALL = ["--tokens", "6,9", "--hidden", "128", "--topk", "2", "--experts", "8", "--copy-mib", "2", "--rounds", "3"]
ROW = [
    "ranks tokens hidden topk experts dtype routing layout ours_ms dispatch_ms combine_ms gloo_ms allgather_ms",
    "copy_gb_s ratio ratios limit_ratio copies bytes_put wqes doorbells window_bytes spread iterations",
]
FIGURES = {"ours", "dispatch", "combine", "plain", "tuned", "allgather", "copy_gb_s", "limit_ratio", "ratio"}


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """Ranks for all tests here: starting them takes longer than what they do."""
    with Processes() as shared:
        yield shared


@pytest.fixture(autouse=True)
def shared_processes(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_run, "Processes", lambda: contextlib.nullcontext(processes))


def bench(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON object and stderr of a run in this process."""
    code = run(["bench", "--json", *words])
    out, err = capfd.readouterr()
    return code, json.loads(out.splitlines()[-1]), err


def test_json(capfd: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    stem = tmp_path / "figures"
    code, value, err = bench(
        capfd, *SMALL, "--ranks", "2", "--iters", "3", "--dtype", "bf16,int8,int8-both", "--plot", str(stem)
    )
    assert code == 0, err
    assert list(value) == ["machine", "command", "date", "exact", "rows", "findings", "left_out"]
    assert value["exact"] is True and value["findings"] == value["left_out"] == []
    assert {"cpu", "cores", "memory", "kernel", "isa", "torch"} <= set(value["machine"])
    assert [(row["dtype"], row["tokens"]) for row in value["rows"]] == [
        (dtype, tokens) for dtype in ("bf16", "int8", "int8-both") for tokens in (6, 9)
    ]
    for row in value["rows"]:
        assert list(row) == " ".join(ROW).split()
        assert set(row["spread"]) == FIGURES and set(row["gloo_ms"]) == {"plain", "tuned"}
        medians = {"ours": row["ours_ms"], "allgather": row["allgather_ms"], "ratio": row["ratio"], **row["gloo_ms"]}
        for name, median in medians.items():
            low, high = row["spread"][name]
            assert 0 < low <= median <= high
        assert set(row["ratios"]) == {"plain", "tuned", "allgather"}
        assert row["ratio"] <= min(row["ratios"]["plain"], row["ratios"]["tuned"])
        # 128 or 256 B, a scale of 4 B, a header of 8 + 4 * 2 B, each from a multiple of 32 B on, 480 B of data a block
        assert row["layout"] == "per-rank" and row["bytes_put"]["dispatch"] == row["copies"] * 512
        assert row["wqes"] >= row["copies"] > 0 and row["window_bytes"] > 0 and row["doorbells"] > 0
        assert set(row["iterations"].values()) == {3}
    assert stem.with_suffix(".png").read_bytes()[:4] == b"\x89PNG"
    svg = stem.with_suffix(".svg").read_text()
    assert "tokens per rank" in svg and "gloo all-to-all, tuned" in svg and "int8-both, gate" in svg
    assert value["command"].endswith("--compare gloo --rounds 3 --iters 3 --copy-mib 2 --seed 0")


def test_table_and_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """Without others there is no ratio; 4 ranks, all routings."""
    code = run(["bench", *SMALL, "--ranks", "4", "--routing", "uniform,skewed", "--compare", "none", "--rounds", "1"])
    out, err = capfd.readouterr()
    assert code == 0 and err == ""
    lines = [line.split() for line in out.splitlines()]
    rows = [line for line in lines if line[:1] == ["4"] and line[4:5] == ["per-rank"]]
    assert [(line[1], line[3]) for line in rows] == [
        (tokens, routing) for routing in ("uniform", "skewed") for tokens in ("6", "9")
    ]
    assert all(line[8:12] == ["-"] * 4 for line in rows)
    assert "ascend-deepep bench --ranks 4 " in out


@pytest.mark.parametrize(
    ("name", "layer", "text"),
    [
        ("alltoall", wrong_layer.OffByOneBit, "rank 0, batch 0: alltoall differs from ours: 1 of 768 elements"),
        ("ours", wrong_layer.Swapped, "batch 0: ours is not x times the sum of its weights"),
        ("ours", wrong_layer.Chatty, "batch 0: bytes_put_dispatch is "),
    ],
)
def test_what_differs_is_no_row_and_exit_1(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, layer: Any, text: str
) -> None:
    monkeypatch.setitem(contestants.CONTESTANTS, name, layer)
    code, value, err = bench(capfd, *SMALL, "--tokens", "6", "--ranks", "2")
    assert code == 1
    assert value["exact"] is False and value["rows"] == []
    assert any(text in finding for finding in value["findings"]) and text in err


def test_a_copy_that_copies_nothing_is_an_error(ranks: Pool) -> None:
    assert ranks.run(wrong_layer.copy, 2, True) == [[4, 4]] * 2
    with pytest.raises(RankErrors, match="way 1 of copying left other bytes"):
        ranks.run(wrong_layer.copy, 2, False)


def allocator(_context: Context) -> dict[str, str]:
    return {name: os.environ[name] for name in TUNED if name in os.environ}


def test_the_allocator_is_tuned_in_one_group_alone(processes: Processes) -> None:
    assert processes.call("tuned", allocator, 1) == [TUNED]
    assert processes.call("plain", allocator, 1) == [allocator(None)]  # type: ignore[arg-type]


def test_required_ratio(capfd: pytest.CaptureFixture[str]) -> None:
    words = [*SMALL, "--tokens", "6", "--ranks", "2", "--rounds", "1", "--iters", "1", "--compare", "alltoall"]
    code, value, err = bench(capfd, *words, "--require", "1e9")
    assert code == 1 and value["exact"] is True
    assert "ratio " in err and "is below 1e+09" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--ranks", "3"], "256 experts cannot be divided among 3 ranks"),
        (["--ranks", "0"], "--ranks 0 is outside [1, 64]"),
        (["--ranks", "2,x"], "--ranks '2,x' is not a list of numbers"),
        (["--tokens", "0"], "--tokens 0 is outside [1, 8192]"),
        (["--tokens", "9999"], "--tokens 9999 is outside [1, 8192]"),
        (["--hidden", "100"], "hidden"),
        (["--hidden", "9000"], "--hidden 9000 is outside [64, 8192]"),
        (["--topk", "17"], "--topk 17 is outside [1, 16]"),
        (["--topk", "3", "--experts", "2", "--ranks", "2"], "--topk 3 is outside [1, 2]"),
        (["--dtype", "fp64"], "--dtype 'fp64' is not one of bf16, int8, int8-both"),
        (["--routing", "all"], "--routing 'all' is not one of uniform, gate, skewed"),
        (["--compare", "nccl"], "--compare 'nccl' is not one of gloo, alltoall, allgather, none"),
        (["--compare", "none,gloo"], "--compare none stands alone"),
        (["--compare", "allgather", "--require", "2"], "--require 2 needs a ratio"),
        (["--rounds", "0"], "--rounds 0 is outside"),
        (["--iters", "0"], "--iters 0 is outside"),
        (["--copy-mib", "0"], "--copy-mib 0 is outside"),
        (["--seed", "-1"], "--seed -1 is outside"),
        (["--plot", "/nowhere/at/all"], "/nowhere/at is no folder"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_mistakes_exit_2_with_one_line(capfd: pytest.CaptureFixture[str], words: list[str], text: str) -> None:
    code, value, err = bench(capfd, *words)
    assert code == 2 and err == ""
    assert text in value["error"]["message"] and value["error"]["kind"] in ("UsageError", "ArgumentError")
    assert run(["bench", *words]) == 2
    out, err = capfd.readouterr()
    assert out == "" and text in err and err.count("\n") == 1


def test_no_memory_exits_2_and_names_both_sizes(capfd: pytest.CaptureFixture[str]) -> None:
    code, value, _ = bench(capfd, "--ranks", "64", "--tokens", "8192", "--hidden", "8192", "--copy-mib", "65536")
    assert code == 2 and value["error"]["kind"] == "Memory"
    assert "needs about " in value["error"]["message"] and "bytes are free" in value["error"]["message"]


def test_turns_alternate_and_the_figures_are_theirs() -> None:
    """Times of one's own: an iteration costs its slowest rank, a turn its median, ratios are of one round."""
    shape = Shape(ranks=2, tokens=1, hidden=64, topk=1, experts=2, routing="uniform")
    calls: list[tuple[str, str]] = []
    ours = iter([[1.0, 5.0, 3.0], [2.0, 2.0, 2.0], [4.0, 4.0, 4.0]])  # the rounds'
    gloo = {"plain": iter([6.0, 9.0, 16.0]), "tuned": iter([12.0, 8.0, 6.0])}

    class Played:
        def call(self, group: str, function: Any, ranks: int, *arguments: Any) -> list[Any]:
            if function is rank_side.copy_turn:
                return [[[0.5] * 3, [0.25] * 3]] * ranks
            name, count = arguments
            calls.append((group, name))
            if len(calls) <= 3:
                return [rank_side.Turn([rank_side.Iteration(0.1, 0.1, 0.1)] * count, {})] * ranks
            times = next(ours) if name == "ours" else [next(gloo[group])] * 3
            counted = dict.fromkeys(rank_side.COUNTED, 0)
            slow = [rank_side.Iteration(time / 1000, time / 2000, time / 2000) for time in times]
            fast = [rank_side.Iteration(0.0001, 0.0001, 0.0001)] * 3
            return [rank_side.Turn(fast, counted), rank_side.Turn(slow, counted)]

    measured = measure.Measured(shape, counted=dict.fromkeys(rank_side.COUNTED, 0))
    options = measure.Options(layers=("alltoall",), rounds=3, iters=3, copy_bytes=1000)
    nothing = measure.traffic(shape, [torch.tensor([[rank]]) for rank in range(2)], "per-rank")
    measure._time(measured, options, Played(), [nothing], None)  # type: ignore[arg-type]
    assert calls[3:] == [("plain", "ours"), ("plain", "alltoall"), ("tuned", "alltoall")] * 3
    row = make_row(measured)
    assert (row.ours_ms, row.dispatch_ms) == (3.0, 1.5)  # medians 3, 2, 4
    assert row.gloo_ms == {"plain": 9.0, "tuned": 8.0}
    assert row.ratio == statistics.median([6 / 3, 8 / 2, 6 / 4]) and row.spread["ratio"] == [1.5, 4.0]
    assert row.ratios == {"plain": 4.0, "tuned": 4.0}
    assert row.copy_gb_s == 4e-6  # 1000 B in the better way's 0.25 s
    assert row.limit_ratio == pytest.approx(shape.least_bytes / 4000 / 0.003, rel=1e-3)


def test_what_does_not_fit_is_left_out_and_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (Shape(2, tokens, 128, 2, 8) for tokens in (6, 9))
    options = measure.Options(rounds=1, copy_bytes=2 << 20)
    assert measure.bytes_needed(small, options) < measure.bytes_needed(large, options)
    monkeypatch.setattr(bench_run, "available_bytes", lambda: measure.bytes_needed(large, options) - 1)
    code, value, err = bench(capfd, *SMALL, "--ranks", "2", "--rounds", "1")
    assert code == 0 and [row["tokens"] for row in value["rows"]] == [6]
    assert "2 ranks, 9 tokens" in value["left_out"][0] and value["left_out"][0] in err


@pytest.mark.long
def test_thin_callers() -> None:
    folder = Path(__file__).resolve().parents[3] / "bench"
    for script, words in (("decode_and_prefill.sh", ["--json"]), ("sweep.sh", ["/tmp/no/such/folder"])):
        given = [str(folder / script), *words, *SMALL, "--tokens", "6", "--ranks", "2", "--routing", "gate"]
        environment = {**os.environ, "PYTHON": sys.executable}
        done = subprocess.run(given, capture_output=True, text=True, timeout=120, env=environment, check=False)
        value = json.loads(done.stdout.splitlines()[-1])
        if script == "sweep.sh":
            assert done.returncode == 2 and "is no folder" in value["error"]["message"]
        else:
            assert done.returncode == 0 and len(value["rows"]) == 1


def test_help_loads_no_torch() -> None:
    program = (
        "import sys; from ascend_deepep.cli.app import run; run(['bench', '--help']); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "--compare" in done.stdout
