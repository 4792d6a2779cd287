# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim` as a program, as tests use it. Layer: tests."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAM = [sys.executable, "-m", "ascend_deepep.cli", "sim"]


def sim(*words: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run([*PROGRAM, *words], capture_output=True, text=True, timeout=1300, check=False)


def value_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON object, which is all that it has said."""
    assert done.stderr == "" and done.stdout.count("\n") == 1, done.stdout + done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


def started(*words: str, processes: int) -> subprocess.Popen[str]:
    """Start it, in a process group of its own, and wait until that many of its processes run kernels."""
    process = subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while len(running_kernels(process)) < processes:
        assert process.poll() is None and time.monotonic() < deadline, "it does not start"
        time.sleep(0.05)
    return process


def running_kernels(process: subprocess.Popen[str]) -> list[int]:
    """Children that have opened kernels."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children if "libascend_deepep_kernels_sim.so" in _maps(child)]


def _maps(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it has just ended
