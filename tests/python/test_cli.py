# SPDX-License-Identifier: Apache-2.0
"""The command: exit codes, the JSON object and nothing else on its line, and no traceback for a user's mistake."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ascend_deepep import _runtime
from ascend_deepep.cli.app import run

_KEYS = [
    "exact",
    "mismatch",
    "ranks",
    "tokens",
    "rows",
    "copies",
    "bytes_put",
    "wqes",
    "doorbells",
    "layout",
    "dispatch_us",
    "combine_us",
    "window_bytes",
]


HUGE = "99999999999999999999999"
PROGRAM = [sys.executable, "-m", "ascend_deepep.cli"]


def _run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment}, check=False
    )


def _json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


@pytest.mark.fast
def test_demo_json() -> None:
    done = _run("demo", "--tokens-per-rank", "5,0,3", "--hidden", "256", "--experts", "48", "--iters", "2", "--json")
    assert done.returncode == 0, done.stderr
    value = _json(done)
    assert list(value) == _KEYS
    assert value["exact"] is True and value["mismatch"] is None
    assert (value["ranks"], value["tokens"], value["rows"]) == (3, [5, 0, 3], 64)
    assert set(value["bytes_put"]) == {"dispatch", "combine", "control"}
    assert done.stderr == ""


def test_default_demo_ends_with_exact() -> None:
    start = time.monotonic()
    done = _run("demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "EXACT 8 ranks, 256 tokens, 2048 rows"
    assert time.monotonic() - start < 80  # 40 s on a quiet machine of 2 cores
    assert "hottest expert" in done.stdout


@pytest.mark.fast
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--ranks", "3"], "256 experts cannot be divided among 3 ranks"),
        (["--topk", "9", "--experts", "8"], "top-k 9"),
        (["--ranks", "0"], "--ranks 0"),
        (["--ranks", HUGE], f"--ranks {HUGE} is outside [1, 1024]"),
        (["--seed", HUGE], f"--seed {HUGE} is outside [0, 8796093022207]"),
        (["--seed", "18446744073709551615"], "--seed 18446744073709551615 is outside"),
        (["--seed", "-99999999999999999"], "--seed -99999999999999999 is outside"),
        (["--iters", "1000000001"], "--iters 1000000001 is outside [1, 1000000000]"),
        (["--communicators", "9"], "--communicators 9 is outside [1, 8]"),
        (["--dtype", "fp64"], "--dtype 'fp64' is not one of bf16, fp16"),
        (["--routing", "all"], "gate, uniform, skewed, one-hot, none"),
        (["--tokens-per-rank", "1,x"], "is not a list of numbers"),
        (["--tokens-per-rank", "1,2", "--ranks", "3"], "has 2 numbers"),
        (["--kill", "1"], "is not RANK@ITER"),
        (["--kill", "1@1"], "raise --iters"),
        (["--fault", "gremlin"], "drop-wqe"),
        (["--cases", "3"], "--sweep"),
        (["--hidden", "-16"], "--hidden -16 is outside [64, 8192]"),
        (["--hidden", "1000000000000"], "--hidden 1000000000000 is outside [64, 8192]"),
        (["--tokens", "4294967296"], "tokens 4294967296 is outside [0, 8192]"),
        (["--tokens", "9999999"], "tokens 9999999 is outside [0, 8192]"),
        (["--topk", "300"], "top-k 300 is outside [1, 16]"),
        (["--cores", "0"], "--cores 0 is outside [4, 72]"),
        (["--cores", "-4"], "--cores -4 is outside [4, 72]"),
        (["--sweep", "--iters", "1"], "--iters does not go with --sweep"),
        (["--sweep", "--tokens-per-rank", "1,2"], "--tokens-per-rank does not go with --sweep"),
        (["--sweep", "--vary"], "--vary does not go with --sweep"),
        (["--nonsense"], "--nonsense"),
        (["--hidden", "many"], "--hidden"),
    ],
)
def test_mistakes_exit_2_with_one_line(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert text in err and err.count("\n") == 1
    assert run(["demo", *words, "--json"]) == 2
    out, err = capsys.readouterr()
    assert err == ""
    error = json.loads(out)["error"]
    assert error["kind"] == "UsageError" and text in error["message"]


def test_rules_of_the_communicator_exit_2() -> None:
    done = _run("demo", "--ranks", "2", "--tokens", "1", "--hidden", "1000", "--json")
    assert done.returncode == 2
    error = _json(done)["error"]
    assert error["kind"] == "ArgumentError" and "1000" in error["message"]


@pytest.mark.parametrize("as_json", [pytest.param(False, marks=pytest.mark.long), True])
def test_ctrl_c_is_one_line(as_json: bool) -> None:
    words = ["demo", "--ranks", "2", "--hidden", "256", "--iters", "1000000000", *["--json"][:as_json]]
    process = subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 60
    while not children.read_text() and time.monotonic() < deadline:  # the server of ranks
        time.sleep(0.05)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    if as_json:
        assert json.loads(out) == {"error": {"kind": "Interrupted", "message": "interrupted"}} and err == ""
    else:
        assert (out, err) == ("", "interrupted\n")


@pytest.mark.fast
def test_build_sh_refuses_minutes_that_are_no_number() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        ["bash", "build.sh", "test", "long", "x"], cwd=root, capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "build.sh: test long 'x': MINUTES is a number from 0 to 999999\n"


@pytest.mark.long
def test_lack_of_memory_is_a_refusal() -> None:
    """The communicator's own: one line with the bytes needed and free. The largest calls of 64 ranks touch 588 GB."""
    need_of = {8: 52 << 30, 16: 140 << 30, 64: 580 << 30}
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    ranks = next(ranks for ranks, need in need_of.items() if need > total)
    words = ["--ranks", str(ranks), "--tokens", "8192", "--hidden", "8192", "--topk", "16", "--routing", "none"]
    done = _run("demo", *words, "--json")
    assert done.returncode == 2
    assert done.stderr == ""
    error = _json(done)["error"]
    assert error["kind"] == "Memory"
    numbers = re.search(r" come to (\d+) bytes .* and (\d+) bytes are free", error["message"])
    assert numbers and int(numbers[1]) > int(numbers[2])
    done = _run("demo", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert "bytes are free" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.fast
@pytest.mark.parametrize("name", ["ASCEND_DEEPEP_NUM_CORES", "ASCEND_DEEPEP_COMBINE_ENGINE"])
def test_illegal_environment_exits_2(name: str) -> None:
    done = _run("demo", "--ranks", "1", "--tokens", "1", "--json", **{name: "some"})
    assert done.returncode == 2
    assert name in _json(done)["error"]["message"]


def test_kill_is_reported_by_every_survivor() -> None:
    words = ["--ranks", "4", "--hidden", "256", "--iters", "4", "--kill", "2@1", "--timeout-ms", "5000"]
    done = _run("demo", *words, "--json")
    assert done.returncode == 1
    value = _json(done)
    assert value["error"]["kind"] == "PeerLost"
    assert [survivor["rank"] for survivor in value["survivors"]] == [0, 1, 3]
    for survivor in value["survivors"]:
        error = survivor["error"]
        assert (error["kind"], error["root"]) == ("PeerLost", 2)
        assert error["stage"] and error["seconds"] < 2.0
    assert _run("demo", "--ranks", "4", "--hidden", "256").returncode == 0


# Each costs seconds: a CQE stands for the others in `test`.
_QUICK_FAULTS = ("bad-cqe",)


@pytest.mark.parametrize(
    "fault",
    [pytest.param(name, marks=[] if name in _QUICK_FAULTS else [pytest.mark.long]) for name in _runtime.fault_names()],
)
def test_faults_never_end_exact(fault: str) -> None:
    """An error that names rank and stage, or a difference that does; without the fault the command is exact."""
    words = ["demo", "--ranks", "4", "--hidden", "256", "--seed", "3", "--json"]
    done = _run(*words, "--fault", fault, "--timeout-ms", "2000")
    assert done.returncode == 1
    value = _json(done)
    if "error" in value:
        error = value["error"]
        assert error["kind"] in ("WaitTimeout", "FabricError")
        assert error["rank"] is not None and error["root"] is not None and error["stage"]
        assert error["seconds"] < 3.0
    else:
        assert value["exact"] is False
        assert value["mismatch"]["rank"] is not None and value["mismatch"]["what"].startswith("collect: ")


@pytest.mark.long
def test_faulted_command_is_exact_without_the_fault() -> None:
    done = _run("demo", "--ranks", "4", "--hidden", "256", "--seed", "3", "--json")
    assert done.returncode == 0 and _json(done)["exact"] is True


def test_doctor() -> None:
    done = _run("doctor", "--json")
    assert done.returncode == 0, done.stderr
    value = _json(done)
    assert value["self_test"]["exact"] is True
    assert value["target"] == "twin"
    assert value["min_cores"] == 4
    assert value["faults"] == _runtime.fault_names()
    assert value["limits"]["max_ranks"] == 1024
    assert min(value["window_bytes"].values()) > 0
    shown = _run("doctor")
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[-1].startswith("self-test: EXACT")
