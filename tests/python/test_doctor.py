# SPDX-License-Identifier: Apache-2.0
"""The doctor: what a machine lacks and what that costs, whatever an import of torch_npu does to a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ascend_deepep.cli import probe
from ascend_deepep.cli.machine import AUTOLOAD, Finding, findings

DOCTOR = [sys.executable, "-m", "ascend_deepep.cli", "doctor"]
NAMES = ["CANN", "bisheng", "devices", AUTOLOAD, "asc-devkit", "torch_npu", "shmem", "NPU library"]


def environment(*folders: Path, **values: str) -> dict[str, str]:
    """This environment without what an NPU machine sets, with folders in front of the search path."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ASCEND_", "ASC_", AUTOLOAD))}
    path = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**env, "PYTHONPATH": os.pathsep.join(path), **values}


def doctor(env: dict[str, str], *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON object; nothing else is on standard output, and no traceback anywhere."""
    done = subprocess.run([*DOCTOR, "--json", *words], capture_output=True, text=True, timeout=300, env=env)
    assert done.stdout.count("\n") == 1 and "Traceback" not in done.stderr, done.stdout + done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return done.returncode, value


def by_name(report: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {finding["name"]: finding for finding in report["npu"]}


def test_without_anything_of_an_npu() -> None:
    code, report = doctor(environment())
    assert code == 0 and report["self_test"]["exact"] is True
    assert (report["target"], report["targets"]) == ("twin", ["twin"])
    npu = by_name(report)
    assert list(npu) == NAMES
    for name in NAMES:
        if name != AUTOLOAD:
            assert not npu[name]["found"] and npu[name]["problem"] and npu[name]["costs"]
    assert "the twin works" in npu["CANN"]["costs"] and "set_env.sh" in npu["CANN"]["problem"]
    assert npu["torch_npu"]["problem"] == "ModuleNotFoundError: No module named 'torch_npu'"
    assert "header-check" in npu["asc-devkit"]["costs"]
    assert "docs/npu.md" in npu["NPU library"]["problem"]


# --- imports of torch_npu that end badly

_VERSION = "__version__ = '2.13.0'\nprint('noise on standard output')\n"
_NPU = """
import torch
class npu:
    device_count = staticmethod(lambda: 8)
    is_available = staticmethod({})
torch.npu = npu
"""
IMPORTS: dict[str, tuple[str, str]] = {
    "segfault": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "signal 11 (SIGSEGV)"),
    "abort": ("import os\nos.abort()", "signal 6 (SIGABRT)"),
    "exit": ("import os, sys\nprint('no driver', file=sys.stderr, flush=True)\nos._exit(3)", "exit code 3: no driver"),
    "SystemExit": ("raise SystemExit('no licence')", "exit code 1: no licence"),
    "ImportError": ("raise ImportError('libhccl.so: cannot open')", "ImportError: libhccl.so: cannot open"),
    "RuntimeError": ("raise RuntimeError('two\\naccelerators')", "RuntimeError: two accelerators"),
    "hang": ("import time\ntime.sleep(1000)", "it did not end within 5 s"),
    "no torch.npu": (
        _VERSION,
        "after version 2.13.0: ImportError: torch_npu was imported but torch.npu does not exist",
    ),
    "crash later": (
        _VERSION + _NPU.format("lambda: __import__('os').abort()"),
        "after version 2.13.0: it ended with signal 6 (SIGABRT)",
    ),
}


_SLOW_IMPORTS = ("hang", "no torch.npu", "crash later")


@pytest.mark.parametrize(
    ("text", "words"),
    [pytest.param(*of, id=name, marks=[pytest.mark.long] * (name in _SLOW_IMPORTS)) for name, of in IMPORTS.items()],
)
def test_an_import_that_ends_badly_is_a_finding(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "torch_npu.py").write_text(text)
    seconds = 5.0 if "hang" in words or "5 s" in words else 120.0
    start = time.monotonic()
    answer = probe.ask("torch_npu", seconds, environment(tmp_path))
    assert time.monotonic() - start < seconds + 5.0
    from ascend_deepep.cli.doctor import _torch_npu

    finding = _torch_npu(answer)
    assert not finding.found and words in finding.problem and "\n" not in finding.problem
    assert "the twin works" in finding.costs


@pytest.mark.long
def test_the_doctor_survives_a_crash(tmp_path: Path) -> None:
    (tmp_path / "torch_npu.py").write_text(IMPORTS["segfault"][0])
    code, report = doctor(environment(tmp_path))
    assert code == 0 and report["self_test"]["exact"] is True
    assert "SIGSEGV" in by_name(report)["torch_npu"]["problem"]


def test_torch_npu_that_works(tmp_path: Path) -> None:
    (tmp_path / "torch_npu.py").write_text(_VERSION + _NPU.format("lambda: True"))
    answer = probe.ask("torch_npu", 120.0, environment(tmp_path))
    assert answer == probe.Answer({"version": "2.13.0", "is_available": True, "device_count": 8})


@pytest.mark.long
@pytest.mark.parametrize(
    "shows", ["is_available = staticmethod(lambda: False)", "device_count = staticmethod(lambda: 0)"]
)
def test_torch_npu_without_a_device_is_missing(shows: str, tmp_path: Path) -> None:
    (tmp_path / "torch_npu.py").write_text(_VERSION + _NPU.format("lambda: True") + f"npu.{shows}\n")
    from ascend_deepep.cli.doctor import _torch_npu

    finding = _torch_npu(probe.ask("torch_npu", 120.0, environment(tmp_path)))
    assert not finding.found and "sees no device (version 2.13.0" in finding.problem and "npu-smi" in finding.problem


# --- libshmem.so


def shmem(folder: Path) -> Finding:
    """What the doctor says of it with a folder on LD_LIBRARY_PATH."""
    from ascend_deepep.cli.doctor import _shmem

    return _shmem(probe.ask("shmem", 120.0, environment(LD_LIBRARY_PATH=str(folder))))


def test_shmem_is_loaded_as_a_communicator_does_it(tmp_path: Path) -> None:
    assert "libshmem.so: cannot open" in shmem(tmp_path).problem and "LD_LIBRARY_PATH" in shmem(tmp_path).problem
    library = tmp_path / "libshmem.so"
    library.write_text("no library")
    assert "libshmem.so" in shmem(tmp_path).problem and shmem(tmp_path).costs.endswith("the twin works")
    subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", library], check=True)
    assert shmem(tmp_path) == Finding("shmem", str(library))
    library.unlink()
    crash = "#include <cstdlib>\nstatic int at_load = (std::abort(), 0);\n"
    subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", library], input=crash, text=True, check=True)
    assert "SIGABRT" in shmem(tmp_path).problem


def _as_installed(folder: Path, text: str) -> None:
    """torch_npu as its wheel installs it: torch imports it by itself."""
    (folder / "torch_npu.py").write_text(text)
    info = folder / "torch_npu-2.13.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.13.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ImportError", pytest.param("abort", marks=pytest.mark.long)])
def test_autoload_that_keeps_torch_from_being_imported(kind: str, tmp_path: Path) -> None:
    """The package cannot run in this environment, which is exit 1; the report says which variable helps."""
    _as_installed(tmp_path, IMPORTS[kind][0])
    code, report = doctor(environment(tmp_path))
    assert code == 1 and report["self_test"]["exact"] is False
    assert f"set {AUTOLOAD}=0 to run the twin" in report["problem"]
    assert report["versions"]["torch"]
    code, report = doctor(environment(tmp_path, **{AUTOLOAD: "0"}))
    assert code == 0 and report["self_test"]["exact"] is True
    assert by_name(report)[AUTOLOAD]["found"].startswith("0: ")


def test_a_package_that_cannot_be_imported_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import os\nos.abort()")
    code, report = doctor(environment(tmp_path))
    assert code == 1
    assert report["problem"] == "it ended with signal 6 (SIGABRT)"
    assert "not run" in report["self_test"]["finding"]


# --- what is read from the environment and the file system


def found(name: str, dev: Path = Path("/nowhere"), **environ: str) -> Finding:
    return next(finding for finding in findings(environ, dev) if finding.name == name)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        ("version.cfg", "# ACL\nruntime_running_version=[9.0.0:9]\nversion=9.0.0\n", "version 9.0.0 (version.cfg)"),
        ("compiler/version.info", "Version=9.1.RC1\nversion_dir=9\n", "version 9.1.RC1 (version.info)"),
        ("x86_64-linux/ascend_toolkit_install.info", "package_name=x\nversion=9.0.0\n", "version 9.0.0 (ascend"),
        ("other.txt", "version=1", "version unknown"),
    ],
)
def test_cann_and_its_version(file: str, text: str, version: str, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    finding = found("CANN", ASCEND_HOME_PATH=str(tmp_path))
    assert finding.found.startswith(str(tmp_path)) and version in finding.found and not finding.problem


@pytest.mark.fast
@pytest.mark.parametrize("version", ["8.5.0", "8", "7.0.RC1"])
def test_a_cann_that_is_too_old_is_missing(version: str, tmp_path: Path) -> None:
    (tmp_path / "version.cfg").write_text(f"version={version}\n")
    finding = found("CANN", ASCEND_HOME_PATH=str(tmp_path))
    assert not finding.found and f"CANN {version} (version.cfg); install 9.0 or newer" in finding.problem


@pytest.mark.fast
def test_paths_that_do_not_exist_are_named() -> None:
    assert "ASCEND_HOME_PATH = '/no/such'" in found("CANN", ASCEND_HOME_PATH="/no/such").problem
    assert "ASC_DEVKIT = '/no/such' has no include/" in found("asc-devkit", ASC_DEVKIT="/no/such").problem


@pytest.mark.fast
def test_what_a_complete_machine_has(tmp_path: Path) -> None:
    compiler = tmp_path / "compiler/ccec_compiler/bin/bisheng"
    compiler.parent.mkdir(parents=True)
    compiler.write_text("#!/bin/sh\n")
    (tmp_path / "include").mkdir()
    for name in ("davinci0", "davinci1", "davinci_manager"):
        (tmp_path / name).touch()
    home = str(tmp_path)
    assert found("bisheng", ASCEND_HOME_PATH=home, PATH="").found == str(compiler)
    assert found("devices", tmp_path).found == "2: davinci0, davinci1"
    assert found("asc-devkit", ASC_DEVKIT=home).found == home
    compiler.chmod(0o755)
    assert found("bisheng", PATH=str(compiler.parent)).found == str(compiler)


# --- exit codes, and outputs that cannot be written

BAD = {
    "TIMEOUT_MS": "soon",
    "WINDOW_BYTES": "-1",
    "NUM_CORES": "some",
    "COMBINE_ENGINE": "steam",
    "QUEUE_DEPTH": "6",
    "QUEUES_PER_PEER": "0",
    "TARGET": "gpu",
    "TWIN_POLICY": "slow",
    "KERNELS": "/no/such/library.so",
}


@pytest.mark.fast
@pytest.mark.parametrize("command", [["doctor"], ["demo", "--ranks", "1"], ["demo", "--sweep", "--cases", "1"]])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_in_the_environment_exits_2(command: list[str], name: str) -> None:
    env = environment(**{f"ASCEND_DEEPEP_{name}": BAD[name]})
    done = subprocess.run([*DOCTOR[:-1], *command], capture_output=True, text=True, timeout=120, env=env, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ArgumentError: ASCEND_DEEPEP_" + name) and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "variable",
    [
        {"TARGET": "ascend950"},
        pytest.param({"TWIN_FAULT": "gremlin"}, marks=pytest.mark.long),
        pytest.param({"NUM_CORES": "300"}, marks=pytest.mark.long),
    ],
)
def test_values_that_only_the_runtime_can_judge_exit_2(variable: dict[str, str]) -> None:
    ((name, value),) = variable.items()
    for command in (["doctor"], ["demo", "--ranks", "1", "--tokens", "1", "--hidden", "64"]):
        env = environment(**{f"ASCEND_DEEPEP_{name}": value})
        done = subprocess.run([*DOCTOR[:-1], *command], capture_output=True, text=True, timeout=120, env=env)
        assert (done.returncode, done.stdout) == (2, "")
        assert value in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.fast
@pytest.mark.parametrize(
    "words",
    [["--version"], ["--help"], ["demo", "--ranks", "1", "--tokens", "1", "--hidden", "64"], ["demo", "--x", "--json"]],
)
def test_a_full_disk_is_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*DOCTOR[:-1], *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "standard output cannot be written: No space left on device\n"


@pytest.mark.fast
def test_version_is_that_of_the_distribution() -> None:
    import ascend_deepep

    done = subprocess.run([*DOCTOR[:-1], "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"ascend-deepep {ascend_deepep.__version__}\n"


def test_ctrl_c_ends_the_children_too(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    (tmp_path / "torch_npu.py").write_text(
        f"import os, pathlib, time\npathlib.Path({str(mark)!r}).write_text(str(os.getpid()))\ntime.sleep(1000)\n"
    )
    process = subprocess.Popen(
        DOCTOR, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(tmp_path)
    )
    deadline = time.monotonic() + 60
    while not (mark.exists() and mark.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (1, "", "interrupted\n")
    assert not Path(f"/proc/{mark.read_text()}").exists()
