# SPDX-License-Identifier: Apache-2.0
"""Layers with one thing wrong, for ranks: the check of the benchmark must find each. Layer: tests."""

from __future__ import annotations

from ascend_deepep.bench.contestants import AllToAll, Ours, Received
from ascend_deepep.bench.inputs import Batch
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
