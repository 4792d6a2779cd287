# SPDX-License-Identifier: Apache-2.0
"""A throw-away copy of the real headers that a host clang can read, under build/header_check/asc.

Layer: build. Three small edits are made in the copy, none in the original; nothing of it is kept or shipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OVERLAY = ROOT / "build/header_check/asc"
INCLUDE_DIRS = (
    "",
    "include",
    "include/basic_api",
    "include/adv_api",
    "include/utils",
    "impl",
    "impl/basic_api",
    "include/simt_api",
    "include/c_api",
)
# A host clang puts string literals into the generic space, so string parameters lose their GM qualifier.
GM_STRING = re.compile(r"(const )?__(?:simt_)?gm__ (const )?char\b")
DUMP = "impl/utils/debug/asc_aicore_printf_impl.h"
DUMP_CAST = re.compile(r"reinterpret_cast<__gm__ const uint8_t\*>\((dumphead|fmt)\)")
# One pointer at namespace scope is used from SIMT code: the exec passes want it marked.
FIFO = "impl/utils/debug/asc_printf_simt_impl.h"
FIFO_POINTER = re.compile(r"^inline __gm__ uint8_t\* __simt_gm__ (g_sysSimtPrintFifoSpace)", re.MULTILINE)


class DevkitError(Exception):
    """The headers cannot be used; the text says what to set."""


def locate() -> Path:
    """Directory named by ASC_DEVKIT: a checkout of asc-devkit or an extract of it with include/ and impl/."""
    value = os.environ.get("ASC_DEVKIT", "")
    root = Path(value)
    if not value or not (root / "include/kernel_operator.h").is_file() or not (root / "impl").is_dir():
        raise DevkitError(f"set ASC_DEVKIT to a checkout of asc-devkit (include/ and impl/ in it); it is '{value}'")
    return root.resolve()


def commit(devkit: Path) -> str:
    """Commit of the headers: of the checkout, or ASC_DEVKIT_COMMIT for an extract without .git."""
    if (devkit / ".git").exists():
        run = subprocess.run(
            ["git", "-C", str(devkit), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
        return run.stdout.strip()
    value = os.environ.get("ASC_DEVKIT_COMMIT", "")
    if not re.fullmatch(r"[0-9a-f]{40}", value):
        raise DevkitError(f"{devkit} has no .git: set ASC_DEVKIT_COMMIT to the 40 digits of its commit")
    return value


def edited(name: str, text: str) -> str:
    """The text of header `name` (path below the devkit) as the copy holds it."""
    text = GM_STRING.sub(lambda match: f"{match[1] or ''}{match[2] or ''}char", text)
    if name == DUMP:
        text = DUMP_CAST.sub(r"(__gm__ const uint8_t*)(\1)", text)
    if name == FIFO:
        text = FIFO_POINTER.sub(r"inline ASCCHK_SIMTVAR __gm__ uint8_t* \1", text)
    return text


def overlay(devkit: Path, version: str, target: Path) -> Path:
    """Make (once per devkit and version) the edited copy in `target` and return it."""
    origin = f"{devkit} {version}\n"
    marker = target / "origin.txt"
    if marker.is_file() and marker.read_text() == origin:
        return target
    shutil.rmtree(target, ignore_errors=True)
    for part in ("include", "impl"):
        shutil.copytree(devkit / part, target / part)
    for path in [*target.rglob("*.h"), *target.rglob("*.hpp")]:
        before = path.read_text(errors="surrogateescape")
        after = edited(path.relative_to(target).as_posix(), before)
        if after != before:
            path.chmod(0o644)
            path.write_text(after, errors="surrogateescape")
    marker.write_text(origin)
    return target


def include_flags(copy: Path) -> list[str]:
    """-isystem flags for the copy."""
    return [flag for directory in INCLUDE_DIRS for flag in ("-isystem", str(copy / directory))]
