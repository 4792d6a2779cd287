# SPDX-License-Identifier: Apache-2.0
"""A seed takes the same steps under g++ and clang: nothing in it depends on a compiler. Layer: tests.

Builds sim_run, and the kernels that it opens, once with each. `test long` sees to it that clang is there; CLANGXX names
another than clang++-19.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HASH = re.compile(r"^seed (\d+): hash ([0-9a-f]{16}) ", re.MULTILINE)


def hashes(folder: Path, compiler: str, optimisation: str) -> dict[str, str]:
    """Fingerprints of 20 seeds, by a simulator that this compiler made."""
    settings = [
        *("-DASCEND_DEEPEP_BUILD_TESTS=ON", "-DASCEND_DEEPEP_BUILD_PYTHON=OFF", "-DASCEND_DEEPEP_WERROR=ON"),
        *(f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={optimisation}"),
    ]
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *settings]
    for command in (configure, ["cmake", "--build", str(folder), "--target", "sim_run", "-j2"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    command = [str(folder / "tests/sim_run"), "--seeds", "2001..2020", "--verbose"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(HASH.findall(done.stdout))


@pytest.mark.long
def test_two_compilers_give_the_same_steps(tmp_path: Path) -> None:
    gcc = hashes(tmp_path / "gcc", os.environ.get("CXX", "g++"), "-O2")
    clang = hashes(tmp_path / "clang", os.environ.get("CLANGXX", "clang++-19"), "-O1")
    assert len(set(gcc.values())) == 20
    assert gcc == clang
