# SPDX-License-Identifier: Apache-2.0
"""Which files below a folder are msprof's and msopprof's. Layer: Python, no torch.

msprof exports a process's devices into PROF_*/mindstudio_profiler_output/; several processes have several PROF_*.
The profiler of torch_npu keeps such a folder and, beside it, kernel_details.csv with the same rows. msopprof writes
OPPROF_*/, with a folder for each device, operator and launch as soon as there is more than one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from ascend_deepep.demo.usage import UsageError

_STAMPED = re.compile(r"(.*?)(?:_(\d+))?\.(csv|json)")
_RANK_FILE = re.compile(r"profiler_info_(\d{1,6})\.json")


@dataclass
class Export:
    """The tables of one process."""

    folder: Path
    tables: list[Path]  # op_summary; else kernel_details, else task_time
    timelines: list[Path]
    rank: int | None  # of the process, where a file of torch_npu's profiler beside it says so


@dataclass
class Launch:
    """What msopprof found of one launch."""

    folder: Path
    basic_info: Path
    pipes: Path | None


@dataclass
class Found:
    """All of it."""

    exports: list[Export] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    older: list[Path] = field(default_factory=list)  # exported again since
    absent: list[Path] = field(default_factory=list)


def find(folder: Path) -> Found:
    """Look at `folder` and all below it."""
    if not folder.exists():
        raise UsageError(f"{folder} is not there: name a folder that msprof or msopprof has written")
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file: name the folder that it lies in")
    try:
        files = sorted(path for path in folder.rglob("*") if path.suffix in (".csv", ".json") and path.is_file())
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}") from None
    found = Found()
    _add_exports(found, files, folder)
    _add_launches(found, files)
    if not found.exports and not found.launches:
        raise UsageError(
            f"{folder} holds no op_summary*.csv, kernel_details.csv, task_time*.csv or OpBasicInfo*.csv: name a PROF_* "
            "or OPPROF_* folder, or one above; msprof writes them when it exports (msprof --export=on --output=PROF_*)"
        )
    return found


def _add_exports(found: Found, files: list[Path], folder: Path) -> None:
    tables = {kind: [path for path in files if path.name.startswith(kind)] for kind in ("op_summary", "task_time")}
    details = [path for path in files if path.name == "kernel_details.csv"]
    # The same rows under another name: of the folders below one *_ascend_pt, one has to be read.
    if not tables["op_summary"] and details:
        found.exports += [Export(path.parent, [path], [], _rank_beside(path.parent, folder)) for path in details]
        return
    for parent in sorted({path.parent for paths in tables.values() for path in paths if path.suffix == ".csv"}):
        by_kind = {}
        for kind in ("op_summary", "task_time"):
            here = [path for path in tables[kind] if path.parent == parent and path.suffix == ".csv"]
            by_kind[kind] = _newest(found, here)
            if not here:
                found.absent.append(parent / f"{kind}_*.csv")
        timelines = [path for path in files if path.parent == parent and path.name.startswith("msprof_")]
        if not timelines:
            found.absent.append(parent / "msprof_*.json")
        if not any(path.parent == parent and path.name.startswith("op_statistic") for path in files):
            found.absent.append(parent / "op_statistic_*.csv")
        chosen = by_kind["op_summary"] or by_kind["task_time"]
        rank = _rank_beside(parent, folder)
        found.exports.append(Export(parent, chosen, _newest(found, timelines), rank))


def _newest(found: Found, paths: list[Path]) -> list[Path]:
    """A large table is cut into slices of one time stamp; an export done again has a later one."""
    stamps = {path: (match[2] or "") for path in paths if (match := _STAMPED.fullmatch(path.name))}
    latest = max(stamps.values(), default="", key=lambda stamp: (len(stamp), stamp))
    found.older += [path for path, stamp in stamps.items() if stamp != latest]
    return [path for path, stamp in stamps.items() if stamp == latest]


def _rank_beside(parent: Path, folder: Path) -> int | None:
    for above in (parent, *parent.parents):
        numbers = [int(match[1]) for path in above.glob("*.json") if (match := _RANK_FILE.fullmatch(path.name))]
        if len(numbers) == 1:
            return numbers[0]
        if above == folder:
            break
    return None


def _add_launches(found: Found, files: list[Path]) -> None:
    for path in files:
        if not path.name.startswith("OpBasicInfo") or path.suffix != ".csv":
            continue
        wanted = path.name.replace("OpBasicInfo", "PipeUtilization")
        pipes = path.parent / wanted
        if not pipes.is_file():
            # The stamps in the names of one launch's files need not agree.
            others = [other for other in files if other.parent == path.parent and other.name.startswith("PipeUtil")]
            pipes = others[-1] if others else pipes
        if not pipes.is_file():
            found.absent.append(pipes)
        found.launches.append(Launch(path.parent, path, pipes if pipes.is_file() else None))
