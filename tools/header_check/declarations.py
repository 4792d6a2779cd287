# SPDX-License-Identifier: Apache-2.0
"""Declarations at namespace level, read from clang's own JSON dump of one translation unit.

Layer: build. The dump of the real headers has 13 million lines, so it is read as a stream: clang prints one key a line
and indents by depth, hence function bodies and unwanted declarations are passed over without being parsed.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

Node = dict[str, Any]

# Entered, not kept: everything else at namespace level is one declaration.
SCOPES = ("NamespaceDecl", "LinkageSpecDecl", "TranslationUnitDecl")
# Subtrees that say nothing about a declaration: bodies, instantiations of class templates, comments.
DROPPED = ("CompoundStmt", "ClassTemplateSpecializationDecl", "CXXCtorInitializer", "FullComment")


class DumpError(Exception):
    """Clang could not read a translation unit; the text names the command."""


@dataclasses.dataclass(frozen=True)
class Declared:
    """One declaration at namespace level: the names of its scopes, clang's node and where it stands."""

    scopes: tuple[str, ...]
    node: Node
    file: str
    line: int

    @property
    def name(self) -> str:
        """Its unqualified name."""
        return str(self.node.get("name", ""))


class Places:
    """Follows clang's locations: a file or a line is printed only where it differs from the one before."""

    def __init__(self) -> None:
        self.file, self.line = "", 0
        self._in_includer = False

    def feed(self, text: str) -> None:
        """Take one line of the dump, without its indent."""
        if text.startswith('"includedFrom"'):
            self._in_includer = True
        elif text.startswith('"file": ') and not self._in_includer:
            self.file = text[9 : text.rindex('"')]
        elif text.startswith('"line": '):
            self.line = int(text[8:].rstrip(",\n"))
        elif text[0] == "}":
            self._in_includer = False


@dataclasses.dataclass
class Chunk:
    """The lines of a declaration that is being read."""

    indent: int
    lines: list[str]
    kind: str = ""
    name: str = ""
    file: str = ""
    line: int = 0


class Reader:
    """Takes the lines of a dump; `found` fills with the declarations that `wanted(name, file)` asks for."""

    def __init__(self, wanted: Callable[[str, str], bool]) -> None:
        self._wanted = wanted
        self.found: list[Declared] = []
        self._scopes: list[tuple[int, str]] = []  # indent of its brace, name
        self._chunk: Chunk | None = None
        self._skip = -1  # indent of the brace of a subtree that is passed over
        self._places = Places()

    def feed(self, lines: Iterable[str]) -> None:
        """Read to the end of the dump."""
        for line in lines:
            text = line.lstrip(" ")
            indent = len(line) - len(text)
            self._places.feed(text)
            if self._skip >= 0:
                if indent == self._skip and text[0] == "}":
                    self._skip = -1
                    if self._chunk:
                        self._chunk.lines.append(line)
            elif self._chunk:
                self._inside(self._chunk, line, text, indent)
            elif text[0] == "{":
                self._chunk = Chunk(indent, [line])
            elif text[0] == "}" and self._scopes and self._scopes[-1][0] == indent:
                self._scopes.pop()

    def _inside(self, chunk: Chunk, line: str, text: str, indent: int) -> None:
        """A line of a declaration that may be wanted."""
        if indent == chunk.indent + 2 and self._passed_over(chunk, text):
            return
        if text.startswith('"kind": "') and text[9 : text.index('"', 9)] in DROPPED:
            chunk.lines.append(line.rstrip(",\n") + "\n")
            self._skip = indent - 2
            return
        chunk.lines.append(line)
        if indent == chunk.indent and text[0] == "}":
            self._chunk = None
            if self._wanted(chunk.name, chunk.file):
                node = json.loads("".join(chunk.lines).strip().rstrip(","))
                scopes = tuple(name for _, name in self._scopes if name)
                self.found.append(Declared(scopes, node, chunk.file, chunk.line))

    def _passed_over(self, chunk: Chunk, text: str) -> bool:
        """Note a key of the declaration itself; True where it turns out to be a scope, or not wanted."""
        if text.startswith('"kind": "'):
            chunk.kind = text[9 : text.index('"', 9)]
        elif text.startswith('"range"'):
            chunk.file, chunk.line = self._places.file, self._places.line
        elif text.startswith('"name": "'):
            chunk.name = text[9 : text.index('"', 9)]
        elif text.startswith('"inner"'):
            if chunk.kind in SCOPES:
                self._scopes.append((chunk.indent, chunk.name))
            elif not self._wanted(chunk.name, chunk.file):
                self._skip = chunk.indent
            else:
                return False
            self._chunk = None
            return True
        return False


def read_declarations(command: list[str], wanted: Callable[[str, str], bool]) -> list[Declared]:
    """Run `command` (clang with flags and a source) and read the wanted declarations from its dump."""
    reader = Reader(wanted)
    dump = [*command, "-Xclang", "-ast-dump=json"]
    with subprocess.Popen(dump, stdout=subprocess.PIPE, text=True, errors="replace") as run:
        assert run.stdout is not None
        reader.feed(run.stdout)
    if run.returncode != 0:
        raise DumpError(f"{command[0]} exits {run.returncode} on {command[-1]}: {' '.join(command)}")
    return reader.found
