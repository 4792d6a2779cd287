# SPDX-License-Identifier: Apache-2.0
"""Statistics of a world of the simulator, in virtual time: the kernels' own, with a planted cause. Layer: Python.

Links take one block after another, so bytes take time; each cost of an access is an assumption (docs/scale.md). The
same options give the same statistics to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ascend_deepep.demo.usage import UsageError
from ascend_deepep.diagnosis.plants import Plant
from ascend_deepep.stats.statistics import COMBINE, DISPATCH, OPERATORS, Link, OperatorStatistics, Statistics

if TYPE_CHECKING:
    from ascend_deepep._simulator import CallDict, ScaleDict

_BLOCK, _BLOCK_DATA = 512, 480
_LINK_BLOCK_NS = 2000  # of a block on a link: slow, so that bytes count in a small world
_STALL_NS = 500_000  # a call of these worlds takes a few hundred microseconds
_SLOWER = 5  # times, of a link
_MOST_BLOCKS = 2_000_000  # of all ranks and steps: a minute or so


@dataclass(frozen=True)
class World:
    """What is run. Experts and tokens are of all ranks and of each rank."""

    ranks: int = 8
    cores: int = 8
    tokens: int = 32
    hidden: int = 1024
    topk: int = 4
    experts: int = 16
    engine: str = "mte"
    routing: str = "uniform"
    steps: int = 3
    seed: int = 1

    def describe(self) -> str:
        """For a title."""
        sizes = f"{self.ranks} ranks, {self.tokens} tokens, hidden {self.hidden}, top-{self.topk} of {self.experts}"
        return f"virtual time, {sizes}, {self.routing} routing"


def world_statistics(world: World, plant: Plant | None = None) -> Statistics:
    """Run it twice, once with a token a rank, which gives the links' alpha. UsageError for a world that cannot be."""
    small = _run(world, None, tokens=1)
    calls = [call for call in small["calls"] if call["step"] > 0 or world.steps == 1]
    alpha_us = sum(_own_us(calls, operator) for operator in OPERATORS) / len(OPERATORS)
    link = Link(alpha_us, 1e3 * _BLOCK / _LINK_BLOCK_NS)
    return _statistics(world, _run(world, plant, world.tokens), link, plant)


def _run(world: World, plant: Plant | None, tokens: int) -> ScaleDict:
    from ascend_deepep import _simulator

    blocks = 2 * world.steps * world.ranks * world.tokens * world.topk * (1 + 2 * world.hidden // _BLOCK_DATA)
    if blocks > _MOST_BLOCKS:
        raise UsageError(
            f"{blocks} blocks of 512 B are too many for virtual time, which takes {_MOST_BLOCKS}: lower --tokens, "
            "--hidden, --ranks, --topk or --steps, or leave out --sim"
        )
    handicap, of_handicap = _handicap(plant)
    try:
        run = _simulator.run_scale(
            ranks=world.ranks,
            cores=world.cores,
            tokens=tokens,
            hidden=world.hidden,
            topk=world.topk,
            experts=world.experts,
            engine=world.engine,
            rounds=world.steps,
            costs=[("link_block_ns", _LINK_BLOCK_NS)],
            routing="skewed" if plant is not None and plant.kind == "skew" else world.routing,
            seed=world.seed,
            calls=True,
            handicap=handicap,
            of_handicap=of_handicap,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    if run["findings"]:
        checker, text = run["findings"][0]
        raise RuntimeError(f"the simulator found a fault of the kernels: [{checker}] {text}")
    return run


def _handicap(plant: Plant | None) -> tuple[str, list[tuple[str, int]]]:
    if plant is None or plant.kind == "skew":
        return "none", []
    if plant.kind == "core":
        return "core", [("rank", plant.rank), ("core", plant.other), ("ns", _STALL_NS)]
    if plant.kind == "link":
        return "link", [("rank", plant.rank), ("peer", plant.other), ("times", _SLOWER)]
    return "entry", [("rank", plant.rank), ("ns", _STALL_NS)]


def _own_us(calls: list[CallDict], operator: str) -> float:
    """From the last entry to the end, the longest of a step; the mean over steps."""
    steps: dict[int, list[CallDict]] = {}
    for call in calls:
        if call["operator"] == operator:
            steps.setdefault(call["step"], []).append(call)
    longest = [max(c["end_ns"] for c in of) - max(c["start_ns"] for c in of) for of in steps.values()]
    return sum(longest) / len(longest) / 1e3


def _statistics(world: World, run: ScaleDict, link: Link, plant: Plant | None) -> Statistics:
    from ascend_deepep import _simulator

    calls = {(call["operator"], call["step"], call["rank"]): call for call in run["calls"]}
    ranks, steps, local = range(world.ranks), range(world.steps), world.experts // world.ranks
    rows = [[[0] * world.ranks for _ in range(local)] for _ in ranks]
    for step in steps:
        for rank in ranks:
            sums = [0, *calls[DISPATCH, step, rank]["recv_counts"]]
            for pair in range(local * world.ranks):
                rows[rank][pair // world.ranks][pair % world.ranks] += sums[pair + 1] - sums[pair]
    layout = _simulator.scale_layout(
        ranks=world.ranks,
        cores=world.cores,
        tokens=world.tokens,
        hidden=world.hidden,
        topk=world.topk,
        experts=world.experts,
        engine=world.engine,
    )
    remote_rows = [
        sum(sum(of_source) for source, of_source in enumerate(zip(*rows[rank], strict=True)) if source != rank)
        for rank in ranks
    ]
    put: dict[str, list[int]] = {
        DISPATCH: [copies * layout["copy_bytes"] for copies in run["remote_copies"]],
        COMBINE: [count * layout["row_bytes"] for count in remote_rows],
    }

    def by_step(operator: str, value: Any) -> list[list[Any]]:
        return [[value(calls[operator, step, rank]) for rank in ranks] for step in steps]

    first_ns = min(call["start_ns"] for call in run["calls"])
    operators = {
        operator: OperatorStatistics(
            waits_us=by_step(operator, lambda call: call["waits_us"]),
            entry_us=by_step(operator, lambda call: (call["start_ns"] - first_ns) / 1e3),
            call_us=by_step(operator, lambda call: (call["end_ns"] - call["start_ns"]) / 1e3),
            bytes_put=put[operator],
        )
        for operator in OPERATORS
    }
    title = world.describe() if plant is None else f"{world.describe()}; planted: {plant.describe()}"
    tokens = [[world.tokens] * world.ranks for _ in steps]
    return Statistics("simulator", world.ranks, world.experts, operators, rows, tokens, link=link, title=title)
