# SPDX-License-Identifier: Apache-2.0
"""The two sides of the comparison, the real headers and the twin's: how clang reads them, what each declares.

Layer: build. Both are read by the same clang as C++17; the twin under the policy Sim (declarations are the same under
Fast).
"""

from __future__ import annotations

import dataclasses
import posixpath
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from tools.header_check import declarations, signatures, uses
from tools.header_check.passes import HERE, TARGET, compiler

# Every header of the subset that kernel_operator.h does not bring.
ALL_HEADERS = """#include "kernel_operator.h"
#include "simt_api/asc_bf16.h"
#include "simt_api/asc_fp16.h"
#include "simt_api/asc_simt.h"
"""
DEFINE = re.compile(r"#define (\w+)(\([^)]*\))?")
MARKER = re.compile(r'# (\d+) "([^"]*)"')


@dataclasses.dataclass(frozen=True)
class Macro:
    """A macro and where it is defined last."""

    takes_arguments: bool
    file: str
    line: int


@dataclasses.dataclass
class Side:
    """What one side declares: entities by (scope, owner, name), macros, calls that compile."""

    entities: dict[tuple[str, str, str], list[signatures.Entity]]
    macros: dict[str, Macro]
    calls: dict[str, set[str]]


def plain_command(flags: list[str]) -> list[str]:
    """Clang reading C++17, syntax only, without warnings."""
    return [compiler(), "-x", "c++", "-fsyntax-only", "-std=c++17", "-w", *flags]


def real_command(includes: list[str]) -> list[str]:
    """How the pass `space` reads the real headers."""
    stubs = [f"-I{HERE / 'stubs'}", "-include", "npu_prelude.h"]
    return plain_command([*TARGET, *stubs, *includes, "-include", "kernel_operator.h", "-include", "npu_user.h"])


def twin_command(root: Path, headers: Path) -> list[str]:
    """The twin's headers in `headers`; the rest of the twin from the repository."""
    flags = ["-DASCEND_DEEPEP_TWIN_POLICY=Sim", f"-I{headers}", f"-I{root}", f"-I{root / 'op_kernel'}"]
    return plain_command([*flags, "-include", "kernel_operator.h"])


def read_macros(command: list[str], source: Path) -> dict[str, Macro]:
    """Macros at the end of the translation unit, with their places."""
    run = subprocess.run([*command, "-E", "-dD", str(source)], capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        raise declarations.DumpError(f"{command[0]} -E exits {run.returncode}: {run.stderr.strip()[:300]}")
    macros: dict[str, Macro] = {}
    file, line = "", 0
    for text in run.stdout.splitlines():
        if marker := MARKER.match(text):
            file, line = marker[2], int(marker[1])
            continue
        if define := DEFINE.match(text):
            macros[define[1]] = Macro(define[2] is not None, file, line)
        elif text.startswith("#undef "):
            macros.pop(text.split()[1], None)
        line += 1
    return macros


def read_side(
    command: list[str],
    work: Path,
    wanted: Callable[[str, str], bool],
    probes: list[uses.Probe],
    has_spaces: bool,
) -> Side:
    """Declarations, macros and legal calls of one side; `work` is a directory for sources.

    `has_spaces`: address spaces are types on this side.
    """
    work.mkdir(parents=True, exist_ok=True)
    source = work / "all_headers.cpp"
    source.write_text(ALL_HEADERS)
    entities: dict[tuple[str, str, str], list[signatures.Entity]] = {}
    for declared in declarations.read_declarations([*command, str(source)], wanted):
        if declared.scopes[:1] == ("ascend_deepep",):
            continue  # the twin's own
        for entity in signatures.entities(declared):
            entities.setdefault((entity.scope, entity.owner, entity.name), []).append(entity)
    calls = uses.legal_cases(command, work / "calls.cpp", probes, has_spaces)
    return Side(entities, read_macros(command, source), calls)


def place(file: str, root: Path, copy: Path) -> str:
    """Path of a file in words of the report: below the devkit, or below the repository."""
    path = posixpath.normpath(file)
    for base in (copy, root):
        if path.startswith(f"{base}/"):
            return path[len(f"{base}/") :]
    return path
