# SPDX-License-Identifier: Apache-2.0
"""What the processes of the ranks do between `enter` and `leave`, a call of the pool each. Layer: Python, torch."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor

from ascend_deepep import _runtime
from ascend_deepep.bench.contestants import Contestant, Ours, Received
from ascend_deepep.bench.inputs import Batch, make_batch
from ascend_deepep.bench.shapes import Shape

if TYPE_CHECKING:
    from ascend_deepep.testing import Context

#: Numbers of `Communicator.counters` that belong to an iteration.
COUNTED = (
    "copies",
    "bytes_put_dispatch",
    "bytes_put_combine",
    "bytes_put_control",
    "wqes_dispatch",
    "wqes_combine",
    "doorbells_dispatch",
    "doorbells_combine",
)


@dataclass(frozen=True)
class Iteration:
    """Seconds of one iteration on one rank."""

    total: float
    dispatch: float
    combine: float


@dataclass(frozen=True)
class Turn:
    """What a rank tells of its iterations."""

    iterations: list[Iteration]
    #: Growth of the counters, summed over the iterations; empty unless the contestant is ours.
    counted: dict[str, int]


@dataclass(frozen=True)
class Checked:
    """What a rank tells of one batch."""

    #: (tokens, top-k) int32.
    ids: Tensor
    #: Growth of the counters in our layer.
    counted: dict[str, int]
    #: A line for each layer that gave something else.
    findings: list[str]
    layout: str
    window_bytes: int


@dataclass
class _Rank:
    shape: Shape
    batches: list[Batch]
    layers: dict[str, Contestant]
    #: The experts' outputs where they are not the rows that came, by layer.
    outputs: dict[str, Tensor] = field(default_factory=dict)

    def work(self, name: str, received: Received) -> Tensor:
        """The experts' part in a timed iteration, which is not timed: there it takes outputs that are there already."""
        if received.scales is None:
            return received.rows
        kept = self.outputs.get(name)
        if kept is None or len(kept) < len(received.rows):
            kept = self.outputs[name] = decoded(received)
        return kept[: len(received.rows)]


_entered: _Rank | None = None
_copied: tuple[Tensor, Tensor] | None = None


def _here() -> _Rank:
    assert _entered is not None, "enter() comes first"
    return _entered


def enter(context: Context, shape: Shape, layers: Mapping[str, type[Contestant]]) -> None:
    """Make the inputs and the layers, by name, of a shape."""
    global _entered
    leave(context)
    torch.set_num_threads(1)
    batches = [make_batch(shape, context.rank, number) for number in range(shape.num_batches)]
    _entered = _Rank(shape, batches, {name: layer(shape) for name, layer in layers.items()})


def leave(context: Context) -> None:
    """Give back all that `enter` and `copy_turn` made, to the system too: the next shape finds the memory free."""
    global _entered, _copied
    if _entered is not None:
        for layer in _entered.layers.values():
            layer.close()
    _entered = _copied = None
    ctypes.CDLL(None).malloc_trim(0)


def check(context: Context, number: int) -> Checked:
    """All layers on the batch of this number: what came out, compared, and what ours moved for it."""
    here, batch = _here(), _here().batches[number]
    ours = here.layers["ours"]
    assert isinstance(ours, Ours)
    before = _counted(ours)
    result = _whole(ours, batch)
    counted = _growth(before, _counted(ours))
    findings = [f"ours is not x times the sum of its weights: {found}" for found in _differs(result, batch.answer())]
    for name, layer in here.layers.items():
        if layer is not ours:
            findings += [f"{name} differs from ours: {found}" for found in _differs(_whole(layer, batch), result)]
    return Checked(batch.ids, counted, findings, ours.comm.layout, ours.comm.window_bytes)


def turn(context: Context, name: str, iterations: int) -> Turn:
    """Time a layer, batch after batch from the first on. All ranks start an iteration together."""
    here = _here()
    layer = here.layers[name]
    before = _counted(layer)
    times = []
    for index in range(iterations):
        batch = here.batches[index % len(here.batches)]
        dist.barrier()
        start = time.perf_counter()
        received = layer.dispatch(batch)
        dispatched = time.perf_counter()
        y = here.work(name, received)
        worked = time.perf_counter()
        output = layer.combine(batch, received, y)
        end = time.perf_counter()
        del received, y, output
        times.append(Iteration(dispatched - start + end - worked, dispatched - start, end - worked))
    return Turn(times, _growth(before, _counted(layer)))


def copy_turn(context: Context, num_bytes: int, iterations: int) -> list[list[float]]:
    """Seconds of copying this rank's share of `num_bytes`, all ranks at once, by each way of copying there is."""
    global _copied
    share = num_bytes // context.num_ranks
    is_first = _copied is None or len(_copied[0]) != share
    if is_first:
        _copied = None  # before there are new ones
        _copied = (torch.ones(share, dtype=torch.uint8), torch.empty(share, dtype=torch.uint8))
    assert _copied is not None
    source, target = _copied
    ways: list[Callable[[], object]] = [
        lambda: target.copy_(source),
        lambda: _runtime.stream_copy(target.numpy(), source.numpy()),
    ]
    times = []
    for number, way in enumerate(ways):
        if is_first:
            target.zero_()
            way()
            if not torch.equal(target, source):
                raise RuntimeError(f"rank {context.rank}: way {number} of copying left other bytes than the source's")
        taken = []
        for _ in range(iterations):
            dist.barrier()
            start = time.perf_counter()
            way()
            taken.append(time.perf_counter() - start)
        times.append(taken)
    return times


def _whole(layer: Contestant, batch: Batch) -> Tensor:
    received = layer.dispatch(batch)
    return layer.combine(batch, received, received.rows if received.scales is None else decoded(received))


def decoded(received: Received) -> Tensor:
    """The experts' outputs: bfloat16 rows, of which those beyond `num_rows` are nothing."""
    assert received.scales is not None
    count = received.num_rows
    y = torch.empty(received.rows.shape, dtype=torch.bfloat16)
    torch.mul(received.rows[:count], received.scales[:count, None], out=y[:count])
    return y


def _differs(found: Tensor, wanted: Tensor) -> list[str]:
    if torch.equal(found, wanted):
        return []
    return [f"{int((found != wanted).sum())} of {wanted.numel()} elements"]


def _counted(layer: Contestant) -> dict[str, int]:
    if not isinstance(layer, Ours):
        return {}
    counters: Mapping[str, int] = layer.comm.counters()  # type: ignore[assignment]
    return {name: counters[name] for name in COUNTED}


def _growth(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in before}
