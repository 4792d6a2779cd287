# SPDX-License-Identifier: Apache-2.0
"""`dispatch_v2` and `combine_v2`: the torch operators with what a communicator knows filled in. Layer: Python.

`torch.ops.npu.dispatch_v2` and `torch.ops.npu.combine_v2` take the arguments of torch_npu's
`npu_moe_distribute_dispatch_v2` and `npu_moe_distribute_combine_v2`, in that order, with those defaults. The wrappers
take the same, and a `Communicator` where the operators take its name.
"""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import torch
from torch import Tensor

from ascend_deepep._load import load_ops
from ascend_deepep.communicator import Communicator
from ascend_deepep.errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of the checker: this package does not need it to run

load_ops()

_INT32 = torch.iinfo(torch.int32)
_REFUSED = torch.zeros(1, dtype=torch.float64)  # of a dtype that no argument of the operators takes, and not empty


class DispatchOutput(NamedTuple):
    """What a rank receives. The seven outputs of torch_npu, by its names, and views cut to the rows received.

    A is the capacity in rows, L the experts of a rank, EP the ranks. Rows are ordered by local expert, then source
    rank, then source token, then column; what lies behind the last row is unspecified.
    """

    #: (A, hidden): the tokens received, in the dtype of x or, quantised, in y_dtype (int8, float8_e4m3fn, float8_e5m2).
    expand_x: Tensor
    #: The scales of the rows: (A,) float32 of `quant_mode` 2, (A, ceil(hidden / 128)) float32 of 3,
    #: (A, 2 * ceil(hidden / 64)) uint8 of 4, bytes of float8_e8m0fnu; of quantised x (A, columns of `scales`), as
    #: given; (A,) float32 zeros where there are none.
    dynamic_scales: Tensor
    #: (max(tokens * top-k, 128 * A),) int32: source rank, token and column of each row; combine wants it back as it is.
    assist_info_for_combine: Tensor
    #: (L,) int64: rows of each local expert (`expert_token_nums_type` 1) or their inclusive running sum (0).
    expert_token_nums: Tensor
    #: (L * EP,) int32: inclusive running sum of rows by (local expert, source rank).
    ep_recv_counts: Tensor
    #: (tp_world_size,) int32: of tensor parallelism, which comes later; zeros today.
    tp_recv_counts: Tensor
    #: (A,) float32: the rows' `expert_scales`, 1 where a shared expert is; zeros without `expert_scales`.
    expand_scales: Tensor

    @property
    def num_rows(self) -> int:
        """Rows received."""
        return int(self.ep_recv_counts[-1])

    @property
    def rows(self) -> Tensor:
        """(num_rows, hidden): view of `expand_x`."""
        return self.expand_x[: self.num_rows]

    @property
    def row_scales(self) -> Tensor:
        """`dynamic_scales` of the rows received: a view."""
        return self.dynamic_scales[: self.num_rows]

    @property
    def triples(self) -> Tensor:
        """(num_rows, 3) int32: view of `assist_info_for_combine` as source rank, token, column."""
        return self.assist_info_for_combine[: 3 * self.num_rows].view(-1, 3)


class _Common(TypedDict, total=False):
    x_active_mask: Tensor | None
    elastic_info: Tensor | None
    performance_info: Tensor | None
    group_tp: str
    tp_world_size: int
    tp_rank_id: int
    expert_shard_type: int
    shared_expert_num: int
    shared_expert_rank_num: int
    comm_alg: str | None
    zero_expert_num: int
    copy_expert_num: int
    const_expert_num: int


class DispatchOptions(_Common, total=False):
    """Arguments of dispatch that are passed on as they are."""

    scales: Tensor | None
    expert_scales: Tensor | None
    quant_mode: int
    expert_token_nums_type: int
    y_dtype: torch.dtype | int | None
    x_dtype: torch.dtype | int | None
    scales_dtype: torch.dtype | int | None


class CombineOptions(_Common, total=False):
    """Arguments of combine that are passed on as they are."""

    tp_send_counts: Tensor | None
    expand_scales: Tensor | None
    shared_expert_x: Tensor | None
    ori_x: Tensor | None
    const_expert_alpha_1: Tensor | None
    const_expert_alpha_2: Tensor | None
    const_expert_v: Tensor | None
    comm_quant_mode: int


def dispatch_v2(
    x: Tensor,
    expert_ids: Tensor,
    group_ep: Communicator | str,
    ep_world_size: int | None = None,
    ep_rank_id: int | None = None,
    moe_expert_num: int | None = None,
    *,
    global_bs: int | None = None,
    **options: Unpack[DispatchOptions],
) -> DispatchOutput:
    """Send each token to the ranks of the experts it chose.

    Args:
        x: (tokens, hidden) bfloat16 or float16, or float8_e4m3fn or float8_e5m2 with `scales` of shape
            (tokens, columns), which travel with it; 0 tokens are legal.
        expert_ids: (tokens, top-k) int32 or int64; -1 chooses nobody, an expert stands at most once in a row.
        group_ep: the communicator, or its name.
        ep_world_size, ep_rank_id, moe_expert_num: need not be given with a `Communicator`.
        global_bs: ranks times the most tokens that any rank brings to this call, the same on all ranks; sizes the
            outputs. The default is the communicator's maximum; with `x_active_mask`, which needs as many tokens on
            every rank, it is 0. With a name it must be given where ranks bring different numbers of tokens.
        options: the other arguments of the operator (`quant_mode`, `scales`, `y_dtype`, `x_active_mask`,
            `expert_scales`, `shared_expert_num`, ...); None is the default. What goes together: docs/compatibility.md.

    Every rank of the communicator makes the call. Errors: see `ascend_deepep.errors`.
    """
    is_masked = _is_mask(options.get("x_active_mask"))
    place = _place(group_ep, ep_world_size, ep_rank_id, moe_expert_num, global_bs, is_masked)
    tensors = {"x": x, "expert_ids": expert_ids}
    return DispatchOutput(*_call(torch.ops.npu.dispatch_v2, tensors, place, _given(options)))


def combine_v2(
    expand_x: Tensor,
    expert_ids: Tensor,
    assist_info_for_combine: Tensor,
    ep_send_counts: Tensor,
    expert_scales: Tensor,
    group_ep: Communicator | str,
    ep_world_size: int | None = None,
    ep_rank_id: int | None = None,
    moe_expert_num: int | None = None,
    *,
    global_bs: int | None = None,
    **options: Unpack[CombineOptions],
) -> Tensor:
    """Bring the experts' rows back to their tokens and add them up, weighted by `expert_scales`.

    Args:
        expand_x: (A, hidden) bfloat16 or float16: the experts' outputs, in the row order of dispatch.
        expert_ids: as given to dispatch.
        assist_info_for_combine, ep_send_counts: `assist_info_for_combine` and `ep_recv_counts` of that dispatch.
        expert_scales: (tokens, top-k) float32 weights; an empty tensor is a plain sum. With a communicator of
            `combine_reduce` "rank" the weights come from dispatch: pass its `expand_scales` too.
        group_ep, ep_world_size, ep_rank_id, moe_expert_num, global_bs, options: as for `dispatch_v2`.

    Returns (tokens, hidden) of `expand_x`'s dtype: the sum in float32, column ascending, multiply then add, rounded
    once to nearest even. Tokens that chose nobody are zeros. `Communicator` says how `combine_reduce` "rank" differs.
    """
    is_masked = _is_mask(options.get("x_active_mask"))
    place = _place(group_ep, ep_world_size, ep_rank_id, moe_expert_num, global_bs, is_masked)
    tensors = {
        "expand_x": expand_x,
        "expert_ids": expert_ids,
        "assist_info_for_combine": assist_info_for_combine,
        "ep_send_counts": ep_send_counts,
        "expert_scales": expert_scales,
    }
    result: Tensor = _call(torch.ops.npu.combine_v2, tensors, place, _given(options))
    return result


class _Place(NamedTuple):
    """Where a call belongs: communicator, ranks, rank, experts, global batch."""

    name: str
    world: int
    rank: int
    experts: int
    global_bs: int

    def keywords(self) -> dict[str, Any]:
        """All but the name, as arguments of the operators."""
        return {
            "ep_world_size": self.world,
            "ep_rank_id": self.rank,
            "moe_expert_num": self.experts,
            "global_bs": self.global_bs,
        }


def _call(operator: Any, tensors: Mapping[str, object], place: _Place, options: Mapping[str, object]) -> Any:
    """Call the operator. What is of a wrong type is refused by it too, so that the other ranks hear of it.

    torch itself turns such an argument away before the operator sees it, and the other ranks would wait for this one.
    """
    given = {name: _ids(value) if name == "expert_ids" else value for name, value in tensors.items()}
    keywords = {**place.keywords(), **options}
    types = _types(operator)
    wrong = _wrong(operator.__name__, types, {**given, **keywords})
    if not wrong:
        return operator(*given.values(), place.name, **keywords)
    keywords = {
        name: _illegal(types[name]) if name in wrong else value for name, value in keywords.items() if name in types
    }
    refused = [_REFUSED if name in wrong else value for name, value in given.items()]
    if not set(wrong) & set(types):
        refused[0] = _REFUSED  # there is no such argument
    try:
        operator(*refused, place.name, **keywords)
    except ArgumentError as refusal:
        raise ArgumentError(
            f"{operator.__name__}, rank {place.rank}: {'; '.join(wrong.values())}",
            rank=refusal.rank,
            root=refusal.rank,
            operation=operator.__name__,
        ) from refusal
    raise AssertionError(f"{operator.__name__} took a tensor of {_REFUSED.dtype}")


@functools.cache
def _types(operator: Any) -> dict[str, str]:
    """The types of an operator's arguments by name, read off its schema once: calls are many."""
    return {argument.name: str(argument.type) for argument in operator.default._schema.arguments}


def _wrong(operator: str, types: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    """What is of another type than the operator's schema says, and why, by name."""
    found = {}
    for name, value in values.items():
        if name not in types:
            found[name] = f"{name} is no argument of {operator}"
        elif not _fits(types[name], value):
            found[name] = f"{name} = {reprlib.repr(value)} is {_not_of(types[name], value)}"
    return found


def _illegal(kind: str) -> object:
    """A value of the type that every argument of it refuses by name."""
    return _REFUSED if "Tensor" in kind else 128 * "?" if "str" in kind else -(1 << 62)


def _fits(kind: str, value: object) -> bool:
    if value is None:
        return kind.startswith("Optional")
    if "Tensor" in kind:
        return _is_plain(value)
    if "str" in kind:
        return isinstance(value, str)
    if isinstance(value, torch.dtype):
        return kind.startswith("Optional")
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _not_of(kind: str, value: object) -> str:
    if isinstance(value, Tensor) and "Tensor" in kind:
        return "no tensor with strides; pass a dense one"
    if "Tensor" in kind:
        return "no tensor; pass a torch.Tensor"
    return "no string; pass a str" if "str" in kind else "no number of 64 bits; pass an int"


def _is_plain(value: object) -> bool:
    """A tensor whose elements lie in memory by strides."""
    return isinstance(value, Tensor) and value.layout is torch.strided and not value.is_nested


def _is_mask(mask: object) -> bool:
    """A tensor without dimensions or elements stands for none, as for the operator."""
    return not isinstance(mask, Tensor) or (mask.dim() > 0 and mask.numel() > 0) if mask is not None else False


def _place(
    group_ep: Communicator | str,
    world: int | None,
    rank: int | None,
    experts: int | None,
    global_bs: int | None,
    is_masked: bool,
) -> _Place:
    """The place of a call. Values given are passed on, right or wrong. A mask goes with batches of one size only."""
    if isinstance(group_ep, Communicator):
        group_ep.check()
        world = group_ep.num_ranks if world is None else world
        if global_bs is None:
            global_bs = 0 if is_masked else group_ep.max_tokens * group_ep.num_ranks
        return _Place(
            group_ep.name,
            world,
            group_ep.rank if rank is None else rank,
            group_ep.num_experts if experts is None else experts,
            global_bs,
        )
    if not isinstance(group_ep, str):
        raise ArgumentError(
            f"group_ep = {group_ep!r} is a {type(group_ep).__name__}: pass a Communicator, or its name as a string"
        )
    if world is None or rank is None or experts is None:
        raise TypeError("ep_world_size, ep_rank_id and moe_expert_num are needed where group_ep is a name")
    return _Place(group_ep, world, rank, experts, global_bs or 0)


def _given(options: Mapping[str, object]) -> dict[str, object]:
    """Options without those that are None, which stands for the operator's default."""
    return {name: value for name, value in options.items() if value is not None}


def _ids(expert_ids: object) -> object:
    """int64 ids as int32. Those beyond 32 bits become the nearest int32, which no communicator has as an expert."""
    if not isinstance(expert_ids, Tensor) or expert_ids.dtype != torch.int64:
        return expert_ids
    return expert_ids.clamp(_INT32.min, _INT32.max).to(torch.int32)
