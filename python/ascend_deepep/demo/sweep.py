# SPDX-License-Identifier: Apache-2.0
"""Many cases in one go: a pairwise covering array of shapes, cores, dtypes, engines and routings. Layer: Python.

Every two values of two parameters that can go together meet in some case, and in one that moves rows unless they
forbid it. Rows are made of indices and experts are exact, so that every bit is compared on the ranks themselves.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from ascend_deepep.config import ENGINES
from ascend_deepep.demo.options import DTYPES, ROUTINGS, Options, OutOfTime, UsageError
from ascend_deepep.demo.report import last_line
from ascend_deepep.demo.runner import MEMORY, run_demo
from ascend_deepep.errors import DeepEPError
from ascend_deepep.testing import Pool, RankErrors

MIN_CASES = 150
_SEED = 950
_CANDIDATES = 12
_CASE_SECONDS = 120.0

_PARAMETERS: dict[str, tuple[object, ...]] = {
    "ranks": (1, 2, 3, 4, 6, 8, 16),
    "tokens": (0, 1, 7, 128, 512, "uneven"),
    "topk": (1, 2, 8, 16),
    "experts": ("R", "8R", "256"),
    "hidden": (64, 80, 1024, 1040, 7168, 8192),
    "cores": (4, 5, 7, 8, 13, 24, 48, 64, 72),
    "dtype": DTYPES,
    "engine": ENGINES,
    "routing": ROUTINGS,
}

_IDLE = {"tokens": 0, "routing": "none"}

Case = dict[str, object]
Pair = tuple[str, object, str, object]


def largest() -> Options:
    """The largest case of the parameters."""
    return Options((512,) * 16, 8192, 16, 256, 72, routing="uniform", payload="index", seed=_SEED)


def cases(count: int = MIN_CASES) -> list[Options]:
    """The covering array, filled up with further cases of middling size to `count`; the same every time."""
    draw = random.Random(_SEED)
    missing = set(_all_pairs())
    chosen: list[Case] = []
    while missing:
        first = min(missing, key=str)
        candidates = [_grow(first, missing, draw) for _ in range(_CANDIDATES)]
        best = max(candidates, key=lambda case: (len(_pairs(case) & missing), -_cost(case)))
        missing -= _pairs(best)
        chosen.append(best)
    while len(chosen) < count:
        few = [_grow(None, missing, draw) for _ in range(_CANDIDATES)]
        chosen.append(sorted(few, key=_cost)[len(few) // 2])
    # Neighbours of the same size share the ranks' process group.
    chosen.sort(key=lambda case: (int(str(case["ranks"])), _cost(case)))
    return [_options(case, seed) for seed, case in enumerate(chosen)]


@dataclass
class SweepResult:
    """How many cases ran, and what was wrong with those that were not exact."""

    cases: int = 0
    seconds: float = 0.0
    #: Command line and finding of each failed case.
    failed: list[tuple[str, str]] = field(default_factory=list)
    #: The largest case where the machine has no memory for it: the refusal.
    refused: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether every case was exact."""
        return not self.failed


def run_sweep(options: list[Options], pool: Pool, on_progress: Callable[[int], None] | None = None) -> SweepResult:
    """Run the cases one after the other on the same ranks."""
    result = SweepResult()
    start = time.monotonic()
    for case in options:
        finding = ""
        try:
            outcome = run_demo(case, pool, timeout=_CASE_SECONDS)
            finding = "" if outcome.exact else last_line(outcome)
        except UsageError as error:
            if error.kind == MEMORY:
                result.refused.append(f"{case.command()}: {error}")
            else:
                finding = str(error)
        except (DeepEPError, OutOfTime, RankErrors) as error:
            finding = str(error)
        if finding:
            result.failed.append((case.command(), finding))
        result.cases += 1
        result.seconds = time.monotonic() - start
        if on_progress is not None:
            on_progress(result.cases)
    return result


def _experts(case: Case) -> int:
    ranks = int(str(case["ranks"]))
    return {"R": ranks, "8R": 8 * ranks, "256": 256}[str(case["experts"])]


def _is_legal(case: Case) -> bool:
    """Whether a case, perhaps with parameters still open, can be completed to a legal one."""
    for ranks in [case["ranks"]] if "ranks" in case else _PARAMETERS["ranks"]:
        for experts in [case["experts"]] if "experts" in case else _PARAMETERS["experts"]:
            for topk in [case["topk"]] if "topk" in case else _PARAMETERS["topk"]:
                total = _experts({"ranks": ranks, "experts": experts})
                if total % int(str(ranks)) == 0 and int(str(topk)) <= total:
                    return True
    return False


def _all_pairs() -> Iterator[Pair]:
    for left, right in combinations(_PARAMETERS, 2):
        for one in _PARAMETERS[left]:
            for other in _PARAMETERS[right]:
                if _is_legal({left: one, right: other}):
                    yield left, one, right, other


def _idle(case: Case) -> set[str]:
    """Parameters whose value leaves nothing to do: such a case says little about the values of the others."""
    return {name for name, value in _IDLE.items() if case.get(name) == value}


def _pairs(case: Case) -> set[Pair]:
    """Pairs that a case tests."""
    idle = _idle(case)
    pairs = combinations(_PARAMETERS, 2)
    return {(left, case[left], right, case[right]) for left, right in pairs if idle <= {left, right}}


def _grow(first: Pair | None, missing: set[Pair], draw: random.Random) -> Case:
    """A legal case around a pair: parameter by parameter the value that meets the most missing pairs."""
    case: Case = {} if first is None else {first[0]: first[1], first[2]: first[3]}
    names = [name for name in _PARAMETERS if name not in case]
    draw.shuffle(names)
    for name in names:
        values = [value for value in _PARAMETERS[name] if _is_legal({**case, name: value})]
        draw.shuffle(values)
        case[name] = max(values, key=lambda value: _gain({**case, name: value}, name, missing))
    return {name: case[name] for name in _PARAMETERS}


def _gain(case: Case, name: str, missing: set[Pair]) -> int:
    order = list(_PARAMETERS)
    idle = _idle(case)
    gain = 0
    for other in case:
        if other != name and idle <= {name, other}:
            left, right = sorted((name, other), key=order.index)
            gain += (left, case[left], right, case[right]) in missing
    return gain


def _tokens(case: Case) -> tuple[int, ...]:
    ranks = int(str(case["ranks"]))
    if case["tokens"] == "uneven":
        return tuple(37 * (rank + 2) % 65 if rank % 3 != 1 else 0 for rank in range(ranks))
    return (int(str(case["tokens"])),) * ranks


def _cost(case: Case) -> int:
    """Bytes of all rows, about."""
    return sum(_tokens(case)) * int(str(case["topk"])) * int(str(case["hidden"]))


def _options(case: Case, seed: int) -> Options:
    return Options(
        tokens=_tokens(case),
        hidden=int(str(case["hidden"])),
        num_topk=int(str(case["topk"])),
        num_experts=_experts(case),
        num_cores=int(str(case["cores"])),
        dtype=str(case["dtype"]),
        routing=str(case["routing"]),
        combine_engine=str(case["engine"]),
        payload="index",
        seed=seed,
    )
