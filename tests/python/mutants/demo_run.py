# SPDX-License-Identifier: Apache-2.0
"""The demo with another kernel module, as the tests of mutants run it. Layer: tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def demo(library: Path, *arguments: str, **environment: str) -> tuple[int, dict[str, object]]:
    """Exit code and report of the demo on small rows that name their place."""
    variables = dict(os.environ, ASCEND_DEEPEP_KERNELS=str(library), **environment)
    command = [sys.executable, "-m", "ascend_deepep.cli", "demo", "--hidden", "256", "--cores", "8"]
    command += ["--payload", "index", *arguments, "--json"]
    result = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, json.loads(result.stdout.strip().splitlines()[-1])
