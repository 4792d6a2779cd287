# SPDX-License-Identifier: Apache-2.0
"""What both operators refuse alike: attributes, ids, masks, batches. Layer: build.

The legal call: 4 ranks, 6 tokens each of at most 8, hidden 128, top-k 3 of at most 6, 8 experts, global_bs 32. The
refused one is that of rank 1 unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tools.gen_conformance.build import Group

LIMITS = {"max_tokens": 8, "num_topk": 6}
BASE: dict[str, Any] = {
    "ranks": 4,
    "tokens": 6,
    "hidden": 128,
    "topk": 3,
    "experts": 8,
    "global_bs": 32,
    "limits": LIMITS,
}
ALONE = {"others": ""}

Entry = tuple[str, str, str, Mapping[str, Any], tuple[str, ...]]


def tensor(dtype: str, *shape: int, fill: float = 0) -> dict[str, Any]:
    """A new tensor."""
    return {"shape": list(shape), "dtype": dtype, "fill": fill}


def shared(num: int, ranks: int) -> dict[str, Any]:
    """The two attributes of shared experts."""
    return {"shared_expert_num": num, "shared_expert_rank_num": ranks}


def attributes() -> Iterator[Entry]:
    """(name, row of dispatch, row of combine, change, words): those that need no tensor."""
    yield "alg-unknown", "D4", "C2", {"comm_alg": "ring"}, ('comm_alg = "ring"', "fullmesh_v2", "fullmesh_dedup")
    yield (
        "alg-hierarchy",
        "D4",
        "C2",
        {"comm_alg": "hierarchy"},
        ('comm_alg = "hierarchy"', "one full mesh", "fullmesh_v1"),
    )
    yield "alg-ccu", "D4", "C2", {"comm_alg": "ccu"}, ('comm_alg = "ccu"', "does not drive", "fullmesh_v2")
    ccu = {"comm_alg": "ccu", "performance_info": tensor("int64", 4)}
    yield "ccu-performance", "D3", "C1", ccu, ('comm_alg = "ccu"', "does not drive")
    yield "world-5", "D5", "C4", {"ep_world_size": 5}, ("ep_world_size = 5", "must be 4")
    yield "world-0", "D5", "C4", {"ep_world_size": 0}, ("ep_world_size = 0", "must be 4")
    yield "rank-4", "D5", "C4", {"ep_rank_id": 4}, ("ep_rank_id = 4", "must be 1")
    yield "rank--1", "D5", "C4", {"ep_rank_id": -1}, ("ep_rank_id = -1", "must be 1")
    yield "rank-0", "D5", "C4", {"ep_rank_id": 0}, ("ep_rank_id = 0", "must be 1")
    yield "tp-2", "D6", "C4", {"tp_world_size": 2}, ("tp_world_size = 2", r"\[0, 1\]")
    yield "tp--1", "D6", "C4", {"tp_world_size": -1}, ("tp_world_size = -1", r"\[0, 1\]")
    yield "tp-rank", "D6", "C4", {"tp_rank_id": 1}, ("tp_rank_id = 1", r"\[0, 0\]")
    yield "shard", "D7", "C4", {"expert_shard_type": 1}, ("expert_shard_type = 1", r"\[0, 0\]")
    yield "zero--1", "D8", "C4", {"zero_expert_num": -1}, ("zero_expert_num = -1", "0")
    yield "copy--1", "D8", "C4", {"copy_expert_num": -1}, ("copy_expert_num = -1", "0")
    yield "const--1", "D8", "C4", {"const_expert_num": -1}, ("const_expert_num = -1", "0")
    yield "zero-many", "D8", "C4", {"zero_expert_num": 0xFFFFFFFF}, ("zero_expert_num = 4294967295", "2147483639")
    many = {"zero_expert_num": 2**30, "copy_expert_num": 2**30}
    yield "special-sum", "D8", "C4", many, ("copy_expert_num = 1073741824", "1073741815")
    yield "shared-5", "D9", "C4", shared(5, 1), ("shared_expert_num = 5", r"\[0, 4\]")
    yield "shared--1", "D9", "C4", shared(-1, 0), ("shared_expert_num = -1", r"\[0, 4\]")
    yield "shared-ranks-4", "D9", "C4", shared(1, 4), ("shared_expert_rank_num = 4", r"\[0, 3\]")
    yield "shared-ranks--1", "D9", "C4", shared(1, -1), ("shared_expert_rank_num = -1", r"\[0, 3\]")
    yield "shared-0-1", "D10", "C4", shared(0, 1), ("shared_expert_num = 0", "below 1")
    yield "shared-2-0", "D10", "C4", shared(2, 0), ("shared_expert_rank_num = 0", "below 2")
    yield "shared-3-2", "D10", "C4", shared(3, 2), ("shared_expert_rank_num = 2", "below 3")
    yield "shared-2-3", "D10", "C4", shared(2, 3), ("shared_expert_rank_num = 3", "not a multiple of 2")
    yield "experts-0", "D11", "C4", {"moe_expert_num": 0}, ("moe_expert_num = 0", r"\[1, 8\]")
    yield "experts-1028", "D11", "C4", {"moe_expert_num": 1028}, ("moe_expert_num = 1028", r"\[1, 8\]")
    yield "experts-6", "D11", "C4", {"moe_expert_num": 6}, ("moe_expert_num = 6", "not a multiple of 4")
    yield "group-tp-128", "D2", "C1", {"group_tp": 128 * "t"}, ("group_tp = 128", r"\[0, 127\]")
    yield "global-bs-small", "D18", "C10", {"global_bs": 23}, ("global_bs = 23", "24")
    yield "global-bs-odd", "D18", "C10", {"global_bs": 26}, ("global_bs = 26", "not a multiple of 4")
    yield "global-bs--4", "D18", "C10", {"global_bs": -4}, ("global_bs = -4", "24")
    yield "global-bs-large", "D18", "C10", {"global_bs": 36}, ("global_bs = 36", "32")


def tensors() -> Iterator[Entry]:
    """The same for masks, ids and what else both take."""
    yield (
        "mask-3-dims",
        "D14",
        "C8",
        {"x_active_mask": tensor("bool", 6, 3, 1)},
        ("x_active_mask has 3 dimensions", "1 or 2"),
    )
    yield "mask-dtype", "D23", "C8", {"x_active_mask": tensor("uint8", 6)}, ("x_active_mask is uint8", "bool")
    mask = {"x_active_mask": tensor("bool", 5), "global_bs": 24}
    yield "mask-rows", "D17", "C8", mask, (r"x_active_mask.shape\[0\] = 5", "6")
    mask = {"x_active_mask": tensor("bool", 6, 2), "global_bs": 24}
    yield "mask-columns", "D17", "C8", mask, (r"x_active_mask.shape\[1\] = 2", "3")
    mask = {"x_active_mask": tensor("bool", 6, fill=1)}
    yield "mask-batches", "D17", "C10", mask, ("global_bs = 32", "above 24", "x_active_mask")
    yield (
        "performance-dims",
        "D14",
        "C8",
        {"performance_info": tensor("int64", 2, 2)},
        ("performance_info has 2 dimensions", "1"),
    )
    yield (
        "performance-dtype",
        "D23",
        "C8",
        {"performance_info": tensor("int32", 4)},
        ("performance_info is int32", "int64"),
    )
    yield (
        "performance-size",
        "D27",
        "C8",
        {"performance_info": tensor("int64", 5)},
        (r"performance_info.shape\[0\] = 5", "4"),
    )
    yield "elastic-dims", "D14", "C8", {"elastic_info": tensor("int32", 3, 4)}, ("elastic_info has 2 dimensions", "1")
    yield "elastic-dtype", "D23", "C8", {"elastic_info": tensor("int64", 12)}, ("elastic_info is int64", "int32")
    yield "elastic-size", "D27", "C8", {"elastic_info": tensor("int32", 11)}, (r"elastic_info.shape\[0\] = 11", "12")
    yield "ids-dims", "D14", "C5", {"expert_ids": {"dims": 1}}, ("expert_ids has 1 dimensions", "2")
    yield "ids-dtype", "D23", "C5", {"expert_ids": {"dtype": "int64"}}, ("expert_ids is int64", "int32")
    yield (
        "ids-device",
        "own",
        "own",
        {"expert_ids": {"device": "meta"}},
        ("expert_ids is not on the communicator's device",),
    )
    yield "id-8", "own", "own", {"expert_ids": {"at": [2, 1, 8]}}, (r"expert_ids\[2, 1\] = 8", r"\[-1, 7\]")
    yield "id--2", "own", "own", {"expert_ids": {"at": [5, 0, -2]}}, (r"expert_ids\[5, 0\] = -2", r"\[-1, 7\]")
    yield "group-unknown", "D1", "C1", {"group_ep": "nobody"}, ("group_ep 'nobody'", "names no communicator")
    yield "group-empty", "D1", "C1", {"group_ep": ""}, ("group_ep ''", "names no communicator")
    yield "group-128", "D2", "C1", {"group_ep": 128 * "g"}, ("group_ep", "g{20}", "names no communicator")


def add_common(group: Group, operator: str) -> None:
    """All of them for one operator."""
    for name, dispatch_row, combine_row, change, words in (*attributes(), *tensors()):
        row = dispatch_row if operator == "dispatch" else combine_row
        how = ALONE if "group_ep" in change else {}
        group.refuse(name, (row, operator), change, words, how=how)
    row = "D11" if operator == "dispatch" else "C4"
    room: dict[str, Any] = {"limits": {**LIMITS, "shared_expert_num": 1}}
    words = ("moe_expert_num = 8", "not a multiple of 3")
    group.refuse("experts-shared", (row, operator), {**shared(1, 1), "moe_expert_num": 8}, words, **room)
    sizes: dict[str, Any] = {"ranks": 4, "tokens": 2, "hidden": 64, "topk": 1, "experts": 256, "global_bs": 0}
    sizes["limits"] = {"num_experts": 1024, "shared_expert_num": 1}
    words = ("moe_expert_num = 1024", "512|2048")
    group.refuse(
        "blocks-4096", (row, operator), {**shared(1, 3), "moe_expert_num": 1024}, words, how={"who": 3}, **sizes
    )
