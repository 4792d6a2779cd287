# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim --exhaustive`. Layer: Python: options and exit code; the work is in ascend_deepep.simulator.

Exit codes: 0 all runs held, 1 some run failed, 2 nothing was run. A limit that ends it early is no failure, and said.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from ascend_deepep.demo.options import UsageError, check_range
from ascend_deepep.simulator.exhaustive import SearchSettings, replay, search_json, search_lines, search_worlds

_MAX_BOUND = 4
_MAX_SECONDS = 10**6


def exhaustive(settings: SearchSettings, jobs: int, delays: str | None, trace: Path | None, as_json: bool) -> int:
    """Search all tiny worlds, or run one list of delays again."""
    check_range("--bound", settings.bound, 0, _MAX_BOUND)
    check_range("--max-seconds", int(settings.max_seconds), 0, _MAX_SECONDS)
    try:
        return _search(settings, jobs, as_json) if delays is None else _replay(settings, delays, trace, as_json)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except RuntimeError as error:  # the kernels cannot be opened, or cost a process its life
        raise UsageError(str(error), "CannotRun") from None


def _search(settings: SearchSettings, jobs: int, as_json: bool) -> int:
    from ascend_deepep import _simulator

    worlds = _simulator.search_worlds()
    results = search_worlds(worlds, settings, jobs)
    if as_json:
        print(json.dumps(search_json(worlds, results, settings)))
    else:
        print("\n".join(search_lines(worlds, results, settings)))
    return 1 if any(result["failures"] for result in results) else 0


def _replay(settings: SearchSettings, text: str, trace: Path | None, as_json: bool) -> int:
    world, _, delays = text.partition(":")
    timeline = "" if trace is None else os.fspath(trace.absolute())
    fingerprint, findings = replay(world, delays, settings, timeline)
    checker, what = findings[0] if findings else (None, None)
    line = settings.command(world, delays)
    if as_json:
        value = {"world": world, "delays": delays, "hash": fingerprint, "checker": checker, "text": what}
        print(json.dumps({**value, "outcome": "failed" if findings else "held", "replay": line}))
    else:
        print(f"{world}, delays {delays or 'none'}: hash {fingerprint}")
        print(f"FAILED [{checker}] {what}; replay: {line}" if findings else "HELD")
    return 1 if findings else 0
