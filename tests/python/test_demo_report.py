# SPDX-License-Identifier: Apache-2.0
"""What the demo prints: a command line that makes the same run, tables that can be read. Layer: tests."""

from __future__ import annotations

import dataclasses
import io
import shlex

import pytest
import torch
from ascend_deepep.cli import app, demo
from ascend_deepep.demo import runner
from ascend_deepep.demo.features import Features
from ascend_deepep.demo.options import Options
from ascend_deepep.demo.rank import RankResult
from ascend_deepep.demo.report import print_result
from ascend_deepep.demo.runner import DemoResult
from ascend_deepep.testing import Outcome
from rich.console import Console

pytestmark = pytest.mark.fast

PLAIN = Options((32,) * 8)
# Every field differs from its default.
FULL = Options(
    tokens=(5, 0, 3),
    hidden=256,
    num_topk=2,
    num_experts=48,
    num_cores=13,
    iters=4,
    dtype="fp16",
    routing="skewed",
    combine_engine="urma",
    payload="index",
    seed=7,
    vary=True,
    communicators=2,
    timeout_ms=1234,
    kill=(2, 1),
    fault="bad-cqe",
    features=Features("pertoken-e5m2", "int8", 1, 2, smooth=True, comm_alg="fullmesh_v1"),
)
ROLES = (
    "entry",
    "route",
    "stage",
    "wqe_builder",
    "doorbell",
    "cumsum",
    "prefix",
    "collect",
    "send",
    "reduce",
    "control",
)


def parsed(monkeypatch: pytest.MonkeyPatch, command: str) -> Options:
    """What the command line would run."""
    runs: list[Options] = []
    monkeypatch.setattr(demo, "_run", lambda options, as_json: runs.append(options) or 0)
    program, *words = shlex.split(command)
    assert (program, app.run(words)) == ("ascend-deepep", 0)
    return runs[0]


def test_every_field_has_a_value_of_its_own() -> None:
    for field in dataclasses.fields(Options):
        assert getattr(FULL, field.name) != getattr(PLAIN, field.name), field.name


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Options) if field.name != "tokens"])
def test_command_line_makes_the_same_run_with_one_change(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    # Iterations as in FULL, for a kill has to come before one of them.
    options = dataclasses.replace(PLAIN, **{"iters": 4, field: getattr(FULL, field)})
    if field == "fault":
        options = dataclasses.replace(options, timeout_ms=3000)  # what the command line takes for a fault
    if field == "features":
        options = dataclasses.replace(options, num_experts=FULL.num_experts)  # beside the ranks of shared experts
    assert parsed(monkeypatch, options.command()) == options


# A mask needs batches of one size.
MASKED = dataclasses.replace(PLAIN, features=Features(mask="2d"))


@pytest.mark.parametrize("options", [PLAIN, FULL, MASKED])
def test_command_line_makes_the_same_run(monkeypatch: pytest.MonkeyPatch, options: Options) -> None:
    assert parsed(monkeypatch, options.command()) == options


@pytest.mark.parametrize(
    ("variable", "option", "engine"), [(None, None, "mte"), ("urma", None, "urma"), ("urma", "mte", "mte")]
)
def test_engine_is_the_option_else_the_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, option: str | None, engine: str
) -> None:
    monkeypatch.delenv("ASCEND_DEEPEP_COMBINE_ENGINE", raising=False)
    if variable is not None:
        monkeypatch.setenv("ASCEND_DEEPEP_COMBINE_ENGINE", variable)
    command = "ascend-deepep demo" + (f" --combine-engine {option}" if option else "")
    assert parsed(monkeypatch, command).combine_engine == engine


@pytest.mark.parametrize(("iters", "seconds"), [(1, 600.0), (120, 600.0), (121, 605.0), (10**9, 5e9)])
def test_the_budget_grows_with_the_iterations(iters: int, seconds: float) -> None:
    assert runner.budget(dataclasses.replace(PLAIN, iters=iters)) == seconds


def test_a_run_out_of_time_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    late = [Outcome(0, value=None), Outcome(1, timed_out=True, trace="stacks\n" * 9)]
    monkeypatch.setattr(demo, "_run", lambda options, as_json: runner._raise_unexpected(late, options, 600.0))
    assert app.run(["demo"]) == 1
    assert capsys.readouterr().err == "OutOfTime: the run did not end within 600 s; still running: rank 1\n"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_and_show_every_role(width: int) -> None:
    times = {role: 11_111_111_111 * (index + 1) for index, role in enumerate(ROLES)}
    ranks = [RankResult(rank, 32, 4096, 255, 4096, {"copies": 9999}, {**times, "exit": 0}) for rank in range(2)]
    stream = io.StringIO()
    print_result(DemoResult(Options((32, 32)), ranks), Console(file=stream, width=width))
    text = stream.getvalue().split("dispatch and combine added up", 1)[1]
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for role in ROLES:
        assert {"wqe_builder": "builder"}.get(role, role) in words
        assert words.count(f"{times[role] / 1e6:.0f}") == 2
    assert "exit" not in words


def test_judging_outputs_leaves_the_threads_of_torch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    before = torch.get_num_threads()
    monkeypatch.setattr(runner, "_compare_outputs", lambda *_: seen.append(torch.get_num_threads()))
    try:
        torch.set_num_threads(2)
        assert runner._judge_outputs(PLAIN, [], []) is None
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)
