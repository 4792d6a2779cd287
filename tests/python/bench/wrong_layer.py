# SPDX-License-Identifier: Apache-2.0
"""Layers and copies with one thing wrong, for ranks: the benchmark must find each. Layer: tests."""

from __future__ import annotations

from ascend_deepep import _runtime
from ascend_deepep.bench import ranks
from ascend_deepep.bench.contestants import AllToAll, Ours, Received
from ascend_deepep.bench.inputs import Batch
from ascend_deepep.testing import Context
from torch import Tensor


class OffByOneBit(AllToAll):
    """Its last rank's last element has another last bit."""

    def combine(self, batch: Batch, received: Received, y: Tensor) -> Tensor:
        result = super().combine(batch, received, y)
        result.view(-1)[-1] = result.view(-1)[-1] * 1.01 + 1.0
        return result


class Swapped(Ours):
    """Two tokens have changed places: of what both layers are compared with, too."""

    def combine(self, batch: Batch, received: Received, y: Tensor) -> Tensor:
        return super().combine(batch, received, y)[[1, 0, *range(2, len(batch.x))]]


class Chatty(Ours):
    """Dispatches twice, and gives the second."""

    def dispatch(self, batch: Batch) -> Received:
        super().dispatch(batch)
        return super().dispatch(batch)


def copy(context: Context, is_right: bool) -> list[int]:
    """A copy's turn, with a streaming copy of the runtime's that may do nothing: how often each way was timed."""
    had = _runtime.stream_copy
    if not is_right:
        _runtime.stream_copy = lambda to, source: None
    try:
        return [len(times) for times in ranks.copy_turn(context, 1 << 16, 4)]
    finally:
        ranks.leave(context)
        _runtime.stream_copy = had
