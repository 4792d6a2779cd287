# SPDX-License-Identifier: Apache-2.0
"""Causes that can be planted, to see that they are found. Layer: Python, no torch."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ascend_deepep.demo.usage import UsageError
from ascend_deepep.diagnosis.rules import HOT, LATE, SLOW_LINK, SLOW_RANK

#: By the name of --plant: the cause that it is to be found as.
PLANTS = {"skew": HOT, "core": SLOW_RANK, "link": SLOW_LINK, "late": LATE}
_RANKS_OF_SKEW = 4  # with fewer, the drawn load of the fullest is below what the rules call uneven
_SECOND = {"core": "core", "link": "peer"}  # what the second number is, where there is one


@dataclass(frozen=True)
class Plant:
    """A planted cause. `rank`: whose; "skew" is of none; `other`: the core of "core", the peer of "link"."""

    kind: str
    rank: int = 0
    other: int = 0

    @property
    def found_as(self) -> str:
        """The kind of cause of a right diagnosis."""
        return PLANTS[self.kind]

    def describe(self) -> str:
        """For a line about it."""
        if self.kind == "skew":
            return "skewed routing"
        if self.kind == "link":
            return f"a slow link, rank {self.rank} -> rank {self.other}"
        return f"core {self.other} of rank {self.rank} stalls" if self.kind == "core" else f"rank {self.rank} is late"


def parse_plant(text: str, ranks: int, cores: int, seed: int) -> Plant:
    """`NAME[:rank[:core or peer]]`; what is not named is drawn from the seed. UsageError, one line, for another."""
    kind, *words = text.split(":")
    if kind not in PLANTS:
        raise UsageError(f"--plant {text!r}: {kind!r} is not one of {', '.join(PLANTS)}")
    most_words = 0 if kind == "skew" else 2 if kind in _SECOND else 1
    if text == "skew":
        if ranks < _RANKS_OF_SKEW:
            raise UsageError(f"--plant skew needs {_RANKS_OF_SKEW} ranks: {ranks} share its experts nearly evenly")
        return Plant(kind)
    if len(words) > most_words or not all(word.isdecimal() for word in words):
        form = kind + ("[:rank" + (f"[:{_SECOND[kind]}]" if kind in _SECOND else "") + "]" if most_words else "")
        raise UsageError(f"--plant {text!r} is not {form}")
    numbers = [int(word) for word in words]
    draw = random.Random(seed)
    rank = numbers[0] if numbers else draw.randrange(ranks)
    if kind == "link":
        drawn = draw.choice([peer for peer in range(max(ranks, 2)) if peer != rank])
    else:
        drawn = draw.randrange(cores) if kind == "core" else 0
    other = numbers[1] if len(numbers) > 1 else drawn
    most_other = cores if kind == "core" else ranks
    for name, value, count in (("rank", rank, ranks), (_SECOND.get(kind, ""), other, most_other)):
        if value >= count:
            raise UsageError(f"--plant {text!r}: {name} {value} is outside [0, {count - 1}]")
    if kind == "link" and other == rank:
        raise UsageError(f"--plant {text!r}: a link leads to another rank")
    return Plant(kind, rank, other)
