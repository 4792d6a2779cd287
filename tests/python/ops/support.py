# SPDX-License-Identifier: Apache-2.0
"""Purpose: what the tests of the torch operators share. Layer: tests.

What an interpreter loads cannot be taken back, and a second definition of an operator aborts it, so tests of loading
run Python programs of their own.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[3]

#: op_contract 9, with performance_info marked as written.
DISPATCH_SCHEMA = (
    "npu::dispatch_v2(Tensor x, Tensor expert_ids, str group_ep, int ep_world_size, int ep_rank_id, "
    "int moe_expert_num, *, Tensor? scales=None, Tensor? x_active_mask=None, Tensor? expert_scales=None, "
    "Tensor? elastic_info=None, Tensor(a!)? performance_info=None, "
    'str group_tp="", int tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1, '
    "int shared_expert_rank_num=0, int quant_mode=0, int global_bs=0, int expert_token_nums_type=1, "
    'str comm_alg="", int zero_expert_num=0, int copy_expert_num=0, int const_expert_num=0, '
    "int? y_dtype=None, int? x_dtype=None, int? scales_dtype=None) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"
)
COMBINE_SCHEMA = (
    "npu::combine_v2(Tensor expand_x, Tensor expert_ids, Tensor assist_info_for_combine, Tensor ep_send_counts, "
    "Tensor expert_scales, str group_ep, int ep_world_size, int ep_rank_id, int moe_expert_num, *, "
    "Tensor? tp_send_counts=None, Tensor? x_active_mask=None, Tensor? expand_scales=None, "
    "Tensor? shared_expert_x=None, Tensor? elastic_info=None, Tensor? ori_x=None, "
    "Tensor? const_expert_alpha_1=None, Tensor? const_expert_alpha_2=None, Tensor? const_expert_v=None, "
    'Tensor(a!)? performance_info=None, str group_tp="", int tp_world_size=0, int tp_rank_id=0, '
    "int expert_shard_type=0, int shared_expert_num=1, int shared_expert_rank_num=0, int global_bs=0, "
    'int comm_quant_mode=0, str comm_alg="", int zero_expert_num=0, int copy_expert_num=0, '
    "int const_expert_num=0) -> Tensor"
)


def run_program(program: str) -> str:
    """Standard output of a Python program; fails with its standard error when it exits with anything but 0."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Shape:
    """Sizes of one call."""

    tokens: int
    hidden: int
    topk: int
    experts: int
    ranks: int
    global_bs: int = 0

    @property
    def capacity(self) -> int:
        batch = self.global_bs or self.tokens * self.ranks
        return batch * min(self.experts // self.ranks, self.topk)

    def outputs(self, dtype: torch.dtype) -> list[tuple[tuple[int, ...], torch.dtype]]:
        """The seven outputs, from the table in op_contract 9."""
        rows, local = self.capacity, self.experts // self.ranks
        return [
            ((rows, self.hidden), dtype),
            ((rows,), torch.float32),
            ((max(self.tokens * self.topk, 128 * rows),), torch.int32),
            ((local,), torch.int64),
            ((self.ranks * local,), torch.int32),
            ((0,), torch.int32),
            ((rows,), torch.float32),
        ]

    def dispatch_arguments(self, device: str, group: str = "any", dtype: torch.dtype = torch.bfloat16) -> list[Any]:
        x = torch.arange(self.tokens * self.hidden, device=device, dtype=torch.float32).remainder(251).to(dtype)
        ids = torch.arange(self.topk, dtype=torch.int32, device=device).repeat(self.tokens, 1)
        return [x.view(self.tokens, self.hidden), ids, group, self.ranks, 0, self.experts]

    def combine_arguments(self, device: str, group: str = "any", dtype: torch.dtype = torch.bfloat16) -> list[Any]:
        received = [torch.zeros(shape, dtype=kind, device=device) for shape, kind in self.outputs(dtype)]
        ids = self.dispatch_arguments(device)[1]
        scales = torch.ones(self.tokens, self.topk, device=device)
        return [received[0], ids, received[2], received[4], scales, group, self.ranks, 0, self.experts]


@dataclass(frozen=True)
class Later:
    """An argument whose feature comes with a later release."""

    name: str
    value: Any = None
    shape: tuple[int, ...] = ()
    dtype: torch.dtype = torch.float32
    #: Arguments without which this one would be illegal; the refusal may name one of them instead.
    needs: tuple[Later, ...] = ()
    #: Name in the refusal, where it stands for several arguments.
    family: str = ""

    def keywords(self, device: str) -> dict[str, Any]:
        value = torch.ones(self.shape, dtype=self.dtype, device=device) if self.shape else self.value
        keywords = {self.name: value}
        for other in self.needs:
            keywords.update(other.keywords(device))
        return keywords

    @property
    def words(self) -> str:
        """Pattern of the refusal."""
        names = [later.family or later.name for later in (self, *self.needs)]
        return f"({'|'.join(names)}).* not implemented"


#: Of SMALL, legal in the contract.
SMALL = Shape(tokens=4, hidden=64, topk=2, experts=4, ranks=1)
TWO_RANKS = Shape(tokens=4, hidden=64, topk=2, experts=4, ranks=2)

_COMMON = [
    Later("elastic_info", shape=(6,), dtype=torch.int32),
    Later("zero_expert_num", 1),
]
#: Numbers that torch_npu gives to hifloat8 and to floats of four bits.
NPU_HIF8, NPU_FP4_E2M1, NPU_FP4_E1M2 = 290, 296, 297
DISPATCH_LATER = [
    *_COMMON,
    Later("copy_expert_num", 1),
    Later("const_expert_num", 1),
    Later("quant_mode", 5),
    Later("y_dtype", NPU_HIF8),
    Later("y_dtype", NPU_FP4_E1M2),
    Later("x_dtype", NPU_FP4_E2M1),
    Later("scales_dtype", NPU_HIF8),
]
_ORI_X = Later("ori_x", shape=(4, 64), dtype=torch.bfloat16)
_CONST = [
    Later(f"const_expert_{name}", shape=(1, 64), dtype=torch.bfloat16, family="const_expert")
    for name in ("alpha_1", "alpha_2", "v")
]
COMBINE_LATER = [
    *_COMMON,
    _ORI_X,
    Later("copy_expert_num", 1, needs=(_ORI_X,)),
    Later("const_expert_num", 1, needs=(_ORI_X, *_CONST)),
    Later("comm_quant_mode", 3),
    Later("comm_quant_mode", 4),
]
