# SPDX-License-Identifier: Apache-2.0
"""A seed takes the same steps under g++ and clang: nothing in it depends on a compiler. Layer: tests.

`sim_run` of the C++ build (build/dev, or ASCEND_DEEPEP_SIM_RUN) is the one; the other, with its kernels, is built here.
`test long` sees to it that clang is there; CLANGXX names another than clang++-19.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HASH = re.compile(r"^seed (\d+): hash ([0-9a-f]{16}) ", re.MULTILINE)


def run(*command: str, timeout: float) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def hashes(program: Path) -> dict[str, str]:
    """Fingerprints of 20 seeds."""
    return dict(HASH.findall(run(str(program), "--seeds", "2001..2020", "--verbose", timeout=300)))


@pytest.mark.long
def test_two_compilers_give_the_same_steps(tmp_path: Path) -> None:
    own = Path(os.environ.get("ASCEND_DEEPEP_SIM_RUN", ROOT / "build/dev/tests/sim_run"))
    assert own.is_file(), f"{own} is missing: build the C++ tests, or set ASCEND_DEEPEP_SIM_RUN"
    settings = [
        *("-DASCEND_DEEPEP_BUILD_TESTS=ON", "-DASCEND_DEEPEP_BUILD_PYTHON=OFF", "-DASCEND_DEEPEP_WERROR=ON"),
        *("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1"),
        f"-DCMAKE_CXX_COMPILER={os.environ.get('CLANGXX', 'clang++-19')}",
    ]
    run("cmake", "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", *settings, timeout=300)
    run("cmake", "--build", str(tmp_path), "--target", "sim_run", "-j2", timeout=1800)
    by_clang = hashes(tmp_path / "tests/sim_run")
    assert len(set(by_clang.values())) == 20
    assert by_clang == hashes(own)
