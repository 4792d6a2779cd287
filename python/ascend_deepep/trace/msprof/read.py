# SPDX-License-Identifier: Apache-2.0
"""A folder of msprof or msopprof, a twin's or an NPU's, as a Profile. Layer: Python, no torch.

An NPU's files know devices, not ranks, and no numbers of calls. There a rank is what torch_npu's profiler wrote beside
the folder, else the place of its (process, device) in the order of devices; calls are counted in the order of their
starts. Times are moved so that the first row of the folder starts at 0. The twin writes all three itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from ascend_deepep.demo.usage import UsageError
from ascend_deepep.trace.msprof import columns
from ascend_deepep.trace.msprof.find import Export, Found, Launch, find
from ascend_deepep.trace.msprof.profile import CallRow, CoreRow, Operator, OtherOperator, Profile
from ascend_deepep.trace.msprof.read_timeline import Timeline, is_ours, read_timelines
from ascend_deepep.trace.msprof.table_file import Row, TableFile

_Fields = tuple[tuple[str, ...], ...]

_SUMMARY: _Fields = (
    columns.DEVICE,
    columns.TASK,
    columns.STREAM,
    columns.NAME,
    columns.TYPE,
    columns.TASK_TYPE,
    columns.START,
    columns.DURATION,
    columns.WAIT,
    columns.CORES,
    columns.SHAPES,
    columns.DTYPES,
    *((column,) for column in columns.AIV_PIPES),
)
_TASK_TIME: _Fields = (columns.DEVICE, columns.NAME, columns.STREAM, columns.TASK, columns.DURATION, columns.START)
_BASIC_INFO: _Fields = (columns.NAME, columns.TYPE, columns.DURATION, columns.CORES, columns.DEVICE)
_PIPE_UTILIZATION: _Fields = (columns.BLOCK, *((column,) for column in columns.AIV_PIPES))
_KNOWN = {
    *columns.OP_SUMMARY,
    *columns.TASK_TIME,
    *columns.OP_BASIC_INFO,
    *columns.PIPE_UTILIZATION,
    *columns.NOT_USED,
    *(name for spellings in (*_SUMMARY, *_BASIC_INFO) for name in spellings),
}
_PIPES = {*columns.AIV_PIPES, *columns.AIC_PIPES, "cube_utilization(%)", *columns.PIPE_UTILIZATION[2:]}


@dataclass(frozen=True)
class _Task:
    """One row of a table of tasks, of any operator."""

    export: int
    device: int
    name: str | None  # DISPATCH, COMBINE or another's
    kind: str  # the operator's type, or its name
    numbered: tuple[int, int] | None
    row: CallRow  # rank, number and clock are still to come


def read_folder(folder: Path | str) -> Profile:
    """Read what lies in `folder` and below. UsageError, one line: no such files, or a value that cannot be."""
    folder = Path(folder)
    found = find(folder)
    profile = Profile("npu", 0)
    tasks = [task for index, export in enumerate(found.exports) for task in _tasks(profile, index, export, folder)]
    timelines = [path for export in found.exports for path in export.timelines if is_ours(path)]
    timeline = read_timelines(timelines)
    profile.operators = [operator for launch in found.launches for operator in _launch(profile, launch, folder)]
    profile.operators.sort(key=lambda row: (row.device or 0, -1 if row.number is None else row.number, row.folder))
    profile.source = _source(profile, tasks, timeline)
    _number(profile, found, tasks, timeline)
    _count_others(profile, tasks)
    profile.files = sorted({*profile.files, *(_relative(path, folder) for path in timelines)})
    profile.older = sorted(_relative(path, folder) for path in found.older)
    profile.absent = sorted(_relative(path, folder) for path in found.absent)
    return profile


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _open(profile: Profile, path: Path, folder: Path, wanted: _Fields) -> TableFile:
    """Open a table and note what it lacks and what is not understood."""
    table = TableFile(path, str(path))
    name = _relative(path, folder)
    profile.files.append(name)
    if missing := table.missing(wanted):
        profile.missing[name] = missing
    if unknown := [column for column in table.columns if column not in _KNOWN]:
        profile.unknown[name] = unknown
    return table


def _tasks(profile: Profile, index: int, export: Export, folder: Path) -> list[_Task]:
    tasks = []
    for path in export.tables:
        table = _open(profile, path, folder, _TASK_TIME if path.name.startswith("task_time") else _SUMMARY)
        table.require(columns.NAME, columns.DURATION)
        for row in table.rows():
            tasks.append(_task(index, row))
    return tasks


def _task(index: int, row: Row) -> _Task:
    text = row.cell(columns.NAME).text
    kind = row.cell(columns.TYPE).text
    name = columns.operator_name(text, kind)
    device = row.cell(columns.DEVICE).count() or 0
    duration = row.needed(row.cell(columns.DURATION).nanoseconds(), columns.DURATION)
    start = row.cell(columns.START).nanoseconds()
    if name is None:
        call = CallRow(0, 0, text, device, start, duration)
        kind = kind if kind and kind != "N/A" else text
        return _Task(index, device, None, kind, None, call)
    call = CallRow(
        rank=0,
        number=0,
        name=name,
        device=device,
        start_ns=start,
        duration_ns=duration,
        wait_ns=row.cell(columns.WAIT).nanoseconds(),
        cores=row.cell(columns.CORES).count() or None,  # 0: not collected (--task-time=l0)
        stream=row.cell(columns.STREAM).count(),
        shapes=_shapes(row),
        pipes=_numbers(row),
        more=row.rest(_KNOWN),
    )
    return _Task(index, device, name, name, columns.rank_and_number(text), call)


def _numbers(row: Row) -> dict[str, float]:
    values = {name: row.cell((name,)).number() for name in sorted(_PIPES)}
    return {name: value for name, value in values.items() if value is not None}


def _shapes(row: Row) -> tuple[tuple[str, str, str], ...]:
    """msprof parts tensors by `;`, and may quote the list once more."""
    cells = [row.cell(columns.DTYPES), row.cell(columns.SHAPES)]
    dtypes, shapes = (
        [] if cell.is_empty else [word.strip() for word in cell.text.strip('"').split(";")] for cell in cells
    )
    if not any(shapes) and not dtypes:
        return ()
    count = max(len(dtypes), len(shapes))
    dtypes += [""] * (count - len(dtypes))
    shapes += [""] * (count - len(shapes))
    return tuple(
        ("", columns.TORCH_DTYPES.get(dtype, dtype), shape) for dtype, shape in zip(dtypes, shapes, strict=True)
    )


def _launch(profile: Profile, launch: Launch, folder: Path) -> list[Operator]:
    """The rows of one OpBasicInfo.csv that are ours; one, as a rule."""
    table = _open(profile, launch.basic_info, folder, _BASIC_INFO)
    table.require(columns.NAME, columns.DURATION)
    cores = _cores(profile, launch, folder)
    operators = []
    for row in table.rows():
        text = row.cell(columns.NAME).text
        name = columns.operator_name(text)
        duration = row.needed(row.cell(columns.DURATION).nanoseconds(), columns.DURATION)
        if name is None:
            profile.others.append(OtherOperator(text, 1, duration))
            continue
        rank, number = columns.rank_and_number(text) or (None, None)
        operators.append(
            Operator(
                name=name,
                device=row.cell(columns.DEVICE).count(),
                rank=rank,
                number=number,
                duration_ns=duration,
                cores=row.cell(columns.CORES).count() or None,
                per_core=cores,
                more=row.rest(_KNOWN),
                folder=_relative(launch.folder, folder),
            )
        )
    return operators


def _cores(profile: Profile, launch: Launch, folder: Path) -> list[CoreRow]:
    """Of PipeUtilization.csv: what its vector cores did."""
    if launch.pipes is None:
        return []
    table = _open(profile, launch.pipes, folder, _PIPE_UTILIZATION)
    table.require(columns.BLOCK, columns.CORE_TIME)
    cores = []
    for row in table.rows():
        block = row.needed(row.cell(columns.BLOCK).count(), columns.BLOCK)
        nanoseconds = row.cell(columns.CORE_TIME).nanoseconds()
        if nanoseconds is None:
            continue  # a cube core
        part = row.cell(columns.SUB_BLOCK).text
        cores.append(CoreRow(block, part, nanoseconds, _numbers(row), row.rest(_KNOWN)))
    return cores


def _source(profile: Profile, tasks: list[_Task], timeline: Timeline) -> str:
    numbered = any(task.numbered for task in tasks) or any(row.rank is not None for row in profile.operators)
    return timeline.source or ("twin" if numbered else "npu")


def _number(profile: Profile, found: Found, tasks: list[_Task], timeline: Timeline) -> None:
    """Give every call its rank, its number and its start on the recording's clock."""
    is_ours = timeline.source is not None or any(task.numbered for task in tasks)
    ranks = {} if is_ours else _ranks(found, tasks)
    starts = [task.row.start_ns for task in tasks if task.row.start_ns is not None]
    first = 0 if is_ours else min(starts, default=0)
    counts: dict[int, int] = {}
    for task in sorted(tasks, key=lambda task: (task.row.start_ns is None, task.row.start_ns or 0)):
        if task.name is None:
            continue
        rank = ranks.get((task.export, task.device), task.device)
        rank, number = task.numbered or (rank, counts.get(rank, 0))
        counts[rank] = max(counts.get(rank, 0), number + 1)
        start = None if task.row.start_ns is None else task.row.start_ns - first
        shapes = tuple(
            (name or given, dtype, shape)
            for given, (name, dtype, shape) in zip(
                _padded(timeline.names.get((rank, number), []), len(task.row.shapes)), task.row.shapes, strict=True
            )
        )
        profile.calls.append(replace(task.row, rank=rank, number=number, start_ns=start, shapes=shapes))
    profile.calls.sort(key=lambda row: (row.rank, row.number))
    _refuse_doubles(profile.calls)
    named = [row.rank for row in profile.calls] + [row.rank for row in profile.operators if row.rank is not None]
    profile.num_ranks = max([*named, *ranks.values(), timeline.num_ranks - 1], default=-1) + 1
    profile.stages, profile.waits = timeline.stages, timeline.waits


def _padded(names: list[str], length: int) -> list[str]:
    return (names + [""] * length)[:length]


def _refuse_doubles(calls: list[CallRow]) -> None:
    for before, row in pairwise(calls):
        if (before.rank, before.number) == (row.rank, row.number):
            raise UsageError(
                f"call {row.number} of rank {row.rank} is there twice: the folder holds two recordings, name one PROF_*"
            )


def _ranks(found: Found, tasks: list[_Task]) -> dict[tuple[int, int], int]:
    """Of an NPU's devices that ran our operators; all devices, where none did."""
    pairs = sorted({(task.export, task.device) for task in tasks if task.name} or {(t.export, t.device) for t in tasks})
    beside = [found.exports[export].rank for export, _ in pairs]
    if None not in beside and len(set(beside)) == len(beside):
        return {pair: rank for pair, rank in zip(pairs, beside, strict=True) if rank is not None}
    if len({device for _, device in pairs}) == len(pairs):
        pairs.sort(key=lambda pair: pair[1])
    return {pair: rank for rank, pair in enumerate(pairs)}


def _count_others(profile: Profile, tasks: list[_Task]) -> None:
    totals: dict[str, tuple[int, int]] = {}
    rows = [(task.kind, 1, task.row.duration_ns) for task in tasks if task.name is None]
    for kind, count, nanoseconds in [*rows, *((row.name, row.count, row.total_ns) for row in profile.others)]:
        before = totals.get(kind, (0, 0))
        totals[kind] = (before[0] + count, before[1] + nanoseconds)
    others = [OtherOperator(kind, count, total) for kind, (count, total) in totals.items()]
    profile.others = sorted(others, key=lambda row: (-row.total_ns, row.name))
