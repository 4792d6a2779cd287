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
from ascend_deepep import ArgumentError, Communicator, DeepEPError, combine_v2, dispatch_v2, reference
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


LATER_SETS: dict[str, tuple[dict[str, Any], str]] = {
    "padding mask": ({}, "x_active_mask"),
    "A5: expert_scales": ({"capacity": 8, "needs_expert_scales": True}, "expert_scales"),
    "dynamic int8": ({"capacity": 8, "quant_mode": 2}, "quant_mode"),
    "MXFP8": ({"capacity": 8, "quant_mode": 4}, "quant_mode"),
    "fullmesh_v1": ({"capacity": 8, "comm_alg": "fullmesh_v1"}, "comm_alg"),
    "hierarchy": ({"capacity": 8, "comm_alg": "hierarchy"}, "comm_alg"),
}


def _later(context: Context, keywords: dict[str, Any]) -> tuple[str, str]:
    """Rank 0 alone makes the call of the set; the next calls of all are exact."""
    with_stand_in(has_functions=False)
    group = stand_in.hccl_group()
    with install(group, **LIMITS):
        mask = None if "capacity" in keywords else torch.arange(TOKENS) < TOKENS - 1 + context.rank
        plain = {"capacity": keywords["capacity"]} if "capacity" in keywords else {}
        dispatcher = Mc2Dispatcher(group, EXPERTS, **(keywords if context.rank == 0 else plain))
        kind = text = ""
        try:
            dispatcher.dispatch(*inputs(context.rank, TOKENS), mask)
        except (DeepEPError, NotImplementedError) as error:
            kind, text = type(error).__name__, str(error)
        good = Mc2Dispatcher(group, EXPERTS, capacity=8)
        _, y = by_dispatcher(good, *inputs(context.rank, TOKENS), None)
        compare_with_oracle(y, context.rank, context.num_ranks, [TOKENS] * context.num_ranks)
    return kind, text


@pytest.mark.parametrize(("keywords", "word"), LATER_SETS.values(), ids=LATER_SETS)
def test_what_comes_later_is_refused_by_name(npu_ranks: Pool, keywords: dict[str, Any], word: str) -> None:
    mine, other = npu_ranks.run(_later, 2, keywords)
    assert mine[0] == ("ArgumentError" if keywords.get("comm_alg") == "hierarchy" else "NotImplementedError")
    assert other[0] == "Mismatch" and "rank 0" in other[1]
    assert word in mine[1] and word in other[1]


def _quantised_combine(context: Context) -> tuple[str, str]:
    with_stand_in()
    group = stand_in.hccl_group()
    with install(group, **LIMITS):
        dispatcher = Mc2Dispatcher(group, EXPERTS, capacity=8)
        dispatched = dispatcher.dispatch(*inputs(context.rank, TOKENS), None)
        dispatcher.comm_quant_mode = 2
        try:
            dispatcher.combine(dispatched.expand_x, dispatched)
        except (DeepEPError, NotImplementedError) as error:
            return type(error).__name__, str(error)
    return "", ""


def test_quantised_combine_is_refused_by_name(npu_ranks: Pool) -> None:
    for kind, text in npu_ranks.run(_quantised_combine, 2):
        assert kind == "NotImplementedError" and "comm_quant_mode" in text


# --- SGLang's


def _low_latency(context: Context) -> list[str]:
    with_stand_in()
    group = stand_in.hccl_group()
    kinds = []
    with install(group, **LIMITS):
        dispatcher = LowLatencyDispatcher(group, EXPERTS, num_max_tokens=8)
        got = by_dispatcher(dispatcher, *inputs(context.rank, 8))
        try:
            dispatcher.dispatch(*inputs(context.rank, 5))
        except NotImplementedError as error:
            kinds.append(str(error))
        again = by_dispatcher(dispatcher, *inputs(context.rank, 8))
    compare(again, got)
    compare(got, direct(group, 8, 8 * context.num_ranks))
    compare_with_oracle(got[1], context.rank, context.num_ranks, [8] * context.num_ranks)
    return kinds


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_low_latency_equals_direct_calls(npu_ranks: Pool, num_ranks: int) -> None:
    """A full batch needs no mask; a padded one does, and is refused until masks come."""
    for kinds in npu_ranks.run(_low_latency, num_ranks):
        assert len(kinds) == 1 and "x_active_mask" in kinds[0]


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


# --- masks: only what cannot change a result is left out


@pytest.mark.fast
@pytest.mark.parametrize(
    ("mask", "more"),
    [
        (torch.ones(2, dtype=torch.bool), {}),
        (torch.ones(2, TOPK, dtype=torch.bool), {}),
        (torch.ones(2, dtype=torch.bool), {"global_bs": 2}),
    ],
)
def test_full_masks_change_nothing(mask: Tensor, more: dict[str, int]) -> None:
    module = stand_in.make()
    x, ids, _ = inputs(0, 2)
    place = ("alone", 1, 0, EXPERTS)
    with install(None, module=module, name="alone", **LIMITS):
        masked = module.npu_moe_distribute_dispatch_v2(x, ids, *place, x_active_mask=mask, **more)
        plain = torch.ops.npu.dispatch_v2(x, ids, *place, **more)
    assert torch.equal(masked[0], plain[0]) and torch.equal(masked[4], plain[4])


@pytest.mark.fast
@pytest.mark.parametrize(
    ("mask", "more", "kind"),
    [
        (torch.tensor([True, False]), {}, NotImplementedError),
        (torch.ones(2, TOPK, dtype=torch.bool).tril(1), {}, NotImplementedError),
        (torch.ones(2, dtype=torch.bool), {"global_bs": 8}, NotImplementedError),
        (torch.ones(3, dtype=torch.bool), {}, ArgumentError),
        (torch.ones(2, dtype=torch.int32), {}, ArgumentError),
    ],
)
def test_other_masks_reach_the_operator(mask: Tensor, more: dict[str, int], kind: type[Exception]) -> None:
    module = stand_in.make()
    x, ids, _ = inputs(0, 2)
    with (
        install(None, module=module, name="alone", **LIMITS),
        pytest.raises(kind, match="x_active_mask"),
    ):
        module.npu_moe_distribute_dispatch_v2(x, ids, "alone", 1, 0, EXPERTS, x_active_mask=mask, **more)


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
