# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep sim --exhaustive`. Layer: Python: progress bar and exit code; the work is in ascend_deepep.simulator.

Exit codes: 0 all runs held, 1 some run failed or cost its process, 2 nothing was run. A limit that ends it early is no
failure, and said.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from ascend_deepep.cli.progress import progress
from ascend_deepep.demo.usage import UsageError, check_range
from ascend_deepep.simulator.exhaustive import SearchSettings, replay, search_json, search_lines, search_worlds

_MAX_BOUND = 4
_MAX_TOKENS = 2
_MAX_SECONDS = 10**6
_MAX_FAILURES = 10**9


def exhaustive(settings: SearchSettings, jobs: int, delays: str | None, trace: Path | None, as_json: bool) -> int:
    """Search all tiny worlds, or run one list of delays again."""
    check_range("--bound", settings.bound, 0, _MAX_BOUND)
    check_range("--tokens", settings.tokens, 1, _MAX_TOKENS)
    check_range("--max-seconds", settings.max_seconds, 0, _MAX_SECONDS)
    check_range("--max-failures", settings.max_failures, 1, _MAX_FAILURES)
    try:
        return _search(settings, jobs, as_json) if delays is None else _replay(settings, delays, trace, as_json)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _search(settings: SearchSettings, jobs: int, as_json: bool) -> int:
    from ascend_deepep import _simulator

    worlds = _simulator.search_worlds()
    with progress("runs", None) as advance:
        results = search_worlds(worlds, settings, jobs, advance)
    if as_json:
        print(json.dumps(search_json(worlds, results, settings)))
    else:
        print("\n".join(search_lines(worlds, results, settings)))
    return 1 if any(result["failures"] for result in results) else 0


def _replay(settings: SearchSettings, text: str, trace: Path | None, as_json: bool) -> int:
    world, _, delays = text.partition(":")
    timeline = "" if trace is None else os.fspath(trace.absolute())
    run = replay(world, delays, settings, timeline)
    checker, what = run.findings[0] if run.findings else (None, None)
    line = settings.command(world, delays)
    if as_json:
        value = {"world": world, "delays": delays, "tokens": settings.tokens, "hash": run.fingerprint}
        outcome = "failed" if run.findings else "held"
        print(json.dumps({**value, "checker": checker, "text": what, "outcome": outcome, "replay": line}))
    else:
        print(f"{world}, delays {delays or 'none'}: hash {run.fingerprint or 'none'}")
        print(f"FAILED [{checker}] {what}; replay: {line}" if run.findings else "HELD")
    return 1 if run.findings else 0
