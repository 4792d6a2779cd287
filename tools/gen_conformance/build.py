# SPDX-License-Identifier: Apache-2.0
"""Cases in short form, and their files. Layer: build."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ascend_deepep.conformance.cases import Case, Refusal, make_call, plain

#: Refusals that are configurations of op_contract 7.1, by name.
_CONFIGURATIONS = {
    "alg-ccu": 8,
    "rank-4": 34,
    "rank--1": 34,
    "tokens-9": 35,
    "topk-17": 36,
    "topk-0": 36,
    "experts-6": 37,
    "shared-3-2": 38,
    "shared-0-1": 38,
    "shared-2-0": 38,
    "shared-5": 38,
    "mx-with": 39,
    "static-without": 39,
    "pass-half-with": 39,
    "pass-fp8-without": 39,
    "mask-batches": 40,
    "global-bs-odd": 40,
    "shared-x-ranks": 41,
    "zero-many": 43,
}


@dataclass
class Group:
    """One file: the defaults of its calls, and its cases."""

    name: str
    defaults: dict[str, Any]
    cases: list[Case] = field(default_factory=list)

    def exact(self, name: str, source: str, **call: Any) -> None:
        """A case whose result is exact."""
        self.cases.append(Case(f"{self.name}.{name}", source, make_call({**self.defaults, **call}), None, self.name))

    def refuse(
        self,
        name: str,
        rule: tuple[str, str],
        change: Mapping[str, Any],
        words: tuple[str, ...],
        *,
        source: str = "",
        how: Mapping[str, Any] | None = None,
        **call: Any,
    ) -> None:
        """A case that is refused. `rule`: row and operator. `words`: what the text holds, in order, the argument first.

        `A|B` is either of the two.
        """
        row, op = rule
        parts = [f"(?:{word})" if "|" in word else word for word in words]
        refusal = Refusal(row, op, dict(change), ".*".join(parts), **(how or {}))
        made = make_call({**self.defaults, **call})
        source = source or (f"op_contract 5, {row}" if row[0] in "DC" else "docs/compatibility.md")
        if name in _CONFIGURATIONS:
            source += f", and 7.1 #{_CONFIGURATIONS[name]}"
        self.cases.append(Case(f"{self.name}.{name}", source, made, refusal, self.name))

    def text(self) -> str:
        """The file: one case a line."""
        defaults = plain(make_call(self.defaults))
        lines = [json.dumps(_line(case, defaults)) for case in self.cases]
        shown = {key: value for key, value in defaults.items() if key in self.defaults}
        return f'{{"defaults": {json.dumps(shown)},\n"cases": [\n' + ",\n".join(lines) + "\n]}\n"


def _line(case: Case, defaults: Mapping[str, Any]) -> dict[str, Any]:
    call = {key: value for key, value in plain(case.call).items() if defaults.get(key) != value}
    found: dict[str, Any] = {"id": case.id, "source": case.source, "call": call}
    if case.refusal is not None:
        plainly = Refusal(case.refusal.row, case.refusal.op, {}, "")
        given, usual = asdict(case.refusal), asdict(plainly)
        always = ("row", "op", "change", "pattern")
        found["refusal"] = {key: value for key, value in given.items() if key in always or value != usual[key]}
    return found
