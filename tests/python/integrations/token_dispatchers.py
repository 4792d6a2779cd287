# SPDX-License-Identifier: Apache-2.0
"""Token dispatchers written for torch_npu, with the keyword sets of known callers. Layer: tests.

They import torch_npu and know nothing of this package. Each takes the hidden states, ids and weights of a rank and
gives a `Dispatched`; `combine` brings the experts' rows back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass
class Dispatched:
    """What a dispatcher keeps between its two calls."""

    outputs: tuple[Tensor, ...]
    ids: Tensor
    weights: Tensor
    mask: Tensor | None

    @property
    def expand_x(self) -> Tensor:
        return self.outputs[0]


@dataclass
class Mc2Dispatcher:
    """The keyword set of vllm-ascend's MC2 dispatcher."""

    group: dist.ProcessGroup
    num_experts: int
    #: Tokens per rank that the group is sized for; None: ranks bring equally many, and a mask says which count.
    capacity: int | None = None
    #: Arguments of the A3 and A5 parts: a tensor-parallel group of one rank, named like the expert-parallel one.
    has_extra_arguments: bool = True
    #: A5, and hierarchical communication on others.
    needs_expert_scales: bool = False
    expert_token_nums_type: int = 0
    comm_alg: str = ""
    quant_mode: int = 0
    comm_quant_mode: int = 0
    #: Arguments of both operators that other callers pass.
    more: dict[str, Any] = field(default_factory=dict)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        rank = dist.get_rank(group=self.group)
        self.name = self.group._get_backend(torch.device("npu")).get_hccl_comm_name(rank)

    @property
    def _global_bs(self) -> int:
        return 0 if self.capacity is None else self.capacity * dist.get_world_size(self.group)

    def _common(self, mask: Tensor | None) -> dict[str, Any]:
        keywords: dict[str, Any] = {
            "expert_shard_type": 0,
            "shared_expert_rank_num": 0,
            "moe_expert_num": self.num_experts,
            "global_bs": self._global_bs,
            "group_ep": self.name,
            "ep_world_size": dist.get_world_size(self.group),
            "ep_rank_id": dist.get_rank(self.group),
            "comm_alg": self.comm_alg,
            **self.more,
        }
        if self._global_bs == 0:
            keywords["x_active_mask"] = mask
        if self.has_extra_arguments:
            keywords.update(group_tp=self.name, tp_world_size=1, tp_rank_id=0)
        return keywords

    def dispatch(self, hidden_states: Tensor, ids: Tensor, weights: Tensor, mask: Tensor | None) -> Dispatched:
        import torch_npu

        keywords = self._common(mask)
        keywords.update(scales=None, quant_mode=self.quant_mode, expert_token_nums_type=self.expert_token_nums_type)
        if self.quant_mode == 4:
            keywords["y_dtype"] = torch.float8_e4m3fn
        if self.needs_expert_scales:
            keywords["expert_scales"] = weights.to(torch.float32)
        output = torch_npu.npu_moe_distribute_dispatch_v2(x=hidden_states, expert_ids=ids, **keywords)
        return Dispatched(output[0:7], ids, weights, mask)

    def combine(self, rows: Tensor, dispatched: Dispatched) -> Tensor:
        import torch_npu

        keywords = self._common(dispatched.mask)
        _, _, assist_info, _, ep_recv_counts, tp_recv_counts, expand_scales = dispatched.outputs
        if self.has_extra_arguments:
            is_quantised = self.quant_mode != 0
            dummy = torch.empty(1, dtype=torch.int32, device=rows.device)
            keywords["tp_send_counts"] = dummy if is_quantised else tp_recv_counts
        return torch_npu.npu_moe_distribute_combine_v2(  # type: ignore[no-any-return]
            expand_x=rows,
            expert_ids=dispatched.ids,
            expert_scales=dispatched.weights.to(torch.float32),
            ep_send_counts=ep_recv_counts,
            expand_scales=expand_scales,
            comm_quant_mode=self.comm_quant_mode,
            assist_info_for_combine=assist_info,
            **keywords,
        )


@dataclass
class LowLatencyDispatcher:
    """The keyword set of SGLang's low-latency dispatcher over these operators: padded to a fixed number of tokens."""

    group: dist.ProcessGroup
    num_experts: int
    num_max_tokens: int
    comm_alg: str = "fullmesh_v2"

    @property
    def _place(self) -> tuple[str, int, int, int]:
        rank = dist.get_rank(group=self.group)
        name = self.group._get_backend(torch.device("npu")).get_hccl_comm_name(rank)
        return name, dist.get_world_size(self.group), rank, self.num_experts

    def dispatch(self, x: Tensor, topk_ids: Tensor, topk_weights: Tensor) -> Dispatched:
        import torch_npu

        missing = self.num_max_tokens - len(x)
        mask = torch.arange(self.num_max_tokens) < len(x)
        x, topk_ids, topk_weights = (
            torch.cat([tensor, tensor.new_zeros(missing, tensor.shape[1])]) for tensor in (x, topk_ids, topk_weights)
        )
        ids = topk_ids.to(torch.int32)
        output = torch_npu.npu_moe_distribute_dispatch_v2(
            x, ids, *self._place, x_active_mask=mask, expert_token_nums_type=1, comm_alg=self.comm_alg,
            shared_expert_num=1, shared_expert_rank_num=0, quant_mode=0, global_bs=self.num_max_tokens * self._place[1],
        )  # fmt: skip
        return Dispatched(output, ids, topk_weights.to(torch.float32), mask)

    def combine(self, rows: Tensor, dispatched: Dispatched) -> Tensor:
        import torch_npu

        _, _, assist_info, _, counts, _, expand_scales = dispatched.outputs
        return torch_npu.npu_moe_distribute_combine_v2(  # type: ignore[no-any-return]
            rows, dispatched.ids, assist_info, counts, dispatched.weights, *self._place, expand_scales=expand_scales,
            x_active_mask=dispatched.mask, shared_expert_num=1, shared_expert_rank_num=0,
            global_bs=self.num_max_tokens * self._place[1], comm_alg=self.comm_alg,
        )  # fmt: skip
