# SPDX-License-Identifier: Apache-2.0
"""Gives the contestants their turns, takes the times, and counts what should have travelled. Layer: Python.

A round is a turn of every contestant, so that what the machine does besides strikes all alike; a turn is some
iterations, an iteration takes as long as its slowest rank, and a turn counts with the median of its iterations.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from torch import Tensor

from ascend_deepep import reference, required_window_bytes
from ascend_deepep.bench import ranks as rank_side
from ascend_deepep.bench.contestants import CONTESTANTS
from ascend_deepep.bench.processes import Processes
from ascend_deepep.bench.ranks import Checked, Turn
from ascend_deepep.bench.shapes import DTYPES, Shape
from ascend_deepep.demo.quantise import make_quantiser
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.errors import ArgumentError

#: Who takes turns, by the name of the figure: the group of processes and the layer.
ENTRIES = {
    "ours": ("plain", "ours"),
    "plain": ("plain", "alltoall"),
    "tuned": ("tuned", "alltoall"),
    "allgather": ("tuned", "allgather"),
}
_WARMUP = 2
_FEWEST, _MOST = 3, 20  # iterations of a turn, whose number its length decides
_TURN_SECONDS = 0.4
_COPIES = 3  # of a copy's turn
_ALLTOALL_ROWS = 3  # buffers of all rows at once, at the peak
_FLOAT32 = 4


@dataclass(frozen=True)
class Options:
    """How it is timed."""

    #: Layers beside ours.
    layers: tuple[str, ...] = ("alltoall", "allgather")
    rounds: int = 5
    #: Iterations of a turn; None: by the time they take.
    iters: int | None = None
    copy_bytes: int = 1 << 30

    @property
    def entries(self) -> dict[str, tuple[str, str]]:
        """Those of ENTRIES that take part."""
        return {name: place for name, place in ENTRIES.items() if place[1] in ("ours", *self.layers)}


@dataclass(frozen=True)
class Round:
    """Figures of one round."""

    #: Milliseconds by entry.
    ms: dict[str, float]
    dispatch_ms: float
    combine_ms: float
    #: Bytes written per second.
    copy_rate: float


@dataclass
class Measured:
    """A shape with all its figures. With findings it may have no rounds."""

    shape: Shape
    findings: list[str] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    layout: str = ""
    window_bytes: int = 0
    #: Counters of the iteration on the first batch, all ranks together.
    counted: dict[str, int] = field(default_factory=dict)
    #: Doorbells of an iteration, the mean of all timed ones, as they depend on the course of events.
    doorbells: float = 0.0
    iterations: dict[str, int] = field(default_factory=dict)


def bytes_needed(shape: Shape, options: Options) -> int:
    """Memory that the ranks touch at once, about; raises UsageError for what no communicator could be made for."""
    try:
        window = required_window_bytes(shape.ranks, **shape.maxima)
    except ArgumentError as error:
        raise UsageError(str(error), type(error).__name__) from None
    tokens = shape.ranks * shape.tokens * shape.row_bytes
    rows = shape.num_rows * shape.row_bytes
    ours = shape.ranks * window + rows + 2 * tokens
    alltoall = _ALLTOALL_ROWS * rows + 3 * tokens if "alltoall" in options.layers else 0
    parts = shape.ranks * shape.ranks * shape.tokens * shape.hidden * _FLOAT32
    allgather = 2 * parts + 3 * rows if "allgather" in options.layers else 0
    inputs = 2 * shape.num_batches * tokens
    return inputs + ours + alltoall + max(alltoall, allgather) + 2 * options.copy_bytes


def measure(
    shape: Shape, options: Options, processes: Processes, on_round: Callable[[], None] | None = None
) -> Measured:
    """Check all layers against each other, then time them."""
    measured = Measured(shape)
    groups = ("plain", "tuned")
    for group in groups:
        names = {layer for of, layer in options.entries.values() if of == group}
        # The plain ranks check every layer, so they have all of them.
        names = {"ours", *options.layers} if group == "plain" else names
        processes.call(group, rank_side.enter, shape.ranks, shape, {name: CONTESTANTS[name] for name in names})
    expected = _check(measured, processes)
    if not measured.findings:
        _time(measured, options, processes, expected, on_round)
    for group in groups:
        processes.call(group, rank_side.leave, shape.ranks)
    return measured


def traffic(shape: Shape, ids: Sequence[Tensor], layout: str) -> reference.Traffic:
    """What the ids of all ranks, (tokens, top-k) each, make travel: all ranks together, by the oracle."""
    wire = make_quantiser(DTYPES[shape.dtype], shape.hidden, shape.experts, shape.seed).wire(
        shape.hidden, shape.topk, shape.local_experts
    )
    wire = replace(wire, per_expert=layout == "per-expert")
    parts = reference.traffic(reference.route(ids, shape.experts), wire, "mte")
    return reference.Traffic(*(sum(getattr(part, name) for part in parts) for name in parts[0].__dataclass_fields__))


def _check(measured: Measured, processes: Processes) -> list[reference.Traffic]:
    """Compare the results of all layers on every batch, and what ours moved with the oracle's count."""
    shape = measured.shape
    expected = []
    for number in range(shape.num_batches):
        checked: list[Checked] = processes.call("plain", rank_side.check, shape.ranks, number)
        for rank, one in enumerate(checked):
            measured.findings += [f"rank {rank}, batch {number}: {finding}" for finding in one.findings]
        measured.layout, measured.window_bytes = checked[0].layout, checked[0].window_bytes
        counted = _sums([one.counted for one in checked])
        measured.counted = measured.counted or counted
        expected.append(traffic(shape, [one.ids for one in checked], measured.layout))
        measured.findings += _miscounted(counted, expected[-1:], f"batch {number}")
    return expected


def _miscounted(counted: dict[str, int], expected: Sequence[reference.Traffic], where: str) -> list[str]:
    found = []
    for name in ("copies", "bytes_put_dispatch"):
        wanted = sum(getattr(one, name) for one in expected)
        if counted[name] != wanted:
            found.append(f"{where}: {name} is {counted[name]}, and {wanted} by the ids")
    return found


def _time(
    measured: Measured,
    options: Options,
    processes: Processes,
    expected: list[reference.Traffic],
    on_round: Callable[[], None] | None,
) -> None:
    ranks = measured.shape.ranks

    def turn(entry: str, iterations: int) -> list[Turn]:
        group, layer = ENTRIES[entry]
        return processes.call(group, rank_side.turn, ranks, layer, iterations)

    for entry in options.entries:
        last = slowest(turn(entry, _WARMUP), "total")[-1]
        measured.iterations[entry] = options.iters or _iterations(last)
    doorbells = []
    for number in range(options.rounds):
        copies = processes.call("tuned", rank_side.copy_turn, ranks, options.copy_bytes, _COPIES)
        turns = {entry: turn(entry, measured.iterations[entry]) for entry in options.entries}
        ms = {entry: 1000 * statistics.median(slowest(taken, "total")) for entry, taken in turns.items()}
        halves = [1000 * statistics.median(slowest(turns["ours"], half)) for half in ("dispatch", "combine")]
        rate = _copied_bytes(options.copy_bytes, ranks) / _copy_seconds(copies)
        measured.rounds.append(Round(ms, halves[0], halves[1], rate))
        counted = _sums([one.counted for one in turns["ours"]])
        count = measured.iterations["ours"]
        met = [expected[index % len(expected)] for index in range(count)]
        measured.findings += _miscounted(counted, met, f"round {number}, {count} iterations")
        doorbells.append((counted["doorbells_dispatch"] + counted["doorbells_combine"]) / count)
        if on_round is not None:
            on_round()
    measured.doorbells = statistics.mean(doorbells)


def _iterations(seconds: float) -> int:
    return min(_MOST, max(_FEWEST, math.ceil(_TURN_SECONDS / seconds)))


def slowest(turns: list[Turn], part: str) -> list[float]:
    """Seconds of each iteration: those of its slowest rank."""
    times: list[list[float]] = [[getattr(iteration, part) for iteration in one.iterations] for one in turns]
    return [max(iteration) for iteration in zip(*times, strict=True)]


def _copied_bytes(num_bytes: int, ranks: int) -> int:
    return num_bytes // ranks * ranks


def _copy_seconds(copies: list[list[list[float]]]) -> float:
    """Of the better way: `copies[rank][way]` has the seconds of each time."""
    ways = zip(*copies, strict=True)
    medians: list[float] = [statistics.median(max(times) for times in zip(*way, strict=True)) for way in ways]
    return min(medians)


def _sums(parts: list[dict[str, int]]) -> dict[str, int]:
    return {name: sum(part[name] for part in parts) for name in parts[0]}
