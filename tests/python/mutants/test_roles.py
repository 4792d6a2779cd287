# SPDX-License-Identifier: Apache-2.0
"""No role exists in name only: with the body of any one emptied, the demo fails. Layer: tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutate import build, copy_sources, empty_body

ROLES = [
    ("dispatch/route.h", "route", "mte"),
    ("dispatch/stage.h", "stage", "mte"),
    ("dispatch/wqe_builder.h", "wqe_builder", "mte"),
    ("dispatch/doorbell.h", "doorbell", "mte"),
    ("dispatch/cumsum.h", "cumsum", "mte"),
    ("dispatch/collect.h", "collect", "mte"),
    ("combine/control.h", "control", "mte"),
    ("combine/send.h", "send", "mte"),
    ("combine/send.h", "send", "urma"),
    ("combine/send.h", "send_doorbell", "urma"),
    ("combine/reduce.h", "reduce", "mte"),
]
SHAPE = ["--ranks", "2", "--tokens", "6", "--hidden", "256", "--topk", "2", "--experts", "8", "--cores", "8"]


def demo(library: Path | None, engine: str) -> tuple[int, dict[str, object]]:
    environment = dict(os.environ)
    if library is not None:
        environment["ASCEND_DEEPEP_KERNELS"] = str(library)
    command = [sys.executable, "-m", "ascend_deepep.cli", "demo", *SHAPE, "--payload", "index", "--timeout-ms", "2000"]
    command += ["--combine-engine", engine, "--json"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, json.loads(result.stdout.strip().splitlines()[-1])


@pytest.mark.long
@pytest.mark.parametrize("engine", ["mte", "urma"])
def test_the_unchanged_copy_is_exact(tmp_path: Path, engine: str) -> None:
    code, report = demo(build(copy_sources(tmp_path)), engine)
    assert (code, report.get("exact")) == (0, True)


@pytest.mark.long
@pytest.mark.parametrize(("file", "role", "engine"), ROLES, ids=[f"{role}-{engine}" for _, role, engine in ROLES])
def test_the_demo_fails_without(tmp_path: Path, file: str, role: str, engine: str) -> None:
    sources = copy_sources(tmp_path)
    path = sources / file
    path.write_text(empty_body(path.read_text(), role))
    code, report = demo(build(sources), engine)
    assert code == 1
    assert report.get("exact") is not True
