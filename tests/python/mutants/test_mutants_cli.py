# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim --mutants`: its JSON, its exit codes, and what does not go with it. Layer: tests."""

from __future__ import annotations

import json

import pytest
from ascend_deepep.cli import app


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    code = app.run(["sim", "--mutants", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out.strip().splitlines()[-1])


@pytest.mark.long
def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = run(capsys, "--filter", "space-off-by-one")
    assert code == 0
    assert list(report) == ["mutants", "survivors", "unmutated", "checkers", "edges"]
    assert report["survivors"] == []
    assert report["unmutated"] == {"seeds": 300, "checker": None, "failed": ""}
    (row,) = report["mutants"]  # type: ignore[misc]
    assert list(row) == ["name", "kind", "edges", "checker", "seeds", "seconds"]
    assert (row["name"], row["edges"]) == ("space-off-by-one", ["I6"])
    assert row["kind"] and row["seconds"] > 0
    assert 1 <= row["seeds"] <= 300
    assert report["checkers"] == {row["checker"]: [row["name"]]}
    assert report["edges"] == {"I6": [row["name"]]}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--filter", "no such"], "no mutant has it"),
        (["--seeds", "5"], "--seeds does not go with --mutants: it goes with seeds"),
        (["--exhaustive"], "--exhaustive does not go with --mutants"),
        (["--kernels", "none.so"], "--kernels does not go with --mutants"),
    ],
)
def test_what_it_refuses(capsys: pytest.CaptureFixture[str], arguments: list[str], text: str) -> None:
    code, report = run(capsys, *arguments)
    assert code == 2
    assert text in report["error"]["message"]  # type: ignore[index]
