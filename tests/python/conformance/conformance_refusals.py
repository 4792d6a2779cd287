# SPDX-License-Identifier: Apache-2.0
"""The refusals as a table: a call, what one rank changes in it, and what the errors must say. Layer: tests.

The legal call: 4 ranks, 6 tokens each of at most 8, hidden 128, top-k 3 of at most 6, 16 experts; global_bs 32.
`{offender}` and `{next}` in a text stand for the rank that makes the call and the one after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

NUM_RANKS, TOKENS, MAX_TOKENS, HIDDEN, TOPK, MAX_TOPK, EXPERTS = 4, 6, 8, 128, 3, 6, 16
GLOBAL_BS = NUM_RANKS * MAX_TOKENS

Arguments = dict[str, Any]
Change = Callable[[Arguments], Any]


@dataclass(frozen=True)
class Case:
    """`change` alters the arguments of the offender's call, as a dict by name."""

    name: str
    change: Change
    texts: tuple[str, ...]
    error: str = "ArgumentError"


def replace(**values: Any) -> Change:
    """Give these arguments these values; a function gets the old value."""

    def change(arguments: Arguments) -> None:
        for name, value in values.items():
            arguments[name] = value(arguments.get(name)) if callable(value) else value

    return change


def entry(name: str, index: Any, value: int) -> Change:
    """Change one element of a tensor argument."""

    def change(arguments: Arguments) -> None:
        tensor = arguments[name].clone()
        tensor[index] = value
        arguments[name] = tensor

    return change


def batch(tokens: int, hidden: int = HIDDEN, topk: int = TOPK) -> Change:
    """A dispatch of other sizes."""

    def change(arguments: Arguments) -> None:
        arguments["x"] = torch.zeros(tokens, hidden, dtype=torch.bfloat16)
        arguments["expert_ids"] = torch.arange(topk, dtype=torch.int32).expand(tokens, topk).contiguous()

    return change


def few_experts(arguments: Arguments) -> None:
    batch(TOKENS, topk=5)(arguments)
    arguments["moe_expert_num"] = 4


def next_rank(rank: int) -> int:
    return (rank + 1) % NUM_RANKS


def floats(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float32)


# What both operators refuse alike: the attributes.
_COMMON = (
    Case("ep_world_size", replace(ep_world_size=5), ("ep_world_size = 5", "must be 4")),
    Case("ep_rank_id", replace(ep_rank_id=next_rank), ("ep_rank_id = {next}", "must be {offender}")),
    Case("experts_not_divisible", replace(moe_expert_num=10), ("moe_expert_num = 10 is not a multiple of 4",)),
    Case("too_many_experts", replace(moe_expert_num=20), ("moe_expert_num = 20", "16")),
    Case("no_experts", replace(moe_expert_num=0), ("moe_expert_num = 0", "[1, 16]")),
    Case("global_bs_too_small", replace(global_bs=23), ("global_bs = 23", "24")),
    Case("global_bs_not_a_multiple", replace(global_bs=26), ("global_bs = 26 is not a multiple of 4",)),
    Case("global_bs_too_large", replace(global_bs=36), ("global_bs = 36", "32")),
    Case("global_bs_negative", replace(global_bs=-4), ("global_bs = -4",)),
    Case("tp_world_size", replace(tp_world_size=2), ("tp_world_size = 2", "[0, 1]")),
    Case("tp_rank_id", replace(tp_rank_id=1), ("tp_rank_id = 1", "[0, 0]")),
    Case("group_tp", replace(group_tp=128 * "t"), ("group_tp = 128", "[0, 127]")),
    Case("expert_shard_type", replace(expert_shard_type=1), ("expert_shard_type = 1", "[0, 0]")),
    Case("shared_expert_num", replace(shared_expert_num=5), ("shared_expert_num = 5", "[0, 4]")),
    Case("shared_expert_rank_num", replace(shared_expert_rank_num=4), ("shared_expert_rank_num = 4", "[0, 3]")),
    Case("zero_expert_num", replace(zero_expert_num=-1), ("zero_expert_num = -1",)),
    Case("unknown_comm_alg", replace(comm_alg="ring"), ('comm_alg = "ring"', "fullmesh_v2", "fullmesh_dedup")),
    Case("comm_alg_hierarchy", replace(comm_alg="hierarchy"), ('comm_alg = "hierarchy"', "one full mesh")),
    Case("comm_alg_ccu", replace(comm_alg="ccu"), ('comm_alg = "ccu"', "fullmesh_v2")),
    Case("id_too_large", entry("expert_ids", (2, 1), 16), ("expert_ids[2, 1] = 16", "[-1, 15]")),
    Case("id_below_none", entry("expert_ids", (5, 0), -2), ("expert_ids[5, 0] = -2", "[-1, 15]")),
    Case("ids_int64", replace(expert_ids=Tensor.long), ("expert_ids is int64", "int32")),
    Case("ids_one_dimension", replace(expert_ids=Tensor.flatten), ("expert_ids has 1 dimensions", "2")),
)
_LATER = "NotImplementedError"
_COMMON_LATER = (
    Case("elastic_info", replace(elastic_info=torch.zeros(12, dtype=torch.int32)), ("elastic_info",), _LATER),
    Case("zero_experts", replace(zero_expert_num=1), ("zero_expert_num = 1",), _LATER),
)
# Room that this communicator was not made with.
_NO_ROOM = (
    Case("shared_ranks", replace(shared_expert_rank_num=1, moe_expert_num=12), ("shared_expert_num = 1", "[0, 0]")),
)

DISPATCH = (
    *_COMMON,
    Case("x_dtype", replace(x=Tensor.float), ("x is float32", "bfloat16 or float16")),
    Case("x_one_dimension", replace(x=Tensor.flatten), ("x has 1 dimensions", "2")),
    Case("x_device", replace(x=lambda x: x.to("meta")), ("x is not on the communicator's device",)),
    Case("ids_device", replace(expert_ids=lambda ids: ids.to("meta")), ("expert_ids is not on the", "device")),
    Case("x_requires_grad", replace(x=lambda x: x.clone().requires_grad_()), ("x requires grad", "x.detach()")),
    Case("ids_rows", replace(expert_ids=lambda ids: ids[:5]), ("expert_ids.shape[0] = 5", "6")),
    Case("hidden_not_a_multiple", batch(TOKENS, hidden=120), ("hidden (x.shape[1]) = 120", "16")),
    Case("hidden_too_large", batch(TOKENS, hidden=144), ("hidden (x.shape[1]) = 144", "[64, 128]")),
    Case("hidden_too_small", batch(TOKENS, hidden=48), ("hidden (x.shape[1]) = 48", "[64, 128]")),
    Case("too_many_tokens", batch(9), ("num_tokens (x.shape[0]) = 9", "[0, 8]")),
    Case("topk_too_large", batch(TOKENS, topk=7), ("num_topk (expert_ids.shape[1]) = 7", "[1, 6]")),
    Case("topk_above_experts", few_experts, ("num_topk (expert_ids.shape[1]) = 5", "[1, 4]")),
    Case("twice_in_a_row", entry("expert_ids", slice(4, 5), 3), ("expert_ids[4, 1] = 3 stands twice",)),
    Case("token_nums_type", replace(expert_token_nums_type=2), ("expert_token_nums_type = 2", "0", "1")),
    Case("quant_mode", replace(quant_mode=9), ("quant_mode = 9", "0, 1, 2, 3, 4, 5")),
    *_COMMON_LATER,
    *_NO_ROOM,
    Case("copies_per_expert", replace(comm_alg="fullmesh_v1"), ("per_expert_copies=True",)),
    Case("scales_without_mode", replace(scales=floats(EXPERTS, HIDDEN)), ("scales is given", "quant_mode = 0")),
    Case("scales_missing", replace(quant_mode=1), ("scales is missing", "quant_mode = 1")),
    Case("y_dtype", replace(y_dtype=1), ("y_dtype is int8", "the dtype of x", "quant_mode = 0")),
    Case("quant_mode_later", replace(quant_mode=5), ("quant_mode = 5",), _LATER),
)


def short(name: str) -> Change:
    return replace(**{name: lambda tensor: tensor[: tensor.shape[0] // 2]})


COMBINE = (
    *_COMMON,
    Case("expand_x_dtype", replace(expand_x=Tensor.float), ("expand_x is float32", "bfloat16 or float16")),
    Case("expand_x_device", replace(expand_x=lambda x: x.to("meta")), ("expand_x is not on the", "device")),
    Case("expand_x_too_short", short("expand_x"), ("expand_x.shape[0] = 48", "96")),
    Case("expand_x_hidden", replace(expand_x=lambda x: x[:, :120]), ("hidden (expand_x.shape[1]) = 120", "16")),
    Case("triples_dtype", replace(assist_info_for_combine=Tensor.long), ("assist_info_for_combine is int64", "int32")),
    Case("triples_too_short", short("assist_info_for_combine"), ("assist_info_for_combine.shape[0] = 6144", "12288")),
    Case(
        "triples_foreign", replace(assist_info_for_combine=torch.zeros_like), ("assist_info_for_combine is not from",)
    ),
    Case("triple_source", entry("assist_info_for_combine", 0, 4), ("assist_info_for_combine row 0", "source rank 4")),
    Case("triple_token", entry("assist_info_for_combine", 1, 99), ("assist_info_for_combine row 0", "token 99", "7")),
    Case("triple_column", entry("assist_info_for_combine", 2, 5), ("assist_info_for_combine row 0", "column 5", "2")),
    Case("counts_dtype", replace(ep_send_counts=Tensor.long), ("ep_send_counts is int64", "int32")),
    Case("counts_too_short", short("ep_send_counts"), ("ep_send_counts.shape[0] = 8", "16")),
    Case("counts_negative", entry("ep_send_counts", 0, -1), ("ep_send_counts[0] = -1",)),
    Case("counts_total", entry("ep_send_counts", -1, 99), ("ep_send_counts[15] = 99",)),
    Case("counts_fall", entry("ep_send_counts", 3, 1 << 20), ("ep_send_counts[3] = 1048576",)),
    Case("scales_dtype", replace(expert_scales=Tensor.double), ("expert_scales is float64", "float32")),
    Case("scales_rows", replace(expert_scales=floats(5, TOPK)), ("expert_scales.shape[0] = 5", "6")),
    Case("scales_columns", replace(expert_scales=floats(TOKENS, 2)), ("expert_scales.shape[1] = 2", "3")),
    Case("scales_grad", replace(expert_scales=lambda s: s.clone().requires_grad_()), ("expert_scales requires grad",)),
    Case("comm_quant_mode", replace(comm_quant_mode=1), ("comm_quant_mode = 1", "0, 2, 3, 4")),
    *_COMMON_LATER,
    *_NO_ROOM,
    Case("comm_quant_later", replace(comm_quant_mode=3), ("comm_quant_mode = 3",), _LATER),
    Case(
        "shared_expert_x",
        replace(shared_expert_x=torch.zeros(TOKENS, 64, dtype=torch.bfloat16)),
        ("shared_expert_x.shape[1] = 64", "128"),
    ),
)

BY_NAME = {("dispatch", case.name): case for case in DISPATCH} | {("combine", case.name): case for case in COMBINE}
assert len(BY_NAME) == len(DISPATCH) + len(COMBINE)
