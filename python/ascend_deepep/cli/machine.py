# SPDX-License-Identifier: Apache-2.0
"""What an NPU run needs of this machine: what is there, and what its absence costs. Layer: Python, imports no torch.

Everything here is read from the environment and the file system. What must be imported to be known, and might crash on
the way, is asked of child processes (ascend_deepep.cli.probe).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
OLDEST_CANN = (9, 0)  # the first whose compiler has SIMT functions
_NO_RUN = "no NPU run; the twin works"
_VERSION = re.compile(r"^\s*version\s*=\s*\[?([\w.+-]+)", re.IGNORECASE | re.MULTILINE)
_VERSION_FILES = (
    "compiler/version.info",
    "share/info/compiler/version.info",
    "version.cfg",
    "version.info",
    "*-linux/ascend_toolkit_install.info",
)
_BISHENG = ("bin/bisheng", "*-linux/ccec_compiler/bin/bisheng", "compiler/ccec_compiler/bin/bisheng")


@dataclass(frozen=True)
class Finding:
    """One thing that an NPU run or build needs."""

    name: str
    #: What was found; empty where it is missing.
    found: str = ""
    #: Why it counts as missing.
    problem: str = ""
    #: What goes without it.
    costs: str = ""

    def line(self) -> str:
        """As the table shows it."""
        return self.found if not self.problem else f"missing: {self.problem}. Without it: {self.costs}"


def findings(environ: Mapping[str, str], dev: Path = Path("/dev")) -> list[Finding]:
    """CANN, its compiler, devices, the way torch finds torch_npu, and the devkit of the header check."""
    return [_cann(environ), _bisheng(environ), _devices(dev), _autoload(environ), _devkit(environ)]


def _cann(environ: Mapping[str, str]) -> Finding:
    costs = f"no `./build.sh npu`, no `./build.sh op`, {_NO_RUN}"
    home = environ.get("ASCEND_HOME_PATH")
    if not home:
        problem = "ASCEND_HOME_PATH is not set; source the set_env.sh of a CANN installation"
    elif not Path(home).is_dir():
        problem = f"ASCEND_HOME_PATH = {home!r} is no folder; source the set_env.sh of the CANN that is installed"
    else:
        version, source = _cann_version(Path(home))
        if not version:
            return Finding("CANN", f"{home}, version unknown: {source}")
        if _is_older(version, OLDEST_CANN):
            oldest = ".".join(map(str, OLDEST_CANN))
            problem = f"{home} is CANN {version} ({source}); install {oldest} or newer and source its set_env.sh"
        else:
            return Finding("CANN", f"{home}, version {version} ({source})")
    return Finding("CANN", problem=problem, costs=costs)


def _cann_version(home: Path) -> tuple[str, str]:
    """The version and the file that names it; without one, nothing and what was looked for."""
    for pattern in _VERSION_FILES:
        for file in sorted(home.glob(pattern)):
            match = _VERSION.search(file.read_text(errors="replace"))
            if match is not None:
                return match[1], file.name
    return "", f"none of {', '.join(_VERSION_FILES)} names one"


def _is_older(version: str, oldest: tuple[int, ...]) -> bool:
    """Whether the leading numbers of a version are below; one that begins with none is taken as it is."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return numbers is not None and (*map(int, numbers[0].split(".")), 0) < oldest


def _bisheng(environ: Mapping[str, str]) -> Finding:
    home = environ.get("ASCEND_HOME_PATH")
    places = [file for pattern in _BISHENG for file in sorted(Path(home).glob(pattern))] if home else []
    found = shutil.which("bisheng", path=environ.get("PATH", "")) or next(
        (str(place) for place in places if place.is_file()), None
    )
    if found:
        return Finding("bisheng", found)
    problem = "no bisheng on PATH or below ASCEND_HOME_PATH; it comes with the CANN toolkit"
    return Finding("bisheng", problem=problem, costs="kernels cannot be compiled for an NPU; the twin works")


def _devices(dev: Path) -> Finding:
    found = sorted(path.name for path in dev.glob("davinci[0-9]*"))
    if found:
        return Finding("devices", f"{len(found)}: {', '.join(found)}")
    problem = f"no {dev}/davinci* (no NPU, no driver, or a container without its devices)"
    return Finding("devices", problem=problem, costs=_NO_RUN)


def _autoload(environ: Mapping[str, str]) -> Finding:
    value = environ.get(AUTOLOAD)
    if value == "0":
        text = "0: a program that uses NPU tensors imports torch_npu itself"
    else:
        text = f"{'not set' if value is None else value}: `import torch` imports torch_npu where it is installed"
    return Finding(AUTOLOAD, text)


def _devkit(environ: Mapping[str, str]) -> Finding:
    path = environ.get("ASC_DEVKIT")
    if not path:
        problem = "ASC_DEVKIT is not set; point it at a checkout of asc-devkit"
    elif not (Path(path) / "include").is_dir():
        problem = f"ASC_DEVKIT = {path!r} has no include/; point it at a checkout of asc-devkit"
    else:
        return Finding("asc-devkit", path)
    return Finding("asc-devkit", problem=problem, costs="no `./build.sh header-check`; nothing else needs it")
