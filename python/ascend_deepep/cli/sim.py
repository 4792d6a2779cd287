# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim`. Layer: Python: options, progress bar and exit code; the work is in ascend_deepep.simulator.

Exit codes: 0 all seeds held, 1 some seed failed, 2 nothing was run.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_deepep.cli.environment import check_environment
from ascend_deepep.cli.exhaustive import exhaustive as search
from ascend_deepep.cli.progress import progress, results_console
from ascend_deepep.cli.sim_mutants import sim_mutants
from ascend_deepep.cli.sim_scale import ScaleArguments, sim_scale
from ascend_deepep.cli.values import one_of, refuse_others
from ascend_deepep.demo.usage import UsageError, check_range
from ascend_deepep.simulator.exhaustive import SearchSettings
from ascend_deepep.simulator.options import MAX_SEED, NO_FAULT, WorldOptions
from ascend_deepep.simulator.shrink import SECONDS, Shrunk, shrink
from ascend_deepep.simulator.workers import KERNELS_VARIABLE, CannotRun, Job, Workers

if TYPE_CHECKING:
    from ascend_deepep._simulator import ScenarioDict

_DEFAULT_SEEDS = 200
_MAX_SEEDS = 10**9
_MAX_JOBS = 256

# What can be run, and the parameters of `sim` that it heeds.
_OF_WORLDS = ("fault", "no_faults", "drop", "settings", "schedule_seed", "kernels", "as_json")
_OF_SEARCHES = ("exhaustive", "tokens", "drop", "kernels", "as_json")
_MODES: dict[str, tuple[str, ...]] = {
    "seeds": ("seeds", "first", "jobs", "max_failures", "no_shrink", *_OF_WORLDS),
    "--seed": ("seed", "trace", *_OF_WORLDS),
    "--exhaustive": ("bound", "max_seconds", "max_failures", "jobs", *_OF_SEARCHES),
    "--exhaustive --delays": ("delays", "trace", *_OF_SEARCHES),
    "--mutants": ("with_mutants", "only", "jobs", "as_json"),
    "--scale": ("scale", "cores", "engine", "costs", "plot", "kernels", "jobs", "as_json"),
}

_Drop = Annotated[list[str] | None, typer.Option(metavar="SWITCH", help="Drop a rule of the machine; more than once.")]
_Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A field of every world, such as ranks=2; more than once."),
]
_ScheduleSeed = Annotated[int | None, typer.Option(help="Draw the schedule from this seed, all else from the world's.")]
_Kernels = Annotated[
    Path | None, typer.Option(metavar="MODULE.so", help="Kernels of the Sim policy, instead of the package's.")
]
_Trace = Annotated[
    Path | None, typer.Option(metavar="FILE.json", help="With --seed or --delays: its timeline, for Perfetto.")
]
_Exhaustive = Annotated[
    bool, typer.Option("--exhaustive", help="No seeds: all runs of tiny worlds with at most --bound delays.")
]
_Delays = Annotated[str | None, typer.Option(metavar="WORLD:LIST", help="With --exhaustive: this one run again.")]
_MaxFailures = Annotated[
    int, typer.Option(help="Stop after so many failures; with --exhaustive: of a world, whose other runs are left out.")
]
_Mutants = Annotated[
    bool, typer.Option("--mutants", help="Kernels with one thing wrong, built from the sources: all must be found.")
]
_Filter = Annotated[
    str, typer.Option("--filter", metavar="TEXT", help="With --mutants: those with it in name, kind or numbers.")
]
_Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="RANKS", help="No seeds: large worlds of so many ranks, such as 16,32,64."),
]
_Cores = Annotated[str, typer.Option(metavar="CORES", help="With --scale: cores of a rank, such as 8,24.")]
_Engine = Annotated[str, typer.Option(help="With --scale: what carries the rows of combine, mte or urma.")]
_Costs = Annotated[
    list[str] | None,
    typer.Option("--cost", metavar="NAME=NS", help="With --scale: a cost of the virtual clock; more than once."),
]
_Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --scale: time by role, as FILE.png and FILE.svg.")
]


@dataclass(frozen=True)
class _How:
    """How many seeds are run, and how."""

    seeds: range
    jobs: int
    max_failures: int
    do_shrink: bool
    as_json: bool


def sim(
    context: typer.Context,
    seeds: Annotated[int | None, typer.Option(help=f"How many seeds. (default: {_DEFAULT_SEEDS})")] = None,
    first: Annotated[int, typer.Option(help="The first of them.")] = 1,
    seed: Annotated[int | None, typer.Option(help="One seed alone, with what it stands for.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes. (default: one a CPU)")] = None,
    fault: Annotated[str | None, typer.Option(metavar="NAME", help="This fault in every world.")] = None,
    no_faults: Annotated[bool, typer.Option("--no-faults", help="Worlds without a fault.")] = False,
    drop: _Drop = None,
    settings: _Settings = None,
    schedule_seed: _ScheduleSeed = None,
    kernels: _Kernels = None,
    trace: _Trace = None,
    exhaustive: _Exhaustive = False,
    bound: Annotated[int, typer.Option(help="With --exhaustive: most delays of a run.")] = 2,
    tokens: Annotated[int, typer.Option(help="With --exhaustive: tokens of a rank, 1 or 2.")] = 1,
    delays: _Delays = None,
    max_seconds: Annotated[int, typer.Option(help="With --exhaustive: longest time of a world; 0: no limit.")] = 0,
    max_failures: _MaxFailures = 10,
    no_shrink: Annotated[bool, typer.Option("--no-shrink", help="Do not look for the smallest world.")] = False,
    with_mutants: _Mutants = False,
    only: _Filter = "",
    scale: _Scale = None,
    cores: _Cores = "8,24",
    engine: _Engine = "mte",
    costs: _Costs = None,
    plot: _Plot = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Run the kernels of all ranks under one seeded scheduler, in virtual time, with faults, and check every rule."""
    check_environment()
    mode = _mode(with_mutants, scale, exhaustive, delays, seed)
    refuse_others(context, _MODES[mode], lambda name, option: _why_not(name, option, mode))
    if with_mutants:
        return sim_mutants(only, _jobs(jobs), as_json)
    if scale is not None:
        return _scaled(ScaleArguments(scale, cores, engine, tuple(costs or ()), plot, _kernels(kernels)), jobs, as_json)
    options = WorldOptions(
        faults=not no_faults,
        fault=_fault(fault, no_faults),
        drop=tuple(_switch(name) for name in drop or ()),
        settings=tuple(_setting(text) for text in settings or ()),
        schedule_seed=_seed("--schedule-seed", schedule_seed),
        kernels=_kernels(kernels),
    )
    try:
        if exhaustive:
            of_search = SearchSettings(bound, tokens, max_seconds, max_failures, options.drop, options.kernels)
            return search(of_search, _jobs(jobs), delays, trace, as_json)
        if seed is not None:
            return _one(seed, options, trace, as_json)
        check_range("--max-failures", max_failures, 1, _MAX_SEEDS)
        how = _How(_seeds(seeds, first), _jobs(jobs), max_failures, not no_shrink, as_json)
        return _many(how, options)
    except CannotRun as error:
        raise UsageError(str(error), "CannotRun") from None


def _scaled(arguments: ScaleArguments, jobs: int | None, as_json: bool) -> int:
    try:
        return sim_scale(arguments, _jobs(jobs), as_json)
    except CannotRun as error:
        raise UsageError(str(error), "CannotRun") from None


def _mode(with_mutants: bool, scale: str | None, exhaustive: bool, delays: str | None, seed: int | None) -> str:
    if with_mutants:
        return "--mutants"
    if scale is not None:
        return "--scale"
    if exhaustive:
        return "--exhaustive" if delays is None else "--exhaustive --delays"
    return "seeds" if seed is None else "--seed"


def _why_not(name: str, option: str, mode: str) -> str:
    others = " or ".join(other for other, heeded in _MODES.items() if name in heeded)
    return f"{option} does not go with {mode}: it goes with {others}"


def _many(how: _How, options: WorldOptions) -> int:
    from ascend_deepep import _simulator
    from ascend_deepep.simulator.report import print_seeds, seeds_json
    from ascend_deepep.simulator.run import run_seeds

    smallest: dict[int, Shrunk] = {}
    with Workers(min(how.jobs, len(how.seeds)), options.kernels) as workers:
        with progress("seeds", len(how.seeds)) as advance:
            result = run_seeds(workers, how.seeds, options, how.max_failures, advance)
        if result.seeds == 0:
            raise UsageError(result.refused[0])
        if how.do_shrink:
            firsts = {failure.checker: failure for failure in reversed(result.failures)}
            for failure in firsts.values():
                _say(f"shrinking seed {failure.seed} [{failure.checker}], at most {SECONDS:.0f} s")
                shrunk = shrink(workers, failure.seed, options, failure.checker)
                if shrunk is not None:
                    smallest[failure.seed] = shrunk
    if how.as_json:
        print(json.dumps(seeds_json(result, _simulator.faults(), smallest)))
    else:
        print_seeds(result, _simulator.faults(), smallest, results_console())
    return 1 if result.failures else 0


def _one(seed: int, options: WorldOptions, trace: Path | None, as_json: bool) -> int:
    from ascend_deepep.simulator.report import print_seed, seed_json

    check_range("--seed", seed, 0, MAX_SEED)
    world = _world(seed, options)
    timeline = "" if trace is None else os.fspath(trace.absolute())
    with Workers(1, options.kernels) as workers:
        outcome = next(workers.run([Job(seed, options, timeline)]))
    if outcome.refused:
        raise UsageError(outcome.refused)
    if as_json:
        print(json.dumps(seed_json(outcome, world["description"], world["settings"])))
    else:
        print_seed(outcome, world["description"], results_console())
    return 1 if outcome.checker else 0


def _world(seed: int, options: WorldOptions) -> ScenarioDict:
    """What the seed stands for; settings that make no legal world are the user's mistake."""
    from ascend_deepep import _simulator

    try:
        return _simulator.scenario(seed, **options.arguments())
    except ValueError as error:
        raise UsageError(str(error)) from None


def _say(text: str) -> None:
    """To whoever watches; a pipe hears nothing but results."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def _seeds(count: int | None, first: int) -> range:
    count = _DEFAULT_SEEDS if count is None else count
    check_range("--seeds", count, 1, _MAX_SEEDS)
    check_range("--first", first, 0, MAX_SEED - count)
    return range(first, first + count)


def _seed(option: str, value: int | None) -> int | None:
    if value is not None:
        check_range(option, value, 0, MAX_SEED)
    return value


def _jobs(jobs: int | None) -> int:
    if jobs is None:
        return len(os.sched_getaffinity(0))
    check_range("--jobs", jobs, 1, _MAX_JOBS)
    return jobs


def _fault(name: str | None, no_faults: bool) -> str:
    if name is None:
        return NO_FAULT
    if no_faults:
        raise UsageError("--fault and --no-faults exclude each other")
    from ascend_deepep import _simulator

    return one_of("--fault", name, _simulator.faults())


def _kernels(given: Path | None) -> str | None:
    """The module, by its whole path: a line that replays a failure has to name it, wherever the name came from."""
    name = os.environ.get(KERNELS_VARIABLE, "") if given is None else os.fspath(given)
    return os.path.abspath(name) if name else None


def _switch(name: str) -> str:
    from ascend_deepep import _simulator

    return one_of("--drop", name, _simulator.switches())


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"--set {text!r} is not NAME=VALUE, such as ranks=2")
    return name, value
