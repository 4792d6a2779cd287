# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim --scale`. Layer: Python: options, table, JSON and exit code; the work is in simulator.scale.

Exit codes: 0 every call was exact and every count is the protocol's, 1 some is not, 2 nothing was run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from ascend_deepep.cli.progress import progress, results_console
from ascend_deepep.cli.values import one_of
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.simulator.scale import (
    COMBINE,
    DISPATCH,
    EXPERTS,
    HIDDEN,
    MORE_TOKENS,
    TOKENS,
    TOPK,
    Measured,
    ScaleWorld,
    measure,
)

if TYPE_CHECKING:
    from ascend_deepep.simulator.scale_model import Extrapolated

_LARGER = (256, 1024)  # ranks that the model is asked for, with both numbers of tokens
_LARGER_TOKENS = (TOKENS, 128)
_LARGER_CORES = 64  # besides those of the runs: as many as a rank of a device has, more or less


@dataclass(frozen=True)
class ScaleArguments:
    """The words of the command line; `costs` are NAME=NS."""

    ranks: str
    cores: str
    engine: str
    costs: tuple[str, ...]
    plot: Path | None
    kernels: str | None


def sim_scale(arguments: ScaleArguments, jobs: int, as_json: bool) -> int:
    """Run the worlds, fit the model, show both."""
    from ascend_deepep.simulator.scale_model import extrapolate, fit

    engine = one_of("--engine", arguments.engine, ("mte", "urma"))
    ranks, cores = _numbers("--scale", arguments.ranks), _numbers("--cores", arguments.cores)
    costs = _costs(arguments.costs)
    if arguments.plot is not None:
        _need_matplotlib()
    worlds = [ScaleWorld(rank, core, engine, TOKENS, costs) for core in cores for rank in ranks]
    if len(ranks) > 1:
        worlds += [ScaleWorld(ranks[0], core, engine, MORE_TOKENS, costs) for core in cores]
    try:
        with progress("worlds", len(worlds)) as advance:
            rows = measure(worlds, jobs, arguments.kernels, advance)
    except ValueError as error:
        raise UsageError(str(error)) from None
    holds = not any(row.faults for row in rows)
    model, larger = {}, []
    if holds and len(ranks) > 1:
        model = fit(rows)
        larger = [
            extrapolate(model, ScaleWorld(rank, core, engine, tokens, costs))
            for tokens in _LARGER_TOKENS
            for core in sorted({*cores, _LARGER_CORES})
            for rank in _LARGER
        ]
    if arguments.plot is not None and holds:
        from ascend_deepep.simulator.scale_plot import plot

        plot(rows, larger, arguments.plot)
    value = {
        "holds": holds,
        "hidden": HIDDEN,
        "topk": TOPK,
        "experts": EXPERTS,
        "engine": engine,
        "costs": _all_costs(costs),
        "rows": [row.to_json() for row in rows],
        "model": {
            f"{operator}.{role}": {
                "fixed_us": round(term.fixed_us, 3),
                "each_us": {name: round(each, 4) for name, each in term.each_us.items()},
                "error_percent": round(100 * term.error, 1),
            }
            for (operator, role), term in model.items()
        },
        "extrapolated": [row.to_json() for row in larger],
    }
    if as_json:
        print(json.dumps(value))
    else:
        _print(rows, larger, holds)
    return 0 if holds else 1


def _numbers(option: str, text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdecimal() and len(word) < 6 for word in words) or len(set(words)) != len(words):
        raise UsageError(f"{option} {text!r} is not a list of different numbers, such as 16,32,64")
    return sorted(int(word) for word in words)


def _costs(words: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    from ascend_deepep import _simulator

    known = [name for name, _, _ in _simulator.scale_costs()]
    costs = {}
    for word in words:
        name, _, value = word.partition("=")
        one_of("--cost", name, known)
        if not (value.isdecimal() and 1 <= int(value) <= 10**6):
            raise UsageError(f"--cost {word!r} is not NAME=NS with NS from 1 to 1000000")
        costs[name] = int(value)
    return tuple(costs.items())


def _all_costs(costs: tuple[tuple[str, int], ...]) -> dict[str, int]:
    from ascend_deepep import _simulator

    return {name: default for name, default, _ in _simulator.scale_costs()} | dict(costs)


def _need_matplotlib() -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib, which is not installed: pip install matplotlib")


def _longest(row: Extrapolated, operator: str) -> str:
    world, role = row.world, row.bottleneck(operator)
    return (
        f"model, {world.ranks} ranks, {world.cores} cores, {world.tokens} tokens: longest in {operator} is {role}, "
        f"{row.busy_us[operator, role]:.0f} us on one core"
    )


def _print(rows: list[Measured], larger: list[Extrapolated], holds: bool) -> None:
    console = results_console()
    table = Table(box=box.SIMPLE)
    for column in ("ranks", "cores", "tokens", "operation", "us", "messages", "bytes", "polls", "role", "role's cores"):
        table.add_column(column, justify="left" if column in ("operation", "role") else "right")
    table.add_column("busiest core, us", justify="right")
    table.add_column("it waits, us", justify="right")
    for row in rows:
        for operator in (DISPATCH, COMBINE) if not row.faults else ():
            counts = row.per_rank[operator]
            of_world = (row.world.ranks, row.world.cores, row.world.tokens)
            head = [*map(str, of_world), operator, f"{row.call_us[operator]:.0f}"]
            head += (f"{counts[name]:.0f}" for name in ("posted", "posted_bytes", "polls"))
            for role, time in row.roles[operator].items():
                table.add_row(*head, role, str(time.cores), f"{time.busy_us:.1f}", f"{time.wait_us:.1f}")
                head = [""] * len(head)
    console.print(table)
    lines = [
        f"FAILED ranks {row.world.ranks}, cores {row.world.cores}: {fault}" for row in rows for fault in row.faults
    ]
    lines += [_longest(row, operator) for row in larger for operator in (DISPATCH, COMBINE)]
    lines.append("virtual time: order and growth, not the speed of an NPU (docs/scale.md)")
    lines.append(f"{'HELD' if holds else 'FAILED'} {len(rows)} worlds")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
