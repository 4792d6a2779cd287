# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep doctor`: what is installed, what an NPU run lacks, and whether two ranks understand each other.

Layer: Python. This process imports no torch: whatever an import does to a process, it does to a child.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ascend_deepep.cli.environment import check_environment
from ascend_deepep.cli.machine import AUTOLOAD, Finding, findings
from ascend_deepep.cli.probe import Answer, ask
from ascend_deepep.demo.usage import UsageError

_SELF_TEST_SECONDS = 300.0
_DEFAULT_IMPORT_SECONDS = 120.0  # torch and torch_npu from a cold disk


def doctor(
    import_seconds: Annotated[
        float, typer.Option(min=1.0, help="Longest time for importing torch or torch_npu.")
    ] = _DEFAULT_IMPORT_SECONDS,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Show versions, limits, what an NPU run lacks and what that costs; test two ranks against the oracle."""
    check_environment()
    torch_npu = ask("torch_npu", import_seconds)
    package, environ = _package(import_seconds)
    shmem = _shmem(ask("shmem", import_seconds))
    machine = [*findings(os.environ), _torch_npu(torch_npu), shmem, _npu_library(package)]
    report: dict[str, Any] = {**package.value, "npu": [asdict(finding) for finding in machine]}
    if package.problem:
        report["problem"] = package.problem
        report["self_test"] = {"exact": False, "finding": f"not run: {package.problem}"}
    else:
        report["self_test"] = _self_test(environ)
    if as_json:
        print(json.dumps(report))
    else:
        _show(report, machine, Console(width=None if sys.stdout.isatty() else 160))
    return 0 if report["self_test"]["exact"] and not package.problem else 1


def _package(seconds: float) -> tuple[Answer, dict[str, str]]:
    """What the package says of itself. Where only torch_npu keeps torch from being imported, that is said too."""
    environ = dict(os.environ)
    answer = ask("package", seconds)
    if answer.kind == "ArgumentError":
        raise UsageError(answer.problem.removeprefix("ArgumentError: "), answer.kind)
    if not answer.problem or environ.get(AUTOLOAD) == "0":
        return answer, environ
    without = {**environ, AUTOLOAD: "0"}
    second = ask("package", seconds, without)
    if second.problem:
        return answer, environ
    second.problem = (
        f"`import torch` fails as it imports torch_npu ({answer.problem}); set {AUTOLOAD}=0 to run the twin"
    )
    return second, without


def _torch_npu(answer: Answer) -> Finding:
    told = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in answer.value.items())
    said = f"after {told}: {answer.problem}" if told else answer.problem
    if not answer.problem:
        if answer.value["is_available"] and answer.value["device_count"]:
            return Finding("torch_npu", told)
        said = f"it was imported but sees no device ({told}); compare with `npu-smi info` and the line `devices`"
    return Finding("torch_npu", problem=said, costs="no NPU tensors, hence no NPU run; the twin works")


def _shmem(answer: Answer) -> Finding:
    if not answer.problem:
        return Finding("shmem", str(answer.value["file"]))
    problem = f"{answer.problem}; install aclshmem for Ascend 950 with UDMA and put it on LD_LIBRARY_PATH"
    return Finding("shmem", problem=problem, costs="no communicator of NPUs, hence no NPU run; the twin works")


def _npu_library(answer: Answer) -> Finding:
    problem = str(answer.value.get("npu_library", answer.problem))
    costs = "no target ascend950; calls on CPU tensors run on the twin"
    return Finding("NPU library", problem=problem, costs=costs) if problem else Finding("NPU library", "loaded")


def _self_test(environ: dict[str, str]) -> dict[str, Any]:
    answer = ask("self_test", _SELF_TEST_SECONDS, environ)
    if answer.kind == "ArgumentError":
        raise UsageError(answer.problem.removeprefix("ArgumentError: "), answer.kind)
    if answer.problem:
        return {"exact": False, "finding": answer.problem}
    return answer.value


def _show(report: dict[str, Any], machine: list[Finding], console: Console) -> None:
    table = Table(show_header=False, box=None)
    for key, value in report.items():
        if key in ("self_test", "window_bytes", "npu", "npu_library"):
            continue
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        text = ", ".join(value) if isinstance(value, list) else text
        table.add_row(key.replace("_", " "), str(text))
    for name, size in report.get("window_bytes", {}).items():
        table.add_row(f"window, {name}", f"{size / 2**20:.1f} MiB a rank")
    for finding in machine:
        table.add_row(finding.name, finding.line())
    console.print(table, highlight=False, markup=False)
    test = report["self_test"]
    console.print(f"self-test: {'EXACT' if test['exact'] else 'FAILED'}, {test['finding']}", highlight=False)
