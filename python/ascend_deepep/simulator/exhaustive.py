# SPDX-License-Identifier: Apache-2.0
"""All runs of the tiny worlds with at most a few delays, one world a process. Layer: Python, no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ascend_deepep.simulator.options import command_line, drop_words
from ascend_deepep.simulator.workers import CHECKER_OF_DEATH, Workers

if TYPE_CHECKING:
    from ascend_deepep._simulator import SearchDict


@dataclass(frozen=True)
class SearchSettings:
    """What is done to every tiny world. `max_seconds` 0: no limit."""

    bound: int
    tokens: int = 1
    max_seconds: int = 0
    max_failures: int = 1
    drop: tuple[str, ...] = ()
    kernels: str | None = None

    def command(self, world: str, delays: str) -> str:
        """The command line that makes one run again."""
        of_tokens: list[object] = [] if self.tokens == 1 else ["--tokens", self.tokens]
        words = ["--exhaustive", "--delays", f"{world}:{delays}", *of_tokens, *drop_words(self.drop)]
        return command_line(words, self.kernels)


@dataclass(frozen=True)
class Search:
    """All runs of one world."""

    world: str
    settings: SearchSettings

    def call(self) -> tuple[str, dict[str, Any]]:
        """`_simulator.search` of it."""
        names = ("tokens", "bound", "max_seconds", "max_failures", "drop")
        return "search", {"world": self.world, **{name: getattr(self.settings, name) for name in names}}


@dataclass(frozen=True)
class Replay:
    """One run of a world."""

    world: str
    delays: str
    settings: SearchSettings
    timeline: str = ""

    def call(self) -> tuple[str, dict[str, Any]]:
        """`_simulator.replay_search` of it."""
        arguments = {"world": self.world, "delays": self.delays, "timeline": self.timeline}
        return "replay_search", {**arguments, "tokens": self.settings.tokens, "drop": self.settings.drop}


@dataclass(frozen=True)
class Replayed:
    """What came of one run; no fingerprint where it cost its process."""

    fingerprint: str | None
    findings: list[tuple[str, str]]


def search_worlds(
    worlds: Sequence[str], settings: SearchSettings, jobs: int, advance: Callable[[int], None] | None = None
) -> list[SearchDict]:
    """One result a world, in their order; `advance` hears how many runs all of them have made."""
    heard = [0] * len(worlds)

    def hear(number: int, runs: int) -> None:
        heard[number] = runs
        if advance is not None:
            advance(sum(heard))

    results: list[SearchDict] = []
    with Workers(min(jobs, len(worlds)), settings.kernels) as workers:
        for number, (_, answer) in enumerate(workers.answers([Search(w, settings) for w in worlds], 1, hear)):
            if answer.refused:
                raise ValueError(answer.refused)
            failure = (CHECKER_OF_DEATH, answer.died, answer.delays)
            results.append(_ended(heard[number], settings.bound, failure) if answer.died else answer.value)
    return results


def _ended(runs: int, bound: int, failure: tuple[str, str, str]) -> SearchDict:
    """A search whose process died: what is known of it."""
    counts = {"runs": runs, "replayed": runs, "points": 0, "different": 0, "bound": bound}
    return {**counts, "is_complete": False, "seconds": 0.0, "failures": [failure]}  # type: ignore[typeddict-item]


def replay(world: str, delays: str, settings: SearchSettings, timeline: str) -> Replayed:
    """Make one run again."""
    with Workers(1, settings.kernels) as workers:
        ((_, answer),) = workers.answers([Replay(world, delays, settings, timeline)], 1)
    if answer.refused:
        raise ValueError(answer.refused)
    if answer.died:
        return Replayed(None, [(CHECKER_OF_DEATH, answer.died)])
    return Replayed(f"{answer.value['hash']:016x}", answer.value["findings"])


def search_json(worlds: Sequence[str], results: Sequence[SearchDict], settings: SearchSettings) -> dict[str, object]:
    """The object of `--exhaustive --json`."""
    failed = _failed(worlds, results, settings)
    return {
        "bound": settings.bound,
        "tokens": settings.tokens,
        "is_complete": all(result["is_complete"] for result in results),
        "runs": sum(result["runs"] for result in results),
        "failures": len(failed),
        "failed": [replayed for _, _, _, replayed in failed],
        "seconds": round(max(result["seconds"] for result in results), 1),
        "worlds": [
            {
                "world": world,
                **{name: result[name] for name in ("runs", "replayed", "points", "different", "is_complete")},
                "seconds": round(result["seconds"], 1),
            }
            for world, result in zip(worlds, results, strict=True)
        ],
        "findings": [
            {"world": world, "checker": checker, "text": text, "replay": replayed}
            for world, checker, text, replayed in failed
        ],
    }


def search_lines(worlds: Sequence[str], results: Sequence[SearchDict], settings: SearchSettings) -> list[str]:
    """The same for a reader: a line a world, a line a failure, the verdict."""
    lines = [
        f"{world}: {result['runs']} runs of at most {settings.bound} delays, {result['different']} different, "
        f"{'complete' if result['is_complete'] else 'stopped before the end'}, {result['seconds']:.1f} s"
        for world, result in zip(worlds, results, strict=True)
    ]
    failed = _failed(worlds, results, settings)
    lines += [f"FAILED {world} [{checker}] {text}; replay: {line}" for world, checker, text, line in failed]
    total = sum(result["runs"] for result in results)
    is_complete = all(result["is_complete"] for result in results)
    verdict = "FAILED" if failed else "HELD" if is_complete else "HELD SO FAR"
    return [*lines, f"{verdict} {total} runs of {len(worlds)} worlds, bound {settings.bound}, tokens {settings.tokens}"]


def _failed(
    worlds: Sequence[str], results: Sequence[SearchDict], settings: SearchSettings
) -> list[tuple[str, str, str, str]]:
    return [
        (world, checker, text, settings.command(world, delays))
        for world, result in zip(worlds, results, strict=True)
        for checker, text, delays in result["failures"]
    ]
