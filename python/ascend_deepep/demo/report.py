# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: the JSON object, the table of ranks, the last line. Layer: Python, no torch."""

from __future__ import annotations

from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table

from ascend_deepep.demo.rank import RankResult
from ascend_deepep.demo.runner import DemoResult

# Roles whose column has a shorter heading.
_HEADINGS = {"wqe_builder": "builder"}
_COLUMN = 11  # of a role's table: the longest heading or time, and what a table puts around it


def to_json(result: DemoResult) -> dict[str, object]:
    """The object of `--json`: counts are of one round, summed over ranks; times are of the slowest rank."""
    options, results = result.options, result.results
    if result.error is not None:
        survivors = [{"rank": error["rank"], "error": error} for error in result.errors]
        return {"error": result.error, "ranks": options.num_ranks, "survivors": survivors}
    return {
        "exact": result.exact,
        "mismatch": None if result.mismatch is None else asdict(result.mismatch),
        "ranks": options.num_ranks,
        "tokens": [rank.tokens for rank in results],
        "rows": sum(rank.rows for rank in results),
        "copies": _total(results, "copies"),
        "bytes_put": {way: _total(results, f"bytes_put_{way}") for way in ("dispatch", "combine", "control")},
        "wqes": _total(results, "wqes_dispatch") + _total(results, "wqes_combine"),
        "doorbells": {way: _total(results, f"doorbells_{way}") for way in ("dispatch", "combine")},
        "layout": results[0].layout,
        "dispatch_us": round(max(rank.dispatch_us for rank in results), 1),
        "combine_us": round(max(rank.combine_us for rank in results), 1),
        "window_bytes": results[0].window_bytes,
    }


def print_result(result: DemoResult, console: Console) -> None:
    """The table and the last line."""
    if result.error is None:
        console.print(_traffic_table(result.results))
        for table in _time_tables(result.results, console.width):
            console.print(table)
    for error in result.errors:
        console.print(f"rank {error['rank']}: {error['kind']}: {error['message']}", markup=False, soft_wrap=True)
    console.print(last_line(result), markup=False, highlight=False, soft_wrap=True)


def last_line(result: DemoResult) -> str:
    """EXACT, MISMATCH or ERROR, and what of."""
    options = result.options
    if result.error is not None:
        error = result.error
        return f"ERROR {error['kind']}: root rank {error['root']}, stage {error['stage']}, {error['operation']}"
    if result.mismatch is not None:
        wrong = result.mismatch
        return f"MISMATCH rank {wrong.rank}, {wrong.what}, index {wrong.index}"
    tokens, rows = sum(rank.tokens for rank in result.results), sum(rank.rows for rank in result.results)
    rounds = f", {options.iters} rounds" if options.iters > 1 else ""
    return f"EXACT {options.num_ranks} ranks, {tokens} tokens, {rows} rows{rounds}"


def _traffic_table(results: list[RankResult]) -> Table:
    table = _table("last round", ["rank", "tokens", "rows", "hottest expert", "copies", "MiB put", "WQEs", "doorbells"])
    for rank in results:
        counters = rank.counters
        put = sum(counters.get(f"bytes_put_{way}", 0) for way in ("dispatch", "combine", "control"))
        hottest = f"{rank.hottest_expert}: {rank.hottest_rows} rows" if rank.hottest_rows else "-"
        cells = [rank.rank, rank.tokens, rank.rows, hottest, counters.get("copies", 0), f"{put / 2**20:.2f}"]
        for what in ("wqes", "doorbells"):
            cells.append(counters.get(f"{what}_dispatch", 0) + counters.get(f"{what}_combine", 0))
        table.add_row(*map(str, cells))
    return table


def _time_tables(results: list[RankResult], width: int) -> list[Table]:
    """Time of all roles of both operators, in as many tables as the width asks for."""
    # The order of the runtime is that of the protocol. Roles that nobody played have no column.
    roles = [role for role in results[0].role_ns if any(rank.role_ns.get(role) for rank in results)]
    most = max(1, width // _COLUMN - 1)
    each = -(-len(roles) // -(-len(roles) // most)) if roles else 1
    tables = []
    for start in range(0, len(roles), each):
        shown = roles[start : start + each]
        title = "last round, dispatch and combine added up: ms in each role, of its slowest core, waits included"
        table = _table(title if start == 0 else "", ["rank", *(_HEADINGS.get(role, role) for role in shown)])
        for rank in results:
            table.add_row(str(rank.rank), *(_milliseconds(rank.role_ns.get(role, 0)) for role in shown))
        tables.append(table)
    return tables


def _milliseconds(ns: int) -> str:
    """Two decimals, none from a second on: no wider than a heading, up to a day."""
    return f"{ns / 1e6:.2f}" if ns < 1e9 else f"{ns / 1e6:.0f}"


def _table(title: str, heads: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _total(results: list[RankResult], key: str) -> int:
    return sum(rank.counters.get(key, 0) for rank in results)
