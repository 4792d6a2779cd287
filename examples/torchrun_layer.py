# SPDX-License-Identifier: Apache-2.0
"""A MoE layer under torchrun, compared with the oracle. Layer: example.

    torchrun --standalone --nproc-per-node 4 examples/torchrun_layer.py

The calls are those of the torch operators themselves, as a framework makes them; ascend_deepep.dispatch_v2 and
combine_v2 fill in what the communicator knows.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from ascend_deepep import Communicator, reference

TOKENS, HIDDEN, TOPK, EXPERTS = 12, 1024, 4, 16


def inputs(rank: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Hidden states, choices and weights of a rank; every rank can make those of all."""
    generator = torch.Generator().manual_seed(rank)
    x = torch.randn(TOKENS, HIDDEN, generator=generator).to(torch.bfloat16)
    scores, expert_ids = torch.rand(TOKENS, EXPERTS, generator=generator).topk(TOPK)
    return x, expert_ids.to(torch.int32), scores / scores.sum(dim=1, keepdim=True)


def expert(rows: torch.Tensor) -> torch.Tensor:
    """What every expert of this example does, row by row."""
    return torch.tanh(rows.float()).to(rows.dtype)


def expected(rank: int, num_ranks: int) -> torch.Tensor:
    """The layer's output on this rank, by the oracle."""
    x, expert_ids, expert_scales = zip(*(inputs(other) for other in range(num_ranks)), strict=True)
    routed, rows = reference.dispatch(x, expert_ids, EXPERTS)
    return reference.combine([expert(received) for received in rows], routed, expert_ids, expert_scales)[rank]


def main() -> None:
    """One rank of the job."""
    dist.init_process_group("gloo")
    x, expert_ids, expert_scales = inputs(dist.get_rank())
    with Communicator(
        dist.group.WORLD, max_tokens=TOKENS, hidden=HIDDEN, num_topk=TOPK, num_experts=EXPERTS, name="layer"
    ) as ep:
        place = ("layer", ep.num_ranks, ep.rank, EXPERTS)
        expand_x, _, assist_info, _, counts, _, _ = torch.ops.npu.dispatch_v2(x, expert_ids, *place)
        num_rows = int(counts[-1])
        expand_x[:num_rows] = expert(expand_x[:num_rows])
        y = torch.ops.npu.combine_v2(expand_x, expert_ids, assist_info, counts, expert_scales, *place)
    if not torch.equal(y, expected(ep.rank, ep.num_ranks)):
        raise SystemExit(f"rank {ep.rank} differs from the oracle")
    dist.barrier()
    if ep.rank == 0:
        print(f"EXACT on {ep.num_ranks} ranks")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
