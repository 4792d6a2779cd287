# SPDX-License-Identifier: Apache-2.0
"""A keyword of torch_npu's callers that changes nothing, and the words of `comm_alg` that exist. Layer: Python."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from ascend_deepep.errors import ArgumentError


def without_full_mask(arguments: tuple[Any, ...], keywords: dict[str, Any], num_ranks: int) -> dict[str, Any]:
    """The keywords without an `x_active_mask` that is true everywhere: by the contract that is the same as no mask.

    A mask of (tokens,) makes as many of the first tokens active as it has trues, one of (tokens, top-k) every pair that
    is true; so true everywhere is all tokens, as without a mask. Only on CPU tensors can that be seen without waiting
    for a device. Every other mask, and one that the contract does not take, is left to the operator, which refuses
    masks until a later release brings them.
    """
    mask = keywords.get("x_active_mask")
    ids = arguments[1] if len(arguments) > 1 else keywords.get("expert_ids")
    if not isinstance(mask, Tensor) or not isinstance(ids, Tensor) or mask.device.type != "cpu" or ids.dim() == 0:
        return keywords
    is_legal = mask.dtype == torch.bool and mask.shape in (ids.shape[:1], ids.shape)
    # The contract takes no mask where ranks bring different numbers of tokens, which a larger global_bs says.
    if keywords.get("global_bs", 0) not in (0, ids.shape[0] * num_ranks):
        is_legal = False
    if not is_legal or not bool(mask.all()):
        return keywords
    return {name: value for name, value in keywords.items() if name != "x_active_mask"}


@functools.cache
def has_comm_alg(word: str) -> bool:
    """Whether our operators take this `comm_alg`, by their own checks: a smallest call on tensors without data."""
    x = torch.empty(1, 64, dtype=torch.bfloat16, device="meta")
    ids = torch.empty(1, 1, dtype=torch.int32, device="meta")
    try:
        torch.ops.npu.dispatch_v2(x, ids, "any", 1, 0, 1, comm_alg=word)
    except (ArgumentError, NotImplementedError):
        torch.ops.npu.dispatch_v2(x, ids, "any", 1, 0, 1)  # must pass: then it was the word
        return False
    return True
