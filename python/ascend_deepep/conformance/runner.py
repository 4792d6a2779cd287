# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks, shares cases out to communicators, collects the results. Layer: Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ascend_deepep.config import PREFIX
from ascend_deepep.conformance.cases import Case
from ascend_deepep.conformance.rank import Finished, Group, conformance_rank
from ascend_deepep.testing import Pool

_SECONDS = 120.0  # of a batch, and more for each case
_SECONDS_PER_CASE = 3.0
_GRACE_SECONDS = 5.0  # a rank returns early only where it dies, and the others wait for it
_FEW_TOKENS, _SMALL_HIDDEN = 16, 2048  # sizes that share a window


@dataclass(frozen=True)
class Result:
    """How a case ended."""

    case: Case
    findings: list[str]
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether all was as expected."""
        return not self.findings


def run_cases(
    cases: Iterable[Case], pool: Pool, target: str, on_progress: Callable[[int], None] | None = None
) -> list[Result]:
    """Run the cases, by number of ranks, then by communicator. A rank that dies takes its case along, no other."""
    by_ranks: dict[int, list[Case]] = {}
    for case in cases:
        by_ranks.setdefault(case.call.ranks, []).append(case)
    results: list[Result] = []
    for num_ranks, batch in sorted(by_ranks.items()):
        left = batch
        while left:
            finished = _run_batch(left, num_ranks, pool, target, results, on_progress)
            left = [case for case in left if case.id not in finished]
    return results


def _run_batch(
    cases: list[Case],
    num_ranks: int,
    pool: Pool,
    target: str,
    results: list[Result],
    on_progress: Callable[[int], None] | None,
) -> set[str]:
    """Ids of the cases that came to an end: all, unless a rank did not return."""
    groups = make_groups(cases)
    by_id = {case.id: case for case in cases}
    done: set[str] = set()

    def note(case: Case, findings: list[str], seconds: float) -> None:
        done.add(case.id)
        results.append(Result(case, findings, seconds))
        if on_progress is not None:
            on_progress(len(results))

    def heard(_rank: int, report: Any) -> None:
        assert isinstance(report, Finished)
        note(by_id[report.id], report.findings, report.seconds)

    outcomes = pool.outcomes(
        conformance_rank,
        num_ranks,
        groups,
        timeout=_SECONDS + _SECONDS_PER_CASE * len(cases),
        grace=_GRACE_SECONDS,
        env={f"{PREFIX}TARGET": target},
        on_report=heard,
    )
    failed = [outcome.describe() for outcome in outcomes if not outcome.ok]
    if failed:
        order = [case for group in groups for case in group.cases if case.id not in done]
        if order:
            note(order[0], failed, 0.0)
        else:  # after its last case: whichever it was, it must not count as passed
            last = results.pop()
            results.append(Result(last.case, [*last.findings, *failed], last.seconds))
    return done


def make_groups(cases: list[Case]) -> list[Group]:
    """Cases of like size that can share a communicator, in order of their first."""
    found: dict[Any, list[Case]] = {}
    for case in cases:
        call = case.call
        key = (
            bool(call.shared_num),
            call.copies_differ,
            max(call.tokens) > _FEW_TOKENS,
            case.is_large,
            call.hidden > _SMALL_HIDDEN,
            call.path,
            tuple(sorted(call.limits.items())),
        )
        found.setdefault(key, []).append(case)
    return [_group(members) for members in found.values()]


def _group(cases: list[Case]) -> Group:
    calls = [case.call for case in cases]
    limits = dict(calls[0].limits)
    window = str(limits.pop("window", ""))
    maxima: dict[str, Any] = {
        "max_tokens": max(1, *(call.max_batch for call in calls), *(max(call.tokens) for call in calls)),
        "hidden": max(call.hidden for call in calls),
        "num_topk": max(call.topk for call in calls),
        "num_experts": max(call.experts for call in calls),
        "shared_expert_num": max(call.shared_num for call in calls),
    }
    if calls[0].copies_differ:
        maxima["per_expert_copies"] = True
    return Group({**maxima, **limits}, window, cases)
