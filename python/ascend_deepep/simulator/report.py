# SPDX-License-Identifier: Apache-2.0
"""What `ascend-deepep sim` shows: JSON objects, the table, a line a failure. Layer: Python, no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from ascend_deepep.simulator.run import Failure, SeedsResult
from ascend_deepep.simulator.shrink import Shrunk
from ascend_deepep.simulator.workers import Outcome

Smallest = Mapping[int, Shrunk]  # by the seed that failed


def seeds_json(result: SeedsResult, kinds: Sequence[str], smallest: Smallest) -> dict[str, object]:
    """The object of `--json` for many seeds."""
    return {
        "seeds": result.seeds,
        "failures": len(result.failures),
        "failed": [failure.replay for failure in result.failures],
        "distinct": len(result.hashes),
        "seeds_per_s": round(result.seeds / result.seconds, 1),
        "p95_ms": round(result.p95_seconds * 1e3, 1),
        "max_ms": round(max(result.times, default=0.0) * 1e3, 1),
        "seconds": round(result.seconds, 1),
        "remote_percent": round(100 * result.remote / max(1, result.seeds), 1),
        "faults": {kind: result.struck[kind] for kind in kinds},
        "conditions": dict(sorted(result.conditions.items())),
        "features": dict(sorted(result.features.items())),
        "timed": dict(sorted(result.timed.items())),
        "failed_calls": result.failed_calls,
        "refused": len(result.refused),
        "steps": result.steps,
        "findings": [_failure_json(failure, smallest.get(failure.seed)) for failure in result.failures],
    }


def _failure_json(failure: Failure, shrunk: Shrunk | None) -> dict[str, object]:
    value: dict[str, object] = {
        "seed": failure.seed,
        "checker": failure.checker,
        "text": failure.text,
        "replay": failure.replay,
    }
    if shrunk is not None:
        value["shrunk"] = {
            "replay": shrunk.replay,
            "description": shrunk.description,
            "runs": shrunk.runs,
            "seconds": round(shrunk.seconds, 1),
            "is_done": shrunk.is_done,
        }
    return value


def print_seeds(result: SeedsResult, kinds: Sequence[str], smallest: Smallest, console: Console) -> None:
    """The tables of faults, conditions and features, a few numbers, the failures, and the last line."""
    console.print(_table("fault that struck", {kind: result.struck[kind] for kind in kinds}))
    console.print(_table("condition", dict(sorted(result.conditions.items()))))
    console.print(_table("feature", dict(sorted(result.features.items()))))
    remote = 100 * result.remote / max(1, result.seeds)
    lines = [
        f"shapes that the benchmark times: {sum(result.timed.values())} worlds of {len(result.timed)} kinds",
        f"several ranks and a row between them: {remote:.1f} % of the worlds; failed calls: {result.failed_calls}",
        f"a seed takes up to {result.p95_seconds * 1e3:.0f} ms (95 % of them), the longest "
        f"{max(result.times, default=0.0) * 1e3:.0f} ms; {result.seeds / result.seconds:.1f} seeds/s",
    ]
    if result.refused:
        lines.append(f"no legal world for {len(result.refused)} seeds; {result.refused[0]}")
    for failure in result.failures:
        lines.append(f"FAILED seed {failure.seed} [{failure.checker}] {failure.text}; replay: {failure.replay}")
        shrunk = smallest.get(failure.seed)
        if shrunk is not None:
            lines.append(f"  smallest that fails so: {shrunk.replay}")
            lines.append(f"  {shrunk.description} ({shrink_cost(shrunk)})")
    verdict = f"FAILED {len(result.failures)} of" if result.failures else "HELD"
    lines.append(f"{verdict} {result.seeds} seeds, {len(result.hashes)} distinct runs, {result.seconds:.0f} s")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(what: str, worlds: Mapping[str, int]) -> Table:
    table = Table(box=box.SIMPLE)
    table.add_column(what, no_wrap=True)
    table.add_column("worlds", justify="right", no_wrap=True)
    for name, count in worlds.items():
        table.add_row(name, str(count))
    return table


def shrink_cost(shrunk: Shrunk) -> str:
    """Runs and time, and whether time ended it."""
    end = "nothing is smaller" if shrunk.is_done else "its time was over"
    return f"{shrunk.runs} runs, {shrunk.seconds:.0f} s, {end}"


def seed_json(outcome: Outcome, description: str, settings: Mapping[str, str]) -> dict[str, object]:
    """The object of `--json` for one seed."""
    run = outcome.run
    value: dict[str, object] = {
        "seed": outcome.job.seed,
        "description": description,
        "settings": dict(settings),
        "hash": None if run is None else f"{run['hash']:016x}",
        "outcome": "failed" if outcome.checker else "held",
        "checker": outcome.checker or None,
        "text": outcome.text or None,
        "replay": outcome.job.options.command(outcome.job.seed),
    }
    if run is not None:
        for name in (
            "steps",
            "events",
            "writes",
            "virtual_ns",
            "failed_calls",
            "fault",
            "struck",
            "conditions",
            "features",
            "timed",
        ):
            value[name] = run[name]
        value["has_remote_row"] = run["has_remote_row"]
    return value


def print_seed(outcome: Outcome, description: str, console: Console) -> None:
    """Three lines: the world, the run, what came of it."""
    lines = [f"seed {outcome.job.seed}: {description}"]
    run = outcome.run
    if run is not None:
        marks = {"struck": run["struck"], "conditions": run["conditions"], "features": run["features"]}
        more = "".join(f"; {name}: {', '.join(found)}" for name, found in marks.items() if found)
        lines.append(
            f"hash {run['hash']:016x}, {run['steps']} steps, {run['events']} events, {run['writes']} remote writes, "
            f"{run['virtual_ns'] / 1e6:.3f} virtual ms, {run['failed_calls']} failed calls{more}"
        )
    replay = outcome.job.options.command(outcome.job.seed)
    lines.append(f"FAILED [{outcome.checker}] {outcome.text}; replay: {replay}" if outcome.checker else "HELD")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
