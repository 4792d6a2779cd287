# SPDX-License-Identifier: Apache-2.0
"""A round trip on two ranks as a user's own program: started by torchrun, or a function for mp.spawn. Layer: tests.

It knows nothing of ascend_deepep.testing. Every rank compares with the oracle, bit by bit, and ends with an error if
anything differs.
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from ascend_deepep import Communicator, combine_v2, dispatch_v2, reference
from torch import Tensor

TOKENS, HIDDEN, TOPK, EXPERTS, ROUNDS = (5, 8), 1024, 2, 6, 5


def same(what: str, got: Tensor, want: Tensor) -> None:
    if not torch.equal(got, want):
        raise AssertionError(f"{what} differs in {int((got != want).sum())} places")


def make_inputs(seed: int) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Tokens, ids and weights of both ranks."""
    generator = torch.Generator().manual_seed(seed)
    x = [torch.randn(n, HIDDEN, generator=generator).to(torch.bfloat16) for n in TOKENS]
    ids = [torch.rand(n, EXPERTS, generator=generator).argsort(dim=1)[:, :TOPK].to(torch.int32) for n in TOKENS]
    return x, ids, [torch.rand(n, TOPK, generator=generator) for n in TOKENS]


def round_trips(group: dist.ProcessGroup) -> None:
    """Dispatch, an expert that doubles, combine; each compared."""
    rank = dist.get_rank(group)
    sizes = {"max_tokens": max(TOKENS), "hidden": HIDDEN, "num_topk": TOPK, "num_experts": EXPERTS}
    with Communicator(group, **sizes) as comm:
        for seed in range(ROUNDS):
            x, ids, scales = make_inputs(seed)
            routed, received = reference.dispatch(x, ids, EXPERTS)
            got = dispatch_v2(x[rank], ids[rank], comm)
            same("ep_recv_counts", got.ep_recv_counts, routed.ranks[rank].ep_recv_counts)
            same("triples", got.triples, routed.ranks[rank].triples)
            same("rows", got.rows, received[rank])
            answers = combine_v2(
                got.expand_x * 2, ids[rank], got.assist_info_for_combine, got.ep_recv_counts, scales[rank], comm
            )
            same("combined", answers, reference.combine([rows * 2 for rows in received], routed, ids, scales)[rank])


def spawned(rank: int, store: str) -> None:
    """A process of mp.spawn."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, 2), rank=rank, world_size=2)
    round_trips(dist.group.WORLD)
    dist.destroy_process_group()


def main() -> None:
    """A process of torchrun, which says rank, ranks and where to meet in the environment."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    round_trips(dist.group.WORLD)
    # One write: print() makes two under PYTHONUNBUFFERED, and the ranks share the pipe.
    sys.stdout.write(f"rank {dist.get_rank()} of {dist.get_world_size()}: EXACT\n")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
