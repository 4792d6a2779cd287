# SPDX-License-Identifier: Apache-2.0
"""Callers of torch_npu run unedited on our operators, and give bit for bit what direct calls give. Layer: tests.

The ranks are a pool of their own: they name a device type and a backend, which cannot be taken back.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stand_in_torch_npu as stand_in
import torch
import torch.distributed as dist
from ascend_deepep import (
    ArgumentError,
    Communicator,
    DeepEPError,
    combine_v2,
    dispatch_v2,
    reference,
    reference_quant,
)
from ascend_deepep.integrations.torch_npu import install
from ascend_deepep.testing import Context, Pool
from token_dispatchers import Dispatched, LowLatencyDispatcher, Mc2Dispatcher
from torch import Tensor

TOKENS, HIDDEN, TOPK, EXPERTS = 6, 128, 3, 8
LIMITS = {"max_tokens": 8, "hidden": HIDDEN, "num_topk": TOPK, "num_experts": EXPERTS}


@pytest.fixture(scope="module")
def npu_ranks() -> Iterator[Pool]:
    """Ranks of this module alone."""
    with Pool() as pool:
        yield pool


def inputs(rank: int, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states, ids and weights of a rank."""
    generator = torch.Generator().manual_seed(100 * rank + tokens)
    x = torch.randn(tokens, HIDDEN, generator=generator).to(torch.bfloat16)
    weights, ids = torch.rand(tokens, EXPERTS, generator=generator).topk(TOPK)
    return x, ids.to(torch.int32), weights


def experts(rows: Tensor) -> Tensor:
    """What every expert does, row by row."""
    return torch.tanh(rows.float()).to(rows.dtype)


def direct(group: dist.ProcessGroup, tokens: int, global_bs: int, **options: Any) -> tuple[list[Tensor], Tensor]:
    """Written rows, counts, sums and the output of this rank by direct calls."""
    x, ids, weights = inputs(dist.get_rank(group), tokens)
    with Communicator(group, **LIMITS, name="direct") as ep:
        received = dispatch_v2(x, ids, ep, global_bs=global_bs, **options)
        rows = received.expand_x.clone()
        rows[: received.num_rows] = experts(received.rows)
        y = combine_v2(
            rows, ids, received.assist_info_for_combine, received.ep_recv_counts, weights, ep, global_bs=global_bs
        )
        written = [received.rows, received.triples, received.expert_token_nums, received.ep_recv_counts]
        others = [received.dynamic_scales, received.tp_recv_counts, received.expand_scales]
        return [*written, *others, torch.tensor(received.expand_x.shape)], y


def by_dispatcher(dispatcher: Any, *arguments: Any) -> tuple[list[Tensor], Tensor]:
    """The same by a dispatcher that was written for torch_npu."""
    dispatched: Dispatched = dispatcher.dispatch(*arguments)
    outputs = dispatched.outputs
    assert type(outputs) is tuple and len(outputs) == 7
    count = int(outputs[4][-1])
    triples = outputs[2][: 3 * count].view(-1, 3).clone()
    before = [outputs[0][:count].clone(), triples, outputs[3], outputs[4], outputs[1], outputs[5], outputs[6]]
    rows = dispatched.expand_x.clone()
    rows[:count] = experts(rows[:count])
    return [*before, torch.tensor(outputs[0].shape)], dispatcher.combine(rows, dispatched)


def compare(got: tuple[list[Tensor], Tensor], want: tuple[list[Tensor], Tensor]) -> None:
    """Bit for bit, types and shapes too."""
    assert len(got[0]) == len(want[0])
    for ours, theirs in zip([*got[0], got[1]], [*want[0], want[1]], strict=True):
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)


def compare_with_oracle(y: Tensor, rank: int, num_ranks: int, tokens: list[int]) -> None:
    x, ids, weights = zip(*(inputs(other, tokens[other]) for other in range(num_ranks)), strict=True)
    routed, rows = reference.dispatch(x, ids, EXPERTS)
    assert torch.equal(y, reference.combine([experts(received) for received in rows], routed, ids, weights)[rank])


def with_stand_in(*, has_functions: bool = True) -> Any:
    """The module that `import torch_npu` gives from now on."""
    sys.modules["torch_npu"] = module = stand_in.make(has_functions=has_functions)
    return module


# --- vllm-ascend's keyword sets

MC2_SETS: dict[str, dict[str, Any]] = {
    "mask, A2 arguments": {"has_extra_arguments": False},
    "mask, A3 arguments": {},
    "capacity without mask": {"capacity": 8},
    "capacity, counts": {"capacity": 8, "expert_token_nums_type": 1},
    "fullmesh_v2": {"comm_alg": "fullmesh_v2"},
    "no shared expert, no special ones": {"more": {"shared_expert_num": 0, "zero_expert_num": 0, "elastic_info": None}},
}


def _mc2(context: Context, keywords: dict[str, Any]) -> None:
    module = with_stand_in(has_functions=False)
    group = stand_in.hccl_group()
    # With a capacity every rank may bring its own number of tokens.
    tokens = [TOKENS + (rank % 3 if "capacity" in keywords else 0) for rank in range(context.num_ranks)]
    mine = tokens[context.rank]
    with install(group, **LIMITS) as installation:
        dispatcher = Mc2Dispatcher(group, EXPERTS, **keywords)
        assert installation.name == dispatcher.name
        mask = None if "capacity" in keywords else torch.ones(mine, dtype=torch.bool)
        got = by_dispatcher(dispatcher, *inputs(context.rank, mine), mask)
    assert module.calls == []
    kind = keywords.get("expert_token_nums_type", 0)
    batch = keywords.get("capacity", mine) * context.num_ranks
    tp_ranks = 1 if dispatcher.has_extra_arguments else 0
    compare(got, direct(group, mine, batch, expert_token_nums_type=kind, tp_world_size=tp_ranks))
    compare_with_oracle(got[1], context.rank, context.num_ranks, tokens)


@pytest.mark.parametrize("num_ranks", [2, 4])
@pytest.mark.parametrize("keywords", MC2_SETS.values(), ids=MC2_SETS)
def test_mc2_equals_direct_calls(npu_ranks: Pool, keywords: dict[str, Any], num_ranks: int) -> None:
    npu_ranks.run(_mc2, num_ranks, keywords)


FULL_SETS: dict[str, dict[str, Any]] = {
    "padding mask": {},
    "A5: expert_scales": {"capacity": 8, "needs_expert_scales": True},
    "dynamic int8": {"capacity": 8, "quant_mode": 2},
    "MXFP8": {"capacity": 8, "quant_mode": 4},
    "int8 on the way back": {"capacity": 8, "comm_quant_mode": 2},
    "all of them": {"needs_expert_scales": True, "quant_mode": 2, "comm_quant_mode": 2},
}


def _decoded(dispatched: Dispatched) -> Tensor:
    """Received rows as the experts take them: what a caller does with dynamic_scales."""
    rows, scales = dispatched.expand_x, dispatched.outputs[1]
    if rows.dtype == torch.bfloat16:
        return rows
    is_mx = scales.dtype == torch.uint8
    spread = scales.view(torch.float8_e8m0fnu).float().repeat_interleave(32, dim=1) if is_mx else scales[:, None]
    return (rows.float() * spread[:, :HIDDEN]).to(torch.bfloat16)


def _wanted(rank: int, tokens: list[int], masks: list[Tensor | None], keywords: dict[str, Any]) -> list[Tensor]:
    """Rows, weights of the rows and output of a rank, by the oracle."""
    x, ids, weights = zip(*(inputs(other, count) for other, count in enumerate(tokens)), strict=True)
    routed, rows = reference.dispatch(x, ids, EXPERTS, masks)
    decoded = []
    for received in rows:
        if (mode := keywords.get("quant_mode", 0)) == 0:
            decoded.append(received)
            continue
        quantise = {2: reference_quant.per_token, 4: reference_quant.mx}[mode]
        made = quantise(received, {2: torch.int8, 4: torch.float8_e4m3fn}[mode])
        spread = made.scales.float().repeat_interleave(HIDDEN // made.scales.shape[1], dim=1)
        decoded.append((made.values.float() * spread).to(torch.bfloat16))
    computed = [experts(received) for received in decoded]
    if keywords.get("comm_quant_mode") == 2:
        computed = [reference_quant.combine_int8_round_trip(received) for received in computed]
    triples = routed.ranks[rank].triples.long()
    row_weights = torch.stack([weights[source][token, column] for source, token, column in triples.tolist()])
    return [decoded[rank], row_weights, reference.combine(computed, routed, ids, weights)[rank]]


def _full(context: Context, keywords: dict[str, Any]) -> None:
    with_stand_in()
    group = stand_in.hccl_group()
    is_masked = "capacity" not in keywords
    masks = [torch.arange(TOKENS) < TOKENS - 1 - rank if is_masked else None for rank in range(context.num_ranks)]
    with install(group, **LIMITS):
        dispatcher = Mc2Dispatcher(group, EXPERTS, **keywords)
        dispatched = dispatcher.dispatch(*inputs(context.rank, TOKENS), masks[context.rank])
        rows = _decoded(dispatched)
        count = int(dispatched.outputs[4][-1])
        arrived = rows[:count].clone()
        rows[:count] = experts(rows[:count])
        y = dispatcher.combine(rows, dispatched)
    want_rows, want_weights, want_y = _wanted(context.rank, [TOKENS] * context.num_ranks, masks, keywords)
    assert torch.equal(arrived, want_rows) and torch.equal(y, want_y)
    if keywords.get("needs_expert_scales"):
        assert torch.equal(dispatched.outputs[6][:count], want_weights)


@pytest.mark.parametrize("keywords", FULL_SETS.values(), ids=FULL_SETS)
def test_masks_weights_and_quantisation_equal_the_oracle(npu_ranks: Pool, keywords: dict[str, Any]) -> None:
    npu_ranks.run(_full, 2, keywords)


REFUSED_SETS: dict[str, tuple[dict[str, Any], str]] = {
    "fullmesh_v1 without room": ({"capacity": 8, "comm_alg": "fullmesh_v1"}, "per_expert_copies=True"),
    "hierarchy": ({"capacity": 8, "comm_alg": "hierarchy"}, "comm_alg"),
}


def _refused(context: Context, keywords: dict[str, Any]) -> tuple[str, str]:
    """Rank 0 alone makes the call of the set; the next calls of all are exact."""
    with_stand_in(has_functions=False)
    group = stand_in.hccl_group()
    with install(group, **LIMITS):
        dispatcher = Mc2Dispatcher(group, EXPERTS, **(keywords if context.rank == 0 else {"capacity": 8}))
        kind = text = ""
        try:
            dispatcher.dispatch(*inputs(context.rank, TOKENS), None)
        except DeepEPError as error:
            kind, text = type(error).__name__, str(error)
        good = Mc2Dispatcher(group, EXPERTS, capacity=8)
        _, y = by_dispatcher(good, *inputs(context.rank, TOKENS), None)
        compare_with_oracle(y, context.rank, context.num_ranks, [TOKENS] * context.num_ranks)
    return kind, text


@pytest.mark.parametrize(("keywords", "word"), REFUSED_SETS.values(), ids=REFUSED_SETS)
def test_what_cannot_run_is_refused_by_name(npu_ranks: Pool, keywords: dict[str, Any], word: str) -> None:
    mine, other = npu_ranks.run(_refused, 2, keywords)
    assert mine[0] == "ArgumentError" and other[0] == "Mismatch" and "rank 0" in other[1]
    assert word in mine[1] and word in other[1]


# --- SGLang's


def _low_latency(context: Context) -> None:
    with_stand_in()
    group = stand_in.hccl_group()
    with install(group, **LIMITS):
        dispatcher = LowLatencyDispatcher(group, EXPERTS, num_max_tokens=8)
        got = by_dispatcher(dispatcher, *inputs(context.rank, 8))
        _, padded = by_dispatcher(dispatcher, *inputs(context.rank, 5))
        again = by_dispatcher(dispatcher, *inputs(context.rank, 8))
    compare(again, got)
    compare(got, direct(group, 8, 8 * context.num_ranks))
    compare_with_oracle(got[1], context.rank, context.num_ranks, [8] * context.num_ranks)
    compare_with_oracle(padded[:5], context.rank, context.num_ranks, [5] * context.num_ranks)
    assert not padded[5:].any()


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_low_latency_equals_direct_calls(npu_ranks: Pool, num_ranks: int) -> None:
    """A full batch, and one that is padded and masked."""
    npu_ranks.run(_low_latency, num_ranks)


# --- comm_alg


def _fallback(context: Context) -> list[str]:
    with_stand_in()
    group = stand_in.hccl_group()
    with warnings.catch_warnings(record=True) as caught, install(group, comm_alg_fallback=True, **LIMITS):
        warnings.simplefilter("always")
        for word in ("hierarchy", "fullmesh_v1", "hierarchy", "fullmesh_v2", ""):
            dispatcher = Mc2Dispatcher(group, EXPERTS, capacity=8, comm_alg=word)
            _, y = by_dispatcher(dispatcher, *inputs(context.rank, TOKENS), None)
            compare_with_oracle(y, context.rank, context.num_ranks, [TOKENS] * context.num_ranks)
    return [str(warning.message) for warning in caught if "comm_alg" in str(warning.message)]


def test_comm_alg_fallback_warns_once_a_name(npu_ranks: Pool) -> None:
    for texts in npu_ranks.run(_fallback, 2):
        assert len(texts) == 2
        assert "'hierarchy'" in texts[0] and "'fullmesh_v1'" in texts[1]


# --- several groups, and the undo


def _groups(context: Context) -> None:
    module = with_stand_in()
    before = dict(vars(module))
    groups = [stand_in.hccl_group(), stand_in.hccl_group()]
    installations = [install(group, **LIMITS) for group in groups]
    with pytest.raises(ArgumentError, match="in use"):
        install(groups[0], **LIMITS)
    for group in groups:
        _, y = by_dispatcher(Mc2Dispatcher(group, EXPERTS, capacity=8), *inputs(context.rank, TOKENS), None)
        compare_with_oracle(y, context.rank, context.num_ranks, [TOKENS] * context.num_ranks)
    installations[0]()
    installations[0]()
    assert installations[0].communicator.closed and not installations[1].communicator.closed
    second = Mc2Dispatcher(groups[1], EXPERTS, capacity=8)
    by_dispatcher(second, *inputs(context.rank, TOKENS), None)
    # The first group is torch_npu's business again.
    assert module.calls == []
    x, ids, _ = inputs(context.rank, TOKENS)
    place = (installations[0].name, 2, context.rank, EXPERTS)
    assert module.npu_moe_distribute_dispatch_v2(x, ids, *place) == "torch_npu's own npu_moe_distribute_dispatch_v2"
    assert module.calls == [("npu_moe_distribute_dispatch_v2", installations[0].name)]
    module.calls.clear()
    installations[1].undo()
    assert vars(module) == before


def test_groups_side_by_side(npu_ranks: Pool) -> None:
    npu_ranks.run(_groups, 2)


@pytest.mark.fast
@pytest.mark.parametrize("has_functions", [True, False])
def test_undo_restores_the_module(has_functions: bool) -> None:
    module = stand_in.make(has_functions=has_functions)
    before = dict(vars(module))
    with install(None, module=module, name="alone", **LIMITS) as undo:
        assert all(hasattr(module, name) for name in stand_in.NAMES)
        assert all(getattr(module, name) is not before.get(name) for name in stand_in.NAMES)
    assert vars(module) == before and undo.communicator.closed
    undo()
    assert vars(module) == before


@pytest.mark.fast
def test_unknown_group_without_a_function_of_torch_npu() -> None:
    module = stand_in.make(has_functions=False)
    x, ids, _ = inputs(0, 2)
    with (
        install(None, module=module, name="alone", **LIMITS),
        pytest.raises(ArgumentError, match=r"group_ep = 'other' is not installed \(installed: 'alone'\)"),
    ):
        module.npu_moe_distribute_dispatch_v2(x, ids, "other", 1, 0, EXPERTS)


@pytest.mark.fast
def test_a_patch_over_ours_stays_and_is_told() -> None:
    module = stand_in.make()
    theirs = module.npu_moe_distribute_combine_v2
    undo = install(None, module=module, name="alone", **LIMITS)
    ours = module.npu_moe_distribute_dispatch_v2

    def patch(*arguments: Any, **keywords: Any) -> Any:
        return ours(*arguments, **keywords)

    module.npu_moe_distribute_dispatch_v2 = patch  # type: ignore[attr-defined]
    with pytest.warns(RuntimeWarning, match=r"npu_moe_distribute_dispatch_v2 was replaced by somebody else"):
        undo()
    assert module.npu_moe_distribute_dispatch_v2 is patch
    assert module.npu_moe_distribute_combine_v2 is theirs
    x, ids, _ = inputs(0, 2)
    assert patch(x, ids, "alone", 1, 0, EXPERTS) == "torch_npu's own npu_moe_distribute_dispatch_v2"


@pytest.mark.fast
def test_without_torch_npu_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    with pytest.raises(ImportError, match="pass module="):
        install(None, name="alone", **LIMITS)


# --- masks


@pytest.mark.fast
@pytest.mark.parametrize("mask", [torch.ones(3, dtype=torch.bool), torch.ones(2, dtype=torch.int32)])
def test_illegal_masks_reach_the_operator(mask: Tensor) -> None:
    module = stand_in.make()
    x, ids, _ = inputs(0, 2)
    with install(None, module=module, name="alone", **LIMITS), pytest.raises(ArgumentError, match="x_active_mask"):
        module.npu_moe_distribute_dispatch_v2(x, ids, "alone", 1, 0, EXPERTS, x_active_mask=mask)


def test_unknown_keywords_are_torchs_to_refuse() -> None:
    module = stand_in.make()
    x, ids, _ = inputs(0, 2)
    with (
        install(None, module=module, name="alone", **LIMITS),
        pytest.raises((RuntimeError, TypeError), match="nonsense"),
    ):
        module.npu_moe_distribute_dispatch_v2(x, ids, "alone", 1, 0, EXPERTS, nonsense=1)


def test_under_torch_compile() -> None:
    module = stand_in.make()
    x, ids, weights = inputs(0, 4)
    place = ("alone", 1, 0, EXPERTS)

    def layer(call: Any, back: Callable[..., Tensor]) -> Tensor:
        out = call(x, ids, *place)
        return back(out[0], ids, out[2], out[4], weights, *place)

    with install(None, module=module, name="alone", **LIMITS):
        compiled = torch.compile(
            lambda: layer(module.npu_moe_distribute_dispatch_v2, module.npu_moe_distribute_combine_v2),
            backend="aot_eager",
            fullgraph=True,
        )
        assert torch.equal(compiled(), layer(torch.ops.npu.dispatch_v2, torch.ops.npu.combine_v2))
