# SPDX-License-Identifier: Apache-2.0
"""The record of the last header check: tools/header_check/stamp.json.

Layer: build. Written by the check, which needs headers that this repository does not hold; read by `build.sh check`,
which runs everywhere and only compares hashes: of op_kernel/, of what the comparison with the twin read, of its report.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from tools.check.tree import COMMENT_OR_LITERAL
from tools.header_check import page

STAMP = Path("tools/header_check/stamp.json")
KERNELS = Path("op_kernel")
TWIN = Path("twin/include")
TOKEN = re.compile(r"\w+|\S")


@dataclasses.dataclass(frozen=True)
class Stamp:
    """What was checked: hash of op_kernel/, commit of asc-devkit, entry files, number of errors; then the comparison:
    hash of the twin's headers and the page's names, hash of the report, number of differences."""

    op_kernel: str
    asc_devkit: str
    files: tuple[str, ...]
    errors: int
    subset: str
    report: str
    differences: int


def kernel_files(root: Path) -> tuple[str, ...]:
    """The sources that are checked, each alone: the entry points below op_kernel/."""
    return tuple(sorted(path.relative_to(root).as_posix() for path in (root / KERNELS).rglob("*.cpp")))


def kernel_hash(root: Path) -> str:
    """SHA-256 over names and contents of everything under op_kernel/, in the order of names."""
    digest = hashlib.sha256()
    for path in sorted((root / KERNELS).rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def tokens(text: str) -> Iterator[str]:
    """Words and signs of a C++ text: no comments, no spaces, nothing of string literals, which declare nothing."""
    bare = COMMENT_OR_LITERAL.sub(lambda match: " " if match[0].startswith("/") else match[0][0] * 2, text)
    yield from TOKEN.findall(bare.replace("\\\n", " "))


def subset_hash(root: Path) -> str:
    """SHA-256 over the declarations of the twin's headers and the page's names with their headers.

    A change of comments, layout or messages changes nothing.
    """
    digest = hashlib.sha256()
    for path in sorted((root / TWIN).rglob("*.h")):
        digest.update(f"{path.relative_to(root).as_posix()}\0{' '.join(tokens(path.read_text()))}\0".encode())
    for name, header in page.subset_names(root).items():
        digest.update(f"{name}\0{header}\0".encode())
    return digest.hexdigest()


def report_hash(root: Path) -> str:
    """SHA-256 of the generated report; empty when there is none."""
    path = root / page.REPORT
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def read(root: Path) -> Stamp | None:
    """The stamp of this tree, or None when there is none or one of an older form."""
    path = root / STAMP
    if not path.is_file():
        return None
    fields = json.loads(path.read_text())
    if set(fields) != {field.name for field in dataclasses.fields(Stamp)}:
        return None
    return Stamp(**(fields | {"files": tuple(fields["files"])}))


def write(root: Path, stamp: Stamp) -> None:
    """Replace the stamp of this tree."""
    (root / STAMP).write_text(json.dumps(dataclasses.asdict(stamp), indent=4) + "\n")


def problem(root: Path) -> str:
    """Why the stamp does not vouch for today's op_kernel/ and twin/include/, or an empty string."""
    again = "run ASC_DEVKIT=<checkout of asc-devkit> ./build.sh header-check"
    stamp = read(root)
    if stamp is None:
        return f"no stamp: {again}"
    if stamp.errors:
        return f"the last header check had {stamp.errors} errors: mend them and {again}"
    if stamp.differences:
        return f"the twin differs from the real headers in {stamp.differences} places ({page.REPORT}): mend and {again}"
    if stamp.op_kernel != kernel_hash(root) or stamp.files != kernel_files(root):
        return f"op_kernel/ changed after the last header check: {again}"
    if stamp.subset != subset_hash(root):
        return f"{TWIN}/ or the names of {page.SUBSET} changed after the last header check: {again}"
    if stamp.report != report_hash(root):
        return f"{page.REPORT} is not the report of the last header check, which writes it: {again}"
    return ""
