# SPDX-License-Identifier: Apache-2.0
"""A MoE layer written for torch_npu's operators, unedited, on ours; compared with the oracle. Layer: example.

    torchrun --standalone --nproc-per-node 4 examples/torch_npu_caller.py

It runs on the twin, where torch_npu is an empty module that `install` fills. With torch_npu and NPUs leave that module
out: callers then take the name of the group's HCCL communicator, which `install` takes too.
"""

from __future__ import annotations

import sys
from types import ModuleType

import torch
import torch.distributed as dist
from ascend_deepep.integrations.torch_npu import install
from torchrun_layer import EXPERTS, HIDDEN, TOKENS, TOPK, expected, expert, inputs


def layer(rank: int, num_ranks: int, group_ep: str) -> torch.Tensor:
    """What a framework calls: torch_npu's functions with its keywords, and nothing of this package."""
    import torch_npu

    x, expert_ids, expert_scales = inputs(rank)
    place = {
        "group_ep": group_ep,
        "ep_world_size": num_ranks,
        "ep_rank_id": rank,
        "moe_expert_num": EXPERTS,
        "global_bs": TOKENS * num_ranks,
        "expert_shard_type": 0,
        "shared_expert_rank_num": 0,
        "group_tp": group_ep,
        "tp_world_size": 1,
        "tp_rank_id": 0,
    }
    expand_x, _, assist_info, _, ep_recv_counts, tp_recv_counts, expand_scales = (
        torch_npu.npu_moe_distribute_dispatch_v2(x=x, expert_ids=expert_ids, scales=None, quant_mode=0, **place)
    )
    num_rows = int(ep_recv_counts[-1])
    expand_x[:num_rows] = expert(expand_x[:num_rows])
    y: torch.Tensor = torch_npu.npu_moe_distribute_combine_v2(
        expand_x=expand_x,
        expert_ids=expert_ids,
        assist_info_for_combine=assist_info,
        ep_send_counts=ep_recv_counts,
        expert_scales=expert_scales,
        tp_send_counts=tp_recv_counts,
        expand_scales=expand_scales,
        **place,
    )
    return y


def main() -> None:
    """One rank of the job."""
    dist.init_process_group("gloo")
    rank, num_ranks = dist.get_rank(), dist.get_world_size()
    sys.modules["torch_npu"] = ModuleType("torch_npu")
    limits = {"max_tokens": TOKENS, "hidden": HIDDEN, "num_topk": TOPK, "num_experts": EXPERTS}
    with install(dist.group.WORLD, name="ep", **limits) as installation:
        y = layer(rank, num_ranks, installation.name)
    if not torch.equal(y, expected(rank, num_ranks)):
        raise SystemExit(f"rank {rank} differs from the oracle")
    dist.barrier()
    if rank == 0:
        print(f"EXACT on {num_ranks} ranks")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
