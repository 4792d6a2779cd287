# SPDX-License-Identifier: Apache-2.0
"""Which mutants the suite of the Fast policy does not find: tests/mutants/fast.json. Layer: tests.

The suite: tests/cpp/protocol as a whole and the demo's covering array, with the mutant's Fast module in place of every
kernel module. `python tests/python/mutants/fast_suite.py [NAME...]` writes the file; it takes half an hour or more.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from ascend_deepep.simulator.mutants import Mutant, apply, build, checkout, copy_sources, mutants

ROOT = checkout(Path(__file__).resolve())
RECORD = ROOT / "tests/mutants/fast.json"
DEMO_CASES = 25
TIMEOUT_S = 240


def commands() -> list[list[str]]:
    """The programs of the suite, the quickest first."""
    program = Path(os.environ.get("ASCEND_DEEPEP_PROTOCOL_TEST", ROOT / "build/dev/tests/protocol_test"))
    assert program.is_file(), f"{program} is missing: build the C++ tests, or set ASCEND_DEEPEP_PROTOCOL_TEST"
    demo = [sys.executable, "-m", "ascend_deepep.cli", "demo", "--sweep", "--cases", str(DEMO_CASES), "--json"]
    return [[str(program)], demo]


def holds(command: list[str], environment: dict[str, str]) -> bool:
    """Whether a program of the suite passes. It is not waited for beyond its first failure."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = threading.Timer(TIMEOUT_S, os.killpg, (process.pid, signal.SIGKILL))
    end.start()
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("FAILED "):
                os.killpg(process.pid, signal.SIGKILL)
        return process.wait() == 0
    finally:
        end.cancel()


def passes(mutant: Mutant | None) -> bool:
    """Whether the whole suite passes with the mutant, or with the sources as they are."""
    with tempfile.TemporaryDirectory(prefix="mutant_") as folder:
        op_kernel = copy_sources(ROOT, Path(folder))
        if mutant is not None:
            apply(mutant, op_kernel)
        environment = dict(os.environ, ASCEND_DEEPEP_KERNELS=str(build(ROOT, op_kernel, "Fast")))
        return all(holds(command, environment) for command in commands())


def record(names: list[str]) -> None:
    """Try the named mutants, or all, and keep what came of the others."""
    known = set(json.loads(RECORD.read_text(encoding="utf-8"))["pass"]) if RECORD.is_file() else set()
    if not passes(None):
        raise SystemExit("the suite fails with the sources as they are")
    for mutant in mutants(ROOT):
        if names and mutant.name not in names:
            continue
        known.discard(mutant.name)
        if passes(mutant):
            known.add(mutant.name)
        print(f"{mutant.name}: {'passes' if mutant.name in known else 'found'}", flush=True)
        kept = sorted(known & {one.name for one in mutants(ROOT)})
        RECORD.write_text(json.dumps({"pass": kept}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(sys.argv[1:])
