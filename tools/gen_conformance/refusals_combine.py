# SPDX-License-Identifier: Apache-2.0
"""What combine refuses. Layer: build. The legal call is that of `refusals`: 64 rows at most, in 64 x 128 words."""

from __future__ import annotations

from typing import Any

from tools.gen_conformance.build import Group
from tools.gen_conformance.refusals import BASE, add_common, tensor

_COMBINE = "combine"
_HALF = "bfloat16"


def combine_refusals() -> Group:
    """Rows C1 to C11."""
    group = Group("combine", BASE)
    add_common(group, _COMBINE)
    _tensors(group)
    _shared_x(group)
    _special(group)
    _values(group)
    return group


def _tensors(group: Group) -> None:
    def refuse(name: str, row: str, change: dict[str, Any], *words: str) -> None:
        group.refuse(name, (row, _COMBINE), change, words)

    triples, counts = "assist_info_for_combine", "ep_send_counts"
    for name in ("expand_x", "expert_ids", triples, counts, "expert_scales"):
        group.refuse(f"none-{name}", ("C1", _COMBINE), {name: None}, (name,))
    for mode in (1, 5, -1):
        refuse(f"comm-quant-{mode}", "C3", {"comm_quant_mode": mode}, f"comm_quant_mode = {mode}", "0, 2, 3, 4")
    refuse("rows-float32", "C5", {"expand_x": {"dtype": "float32"}}, "expand_x is float32", "bfloat16", "float16")
    refuse("rows-int32", "C5", {"expand_x": {"dtype": "int32"}}, "expand_x is int32", "bfloat16", "float16")
    refuse("rows-1-dim", "C5", {"expand_x": {"dims": 1}}, "expand_x has 1 dimensions", "2")
    refuse("triples-dims", "C5", {triples: {"dims": 3}}, f"{triples} has 2 dimensions", "1")
    refuse("triples-dtype", "C5", {triples: {"dtype": "int64"}}, f"{triples} is int64", "int32")
    refuse("counts-dims", "C5", {counts: {"dims": 3}}, f"{counts} has 2 dimensions", "1")
    refuse("counts-dtype", "C5", {counts: {"dtype": "int64"}}, f"{counts} is int64", "int32")
    refuse("weights-dims", "C5", {"expert_scales": {"dims": 1}}, "expert_scales has 1 dimensions", "2")
    refuse("weights-dtype", "C5", {"expert_scales": {"dtype": "float16"}}, "expert_scales is float16", "float32")
    refuse("weights-rows", "C5", {"expert_scales": {"rows": 5}}, r"expert_scales.shape\[0\] = 5", "6")
    refuse("weights-columns", "C5", {"expert_scales": {"columns": 2}}, r"expert_scales.shape\[1\] = 2", "3")
    refuse("rows-63", "C9", {"expand_x": {"rows": 63}}, r"expand_x.shape\[0\] = 63", "64")
    refuse("hidden-120", "C9", {"expand_x": {"columns": 120}}, r"hidden \(expand_x.shape\[1\]\) = 120", "16")
    refuse("hidden-48", "C9", {"expand_x": {"columns": 48}}, r"hidden \(expand_x.shape\[1\]\) = 48", r"\[64, 128\]")
    refuse("triples-8191", "C9", {triples: {"rows": 8191}}, rf"{triples}.shape\[0\] = 8191", "8192")
    refuse("counts-7", "C9", {counts: {"rows": 7}}, rf"{counts}.shape\[0\] = 7", "8")
    many = {"expert_ids": tensor("int32", 9, 3, fill=-1)}
    refuse("tokens-9", "C10", many, r"num_tokens \(expert_ids.shape\[0\]\) = 9", r"\[0, 8\]")
    wide = {"expert_ids": tensor("int32", 6, 17, fill=-1)}
    refuse("topk-17", "C10", wide, r"num_topk \(expert_ids.shape\[1\]\) = 17", r"\[1, 6\]")
    refuse(
        "topk-0", "C10", {"expert_ids": tensor("int32", 6, 0)}, r"num_topk \(expert_ids.shape\[1\]\) = 0", r"\[1, 6\]"
    )


def _shared_x(group: Group) -> None:
    def refuse(name: str, change: dict[str, Any], *words: str, **call: Any) -> None:
        group.refuse(f"shared-x-{name}", ("C6", _COMBINE), change, words, **call)

    given = {"shared_expert_x": tensor(_HALF, 6, 128)}
    ranks = {**given, "shared_expert_num": 1, "shared_expert_rank_num": 1, "moe_expert_num": 6}
    room = {"limits": {"max_tokens": 8, "num_topk": 6, "shared_expert_num": 1, "num_experts": 8}}
    refuse("ranks", ranks, "shared_expert_rank_num = 1", "0", **room)
    refuse("1-dim", {"shared_expert_x": tensor(_HALF, 768)}, "shared_expert_x has 1 dimensions", "2 or 3")
    refuse("4-dims", {"shared_expert_x": tensor(_HALF, 1, 2, 3, 128)}, "shared_expert_x has 4 dimensions", "2 or 3")
    refuse("dtype", {"shared_expert_x": tensor("float16", 6, 128)}, "shared_expert_x is float16", "bfloat16")
    refuse("float32", {"shared_expert_x": tensor("float32", 6, 128)}, "shared_expert_x is float32", "bfloat16")
    refuse("rows", {"shared_expert_x": tensor(_HALF, 5, 128)}, "shared_expert_x.*5", "6")
    refuse("columns", {"shared_expert_x": tensor(_HALF, 6, 64)}, "shared_expert_x.*64", "128")
    refuse("product", {"shared_expert_x": tensor(_HALF, 2, 4, 128)}, "shared_expert_x", "6")
    refuse("3-columns", {"shared_expert_x": tensor(_HALF, 2, 3, 64)}, "shared_expert_x.*64", "128")


def _special(group: Group) -> None:
    def refuse(name: str, change: dict[str, Any], *words: str) -> None:
        group.refuse(f"special-{name}", ("C7", _COMBINE), change, words)

    ori = {"ori_x": tensor(_HALF, 6, 128)}
    names = ("const_expert_alpha_1", "const_expert_alpha_2", "const_expert_v")
    const = {name: tensor(_HALF, 1, 128) for name in names}
    refuse("copy-without", {"copy_expert_num": 1}, "ori_x", "num_tokens, hidden")
    refuse("const-without", {"const_expert_num": 1, **const}, "ori_x", "num_tokens, hidden")
    for name in names:
        others = {other: value for other, value in const.items() if other != name}
        refuse(f"without-{name}", {"const_expert_num": 1, **ori, **others}, name, "const_expert_num, hidden")
        small = {"const_expert_num": 1, **ori, **const, name: tensor(_HALF, 2, 128)}
        refuse(f"rows-{name}", small, name, "2", "1")
    narrow = {"const_expert_num": 1, **ori, **const, "const_expert_v": tensor(_HALF, 1, 64)}
    refuse("columns", narrow, "const_expert_v", "64", "128")
    other = {"const_expert_num": 1, **ori, **const, "const_expert_v": tensor("float16", 1, 128)}
    refuse("dtype", other, "const_expert_v", "float16", "bfloat16")
    refuse("ori-rows", {"copy_expert_num": 1, "ori_x": tensor(_HALF, 5, 128)}, r"ori_x.shape\[0\] = 5", "6")
    refuse("ori-columns", {"copy_expert_num": 1, "ori_x": tensor(_HALF, 6, 64)}, r"ori_x.shape\[1\] = 64", "128")
    refuse("ori-dtype", {"copy_expert_num": 1, "ori_x": tensor("float16", 6, 128)}, "ori_x is float16", "bfloat16")


def _values(group: Group) -> None:
    def refuse(name: str, change: dict[str, Any], *words: str) -> None:
        group.refuse(name, ("own", _COMBINE), change, words)

    triples, counts = "assist_info_for_combine", "ep_send_counts"
    refuse("foreign", {triples: tensor("int32", 8192)}, f"{triples} is not from a dispatch_v2")
    refuse("source-4", {triples: {"at": [0, 4]}}, f"{triples} row 0: source rank 4", r"\[0, 3\]")
    refuse("token-99", {triples: {"at": [1, 99]}}, f"{triples} row 0: token 99", r"\[0, 7\]")
    refuse("column-5", {triples: {"at": [2, 5]}}, f"{triples} row 0: column 5", r"\[0, 2\]")
    refuse("count--1", {counts: {"at": [0, -1]}}, rf"{counts}\[0\] = -1")
    refuse("count-99", {counts: {"at": [7, 99]}}, rf"{counts}\[7\] = 99")
    refuse("other-ids", {"expert_ids": tensor("int32", 6, 3, fill=-1)}, "expert_ids", "not those of the dispatch_v2")
    words = ("comm_quant_mode = 1", "0, 2, 3, 4")
    group.refuse("all-comm-quant-1", ("C3", _COMBINE), {"comm_quant_mode": 1}, words, how={"who": -1})
    shared: dict[str, Any] = {"shared": [1, 1], "experts": 6, "limits": {"max_tokens": 8, "shared_expert_num": 1}}
    change = {counts: {"at": [0, -1]}}
    group.refuse(
        "shared-rank-count", ("own", _COMBINE), change, (r"ep_send_counts\[0\] = -1",), how={"who": 0}, **shared
    )
    differs = {"error": "Mismatch"}
    words = ("comm_quant|output dtype|quant", "all ranks")
    group.refuse("quant-differs", ("own", _COMBINE), {"comm_quant_mode": 2}, words, how=differs)
