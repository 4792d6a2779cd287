# SPDX-License-Identifier: Apache-2.0
"""What every rank of `ascend-deepep trace` runs: calls like the benchmark's, captured, then compared. Layer: Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor

from ascend_deepep.bench.contestants import Ours, Received
from ascend_deepep.bench.inputs import Batch, make_batch
from ascend_deepep.bench.ranks import decoded
from ascend_deepep.bench.shapes import Shape

if TYPE_CHECKING:
    from ascend_deepep._runtime import TraceDict
    from ascend_deepep.testing import Context


@dataclass(frozen=True)
class Traced:
    """What a rank tells at the end."""

    trace: TraceDict
    findings: list[str]  # a line for each round whose output is not x times the sum of its weights


def trace_rank(context: Context, shape: Shape, warmup: int, rounds: int, events: int) -> Traced:
    """Rounds of dispatch and combine; those behind the first `warmup` are captured. Ranks enter each call together."""
    torch.set_num_threads(1)
    batch = make_batch(shape, context.rank, 0)
    layer = Ours(shape)
    try:
        y = None
        for _ in range(warmup):
            y, _ = _round(layer, batch, y)
        layer.comm.start_trace(events)
        outputs = []
        for _ in range(rounds):
            y, output = _round(layer, batch, y)
            outputs.append(output)
        trace = layer.comm.stop_trace()
    finally:
        layer.close()
    return Traced(trace, _findings(context.rank, batch, outputs))


def _round(layer: Ours, batch: Batch, y: Tensor | None) -> tuple[Tensor, Tensor]:
    """The experts' outputs, made by the first round for all, and what combine gives."""
    dist.barrier()
    received = layer.dispatch(batch)
    rows = _outputs(received) if y is None else y
    dist.barrier()
    return rows, layer.combine(batch, received, rows)


def _outputs(received: Received) -> Tensor:
    return received.rows.clone() if received.scales is None else decoded(received)


def _findings(rank: int, batch: Batch, outputs: list[Tensor]) -> list[str]:
    want = batch.answer()
    return [
        f"rank {rank}, round {number}: {int((output != want).sum())} of {want.numel()} elements are not x times the "
        "sum of its weights"
        for number, output in enumerate(outputs)
        if not torch.equal(output, want)
    ]
