# SPDX-License-Identifier: Apache-2.0
"""Mutants that ranks with processes of their own see too, one at a time: none may end EXACT. Layer: tests.

Under Sim copies and SIMT functions take effect only where the program waits for them, so a missing wait shows there.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ascend_deepep.simulator.mutants import apply, build, checkout, copy_sources, mutants
from demo_run import demo

ROOT = checkout(Path(__file__).resolve())

# name, policy, combine engine
SEEN = [
    ("tags-not-compared", "Fast", "mte"),
    ("message-tag-not-compared", "Fast", "mte"),
    ("one-tag-for-all-operations", "Fast", "mte"),
    ("counts-off-by-one", "Fast", "mte"),
    ("bases-not-awaited", "Fast", "mte"),
    ("ring-never-full", "Fast", "urma"),
    ("owner-bit-inverted", "Fast", "mte"),
    ("row-triples-of-another-column", "Fast", "mte"),
    ("copys-data-not-awaited", "Sim", "mte"),
    ("sum-before-rows", "Sim", "mte"),
    ("image-put-before-it-is-full", "Sim", "mte"),
]


def run_demo(library: Path, policy: str, engine: str) -> tuple[int, dict[str, object]]:
    shape = ["--ranks", "3", "--tokens", "24", "--topk", "4", "--experts", "12", "--iters", "3"]
    environment = {"ASCEND_DEEPEP_TWIN_POLICY": policy.lower(), "ASCEND_DEEPEP_QUEUE_DEPTH": "4"}
    return demo(library, *shape, "--timeout-ms", "3000", "--combine-engine", engine, **environment)


@pytest.mark.long
@pytest.mark.parametrize("policy", ["Fast", "Sim"])
@pytest.mark.parametrize("engine", ["mte", "urma"])
def test_without_a_fault_it_is_exact(tmp_path: Path, policy: str, engine: str) -> None:
    code, report = run_demo(build(ROOT, copy_sources(ROOT, tmp_path), policy), policy, engine)
    assert (code, report.get("exact")) == (0, True)


@pytest.mark.long
@pytest.mark.parametrize(("name", "policy", "engine"), SEEN, ids=[name for name, _, _ in SEEN])
def test_the_fault_is_caught(tmp_path: Path, name: str, policy: str, engine: str) -> None:
    (mutant,) = [mutant for mutant in mutants(ROOT) if mutant.name == name]
    sources = copy_sources(ROOT, tmp_path)
    apply(mutant, sources)
    code, report = run_demo(build(ROOT, sources, policy), policy, engine)
    assert code == 1
    assert report.get("exact") is not True
