# SPDX-License-Identifier: Apache-2.0
"""No role exists in name only: with the body of any one emptied, the demo fails. Layer: tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ascend_deepep.simulator.mutants import build, checkout, copy_sources
from demo_run import demo

ROOT = checkout(Path(__file__).resolve())
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
SHAPE = ["--ranks", "2", "--tokens", "6", "--topk", "2", "--experts", "8", "--timeout-ms", "2000"]


def empty_body(source: str, function: str) -> str:
    """The source with the body of `inline void function(...)` emptied, its parameters used."""
    match = re.search(rf"inline void {function}\(([^)]*)\) \{{", source)
    if match is None:
        raise ValueError(f"no function `void {function}(...)` with a body")
    depth, at = 1, match.end()
    while depth > 0:
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
    names = (parameter.split()[-1].lstrip("&*") for parameter in match[1].split(","))
    return source[: match.end()] + "".join(f" static_cast<void>({name});" for name in names) + source[at - 1 :]


@pytest.mark.long
@pytest.mark.parametrize("engine", ["mte", "urma"])
def test_the_unchanged_copy_is_exact(tmp_path: Path, engine: str) -> None:
    code, report = demo(build(ROOT, copy_sources(ROOT, tmp_path), "Fast"), *SHAPE, "--combine-engine", engine)
    assert (code, report.get("exact")) == (0, True)


@pytest.mark.long
@pytest.mark.parametrize(("file", "role", "engine"), ROLES, ids=[f"{role}-{engine}" for _, role, engine in ROLES])
def test_the_demo_fails_without(tmp_path: Path, file: str, role: str, engine: str) -> None:
    sources = copy_sources(ROOT, tmp_path)
    path = sources / file
    path.write_text(empty_body(path.read_text(), role))
    code, report = demo(build(ROOT, sources, "Fast"), *SHAPE, "--combine-engine", engine)
    assert code == 1
    assert report.get("exact") is not True
