# SPDX-License-Identifier: Apache-2.0
"""`--filter`: which cases are meant. Layer: Python, no torch.

Words separated by spaces, all of which must fit: `NAME=VALUE` (id, group, row, op, or a field of the call such as
quant=2), or a text that stands in the id, the source, or a feature. `A|B` fits where one of them does, `!A` where A
does not.
"""

from __future__ import annotations

from dataclasses import fields

from ascend_deepep.conformance.cases import Call, Case
from ascend_deepep.conformance.features import features

NAMES = ("id", "group", "row", "op", *(item.name for item in fields(Call)))


def unknown_names(expression: str) -> list[str]:
    """Names before a `=` that no case has."""
    words = [part.lstrip("!") for word in expression.split() for part in word.split("|")]
    return [word.partition("=")[0] for word in words if "=" in word and word.partition("=")[0] not in NAMES]


def select(cases: list[Case], expression: str) -> list[Case]:
    """The cases that fit."""
    return [case for case in cases if all(_fits(case, word) for word in expression.split())]


def _fits(case: Case, word: str) -> bool:
    if word.startswith("!"):
        return not _fits(case, word[1:])
    return any(_fits_one(case, part) for part in word.split("|"))


def _fits_one(case: Case, word: str) -> bool:
    name, equals, value = word.partition("=")
    if not equals:
        texts = [case.id, case.source, *(f"{dimension} {of}" for dimension, of in features(case))]
        return any(word in text for text in texts)
    if name in ("row", "op"):
        return case.refusal is not None and getattr(case.refusal, name) == value
    found = getattr(case, name) if name in ("id", "group") else getattr(case.call, name)
    shown = ",".join(map(str, found)) if isinstance(found, tuple) else str(found)
    return shown == value or (isinstance(found, tuple) and {str(part) for part in found} == {value})
