# SPDX-License-Identifier: Apache-2.0
"""A directory that looks like a CANN installation to our builds; its tools are the stand-ins of fake_cann/.

Layer: tests. With ASC_DEVKIT set there is a second variant, with CANN's own CMake modules out of that checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).resolve().parent / "fake_cann"
DEVKIT = os.environ.get("ASC_DEVKIT", "")
VARIANTS = ["stand-in", "devkit"] if DEVKIT else ["stand-in"]


def run(command: list[str | Path], **options: object) -> str:
    """Standard output of a command that must succeed; what it said otherwise is in the failure."""
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return str(done.stdout)


def make_executable(path: Path, text: str) -> None:
    """A script below PATH."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def make_cann(home: Path, version: str = "9.1.0", variant: str = "stand-in") -> dict[str, str]:
    """A directory that looks like CANN to a build of an operator package; the environment set_env.sh would set."""
    (home / "lib64/cmake").mkdir(parents=True)
    (home / "compiler/tikcpp").mkdir(parents=True)
    (home / "compiler/version.info").write_text(f"Version={version}\n")
    (home / "include").symlink_to(ROOT / "tools/cann_headers")
    make_executable(home / "bin/bisheng", "#!/bin/sh\nexit 1\n")
    (home / "bin/asc_opc").symlink_to(FAKE / "asc_opc")
    shutil.copy(FAKE / "kernel_binaries.py", home)
    if variant == "devkit":
        modules = home / "compiler/tikcpp/ascendc_kernel_cmake"
        shutil.copytree(Path(DEVKIT) / "cmake/asc", modules)
        for script in modules.rglob("*.sh"):
            script.chmod(0o755)
        shutil.copy(modules / "asc-config.cmake", home / "lib64/cmake")
    else:
        shutil.copy(FAKE / "asc-config.cmake", home / "lib64/cmake")
        (home / "asc_modules").symlink_to(FAKE / "asc_modules")
    return {**os.environ, "ASCEND_HOME_PATH": str(home), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
