# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep trace`. Layer: Python: options, files and exit code; the work is in ascend_deepep.trace.

Exit codes: 0 recorded and every result exact, 1 a result differs, 2 nothing was recorded.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ascend_deepep.bench.shapes import DTYPES, ROUTINGS, Shape
from ascend_deepep.cli.environment import check_environment
from ascend_deepep.cli.values import one_of, refuse_others
from ascend_deepep.config import ENGINES
from ascend_deepep.demo.usage import UsageError, check_range

if TYPE_CHECKING:
    from ascend_deepep.trace.msprof import Profile
    from ascend_deepep.trace.recording import Recording
    from ascend_deepep.trace.run import Made

_MAX_RANKS = 64
_MAX_ROUNDS = 1000
_SIM_CORES = 8
_DEFAULT_OUT = Path("trace")  # of what is recorded; what is only read is written where that is asked for
TIMELINE, RECORDING, SUMMARY, MSPROF = "timeline.json", "recording.json.gz", "summary.txt", "msprof"
# Parameters that each kind of recording heeds.
_SHAPE = ("ranks", "tokens", "hidden", "topk", "experts", "calls")
_FILES = ("out", "plot", "rank", "as_json")
_MODES: dict[str, tuple[str, ...]] = {
    "the twin": (*_SHAPE, "dtype", "routing", "warmup", "events", "seed", *_FILES),
    "--sim": (*_SHAPE, "with_sim", "cores", "combine_engine", *_FILES),
    "--from": ("source", *_FILES),
    "--from-msprof": ("from_msprof", *_FILES),
}

_Calls = Annotated[int, typer.Option(help="Rounds that are recorded: a dispatch and its combine each.")]
_Sim = Annotated[bool, typer.Option("--sim", help="In a world of the simulator, in virtual time, instead of the twin.")]
_From = Annotated[Path | None, typer.Option("--from", metavar="FILE", help="Read a recording instead of making one.")]
_FromMsprof = Annotated[
    Path | None, typer.Option("--from-msprof", metavar="DIR", help="Read what msprof wrote, of an NPU or of ours.")
]
_Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Where the files go; made if need be. (default: trace; nowhere with --from, --from-msprof)"
    ),
]
_Events = Annotated[int, typer.Option(help="Room for events of a rank; those that find none are counted.")]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw one rank's cores: FILE.png and FILE.svg.")]


def trace(
    context: typer.Context,
    ranks: Annotated[int, typer.Option(help="Ranks; on the twin a process each.")] = 4,
    tokens: Annotated[int, typer.Option(help="Tokens of a rank.")] = 32,
    hidden: Annotated[int, typer.Option(help="Elements of a token.")] = 7168,
    topk: Annotated[int, typer.Option(help="Experts of a token.")] = 8,
    experts: Annotated[int, typer.Option(help="Experts of all ranks.")] = 256,
    dtype: Annotated[str, typer.Option(metavar="|".join(DTYPES), help="How tokens travel.")] = "bf16",
    routing: Annotated[str, typer.Option(metavar="|".join(ROUTINGS), help="How tokens choose experts.")] = "gate",
    calls: _Calls = 3,
    warmup: Annotated[int, typer.Option(help="Rounds before them, which are not recorded.")] = 3,
    events: _Events = 1 << 18,
    seed: Annotated[int, typer.Option(help="Of tokens and routing.")] = 0,
    with_sim: _Sim = False,
    cores: Annotated[int, typer.Option(help="With --sim: cores of a rank.")] = _SIM_CORES,
    combine_engine: Annotated[
        str, typer.Option(metavar="|".join(ENGINES), help="With --sim: what carries rows back.")
    ] = ENGINES[0],
    source: _From = None,
    from_msprof: _FromMsprof = None,
    out: _Out = None,
    plot: _Plot = None,
    rank: Annotated[int | None, typer.Option(help="With --plot: whose cores. (default: the slowest rank's)")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> int:
    """Record calls and say where their time went: a timeline for Perfetto, a summary, a picture."""
    check_environment()
    mode = _mode(with_sim, source, from_msprof)
    refuse_others(context, _MODES[mode], lambda name, option: _why_not(name, option, mode))
    if rank is not None and plot is None:
        raise UsageError("--rank goes with --plot")
    if out is None and mode in ("the twin", "--sim"):
        out = _DEFAULT_OUT
    if out is not None:
        _make_folder(out, source)
    if plot is not None:
        from ascend_deepep.bench.plot import check_plot

        check_plot(plot)
    caption = f"ascend-deepep trace of {source or from_msprof}"
    profile = None
    if from_msprof is not None:
        from ascend_deepep.trace.msprof import read_folder
        from ascend_deepep.trace.run import Made

        profile = read_folder(from_msprof)
        made = Made(profile.recording, [])
    elif source is not None:
        made = _read(source)
    else:
        shape = Shape(
            ranks,
            tokens,
            hidden,
            topk,
            experts,
            one_of("--dtype", dtype, tuple(DTYPES)),
            one_of("--routing", routing, ROUTINGS),
            seed,
        )
        _check(shape, calls, warmup, events)
        where = "simulator" if with_sim else "host twin"
        caption = f"{where}: {ranks} ranks, {tokens} tokens, hidden {hidden}, top-{topk} of {experts} experts"
        made = _make(shape, calls, warmup, events, one_of("--combine-engine", combine_engine, ENGINES), cores, with_sim)
    return _tell(made, profile, out, plot, rank, caption, as_json)


def _mode(with_sim: bool, source: Path | None, from_msprof: Path | None) -> str:
    asked = [name for name, given in (("--sim", with_sim), ("--from", source), ("--from-msprof", from_msprof)) if given]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} exclude each other")
    return asked[0] if asked else "the twin"


def _why_not(name: str, option: str, mode: str) -> str:
    others = " or ".join(other for other, heeded in _MODES.items() if name in heeded)
    return f"{option} does not go with {mode}: it goes with {others}"


def _check(shape: Shape, calls: int, warmup: int, events: int) -> None:
    from ascend_deepep import _runtime

    limits = _runtime.limits()
    check_range("--ranks", shape.ranks, 1, _MAX_RANKS)
    if shape.experts % shape.ranks != 0:
        raise UsageError(
            f"{shape.experts} experts cannot be divided among {shape.ranks} ranks; change --experts or --ranks"
        )
    check_range("--tokens", shape.tokens, 1, limits["max_tokens"])
    check_range("--hidden", shape.hidden, limits["min_hidden"], limits["max_hidden"])
    check_range("--topk", shape.topk, 1, min(limits["max_topk"], shape.experts))
    check_range("--calls", calls, 1, _MAX_ROUNDS)
    check_range("--warmup", warmup, 0, _MAX_ROUNDS)
    check_range("--events", events, 1, 1 << 26)


def _make_folder(out: Path, source: Path | None) -> None:
    if source is not None and (out / RECORDING).resolve() == source.resolve():
        raise UsageError(f"--out {out} would write over {source}, which is read: name another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from None


def _make(shape: Shape, calls: int, warmup: int, events: int, engine: str, cores: int, with_sim: bool) -> Made:
    from ascend_deepep.trace.run import trace_simulated, trace_twin

    if with_sim:
        return trace_simulated(shape, cores, engine, calls)
    from ascend_deepep.testing import Pool

    with Pool() as pool:
        return trace_twin(shape, warmup, calls, events, pool)


def _read(source: Path) -> Made:
    from ascend_deepep.trace.run import Made
    from ascend_deepep.trace.storage import load

    try:
        return Made(load(source), [])
    except ValueError as error:
        raise UsageError(str(error)) from None


def _tell(
    made: Made,
    profile: Profile | None,
    out: Path | None,
    plot: Path | None,
    rank: int | None,
    caption: str,
    as_json: bool,
) -> int:
    """A recording of wrong results is none: then only what is wrong is told."""
    from ascend_deepep.trace.summary import summarise, text

    for finding in made.findings:
        print(finding, file=sys.stderr)
    if made.findings:
        if as_json:
            print(json.dumps({"exact": False, "findings": made.findings}))
        return 1
    recording = made.recording
    if rank is not None and not 0 <= rank < recording.num_ranks:
        raise UsageError(f"--rank {rank} is outside [0, {recording.num_ranks - 1}]")
    summary = summarise(recording)
    files = [] if out is None else _write(recording, text(summary), out, with_msprof=profile is None)
    if plot is not None:
        from ascend_deepep.trace.plot import plot as draw

        files += draw(recording, plot, caption, rank)
    if files:
        print(f"written: {', '.join(map(str, files))}", file=sys.stderr)
    if profile is not None:
        from ascend_deepep.trace.msprof import print_profile

        return print_profile(profile, as_json)
    if as_json:
        print(json.dumps({"exact": True, **_counts(recording), **asdict(summary), "files": [str(f) for f in files]}))
    else:
        print(text(summary), end="")
    return 0


def _write(recording: Recording, summary: str, out: Path, with_msprof: bool) -> list[Path]:
    from ascend_deepep.trace import perfetto, storage

    files = [out / TIMELINE, out / RECORDING, out / SUMMARY]
    try:
        perfetto.write(recording, files[0])
        storage.save(recording, files[1])
        files[2].write_text(summary)
        if with_msprof:
            from ascend_deepep.trace.msprof import write_folder

            files += write_folder(recording, out / MSPROF, replace=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from None
    return files


def _counts(recording: Recording) -> dict[str, Any]:
    names = ("calls", "stages", "waits", "doorbells", "wqes", "writes", "collected")
    return {"num_ranks": recording.num_ranks, "events": {name: len(getattr(recording, name)) for name in names}}
