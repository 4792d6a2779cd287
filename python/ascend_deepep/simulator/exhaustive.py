# SPDX-License-Identifier: Apache-2.0
"""All runs of the tiny worlds with at most a few delays, one world a process. Layer: Python, no torch."""

from __future__ import annotations

import multiprocessing
import os
import shlex
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_deepep._simulator import SearchDict

_KERNELS = "ASCEND_DEEPEP_KERNELS"


@dataclass(frozen=True)
class SearchSettings:
    """What is done to every tiny world. `max_seconds` 0: no limit."""

    bound: int
    max_seconds: float = 0.0
    max_failures: int = 1
    drop: tuple[str, ...] = ()
    kernels: str | None = None

    def command(self, world: str, delays: str) -> str:
        """The command line that makes one run again."""
        words = ["ascend-deepep", "sim", "--exhaustive", "--delays", f"{world}:{delays}"]
        for name in self.drop:
            words += ["--drop", name]
        words += [] if self.kernels is None else ["--kernels", self.kernels]
        return shlex.join(words)


def search_worlds(worlds: Sequence[str], settings: SearchSettings, jobs: int) -> list[SearchDict]:
    """One result a world, in their order."""
    context = multiprocessing.get_context("spawn")  # a fork keeps what this process has open
    with ProcessPoolExecutor(min(jobs, len(worlds)), context, _open, (settings.kernels,)) as pool:
        return list(pool.map(_search, worlds, [settings] * len(worlds)))


def _open(kernels: str | None) -> None:
    if kernels is not None:
        os.environ[_KERNELS] = kernels


def _search(world: str, settings: SearchSettings) -> SearchDict:
    from ascend_deepep import _simulator

    return _simulator.search(
        world,
        bound=settings.bound,
        max_seconds=settings.max_seconds,
        max_failures=settings.max_failures,
        drop=settings.drop,
    )


def replay(world: str, delays: str, settings: SearchSettings, timeline: str) -> tuple[str, list[tuple[str, str]]]:
    """Fingerprint and findings of one run."""
    from ascend_deepep import _simulator

    _open(settings.kernels)
    run = _simulator.replay_search(world, delays, drop=settings.drop, timeline=timeline)
    return f"{run['hash']:016x}", run["findings"]


def search_json(worlds: Sequence[str], results: Sequence[SearchDict], settings: SearchSettings) -> dict[str, object]:
    """The object of `--exhaustive --json`."""
    failed = _failed(worlds, results, settings)
    return {
        "bound": settings.bound,
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
    return [*lines, f"{verdict} {total} runs of {len(worlds)} worlds, bound {settings.bound}"]


def _failed(
    worlds: Sequence[str], results: Sequence[SearchDict], settings: SearchSettings
) -> list[tuple[str, str, str, str]]:
    return [
        (world, checker, text, settings.command(world, delays))
        for world, result in zip(worlds, results, strict=True)
        for checker, text, delays in result["failures"]
    ]
