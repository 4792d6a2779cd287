# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep conformance`: exit codes, the JSON object, the line that runs a failed case again. Layer: tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ascend_deepep.cli import app
from ascend_deepep.cli import conformance as command
from ascend_deepep.conformance.cases import Case, load

_PROGRAM = [sys.executable, "-m", "ascend_deepep.cli", "conformance"]
_KEYS = ["passed", "failed", "skipped", "refusals", "by_feature"]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run([*_PROGRAM, *words], capture_output=True, text=True, timeout=300, env=env, check=False)


def test_json_of_a_few_cases() -> None:
    done = run("--filter", "id=report.6-equal|id=report.6-small|id=dispatch.tp-2", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert list(result) == _KEYS
    assert [result[key] for key in _KEYS[:4]] == [3, 0, 0, 2]
    assert result["by_feature"]["refused: D6"] == {"passed": 1, "failed": 0}
    assert result["by_feature"]["quant_mode: 0, bfloat16"] == {"passed": 1, "failed": 0}


@pytest.mark.long
def test_table_of_a_case() -> None:
    done = run("--filter", "id=report.6-unequal", "--target", "twin")
    assert done.returncode == 0, done.stderr
    assert "EXACT 1 cases" in done.stdout and "unequal, global_bs" in done.stdout


def test_a_failure_says_how_to_run_it_again() -> None:
    """A bit that flips on its way from rank 0 is found, whichever row it strikes."""
    done = run("--filter", "id=report.6-equal", "--json", ASCEND_DEEPEP_TWIN_FAULT="flip-bit:0:1")
    assert done.returncode == 1
    assert "report.6-equal (public report 6)\n  rank " in done.stderr
    assert "again: ascend-deepep conformance --filter id=report.6-equal" in done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert [result[key] for key in _KEYS[:4]] == [0, 1, 0, 0]


def test_list() -> None:
    cases = load()
    done = run("--list", "--json")
    assert [case["id"] for case in json.loads(done.stdout)["cases"]] == [case.id for case in cases]
    lines = run("--list", "--filter", "group=contract").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [case.id for case in cases if case.group == "contract"]
    assert all(" exact " in line for line in lines)


@pytest.mark.parametrize(
    ("words", "runs_large"), [((), False), (("--large",), True), (("--filter", "group=timed"), True)]
)
def test_large_cases_run_where_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], runs_large: bool
) -> None:
    ran: list[Case] = []

    def run_none(cases: list[Case], skipped: int, _target: str, _as_json: bool) -> int:
        assert skipped == 0
        ran.extend(cases)
        return 0

    monkeypatch.setattr(command, "_run", run_none)
    assert app.run(["conformance", *words, "--target", "twin"]) == 0
    assert any(case.is_large for case in ran) == runs_large
    assert {case.id for case in load() if case.group == "timed" and not case.is_large} <= {case.id for case in ran}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--filter", "id=nothing"), "fits no case"),
        (("--filter", "quants=2"), "no case has 'quants'"),
        (("--target", "cuda"), "--target 'cuda' is not one of twin, ascend950"),
        (("--target", "ascend950", "--filter", "id=report.6-equal"), "--target ascend950: "),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(words: tuple[str, ...], text: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("UsageError: ") and text in done.stderr and done.stderr.count("\n") == 1
    as_json = run(*words, "--json")
    assert as_json.returncode == 2
    error = json.loads(as_json.stdout)["error"]
    assert error["kind"] == "UsageError" and text in error["message"]
