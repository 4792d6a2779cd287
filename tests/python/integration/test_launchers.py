# SPDX-License-Identifier: Apache-2.0
"""Ranks started by the usual launchers: torchrun and torch.multiprocessing.spawn. Layer: tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import ring_of_two
import torch.multiprocessing as mp

PROGRAM = Path(ring_of_two.__file__)


def test_torchrun() -> None:
    """Two ranks on a port of torchrun's own choice."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(PROGRAM)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=90, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if "EXACT" in line) == [
        "rank 0 of 2: EXACT",
        "rank 1 of 2: EXACT",
    ], done.stdout


def test_spawn(tmp_path: Path) -> None:
    """mp.spawn raises what a rank raised."""
    mp.spawn(ring_of_two.spawned, args=(str(tmp_path / "store"),), nprocs=2, join=True)


@pytest.mark.long
def test_spawn_tells_a_failing_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two above can fail: what a rank raises comes through."""
    monkeypatch.setenv("ASCEND_DEEPEP_NUM_CORES", "3")
    with pytest.raises(mp.ProcessRaisedException, match="num_cores = 3"):
        mp.spawn(ring_of_two.spawned, args=(str(tmp_path / "store"),), nprocs=2, join=True)
