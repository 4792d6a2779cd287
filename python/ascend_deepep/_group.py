# SPDX-License-Identifier: Apache-2.0
"""What a communicator asks of a torch process group: place, size, an all-gather, and its HCCL name. Layer: Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from ascend_deepep.errors import ArgumentError

AllGather = Callable[[bytes], list[bytes]]


def members(group: dist.ProcessGroup | None) -> tuple[int, int, AllGather]:
    """Rank, number of ranks and all-gather of a group; None is a group of this process alone."""
    if group is None:
        return 0, 1, lambda payload: [payload]
    rank = dist.get_rank(group)
    if rank < 0:
        raise ArgumentError("this process is not in the process group that it passes as `group`")
    num_ranks = dist.get_world_size(group)

    def all_gather(payload: bytes) -> list[bytes]:
        gathered: list[Any] = [None] * num_ranks
        dist.all_gather_object(gathered, payload, group=group)
        return gathered

    return rank, num_ranks, all_gather


def hccl_name(group: dist.ProcessGroup | None, rank: int) -> str | None:
    """The name of the group's HCCL communicator, by which callers of torch_npu know it; None where it has none.

    HCCL makes the communicator when it is asked for the name, so all ranks of the group ask.
    """
    try:
        for device in getattr(group, "_device_types", ()):
            backend = group._get_backend(device)  # type: ignore[union-attr]
            if hasattr(backend, "get_hccl_comm_name"):
                return str(backend.get_hccl_comm_name(rank))
    except Exception as error:  # whatever it is, the other ranks must hear of it
        raise ArgumentError(
            f"group: its HCCL backend has no communicator name for rank {rank} ({type(error).__name__}: {error}); "
            "pass name= instead"
        ) from error
    return None
