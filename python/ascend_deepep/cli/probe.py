# SPDX-License-Identifier: Apache-2.0
"""Asks a child process what only an import can tell: a crash, an abort or a hang there is an answer. Layer: Python."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Answer:
    """What the child said before it ended, and how it ended if not well."""

    value: dict[str, Any] = field(default_factory=dict)
    #: One line; empty where the child came to its end.
    problem: str = ""
    #: Class of the exception that ended the child, where it was one.
    kind: str = ""


def ask(question: str, seconds: float, environ: Mapping[str, str] | None = None) -> Answer:
    """Run a question of `probe_child` in a process of its own, for at most `seconds`."""
    with tempfile.TemporaryDirectory(prefix="ascend-deepep-probe-") as folder:
        report, log = Path(folder) / "report.json", Path(folder) / "log"
        command = [sys.executable, "-m", "ascend_deepep.cli.probe_child", question, str(report)]
        with log.open("wb") as output:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_environment(environ),
                start_new_session=True,
            )  # fmt: skip
            try:
                code = child.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(child)
        answer = _read(report)
        if not answer.problem and code != 0:
            answer.problem = _describe(code, seconds, log.read_text(errors="replace"))
    return answer


def _environment(environ: Mapping[str, str] | None) -> dict[str, str]:
    """The child finds the package where this process did."""
    env = dict(os.environ if environ is None else environ)
    home = str(Path(__file__).absolute().parents[2])
    env["PYTHONPATH"] = os.pathsep.join([home, *filter(None, [env.get("PYTHONPATH")])])
    return env


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child with all processes that what it imported may have started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _read(report: Path) -> Answer:
    if not report.is_file():
        return Answer()
    return Answer(**json.loads(report.read_text()))


def _describe(code: int | None, seconds: float, log: str) -> str:
    if code is None:
        return f"it did not end within {seconds:g} s"
    if code < 0:
        return f"it ended with signal {-code} ({signal.Signals(-code).name})"
    lines = log.strip().splitlines()
    return f"it ended with exit code {code}" + (f": {lines[-1]}" if lines else "")
