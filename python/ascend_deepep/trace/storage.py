# SPDX-License-Identifier: Apache-2.0
"""A recording as a file: JSON, packed by gzip where the name ends in .gz. Layer: Python, no torch."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from ascend_deepep.trace.recording import (
    Call,
    Collected,
    Doorbell,
    Idle,
    Pause,
    Recording,
    Stage,
    Wait,
    Wqe,
    Write,
)

KIND, FORMAT = "recording", 1
_LISTS: dict[str, type] = {
    "calls": Call,
    "stages": Stage,
    "waits": Wait,
    "doorbells": Doorbell,
    "wqes": Wqe,
    "writes": Write,
    "collected": Collected,
    "pauses": Pause,
    "idles": Idle,
}


def save(recording: Recording, path: Path) -> None:
    """Write it. Events are lists of their fields, whose names stand once, under "fields"."""
    content: dict[str, Any] = {
        "kind": KIND,
        "format": FORMAT,
        "source": recording.source,
        "num_ranks": recording.num_ranks,
        "dropped": recording.dropped,
        "fields": {name: [field.name for field in fields(kind)] for name, kind in _LISTS.items()},
        **{name: [astuple(event) for event in getattr(recording, name)] for name in _LISTS},
    }
    text = json.dumps(content, separators=(",", ":")).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def load(path: Path) -> Recording:
    """Read what `save` wrote. Errors: ValueError, one line, for a file that is none, or of another format."""
    try:
        raw = path.read_bytes()
        content = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise ValueError(f"{path} is no recording: {error}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        hint = "; it has statistics: ascend-deepep diagnose --from" if _has_statistics(content) else ""
        raise ValueError(f"{path} is no recording of `ascend-deepep trace`{hint}")
    if content.get("format") != FORMAT:
        raise ValueError(f"{path} is a recording of format {content.get('format')}: this version reads format {FORMAT}")
    try:
        recording = Recording(content["source"], content["num_ranks"], dropped=content["dropped"])
        for name, kind in _LISTS.items():
            names = content["fields"][name]
            setattr(recording, name, [kind(**dict(zip(names, _frozen(event), strict=True))) for event in content[name]])
        problem = _problem(recording)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: a field is missing or of another kind: {error}") from None
    if problem:
        raise ValueError(f"{path}: {problem}")
    return recording


def _has_statistics(content: object) -> bool:
    return isinstance(content, dict) and "operators" in content and "tokens" in content


def _problem(recording: Recording) -> str:
    """What cannot be; empty where nothing is."""
    if not _is_count(recording.num_ranks) or recording.num_ranks < 1 or not _is_count(recording.dropped):
        return f"num_ranks is {recording.num_ranks!r} and dropped {recording.dropped!r}, want numbers from 1 and 0 on"
    if not isinstance(recording.source, str):
        return f"source is {recording.source!r}, want a text"
    for name, kind in _LISTS.items():
        times = [field.name for field in fields(kind) if field.name.endswith("_ns")]
        for place, event in enumerate(getattr(recording, name)):
            values = [getattr(event, time) for time in times]
            if not all(_is_count(value) for value in values) or values != sorted(values):
                return f"{name}[{place}]: {', '.join(times)} are {values}, want whole numbers that do not go back"
            if not _is_count(event.rank) or event.rank >= recording.num_ranks:
                return f"{name}[{place}]: rank is {event.rank!r}, want one of {recording.num_ranks}"
    return ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _frozen(values: list[Any]) -> list[Any]:
    return [tuple(_frozen(value)) if isinstance(value, list) else value for value in values]
