# SPDX-License-Identifier: Apache-2.0
"""Public reports 20 and 25: time-outs that say who is missing, and the end of a process. Layer: tests."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist
from ascend_deepep import Communicator, combine_v2, dispatch_v2
from ascend_deepep.testing import Outcome, run, shared_pool
from conformance_support import (
    Caught,
    Expected,
    Plan,
    attempt,
    communicator,
    even,
    experts_work,
    payload,
    random_ids,
    round_trip,
    weights,
)

SHAPE = even(4, 4, 2, 8)
LIMIT_MS = 2000
ABSENT = 2


def late_body(context: Any, which: str) -> Caught:
    """What the call says on this rank; then a new communicator in the same process is EXACT."""
    expected = Expected.of(Plan.make(SHAPE, random_ids, 1), context.rank)
    ids, x = expected.plan.ids[context.rank], payload(context.rank, 4, 1024)
    comm = communicator(context, SHAPE, timeout_ms=LIMIT_MS)
    round_trip(comm, expected)
    dist.barrier()
    if which == "a_never":
        caught = Caught(None, "", 0.0) if context.rank == ABSENT else attempt(lambda: dispatch_v2(x, ids, comm))
    elif which == "b_no_combine":
        out = dispatch_v2(x, ids, comm)
        y = experts_work(expected, out.expand_x)
        caught = Caught(None, "", 0.0)
        if context.rank != ABSENT:
            counts = out.ep_recv_counts
            caught = attempt(lambda: combine_v2(y, ids, out.assist_info_for_combine, counts, weights(4, 2), comm))
    elif which == "c_bad_argument":
        caught = attempt(lambda: dispatch_v2(x.float() if context.rank == ABSENT else x, ids, comm))
    else:
        time.sleep(1.0 if context.rank == ABSENT else 0.0)
        caught = attempt(lambda: round_trip(comm, expected))
    dist.barrier()
    comm.close()
    with communicator(context, SHAPE) as new:
        round_trip(new, expected)
    return caught


@pytest.mark.parametrize("which, operation, number", [("a_never", "dispatch_v2", 2), ("b_no_combine", "combine_v2", 3)])
def test_report_20_missing_rank(which: str, operation: str, number: int) -> None:
    """(a), (b): the error itself says who, where, which call, and how long of how much."""
    for rank, caught in enumerate(run(late_body, 4, which, timeout=30)):
        if rank == ABSENT:
            continue
        assert caught.kind == "WaitTimeout" and "TimeoutError" in caught.bases, caught
        assert caught.rank == rank and caught.root == ABSENT and caught.operation == operation and caught.stage
        assert LIMIT_MS / 1000 - 0.5 <= caught.seconds <= LIMIT_MS / 1000 + 1.0
        assert caught.waited == pytest.approx(caught.seconds, abs=0.5)
        for text in (f"on rank {rank}", f"waiting for rank {ABSENT}", f"{operation} number {number}", "of 2.0 s"):
            assert text in caught.text, caught.text
        assert re.search(r"\d\.\d s of 2\.0 s", caught.text)


def test_report_20_bad_argument() -> None:
    """(c): nobody waits for a rank that refused its own call."""
    for rank, caught in enumerate(run(late_body, 4, "c_bad_argument", timeout=30)):
        assert caught.kind == ("ArgumentError" if rank == ABSENT else "Mismatch"), caught
        assert caught.root == ABSENT and caught.seconds < 1.0 and "x is float32" in caught.text
        assert rank == ABSENT or f"rank {ABSENT}" in caught.text


def test_report_20_late_rank() -> None:
    """(d): a second late is no error."""
    for rank, caught in enumerate(run(late_body, 4, "d_late", timeout=30)):
        assert caught.kind is None, caught
        assert rank == ABSENT or caught.seconds >= 0.9


# Report 25: each body is a program; it ends its process itself, through the interpreter's own shutdown.


def children() -> list[int]:
    """Process ids of this process's children."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def program(context: Any, work: Callable[[Communicator], None], comm: Communicator) -> None:
    """Run `work` as a main program would: an error is a traceback and exit code 1."""
    try:
        work(comm)
    except (Exception, KeyboardInterrupt):
        traceback.print_exc()
        sys.exit(1)
    finally:
        context.report(children())
    sys.exit(0)


def exit_body(context: Any, which: str) -> None:
    expected = Expected.of(Plan.make(SHAPE, random_ids, 1), context.rank)
    comm = communicator(context, SHAPE, timeout_ms=LIMIT_MS)

    def work(comm: Communicator) -> None:
        round_trip(comm, expected)
        if which == "a_close":
            comm.close()
        elif which == "c_group_first":
            dist.destroy_process_group()
            comm.close()
        elif which == "d_early":
            if context.rank == 2:
                return
            time.sleep(3.0)
            round_trip(comm, expected)
        elif which == "e_close_twice":
            comm.close()
            comm.close()
        elif which == "f_user_error":
            out = dispatch_v2(expected.plan.x(context.rank), expected.plan.ids[context.rank], comm)
            if context.rank == 2:
                raise RuntimeError("an exception of the user's between dispatch and combine")
            y = experts_work(expected, out.expand_x)
            ids, scales = expected.plan.ids[context.rank], weights(4, 2)
            combine_v2(y, ids, out.assist_info_for_combine, out.ep_recv_counts, scales, comm)

    program(context, work, comm)


def end_of(which: str, limit: float) -> tuple[list[Outcome], list[int]]:
    """How the ranks of `exit_body` ended, and the children they had."""
    reported: list[int] = []
    outcomes = shared_pool().outcomes(
        exit_body, 4, which, timeout=limit, on_report=lambda _rank, pids: reported.extend(pids)
    )
    return outcomes, reported


def assert_gone(pids: list[int]) -> None:
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert [name for name in os.listdir("/dev/shm") if "ascend" in name] == []


@pytest.mark.parametrize("which", ["a_close", "b_nothing", "c_group_first", "e_close_twice"])
def test_report_25_clean_exit(which: str) -> None:
    outcomes, pids = end_of(which, 10.0)
    assert [outcome.exit_code for outcome in outcomes] == [0, 0, 0, 0], [o.describe() for o in outcomes]
    assert_gone(pids)


@pytest.mark.parametrize("which, codes", [("d_early", [1, 1, 0, 1]), ("f_user_error", [1, 1, 1, 1])])
def test_report_25_exit_after_trouble(which: str, codes: list[int]) -> None:
    outcomes, pids = end_of(which, 3.0 + LIMIT_MS / 1000 + 10.0)
    assert [outcome.exit_code for outcome in outcomes] == codes, [outcome.describe() for outcome in outcomes]
    assert_gone(pids)


def interrupted_body(context: Any) -> None:
    """Rank 2 never calls, the others wait for it with a long limit, and Ctrl-C strikes them all."""
    expected = Expected.of(Plan.make(SHAPE, random_ids, 1), context.rank)
    comm = communicator(context, SHAPE, timeout_ms=60_000)
    context.report(os.getpid())

    def work(comm: Communicator) -> None:
        if context.rank == ABSENT:
            time.sleep(60.0)
        round_trip(comm, expected)

    program(context, work, comm)


def test_report_25_interrupt_in_a_wait() -> None:
    """(g): no process survives Ctrl-C, and none says 0."""
    waiting: list[int] = []
    reported: list[int] = []

    def on_report(_rank: int, value: Any) -> None:
        if isinstance(value, list):
            reported.extend(value)
            return
        waiting.append(value)
        if len(waiting) == 4:
            time.sleep(0.5)
            for pid in waiting:
                os.kill(pid, signal.SIGINT)

    start = time.monotonic()
    outcomes = shared_pool().outcomes(interrupted_body, 4, timeout=20.0, on_report=on_report)
    assert time.monotonic() - start < 10.0
    for outcome in outcomes:
        assert outcome.exit_code == 1, outcome.describe()
    assert_gone(reported)
