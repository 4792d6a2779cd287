# SPDX-License-Identifier: Apache-2.0
"""A stand-in for torch_npu, written from its public signatures: the two operators, and a backend that knows a name.

Layer: tests. `make()` gives a module to put into sys.modules; its functions take what torch_npu's take and note their
calls. `hccl_group()` gives a process group whose backend for `npu` tensors answers `get_hccl_comm_name`, as HCCL does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

NAMES = ("npu_moe_distribute_dispatch_v2", "npu_moe_distribute_combine_v2")
_DISPATCH = inspect.signature(
    lambda x, expert_ids, group_ep, ep_world_size, ep_rank_id, moe_expert_num, *, scales=None, x_active_mask=None,
    expert_scales=None, elastic_info=None, performance_info=None, group_tp="", tp_world_size=0, tp_rank_id=0,
    expert_shard_type=0, shared_expert_num=1, shared_expert_rank_num=0, quant_mode=0, global_bs=0,
    expert_token_nums_type=1, comm_alg="", zero_expert_num=0, copy_expert_num=0, const_expert_num=0, y_dtype=None,
    x_dtype=None, scales_dtype=None: None
)  # fmt: skip
_COMBINE = inspect.signature(
    lambda expand_x, expert_ids, assist_info_for_combine, ep_send_counts, expert_scales, group_ep, ep_world_size,
    ep_rank_id, moe_expert_num, *, tp_send_counts=None, x_active_mask=None, expand_scales=None, shared_expert_x=None,
    elastic_info=None, ori_x=None, const_expert_alpha_1=None, const_expert_alpha_2=None, const_expert_v=None,
    performance_info=None, group_tp="", tp_world_size=0, tp_rank_id=0, expert_shard_type=0, shared_expert_num=1,
    shared_expert_rank_num=0, global_bs=0, comm_quant_mode=0, comm_alg="", zero_expert_num=0, copy_expert_num=0,
    const_expert_num=0: None
)  # fmt: skip
SIGNATURES = dict(zip(NAMES, (_DISPATCH, _COMBINE), strict=True))


def make(*, has_functions: bool = True) -> ModuleType:
    """A module like torch_npu; without its functions, like a release from before them."""
    module = ModuleType("torch_npu")
    module.calls = []  # type: ignore[attr-defined]
    if has_functions:
        for name, signature in SIGNATURES.items():
            setattr(module, name, _function(name, signature, module.calls))  # type: ignore[attr-defined]
    return module


def _function(name: str, signature: inspect.Signature, calls: list[Any]) -> Callable[..., Any]:
    def function(*arguments: Any, **keywords: Any) -> str:
        calls.append((name, signature.bind(*arguments, **keywords).arguments["group_ep"]))
        return f"torch_npu's own {name}"

    return function


class _Hccl(dist.ProcessGroupGloo):  # type: ignore[misc]
    """gloo that has the name of a communicator: the same on all ranks of a group, another one for each group."""

    number = 0

    def get_hccl_comm_name(self, rank: int, init_comm: bool = True) -> str:
        if rank != self.rank():
            raise RuntimeError(f"rank {rank} asked for the communicator of rank {self.rank()}")
        return f"127.0.0.1%lo_60000_{self.size()}_{self.number}"


_backends: list[_Hccl] = []  # torch keeps the C++ object only


def _create(store: Any, rank: int, size: int, timeout: Any) -> _Hccl:
    backend = _Hccl(store, rank, size, timeout)
    _backends.append(backend)
    return backend


def hccl_group() -> dist.ProcessGroup:
    """A group of all ranks with gloo for CPU tensors and the stand-in for `npu` tensors. Collective."""
    if not hasattr(dist.Backend, "HCCL"):
        torch.utils.rename_privateuse1_backend("npu")
        dist.Backend.register_backend("hccl", _create, devices=["npu"])
    group = dist.new_group(backend="cpu:gloo,npu:hccl")
    # Ranks may have made different numbers of groups before.
    counts: list[int] = [0] * dist.get_world_size(group)
    dist.all_gather_object(counts, len(_backends), group=group)
    _backends[-1].number = sum(counts)
    return group
