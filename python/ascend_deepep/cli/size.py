# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep size`. Layer: Python: options, tables, JSON and exit code; the numbers are op_host's, by sizing.

Exit codes: 0 it fits, or no limit is given; 1 it does not fit; 2 it is no configuration.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ascend_deepep.cli.progress import results_console
from ascend_deepep.cli.values import byte_size, one_of
from ascend_deepep.config import ENGINES
from ascend_deepep.demo.features import COMBINE_REDUCES, COMM_QUANTS, QUANTS
from ascend_deepep.demo.usage import UsageError

if TYPE_CHECKING:
    from ascend_deepep.sizing import Change, Configuration, Limits, Size

_COPIES = ("per-rank", "per-expert")
#: Tokens of other dtypes than bfloat16 are not asked for.
_QUANTS = tuple(name for name in QUANTS if not name.startswith("pass-"))
#: Numbers of torch's dtypes, as callers pass them.
_DTYPES = {"int8": 1, "float8_e5m2": 23, "float8_e4m3fn": 24}

_Quant = Annotated[str, typer.Option(metavar="|".join(_QUANTS), help="How dispatch quantises tokens.")]
_CommQuant = Annotated[str, typer.Option(metavar="|".join(COMM_QUANTS), help="How combine quantises rows.")]
_Window = Annotated[str | None, typer.Option(metavar="BYTES", help="Exit 1 where the window is larger; 512MiB, 2GiB.")]
_Memory = Annotated[str | None, typer.Option(metavar="BYTES", help="The same of window, workspace and outputs.")]
_Shared = Annotated[str, typer.Option(metavar="EXPERTS/RANKS", help="Shared experts, and ranks that serve them.")]
_Copies = Annotated[str, typer.Option(metavar="|".join(_COPIES), help="What dispatch sends of a token.")]
_Reduce = Annotated[str, typer.Option(metavar="|".join(COMBINE_REDUCES), help="What combine returns of a token.")]
_Engine = Annotated[str, typer.Option(metavar="|".join(ENGINES), help="How combine brings rows back.")]


def size(
    ranks: Annotated[int, typer.Option(help="Ranks of the group.")] = 8,
    tokens: Annotated[int, typer.Option(help="The most tokens of a rank and call.")] = 128,
    hidden: Annotated[int, typer.Option(help="Elements of a token.")] = 7168,
    topk: Annotated[int, typer.Option(help="Experts of a token.")] = 8,
    experts: Annotated[int, typer.Option(help="Routed experts of all ranks.")] = 256,
    shared: _Shared = "0/0",
    copies: _Copies = _COPIES[0],
    combine_reduce: _Reduce = COMBINE_REDUCES[0],
    combine_engine: _Engine = ENGINES[0],
    quant: _Quant = "none",
    comm_quant: _CommQuant = "none",
    num_cores: Annotated[int, typer.Option(help="Cores of a kernel; 0: the twin's own number.")] = 0,
    window_limit: _Window = None,
    memory_limit: _Memory = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Say what a communicator and its largest calls take on a rank, and what fits."""
    from ascend_deepep import sizing

    shared_experts, shared_ranks = _pair(shared)
    mode, dtype = QUANTS[one_of("--quant", quant, _QUANTS)]
    configuration = sizing.Configuration(
        num_ranks=_natural("--ranks", ranks),
        max_tokens=_natural("--tokens", tokens),
        hidden=_natural("--hidden", hidden),
        num_topk=_natural("--topk", topk),
        num_experts=_natural("--experts", experts),
        shared_expert_num=shared_experts,
        shared_expert_rank_num=shared_ranks,
        per_expert_copies=one_of("--copies", copies, _COPIES) == "per-expert",
        sums_by_rank=one_of("--combine-reduce", combine_reduce, COMBINE_REDUCES) == "rank",
        quant_mode=mode,
        y_dtype=None if dtype is None else _DTYPES[dtype],
        comm_quant_mode=COMM_QUANTS[one_of("--comm-quant", comm_quant, tuple(COMM_QUANTS))],
        is_urma=one_of("--combine-engine", combine_engine, ENGINES) == "urma",
        num_cores=_natural("--num-cores", num_cores),
    )
    limits = sizing.Limits(
        None if window_limit is None else byte_size("--window-limit", window_limit),
        None if memory_limit is None else byte_size("--memory-limit", memory_limit),
    )
    return _answer(configuration, limits, as_json)


def _answer(configuration: Configuration, limits: Limits, as_json: bool) -> int:
    from ascend_deepep import sizing
    from ascend_deepep.errors import DeepEPError

    try:
        found = sizing.size(configuration)
    except (DeepEPError, NotImplementedError) as error:
        raise UsageError(str(error), type(error).__name__) from None
    excess = found.excess(limits)
    most = sizing.largest_tokens(configuration, limits)
    changes = sizing.changes(configuration, limits) if excess else []
    if as_json:
        value = {
            **found.to_json(),
            "limits": {"window": limits.window, "memory": limits.memory},
            "fits": not excess,
            "excess": excess,
            "largest_max_tokens": most,
            "changes": [change.__dict__ for change in changes],
        }
        print(json.dumps(value))
    else:
        _print(found, excess, most, changes)
    return 1 if excess else 0


def _natural(option: str, value: int) -> int:
    """What the runtime's 32 bits hold; the limits proper are checked there."""
    if not 0 <= value < 1 << 32:
        raise UsageError(f"{option} {value} is outside [0, {(1 << 32) - 1}]")
    return value


def _pair(text: str) -> tuple[int, int]:
    experts, _, ranks = text.partition("/")
    if not (experts.isdecimal() and ranks.isdecimal() and len(text) < 12):
        raise UsageError(f"--shared {text!r} is not EXPERTS/RANKS, such as 1/2")
    return int(experts), int(ranks)


def _print(found: Size, excess: list[str], most: int, changes: list[Change]) -> None:
    console = results_console()
    c = found.configuration
    table = Table(
        title=f"a rank of {c.num_ranks}: {c.max_tokens} tokens of {c.hidden}, top-{c.num_topk} of {c.num_experts}",
        box=None,
        title_justify="left",
    )
    table.add_column("of a rank")
    table.add_column("bytes", justify="right")
    table.add_column("MiB", justify="right")
    parts = (
        ("window", found.window_bytes, found.window),
        ("workspace", found.workspace_bytes, found.workspace),
        ("outputs", found.output_bytes, found.outputs),
    )
    for name, total, regions in parts:
        table.add_row(name, str(total), f"{total / (1 << 20):.2f}", style="bold")
        for region, num_bytes in regions.items():
            table.add_row(f"  {region}", str(num_bytes), f"{num_bytes / (1 << 20):.2f}")
    table.add_row("memory", str(found.memory_bytes), f"{found.memory_bytes / (1 << 20):.2f}", style="bold")
    ub = found.ub_bytes
    table.add_row(f"UB of {found.num_cores} cores", str(ub), f"{ub / (1 << 20):.2f}", style="bold")
    console.print(table)
    lines = [f"largest max_tokens within the limits: {most}"]
    lines += [f"DOES NOT FIT {line}" for line in excess]
    for change in changes:
        verdict = "fits" if change.fits else "not enough alone"
        lines.append(f"{change.what}: window {change.window_bytes}, memory {change.memory_bytes}: {verdict}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
