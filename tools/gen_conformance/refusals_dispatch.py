# SPDX-License-Identifier: Apache-2.0
"""What dispatch refuses. Layer: build. The legal call is that of `refusals`."""

from __future__ import annotations

from typing import Any

from tools.gen_conformance.build import Group
from tools.gen_conformance.refusals import ALONE, BASE, add_common, tensor

_DISPATCH = "dispatch"


def dispatch_refusals() -> Group:
    """Rows D1 to D30."""
    group = Group("dispatch", BASE)
    add_common(group, _DISPATCH)
    _tensors(group)
    _sizes(group)
    _quant(group)
    _inference(group)
    _between_ranks(group)
    return group


def _tensors(group: Group) -> None:
    def refuse(name: str, row: str, change: dict[str, Any], *words: str) -> None:
        group.refuse(name, (row, _DISPATCH), change, words)

    group.refuse("x-none", ("D1", _DISPATCH), {"x": None}, ("x",))
    group.refuse("ids-none", ("D1", _DISPATCH), {"expert_ids": None}, ("expert_ids",))
    refuse("x-1-dim", "D14", {"x": {"dims": 1}}, "x has 1 dimensions", "2")
    refuse("x-3-dims", "D14", {"x": {"dims": 3}}, "x has 3 dimensions", "2")
    refuse("x-float32", "D21", {"x": {"dtype": "float32"}}, "x is float32", "bfloat16", "float16")
    refuse("x-int32", "D21", {"x": {"dtype": "int32"}}, "x is int32", "bfloat16", "float16")
    refuse("x-device", "own", {"x": {"device": "meta"}}, "x is not on the communicator's device")
    refuse("x-grad", "own", {"x": {"grad": True}}, "x requires grad", "detach")
    refuse("nums-type-2", "D7", {"expert_token_nums_type": 2}, "expert_token_nums_type = 2", "0", "1")
    refuse("nums-type--1", "D7", {"expert_token_nums_type": -1}, "expert_token_nums_type = -1", "0", "1")
    refuse("quant-6", "D7", {"quant_mode": 6}, "quant_mode = 6", "0, 1, 2, 3, 4, 5")
    refuse("quant--1", "D7", {"quant_mode": -1}, "quant_mode = -1", "0, 1, 2, 3, 4, 5")
    same = {"expert_ids": tensor("int32", 6, 3, fill=2)}
    refuse("twice", "own", same, r"expert_ids\[0, 1\] = 2", "twice")
    refuse("weights-rows", "D28", {"expert_scales": tensor("float32", 5, 3)}, r"expert_scales.shape\[0\] = 5", "6")
    refuse("weights-columns", "D28", {"expert_scales": tensor("float32", 6, 2)}, r"expert_scales.shape\[1\] = 2", "3")
    refuse("weights-dims", "D28", {"expert_scales": tensor("float32", 18)}, "expert_scales has 1 dimensions", "2")
    refuse("weights-dtype", "D23", {"expert_scales": tensor("float16", 6, 3)}, "expert_scales is float16", "float32")


def _batch(tokens: int, hidden: int = 128, topk: int = 3) -> dict[str, Any]:
    return {"x": tensor("bfloat16", tokens, hidden), "expert_ids": tensor("int32", tokens, topk, fill=-1)}


def _sizes(group: Group) -> None:
    def refuse(name: str, row: str, change: dict[str, Any], *words: str) -> None:
        group.refuse(name, (row, _DISPATCH), change, words)

    refuse("tokens-9", "D15", _batch(9), r"num_tokens \(x.shape\[0\]\) = 9", r"\[0, 8\]")
    refuse("hidden-120", "D15", _batch(6, 120), r"hidden \(x.shape\[1\]\) = 120", "16")
    refuse("hidden-48", "D15", _batch(6, 48), r"hidden \(x.shape\[1\]\) = 48", r"\[64, 128\]")
    refuse("hidden-144", "D15", _batch(6, 144), r"hidden \(x.shape\[1\]\) = 144", r"\[64, 128\]")
    refuse("ids-rows", "D16", {"expert_ids": {"rows": 5}}, r"expert_ids.shape\[0\] = 5", "6")
    refuse("topk-0", "D16", _batch(6, topk=0), r"num_topk \(expert_ids.shape\[1\]\) = 0", r"\[1, 6\]")
    refuse("topk-17", "D16", _batch(6, topk=17), r"num_topk \(expert_ids.shape\[1\]\) = 17", r"\[1, 6\]")
    few = {**_batch(6, topk=5), "moe_expert_num": 4}
    refuse("topk-experts", "D16", few, r"num_topk \(expert_ids.shape\[1\]\) = 5", r"\[1, 4\]")


def _quant(group: Group) -> None:
    def refuse(name: str, row: str, change: dict[str, Any], *words: str, **call: Any) -> None:
        group.refuse(name, (row, _DISPATCH), change, words, **call)

    smooth = tensor("float32", 8, 128, fill=1)
    e4m3 = {"x": tensor("float8_e4m3fn", 6, 128)}
    rows = tensor("float32", 6, 4, fill=1)
    refuse("static-without", "D19", {"quant_mode": 1}, "scales", "quant_mode")
    refuse("mx-with", "D19", {"quant_mode": 4, "y_dtype": 24, "scales": smooth}, "scales", "quant_mode")
    refuse("pass-half-with", "D19", {"scales": rows}, "scales", "quant_mode")
    refuse("pass-fp8-without", "D19", e4m3, "scales", "quant_mode")
    refuse("static-1-dim", "D20", {"quant_mode": 1, "scales": tensor("float32", 64)}, r"scales.shape\[0\] = 64", "128")
    refuse(
        "static-2-dims", "D20", {"quant_mode": 1, "scales": tensor("float32", 7, 128)}, r"scales.shape\[0\] = 7", "8"
    )
    refuse(
        "static-columns", "D20", {"quant_mode": 1, "scales": tensor("float32", 8, 64)}, r"scales.shape\[1\] = 64", "128"
    )
    refuse("token-1-dim", "D14", {"quant_mode": 2, "scales": tensor("float32", 128)}, "scales has 1 dimensions", "2")
    refuse(
        "scales-3-dims",
        "D14",
        {"quant_mode": 2, "scales": tensor("float32", 8, 128, 1)},
        "scales has 3 dimensions",
        "2",
    )
    refuse("token-rows", "D20", {"quant_mode": 2, "scales": tensor("float32", 9, 128)}, r"scales.shape\[0\] = 9", "8")
    refuse(
        "token-columns",
        "D20",
        {"quant_mode": 2, "scales": tensor("float32", 8, 112)},
        r"scales.shape\[1\] = 112",
        "128",
    )
    group_rows = {"quant_mode": 3, "y_dtype": 24, "scales": tensor("float32", 6, 128)}
    refuse("group-rows", "D20", group_rows, r"scales.shape\[0\] = 6", "8")
    refuse("pass-rows", "D20", {**e4m3, "scales": tensor("float32", 5, 4)}, r"scales.shape\[0\] = 5", "6")
    refuse("pass-columns", "D20", {**e4m3, "scales": tensor("float32", 6, 129)}, r"scales.shape\[1\] = 129", "outside")
    refuse("pass-1-dim", "D14", {**e4m3, "scales": tensor("float32", 6)}, "scales has 1 dimensions", "2")
    add = {"shared_expert_num": 1, "shared_expert_rank_num": 1, "moe_expert_num": 6, "quant_mode": 2}
    shared = {"limits": {"max_tokens": 8, "num_topk": 6, "shared_expert_num": 1, "num_experts": 8}}
    few = {**add, "scales": tensor("float32", 6, 128)}
    refuse("shared-rows", "D20", few, r"scales.shape\[0\] = 6", "7", **shared)
    for mode in (1, 2, 3, 4):
        change: dict[str, Any] = {**e4m3, "quant_mode": mode, "scales": smooth if mode == 1 else None}
        change = {key: value for key, value in change.items() if value is not None} | (
            {"y_dtype": 24} if mode > 2 else {}
        )
        refuse(f"fp8-mode-{mode}", "D21", change, "x is float8_e4m3fn", "bfloat16")
    refuse("y-pass", "D21", {"y_dtype": 24}, "y_dtype", "quant_mode")
    refuse("y-static", "D21", {"quant_mode": 1, "y_dtype": 24, "scales": tensor("float32", 1)}, "y_dtype", "quant_mode")
    refuse("y-token", "D21", {"quant_mode": 2, "y_dtype": 15}, "y_dtype", "quant_mode")
    refuse("y-group", "D21", {"quant_mode": 3, "y_dtype": 1}, "y_dtype", "quant_mode")
    refuse("y-mx", "D21", {"quant_mode": 4, "y_dtype": 1}, "y_dtype", "quant_mode")
    refuse("y-unknown", "D21", {"quant_mode": 2, "y_dtype": 99}, "y_dtype = 99", "quant_mode|int8")
    refuse("x-dtype-differs", "D21", {"x_dtype": 24}, "x_dtype", "bfloat16|x is")
    static = {"quant_mode": 1, "scales": tensor("bfloat16", 128)}
    refuse("static-dtype", "D22", static, "scales is bfloat16", "float32")
    token = {"quant_mode": 2, "scales": tensor("float8_e8m0fnu", 8, 128, fill=127)}
    refuse("token-dtype", "D22", token, "scales is float8_e8m0fnu", "float32")
    refuse("pass-dtype", "D22", {**e4m3, "scales": tensor("float16", 6, 4)}, "scales is float16", "float32")
    refuse("pass-int32", "D22", {**e4m3, "scales": tensor("int32", 6, 4)}, "scales is int32", "float32")
    number = {**e4m3, "scales": rows, "scales_dtype": 24}
    refuse("scales-dtype-number", "D22", number, "scales_dtype", "float32")
    smoothed = {"quant_mode": 2, "scales": smooth}
    refuse("alg-no-room", "own", {"comm_alg": "fullmesh_v1"}, "comm_alg", "per_expert_copies")
    refuse("smooth-no-room", "own", smoothed, "scales", "per_expert_copies")


def _inference(group: Group) -> None:
    def refuse(name: str, change: dict[str, Any], *words: str) -> None:
        group.refuse(f"meta-{name}", ("D30", "meta-dispatch"), change, words, how=ALONE)

    refuse("rank-4", {"ep_rank_id": 4}, "ep_rank_id = 4")
    refuse("rank--1", {"ep_rank_id": -1}, "ep_rank_id = -1")
    refuse("shared-ranks-4", {"shared_expert_rank_num": 4}, "shared_expert_rank_num = 4", r"\[0, 3\]")
    refuse("shared-0-1", {"shared_expert_num": 0, "shared_expert_rank_num": 1}, "shared_expert_num = 0")
    refuse("shared-2-3", {"shared_expert_num": 2, "shared_expert_rank_num": 3}, "shared_expert_rank_num = 3", "2")
    refuse("world-0", {"ep_world_size": 0}, "ep_world_size = 0")
    refuse("topk-0", {"expert_ids": tensor("int32", 6, 0)}, "num_topk", "0")
    refuse("hidden-0", {"x": tensor("bfloat16", 6, 0)}, "hidden", "0")
    refuse("y-pass", {"y_dtype": 24}, "y_dtype", "quant_mode")
    refuse("y-token", {"quant_mode": 2, "y_dtype": 15}, "y_dtype", "quant_mode")
    refuse("y-mx", {"quant_mode": 4, "y_dtype": 1}, "y_dtype", "quant_mode")
    words = ("global_bs = -4",)
    group.refuse("meta-global-bs", ("D18", "meta-dispatch"), {"global_bs": -4}, words, how=ALONE)
    experts = ("moe_expert_num = 6", "4")
    group.refuse("meta-combine-experts", ("C4", "meta-combine"), {"moe_expert_num": 6}, experts, how=ALONE)
    rows = (r"expand_x.shape\[0\] = 8", "64")
    group.refuse("meta-combine-rows", ("C9", "meta-combine"), {"expand_x": {"rows": 8}}, rows, how=ALONE)


def _between_ranks(group: Group) -> None:
    """Calls that are legal and differ; illegal ones of every rank, and of a rank with a shared expert."""

    def differs(name: str, row: str, change: dict[str, Any], *words: str, **call: Any) -> None:
        group.refuse(
            f"{name}-differs", (row, _DISPATCH), change, (*words, "all ranks"), how={"error": "Mismatch"}, **call
        )

    differs("global-bs", "D18", {"global_bs": 28}, "largest batch", "pass the same global_bs")
    differs("topk", "own", _batch(6, topk=2), "num_topk")
    differs("hidden", "own", _batch(6, 64), "hidden")
    differs("dtype", "own", {"x": tensor("float16", 6, 128)}, "the dtype of x is")
    differs(
        "scales", "own", {"scales": tensor("float32", 128)}, "scales are", "one per channel", quant=1, scales="scalar"
    )
    differs("experts", "own", {"moe_expert_num": 4, "expert_ids": tensor("int32", 6, 3, fill=-1)}, "moe_expert_num")
    differs("quant", "own", {"quant_mode": 2}, "quant")
    differs("y", "own", {"y_dtype": 24}, "output dtype", quant=2)
    differs("weights", "own", {"expert_scales": tensor("float32", 6, 3)}, "presence of expert_scales")
    room = {"max_tokens": 8, "num_topk": 6, "per_expert_copies": True}
    differs("alg", "own", {"comm_alg": ""}, "copy mode", comm_alg="fullmesh_v1", limits=room)
    all_ranks = {"who": -1}
    group.refuse("all-quant-6", ("D7", _DISPATCH), {"quant_mode": 6}, ("quant_mode = 6", "0, 1, 2"), how=all_ranks)
    words = (r"num_tokens \(x.shape\[0\]\) = 9", r"\[0, 8\]")
    group.refuse("all-tokens-9", ("D15", _DISPATCH), _batch(9), words, how=all_ranks)
    outside = (r"expert_ids\[2, 1\] = 8", r"\[-1, 7\]")
    group.refuse("all-id-8", ("own", _DISPATCH), {"expert_ids": {"at": [2, 1, 8]}}, outside, how=all_ranks)
    shared: dict[str, Any] = {"shared": [1, 1], "experts": 6, "limits": {"max_tokens": 8, "shared_expert_num": 1}}
    words = (r"expert_ids\[0, 0\] = 6", r"\[-1, 5\]")
    change = {"expert_ids": {"at": [0, 0, 6]}}
    group.refuse("shared-rank-id-6", ("own", _DISPATCH), change, words, how={"who": 0}, **shared)
    words = ("largest batch", "pass the same global_bs on all ranks")
    group.refuse(
        "shared-rank-batch", ("D18", _DISPATCH), {"global_bs": 24}, words, how={"who": 0, "error": "Mismatch"}, **shared
    )
