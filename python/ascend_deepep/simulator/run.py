# SPDX-License-Identifier: Apache-2.0
"""Many seeds, and what they came to. Layer: Python, no torch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ascend_deepep.simulator.options import WorldOptions
from ascend_deepep.simulator.workers import Job, Outcome, Workers


@dataclass(frozen=True)
class Failure:
    """A seed that some checker stopped."""

    seed: int
    checker: str
    text: str
    replay: str


@dataclass
class SeedsResult:
    """Sums over the seeds, up to the last failure that was asked for: the same for any number of processes."""

    seeds: int = 0
    failures: list[Failure] = field(default_factory=list)
    hashes: set[int] = field(default_factory=set)
    struck: Counter[str] = field(default_factory=Counter)  # worlds by the fault that struck
    conditions: Counter[str] = field(default_factory=Counter)  # worlds by condition
    features: Counter[str] = field(default_factory=Counter)  # worlds by feature of their calls
    timed: Counter[str] = field(default_factory=Counter)  # worlds by the timed shape that their calls have
    remote: int = 0
    failed_calls: int = 0
    steps: int = 0
    refused: list[str] = field(default_factory=list)  # worlds that the settings make illegal
    times: list[float] = field(default_factory=list)  # seconds of each seed
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Count one seed."""
        job = outcome.job
        if outcome.refused:
            self.refused.append(f"seed {job.seed}: {outcome.refused}")
            return
        self.seeds += 1
        if outcome.checker:
            replay = job.options.command(job.seed)
            self.failures.append(Failure(job.seed, outcome.checker, outcome.text, replay))
        if outcome.run is None:
            return
        self.hashes.add(outcome.run["hash"])
        self.struck.update(outcome.run["struck"])
        self.conditions.update(outcome.run["conditions"])
        self.features.update(outcome.run["features"])
        self.timed.update([outcome.run["timed"]] if outcome.run["timed"] else [])
        self.remote += outcome.run["has_remote_row"]
        self.failed_calls += outcome.run["failed_calls"]
        self.steps += outcome.run["steps"]
        self.times.append(outcome.seconds)

    @property
    def p95_seconds(self) -> float:
        """Longest time of a seed but for the slowest twentieth."""
        return sorted(self.times)[(len(self.times) * 95 - 1) // 100] if self.times else 0.0


def run_seeds(
    workers: Workers,
    seeds: Iterable[int],
    options: WorldOptions,
    max_failures: int,
    advance: Callable[[int], None] | None = None,
) -> SeedsResult:
    """Run the seeds in order until all have run or `max_failures` have failed; `advance` hears how many are done."""
    start = time.monotonic()
    result = SeedsResult()
    for done, outcome in enumerate(workers.run(Job(seed, options) for seed in seeds), 1):
        result.add(outcome)
        if advance is not None:
            advance(done)
        if len(result.failures) >= max_failures:
            break
    result.seconds = time.monotonic() - start
    return result
