# SPDX-License-Identifier: Apache-2.0
"""Target ascend950 as far as CMake takes it without CANN: found, configured, and the commands it would run.

Layer: tests. CANN and torch_npu are directories that look like them (cann_home.py); nothing is compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cann_home import ROOT, VARIANTS, make_cann, make_executable


def python_with(directory: Path, torch_npu: bool) -> Path:
    """This interpreter, with a torch_npu beside its own packages or not."""
    if torch_npu:
        (directory / "packages/torch_npu/lib").mkdir(parents=True)
        (directory / "packages/torch_npu/__init__.py").write_text("raise ImportError('never imported by a build')\n")
        (directory / "packages/torch_npu/lib/libtorch_npu.so").write_bytes(b"")
    python = directory / "python"
    make_executable(python, f'#!/bin/sh\nPYTHONPATH={directory}/packages exec {sys.executable} "$@"\n')
    return python


def configure(build: Path, env: dict[str, str], python: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """CMake's first step for the NPU."""
    command = ["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", f"-DPython_EXECUTABLE={python}"]
    return subprocess.run(
        [*command, "-DASCEND_DEEPEP_TARGET=ascend950", *options], capture_output=True, text=True, env=env
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_kernels_are_compiled_for_the_device_and_lie_beside_the_package(variant: str, tmp_path: Path) -> None:
    env = make_cann(tmp_path / "cann", variant=variant)
    done = configure(tmp_path / "build", env, python_with(tmp_path, torch_npu=True))
    assert done.returncode == 0, done.stderr
    assert "CANN 9.1.0" in done.stdout and f"torch_npu: {tmp_path}/packages/torch_npu" in done.stdout
    ninja = ["ninja", "-C", str(tmp_path / "build"), "-t", "commands", "ascend950"]
    commands = subprocess.run(ninja, capture_output=True, text=True, check=True).stdout.splitlines()
    (kernels,) = (line for line in commands if "launch.asc" in line and " -c " in line)
    assert kernels.startswith(f"{tmp_path}/cann/bin/bisheng ")
    for flag in ("--npu-arch=dav-3510", "-std=c++17", "-ffp-contract=off", "-fPIC"):
        assert f" {flag} " in kernels
    # Flags of our host code and torch's headers are not for the device compiler.
    assert "-Werror" not in kernels and "torch/csrc/api" not in kernels and "TORCH_TARGET_VERSION" not in kernels
    (link,) = (line for line in commands if "-o ascend_deepep/libascend_deepep_ops_npu.so" in line)
    assert "/bisheng " in link and "$ORIGIN" in link.replace("\\", "")
    for library in ("libascend_deepep_ops.so", "libascend_deepep_runtime.so", "-ltorch_npu", "-lascendcl"):
        assert library in link


def test_other_libraries_keep_their_flags(tmp_path: Path) -> None:
    """CANN's package for CMake empties the flags of a release build in the directory that looks for it."""
    env = make_cann(tmp_path / "cann")
    done = configure(tmp_path / "build", env, python_with(tmp_path, torch_npu=True))
    assert done.returncode == 0, done.stderr
    ninja = ["ninja", "-C", str(tmp_path / "build"), "-t", "commands", "ascend_deepep_op_host"]
    commands = subprocess.run(ninja, capture_output=True, text=True, check=True).stdout.splitlines()
    (compiled,) = (line for line in commands if " -c " in line and line.endswith("/op_host/tiling.cpp"))
    assert " -O3 " in compiled and " -std=c++20 " in compiled


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    without = python_with(tmp_path, torch_npu=False)
    bare = {key: value for key, value in os.environ.items() if not key.startswith("ASCEND_")}
    cases = {
        "ASCEND_HOME_PATH": (bare, ()),
        "CANN 8.5.0": (make_cann(tmp_path / "old", "8.5.0"), ()),
        "No torch_npu in the environment of": (make_cann(tmp_path / "cann"), ()),
        "twin or ascend950": (bare, ("-DASCEND_DEEPEP_TARGET=ascend910",)),
        "ASCEND_DEEPEP_BUILD_PYTHON=ON": (bare, ("-DASCEND_DEEPEP_BUILD_PYTHON=OFF",)),
    }
    for number, (part, (env, options)) in enumerate(cases.items()):
        done = configure(tmp_path / f"build{number}", env, without, *options)
        assert done.returncode != 0 and part in " ".join(done.stderr.split()), part
