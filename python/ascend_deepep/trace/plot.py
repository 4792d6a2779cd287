# SPDX-License-Identifier: Apache-2.0
"""A recording as a still picture: the cores of one rank in one dispatch and one combine, as PNG and SVG.

Layer: Python; matplotlib, which the package does not need otherwise. A lane is a core, coloured by stage; where it
waits it is grey and hatched, where others have its thread it is pale. Below the cores lie, on the twin, the thread,
dark where all cores wait, and the landings, a lane a source.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_deepep.trace.recording import COMBINE, DISPATCH, Call, Recording, Stage
from ascend_deepep.trace.summary import slowest_rank

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_COLOURS = {
    "entry": "#b8b8b8",
    "route": "#edae49",
    "stage": "#30638e",
    "wqe_builder": "#00798c",
    "doorbell": "#8d5a97",
    "cumsum": "#d1495b",
    "prefix": "#e0878f",
    "collect": "#4f9d69",
    "control": "#d1495b",
    "send": "#30638e",
    "reduce": "#4f9d69",
    "exit": "#b8b8b8",
}
_WAIT: dict[str, Any] = {"facecolor": "#efefef", "edgecolor": "#9a9a9a", "hatch": "//////", "linewidth": 0.0}
_IDLE = "#555555"
_HEIGHT = 0.8
_WORDS = {"twin": "us of real time", "simulator": "us of virtual time", "npu": "us"}


def plot(recording: Recording, stem: Path, caption: str, rank: int | None = None) -> list[Path]:
    """Write STEM.png and STEM.svg of the rank's longest call of each operator; None: of the slowest rank. Their paths.

    The slowest rank is the one that the summary tells of. Errors: ValueError where the rank made no call.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = _longest(recording, rank)
    if not shown:
        raise ValueError(f"rank {rank} made no call in this recording")
    settings: dict[str, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "ascend-deepep",
        "font.size": 9,
        "hatch.linewidth": 0.5,
        "hatch.color": "#9a9a9a",
    }
    with mpl.rc_context(settings):
        lanes = sum(_num_lanes(recording, call) for call in shown)
        figure, panels = plt.subplots(
            len(shown), 1, figsize=(10.0, 2.0 + 0.27 * lanes), squeeze=False, layout="constrained"
        )
        for panel, call in zip(panels[:, 0], shown, strict=True):
            _draw(panel, recording, call)
        panels[-1][0].set_xlabel(f"since the call began, {_WORDS.get(recording.source, 'us')}")
        figure.legend(handles=_legend(recording, shown), loc="outside lower center", ncols=7, frameon=False)
        figure.suptitle(caption, fontsize=10)
        paths = [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
        for path in paths:
            figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths


def _longest(recording: Recording, rank: int | None) -> list[Call]:
    """Of each operator: the longest call of the rank, or of the operator's slowest one."""
    shown = []
    for operator in (DISPATCH, COMBINE):
        of_rank = slowest_rank(recording, operator) if rank is None else rank
        calls = [call for call in recording.calls if call.name == operator and call.rank == of_rank]
        if calls:
            shown.append(max(calls, key=lambda call: call.end_ns - call.start_ns))
    return shown


def _stages(recording: Recording, call: Call) -> list[Stage]:
    return [stage for stage in recording.stages if (stage.rank, stage.call) == (call.rank, call.number)]


def _sources(recording: Recording, call: Call) -> list[int]:
    return sorted({write.rank for write in recording.writes if _lands_in(write, call)})


def _lands_in(write: Any, call: Call) -> bool:
    return bool(write.peer == call.rank and write.rank != call.rank and call.start_ns <= write.landed_ns <= call.end_ns)


def _num_lanes(recording: Recording, call: Call) -> int:
    cores = {stage.core for stage in _stages(recording, call)}
    return len(cores) + len(_sources(recording, call)) + 2


def _draw(panel: Axes, recording: Recording, call: Call) -> None:
    stages = _stages(recording, call)
    cores = sorted({stage.core for stage in stages})
    lane = {core: place for place, core in enumerate(cores)}
    names = [f"core {core}" for core in cores]

    def bars(place: int, spans: Sequence[tuple[int, int]], **style: Any) -> None:
        if spans:
            scaled = [((start - call.start_ns) / 1e3, (end - start) / 1e3) for start, end in spans]
            panel.broken_barh(scaled, (place - _HEIGHT / 2, _HEIGHT), **style)

    for core in cores:
        of_core = [stage for stage in stages if stage.core == core]
        for name in dict.fromkeys(stage.stage for stage in of_core):
            spans = [(stage.start_ns, stage.end_ns) for stage in of_core if stage.stage == name]
            bars(lane[core], spans, facecolor=_COLOURS.get(name, "#777777"), linewidth=0.0)
        mine = (call.rank, call.number, core)
        waits = [(e.start_ns, e.end_ns) for e in recording.waits if (e.rank, e.call, e.core) == mine]
        pauses = [(e.start_ns, e.end_ns) for e in recording.pauses if (e.rank, e.call, e.core) == mine]
        bars(lane[core], pauses, facecolor="white", alpha=0.65, linewidth=0.0)
        bars(lane[core], waits, **_WAIT)
    place = len(cores)
    idles = [(e.start_ns, e.end_ns) for e in recording.idles if (e.rank, e.call) == (call.rank, call.number)]
    if recording.source == "twin":
        bars(place, idles, facecolor=_IDLE, linewidth=0.0)
        names.append("all cores wait")
        place += 1
    for source in _sources(recording, call):
        landed = [
            (write.landed_ns - call.start_ns) / 1e3
            for write in recording.writes
            if write.rank == source and _lands_in(write, call)
        ]
        panel.plot(landed, [place] * len(landed), "|", color="black", markersize=7, markeredgewidth=0.7)
        names.append(f"landed from rank {source}")
        place += 1
    panel.set_yticks(range(place), names)
    panel.set_ylim(place - 0.4, -0.6)
    panel.set_xlim(0, (call.end_ns - call.start_ns) / 1e3)
    panel.set_title(f"{call.name}, rank {call.rank}, call {call.number}, its longest", loc="left", fontsize=9)
    panel.grid(True, axis="x", alpha=0.3)


def _legend(recording: Recording, shown: Sequence[Call]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    present = {stage.stage for call in shown for stage in _stages(recording, call)}
    names: dict[str, list[str]] = {}  # by colour: stages of both operators share some
    for stage, colour in _COLOURS.items():
        if stage in present:
            names.setdefault(colour, []).append(stage)
    handles: list[Any] = [Patch(facecolor=colour, label=", ".join(stages)) for colour, stages in names.items()]
    handles.append(Patch(label="waits", **_WAIT))
    if recording.pauses:
        handles.append(Patch(facecolor="#d8e0e8", label="pale: another core runs"))
    handles.append(Line2D([], [], color="black", marker="|", linestyle="none", label="write landed"))
    return handles
