# SPDX-License-Identifier: Apache-2.0
"""bench/vs_gloo.py on a small shape: it compares the layers bit by bit, prints what it promises. Layer: tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / "bench" / "vs_gloo.py"
SMALL = ["--ranks", "2", "--tokens", "8", "--hidden", "128", "--topk", "2", "--experts", "8"]


def bench(*more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), "--json", "--iters", "7", "--warmup", "1", *SMALL, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.long
def test_json() -> None:
    done = bench()
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)
    assert set(numbers) == {"shape", "ours_ms", "gloo_ms", "ratio", "iters", "spread"}
    assert numbers["iters"] == 7 and numbers["shape"]["hidden"] == 128 and set(numbers["gloo_ms"]) == {"plain", "tuned"}
    assert numbers["ratio"] == pytest.approx(min(numbers["gloo_ms"].values()) / numbers["ours_ms"], rel=0.02)
    medians = {"ours": numbers["ours_ms"], **numbers["gloo_ms"]}
    for name, (low, high) in numbers["spread"].items():
        assert 0 < low <= medians[name] <= high


@pytest.mark.long
def test_required_ratio() -> None:
    done = bench("--require", "1e9")
    assert done.returncode == 1 and json.loads(done.stdout)["ratio"] < 1e9
