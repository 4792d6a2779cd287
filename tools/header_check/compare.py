# SPDX-License-Identifier: Apache-2.0
"""Compares the twin's declarations with the real ones, name by name.

Layer: build. The twin may declare less than the real headers, never more and nothing differently.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection

from tools.header_check import uses
from tools.header_check.sides import Side
from tools.header_check.signatures import Entity

# (owner, name, piece of the twin's declaration) -> why it may differ. Everything else that differs is an error.
BY_DESIGN = {
    ("LocalTensor", "LocalTensor", "UbBuffer"): "made by TPipe with its buffer, so that accesses can be checked",
    ("LocalTensor", "twin_data", ""): "the twin's own view of the address",
    ("LocalTensor", "twin_buffer", ""): "the twin's own view of the buffer",
    ("GlobalTensor", "require_inside", ""): "the twin's own check of a range",
    ("DataCopyPadExtParams", "DataCopyPadExtParams", "TwinPadValue"): (
        "16-bit floats are classes on the twin, so a literal 0 needs a conversion; compared by calls"
    ),
}
SITE_REASON = "one more parameter with a default, the caller's source line, by which the twin tells calls apart"
BUILT_IN = "built in"
STUBS = "tools/header_check/stubs/"


@dataclasses.dataclass(frozen=True)
class Row:
    """What the comparison says about one name. Without `differences` the name is compatible."""

    name: str
    kind: str
    real: str
    twin: str
    result: str
    differences: tuple[str, ...]
    notes: tuple[str, ...]


def is_by_design(note: str) -> bool:
    """Does a note say why a declaration differs, not which calls are missing?"""
    return note.endswith((SITE_REASON, *BY_DESIGN.values()))


class Comparison:
    """Two sides and the places their files have in the report."""

    def __init__(
        self, real: Side, twin: Side, names: Collection[str], probes: list[uses.Probe], place: Callable[[str], str]
    ) -> None:
        self._real, self._twin, self._names, self._place = real, twin, names, place
        self._cases: dict[str, list[str]] = {}
        for probe in probes:
            self._cases.setdefault(probe.name, [])
            if probe.case not in self._cases[probe.name]:
                self._cases[probe.name].append(probe.case)

    def twin_names(self) -> set[str]:
        """Names at namespace level that the twin's headers declare."""
        return {name for (_, owner, name) in self._twin.entities if not owner}

    def row(self, name: str, header: str | None) -> Row:
        """Compare one name; `header` is what the page says of its place, None for a name that is not on the page."""
        twin = [entity for key, found in self._twin.entities.items() if key[2] == name for entity in found]
        real = self._real_of(name, twin)
        differences: list[str] = []
        notes: list[str] = []
        if not twin and name not in self._twin.macros:
            differences.append("the twin has no such name")
        real_macro = self._real.macros.get(name)
        if not real and real_macro is None:
            differences.append("the real headers have no such name")
        real_place = self._first_place(name, real, real_macro is not None)
        if real_place.startswith(STUBS):
            result = f"{BUILT_IN}: not in the headers"
            differences += self._macro_differences(name)
        else:
            result = "same"
            differences += self._macro_differences(name)
            for entity in self._with_members(twin):
                self._compare_entity(entity, differences, notes)
            if any(is_by_design(note) for note in notes):
                result += ", but for what is by design"
        if name in self._cases:
            differences += self._call_differences(name, notes)
            result += ", same calls" if name not in uses.OVERLOAD_SETS else ": same calls"
        if header is not None and real_place:
            differences += self._page_differences(header, real, real_place)
        notes = list(dict.fromkeys(notes))
        return Row(
            name,
            self._kind(twin, real),
            BUILT_IN if real_place.startswith(STUBS) else real_place,
            self._twin_place(name, twin),
            "differs" if differences else result,
            tuple(differences),
            tuple(notes),
        )

    def _real_of(self, name: str, twin: list[Entity]) -> list[Entity]:
        """The real declarations of a name in the scopes and classes where the twin has it; headers before stand-ins."""
        keys = {(entity.scope, entity.owner) for entity in twin}
        found = [
            entity
            for key, entities in self._real.entities.items()
            if key[2] == name and (key[:2] in keys or not keys)
            for entity in entities
        ]
        if not found:  # the same name in other scopes: a built-in of the twin need not have the stand-in's
            found = [e for key, es in self._real.entities.items() if key[2] == name for e in es]
        in_headers = [entity for entity in found if not self._place(entity.file).startswith(STUBS)]
        return in_headers or found

    def _with_members(self, twin: list[Entity]) -> list[Entity]:
        """The declarations of a name, and for a class or enumeration what it holds and has no row of its own."""
        found = list(twin)
        for entity in twin:
            if not entity.owner and entity.kind in ("class", "class template", "enum"):
                for (scope, owner, name), members in self._twin.entities.items():
                    if (scope, owner) == (entity.scope, entity.name) and name not in self._names:
                        found += members
        return list(dict.fromkeys(found))

    def _compare_entity(self, entity: Entity, differences: list[str], notes: list[str]) -> None:
        """One declaration of the twin against the real ones of the same name in the same place."""
        candidates = self._real.entities.get((entity.scope, entity.owner, entity.name), [])
        if entity.takes_site:
            notes.append(f"`{entity.name}`: {SITE_REASON}")
        if any(entity.text == candidate.text for candidate in candidates):
            return
        if entity.name in uses.OVERLOAD_SETS and candidates:
            return
        called = f"{entity.owner}::{entity.name}" if entity.owner else entity.name
        for (owner, name, piece), reason in BY_DESIGN.items():
            if (entity.owner, entity.name) == (owner, name) and piece in entity.text:
                notes.append(f"`{called}` `{entity.text}`: {reason}")
                return
        there = "; ".join(dict.fromkeys(f"`{candidate.text}`" for candidate in candidates)) or "nothing of that name"
        differences.append(f"{called}: the twin has `{entity.text}`, the real headers {there}")

    def _macro_differences(self, name: str) -> list[str]:
        """A macro must be one on both sides, with or without arguments alike; a word of the compiler may be one."""
        twin, real = self._twin.macros.get(name), self._real.macros.get(name)
        if twin and real and twin.takes_arguments != real.takes_arguments:
            return [f"macro {name}: takes arguments on one side only"]
        if twin and not real:
            return [f"{name}: a macro on the twin only"]
        if real and not twin:
            return [f"{name}: a macro in the real headers only"]
        return []

    def _call_differences(self, name: str, notes: list[str]) -> list[str]:
        """Calls that compile on the twin only are differences; on the real headers only, a note."""
        real, twin = self._real.calls.get(name, set()), self._twin.calls.get(name, set())
        more = [case for case in self._cases[name] if case in twin - real]
        fewer = [case for case in self._cases[name] if case in real - twin]
        if fewer:
            notes.append(f"`{name}`: {', '.join(f'`{case}`' for case in fewer)}")
        if not real & twin:
            return [f"{name}: no call compiles on both sides"]
        return [f"{name}: compiles on the twin only: {', '.join(more)}"] if more else []

    def _page_differences(self, header: str, real: list[Entity], real_place: str) -> list[str]:
        """The page's column "header" against the places of the declarations."""
        places = {self._place(entity.file) for entity in real} | {real_place.rsplit(":", 1)[0]}
        places = {BUILT_IN if place.startswith(STUBS) else place.removeprefix("include/") for place in places}
        return [] if header in places else [f"the page says `{header}`, it is `{'`, `'.join(sorted(places))}`"]

    def _first_place(self, name: str, real: list[Entity], is_macro: bool) -> str:
        if real:
            return f"{self._place(real[0].file)}:{real[0].line}"
        if is_macro:
            macro = self._real.macros[name]
            path = self._place(macro.file)
            return f"{STUBS}target" if path == "<command line>" else f"{path}:{macro.line}"
        return ""

    def _twin_place(self, name: str, twin: list[Entity]) -> str:
        files = [entity.file for entity in twin] or [m.file for n, m in self._twin.macros.items() if n == name]
        return ", ".join(dict.fromkeys(self._place(file) for file in files))

    def _kind(self, twin: list[Entity], real: list[Entity]) -> str:
        """Kind in the real headers; for members with their classes."""
        found = real or twin
        if not found:
            return "macro"
        found = [entity for entity in found if not entity.owner] or found
        owners = list(dict.fromkeys(entity.owner for entity in found if entity.owner))
        kinds = " and ".join(dict.fromkeys(entity.kind for entity in found))
        return f"{kinds} of {', '.join(owners)}" if owners else kinds
