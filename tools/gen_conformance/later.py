# SPDX-License-Identifier: Apache-2.0
"""What is legal and comes with a later release: refused by its name. Layer: build."""

from __future__ import annotations

from typing import Any

from tools.gen_conformance.build import Group
from tools.gen_conformance.refusals import BASE, tensor

_LATER = {"error": "NotImplementedError"}
_HALF = "bfloat16"
#: torch_npu's numbers: 256 and the number of the type in CANN.
_HIF8, _FP4_E2M1, _FP4_E1M2 = 290, 296, 297


def later() -> Group:
    """The configurations of the contract that need such a feature, and one of each other kind."""
    group = Group("later", BASE)
    _dispatch(group)
    _combine(group)
    return group


def _dispatch(group: Group) -> None:
    def refuse(name: str, change: dict[str, Any], *words: str, source: str = "") -> None:
        group.refuse(
            f"dispatch-{name}", ("later", "dispatch"), change, (*words, "not implemented"), how=_LATER, source=source
        )

    contract = "op_contract 7.1 #"
    scalar = tensor("float32", 1, fill=1)
    refuse("hif8-static", {"quant_mode": 1, "y_dtype": _HIF8, "scales": scalar}, "y_dtype", source=contract + "13")
    refuse("hif8-pass", {"y_dtype": _HIF8}, "y_dtype")
    refuse("hif8-x", {"x": tensor("uint8", 6, 128), "x_dtype": _HIF8, "scales": tensor("float32", 6, 4)}, "x_dtype")
    for name, number in (("e2m1", _FP4_E2M1), ("e1m2", _FP4_E1M2)):
        refuse(f"fp4-{name}", {"quant_mode": 4, "y_dtype": number}, "y_dtype")
        carried = {"x": tensor("uint8", 6, 64), "x_dtype": number, "scales": tensor("float8_e8m0fnu", 6, 4)}
        refuse(f"fp4-{name}-x", carried, "x_dtype")
    refuse("mx-clamp", {"quant_mode": 5}, "quant_mode = 5")
    refuse("mx-clamp-e5m2", {"quant_mode": 5, "y_dtype": 23}, "quant_mode = 5")
    for kind in ("zero", "copy", "const"):
        refuse(kind, {f"{kind}_expert_num": 1}, f"{kind}_expert_num = 1")
    both = {"zero_expert_num": 1, "copy_expert_num": 1, "quant_mode": 2}
    refuse("special-4", both, "zero_expert_num = 1|quant_mode", source=contract + "4")
    every: dict[str, Any] = {"zero_expert_num": 1, "copy_expert_num": 1, "const_expert_num": 1}
    refuse("special-6", every, "zero_expert_num = 1", source=contract + "5 and #6")
    more: dict[str, Any] = {"zero_expert_num": 1, "copy_expert_num": 2, "const_expert_num": 3}
    refuse("special-22", more, "zero_expert_num = 1", source=contract + "22")
    refuse("elastic", {"elastic_info": tensor("int32", 12)}, "elastic_info", source=contract + "32")


def _combine(group: Group) -> None:
    def refuse(name: str, change: dict[str, Any], *words: str, source: str = "") -> None:
        group.refuse(
            f"combine-{name}", ("later", "combine"), change, (*words, "not implemented"), how=_LATER, source=source
        )

    contract = "op_contract 7.1 #"
    for mode in (3, 4):
        refuse(f"mxfp8-{mode}", {"comm_quant_mode": mode}, f"comm_quant_mode = {mode}", source=contract + "29")
    refuse("elastic", {"elastic_info": tensor("int32", 12)}, "elastic_info", source=contract + "32")
    refuse("zero", {"zero_expert_num": 1}, "zero_expert_num = 1")
    ori = {"ori_x": tensor(_HALF, 6, 128)}
    names = ("const_expert_alpha_1", "const_expert_alpha_2", "const_expert_v")
    const = {name: tensor(_HALF, 1, 128) for name in names}
    refuse("copy", {"copy_expert_num": 1, **ori}, "copy_expert_num = 1|ori_x")
    refuse("const", {"const_expert_num": 1, **ori, **const}, "const_expert|ori_x", source=contract + "30")
