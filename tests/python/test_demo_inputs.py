# SPDX-License-Identifier: Apache-2.0
"""The demo's parts without ranks: gate, text, rows that name their place, experts, routings, the covering array."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from ascend_deepep import reference
from ascend_deepep.demo import sweep
from ascend_deepep.demo.experts import apply_blocks, exact_factor, make_experts
from ascend_deepep.demo.gate import Gate
from ascend_deepep.demo.inputs import IndexPayload, TextPayload, make_payload, make_rounds
from ascend_deepep.demo.options import ROUTINGS, Options
from ascend_deepep.demo.usage import UsageError

pytestmark = pytest.mark.fast


def _options(**changes: object) -> Options:
    values: dict[str, object] = {"tokens": (9, 0, 5, 7), "hidden": 128, "num_topk": 8, "num_experts": 64}
    return Options(**{**values, **changes})  # type: ignore[arg-type]


def test_gate_follows_its_definition_token_by_token() -> None:
    gate = Gate.from_seed(3, 64, 64, 8)
    x = torch.randn(20, 64, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    ids, weights = gate(x)
    scores = torch.sigmoid(x.float() @ gate.weight.T)
    for token in range(len(x)):
        biased = scores[token] + gate.bias
        groups = sorted(range(8), key=lambda g: -sum(sorted(biased[8 * g : 8 * g + 8].tolist())[-2:]))[:4]
        allowed = [expert for group in groups for expert in range(8 * group, 8 * group + 8)]
        best = sorted(allowed, key=lambda expert: -float(biased[expert]))[:8]
        assert ids[token].tolist() == best
        chosen = scores[token][best]
        torch.testing.assert_close(weights[token], chosen / chosen.sum() * 2.5)


@pytest.mark.parametrize(("experts", "topk", "groups"), [(256, 8, 8), (64, 16, 8), (56, 8, 1), (66, 2, 1), (64, 33, 1)])
def test_gate_groups(experts: int, topk: int, groups: int) -> None:
    gate = Gate.from_seed(0, 64, experts, topk)
    assert gate.num_groups == groups
    ids, _ = gate(torch.randn(5, 64))
    assert all(len(set(row)) == topk for row in ids.tolist())


def test_text_is_long_enough_and_experts_are_unevenly_loaded() -> None:
    options = _options(tokens=(128,) * 4, num_experts=256)
    payload = TextPayload(options)
    assert len(payload._text) >= 32 << 10
    routed = reference.route(make_rounds(options, payload)[0].ids, 256)
    load = torch.cat([rank.rows_per_expert for rank in routed.ranks])
    assert int(load.sum()) == 512 * 8
    assert int(load.max()) > 3 * 16  # the mean is 16


def test_index_rows_name_their_place_and_stay_exact() -> None:
    payload = IndexPayload(_options(tokens=(600,), dtype="bf16"))
    tokens = torch.tensor([0, 255, 256, 599])
    rows = payload.rows(0, 3, tokens).float()
    assert rows[:, :3].tolist() == [[3, 0, 0], [3, 255, 0], [3, 0, 1], [3, 87, 2]]
    assert rows[1, 10] == (37 * 3 + 11 * 255 + 10) % 61 - 30
    for factor in (1, 2, 4, 8):
        assert torch.equal((rows * factor).to(torch.bfloat16).float(), rows * factor)


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("num_topk", [1, 8])
def test_routings_are_legal_and_repeatable(routing: str, num_topk: int) -> None:
    options = _options(routing=routing, num_topk=num_topk, vary=True, iters=3)
    payload = make_payload(options)
    first, second = make_rounds(options, payload), make_rounds(options, payload)
    assert len(first) == 3
    for left, right in zip(first, second, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(left.ids, right.ids, strict=True))
        assert all(count <= most for count, most in zip(left.tokens, options.tokens, strict=True))
        routed = reference.route(left.ids, options.num_experts)
        assert routed.num_rows == (0 if routing == "none" else sum(left.tokens) * num_topk)


def test_swiglu_experts_are_a_function_of_seed_and_id() -> None:
    rows = torch.randn(6, 128, generator=torch.Generator().manual_seed(2)).to(torch.bfloat16)
    outputs = []
    for keep in (True, False):
        got = rows.clone()
        apply_blocks(make_experts(_options(), keep), 10, torch.tensor([4, 0, 2]), got)
        outputs.append(got)
    assert torch.equal(*outputs)
    assert torch.isfinite(outputs[0]).all()
    other = rows.clone()
    apply_blocks(make_experts(_options(), True), 11, torch.tensor([4, 0, 2]), other)
    assert not torch.equal(other, outputs[0])


def test_weights_of_all_experts_fit_the_budget() -> None:
    for hidden, count in ((7168, 256), (8192, 1024), (64, 8)):
        experts = make_experts(_options(hidden=hidden, num_experts=count, tokens=(1,)))
        gate_up, down = experts._weights_of(0)  # type: ignore[attr-defined]
        assert (gate_up.nbytes + down.nbytes) * count <= 512 << 20
        assert down.shape[0] == hidden


def test_exact_factors() -> None:
    assert [exact_factor(expert) for expert in range(6)] == [1, 2, 4, 8, 1, 2]


def _tokens_of(case: Options) -> object:
    return case.tokens[0] if len(set(case.tokens)) == 1 else "uneven"


def test_sweep_meets_every_pair_of_values() -> None:
    cases = sweep.cases()
    assert len(cases) >= sweep.MIN_CASES
    assert cases == sweep.cases()
    largest = sweep.largest()
    assert (largest.num_ranks, largest.max_tokens, largest.hidden, largest.num_topk) == (16, 512, 8192, 16)
    parameters = {
        "ranks": ({1, 2, 3, 4, 6, 8, 16}, lambda case: case.num_ranks),
        "tokens": ({0, 1, 7, 128, 512, "uneven"}, _tokens_of),
        "topk": ({1, 2, 8, 16}, lambda case: case.num_topk),
        "hidden": ({64, 80, 1024, 1040, 7168, 8192}, lambda case: case.hidden),
        "cores": ({4, 5, 7, 8, 13, 24, 48, 64, 72}, lambda case: case.num_cores),
        "dtype": ({"bf16", "fp16"}, lambda case: case.dtype),
        "engine": ({"mte", "urma"}, lambda case: case.combine_engine),
        "routing": (set(ROUTINGS), lambda case: case.routing),
    }
    # A single rank cannot be uneven.
    impossible = {("ranks", "tokens"): {(1, "uneven")}}
    for (left, (left_values, left_of)), (right, (right_values, right_of)) in combinations(parameters.items(), 2):
        met = {(left_of(case), right_of(case)) for case in cases}
        wanted = {(one, other) for one in left_values for other in right_values}
        assert wanted - met == impossible.get((left, right), set())
    for case in cases:
        case.check()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"num_experts": 63}, "63 experts cannot be divided among 4 ranks"),
        ({"num_topk": 65}, "top-k 65 is outside"),
        ({"num_topk": 0}, "top-k 0 is outside"),
        ({"tokens": (-1, 3, 4, 4)}, r"tokens -1 is outside \[0, 8192\]"),
        ({"kill": (4, 0)}, "no rank 4"),
        ({"kill": (1, 1)}, "raise --iters"),
    ],
)
def test_illegal_options_are_refused(changes: dict[str, object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        _options(**changes).check()
