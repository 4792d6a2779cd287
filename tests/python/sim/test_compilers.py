# SPDX-License-Identifier: Apache-2.0
"""A seed takes the same steps under g++ and clang: nothing in it depends on a compiler. Layer: tests.

`sim_run` of the C++ build is the one; the other, with its kernels, is built here.
`test long` sees to it that clang is there; CLANGXX names another than clang++-19.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from sim_run import ROOT, hashes, sim_run


def run(*command: str, timeout: float) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def twenty(other: Path | None = None) -> dict[str, str]:
    """Fingerprints of 20 seeds."""
    done = sim_run("--seeds", "2001..2020", "--verbose", timeout=300, other=other)
    assert done.returncode == 0, done.stdout + done.stderr
    return hashes(done.stdout)


@pytest.mark.long
def test_two_compilers_give_the_same_steps(tmp_path: Path) -> None:
    own = twenty()
    settings = [
        *("-DASCEND_DEEPEP_BUILD_TESTS=ON", "-DASCEND_DEEPEP_BUILD_PYTHON=OFF", "-DASCEND_DEEPEP_WERROR=ON"),
        *("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1"),
        f"-DCMAKE_CXX_COMPILER={os.environ.get('CLANGXX', 'clang++-19')}",
    ]
    run("cmake", "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", *settings, timeout=300)
    run("cmake", "--build", str(tmp_path), "--target", "sim_run", "-j2", timeout=1800)
    by_clang = twenty(tmp_path / "tests/sim_run")
    assert len(set(by_clang.values())) == 20
    assert by_clang == own
