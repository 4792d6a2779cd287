# SPDX-License-Identifier: Apache-2.0
"""`sim_run` of the C++ build, as tests use it: in build/dev, or what ASCEND_DEEPEP_SIM_RUN names. Layer: tests."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HASH = re.compile(r"^seed (\d+): hash ([0-9a-f]{16}) .* virtual ns (\d+)", re.MULTILINE)


def program() -> Path:
    """The file."""
    path = Path(os.environ.get("ASCEND_DEEPEP_SIM_RUN", ROOT / "build/dev/tests/sim_run"))
    assert path.is_file(), f"{path} is missing: build the C++ tests, or set ASCEND_DEEPEP_SIM_RUN"
    return path


def sim_run(*arguments: str, timeout: float = 120, other: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it, or another one."""
    command = [str(other or program()), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def hashes(text: str) -> dict[str, str]:
    """Fingerprints by seed, from what it says with --verbose."""
    return {seed: value for seed, value, _ in HASH.findall(text)}
