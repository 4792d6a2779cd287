# SPDX-License-Identifier: Apache-2.0
"""Does a library export what the objects call? Answered by `nm`. Layer: build.

Every undefined symbol has to come from somewhere: libtorch_npu.so, torch, the C++ runtime, ACL (declared in its
headers, since its library comes with CANN) or this package itself.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.torch_npu_check.wheel import Wheel

#: Functions of torch_npu and ACL: those that are listed.
FOREIGN = re.compile(r"\b(?:c10_npu|at_npu|torch_npu)::|^acl[a-z]*[A-Z]")
#: This package's own: its namespace, and the launches that the compiler of CANN makes.
OWN = re.compile(r"\bascend_deepep::|^ascend_deepep_")
ACL = re.compile(r"^acl[a-z]*[A-Z]")
DECLARED = re.compile(r"\b(acl\w+)\s*\(")
TORCH = ("libtorch_cpu.so", "libtorch.so", "libc10.so")
RUNTIME = ("libstdc++.so.6", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "ld-linux-x86-64.so.2")
RUNTIME_OTHER = ("ld-linux-aarch64.so.1",)
BY_THE_LINKER = frozenset({"_GLOBAL_OFFSET_TABLE_", "__dso_handle"})


@dataclass(frozen=True)
class Use:
    """One symbol that an object needs, demangled, and what provides it; "" for nothing."""

    source: Path
    symbol: str
    provider: str


def nm(path: Path, *options: str) -> list[tuple[str, str]]:
    """(type, mangled name) of each symbol, without versions."""
    run = subprocess.run(["nm", "--format=posix", *options, str(path)], capture_output=True, text=True, check=True)
    pairs = [line.split()[:2] for line in run.stdout.splitlines() if line.strip()]
    return [(kind, name.partition("@")[0]) for name, kind in pairs]


def exports(library: Path) -> frozenset[str]:
    """Names that a shared library defines for others."""
    return frozenset(name for _, name in nm(library, "--dynamic", "--defined-only"))


def declared_acl(wheel: Wheel) -> frozenset[str]:
    """Functions that the wheel's ACL headers declare."""
    texts = (path.read_text(errors="replace") for path in sorted((wheel.include / "acl").glob("*.h")))
    return frozenset(match[1] for text in texts for match in DECLARED.finditer(text))


def demangled(names: Sequence[str]) -> list[str]:
    """Readable forms, in the same order."""
    run = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return run.stdout.split("\n")[: len(names)]


def runtime_libraries(program: str) -> list[Path]:
    """Files of the C and C++ runtime that the compiler links."""
    files = []
    for name in (*RUNTIME, *RUNTIME_OTHER):
        run = subprocess.run([program, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        files.append(Path(run.stdout.strip()))
    return [path for path in files if path.is_absolute() and path.is_file()]


class Providers:
    """What may define a symbol, asked in order."""

    def __init__(self, wheel: Wheel, torch: Path, program: str, objects: Iterable[Path]) -> None:
        libraries = [wheel.library, *(torch / "lib" / name for name in TORCH), *runtime_libraries(program)]
        self._exports = [(library.name, exports(library)) for library in libraries]
        self._acl = declared_acl(wheel)
        self._objects = frozenset(name for path in objects for _, name in nm(path, "--defined-only"))

    def provider(self, mangled: str, readable: str) -> str:
        """Name of the library, or "" when nobody defines the symbol."""
        if mangled in self._objects:
            return "the objects"
        for library, names in self._exports:
            if mangled in names:
                return library
        if mangled in self._acl and ACL.match(mangled):
            return "ACL headers"
        if OWN.search(readable) and not FOREIGN.match(readable):
            return "this package"
        return "the linker" if mangled in BY_THE_LINKER else ""


def uses(source: Path, target: Path, providers: Providers) -> list[Use]:
    """Undefined symbols of one object; weak ones may stay undefined and are left out."""
    names = [name for kind, name in nm(target, "--undefined-only") if kind == "U"]
    readable = demangled(names)
    return [Use(source, text, providers.provider(name, text)) for name, text in zip(names, readable, strict=True)]
