# SPDX-License-Identifier: Apache-2.0
"""What rules work on: the files of the repository, and a finding with its place.

Layer: build. Rules see a Tree only, so a test can give them a small tree with one thing wrong.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

CPP_SUFFIXES = (".h", ".cpp")
SOURCE_SUFFIXES = (*CPP_SUFFIXES, ".S", ".py", ".pyi", ".sh", ".cmake", ".toml", ".yaml", ".yml")
SOURCE_NAMES = ("CMakeLists.txt", ".ci/run", ".clang-format", ".clang-tidy", ".gitignore")
# Written by a program: exempt from the limits on lines and files, and from formatting. Each is named, no pattern.
GENERATED = ("tools/header_check/stubs/npu_intrinsics.h",)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One violation: `path:line: text [rule]`."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text} [{self.rule}]"


@dataclasses.dataclass(frozen=True)
class Tree:
    """Files below `root`, as paths relative to it."""

    root: Path
    paths: tuple[str, ...]

    @staticmethod
    def of_repository(root: Path) -> Tree:
        """All files that git tracks or would track."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
        return Tree(root, tuple(sorted(name for name in set(names) if name and (root / name).is_file())))

    @staticmethod
    def of_directory(root: Path) -> Tree:
        """All files below a directory."""
        found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        return Tree(root, tuple(sorted(found)))

    @functools.cache  # noqa: B019 - a tree lives as long as the process that checks it
    def text(self, path: str) -> str:
        """Content of a file; bytes that are no UTF-8 are replaced."""
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def lines(self, path: str) -> list[str]:
        """Lines of a file, without their ends."""
        return self.text(path).splitlines()

    def is_text(self, path: str) -> bool:
        """No NUL byte at its beginning."""
        with (self.root / path).open("rb") as stream:
            return b"\0" not in stream.read(4096)

    def sources(self) -> Iterator[str]:
        """Files that hold code or settings of ours, generated ones included."""
        for path in self.paths:
            if path.endswith(SOURCE_SUFFIXES) or path.endswith(SOURCE_NAMES):
                yield path

    def written(self, *suffixes: str) -> Iterator[str]:
        """Sources written by hand; with suffixes, those only."""
        for path in self.sources():
            if path not in GENERATED and (not suffixes or path.endswith(suffixes)):
                yield path


# Comments and literals of C++. A quote between digits (1'000) separates them and begins no literal.
COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""", re.DOTALL
)


def blank_comments(text: str) -> str:
    """C++ text with comments and literals replaced by spaces; lines and columns stay."""
    return COMMENT_OR_LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def comments(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each line of each comment of a C++ text."""
    for match in COMMENT_OR_LITERAL.finditer(text):
        if match[0].startswith("/"):
            yield from enumerate(match[0].splitlines(), text.count("\n", 0, match.start()) + 1)
