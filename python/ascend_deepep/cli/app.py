# SPDX-License-Identifier: Apache-2.0
"""The commands, and the one place where errors become lines and exit codes. Layer: Python."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from ascend_deepep.cli.bench import bench
from ascend_deepep.cli.conformance import conformance
from ascend_deepep.cli.demo import demo
from ascend_deepep.cli.diagnose import diagnose
from ascend_deepep.cli.doctor import doctor
from ascend_deepep.cli.model import model
from ascend_deepep.cli.sim import sim
from ascend_deepep.cli.size import size
from ascend_deepep.demo.usage import OutOfTime, UsageError
from ascend_deepep.errors import DeepEPError
from ascend_deepep.testing import RankErrors

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
)
_INTERRUPTED = 130  # newer typer turns KeyboardInterrupt into this result; no command of ours returns it

app.command()(bench)
app.command()(conformance)
app.command()(demo)
app.command()(diagnose)
app.command()(doctor)
app.command()(model)
app.command()(sim)
app.command()(size)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"ascend-deepep {metadata.version('ascend-deepep')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """MoE expert-parallel dispatch and combine for Ascend 950, run by the kernels themselves on the host twin."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; 2 also where its output cannot be written."""
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE, errno.EIO):
            raise
        # Python would try once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"standard output cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return code


def _run(words: list[str]) -> int:
    as_json = "--json" in words
    try:
        if not words:
            app(["--help"], prog_name="ascend-deepep", standalone_mode=False)
            return 2
        result = app(words, prog_name="ascend-deepep", standalone_mode=False)
    except UsageError as error:
        return _fail(as_json, 2, error.kind, str(error))
    except DeepEPError as error:
        from ascend_deepep.demo.rank import describe_error

        return _fail(as_json, 1, type(error).__name__, str(error), describe_error(error))
    except OutOfTime as error:
        return _fail(as_json, 1, "OutOfTime", str(error))
    except RankErrors as error:
        return _fail(as_json, 1, "RankErrors", str(error))
    except ImportError as error:
        return _fail(as_json, 1, "ImportError", f"the package is not complete: {error}")
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(as_json)
    except Exception as error:
        # What typer raises for a wrong command line; its class lives in a different module from release to release.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        return _fail(as_json, 2, "UsageError", " ".join(str(format_message()).split()))
    if result == _INTERRUPTED:
        return _interrupted(as_json)
    return result if isinstance(result, int) else 0


def _interrupted(as_json: bool) -> int:
    if as_json:
        return _fail(as_json, 1, "Interrupted", "interrupted")
    print("interrupted", file=sys.stderr)
    return 1


def _fail(as_json: bool, code: int, kind: str, message: str, more: dict[str, object] | None = None) -> int:
    if as_json:
        print(json.dumps({"error": {**(more or {}), "kind": kind, "message": message}}))
    else:
        print(f"{kind}: {message}", file=sys.stderr)
    return code
