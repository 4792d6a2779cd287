# SPDX-License-Identifier: Apache-2.0
"""Pairwise covering arrays: few cases in which every two values that can go together meet. Layer: Python, no torch.

Greedy: each case grows around a pair that no case has yet, parameter by parameter by the value that meets most of those
left. Deterministic for a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

_CANDIDATES = 12

Case = dict[str, object]
Pair = tuple[str, object, str, object]


@dataclass(frozen=True)
class Space:
    """Parameters and their values."""

    parameters: Mapping[str, tuple[object, ...]]
    #: Whether a case, perhaps with parameters still open, can be completed to a legal one.
    is_legal: Callable[[Case], bool]
    #: What a case costs: of cases that cover as much the cheapest is taken.
    cost: Callable[[Case], int]
    seed: int
    #: Values that leave nothing to do: such a case says little about the values of other parameters.
    idle: Mapping[str, object] = field(default_factory=dict)

    def cover(self, count: int = 0) -> list[Case]:
        """The covering array, filled up with further cases of middling cost to `count`; the same every time."""
        draw = random.Random(self.seed)
        missing = set(self._all_pairs())
        chosen: list[Case] = []
        while missing:
            first = min(missing, key=str)
            candidates = [self._grow(first, missing, draw) for _ in range(_CANDIDATES)]
            best = max(candidates, key=lambda case: (len(self.pairs(case) & missing), -self.cost(case)))
            missing -= self.pairs(best)
            chosen.append(best)
        while len(chosen) < count:
            few = [self._grow(None, missing, draw) for _ in range(_CANDIDATES)]
            chosen.append(sorted(few, key=self.cost)[len(few) // 2])
        return chosen

    def pairs(self, case: Case) -> set[Pair]:
        """Pairs that a case tests."""
        idle = self._idle(case)
        pairs = combinations(self.parameters, 2)
        return {(left, case[left], right, case[right]) for left, right in pairs if idle <= {left, right}}

    def _all_pairs(self) -> Iterator[Pair]:
        for left, right in combinations(self.parameters, 2):
            for one in self.parameters[left]:
                for other in self.parameters[right]:
                    if self.is_legal({left: one, right: other}):
                        yield left, one, right, other

    def _idle(self, case: Case) -> set[str]:
        return {name for name, value in self.idle.items() if case.get(name) == value}

    def _grow(self, first: Pair | None, missing: set[Pair], draw: random.Random) -> Case:
        """A legal case around a pair."""
        case: Case = {} if first is None else {first[0]: first[1], first[2]: first[3]}
        names = [name for name in self.parameters if name not in case]
        draw.shuffle(names)
        for name in names:
            values = [value for value in self.parameters[name] if self.is_legal({**case, name: value})]
            draw.shuffle(values)
            case[name] = self._best(case, name, values, missing)
        return {name: case[name] for name in self.parameters}

    def _best(self, case: Case, name: str, values: list[object], missing: set[Pair]) -> object:
        return max(values, key=lambda value: self._gain({**case, name: value}, name, missing))

    def _gain(self, case: Case, name: str, missing: set[Pair]) -> int:
        order = list(self.parameters)
        idle = self._idle(case)
        gain = 0
        for other in case:
            if other != name and idle <= {name, other}:
                left, right = sorted((name, other), key=order.index)
                gain += (left, case[left], right, case[right]) in missing
        return gain
