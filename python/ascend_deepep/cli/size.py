# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep size`. Layer: Python: options, tables, JSON and exit code; the work is in ascend_deepep.sizing.

Exit codes: 0 it fits the limits given, or none was; 1 it does not; 2 there is no such configuration.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from ascend_deepep.cli import demo_options as given
from ascend_deepep.cli.environment import check_environment
from ascend_deepep.cli.progress import results_console
from ascend_deepep.cli.values import byte_count, one_of, shared_experts
from ascend_deepep.config import ENGINES, Settings
from ascend_deepep.demo.features import COMBINE_REDUCES, COMM_QUANTS, QUANTS
from ascend_deepep.demo.options import DTYPES
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.errors import DeepEPError

if TYPE_CHECKING:
    from ascend_deepep.sizing import Change, Configuration, Limits, Sizes

_MIB = 1 << 20

_Ranks = Annotated[int, typer.Option(help="Ranks of the group.")]
_Tokens = Annotated[int, typer.Option(help="Most tokens of a rank in one call (max_tokens).")]
_PerExpert = Annotated[
    bool, typer.Option("--per-expert-copies", help="Room for a copy of a token to each of its experts.")
]
_Queues = Annotated[int | None, typer.Option(help="Send queues to every peer. (default: 1)")]
_Depth = Annotated[int | None, typer.Option(help="Entries of each queue of the twin. (default: its own number)")]
_WindowLimit = Annotated[str | None, typer.Option(metavar="SIZE", help="The largest window, such as 512MiB.")]
_MemoryLimit = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="The most for window, workspace, queues and outputs of a rank together."),
]


def size(
    ranks: _Ranks = given.DEFAULT_RANKS,
    tokens: _Tokens = 128,
    hidden: Annotated[int, typer.Option(help="Elements of a token.")] = given.DEFAULT_HIDDEN,
    topk: given.Topk = 8,
    experts: given.Experts = 256,
    shared: given.Shared = "0/0",
    per_expert_copies: _PerExpert = False,
    combine_reduce: given.CombineReduce = "row",
    combine_engine: given.CombineEngine = None,
    dtype: given.Dtype = "bf16",
    quant: given.Quant = "none",
    comm_quant: given.CommQuant = "none",
    cores: given.Cores = None,
    queues_per_peer: _Queues = None,
    queue_depth: _Depth = None,
    window_limit: _WindowLimit = None,
    memory_limit: _MemoryLimit = None,
    as_json: given.AsJson = False,
) -> int:
    """Say what a rank needs of memory, whether it fits, what to change where it does not, and how many tokens fit."""
    from ascend_deepep.sizing import Configuration, Limits, changes, largest_max_tokens, sizes

    env = check_environment(combine_engine and one_of("--combine-engine", combine_engine, ENGINES))
    shared_expert_num, shared_expert_rank_num = shared_experts(shared)
    configuration = Configuration(
        num_ranks=ranks,
        max_tokens=tokens,
        hidden=hidden,
        num_topk=topk,
        num_experts=experts,
        shared_expert_num=shared_expert_num,
        shared_expert_rank_num=shared_expert_rank_num,
        per_expert_copies=per_expert_copies,
        combine_reduce=one_of("--combine-reduce", combine_reduce, COMBINE_REDUCES),
        combine_engine=env.combine_engine,
        dtype=one_of("--dtype", dtype, DTYPES),
        quant=one_of("--quant", quant, tuple(QUANTS)),
        comm_quant=one_of("--comm-quant", comm_quant, tuple(COMM_QUANTS)),
        num_cores=env.num_cores if cores is None else cores,
        queues_per_peer=queues_per_peer if queues_per_peer is not None else env.queues_per_peer or 1,
        queue_depth=env.queue_depth if queue_depth is None else queue_depth,
    )
    limits = Limits(*_limits(env, window_limit, memory_limit))
    has_limits = limits != Limits()
    try:
        taken = sizes(configuration)
        most = largest_max_tokens(configuration, limits) if has_limits else None
        better = changes(configuration, limits)
    except DeepEPError as error:
        raise UsageError(str(error), type(error).__name__) from None
    if as_json:
        print(json.dumps(_to_json(configuration, limits, taken, most, better)))
    else:
        _print(limits, taken, most, better)
    return 0 if limits.fits(taken) else 1


def _limits(env: Settings, window: str | None, memory: str | None) -> tuple[int | None, int | None]:
    """Bytes; a window that the environment sets is a limit too."""
    return (
        env.window_bytes if window is None else byte_count("--window-limit", window),
        None if memory is None else byte_count("--memory-limit", memory),
    )


def _to_json(
    configuration: Configuration, limits: Limits, taken: Sizes, most: int | None, better: list[Change]
) -> dict[str, object]:
    return {
        "configuration": asdict(configuration),
        "limits": asdict(limits),
        "fits": limits.fits(taken),
        **asdict(taken),
        "memory_bytes": taken.memory_bytes,
        "largest_max_tokens": most,
        "changes": [
            {
                "change": change.text,
                "fits": change.fits,
                "window_bytes": change.sizes.window_bytes,
                "memory_bytes": change.sizes.memory_bytes,
            }
            for change in better
        ],
    }


def _print(limits: Limits, taken: Sizes, most: int | None, better: list[Change]) -> None:
    console = results_console()
    for table in (_memory_table(taken), _output_table(taken), _ub_table(taken)):
        console.print(table)
    lines = [
        f"cores of {kernel}: " + ", ".join(f"{role} {count}" for role, count in roles.items() if count)
        for kernel, roles in taken.roles.items()
    ]
    lines.append(f"touched on the twin, a rank on average, without outputs: {_mib(taken.touched_bytes)} MiB")
    lines += _verdict("window", taken.window_bytes, limits.window_bytes)
    lines += _verdict("memory (window, workspace, queues, outputs)", taken.memory_bytes, limits.memory_bytes)
    if most is not None:
        lines.append(f"largest max_tokens that fits: {most or 'none, not even 1'}")
    for change in better:
        verdict = "fits" if change.fits else "helps, but does not suffice"
        after = f"window {_mib(change.sizes.window_bytes)} MiB, memory {_mib(change.sizes.memory_bytes)} MiB"
        lines.append(f"change: {change.text}: {verdict}: {after}")
    if most is not None:
        lines.append("FITS" if limits.fits(taken) else "DOES NOT FIT")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _verdict(what: str, taken: int, limit: int | None) -> list[str]:
    line = f"{what}: {taken} bytes, {_mib(taken)} MiB"
    if limit is None:
        return [line]
    beyond = f"{taken - limit} bytes too many" if taken > limit else "fits"
    return [f"{line}; limit {limit} bytes, {_mib(limit)} MiB: {beyond}"]


def _memory_table(taken: Sizes) -> Table:
    table = _table("memory of a rank", "region", "bytes", "MiB")
    parts = (("window", taken.window, taken.window_bytes), ("workspace", taken.workspace, taken.workspace_bytes))
    for name, regions, total in parts:
        head = name
        for region in regions:
            table.add_row(head, region.name, str(region.bytes), _mib(region.bytes))
            head = ""
        table.add_row("", "all, with what aligns them", str(total), _mib(total), end_section=True)
    rings = f"table and rings, {taken.queue_depth} deep"
    table.add_row("queues of the twin", rings, str(taken.queue_bytes), _mib(taken.queue_bytes))
    return table


def _output_table(taken: Sizes) -> Table:
    table = _table("outputs", "ranks", "shape", "dtype", "bytes", "MiB")
    for outputs in taken.outputs:
        for kernel, tensors in (("dispatch_v2", outputs.dispatch), ("combine_v2", outputs.combine)):
            for tensor in tensors:
                shape = "x".join(map(str, tensor.shape))
                cells = (tensor.dtype, str(tensor.bytes), _mib(tensor.bytes))
                table.add_row(f"{kernel} {tensor.name}", outputs.ranks, shape, *cells)
        table.add_row("all", outputs.ranks, "", "", str(outputs.bytes), _mib(outputs.bytes), end_section=True)
    return table


def _ub_table(taken: Sizes) -> Table:
    table = _table("UB of a core", "role", "bytes", "its share")
    for share in taken.ub:
        table.add_row(share.kernel, share.role, str(share.bytes), str(share.limit))
    table.add_row("all a core may use", "", "", str(taken.kernel_ub_bytes))
    return table


def _table(*columns: str) -> Table:
    """Numbers to the right."""
    table = Table(box=box.SIMPLE)
    for column in columns:
        table.add_column(column, justify="right" if column in ("bytes", "MiB", "its share") else "left")
    return table


def _mib(count: int) -> str:
    return f"{count / _MIB:.2f}"
