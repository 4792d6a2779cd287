# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: the JSON object, the table of ranks, the last line. Layer: Python, no torch."""

from __future__ import annotations

from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table

from ascend_deepep.demo.rank import RankResult
from ascend_deepep.demo.runner import DemoResult

#: Roles that have a column of their own, in the order of the protocol.
_ROLES = ("route", "stage", "wqe_builder", "doorbell", "cumsum", "collect", "send", "reduce")


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
        console.print(_time_table(result.results))
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


def _time_table(results: list[RankResult]) -> Table:
    """Time of the roles; waits for peers are in it."""
    roles = [role for role in _ROLES if any(rank.role_ns.get(role) for rank in results)]
    table = _table("time in each role, ms, summed over cores, waits included", ["rank", *roles])
    for rank in results:
        table.add_row(str(rank.rank), *(f"{rank.role_ns.get(role, 0) / 1e6:.2f}" for role in roles))
    return table


def _table(title: str, heads: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _total(results: list[RankResult], key: str) -> int:
    return sum(rank.counters.get(key, 0) for rank in results)
