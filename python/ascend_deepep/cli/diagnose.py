# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep diagnose`. Layer: Python: options, lines and exit code; the rules are in ascend_deepep.diagnosis.

Exit codes: 0 the time is that of the bytes, or nothing stands out; 1 a cause was found, or the time is far above the
model; 2 there was nothing to look at.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_deepep.cli.environment import check_environment
from ascend_deepep.cli.values import one_of, refuse_others
from ascend_deepep.demo.usage import UsageError, check_range
from ascend_deepep.diagnosis.plants import Plant, parse_plant
from ascend_deepep.diagnosis.rules import describe
from ascend_deepep.diagnosis.rules import diagnose as diagnose_statistics

if TYPE_CHECKING:
    from ascend_deepep.stats.statistics import Link, Statistics

_ROUTINGS = ("uniform", "gate", "skewed")
_OF_ROUTINGS = "Tokens choose evenly, as a gate with a spread does, or mostly a few."
_ON_TWIN = ("skew", "late")  # what a runner can plant without a hand in the kernels' world
_SIM_CORES = 8
_STEPS, _SIM_STEPS = 20, 5
_MAX_RANKS = 64
_MAX_STEPS = 1000
_MAX_SIM_STEPS = 16
_MAX_SEED = (1 << 31) - 1
_MIN_CORES, _MAX_CORES = 4, 72
_WITH_FILE = ("from_file", "link", "plot", "as_json")

_Steps = Annotated[
    int | None, typer.Option(help=f"Layers that are recorded. (default: {_STEPS}; with --sim {_SIM_STEPS})")
]
_Cores = Annotated[int | None, typer.Option(help=f"Cores of a kernel. (default: the twin's; with --sim {_SIM_CORES})")]
_Sim = Annotated[bool, typer.Option("--sim", help="In virtual time: the simulator's world, not this machine.")]
_PlantOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:RANK[:N]]",
        help="Plant a cause: skew, late, and with --sim core (N: core) and link (N: peer); the seed draws the rest.",
    ),
]
_From = Annotated[Path | None, typer.Option("--from", metavar="FILE", help="Read statistics instead of running.")]
_Save = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the statistics of this run.")]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw waits and loads: FILE.png and FILE.svg.")]
_LinkOption = Annotated[
    str | None, typer.Option(metavar="ALPHA_US,GB_PER_S", help="Of a peer link, for the model. (default: as recorded)")
]


def diagnose(
    context: typer.Context,
    ranks: Annotated[int, typer.Option(help="Ranks of the group.")] = 8,
    tokens: Annotated[int, typer.Option(help="Tokens of a rank.")] = 32,
    hidden: Annotated[int, typer.Option(help="Elements of a token.")] = 1024,
    topk: Annotated[int, typer.Option(help="Experts of a token.")] = 4,
    experts: Annotated[int, typer.Option(help="Experts of all ranks.")] = 16,
    routing: Annotated[str, typer.Option(metavar="|".join(_ROUTINGS), help=_OF_ROUTINGS)] = "uniform",
    steps: _Steps = None,
    cores: _Cores = None,
    seed: Annotated[int, typer.Option(help="Of tokens, routing and what is planted.")] = 1,
    sim: _Sim = False,
    plant: _PlantOption = None,
    from_file: _From = None,
    link: _LinkOption = None,
    save: _Save = None,
    plot: _Plot = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Say which of the known pictures a layer shows: bytes, hot experts, a slow rank, a slow link, a late entry."""
    if plot is not None:
        from ascend_deepep.bench.plot import check_plot

        check_plot(plot)
    planted = None
    if from_file is not None:
        refuse_others(context, _WITH_FILE, lambda _, option: f"{option} does not go with --from, which runs nothing")
        statistics = _read(from_file)
    else:
        one_of("--routing", routing, _ROUTINGS)
        check_range("--ranks", ranks, 2, _MAX_RANKS)
        steps = steps if steps is not None else _SIM_STEPS if sim else _STEPS
        check_range("--steps", steps, 1, _MAX_SIM_STEPS if sim else _MAX_STEPS)
        check_range("--seed", seed, 0, _MAX_SEED)
        if cores is not None:
            check_range("--cores", cores, _MIN_CORES, _MAX_CORES)
        planted = None if plant is None else _plant(plant, ranks, cores, seed, sim)
        run = _run_world if sim else _run_twin
        statistics = run((ranks, tokens, hidden, topk, experts), routing, steps, cores, seed, planted)
    if link is not None:
        statistics = replace(statistics, link=_link(link))
    return _tell(statistics, planted, save, plot, as_json)


def _tell(statistics: Statistics, planted: Plant | None, save: Path | None, plot: Path | None, as_json: bool) -> int:
    diagnosis = diagnose_statistics(statistics)
    if save is not None:
        try:
            statistics.save(save)
        except OSError as error:
            raise UsageError(f"--save {save}: {error.strerror}") from None
    if plot is not None:
        from ascend_deepep.stats.plot import plot as draw

        print(f"written: {', '.join(map(str, draw(statistics, plot)))}", file=sys.stderr)
    if as_json:
        value = {**diagnosis.to_json(), "title": statistics.title, "ranks": statistics.num_ranks}
        value |= {"steps": statistics.num_steps, "planted": None if planted is None else planted.describe()}
        print(json.dumps(value))
    else:
        print(f"{statistics.title or statistics.source}; {statistics.num_steps} steps")
        print("\n".join(describe(diagnosis)))
    return 0 if diagnosis.holds else 1


def _read(path: Path) -> Statistics:
    from ascend_deepep.stats.statistics import Statistics

    try:
        return Statistics.load(path)
    except OSError as error:
        raise UsageError(f"--from {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"--from {error}") from None


def _link(text: str) -> Link:
    from ascend_deepep.stats.statistics import Link

    try:
        alpha_us, gb_per_s = (float(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"--link {text!r} is not ALPHA_US,GB_PER_S, such as 5,50") from None
    if not (0 <= alpha_us < float("inf") and 0 < gb_per_s < float("inf")):
        raise UsageError(f"--link {text!r}: microseconds from 0 on, and more than 0 GB/s")
    return Link(alpha_us, 1e3 * gb_per_s)


def _plant(text: str, ranks: int, cores: int | None, seed: int, sim: bool) -> Plant:
    planted = parse_plant(text, ranks, _SIM_CORES if cores is None else cores, seed)
    if not sim and planted.kind not in _ON_TWIN:
        raise UsageError(f"--plant {text!r} needs --sim: in real time {' and '.join(_ON_TWIN)} can be planted")
    return planted


def _run_world(
    sizes: tuple[int, ...], routing: str, steps: int, cores: int | None, seed: int, planted: Plant | None
) -> Statistics:
    from ascend_deepep.diagnosis.worlds import World, world_statistics

    ranks, tokens, hidden, topk, experts = sizes
    cores = _SIM_CORES if cores is None else cores
    world = World(ranks, cores, tokens, hidden, topk, experts, "mte", routing, steps, seed)
    return world_statistics(world, planted)


def _run_twin(
    sizes: tuple[int, ...], routing: str, steps: int, cores: int | None, seed: int, planted: Plant | None
) -> Statistics:
    check_environment()
    from ascend_deepep.bench.shapes import Shape
    from ascend_deepep.diagnosis.twin import Layer, check_layer, twin_statistics
    from ascend_deepep.testing import Pool

    ranks, tokens, hidden, topk, experts = sizes
    layer = Layer(Shape(ranks, tokens, hidden, topk, experts, "bf16", routing, seed), steps, planted, cores)
    check_layer(layer)
    with Pool() as pool:
        return twin_statistics(layer, pool)
