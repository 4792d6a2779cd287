# SPDX-License-Identifier: Apache-2.0
"""The smallest world that still fails in the same way. Layer: Python, no torch.

Greedy: one thing is made smaller at a time, and kept where some schedule of the smaller world is stopped by the same
checker. It ends when nothing can be made smaller, or when its time is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ascend_deepep.simulator import smaller
from ascend_deepep.simulator.options import WorldOptions
from ascend_deepep.simulator.workers import Job, Workers

SECONDS = 20.0
# Schedules that a smaller world is tried with, besides the one that failed before: more when fewer show nothing.
_SCHEDULES = (6, 24, 96)


@dataclass(frozen=True)
class Shrunk:
    """What shrinking came to. `is_done`: nothing could be made smaller any more."""

    seed: int
    options: WorldOptions
    description: str
    runs: int
    seconds: float
    is_done: bool

    @property
    def replay(self) -> str:
        """The command line that shows the failure by itself."""
        return self.options.command(self.seed)


class _Shrinker:
    def __init__(self, workers: Workers, seed: int, checker: str, seconds: float) -> None:
        self._workers = workers
        self._seed = seed
        self._checker = checker
        self._deadline = time.monotonic() + seconds
        self.schedules = _SCHEDULES[0]
        self.runs = 0

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._deadline

    def settings_of(self, options: WorldOptions) -> dict[str, str]:
        """Every setting of the world; raises ValueError where it is not legal. Draws, and runs nothing."""
        from ascend_deepep import _simulator

        return _simulator.scenario(self._seed, **options.arguments())["settings"]

    def pass_over(self, options: WorldOptions) -> tuple[WorldOptions, bool]:
        """Try everything that may be smaller, once; the smallest found, and whether anything was."""
        has_shrunk = False
        for name in smaller.KINDS:
            while not self.is_over:
                found = next(filter(None, (self._try(options, c) for c in self._candidates(name, options))), None)
                if found is None:
                    break
                options, has_shrunk = found, True
        return options, has_shrunk

    def _candidates(self, name: str, options: WorldOptions) -> Iterator[Mapping[str, str]]:
        for changes in smaller.KINDS[name](self.settings_of(options)):
            if self.is_over:
                return
            yield changes

    def _try(self, options: WorldOptions, changes: Mapping[str, str]) -> WorldOptions | None:
        candidate = replace(options, settings=tuple({**dict(options.settings), **changes}.items()))
        try:
            self.settings_of(candidate)
        except ValueError:
            return None
        schedules = [options.schedule_seed, *range(1, self.schedules + 1)]
        jobs = [Job(self._seed, replace(candidate, schedule_seed=schedule)) for schedule in schedules]
        for outcome in self._workers.run(jobs, chunk=1):
            self.runs += 1
            if outcome.checker == self._checker:
                return outcome.job.options
        return None

    def shorten(self, options: WorldOptions) -> WorldOptions:
        """The same world by fewer settings: those that follow from the others are left out."""
        world = self.settings_of(options)
        for name, _ in options.settings:
            fewer = replace(options, settings=tuple(pair for pair in options.settings if pair[0] != name))
            try:
                if self.settings_of(fewer) == world:
                    options = fewer
            except ValueError:
                continue
        return options


def shrink(workers: Workers, seed: int, options: WorldOptions, checker: str, seconds: float = SECONDS) -> Shrunk | None:
    """Shrink a world that `checker` stops. None where its first run again is not stopped by it."""
    from ascend_deepep import _simulator

    start = time.monotonic()
    shrinker = _Shrinker(workers, seed, checker, seconds)
    for shrinker.schedules in _SCHEDULES:
        has_shrunk = True
        while has_shrunk and not shrinker.is_over:
            options, has_shrunk = shrinker.pass_over(options)
    is_done = not shrinker.is_over
    options = shrinker.shorten(options)
    again = next(workers.run([Job(seed, options)], chunk=1))
    if again.checker != checker:
        return None
    description = _simulator.scenario(seed, **options.arguments())["description"]
    return Shrunk(seed, options, description, shrinker.runs, time.monotonic() - start, is_done)
