# SPDX-License-Identifier: Apache-2.0
"""The simulator finds every planted protocol fault within its first few hundred seeds. Layer: tests.

`sim_run` comes from the C++ build (build/dev, or ASCEND_DEEPEP_SIM_RUN); it opens the module of a mutant in place of
the build's own.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from mutate import ROOT, Mutant, build, copy_sources, replace_once
from sim_mutants import SIM_MUTANTS

SEEDS = 300
FAILED = re.compile(r"^FAILED seed (\d+) \[([a-z ]+)\] ", re.MULTILINE)


def sim_run(library: Path) -> subprocess.CompletedProcess[str]:
    """The first seeds against the module, up to the first that fails."""
    program = Path(os.environ.get("ASCEND_DEEPEP_SIM_RUN", ROOT / "build/dev/tests/sim_run"))
    assert program.is_file(), f"{program} is missing: build the C++ tests, or set ASCEND_DEEPEP_SIM_RUN"
    command = [str(program), "--seeds", f"1..{SEEDS}", "--max-failures", "1", "--kernels", str(library)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.long
def test_without_a_fault_all_seeds_hold(tmp_path: Path) -> None:
    result = sim_run(build(copy_sources(tmp_path), "Sim"))
    assert (result.returncode, FAILED.findall(result.stdout)) == (0, [])


@pytest.mark.long
@pytest.mark.parametrize("mutant", SIM_MUTANTS, ids=[mutant.name for mutant in SIM_MUTANTS])
def test_the_simulator_finds_it(tmp_path: Path, mutant: Mutant) -> None:
    sources = copy_sources(tmp_path)
    path = sources / mutant.file
    path.write_text(replace_once(path.read_text(), mutant.old, mutant.new))
    result = sim_run(build(sources, "Sim"))
    print(result.stdout)
    assert result.returncode == 1, result.stderr
    assert FAILED.search(result.stdout)
