# SPDX-License-Identifier: Apache-2.0
"""Rules on any file: licence line, length of lines and files, empty and oversized files.

Layer: build.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.check.tree import Finding, Tree

SPDX = "SPDX-License-Identifier: Apache-2.0"
MAX_LINE = 120
MAX_LINES = 400
MAX_README_LINES = 200
MAX_BYTES = 1 << 20


def spdx(tree: Tree) -> Iterator[Finding]:
    """Every source names its licence in its first line, or in the second below `#!`."""
    for path in tree.sources():
        if not any(SPDX in line for line in tree.lines(path)[:2]):
            yield Finding(path, 1, "spdx", f"the first line must hold '{SPDX}'")


def line_length(tree: Tree) -> Iterator[Finding]:
    """No line of a source is longer than 120 columns."""
    for path in tree.written():
        for number, line in enumerate(tree.lines(path), 1):
            if len(line) > MAX_LINE:
                yield Finding(path, number, "line-length", f"{len(line)} columns, the limit is {MAX_LINE}")


def file_length(tree: Tree) -> Iterator[Finding]:
    """No source has more than 400 lines, no README more than 200."""
    limits = dict.fromkeys(tree.written(), MAX_LINES)
    limits |= {path: MAX_README_LINES for path in tree.paths if path in ("README.md", "README.zh.md")}
    for path, limit in limits.items():
        count = len(tree.lines(path))
        if count > limit:
            yield Finding(path, limit + 1, "file-length", f"{count} lines, the limit is {limit}")


def file_size(tree: Tree) -> Iterator[Finding]:
    """No file is empty and none is larger than 1 MiB."""
    for path in tree.paths:
        if path.endswith("/py.typed"):
            continue  # PEP 561: the file's presence is its content
        size = (tree.root / path).stat().st_size
        if size == 0 or (size < MAX_LINE and not tree.text(path).strip()):
            yield Finding(path, 1, "file-size", "empty file")
        elif size > MAX_BYTES:
            yield Finding(path, 1, "file-size", f"{size} bytes, the limit is {MAX_BYTES}")
