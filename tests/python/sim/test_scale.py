# SPDX-License-Identifier: Apache-2.0
"""Large worlds: counts that are the protocol's, what the model makes of them, and the command line. Layer: tests."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from ascend_deepep import _simulator
from ascend_deepep.simulator.scale import COMBINE, DISPATCH, Measured, ScaleWorld, count_faults, measured
from ascend_deepep.simulator.scale_model import extrapolate, fit, layout_of, loads, traffic
from sim_cli import sim, value_of


def world(ranks: int, cores: int, engine: str = "mte") -> Measured:
    """Run in this process."""
    job = ScaleWorld(ranks, cores, engine)
    name, arguments = job.call()
    return measured(job, getattr(_simulator, name)(**arguments))


def is_as_counted(row: Measured) -> None:
    """Exact, and each rank posts and reads a message a rank, in every operation."""
    assert row.faults == []
    ranks = row.world.ranks
    for operator in (DISPATCH, COMBINE):
        counts = row.per_rank[operator]
        assert (counts["posted"], counts["read"], counts["posted_bytes"]) == (ranks, ranks, 512 * ranks)
        assert counts["tag_loads"] >= ranks
        # The call is no shorter than what any core does in it.
        for time in row.roles[operator].values():
            assert 0 < time.busy_us <= row.call_us[operator]


@pytest.mark.parametrize("engine", ["mte", "urma"])
def test_sixteen_ranks(engine: str) -> None:
    is_as_counted(world(16, 8, engine))


@pytest.mark.long
@pytest.mark.parametrize("ranks", [32, 64])
@pytest.mark.parametrize("cores", [4, 24])
@pytest.mark.parametrize("engine", ["mte", "urma"])
def test_larger_worlds(ranks: int, cores: int, engine: str) -> None:
    is_as_counted(world(ranks, cores, engine))


def test_a_count_that_is_off_is_told() -> None:
    job = ScaleWorld(4, 4)
    name, arguments = job.call()
    run = getattr(_simulator, name)(**arguments)
    assert count_faults(job, run) == []
    kernel = run["kernels"][DISPATCH]
    kernel["ranks"][2]["posted"] -= 1
    kernel["wqes"][1] += 1
    run["kernels"][COMBINE]["ranks"][0]["tag_loads"] = 0
    faults = count_faults(job, run)
    assert [fault.split(":")[0] for fault in faults] == [
        f"{DISPATCH}, rank 1",
        f"{DISPATCH}, rank 2",
        f"{COMBINE}, rank 0",
    ]


def test_the_model_meets_a_world_that_it_has_not_seen() -> None:
    rows = [world(ranks, 8) for ranks in (4, 8, 16, 32)]
    model = fit(rows[:3])
    unseen = rows[3]
    counts = loads(layout_of(unseen.world), 32, unseen.world.tokens)
    assert set(model) == set(counts)
    for operator, role in ((COMBINE, "control"), (DISPATCH, "cumsum"), (COMBINE, "send")):
        said = model[operator, role].busy_us(counts[operator, role])
        assert said == pytest.approx(unseen.roles[operator][role].busy_us, rel=0.15), (operator, role)


def test_what_is_extrapolated_grows_with_what_is_counted() -> None:
    model = fit([world(ranks, 8) for ranks in (4, 8, 16)])
    small, large = (extrapolate(model, ScaleWorld(ranks, 8)) for ranks in (256, 1024))
    assert [row.to_json()["experts"] for row in (small, large)] == [256, 1024]
    assert small.layout["roles"][COMBINE]["control"] == (0, 1)
    messages = [loads(row.layout, row.world.ranks, 8)[COMBINE, "control"]["message"] for row in (small, large)]
    assert messages == [256, 1024]
    assert large.busy_us[COMBINE, "control"] > 3 * small.busy_us[COMBINE, "control"]


def test_traffic_is_what_the_ids_make_of_it() -> None:
    job = ScaleWorld(16, 4, tokens=32)
    name, arguments = job.call()
    copies = getattr(_simulator, name)(**arguments)["remote_copies"]
    mean = sum(copies) / len(copies) / 2  # of an operation
    assert mean == pytest.approx(traffic(16, 256, 32)[0], rel=0.05)
    assert traffic(2, 2 * 256, 10**6)[1] == 1


def test_the_command(tmp_path: Path) -> None:
    done = sim("--scale", "4,8", "--cores", "4", "--plot", str(tmp_path / "roles.png"), "--json")
    assert done.returncode == 0
    value = value_of(done)
    assert value["holds"] is True
    rows = [(row["ranks"], row["tokens"], row["faults"]) for row in value["rows"]]
    assert rows == [(4, 8, []), (8, 8, []), (4, 32, [])]
    assert {f"{DISPATCH}.doorbell", f"{COMBINE}.control"} < set(value["model"])
    larger = [(row["tokens"], row["cores"], row["ranks"]) for row in value["extrapolated"]]
    assert larger == [(tokens, cores, ranks) for tokens in (8, 128) for cores in (4, 64) for ranks in (256, 1024)]
    assert (tmp_path / "roles.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / "roles.svg").getroot().tag.endswith("svg")
    shown = sim("--scale", "4", "--cores", "4")
    assert shown.returncode == 0 and shown.stdout.splitlines()[-1] == "HELD 1 worlds"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--scale", "sixteen"], "--scale 'sixteen' is not a list of different numbers, such as 16,32,64"),
        (["--scale", "4", "--cores", "4,4"], "--cores '4,4' is not a list of different numbers"),
        (["--scale", "1"], "ranks of a large world 1 is outside [2, 256]"),
        (["--scale", "5"], "num_experts = 256 is not a multiple of num_ranks = 5"),
        (["--scale", "4", "--engine", "rdma"], "--engine 'rdma' is not one of mte, urma"),
        (["--scale", "4", "--cost", "load=3"], "--cost 'load' is not one of load_ns"),
        (["--scale", "4", "--cost", "load_ns=0"], "--cost 'load_ns=0' is not NAME=NS with NS from 1"),
        (["--scale", "4", "--seeds", "3"], "--seeds does not go with --scale"),
        (["--cores", "4"], "--cores does not go with seeds: it goes with --scale"),
    ],
)
def test_mistakes_are_one_line(words: list[str], text: str) -> None:
    done = sim(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("UsageError: ") and done.stderr.count("\n") == 1
    assert text in done.stderr
