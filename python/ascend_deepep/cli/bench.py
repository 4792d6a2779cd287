# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep bench`. Layer: Python: options, progress bar and exit code; the work is in ascend_deepep.bench.

Exit codes: 0 all is exact, and as fast as required; 1 something differs, or is slower; 2 nothing was measured.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ascend_deepep.bench.shapes import DEFAULT, DTYPES, ROUTINGS, SWEEP, Grid, Shape
from ascend_deepep.cli.environment import check_environment
from ascend_deepep.cli.progress import progress, results_console
from ascend_deepep.cli.values import one_of
from ascend_deepep.demo.usage import UsageError, check_range

if TYPE_CHECKING:
    from ascend_deepep.bench.measure import Options
    from ascend_deepep.bench.run import Results

#: --compare by name: the layers beside ours.
COMPARISONS: dict[str, tuple[str, ...]] = {
    "gloo": ("alltoall", "allgather"),
    "alltoall": ("alltoall",),
    "allgather": ("allgather",),
    "none": (),
}
_MAX_RANKS = 64  # processes of a laptop; more would measure its scheduler
_MAX_ROUNDS = 1000
_MAX_ITERS = 100_000
_MAX_COPY_MIB = 1 << 16
_MAX_SEED = (1 << 31) - 1
_Value = TypeVar("_Value", int, str)

_Ranks = Annotated[str | None, typer.Option(metavar="N,N..", help="Ranks, a process each. (default: 4)")]
_Tokens = Annotated[str | None, typer.Option(metavar="N,N..", help="Tokens of a rank. (default: 128,2048)")]
_Dtype = Annotated[str | None, typer.Option(metavar="NAME,..", help=f"Of {', '.join(DTYPES)}. (default: bf16)")]
_Routing = Annotated[str | None, typer.Option(metavar="NAME,..", help=f"Of {', '.join(ROUTINGS)}. (default: gate)")]
_Compare = Annotated[
    str,
    typer.Option(metavar="NAME,..", help="gloo: all-to-all and all-gather; either by alltoall, allgather; or none."),
]
_Sweep = Annotated[
    bool, typer.Option("--sweep", help="All shapes of decode and prefill; an option above narrows them.")
]
_Iters = Annotated[int | None, typer.Option(help="Iterations of a turn. (default: by the time that they take)")]
_CopyMib = Annotated[int, typer.Option(help="Size of the copy that bandwidth is measured with.")]
_Require = Annotated[float | None, typer.Option(metavar="RATIO", help="Exit 1 where a row's ratio is below it.")]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the results: FILE.png and FILE.svg.")]


def bench(
    ranks: _Ranks = None,
    tokens: _Tokens = None,
    dtype: _Dtype = None,
    routing: _Routing = None,
    hidden: Annotated[int, typer.Option(help="Elements of a token.")] = 7168,
    topk: Annotated[int, typer.Option(help="Experts of a token.")] = 8,
    experts: Annotated[int, typer.Option(help="Experts of all ranks.")] = 256,
    compare: _Compare = "gloo",
    sweep: _Sweep = False,
    rounds: Annotated[int, typer.Option(help="Turns of each contestant; medians of them count.")] = 5,
    iters: _Iters = None,
    copy_mib: _CopyMib = 1024,
    seed: Annotated[int, typer.Option(help="Of tokens and routing.")] = 0,
    require: _Require = None,
    plot: _Plot = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Time dispatch plus combine on the twin beside the same layer over gloo, in one run, and compare every bit."""
    check_environment()
    base = SWEEP if sweep else DEFAULT
    grid = Grid(
        _numbers("--ranks", ranks, base.ranks),
        _numbers("--tokens", tokens, base.tokens),
        _names("--dtype", dtype, base.dtype, tuple(DTYPES)),
        _names("--routing", routing, base.routing, ROUTINGS),
    )
    comparisons = _names("--compare", compare, (), tuple(COMPARISONS))
    shapes = grid.shapes(hidden, topk, experts, seed)
    _check(grid, hidden, topk, experts, seed)
    options = _options(comparisons, rounds, iters, copy_mib)
    if require is not None and "alltoall" not in options.layers:
        raise UsageError(f"--require {require:g} needs a ratio, and --compare {compare} has none: add alltoall")
    command = _command(grid, shapes[0], comparisons, options, require)
    return _run(shapes, options, command, require, plot, as_json)


def _run(
    shapes: list[Shape], options: Options, command: str, require: float | None, plot: Path | None, as_json: bool
) -> int:
    from ascend_deepep.bench.plot import check_plot
    from ascend_deepep.bench.result import print_rows
    from ascend_deepep.bench.run import run_bench

    if plot is not None:
        check_plot(plot)
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with progress("rounds", len(shapes) * options.rounds) as advance:
        results = run_bench(shapes, options, advance)
    slow = [] if require is None else _too_slow(results, require)
    for line in (*results.left_out, *results.findings, *slow):
        print(line, file=sys.stderr)
    if plot is not None and results.rows:
        _draw(results, plot, date)
    if as_json:
        print(json.dumps(results.to_json(command, date)))
    elif results.rows:
        print_rows(results.rows, results_console())
        print(", ".join(f"{name} {value}" for name, value in results.machine.items()))
        print(f"{date}: {command}")
    return 1 if results.findings or slow else 0


def _draw(results: Results, stem: Path, date: str) -> None:
    from ascend_deepep.bench.plot import plot

    facts, first = results.machine, results.rows[0]
    sizes = f"hidden {first.hidden}, top-{first.topk} of {first.experts} experts"
    paths = plot(results.rows, stem, f"host twin, {sizes}\n{facts['cpu']}, {facts['cores']} cores, {date[:10]}")
    print(f"written: {', '.join(map(str, paths))}", file=sys.stderr)


def _too_slow(results: Results, require: float) -> list[str]:
    return [
        f"{row.ranks} ranks, {row.tokens} tokens, {row.dtype}, {row.routing}: ratio {row.ratio} is below {require:g}"
        for row in results.rows
        if row.ratio is None or row.ratio < require
    ]


def _check(grid: Grid, hidden: int, topk: int, experts: int, seed: int) -> None:
    """The ranges of each value alone and what goes together; the communicator has further rules."""
    from ascend_deepep import _runtime

    limits = _runtime.limits()
    for count in grid.ranks:
        check_range("--ranks", count, 1, _MAX_RANKS)
        if experts % count != 0:
            raise UsageError(f"{experts} experts cannot be divided among {count} ranks; change --experts or --ranks")
    for count in grid.tokens:
        check_range("--tokens", count, 1, limits["max_tokens"])
    check_range("--hidden", hidden, limits["min_hidden"], limits["max_hidden"])
    check_range("--topk", topk, 1, min(limits["max_topk"], experts))
    check_range("--seed", seed, 0, _MAX_SEED)


def _options(comparisons: Sequence[str], rounds: int, iters: int | None, copy_mib: int) -> Options:
    from ascend_deepep.bench.measure import Options

    if "none" in comparisons and len(comparisons) > 1:
        raise UsageError("--compare none stands alone")
    check_range("--rounds", rounds, 1, _MAX_ROUNDS)
    if iters is not None:
        check_range("--iters", iters, 1, _MAX_ITERS)
    check_range("--copy-mib", copy_mib, 1, _MAX_COPY_MIB)
    named = {layer for name in comparisons for layer in COMPARISONS[name]}
    layers = tuple(layer for layer in COMPARISONS["gloo"] if layer in named)
    return Options(layers, rounds, iters, copy_mib << 20)


def _numbers(option: str, text: str | None, default: tuple[int, ...]) -> tuple[int, ...]:
    return _listed(option, text, default, int, "numbers, such as 2,4")


def _names(option: str, text: str | None, default: tuple[str, ...], legal: Sequence[str]) -> tuple[str, ...]:
    return tuple(one_of(option, name, legal) for name in _listed(option, text, default, str, "names"))


def _listed(
    option: str, text: str | None, default: tuple[_Value, ...], kind: Callable[[str], _Value], what: str
) -> tuple[_Value, ...]:
    """The words between commas, each once."""
    if text is None:
        return default
    try:
        return tuple(dict.fromkeys(kind(word.strip()) for word in text.split(",")))
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a list of {what}") from None


def _command(grid: Grid, shape: Shape, comparisons: Sequence[str], options: Options, require: float | None) -> str:
    """The command line that makes the same run, with every value spelled out."""
    values: dict[str, object] = {
        "ranks": ",".join(map(str, grid.ranks)),
        "tokens": ",".join(map(str, grid.tokens)),
        "dtype": ",".join(grid.dtype),
        "routing": ",".join(grid.routing),
        "hidden": shape.hidden,
        "topk": shape.topk,
        "experts": shape.experts,
        "compare": ",".join(comparisons),
        "rounds": options.rounds,
        "iters": options.iters,
        "copy-mib": options.copy_bytes >> 20,
        "seed": shape.seed,
        "require": require,
    }
    words = [f"--{name} {value}" for name, value in values.items() if value is not None]
    return f"ascend-deepep bench {' '.join(words)}"
