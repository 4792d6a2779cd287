# SPDX-License-Identifier: Apache-2.0
"""What a rank of the suite expects, against the oracle of all ranks at once; judgements can fail. Layer: tests.

`oracle.Expected` sees one rank and its own tokens; `reference.combine` takes the experts' outputs of all ranks. Both
have to agree on every case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from ascend_deepep import reference, reference_by_rank, reference_quant
from ascend_deepep.conformance import checks
from ascend_deepep.conformance.calls import changed
from ascend_deepep.conformance.cases import Case, Refusal, load
from ascend_deepep.conformance.inputs import KEPT_US, Inputs
from ascend_deepep.conformance.oracle import Expected
from ascend_deepep.errors import ArgumentError, Mismatch
from torch import Tensor

pytestmark = pytest.mark.fast

EXACT = {case.id: case for case in load() if case.refusal is None}
SMALL = [case for case in EXACT.values() if case.call.hidden <= 1056 and max(case.call.tokens) <= 64]


def expected_of(case: Case) -> list[Expected]:
    inputs = Inputs(case)
    return [Expected(inputs, rank) for rank in range(case.call.ranks)]


@pytest.mark.parametrize("group", sorted({case.group for case in SMALL}))
def test_combine_of_one_rank_is_that_of_all(group: str) -> None:
    for case in SMALL:
        if case.group != group:
            continue
        call, ranks = case.call, expected_of(case)
        inputs = ranks[0].inputs
        outputs = [expected.outputs for expected in ranks]
        if call.comm_quant == 2:
            outputs = [reference_quant.combine_int8_round_trip(output) for output in outputs]
        weights = [inputs.weights(rank) for rank in range(call.ranks)] if call.weights else None
        shared = [inputs.shared_x(rank) for rank in range(call.ranks)] if call.shared_x != "none" else None
        route = ranks[0].route
        if call.sums_by_rank:
            combined = reference_by_rank.combine(outputs, route.destination, route.row, route.active, weights, shared)
        else:
            combined = reference.combine(outputs, route, inputs.ids, weights, shared)
        for expected, want in zip(ranks, combined, strict=True):
            assert checks.same(case.id, expected.combined, want) == ""


@pytest.mark.parametrize("group", sorted({case.group for case in EXACT.values()}))
def test_rows_fit_the_outputs(group: str) -> None:
    for case in SMALL:
        for expected in expected_of(case) if case.group == group else ():
            outputs, rows = expected.described(), expected.rows
            assert expected.mine.num_rows <= outputs[0][0][0], case.id
            assert (rows.values.shape[1], rows.values.element_size()) == (outputs[0][0][1], outputs[0][1].itemsize), (
                case.id
            )
            if rows.scales is not None:
                assert (rows.scales.shape[1:], rows.scales.dtype) == (outputs[1][0][1:], outputs[1][1]), case.id


@pytest.mark.parametrize(
    ("rank", "capacity", "words"),
    [
        # op_contract 7, infershape checks: A of a shared rank, of four of them, of a rank of experts.
        (0, 288, {"ranks": 288, "experts": 256, "shared": (1, 32)}),
        (0, 256, {"ranks": 8, "experts": 32, "shared": (4, 4)}),
        (0, 2048, {"ranks": 8, "experts": 64, "shared": (1, 0)}),
    ],
)
def test_capacity_is_theirs(rank: int, capacity: int, words: dict[str, object]) -> None:
    call = replace(EXACT["contract.1"].call, tokens=(32,) * int(str(words["ranks"])), topk=8, **words)
    assert call.capacity(rank) == capacity


def received(expected: Expected) -> list[Tensor]:
    """What a dispatch without a fault returns."""
    outputs = [torch.zeros(shape, dtype=dtype) for shape, dtype in expected.described()]
    mine, count = expected.mine, expected.mine.num_rows
    outputs[0][:count] = expected.rows.values
    if expected.rows.scales is not None:
        outputs[1][:count] = expected.rows.scales
    outputs[2][: 3 * count] = mine.triples.flatten()
    outputs[3] = mine.expert_token_nums(expected.inputs.call.nums_type).clone()
    outputs[4] = mine.ep_recv_counts.clone()
    if expected.expand_scales is not None:
        outputs[6][:count] = expected.expand_scales
    return outputs


def flip(tensor: Tensor) -> None:
    tensor.view(torch.uint8).flatten()[:1].bitwise_xor_(1)


@pytest.mark.parametrize("output", range(7))
def test_a_wrong_output_is_found(output: int) -> None:
    case = replace(EXACT["cell.quant-token-bfloat16-int8-none"], id="x")
    case = replace(case, call=replace(case.call, expert_scales=True, tp_world_size=1))
    expected = expected_of(case)[1]
    outputs = received(expected)
    assert checks.dispatched(expected, outputs) == []
    flip(outputs[output])
    (finding,) = checks.dispatched(expected, outputs)
    assert finding.startswith(checks.OUTPUTS[output])


@pytest.mark.parametrize("output", range(7))
def test_a_wrong_shape_or_dtype_is_found(output: int) -> None:
    expected = expected_of(EXACT["cell.expert-scales"])[0]
    outputs = received(expected)
    assert checks.described("it", outputs, expected.described()) == []
    longer = [*outputs]
    longer[output] = torch.cat([outputs[output], outputs[output][:1], torch.zeros_like(outputs[output][:1])])
    other = [*outputs]
    other[output] = outputs[output].to(torch.float64)
    for wrong in (longer, other):
        if [tuple(tensor.shape) for tensor in wrong] == [
            shape for shape, _ in expected.described()
        ] and wrong is longer:
            continue  # an empty output cannot grow this way
        (finding,) = checks.described("it", wrong, expected.described())
        assert checks.OUTPUTS[output] in finding


def test_nan_is_equal_to_any_nan_and_to_nothing_else() -> None:
    nan = torch.tensor([0x7FC0, 0x3F80], dtype=torch.int16).view(torch.bfloat16)
    other = torch.tensor([-0x40, 0x3F80], dtype=torch.int16).view(torch.bfloat16)
    assert bool(other.isnan()[0]) and checks.same("it", other, nan) == ""
    assert checks.same("it", torch.zeros(2, dtype=torch.bfloat16), nan).startswith("it[0] is 0.0 instead of nan")
    assert checks.same("it", torch.tensor([-0.0]), torch.tensor([0.0])) != ""


REFUSAL = Refusal("D5", "dispatch", {"ep_rank_id": 4}, "ep_rank_id = 4.*must be 1")
TEXT = "ep_rank_id = 4, must be 1: pass this process's rank"


@pytest.mark.parametrize(
    ("rank", "error", "finding"),
    [
        (1, ArgumentError(TEXT), ""),
        (0, Mismatch(f"rank 1 refused dispatch_v2: {TEXT}", root=1), ""),
        (1, None, "was not refused"),
        (1, NotImplementedError(TEXT), "NotImplementedError instead of ArgumentError"),
        (1, ArgumentError("ep_rank_id = 4"), "does not match"),
        (1, ArgumentError(TEXT + "\nmore"), "several lines"),
        (0, ArgumentError(TEXT), "instead of Mismatch"),
        (0, Mismatch(f"rank 1 refused dispatch_v2: {TEXT}", root=2), "root 2"),
        (0, Mismatch(TEXT, root=1), "does not blame rank 1"),
    ],
)
def test_a_refusal_is_judged(rank: int, error: Exception | None, finding: str) -> None:
    found = checks.refused(REFUSAL, rank, error)
    assert (found == []) if not finding else any(finding in one for one in found)


@pytest.mark.parametrize(
    ("kind", "info", "is_good"),
    [
        ("zeroed", [0, 90], True),
        ("zeroed", [0, 102], False),
        ("zeroed", [-1, 0], False),
        ("kept", [KEPT_US, KEPT_US], True),
        ("kept", [KEPT_US, 0], False),
        ("late", [50, 0], False),
    ],
)
def test_waits_are_judged(kind: str, info: list[int], is_good: bool) -> None:
    case = EXACT["cell.performance-zeroed"]
    expected = expected_of(replace(case, call=replace(case.call, performance=kind)))[1]
    assert (checks.waits(expected, torch.tensor(info), 100.0, "it") == []) == is_good


@pytest.mark.parametrize(
    ("how", "holds"),
    [
        (
            {"shape": [2, 3], "dtype": "int32", "fill": 7},
            lambda t: t.tolist() == [[7] * 3] * 2 and t.dtype == torch.int32,
        ),
        ({"shape": [2], "dtype": "float8_e8m0fnu", "fill": 127}, lambda t: t.float().tolist() == [1.0, 1.0]),
        ({"dtype": "int64"}, lambda t: t.dtype == torch.int64),
        ({"dims": 1}, lambda t: t.shape == (12,)),
        ({"dims": 3}, lambda t: t.shape == (1, 4, 3)),
        ({"rows": 2}, lambda t: t.shape == (2, 3)),
        ({"columns": 2}, lambda t: t.shape == (4, 2)),
        ({"at": [1, 2, -5]}, lambda t: t[1, 2] == -5 and int((t != 0).sum()) == 1),
        ({"device": "meta"}, lambda t: t.device.type == "meta"),
    ],
)
def test_changes_of_a_tensor(how: dict[str, object], holds: Callable[[Tensor], bool]) -> None:
    old = torch.zeros(4, 3, dtype=torch.int32)
    made = changed({"x": old, "y": 1}, {"x": how})
    assert made["y"] == 1 and holds(made["x"]) and int(old.abs().sum()) == 0
