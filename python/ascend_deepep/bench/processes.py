# SPDX-License-Identifier: Apache-2.0
"""The processes of the ranks, once with the allocator as it comes and once with it tuned. Layer: Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ascend_deepep.config import PREFIX, TWIN
from ascend_deepep.demo.usage import OutOfTime, UsageError
from ascend_deepep.errors import ArgumentError, DeepEPError
from ascend_deepep.testing import Outcome, Pool, RankErrors

_GIB = 1 << 30
_SECONDS = 600.0  # of one call, in which some iterations of one layer are made
_GRACE_SECONDS = 40.0  # after a first failure: longer than a time-out of the others
#: Nothing by mmap, nothing given back to the system, huge pages where they fit (the last two: glibc, torch).
TUNED = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(4 * _GIB),
    "MALLOC_TOP_PAD_": str(64 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "THP_MEM_ALLOC_ENABLE": "1",
}


def values_of(outcomes: list[Outcome], seconds: float) -> list[Any]:
    """What the ranks returned, or the error that is theirs: those of `Processes.call`."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    for error in sorted(errors, key=lambda error: not isinstance(error, ArgumentError)):
        if isinstance(error, ArgumentError):
            kind = "Memory" if "bytes are free" in str(error) else type(error).__name__
            raise UsageError(str(error), kind) from error
        if isinstance(error, DeepEPError):
            raise error
    if all(outcome.timed_out or outcome.ok for outcome in outcomes) and not all(o.ok for o in outcomes):
        raise OutOfTime(f"a step did not end within {seconds:.0f} s") from RankErrors(outcomes)
    if not all(outcome.ok for outcome in outcomes):
        raise RankErrors(outcomes)
    return [outcome.value for outcome in outcomes]


class Processes:
    """Two groups of ranks, "plain" and "tuned", of which one works at a time."""

    def __init__(self) -> None:
        self._pools = {"plain": Pool(), "tuned": Pool(TUNED)}

    def call(self, group: str, function: Callable[..., Any], ranks: int, *arguments: Any) -> list[Any]:
        """`function(context, *arguments)` on every rank of a group; what they return, in order.

        Errors: UsageError for what the communicator refuses, its other errors as they are, RankErrors for what nobody
        foresaw, OutOfTime.
        """
        environment = {f"{PREFIX}TARGET": TWIN}
        outcomes = self._pools[group].outcomes(
            function, ranks, *arguments, timeout=_SECONDS, grace=_GRACE_SECONDS, env=environment
        )
        return values_of(outcomes, _SECONDS)

    def close(self) -> None:
        """End all of them."""
        for pool in self._pools.values():
            pool.close()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
