# SPDX-License-Identifier: Apache-2.0
"""The record that op_kernel/ passed the header check: tools/header_check/stamp.json.

Layer: build. Written by the check, which needs headers that this repository does not hold; read by `build.sh check`,
which runs everywhere and only compares hashes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

STAMP = Path("tools/header_check/stamp.json")
KERNELS = Path("op_kernel")


@dataclasses.dataclass(frozen=True)
class Stamp:
    """What was checked: hash of op_kernel/, commit of asc-devkit, entry files, number of errors."""

    op_kernel: str
    asc_devkit: str
    files: tuple[str, ...]
    errors: int


def kernel_files(root: Path) -> tuple[str, ...]:
    """The sources that are checked, each alone: the entry points of direct launches and of the operator package."""
    found = [*(root / KERNELS).glob("*.cpp"), *(root / KERNELS / "package").glob("*.cpp")]
    return tuple(sorted(path.relative_to(root).as_posix() for path in found))


def kernel_hash(root: Path) -> str:
    """SHA-256 over names and contents of everything under op_kernel/, in the order of names."""
    digest = hashlib.sha256()
    for path in sorted((root / KERNELS).rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def read(root: Path) -> Stamp | None:
    """The stamp of this tree, or None when there is none."""
    path = root / STAMP
    if not path.is_file():
        return None
    fields = json.loads(path.read_text())
    return Stamp(fields["op_kernel"], fields["asc_devkit"], tuple(fields["files"]), fields["errors"])


def write(root: Path, stamp: Stamp) -> None:
    """Replace the stamp of this tree."""
    (root / STAMP).write_text(json.dumps(dataclasses.asdict(stamp), indent=4) + "\n")


def problem(root: Path) -> str:
    """Why the stamp does not vouch for today's op_kernel/, or an empty string."""
    again = "run ASC_DEVKIT=<checkout of asc-devkit> ./build.sh header-check"
    stamp = read(root)
    if stamp is None:
        return f"no stamp: {again}"
    if stamp.errors:
        return f"the last header check had {stamp.errors} errors: mend them and {again}"
    if stamp.op_kernel != kernel_hash(root) or stamp.files != kernel_files(root):
        return f"op_kernel/ changed after the last header check: {again}"
    return ""
