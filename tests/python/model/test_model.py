# SPDX-License-Identifier: Apache-2.0
"""The cost model: known figures, counted copies, wire formats, terms. Layer: tests."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from ascend_deepep import model_reference, reference
from ascend_deepep.model import (
    Fabric,
    Link,
    MoeLayer,
    copies_that_leave,
    copy_bytes,
    destinations,
    direction_time,
    layer_time,
    operator_time,
    traffic,
)

FABRIC = Fabric()


def test_every_known_figure() -> None:
    figures = model_reference.reference_figures()
    assert len(figures) == 87 and len({(one.row, one.name) for one in figures}) == 87
    assert [one for one in figures if not one.equal] == []


def test_a_figure_can_differ(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    table = json.loads(model_reference._DATA.read_text())
    table["rows"][0]["figures"]["peer_us"] = "1614.9"
    path = model_reference.Path(str(tmp_path)) / "table.json"
    path.write_text(json.dumps(table))
    monkeypatch.setattr(model_reference, "_DATA", path)
    wrong = [one for one in model_reference.reference_figures() if not one.equal]
    assert [(one.name, one.printed, one.ours) for one in wrong] == [("peer_us", "1614.9", "1614.8")]


def test_needs_neither_torch_nor_the_compiled_module() -> None:
    code = "import ascend_deepep.model, ascend_deepep.model_reference, sys; print('torch' in sys.modules)"
    blocked = f"import sys; sys.modules['ascend_deepep._runtime'] = None; {code}"
    assert subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True).stdout.strip() == "False"


@pytest.mark.parametrize("groups, expert_groups", [(0, 0), (1, 0), (2, 0), (2, 4), (3, 4), (1, 2), (2, 8), (3, 8)])
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_distinct_copies_are_counted(parts: int, groups: int, expert_groups: int) -> None:
    """Against every choice that the gate can make: 8 experts, top-2, 4 nodes."""
    experts, topk, nodes = 8, 2, 4
    layer = MoeLayer(ep=8, experts=experts, topk=topk, groups=groups, expert_groups=expert_groups)
    if groups and experts // (expert_groups or nodes) * groups < topk:
        return
    known = (expert_groups or nodes) if groups else 1
    total, met = 0, 0
    for kept in itertools.combinations(range(known), min(groups or 1, known)):
        left = [expert for expert in range(experts) if expert * known // experts in kept]
        for chosen in itertools.combinations(left, topk):
            total += 1
            met += len({expert * parts // experts for expert in chosen})
    assert destinations(layer, parts, nodes) == pytest.approx(met / total)


def test_formulas_of_the_literature_and_of_distinct_ids() -> None:
    layer = MoeLayer(ep=8, experts=256, topk=8)
    exact = 7 * (1 - math.comb(224, 8) / math.comb(256, 8))
    assert copies_that_leave(layer, 8, 1) == pytest.approx(exact)
    assert f"{copies_that_leave(replace(layer, copies='replacement'), 8, 1):.2f}" == "4.59" != f"{exact:.2f}"
    # An expert a rank: nobody is met twice.
    one = replace(layer, ep=256)
    assert destinations(one, 256, 32) == pytest.approx(8)


@pytest.mark.parametrize("hidden", [64, 80, 1024, 7168])
@pytest.mark.parametrize("topk", [1, 8, 16])
@pytest.mark.parametrize("reduce", ["row", "rank"])
def test_blocks_are_the_oracles(hidden: int, topk: int, reduce: str) -> None:
    weights = topk if reduce == "rank" else 0
    wires = {
        "bf16": (2 * hidden, 0),
        "fp8": (hidden, 4 * -(-hidden // 128)),
        "mxfp8": (hidden, 2 * -(-hidden // 64)),
        "int8": (hidden, 4),
        "int8-8": (hidden, hidden // 4),
    }
    for name, (payload, scales) in wires.items():
        wire = reference.Wire(payload, topk, payload, 1, scales, scales, weights)
        layer = MoeLayer(hidden=hidden, topk=topk, dispatch=name, combine=name, wire="blocks", combine_reduce=reduce)
        assert copy_bytes(layer, "dispatch") == 512 * wire.token_blocks
        assert copy_bytes(layer, "combine") == 512 * wire.row_blocks


def test_weights_travel_where_sums_return() -> None:
    """Of 8 experts at hidden 7168 they take one more block, however the return by rank is asked for."""
    layer = MoeLayer(dispatch="bf16", wire="blocks")
    sizes = {
        reduce: copy_bytes(replace(layer, combine_reduce=reduce), "dispatch") for reduce in ("dispatch", "row", "rank")
    }
    assert sizes == {"dispatch": 31 * 512, "row": 30 * 512, "rank": 31 * 512}


def test_traffic_is_the_oracles() -> None:
    """Expected copies and bytes of one node, against a batch that is counted."""
    torch = pytest.importorskip("torch")
    ranks, tokens, experts, topk, hidden = 4, 4000, 32, 4, 64
    generator = torch.Generator().manual_seed(7)
    ids = [torch.rand(tokens, experts, generator=generator).topk(topk).indices.int() for _ in range(ranks)]
    wire = reference.Wire(2 * hidden, topk, 2 * hidden, experts // ranks)
    counted = reference.traffic(reference.route(ids, experts), wire, "mte")
    layer = MoeLayer(ranks, tokens, hidden, topk, experts, combine_reduce="row", dispatch="bf16", wire="blocks")
    dispatch, combine = (traffic(layer, FABRIC, name) for name in ("dispatch", "combine"))
    mean = [sum(getattr(one, name) for one in counted) / ranks for name in ("copies", "bytes_put_dispatch")]
    assert dispatch.messages == pytest.approx(mean[0], rel=0.01)
    assert dispatch.peer_bytes == pytest.approx(mean[1], rel=0.01)
    rows = sum(one.bytes_put_combine for one in counted) / ranks
    assert combine.peer_bytes == pytest.approx(rows, rel=0.01)


def test_classes_of_links() -> None:
    layer = MoeLayer(ep=16, tokens=100, topk=2, experts=16, routing="flat")
    moved = traffic(layer, FABRIC, "dispatch")
    assert (moved.peer_links, moved.nic_ranks) == (7, 8)
    assert moved.nic_copies == pytest.approx(1.0) and moved.peer_copies == pytest.approx(2 * 7 / 16)
    assert moved.messages == pytest.approx(moved.nic_messages + moved.peer_messages) == pytest.approx(187.5)
    every = traffic(replace(layer, local="every"), FABRIC, "dispatch")
    assert every.peer_copies == 2 and every.messages == 200
    node = traffic(replace(layer, routing="node"), FABRIC, "dispatch")
    assert node.nic_copies < moved.nic_copies and node.peer_copies > moved.peer_copies


def test_skew_and_issue_are_terms() -> None:
    layer = MoeLayer(ep=16, tokens=128, routing="flat", local="every")
    even, skewed = (direction_time(replace(layer, skew=skew), FABRIC, "dispatch") for skew in (1.0, 2.5))
    assert skewed.nic_us == pytest.approx(2.5 * even.nic_us) and skewed.alpha_us == even.alpha_us
    fabric = replace(FABRIC, issue_us=1.0, issuers=4)
    issued = direction_time(layer, fabric, "dispatch")
    assert issued.issue_us == 256 and issued.total_us == pytest.approx(even.total_us + 256) and issued.bound == "issue"
    overlapped = direction_time(layer, replace(fabric, issue_overlaps=True), "dispatch")
    assert overlapped.total_us == pytest.approx(20 + 256)
    whole = layer_time(layer, fabric)
    assert whole.collective_us == pytest.approx(whole.total_us + 2 * (20 + 30))


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"topk": 300}, "topk 300 is more than the 256 experts"),
        ({"ep": 6}, "experts 256 cannot be divided among 6 ranks"),
        ({"ep": 12, "experts": 240}, "ep 12 is no whole number of nodes of 8 ranks"),
        ({"skew": 0.5}, "skew 0.5 is less than 1"),
        ({"routing": "tree"}, "routing tree is not one of flat, rank, node"),
        ({"groups": 1, "expert_groups": 64}, "groups 1 of 4 experts hold less than the 8 of a token"),
        ({"groups": 2, "expert_groups": 3}, "expert_groups 3 does not divide the 256 experts"),
        ({"tokens": 0}, "tokens 0 is less than 1"),
    ],
)
def test_what_has_no_meaning(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        layer_time(replace(MoeLayer(), **wrong), FABRIC)
    assert words in str(caught.value)


def test_fabric_is_checked() -> None:
    with pytest.raises(ValueError, match="nic gb_s 0 is not positive"):
        layer_time(MoeLayer(), replace(FABRIC, nic=Link(1, 0)))
    with pytest.raises(ValueError, match="sync_us -1 is negative"):
        layer_time(MoeLayer(), replace(FABRIC, sync_us=-1))


def test_operator_time() -> None:
    moved = np.array([[0, 100, 0], [0, 0, 400], [0, 50, 0]])
    times = operator_time(moved, alpha_us=5, us_per_byte=0.1)
    assert times.tolist() == [15, 45, 45]
    assert operator_time(moved, us_per_byte=0.1, messages_by_pair=moved > 0, us_per_message=2).tolist() == [12, 42, 42]
    links = np.full((3, 3), 0.1)
    links[0, 1] = 0.5
    assert operator_time(moved, us_per_byte=links, parallel_links=True).tolist() == [50, 50, 40]
    assert operator_time(np.zeros((2, 2)), alpha_us=5).tolist() == [0, 0]
    for wrong in (np.zeros(3), np.zeros((2, 3))):
        with pytest.raises(ValueError, match=r"not \(ranks, ranks\)"):
            operator_time(wrong)
    with pytest.raises(ValueError, match="bytes_by_pair has a negative value: -1"):
        operator_time(-np.ones((2, 2)))
    with pytest.raises(ValueError, match="messages_by_pair has the shape"):
        operator_time(moved, messages_by_pair=np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("ranks", "groups", "off_node"),
    [
        (64, 4, 32 * (1 - (1 - 1 / 32) ** 8) * 7 / 8),  # 4 nodes of 8 ranks: 32 places
        (64, 0, 64 * (1 - (1 - 1 / 64) ** 8) * 7 / 8),
        (8, 4, 0.0),  # one node, one group
    ],
)
def test_groups_with_replacement_are_of_nodes_not_of_ranks(ranks: int, groups: int, off_node: float) -> None:
    layer = MoeLayer(ep=ranks, groups=groups, copies="replacement", routing="rank")
    assert traffic(layer, Fabric(), "dispatch").nic_copies == pytest.approx(off_node)
    if ranks == 8:
        everywhere = traffic(MoeLayer(ep=8, copies="replacement", routing="rank"), Fabric(), "dispatch")
        assert traffic(layer, Fabric(), "dispatch").peer_copies == everywhere.peer_copies


def test_skew_counts_for_messages_too() -> None:
    fabric = Fabric(issue_us=1.0, issuers=4)
    even, skewed = (direction_time(MoeLayer(skew=skew), fabric, "dispatch").issue_us for skew in (1.0, 3.0))
    assert skewed == pytest.approx(3.0 * even)
    assert even == pytest.approx(traffic(MoeLayer(), fabric, "dispatch").messages / 4)


@pytest.mark.parametrize("sizes", [{"experts": 1 << 21}, {"experts": 1 << 20, "topk": 1 << 13}])
def test_sizes_that_would_take_minutes_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="is more than"):
        layer_time(MoeLayer(**sizes), Fabric())
