# SPDX-License-Identifier: Apache-2.0
"""Large worlds: what their ranks count, whether the counts are those of the protocol, and the time of each role.

Layer: Python, no torch. The worlds are `simulator/scale/`; docs/scale.md says what the figures mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ascend_deepep.simulator.workers import Workers
from ascend_deepep.stats.statistics import COMBINE as COMBINE
from ascend_deepep.stats.statistics import DISPATCH as DISPATCH

if TYPE_CHECKING:
    from ascend_deepep._simulator import KernelDict, ScaleDict

TOKENS = 8
MORE_TOKENS = 32  # of one world a number of cores: there copies and the queues that carry them part
HIDDEN = 64
TOPK = 8
EXPERTS = 256
ROUNDS = 2

# Stages of a role, and whose cores play it: those of a range (the first cumsum core routes), or all of them.
_ALL = "all"
ROLES: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {
    DISPATCH: {
        "route": (("route",), "cumsum"),
        "stage": (("stage",), "stage"),
        "wqe_builder": (("wqe_builder",), "wqe_builder"),
        "doorbell": (("doorbell",), "doorbell"),
        "cumsum": (("cumsum", "prefix"), "cumsum"),
        "collect": (("collect",), _ALL),
    },
    COMBINE: {
        "control": (("control",), "control"),
        "doorbell": (("doorbell",), "doorbell"),
        "send": (("send",), "send"),
        "reduce": (("reduce",), _ALL),
    },
}
# Of a role, for each rank and operation.
ROLE_COUNTS = ("tag_loads", "abort_loads", "page_loads", "other_loads", "stores", "atomics", "copies", "polls")


@dataclass(frozen=True)
class ScaleWorld:
    """One large world. `costs`: of the virtual clock, those that are not the default."""

    ranks: int
    cores: int
    engine: str = "mte"
    tokens: int = TOKENS  # of a rank
    costs: tuple[tuple[str, int], ...] = ()

    def call(self) -> tuple[str, dict[str, Any]]:
        """`_simulator.run_scale` of it."""
        shape = {"tokens": self.tokens, "hidden": HIDDEN, "topk": TOPK, "experts": EXPERTS, "rounds": ROUNDS}
        world = {"ranks": self.ranks, "cores": self.cores, "engine": self.engine, "costs": list(self.costs)}
        return "run_scale", {**world, **shape}


@dataclass(frozen=True)
class RoleTime:
    """Virtual microseconds of a role in one operation, mean over ranks: its busiest core, and how long that waits."""

    cores: int
    busy_us: float
    wait_us: float
    counts: dict[str, float]  # of all its cores


@dataclass(frozen=True)
class Measured:
    """What came of one world."""

    world: ScaleWorld
    seconds: float
    steps: int
    faults: list[str]  # findings of checkers, and counts that are not what the protocol says
    call_us: dict[str, float]  # by operator, mean over ranks
    per_rank: dict[str, dict[str, float]]  # by operator: counts of a rank in one operation, mean
    roles: dict[str, dict[str, RoleTime]]  # by operator and role
    local_experts: int

    def to_json(self) -> dict[str, object]:
        """The row of `--json`."""
        return {
            "ranks": self.world.ranks,
            "cores": self.world.cores,
            "engine": self.world.engine,
            "tokens": self.world.tokens,
            "local_experts": self.local_experts,
            "faults": self.faults,
            "seconds": round(self.seconds, 1),
            "steps": self.steps,
            "operations": {
                name: {
                    "us": round(self.call_us[name], 1),
                    "per_rank": {count: round(value, 2) for count, value in self.per_rank[name].items()},
                    "roles": {
                        role: {
                            "cores": time.cores,
                            "busy_us": round(time.busy_us, 2),
                            "wait_us": round(time.wait_us, 2),
                            **{count: round(value, 2) for count, value in time.counts.items()},
                        }
                        for role, time in self.roles[name].items()
                    },
                }
                for name in (DISPATCH, COMBINE)
            },
        }


def measure(
    worlds: Sequence[ScaleWorld], jobs: int, kernels: str | None, advance: Callable[[int], None] | None = None
) -> list[Measured]:
    """Run them in processes; ValueError, one line, for a world that cannot be."""
    results: list[Measured] = []
    with Workers(min(jobs, len(worlds)), kernels) as workers:
        for done, (world, answer) in enumerate(workers.answers(worlds, 1), 1):
            if answer.refused:
                raise ValueError(answer.refused)
            died = Measured(world, answer.seconds, 0, [answer.died], {}, {}, {}, 0)
            results.append(died if answer.died else measured(world, answer.value, answer.seconds))
            if advance is not None:
                advance(done)
    return results


def measured(world: ScaleWorld, run: ScaleDict, seconds: float = 0.0) -> Measured:
    """What a run of `_simulator.run_scale` says of the world."""
    faults = [f"[{checker}] {text}" for checker, text in run["findings"]]
    if faults:
        return Measured(world, seconds, run["steps"], faults, {}, {}, {}, run["local_experts"])
    kernels = run["kernels"]
    return Measured(
        world,
        seconds,
        run["steps"],
        count_faults(world, run),
        {name: sum(kernels[name]["call_ns"]) / sum(kernels[name]["calls"]) / 1e3 for name in kernels},
        {name: _per_rank(kernels[name]) for name in kernels},
        {name: _role_times(kernels[name], run["roles"][name], world, ROLES[name]) for name in kernels},
        run["local_experts"],
    )


def count_faults(world: ScaleWorld, run: ScaleDict) -> list[str]:
    """Counts of any rank that are not exactly what docs/protocol.md and the ids make of them."""
    faults = []
    for name, kernel in run["kernels"].items():
        for rank, counts in enumerate(kernel["ranks"]):
            operations = kernel["calls"][rank]
            messages = world.ranks * operations
            wanted = {
                "posted": messages,
                "posted_bytes": messages * run["control_blocks"] * 512,
                "read": messages,
            }
            found = {**counts, "wqes": kernel["wqes"][rank]}
            if name == DISPATCH:
                wanted["wqes"] = run["remote_copies"][rank]
            elif world.engine == "mte":
                wanted["wqes"] = 0
            faults += [
                f"{name}, rank {rank}: {count} {found[count]}, want {value}"
                for count, value in wanted.items()
                if found[count] != value
            ]
            # Each message is looked at block by block, once at least.
            if counts["tag_loads"] < messages * run["control_blocks"]:
                faults.append(f"{name}, rank {rank}: {counts['tag_loads']} tags read of {messages} messages")
    return faults


def _per_rank(kernel: KernelDict) -> dict[str, float]:
    operations = sum(kernel["calls"])
    sums = {name: sum(counts[name] for counts in kernel["ranks"]) for name in kernel["ranks"][0]}
    return {**{name: value / operations for name, value in sums.items()}, "wqes": sum(kernel["wqes"]) / operations}


def _role_times(
    kernel: KernelDict,
    ranges: dict[str, tuple[int, int]],
    world: ScaleWorld,
    roles: dict[str, tuple[tuple[str, ...], str]],
) -> dict[str, RoleTime]:
    operations = sum(kernel["calls"])
    times = {}
    for role, (stages, who) in roles.items():
        first, count = (0, world.cores) if who == _ALL else ranges[who]
        cores = [[core[stage] for stage in stages if stage in core] for core in kernel["cores"][first : first + count]]
        if not cores:
            continue

        def total(core: list[dict[str, int]], name: str) -> float:
            return sum(counts[name] for counts in core) / operations

        busiest = max(cores, key=lambda core: total(core, "stage_ns") - total(core, "wait_ns"))
        wait_ns = total(busiest, "wait_ns")
        counts = {name: sum(total(core, name) for core in cores) for name in ROLE_COUNTS}
        times[role] = RoleTime(count, (total(busiest, "stage_ns") - wait_ns) / 1e3, wait_ns / 1e3, counts)
    return times
