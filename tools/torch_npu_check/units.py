# SPDX-License-Identifier: Apache-2.0
"""Compiles units of framework/ to objects against the headers of torch and torch_npu. Layer: build.

An object is kept in build/torch_npu/objects and made anew when the unit, a header of ours that it includes, the flags,
the compiler or the wheel changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sysconfig
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.torch_npu_check.wheel import Wheel

#: Units of libascend_deepep_ops_npu.so that need no compiler of CANN.
SOURCES = ("framework/npu/*.cpp", "framework/npu/ops/*.cpp", "framework/ops/kernels*.cpp")
WARNINGS = ("-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True)
class Compiler:
    """The compiler and what all units share."""

    program: str
    flags: tuple[str, ...]
    objects: Path
    #: Changes whenever objects made before are of no use.
    key: str


@dataclass(frozen=True)
class Unit:
    """One compiled unit: its object, or what the compiler said."""

    source: Path
    object: Path
    errors: str


def stable_abi(root: Path) -> str:
    """The release of torch's stable ABI that the package is built for."""
    text = (root / "cmake/FindHostTorch.cmake").read_text()
    match = re.search(r"TORCH_TARGET_VERSION=\w+", text)
    assert match is not None, "cmake/FindHostTorch.cmake defines no TORCH_TARGET_VERSION"
    return f"-D{match[0]}"


def compiler(root: Path, wheel: Wheel, torch: Path) -> Compiler:
    """The compiler of CXX, else g++, with the include paths of a build for NPUs."""
    program = os.environ.get("CXX", "g++")
    systems = (wheel.include, wheel.include / "third_party/acl/inc", torch / "include", torch_api(torch))
    flags = (
        "-std=c++20",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-strict-aliasing",
        *WARNINGS,
        stable_abi(root),
        *(f"-I{path}" for path in (root, root / "op_kernel")),
        *(flag for path in systems for flag in ("-isystem", str(path))),
        *("-isystem", sysconfig.get_paths()["include"]),
    )
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    key = hashlib.sha256("\n".join([version, wheel.version, *flags]).encode()).hexdigest()
    return Compiler(program, flags, root / "build/torch_npu/objects", key)


def torch_api(torch: Path) -> Path:
    """Include path of torch's C++ front end."""
    return torch / "include/torch/csrc/api/include"


def sources(root: Path) -> list[Path]:
    """The units, in order."""
    return sorted(path for pattern in SOURCES for path in root.glob(pattern))


def stamp(chosen: Compiler, source: Path, depfile: Path) -> str:
    """Hash of all that the object came from: the compiler's key, the unit and its headers, by the compiler's list."""
    digest = hashlib.sha256(chosen.key.encode())
    names = depfile.read_text().replace("\\\n", " ").split(":", 1)[1].split() if depfile.is_file() else []
    for path in (source, *map(Path, names)):
        digest.update(path.read_bytes() if path.is_file() else b"missing")
    return digest.hexdigest()


def compile_unit(chosen: Compiler, source: Path) -> Unit:
    """Compile one unit, or take the object of an equal one."""
    name = hashlib.sha256(str(source).encode()).hexdigest()[:12]
    target = chosen.objects / f"{source.stem}-{name}.o"
    depfile, marker = target.with_suffix(".d"), target.with_suffix(".stamp")
    if target.is_file() and marker.is_file() and marker.read_text() == stamp(chosen, source, depfile):
        return Unit(source, target, "")
    marker.unlink(missing_ok=True)
    command = [chosen.program, *chosen.flags, "-MMD", "-MF", str(depfile), "-c", str(source), "-o", str(target)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        marker.write_text(stamp(chosen, source, depfile))
    return Unit(source, target, "" if run.returncode == 0 else run.stderr or f"exit status {run.returncode}")


def compile_all(chosen: Compiler, paths: Iterable[Path]) -> Sequence[Unit]:
    """Compile several units side by side."""
    chosen.objects.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda path: compile_unit(chosen, path), paths))
