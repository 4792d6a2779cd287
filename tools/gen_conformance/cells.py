# SPDX-License-Identifier: Apache-2.0
"""Every value of the support matrix once, alone on a small call. Layer: build."""

from __future__ import annotations

from typing import Any

from tools.gen_conformance.build import Group

_SOURCE = "support matrix: "
#: Number of y_dtype: torch's, torch_npu's.
NUMBERS = {"int8": (None, 1), "float8_e4m3fn": (24, 292), "float8_e5m2": (23, 291)}
HALF = ("bfloat16", "float16")
FP8 = ("float8_e4m3fn", "float8_e5m2")


def quant_cells() -> dict[str, dict[str, Any]]:
    """All that quantisation takes and makes, as calls."""
    cells: dict[str, dict[str, Any]] = {f"pass-{x}": {"dtype": x} for x in HALF}
    for x in FP8:
        cells[f"pass-{x}-float32"] = {"dtype": x, "scales": "rows-float32", "scale_columns": 9}
        cells[f"pass-{x}-e8m0"] = {"dtype": x, "scales": "rows-e8m0", "scale_columns": 34}
    for index, x in enumerate(HALF):
        for scales in ("scalar", "channel", "expert"):
            cells[f"static-{x}-{scales}"] = {"dtype": x, "quant": 1, "scales": scales}
        for quant, name, elements in ((2, "token", ("int8", *FP8)), (3, "group", FP8), (4, "mx", FP8)):
            for y in elements:
                for scales in ("none", "expert") if quant != 4 else ("none",):
                    cell = {"dtype": x, "quant": quant, "y_dtype": NUMBERS[y][index], "scales": scales}
                    cells[f"{name}-{x}-{y}-{scales}"] = cell
    return cells


def cells() -> Group:
    """One case for each value, and the two limits that are wider than theirs."""
    group = Group("cell", {"ranks": 2, "tokens": 6, "hidden": 288, "topk": 3, "experts": 4})
    for name, cell in quant_cells().items():
        group.exact(f"quant-{name}", _SOURCE + "quant_mode", **cell)
    _dtypes(group)
    _shared(group)
    _rest(group)
    return group


def _dtypes(group: Group) -> None:
    source = _SOURCE + "numbers of dtypes"
    carried: dict[str, Any] = {"dtype": "float8_e4m3fn", "scales": "rows-float32", "scale_columns": 9}
    for number in (24, 292):
        group.exact(f"carrier-{number}", source, **carried, carrier="uint8", x_dtype=number)
    e5m2: dict[str, Any] = {"dtype": "float8_e5m2", "scales": "rows-e8m0", "scale_columns": 10}
    group.exact("carrier-both", source, **e5m2, carrier="uint8", x_dtype=291, scales_dtype=293)
    group.exact("carrier-scales", source, **e5m2, scales_dtype=44)
    group.exact("scale-columns-1", source, **{**carried, "scale_columns": 1})
    group.exact("scale-columns-288", source, **{**e5m2, "scale_columns": 288})


def _shared(group: Group) -> None:
    source = _SOURCE + "shared experts"
    for shared, ranks in (((0, 0), 2), ((1, 1), 2), ((1, 2), 4), ((1, 3), 4), ((2, 2), 4), ((3, 3), 4), ((4, 4), 5)):
        experts = 3 * (ranks - shared[1])
        for quant, cell in (("pass", {}), ("smooth", {"quant": 2, "scales": "expert"})):
            name = f"shared-{shared[0]}-{shared[1]}-{quant}"
            group.exact(name, source, ranks=ranks, shared=list(shared), experts=experts, **cell)
    for kind in ("2d", "3d"):
        for dtype in HALF:
            group.exact(f"shared-x-{kind}-{dtype}", source, shared_x=kind, dtype=dtype)


def _by_rank(group: Group) -> None:
    """Sums by rank: rows of several columns meet on a rank."""
    source = _SOURCE + "combine_reduce"
    limits = {"combine_reduce": "rank"}
    weighted: dict[str, Any] = {"expert_scales": True, "limits": limits}
    for dtype in HALF:
        group.exact(f"by-rank-{dtype}", source, **weighted, dtype=dtype, topk=4)
    group.exact("by-rank-plain", source, limits=limits, weights=False, topk=4)
    group.exact("by-rank-masked", source, **weighted, mask="pairs", topk=4)
    group.exact("by-rank-off", source, **weighted, mask="rank-off", shared_x="2d")
    group.exact("by-rank-shared", source, **weighted, ranks=4, shared=[1, 2], experts=8, topk=5, routing="sparse")
    group.exact("by-rank-quantised", source, **weighted, quant=2, topk=4)
    group.exact("by-rank-nobody", source, **weighted, routing="none")
    group.exact("by-rank-unequal", source, **weighted, tokens=[6, 0], global_bs=12, path="wrapper")


def _rest(group: Group) -> None:
    for mask in ("first", "holes", "all", "off", "rank-off", "pairs", "pairs-all", "pairs-off"):
        group.exact(f"mask-{mask}", _SOURCE + "x_active_mask", mask=mask)
        group.exact(f"mask-{mask}-shared", _SOURCE + "x_active_mask", mask=mask, ranks=3, shared=[1, 1])
        group.exact(f"mask-{mask}-weights", _SOURCE + "x_active_mask", mask=mask, expert_scales=True, comm_quant=2)
    for alg in ("fullmesh_v1", "fullmesh_v2", "fullmesh_dedup"):
        group.exact(f"alg-{alg}", _SOURCE + "comm_alg", comm_alg=alg)
        group.exact(f"alg-{alg}-topk", "op_contract 5, D12: wider here", comm_alg=alg, topk=16, experts=16)
    for kind in ("zeroed", "kept", "late"):
        group.exact(f"performance-{kind}", _SOURCE + "performance_info", performance=kind)
    for dtype in HALF:
        group.exact(f"comm-int8-{dtype}", _SOURCE + "comm_quant_mode", comm_quant=2, dtype=dtype)
        group.exact(f"comm-int8-edge-{dtype}", _SOURCE + "comm_quant_mode", comm_quant=2, dtype=dtype, payload="edge")
    group.exact("comm-int8-shared", _SOURCE + "comm_quant_mode", comm_quant=2, ranks=3, shared=[1, 1])
    group.exact("comm-int8-shared-x", _SOURCE + "comm_quant_mode", comm_quant=2, shared_x="2d")
    group.exact("token-nums-0", _SOURCE + "expert_token_nums_type", nums_type=0)
    group.exact("token-nums-0-shared", _SOURCE + "expert_token_nums_type", nums_type=0, ranks=3, shared=[1, 1])
    group.exact("expert-scales", _SOURCE + "expert_scales", expert_scales=True)
    group.exact("expert-scales-v1", _SOURCE + "expert_scales", expert_scales=True, comm_alg="fullmesh_v1")
    group.exact("expert-scales-shared", _SOURCE + "expert_scales", expert_scales=True, ranks=3, shared=[1, 1])
    group.exact("plain-sum", _SOURCE + "expert_scales", weights=False)
    _by_rank(group)
    group.exact("global-bs", _SOURCE + "batches", global_bs=12)
    group.exact("global-bs-larger", _SOURCE + "batches", global_bs=20)
    group.exact("tp-one", _SOURCE + "tp_world_size", tp_world_size=1, group_tp="tp")
    group.exact("one-rank", "op_contract 5, D5: wider here", ranks=1)
    group.exact("one-token", "op_contract 5, D15: the least", tokens=1, hidden=64, topk=1)
    for routing in ("gate", "skewed", "sparse", "turn", "host:1", "list:3,1,0", "expert:2"):
        group.exact(f"ids-{routing.partition(':')[0]}", _SOURCE + "expert_ids", routing=routing)
    group.exact("wrapper", _SOURCE + "expert_ids, int64 in the package's functions", path="wrapper")
    group.exact(
        "wrapper-unequal",
        _SOURCE + "expert_ids, int64 in the package's functions",
        path="wrapper",
        tokens=[6, 0],
        global_bs=12,
        routing="sparse",
    )
    for hidden in (64, 80, 496, 8192):
        group.exact(f"hidden-{hidden}", _SOURCE + "hidden", hidden=hidden)
