# SPDX-License-Identifier: Apache-2.0
"""A recording as a file: JSON, packed by gzip where the name ends in .gz. Layer: Python, no torch."""

from __future__ import annotations

import gzip
import json
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

FORMAT = 1
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
        found = content["format"]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no recording: {error}") from None
    if found != FORMAT:
        raise ValueError(f"{path} is a recording of format {found}: this version reads format {FORMAT}")
    recording = Recording(content["source"], content["num_ranks"], dropped=content["dropped"])
    for name, kind in _LISTS.items():
        names = content["fields"][name]
        setattr(recording, name, [kind(**dict(zip(names, _frozen(event), strict=True))) for event in content[name]])
    return recording


def _frozen(values: list[Any]) -> list[Any]:
    return [tuple(_frozen(value)) if isinstance(value, list) else value for value in values]
