# SPDX-License-Identifier: Apache-2.0
"""What a case exercises, as (dimension, value) pairs: the cells of the support matrix. Layer: Python, no torch.

`LEGAL` lists every value that this release takes; the suite has a case with an exact result for each, which
tests/python/conformance checks, and docs/compatibility.md shows how many.
"""

from __future__ import annotations

from ascend_deepep.conformance.cases import Call, Case

#: (quant_mode, x, expand_x, scales): what quantisation takes and makes.
_HALF = ("bfloat16", "float16")
_FP8 = ("float8_e4m3fn", "float8_e5m2")


def _quant_cells() -> list[str]:
    cells = [f"0, {x}" for x in _HALF]
    cells += [f"0, {x}, scales {kind} (tokens, columns)" for x in _FP8 for kind in ("float32", "e8m0")]
    cells += [f"1, {x} to int8, scales {shape}" for x in _HALF for shape in ("(1,)", "(hidden,)", "(experts, hidden)")]
    smooth = ("no scales", "scales (experts, hidden)")
    cells += [f"2, {x} to {y}, {kind}" for x in _HALF for y in ("int8", *_FP8) for kind in smooth]
    cells += [f"3, {x} to {y}, {kind}" for x in _HALF for y in _FP8 for kind in smooth]
    return cells + [f"4, {x} to {y}, no scales" for x in _HALF for y in _FP8]


_SHAPES = {
    "none": "no scales",
    "scalar": "scales (1,)",
    "channel": "scales (hidden,)",
    "expert": "scales (experts, hidden)",
    "rows-float32": "scales float32 (tokens, columns)",
    "rows-e8m0": "scales e8m0 (tokens, columns)",
}
_MASKS = {
    "none": "none",
    "first": "(tokens,), true before false",
    "holes": "(tokens,), with holes",
    "all": "(tokens,), all true",
    "off": "(tokens,), all false",
    "rank-off": "(tokens,), all false on one rank",
    "live": "(tokens,), other numbers on each rank",
    "pairs": "(tokens, top-k), with holes",
    "pairs-all": "(tokens, top-k), all true",
    "pairs-off": "(tokens, top-k), all false",
}
_SHARED_X = {"none": "none", "2d": "(tokens, hidden)", "3d": "(a, b, hidden)"}
_ROUTINGS = {
    "uniform": "uniform",
    "gate": "by a gate",
    "skewed": "some experts more popular",
    "none": "all -1",
    "sparse": "some -1",
    "turn": "each expert in turn",
    "expert": "all tokens to one expert",
    "list": "the same experts for every token",
    "without": "an expert without tokens",
    "host": "all tokens to one rank",
}
_PAYLOADS = {
    "normal": "random rows",
    "index": "rows that name their place",
    "zeros": "rows of zeros",
    "zero-groups": "groups of zeros",
    "edge": "zeros, subnormal, largest, NaN, infinity",
}

LEGAL: dict[str, list[str]] = {
    "quant_mode": _quant_cells(),
    "number of y_dtype": ["left out", "1", "23", "24", "291", "292"],
    "carrier with x_dtype or scales_dtype": ["no", "x", "scales", "x and scales"],
    "comm_quant_mode": [f"{mode}, {x}" for mode in (0, 2) for x in _HALF],
    "shared_expert_num, shared_expert_rank_num": [
        "1, 0",
        "0, 0",
        "1, 1",
        "1, 2",
        "1, 3",
        "1, 4",
        "2, 2",
        "2, 4",
        "3, 3",
        "4, 4",
    ],
    "ep_world_size % replicas": ["0", "not 0"],
    "shared_expert_x": list(_SHARED_X.values()),
    "x_active_mask": list(_MASKS.values()),
    "batches": ["equal, global_bs 0", "equal, global_bs", "equal, larger global_bs", "unequal, global_bs", "0 tokens"],
    "comm_alg": ["''", "fullmesh_v1", "fullmesh_v2", "fullmesh_dedup"],
    "expert_token_nums_type": ["0", "1"],
    "expert_scales of dispatch": ["absent", "given"],
    "expert_scales of combine": ["weights", "empty: a plain sum"],
    "combine_reduce": ["row", "rank"],
    "performance_info": ["none", "zeroed", "kept", "late"],
    "tp_world_size, group_tp": ["0, empty", "1, given"],
    "expert_ids": list(_ROUTINGS.values()),
    "x": list(_PAYLOADS.values()),
    "called": ["eager", "compile", "wrapper"],
    "ep_world_size": ["1", "2", "3", "4", "5", "6", "8", "16"],
}


def features(case: Case) -> list[tuple[str, str]]:
    """The cells a case fills; a refusal fills that of its row."""
    if case.refusal is not None:
        return [("refused", case.refusal.row)]
    call = case.call
    replicas = call.shared[1] // call.shared[0] if call.shared_num else 1
    return [
        ("quant_mode", _quant(call)),
        ("number of y_dtype", "left out" if call.y_dtype is None else str(call.y_dtype)),
        ("carrier with x_dtype or scales_dtype", _carrier(call)),
        ("comm_quant_mode", f"{call.comm_quant}, {call.out_dtype}"),
        ("shared_expert_num, shared_expert_rank_num", f"{call.shared[0]}, {call.shared[1]}"),
        ("ep_world_size % replicas", "0" if call.ranks % replicas == 0 else "not 0"),
        ("shared_expert_x", _SHARED_X[call.shared_x]),
        ("x_active_mask", _MASKS[call.mask]),
        ("batches", _batches(call)),
        ("comm_alg", call.comm_alg or "''"),
        ("expert_token_nums_type", str(call.nums_type)),
        ("expert_scales of dispatch", "given" if call.expert_scales else "absent"),
        ("expert_scales of combine", "weights" if call.weights else "empty: a plain sum"),
        ("combine_reduce", "rank" if call.sums_by_rank else "row"),
        ("performance_info", call.performance),
        ("tp_world_size, group_tp", f"{call.tp_world_size}, {'given' if call.group_tp else 'empty'}"),
        ("expert_ids", _ROUTINGS[call.routing.partition(":")[0]]),
        ("x", _PAYLOADS[call.payload]),
        ("called", call.path),
        ("ep_world_size", str(call.ranks)),
    ]


def _quant(call: Call) -> str:
    if call.quant == 0:
        return f"0, {call.dtype}" + ("" if call.scales == "none" else f", {_SHAPES[call.scales]}")
    return f"{call.quant}, {call.dtype} to {call.element}, {_SHAPES[call.scales]}"


def _carrier(call: Call) -> str:
    carried = [name for name, number in (("x", call.x_dtype), ("scales", call.scales_dtype)) if number is not None]
    return " and ".join(carried) or "no"


def _batches(call: Call) -> str:
    if max(call.tokens) == 0:
        return "0 tokens"
    if len(set(call.tokens)) > 1:
        return "unequal, global_bs"
    if call.global_bs == 0:
        return "equal, global_bs 0"
    return "equal, global_bs" if call.max_batch == call.tokens[0] else "equal, larger global_bs"
