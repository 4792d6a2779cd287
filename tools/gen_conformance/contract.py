# SPDX-License-Identifier: Apache-2.0
"""The configurations of the contract, section 7.1, that need nothing of a later release, and its extras. Layer: build.

Sizes are the source's. Where the source only checks tiling and a run would move gigabytes, hidden is smaller, and the
source of the case says so.
"""

from __future__ import annotations

from typing import Any

from tools.gen_conformance.build import Group

E5M2, E4M3 = 23, 24
_SOURCE = "op_contract 7.1 #"


def contract() -> Group:
    """Section 7.1."""
    group = Group("contract", {"ranks": 8, "tokens": 8, "hidden": 7168, "topk": 7, "experts": 7, "shared": [1, 1]})
    half: dict[str, Any] = {"dtype": "float16"}
    none: dict[str, Any] = {"shared": [1, 0], "experts": 8}
    fixed = {"topk": 4, "routing": "list:0,1,2,3"}
    group.exact("1", _SOURCE + "1", **half, **none, **fixed)
    group.exact("2", _SOURCE + "2", **half, **fixed)
    ids = "list:" + ",".join(str(expert) for expert in range(16))
    big = {"tokens": 64, "hidden": 4096, "topk": 16}
    group.exact("3", _SOURCE + "3, with 16 experts", **{**none, "experts": 16}, **big, routing=ids)
    wide = {"ranks": 16, "topk": 8, "shared": [1, 0]}
    group.exact("4", _SOURCE + "4, without special experts", **wide, experts=32, quant=2)
    group.exact("5", _SOURCE + "5, without special experts", **wide, experts=32, quant=2, scales="expert")
    group.exact("6", _SOURCE + "6, without special experts", ranks=2, topk=3)
    group.exact("7", _SOURCE + "7", **wide, hidden=1024, experts=16, quant=2)
    group.exact("9", _SOURCE + "9", **half, comm_alg="fullmesh_v2")
    group.exact("10", _SOURCE + "10 and #20: every rank is judged")
    group.exact("11", _SOURCE + "11", **half, quant=4, y_dtype=E4M3)
    group.exact("12", _SOURCE + "12", **half, quant=4, y_dtype=E5M2)
    group.exact("14", _SOURCE + "14", quant=1, scales="expert")
    group.exact("15", _SOURCE + "15", **none, quant=1, scales="expert")
    group.exact("16-e4m3", _SOURCE + "16", quant=3, y_dtype=E4M3)
    group.exact("16-e5m2", _SOURCE + "16", quant=3, y_dtype=E5M2)
    group.exact("17", _SOURCE + "17", **half, mask="first")
    group.exact("18-4096", _SOURCE + "18", hidden=4096)
    group.exact("18-8192", _SOURCE + "18", hidden=8192)
    group.exact("19-1", _SOURCE + "19", tokens=1)
    group.exact("19-512", _SOURCE + "19, hidden 256 instead of 7168", tokens=512, hidden=256)
    group.exact("21", _SOURCE + "21", experts=12, shared=[1, 2])
    group.exact("23", _SOURCE + "23", comm_alg="fullmesh_v1", limits={"window": "double"})
    for hidden, dtype in (
        (1024, "bfloat16"),
        (2048, "float16"),
        (4096, "float16"),
        (7168, "bfloat16"),
        (8192, "float16"),
    ):
        group.exact(f"24-{hidden}", _SOURCE + "24", **none, hidden=hidden, dtype=dtype, shared_x="2d")
    group.exact("25", _SOURCE + "25", **half, **none, topk=1, shared_x="3d")
    group.exact("26", _SOURCE + "26, with 16 experts", **half, **{**none, "experts": 16}, topk=16)
    group.exact("27", _SOURCE + "27, hidden 256 instead of 7168", **half, **none, tokens=512, hidden=256)
    group.exact("28", _SOURCE + "28", **half, topk=1, experts=8, shared=[2, 4])
    group.exact("29", _SOURCE + "29", **none, comm_quant=2)
    group.exact("31", _SOURCE + "31", **half, **none, mask="pairs")
    return group


def extras() -> Group:
    """What the contract suggests below its table."""
    group = Group("extra", {"ranks": 4, "tokens": 7, "hidden": 1056, "topk": 3, "experts": 8})
    source = "op_contract 7.1, extra: "
    quants: dict[str, dict[str, Any]] = {
        "static": {"quant": 1, "scales": "channel"},
        "token-int8": {"quant": 2},
        "token-e4m3": {"quant": 2, "y_dtype": E4M3},
        "token-e5m2": {"quant": 2, "y_dtype": E5M2},
        "group-e4m3": {"quant": 3, "y_dtype": E4M3},
        "group-e5m2": {"quant": 3, "y_dtype": E5M2},
        "mx-e4m3": {"quant": 4, "y_dtype": E4M3},
        "mx-e5m2": {"quant": 4, "y_dtype": E5M2},
    }
    for name, quant in quants.items():
        group.exact(f"zeros-{name}", source + "all-zero rows", **quant, payload="zeros")
        group.exact(f"zero-groups-{name}", source + "all-zero groups, hidden 1056", **quant, payload="zero-groups")
        group.exact(f"inf-nan-{name}", source + "fp16 inf and nan", **quant, payload="edge", dtype="float16")
    for dtype in ("bfloat16", "float16"):
        group.exact(
            f"zeros-combine-{dtype}", source + "all-zero groups", comm_quant=2, payload="zero-groups", dtype=dtype
        )
    group.exact("rank-off", source + "fully masked rank", mask="rank-off")
    group.exact("rank-off-shared", source + "fully masked rank", mask="rank-off", shared=[1, 2])
    for expert in (0, 7):
        group.exact(f"empty-{expert}", source + "empty local expert", routing=f"without:{expert}")
        group.exact(f"all-to-{expert}", source + "all tokens to one expert", routing=f"expert:{expert}")
    group.exact("nobody", source + "no choice at all", routing="none")
    group.exact("nobody-shared", source + "no choice at all", routing="none", shared=[2, 2])
    group.exact("unequal", source + "unequal batches", tokens=[7, 0, 1, 4], global_bs=28)
    group.exact(
        "unequal-shared", source + "unequal batches", tokens=[7, 0, 1, 4], global_bs=28, shared=[1, 1], experts=6
    )
    group.exact("unequal-larger", source + "unequal batches", tokens=[7, 0, 1, 4], global_bs=64)
    group.exact("idle", source + "unequal batches", tokens=0, global_bs=16)
    group.exact("shared-2-4", source + "Sn 2, Sr 4", ranks=6, shared=[2, 4])
    for ranks, shared in ((5, [1, 2]), (5, [1, 3]), (5, [2, 4]), (6, [1, 4]), (8, [1, 3]), (3, [1, 2])):
        experts = 2 * (ranks - shared[1])
        name = f"replicas-{ranks}-{shared[0]}-{shared[1]}"
        topk = min(3, experts)
        group.exact(
            name, source + "replicas that do not divide EP", ranks=ranks, shared=shared, experts=experts, topk=topk
        )
    return group
