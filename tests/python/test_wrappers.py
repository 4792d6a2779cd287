# SPDX-License-Identifier: Apache-2.0
"""What the Python wrappers refuse by themselves: no tensor where one must be, nothing that names a communicator."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from ascend_deepep import ArgumentError, Communicator, DeepEPError, combine_v2, dispatch_v2
from ascend_deepep.testing import Context, Pool

LIMITS = {"max_tokens": 4, "hidden": 64, "num_topk": 2, "num_experts": 4}
DISPATCH = ("x", "expert_ids")
COMBINE = ("expand_x", "expert_ids", "assist_info_for_combine", "ep_send_counts", "expert_scales")


def _rounds(context: Context, operator: str, argument: str, value: Any) -> tuple[str, str, int | None]:
    """Rank 1 passes `value` once; then a round of all ranks must be exact."""
    x = torch.full((3, 64), 1.0 + context.rank, dtype=torch.bfloat16)
    ids = torch.tensor([[0, 1], [2, 3], [1, 2]])
    told: tuple[str, str, int | None] = ("", "", None)
    with Communicator(context.group, **LIMITS) as ep:
        tensors = {"x": x, "expert_ids": ids}
        if operator == "combine_v2":
            received = dispatch_v2(x, ids, ep)
            tensors = {
                "expand_x": received.expand_x,
                "expert_ids": ids,
                "assist_info_for_combine": received.assist_info_for_combine,
                "ep_send_counts": received.ep_recv_counts,
                "expert_scales": torch.ones(3, 2),
            }
        bad = {**tensors, argument: value} if context.rank == 1 else tensors
        try:
            (dispatch_v2 if operator == "dispatch_v2" else combine_v2)(**bad, group_ep=ep)
        except DeepEPError as error:
            told = (type(error).__name__, str(error), error.root)
        again = dispatch_v2(x, ids, ep)
        y = combine_v2(again.expand_x, ids, again.assist_info_for_combine, again.ep_recv_counts, torch.ones(3, 2), ep)
        assert torch.equal(y, 2 * x)
    return told


@pytest.mark.fast
@pytest.mark.parametrize(
    ("operator", "argument", "value"),
    [
        *(("dispatch_v2", name, None) for name in DISPATCH),
        *(("combine_v2", name, None) for name in COMBINE),
        ("dispatch_v2", "expert_ids", [[0, 1], [2, 3], [1, 2]]),
    ],
)
def test_no_tensor_is_an_error_on_all_ranks(ranks: Pool, operator: str, argument: str, value: Any) -> None:
    other, mine = ranks.run(_rounds, 2, operator, argument, value)
    assert mine[0] == "ArgumentError" and mine[2] == 1
    assert f"{operator}, rank 1: {argument} = {value!r} is no tensor; pass a torch.Tensor" == mine[1]
    assert other[0] == "Mismatch" and other[2] == 1 and argument in other[1]


WRONG_KEYWORDS = {
    "quant_mode": (2.5, "is no number of 64 bits; pass an int"),
    "global_bs": ("8", "is no number of 64 bits; pass an int"),
    "shared_expert_num": (1 << 63, "is no number of 64 bits; pass an int"),
    "y_dtype": ("float8", "is no number of 64 bits; pass an int"),
    "comm_alg": (3, "is no string; pass a str"),
    "scales": ([1.0], "is no tensor; pass a torch.Tensor"),
    "x_active_mask": (torch.ones(3, dtype=torch.bool).to_sparse(), "is no tensor with strides; pass a dense one"),
}


@pytest.mark.fast
@pytest.mark.parametrize("argument", WRONG_KEYWORDS)
def test_a_keyword_of_a_wrong_type_is_an_error_on_all_ranks(ranks: Pool, argument: str) -> None:
    value, words = WRONG_KEYWORDS[argument]
    other, mine = ranks.run(_rounds, 2, "dispatch_v2", argument, value)
    assert mine[0] == "ArgumentError" and mine[2] == 1
    assert mine[1].startswith(f"dispatch_v2, rank 1: {argument} = ") and mine[1].endswith(words)
    assert other[0] == "Mismatch" and other[2] == 1 and argument in other[1]


@pytest.mark.fast
def test_an_unknown_keyword_is_an_error_on_all_ranks(ranks: Pool) -> None:
    other, mine = ranks.run(_rounds, 2, "dispatch_v2", "nonsense", 1)
    assert mine[:2] == ("ArgumentError", "dispatch_v2, rank 1: nonsense is no argument of dispatch_v2")
    assert other[0] == "Mismatch" and other[2] == 1


@pytest.mark.fast
@pytest.mark.parametrize("group_ep", [None, 3])
def test_no_communicator(group_ep: Any) -> None:
    x, ids = torch.zeros(1, 64, dtype=torch.bfloat16), torch.zeros(1, 1, dtype=torch.int32)
    with pytest.raises(ArgumentError, match=f"group_ep = {group_ep}.*pass a Communicator, or its name"):
        dispatch_v2(x, ids, group_ep, 1, 0, 4)
