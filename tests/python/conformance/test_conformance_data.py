# SPDX-License-Identifier: Apache-2.0
"""The cases as data: current, different from each other, and none missing that the contract asks for. Layer: tests."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations, product

import pytest
from ascend_deepep.bench.shapes import SWEEP
from ascend_deepep.conformance.cases import Case, load
from ascend_deepep.conformance.features import LEGAL, features
from ascend_deepep.conformance.select import select, unknown_names

from tools.gen_conformance.page import read_rows
from tools.gen_conformance.pairwise import PARAMETERS, combinations_of_features, legal_pairs, pairs_of
from tools.gen_conformance.write import outdated

pytestmark = pytest.mark.fast

CASES = load()
ROWS = [*(f"D{number}" for number in range(1, 32)), *(f"C{number}" for number in range(1, 13))]
_LATER = {13, 22, 30, 32}  # configurations that need a later feature, and only that
_NO_OPERATOR = {33}  # the fused RMS norm


def test_files_and_page_are_what_the_tool_writes() -> None:
    assert outdated() == []


def test_there_are_enough_and_no_two_are_the_same() -> None:
    assert len(CASES) >= 300
    assert Counter(case.id for case in CASES).most_common(1)[0][1] == 1
    same: dict[str, list[str]] = {}
    for case in CASES:
        same.setdefault(case.canonical(), []).append(case.id)
    assert [ids for ids in same.values() if len(ids) > 1] == []


def test_every_value_of_the_matrix_has_an_exact_case_and_no_case_has_another() -> None:
    found = {feature for case in CASES if case.refusal is None for feature in features(case)}
    assert found == {(dimension, value) for dimension, values in LEGAL.items() for value in values}


def test_every_row_of_their_checks_is_refused_or_says_why_not() -> None:
    rows = read_rows()
    assert list(rows) == ROWS
    refused = {case.refusal.row for case in CASES if case.refusal is not None}
    assert refused <= {*ROWS, "own", "later"}
    for row, entry in rows.items():
        cannot = entry.get("here", "").startswith("cannot occur: ")
        assert cannot == (row not in refused), f"{row} has {'cases' if row in refused else 'no case'}"


def test_every_configuration_of_the_contract_is_there() -> None:
    numbers = {int(number) for case in CASES if "7.1 #" in case.source for number in re.findall(r"#(\d+)", case.source)}
    assert numbers | _NO_OPERATOR == set(range(1, 44))
    later = {int(n) for case in CASES if case.group == "later" for n in re.findall(r"#(\d+)", case.source)}
    assert later >= _LATER


def test_every_legal_pair_of_features_meets_in_a_case() -> None:
    made = [pairs_of(values) for values in combinations_of_features()]
    assert set().union(*made) == legal_pairs()
    single = {value for pair in legal_pairs() for value in pair}
    assert single == {(name, value) for name, values in PARAMETERS.items() for value in values}
    impossible = {
        (("ranks", 1), ("shared", (1, 1))),
        (("batch", "unequal"), ("mask", "first")),
        (("shared", (1, 1)), ("shared_x", "2d")),
        (("quant", "mx-e4m3"), ("smooth", True)),
    }
    assert not impossible & legal_pairs()
    total = sum(len(PARAMETERS[a]) * len(PARAMETERS[b]) for a, b in combinations(PARAMETERS, 2))
    assert len(legal_pairs()) > 0.9 * total


def test_a_refusal_names_an_argument_of_its_change() -> None:
    """The text has to name what was changed, or what stands for it where a size is read off a tensor."""
    stands_for = {
        "x": "hidden|num_tokens|num_topk|scales|x is|x has|x requires",
        "expand_x": "hidden",
        "expert_ids": "num_topk|num_tokens|hidden",
        "global_bs": "largest batch|x_active_mask",
        "const_expert_num": "const_expert|ori_x",
        "copy_expert_num": "ori_x",
        "quant_mode": "quant",
        "y_dtype": "output dtype",
        "comm_alg": "copy mode",
        "comm_quant_mode": "quant",
    }
    for case in CASES:
        if case.refusal is None:
            continue
        pattern = case.refusal.pattern
        names = [*case.refusal.change, *(stands_for.get(name, name) for name in case.refusal.change)]
        assert any(re.search(name, pattern) for name in names), f"{case.id}: {pattern}"
        assert case.refusal.error in ("ArgumentError", "NotImplementedError", "Mismatch")


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("id=contract.1", lambda case: case.id == "contract.1"),
        ("group=later row=later", lambda case: case.group == "later"),
        ("quant=2 !group=pair", lambda case: case.call.quant == 2 and case.group != "pair"),
        ("tokens=6 ranks=2|ranks=3", lambda case: set(case.call.tokens) == {6} and case.call.ranks in (2, 3)),
        ("op=meta-combine", lambda case: case.refusal is not None and case.refusal.op == "meta-combine"),
        ("public", lambda case: "public" in case.source),
    ],
)
def test_filter(expression: str, holds: object) -> None:
    chosen = {case.id for case in select(CASES, expression)}
    assert chosen and chosen == {case.id for case in CASES if holds(case)}


def test_a_filter_with_an_unknown_name_is_told() -> None:
    assert unknown_names("quant=2 !quants=3|row=D1") == ["quants"]


def test_ids_are_words_for_a_command_line() -> None:
    assert [case.id for case in CASES if not re.fullmatch(r"[a-z]+\.[\w.-]+", case.id)] == []


def test_every_timed_shape_of_decode_is_there() -> None:
    """And of prefill each number of tokens, dtype and routing, and the shape that speed is promised for."""
    dtypes = {0: "bf16", 2: "int8"}
    timed = {
        (case.call.ranks, case.call.tokens[0], dtypes[case.call.quant], case.call.routing)
        for case in CASES
        if (case.call.hidden, case.call.topk, case.call.experts) == (7168, 8, 256) and case.refusal is None
    }
    wanted = set(product(SWEEP.ranks, SWEEP.tokens, SWEEP.dtype, SWEEP.routing))
    assert {shape for shape in wanted if shape[1] <= 128} <= timed
    prefill = [shape for shape in timed if shape[1] > 128]
    assert (4, 2048, "bf16", "gate") in prefill
    for place, values in ((1, (1024, 2048, 4096)), (2, SWEEP.dtype), (3, SWEEP.routing)):
        assert {shape[place] for shape in prefill} >= set(values)


def seeds(cases: list[Case]) -> list[int]:
    return [case.seed for case in cases]


def test_cases_have_inputs_of_their_own() -> None:
    assert len(set(seeds(CASES))) == len(CASES)
