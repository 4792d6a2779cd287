# SPDX-License-Identifier: Apache-2.0
"""Headers and library of the torch_npu release in requirements/torch_npu.txt, unzipped under build/torch_npu.

Layer: build. The wheel is downloaded once by pip and never installed, nothing of it is kept elsewhere or shipped.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

PIN = Path("requirements/torch_npu.txt")
PARTS = ("torch_npu/include/", "torch_npu/lib/libtorch_npu.so")


class WheelError(Exception):
    """The wheel or the torch it belongs to cannot be used; the text says what to do."""


@dataclass(frozen=True)
class Wheel:
    """An unzipped torch_npu."""

    version: str
    root: Path

    @property
    def include(self) -> Path:
        """What `#include <torch_npu/...>` and `<acl/...>` are looked up in."""
        return self.root / "torch_npu/include"

    @property
    def library(self) -> Path:
        """The library that every public function is exported by."""
        return self.root / "torch_npu/lib/libtorch_npu.so"


def pinned_version(root: Path) -> str:
    """The release named by the pin."""
    match = re.search(r"^torch-npu==(\S+)$", (root / PIN).read_text(), re.MULTILINE)
    if match is None:
        raise WheelError(f"{PIN} has no line 'torch-npu==VERSION'")
    return match[1]


def torch_directory(version: str) -> Path:
    """Directory of this environment's torch, which must be the release that torch_npu `version` belongs to."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise WheelError("no torch in this environment: run through ./build.sh check, which installs it")
    release = importlib.metadata.version("torch").partition("+")[0]
    if release != version:
        raise WheelError(f"torch-npu {version} belongs to torch {version}, this environment has {release}: align {PIN}")
    return Path(spec.submodule_search_locations[0])


def unpack(archive: Path, target: Path) -> None:
    """Write the parts of a wheel that are compiled or linked against to `target`, all of them or nothing."""
    scratch = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(scratch, [name for name in wheel.namelist() if name.startswith(PARTS)])
        scratch.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def download(root: Path, cache: Path) -> Path:
    """The wheel's file, from the package index that pip is set up for."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    run = subprocess.run(
        [*pip, "--requirement", str(root / PIN), "--dest", str(cache)], capture_output=True, text=True, check=False
    )
    found = sorted(cache.glob("*.whl"))
    if run.returncode != 0 or not found:
        reasons = [line for line in run.stderr.splitlines() if line.startswith("ERROR:")]
        reason = (reasons or run.stderr.splitlines() or ["pip gave no reason"])[-1].removeprefix("ERROR: ")
        raise WheelError(
            f"the wheel of {PIN} cannot be downloaded ({reason}): go online, or name an index or a directory that "
            "holds it in PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS"
        )
    return found[-1]


def obtain(root: Path) -> Wheel:
    """The pinned wheel for this interpreter, downloaded when build/torch_npu does not hold it yet."""
    version = pinned_version(root)
    cache = root / "build/torch_npu"
    wheel = Wheel(version, cache / f"{version}-{sys.implementation.cache_tag}")
    if not wheel.library.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        archive = download(root, cache)
        unpack(archive, wheel.root)
        archive.unlink()
    return wheel
