# SPDX-License-Identifier: Apache-2.0
"""A Profile as a table, and as JSON. Layer: Python, no torch."""

from __future__ import annotations

import json
from pathlib import Path

from rich import box
from rich.table import Table

from ascend_deepep.cli.progress import results_console
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.trace.msprof.profile import CallRow, Operator, Profile
from ascend_deepep.trace.msprof.read import read_folder
from ascend_deepep.trace.msprof.values import microseconds
from ascend_deepep.trace.recording import COMBINE, DISPATCH

_MOST_ROWS = 40
_PIPES = ("vec", "scalar", "mte2", "mte3")  # as in aiv_vec_ratio
_NONE = "-"


def show_profile(folder: Path | str, as_json: bool, most_rows: int = _MOST_ROWS) -> int:
    """Read a folder, print it, return the exit code. UsageError: it holds no call of ours, or cannot be read."""
    return print_profile(read_folder(folder), as_json, most_rows)


def print_profile(profile: Profile, as_json: bool, most_rows: int = _MOST_ROWS) -> int:
    """Tables on stdout, or one JSON object with all rows. The first `most_rows` rows of a table are shown."""
    if not profile.calls and not profile.operators:
        names = ", ".join(row.name for row in profile.others[:3])
        raise UsageError(
            f"no operator in {', '.join(profile.files)} is {DISPATCH} or {COMBINE}; there are "
            f"{sum(row.count for row in profile.others)} others{f', such as {names}' if names else ''}"
        )
    if as_json:
        print(json.dumps(profile_json(profile)))
        return 0
    console = results_console()
    if profile.calls:
        console.print(call_table(profile, most_rows))
    if profile.operators:
        console.print(_operator_table(profile, most_rows))
    for line in _notes(profile, most_rows):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def call_table(profile: Profile, most_rows: int = _MOST_ROWS) -> Table:
    """A line for each call, by rank and number. Times in microseconds, pipes in percent of the cores' time."""
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    for column in ("rank", "call"):
        table.add_column(column, justify="right")
    table.add_column("operator")
    for column in ("start\nus", "time\nus", "wait\nus", "cores\n", "mean core\nus"):
        table.add_column(column, justify="right")
    pipes = [pipe for pipe in _PIPES if any(f"aiv_{pipe}_ratio" in row.pipes for row in profile.calls)]
    for pipe in pipes:
        table.add_column(f"{pipe}\n%", justify="right")
    has_shapes = any(row.shapes for row in profile.calls)
    if has_shapes:
        table.add_column("first input", no_wrap=True)
    for row in profile.calls[:most_rows]:
        table.add_row(
            str(row.rank),
            str(row.number),
            row.name,
            _us(row.start_ns),
            _us(row.duration_ns),
            _us(row.wait_ns),
            _NONE if row.cores is None else str(row.cores),
            f"{row.pipes['aiv_time(us)']:.3f}" if "aiv_time(us)" in row.pipes else _NONE,
            *(_percent(row.pipes.get(f"aiv_{pipe}_ratio")) for pipe in pipes),
            *([f"{row.shapes[0][1]}[{row.shapes[0][2]}]" if row.shapes else _NONE] if has_shapes else []),
        )
    return table


def _us(nanoseconds: int | None) -> str:
    return _NONE if nanoseconds is None else f"{nanoseconds / 1000:.3f}"


def _percent(ratio: float | None) -> str:
    return _NONE if ratio is None else f"{100 * ratio:.1f}"


def _operator_table(profile: Profile, most_rows: int) -> Table:
    """A line for each launch that msopprof looked into."""
    table = Table(box=box.SIMPLE)
    for column in ("device", "rank", "call"):
        table.add_column(column, justify="right")
    table.add_column("operator")
    for column in ("us", "cores", "shortest core, us", "longest core, us", "it is core"):
        table.add_column(column, justify="right")
    for row in profile.operators[:most_rows]:
        times = [core.duration_ns for core in row.per_core]
        longest = max(row.per_core, key=lambda core: (core.duration_ns, -core.core), default=None)
        numbers = (_NONE if value is None else str(value) for value in (row.device, row.rank, row.number))
        table.add_row(
            *numbers,
            row.name,
            _us(row.duration_ns),
            _NONE if row.cores is None else str(row.cores),
            _us(min(times, default=None)),
            _us(max(times, default=None)),
            _NONE if longest is None else str(longest.core),
        )
    return table


def _notes(profile: Profile, most_rows: int) -> list[str]:
    lines = []
    for what, rows in (("calls", len(profile.calls)), ("launches", len(profile.operators))):
        if rows > most_rows:
            lines.append(f"{rows - most_rows} more {what}: --json has all")
    if profile.others:
        count = sum(row.count for row in profile.others)
        listed = ", ".join(f"{row.name} {row.count}x {microseconds(row.total_ns)} us" for row in profile.others[:4])
        lines.append(f"other operators, {count} rows: {listed}{', ...' if len(profile.others) > 4 else ''}")
    lines += _by_columns("no column", profile.missing)
    lines += _by_columns("columns kept as they are", profile.unknown)
    lines += [f"not there: {name}" for name in profile.absent]
    lines += [f"exported again later, not read: {name}" for name in profile.older]
    parts = [_count(len(profile.calls), "call", profile.num_ranks, "rank")] if profile.calls else []
    devices = len({row.device for row in profile.operators})
    parts += [_count(len(profile.operators), "launch", devices, "device")] if profile.operators else []
    lines.append(f"{profile.source}: {', '.join(parts)}")
    return lines


def _count(number: int, what: str, places: int, place: str) -> str:
    ends = {"call": "s", "launch": "es"}
    return f"{number} {what}{'' if number == 1 else ends[what]} on {places} {place}{'' if places == 1 else 's'}"


def _by_columns(what: str, columns: dict[str, list[str]]) -> list[str]:
    """Files that say the same share a line: msopprof writes two for each launch."""
    files: dict[tuple[str, ...], list[str]] = {}
    for name, names in columns.items():
        files.setdefault(tuple(names), []).append(name)
    return [
        f"{what} {', '.join(names)}: {paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}"
        for names, paths in files.items()
    ]


def profile_json(profile: Profile) -> dict[str, object]:
    """Everything, as one JSON object. Times in microseconds, null where the folder does not say."""
    return {
        "source": profile.source,
        "ranks": profile.num_ranks,
        "calls": [_call_json(row) for row in profile.calls],
        "launches": [_operator_json(row) for row in profile.operators],
        "other_operators": [
            {"name": row.name, "count": row.count, "total_us": row.total_ns / 1000} for row in profile.others
        ],
        "files": profile.files,
        "older_files": profile.older,
        "absent_files": profile.absent,
        "missing_columns": profile.missing,
        "unknown_columns": profile.unknown,
    }


def _json_us(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1000


def _call_json(row: CallRow) -> dict[str, object]:
    return {
        "rank": row.rank,
        "call": row.number,
        "operator": row.name,
        "device": row.device,
        "stream": row.stream,
        "start_us": _json_us(row.start_ns),
        "duration_us": _json_us(row.duration_ns),
        "wait_us": _json_us(row.wait_ns),
        "cores": row.cores,
        "inputs": [{"name": name, "dtype": dtype, "shape": shape} for name, dtype, shape in row.shapes],
        "pipes": row.pipes,
        "more": row.more,
    }


def _operator_json(row: Operator) -> dict[str, object]:
    return {
        "device": row.device,
        "rank": row.rank,
        "call": row.number,
        "operator": row.name,
        "duration_us": _json_us(row.duration_ns),
        "cores": row.cores,
        "per_core": [
            {
                "core": core.core,
                "part": core.part,
                "duration_us": core.duration_ns / 1000,
                "pipes": core.pipes,
                "more": core.more,
            }
            for core in row.per_core
        ],
        "more": row.more,
        "folder": row.folder,
    }
