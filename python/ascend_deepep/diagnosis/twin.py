# SPDX-License-Identifier: Apache-2.0
"""Statistics of a layer on the twin, in real time, with a late rank or skewed routing planted. Layer: Python.

The links' figures come of two short runs on the same ranks: with a token a rank for alpha, with half of the tokens for
the bytes. So a machine that is slow as a whole is not found out, and a part of it is.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from ascend_deepep import Communicator, required_window_bytes
from ascend_deepep.bench.inputs import Batch, make_batch
from ascend_deepep.bench.processes import values_of
from ascend_deepep.bench.shapes import Shape
from ascend_deepep.config import PREFIX, TWIN
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.diagnosis.measures import measures
from ascend_deepep.diagnosis.plants import Plant
from ascend_deepep.errors import ArgumentError
from ascend_deepep.stats.recorder import Recorder
from ascend_deepep.stats.statistics import OPERATORS, Link, Statistics
from ascend_deepep.testing import Pool

if TYPE_CHECKING:
    from ascend_deepep.testing import Context

LATE_SECONDS = 0.2
_SECONDS = 600.0
_GRACE_SECONDS = 40.0
_WARMUP = 2  # steps that are not recorded: first uses of memory
_CALIBRATION_STEPS = 20


@dataclass(frozen=True)
class Layer:
    """What is run: a shape, how often, and what is wrong with it."""

    shape: Shape
    steps: int = 10
    plant: Plant | None = None
    num_cores: int | None = None

    def describe(self) -> str:
        """For a title."""
        text = f"twin, {self.shape.describe()}"
        return text if self.plant is None else f"{text}; planted: {self.plant.describe()}"


def check_layer(layer: Layer) -> None:
    """Raise UsageError for what no communicator could be made for, before ranks are started."""
    shape = layer.shape
    try:
        required_window_bytes(shape.ranks, **shape.maxima)
    except ArgumentError as error:
        raise UsageError(str(error), type(error).__name__) from None
    if shape.tokens < 1:
        raise UsageError(f"--tokens {shape.tokens} is below 1: a layer without tokens has nothing to look at")


def twin_statistics(layer: Layer, pool: Pool) -> Statistics:
    """Run it on ranks of the pool, in real time. Every output is compared with its answer.

    Errors: UsageError for what the communicator refuses, its other errors as they are, OutOfTime, RankErrors.
    """
    outcomes = pool.outcomes(
        record_layer,
        layer.shape.ranks,
        layer,
        timeout=_SECONDS,
        grace=_GRACE_SECONDS,
        env={f"{PREFIX}TARGET": TWIN},
    )
    statistics = values_of(outcomes, _SECONDS)[0]
    assert isinstance(statistics, Statistics)
    return statistics


def record_layer(context: Context, layer: Layer) -> Statistics:
    """What every rank runs: a calibration, then the steps. Collective."""
    torch.set_num_threads(1)
    shape = layer.shape
    with Communicator(context.group, **shape.maxima, num_cores=layer.num_cores) as communicator:
        recorder = Recorder(communicator, steps=max(layer.steps, _CALIBRATION_STEPS))
        link = _calibrate(recorder, context, shape)
        batches = _batches(shape, context.rank)
        if layer.plant is not None and layer.plant.kind == "skew":
            hot_rank = random.Random(shape.seed).randrange(shape.ranks)
            batches = [_skewed(batch, shape, hot_rank) for batch in batches]
        _warm_up(recorder, context, batches)
        is_late = layer.plant is not None and layer.plant.kind == "late" and layer.plant.rank == context.rank
        for number in range(layer.steps):
            if is_late:
                time.sleep(LATE_SECONDS)
            _step(recorder, batches[number % len(batches)], context)
        return recorder.gather(context.group, link=link, title=layer.describe())


def _batches(shape: Shape, rank: int) -> list[Batch]:
    return [make_batch(shape, rank, number) for number in range(shape.num_batches)]


def _skewed(batch: Batch, shape: Shape, rank: int) -> Batch:
    """The first choice of every token is the first expert of this rank, the others are as uniform as they were."""
    hot = rank * shape.local_experts
    rest = torch.where(batch.ids == hot, batch.ids[:, :1], batch.ids)[:, 1:]
    return replace(batch, ids=torch.cat([torch.full_like(batch.ids[:, :1], hot), rest], dim=1))


def _warm_up(recorder: Recorder, context: Context, batches: list[Batch]) -> None:
    for number in range(_WARMUP):
        _step(recorder, batches[number % len(batches)], context)
    recorder.clear()
    dist.barrier(context.group)


def _step(recorder: Recorder, batch: Batch, context: Context) -> None:
    """A dispatch and its combine; experts give back what they get."""
    got = recorder.dispatch_v2(batch.x, batch.ids)
    places = (got.assist_info_for_combine, got.ep_recv_counts)
    y = recorder.combine_v2(got.expand_x, batch.ids, *places, batch.weights)
    if not torch.equal(y, batch.answer()):
        raise RuntimeError(f"rank {context.rank}: the output of combine is not x times the sum of its weights")


def _calibrate(recorder: Recorder, context: Context, shape: Shape) -> Link:
    """Alpha and the bytes of a microsecond that two runs of even routing come to."""
    found = []
    for tokens in (1, max(2, shape.tokens // 2)):
        even = replace(shape, tokens=tokens, routing="uniform")
        batches = _batches(even, context.rank)
        _warm_up(recorder, context, batches)
        for number in range(_CALIBRATION_STEPS):
            _step(recorder, batches[number % len(batches)], context)
        found.append(recorder.gather(context.group))
        recorder.clear()
    alpha_us, half_us = (sum(measures(of, operator).slowest_us for operator in OPERATORS) for of in found)
    moved = sum(max(map(max, found[1].bytes_moved(operator))) for operator in OPERATORS)
    alpha_moved = sum(max(map(max, found[0].bytes_moved(operator))) for operator in OPERATORS)
    bytes_per_us = max(1.0, moved - alpha_moved) / max(1.0, half_us - alpha_us)
    return Link(alpha_us / len(OPERATORS), bytes_per_us, fitted_here=True)
