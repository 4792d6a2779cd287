# SPDX-License-Identifier: Apache-2.0
"""Installations that cannot be made: an error on every rank, and nothing is left behind. Layer: tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import stand_in_torch_npu as stand_in
import torch
from ascend_deepep import ArgumentError, DeepEPError
from ascend_deepep.integrations.torch_npu import install
from ascend_deepep.testing import Context, Pool

LIMITS = {"max_tokens": 4, "hidden": 64, "num_topk": 2, "num_experts": 4}


@pytest.fixture(scope="module")
def npu_ranks() -> Iterator[Pool]:
    """Ranks of this module alone: they name a module of torch's."""
    with Pool() as pool:
        yield pool


def _without_torch_npu(context: Context) -> tuple[str, str]:
    if context.rank == 1:
        sys.modules["torch_npu"] = None  # type: ignore[assignment]
    else:
        sys.modules["torch_npu"] = stand_in.make()
    try:
        install(context.group, **LIMITS)
    except (ImportError, DeepEPError) as error:
        return type(error).__name__, str(error)
    finally:
        sys.modules.pop("torch_npu", None)
    return "", ""


def test_a_rank_without_torch_npu_is_an_error_on_all(npu_ranks: Pool) -> None:
    other, mine = npu_ranks.run(_without_torch_npu, 2)
    assert mine[0] == "ImportError" and other[0] == "Mismatch"
    assert "rank 1" in other[1]
    for _, text in (mine, other):
        assert "torch_npu cannot be imported" in text


class _HalfFrozen(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name == stand_in.NAMES[1]:
            raise AttributeError(f"{name} is read-only")
        super().__setattr__(name, value)


@pytest.mark.fast
def test_a_module_that_cannot_be_changed_stays_as_it_was() -> None:
    module = _HalfFrozen("torch_npu")
    before = dict(vars(module))
    for _ in range(2):  # the second time: the name is free again
        with pytest.raises(AttributeError, match="is read-only"):
            install(None, module=module, name="alone", **LIMITS)
        assert vars(module) == before


@pytest.mark.fast
def test_ids_without_dimensions_are_the_operators_to_refuse() -> None:
    module = stand_in.make()
    mask = torch.ones((), dtype=torch.bool)
    with install(None, module=module, name="alone", **LIMITS), pytest.raises(ArgumentError, match="expert_ids"):
        module.npu_moe_distribute_dispatch_v2(
            torch.zeros(1, 64, dtype=torch.bfloat16),
            torch.zeros((), dtype=torch.int32),
            "alone",
            1,
            0,
            4,
            x_active_mask=mask,
            global_bs=4,
        )
