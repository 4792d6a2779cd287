# SPDX-License-Identifier: Apache-2.0
"""A communicator takes the name of its group's HCCL communicator, or an error on every rank. Layer: tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stand_in_torch_npu as stand_in
import torch
from ascend_deepep import Communicator, DeepEPError, communicator
from ascend_deepep.testing import Context, Pool

LIMITS = {"max_tokens": 4, "hidden": 64, "num_topk": 2, "num_experts": 4}


@pytest.fixture(scope="module")
def npu_ranks() -> Iterator[Pool]:
    """Ranks of this module alone: they name a device type."""
    with Pool() as pool:
        yield pool


def _names(context: Context) -> list[str]:
    group = stand_in.hccl_group()
    theirs = group._get_backend(torch.device("npu")).get_hccl_comm_name(context.rank)
    with Communicator(group, **LIMITS) as first, Communicator(group, **LIMITS, name="second") as second:
        with pytest.raises(DeepEPError, match="in use on rank 0; close that communicator or choose another name"):
            Communicator(group, **LIMITS)
        names = [theirs, first.name, second.name]
    with Communicator(context.group, **LIMITS) as plain:
        return [*names, plain.name]


def test_the_name_of_the_group(npu_ranks: Pool) -> None:
    names, others = npu_ranks.run(_names, 2)
    assert names == others
    theirs, first, second, plain = names
    assert first == theirs and second == "second"
    assert plain.startswith("ep-")


def _without_name(context: Context) -> tuple[str, str]:
    group = stand_in.hccl_group()
    backend = group._get_backend(torch.device("npu"))
    if context.rank == 1:
        backend.get_hccl_comm_name = _fail
    try:
        Communicator(group, **LIMITS)
    except DeepEPError as error:
        return type(error).__name__, str(error)
    return "", ""


def _fail(rank: int) -> str:
    raise RuntimeError(f"no device for rank {rank}")


def _without_operators(context: Context) -> tuple[str, str]:
    original = communicator.load_ops
    if context.rank == 1:
        communicator.load_ops = _taken  # type: ignore[attr-defined]
    try:
        Communicator(context.group, **LIMITS)
    except (ImportError, DeepEPError) as error:
        return type(error).__name__, str(error)
    finally:
        communicator.load_ops = original  # type: ignore[attr-defined]
    return "", ""


def _taken() -> None:
    raise ImportError("npu::dispatch_v2 is already defined by another library")


def test_operators_that_one_rank_cannot_load_are_an_error_on_all(npu_ranks: Pool) -> None:
    other, mine = npu_ranks.run(_without_operators, 2)
    assert mine[0] == "ImportError" and other[0] == "Mismatch"
    assert "ImportError: npu::dispatch_v2 is already defined by another library" in other[1]


def test_a_backend_that_fails_is_an_error_on_all(npu_ranks: Pool) -> None:
    other, mine = npu_ranks.run(_without_name, 2)
    assert mine[0] == "ArgumentError" and other[0] == "Mismatch"
    for _, text in (mine, other):
        assert "no device for rank 1" in text and "pass name= instead" in text
