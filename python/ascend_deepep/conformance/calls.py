# SPDX-License-Identifier: Apache-2.0
"""The operators' arguments for a case, by name, and the changes that make a call illegal. Layer: Python, torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ascend_deepep.conformance.cases import Call
from ascend_deepep.conformance.inputs import Inputs
from ascend_deepep.conformance.oracle import Expected, scale_carrier

Arguments = dict[str, Any]


def place(call: Call, name: str, rank: int) -> Arguments:
    """What both operators take alike."""
    given: Arguments = {
        "group_ep": name,
        "ep_world_size": call.ranks,
        "ep_rank_id": rank,
        "moe_expert_num": call.experts,
        "shared_expert_num": call.shared[0],
        "shared_expert_rank_num": call.shared[1],
        "global_bs": call.global_bs,
        "comm_alg": call.comm_alg,
        "tp_world_size": call.tp_world_size,
        "group_tp": call.group_tp,
    }
    return given


def dispatch_arguments(inputs: Inputs, name: str, rank: int) -> Arguments:
    """Of `dispatch_v2`, on the host."""
    call = inputs.call
    x = inputs.x(rank).clone()
    scales = inputs.table
    passed = inputs.row_scales(rank)
    if passed is not None:
        scales = passed.view(scale_carrier(call))
    return {
        "x": x.view(getattr(torch, call.carrier)) if call.carrier else x,
        "expert_ids": inputs.ids[rank].clone(),
        **place(call, name, rank),
        "scales": scales,
        "x_active_mask": inputs.masks[rank],
        "expert_scales": inputs.weights(rank) if call.expert_scales else None,
        "performance_info": inputs.performance(),
        "quant_mode": call.quant,
        "expert_token_nums_type": call.nums_type,
        "y_dtype": call.y_dtype,
        "x_dtype": call.x_dtype,
        "scales_dtype": call.scales_dtype,
    }


def combine_arguments(inputs: Inputs, name: str, rank: int, expected: Expected, received: list[Tensor]) -> Arguments:
    """Of `combine_v2`, on the host; `received` are the outputs of the dispatch. Rows behind the last are NaN."""
    call = inputs.call
    dtype = getattr(torch, call.out_dtype)
    expand_x = torch.full((call.capacity(rank), call.hidden), torch.nan, dtype=dtype)
    expand_x[: expected.mine.num_rows] = expected.outputs
    shared_x = inputs.shared_x(rank)
    if shared_x is not None and call.shared_x == "3d":
        tokens = call.tokens[rank]
        shared_x = shared_x.view(2 if tokens % 2 == 0 else 1, -1, call.hidden)
    return {
        "expand_x": expand_x,
        "expert_ids": inputs.ids[rank].clone(),
        "assist_info_for_combine": received[2],
        "ep_send_counts": received[4],
        "expert_scales": inputs.weights(rank) if call.weights else torch.zeros(0),
        **place(call, name, rank),
        "tp_send_counts": received[5],
        "x_active_mask": inputs.masks[rank],
        "expand_scales": received[6],
        "shared_expert_x": shared_x,
        "performance_info": inputs.performance(),
        "comm_quant_mode": call.comm_quant,
    }


def moved(arguments: Arguments, device: torch.device | str) -> Arguments:
    """The same with all tensors on a device."""
    return {key: value.to(device) if isinstance(value, Tensor) else value for key, value in arguments.items()}


def invoke(operator: Callable[..., Any], arguments: Arguments) -> Any:
    """Call the operator with these arguments. None is the operator's default, so it is left out."""
    return operator(**{key: value for key, value in arguments.items() if value is not None})


def changed(arguments: Arguments, change: Mapping[str, Any]) -> Arguments:
    """The arguments with some of them changed. A mapping says how to change or make a tensor, see `_tensor`."""
    result = dict(arguments)
    for name, value in change.items():
        result[name] = _tensor(arguments.get(name), value) if isinstance(value, Mapping) else value
    return result


def _tensor(old: Tensor | None, how: Mapping[str, Any]) -> Tensor:
    """`shape` makes a new tensor of `dtype`, filled with `fill`; everything else alters the old one, in order."""
    if "shape" in how:
        dtype = getattr(torch, how["dtype"])
        carried = how["dtype"].startswith("float8")
        made = torch.full(how["shape"], how.get("fill", 0), dtype=torch.uint8 if carried else dtype)
        return made.view(dtype) if carried else made
    assert old is not None
    tensor = old.clone()
    for key, value in how.items():
        if key == "dtype":
            tensor = tensor.to(getattr(torch, value))
        elif key == "dims":
            tensor = tensor.flatten() if value == 1 else tensor[None]
        elif key == "rows":
            tensor = tensor[:value]
        elif key == "columns":
            tensor = tensor[:, :value]
        elif key == "at":
            tensor[tuple(value[:-1])] = value[-1]
        elif key == "device":
            tensor = tensor.to(value)
        elif key == "grad":
            tensor.requires_grad_()
        else:
            raise ValueError(f"no change of a tensor: {key}")
    return tensor
