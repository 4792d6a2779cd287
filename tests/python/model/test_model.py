# SPDX-License-Identifier: Apache-2.0
"""The cost model's formulas: against what is printed, against counting by hand, and what cannot be. Layer: tests."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
import torch
from ascend_deepep.cli.app import run
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.model import Cluster, Layer, Link, copy_bytes, cost, operator_time, path_bytes, places
from ascend_deepep.model_parameters import PARAMETERS, defaults, read, sweep
from ascend_deepep.model_reference import Figure, figures

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: figure.name)
def test_a_printed_figure(figure: Figure) -> None:
    assert figure.ours == figure.printed


def test_a_figure_that_differs_is_told() -> None:
    assert not Figure("x", "4.59", 4.5999).holds
    assert Figure("x", "4.59", 4.594).holds and Figure("x", "5", 4.6).holds


@pytest.mark.parametrize(("count", "topk", "experts"), [(2, 2, 6), (3, 4, 6), (4, 3, 8), (4, 8, 8), (1, 3, 4)])
def test_distinct_places_are_counted_out(count: int, topk: int, experts: int) -> None:
    """Every set of experts is as likely as any other."""
    of_place = experts // count
    sets = list(itertools.combinations(range(experts), topk))
    mean = sum(len({expert // of_place for expert in chosen}) for chosen in sets) / len(sets)
    assert places(count, topk, experts, "distinct") == pytest.approx(mean, rel=1e-12)


def test_distinct_places_of_a_gate_with_groups_are_counted_out() -> None:
    """2 of 4 groups, any two as likely; then experts of these."""
    found = []
    for groups in itertools.combinations(range(4), 2):
        experts = [expert for expert in range(8) if expert // 2 in groups]
        found += [len({expert // 2 for expert in chosen}) for chosen in itertools.combinations(experts, 3)]
    assert places(4, 3, 8, "distinct", groups=2) == pytest.approx(sum(found) / len(found), rel=1e-12)


def test_places_with_replacement_are_counted_out() -> None:
    draws = list(itertools.product(range(3), repeat=4))
    mean = sum(len(set(draw)) for draw in draws) / len(draws)
    assert places(3, 4, 9, "with-replacement") == pytest.approx(mean, rel=1e-12)


def test_copies_are_those_of_real_ids() -> None:
    """Copies per rank of 8192 random tokens, counted token by token."""
    ranks, topk, experts = 4, 4, 16
    generator = torch.Generator().manual_seed(5)
    ids = [torch.rand(2048, experts, generator=generator).topk(topk).indices.to(torch.int32) for _ in range(ranks)]
    off = 0
    for rank, of_rank in enumerate(ids):
        for row in (of_rank // (experts // ranks)).tolist():
            off += len(set(row) - {rank})
    of = cost(Layer(ranks, 2048, topk=topk, experts=experts, routing="rank-dedup", formula="distinct"))
    assert of.dispatch.copies_off_rank * 2048 * ranks == pytest.approx(off, rel=0.01)


def test_bytes_of_our_blocks() -> None:
    """As docs/benchmarks.md has them: 30 blocks with bf16, 16 with int8; rows without a header."""
    layer = Layer(4, 1, wire="blocks")
    assert copy_bytes(layer, "bf16") == 30 * 512
    assert copy_bytes(layer, "int8") == 16 * 512
    assert copy_bytes(layer, "bf16", is_dispatch=False) == 30 * 512
    small = replace(layer, hidden=64, topk=2)
    assert copy_bytes(small, "bf16") == 512 == copy_bytes(small, "bf16", is_dispatch=False)
    assert copy_bytes(replace(layer, wire="packed"), "int8") == 7168 + 4


def test_terms_decide() -> None:
    cluster = Cluster(ranks_per_node=4, intra=Link(2.0, 100.0), nic=Link(9.0, 10.0))
    layer = Layer(4, 100, hidden=1000, topk=2, experts=8, dispatch="bf16")
    local = cost(layer, cluster).dispatch
    assert (local.bound_by, local.us) == ("local", pytest.approx(2.0 + 100 * 2 * 2000 / 100e3))
    far = cost(replace(layer, ranks=8), cluster).dispatch
    assert (far.bound_by, far.us) == ("nic", pytest.approx(9.0 + 100 * 2 * 0.5 * 2000 / 10e3))
    assert (far.peer_links, far.nic_links) == (3, 4)
    issued = cost(layer, replace(cluster, issue_us=2.0, issuers=4)).dispatch
    assert issued.messages == pytest.approx(100 * 2 * 3 / 4)
    assert (issued.bound_by, issued.us) == ("issue", pytest.approx(2.0 + issued.messages * 2.0 / 4))
    peer = cost(layer, replace(cluster, peer_gb_s=10.0)).dispatch
    assert (peer.bound_by, peer.us) == ("peer", pytest.approx(2.0 + 100 * 2 * 2000 / 4 / 10e3))


def test_own_rows_and_skew() -> None:
    layer = Layer(8, 64)
    kept = cost(replace(layer, own_rows_travel=False)).dispatch
    assert kept.local_bytes == pytest.approx(cost(layer).dispatch.local_bytes * 7 / 8)
    skewed = cost(replace(layer, skew=2.5)).dispatch
    assert skewed.us - skewed.alpha_us == pytest.approx(2.5 * cost(layer).dispatch.bytes_us)


def test_sums_of_a_rank_return_once() -> None:
    layer = Layer(8, 64, routing="rank-dedup", formula="distinct")
    rows, sums = cost(layer).combine, cost(replace(layer, combine_reduce="rank"))
    assert rows.copies_off_rank == pytest.approx(7.0)
    assert sums.combine.copies_off_rank == pytest.approx(sums.dispatch.copies_off_rank)


def test_time_of_bytes_that_really_travelled() -> None:
    bytes_put = [[9e9, 1000.0, 3000.0], [500.0, 9e9, 0.0], [0.0, 8000.0, 9e9]]
    by_link = operator_time(bytes_put, alpha_us=1.0, peer_gb_s=1.0)
    assert by_link == pytest.approx([4.0, 9.0, 9.0])
    by_rank = operator_time(bytes_put, alpha_us=1.0, peer_gb_s=1.0, rank_gb_s=1.0)
    assert by_rank == pytest.approx([5.0, 10.0, 9.0])
    issued = operator_time(bytes_put, alpha_us=1.0, peer_gb_s=1.0, messages=[10, 0, 100], issue_us=0.5)
    assert issued == pytest.approx([6.0, 9.0, 51.0])


def test_bytes_of_other_paths() -> None:
    paths = path_bytes(Layer(8, 10, hidden=100, topk=8))
    assert paths["all-gather + reduce-scatter"] == 2 * 7 * 10 * 200
    assert paths["all-to-all"] == 2 * 7 / 8 * 10 * 8 * 200
    assert paths["per rank"] < paths["all-to-all"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ranks=12", "256 experts cannot be divided among 12 ranks"),
        ("tokens=-1", "tokens = -1 is below 0"),
        ("topk=257", "topk = 257 is more than the 256 experts"),
        ("routing=best", "routing = 'best' is not one of flat, rank-dedup, node-dedup"),
        ("nic_gb_s=0", "nic = 0.0 GB/s is not above 0"),
        ("skew=0.5", "skew = 0.5 is below 1"),
        ("combine_reduce=rank", "goes with routing 'rank-dedup'"),
        ("groups=0", "groups = 0 leaves 0 experts"),
        ("issuers=0", "issuers = 0 is below 1"),
        ("hidden=many", "'many' is no value of hidden (elements of a token)"),
        ("height=1", "NAME=VALUE, with a NAME of ranks, tokens"),
        ("hidden", "NAME=VALUE"),
        ("tokens=1,2", "has 2 values; --what-if takes several"),
    ],
)
def test_a_mistake_is_one_line(text: str, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "--set", text, "--json"]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert err == "" and part in error["message"] and "\n" not in error["message"]


@pytest.mark.parametrize(
    "words", [["--reference", "--calibrate"], ["--reference", "--set", "ranks=8"], ["--rounds", "2"], ["--plot", "x"]]
)
def test_options_that_do_not_go_together(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_reference_by_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "--reference", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["figures"] == len(value["reference"]) >= 80 and value["differ"] == 0


def test_what_if_is_every_combination(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["model", "--set", "tokens=4096", "--what-if", "ranks=8,16", "--what-if", "routing=flat,node-dedup"]
    assert run([*words, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert [(row["ranks"], row["routing"]) for row in value["rows"]] == [
        (8, "flat"),
        (8, "node-dedup"),
        (16, "flat"),
        (16, "node-dedup"),
    ]
    assert value["rows"][3]["us"] == pytest.approx(4786.6, abs=0.05)
    assert run(words) == 0
    assert "4786.6" in capsys.readouterr().out


def test_every_parameter_has_a_default_and_is_read() -> None:
    values = defaults()
    assert set(values) == set(PARAMETERS)
    for name, value in values.items():
        text = "none" if value is None else {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        assert read("--set", f"{name}={text}") == (name, [value])


def test_too_many_combinations_are_refused() -> None:
    with pytest.raises(UsageError, match="10001 combinations"):
        sweep(defaults(), {"tokens": list(range(10_001))})
