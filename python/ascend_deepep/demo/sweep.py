# SPDX-License-Identifier: Apache-2.0
"""Many cases in one go: a pairwise covering array of shapes, cores, dtypes, engines and routings. Layer: Python.

Every two values of two parameters that can go together meet in some case, and in one that moves rows unless they
forbid it. Rows are made of indices and experts are exact, so that every bit is compared on the ranks themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ascend_deepep.config import ENGINES
from ascend_deepep.demo.covering import Case, Space
from ascend_deepep.demo.features import Features
from ascend_deepep.demo.options import DTYPES, ROUTINGS, Options
from ascend_deepep.demo.report import last_line
from ascend_deepep.demo.runner import MEMORY, run_demo
from ascend_deepep.demo.usage import OutOfTime, UsageError
from ascend_deepep.errors import DeepEPError
from ascend_deepep.testing import Pool, RankErrors

MIN_CASES = 150
_SEED = 950
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


def largest() -> Options:
    """The largest case of the parameters."""
    return Options((512,) * 16, 8192, 16, 256, 72, routing="uniform", payload="index", seed=_SEED)


def cases(count: int = MIN_CASES) -> list[Options]:
    """The covering array, filled up to `count`; the same every time."""
    chosen = SPACE.cover(count)
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


def _tokens(case: Case) -> tuple[int, ...]:
    ranks = int(str(case["ranks"]))
    if case["tokens"] == "uneven":
        return tuple(37 * (rank + 2) % 65 if rank % 3 != 1 else 0 for rank in range(ranks))
    return (int(str(case["tokens"])),) * ranks


def cost_of(case: Case, tokens: tuple[int, ...]) -> int:
    """Bytes of all rows, about."""
    return sum(tokens) * int(str(case["topk"])) * int(str(case["hidden"]))


def _cost(case: Case) -> int:
    return cost_of(case, _tokens(case))


def options_of(
    case: Case, tokens: tuple[int, ...], num_experts: int, seed: int, features: Features | None = None
) -> Options:
    """A case as a run, of rows that name their place."""
    return Options(
        tokens=tokens,
        hidden=int(str(case["hidden"])),
        num_topk=int(str(case["topk"])),
        num_experts=num_experts,
        num_cores=int(str(case["cores"])),
        dtype=str(case["dtype"]),
        routing=str(case["routing"]),
        combine_engine=str(case["engine"]),
        payload="index",
        seed=seed,
        features=features or Features(),
    )


def _options(case: Case, seed: int) -> Options:
    return options_of(case, _tokens(case), _experts(case), seed)


SPACE = Space(_PARAMETERS, _is_legal, _cost, _SEED, {"tokens": 0, "routing": "none"})
