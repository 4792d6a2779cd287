# SPDX-License-Identifier: Apache-2.0
"""Failures: lost and missing ranks, Ctrl-C, fork, threads; and that a broken communicator harms nothing else.

Layer: tests. Every survivor is told who is to blame; later calls raise the first error; close() returns; a new
communicator in the same processes is EXACT.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from ascend_deepep import Communicator, dispatch_v2
from ascend_deepep.testing import run, shared_pool
from conformance_support import (
    Caught,
    Expected,
    Plan,
    attempt,
    communicator,
    even,
    payload,
    random_ids,
    round_trip,
)

SHAPE = even(4, 8, 2, 8)
VICTIM = 2
GONE_SECONDS = 2.0  # within which a process that is gone is named


@dataclass
class Aftermath:
    """What a survivor went through."""

    first: Caught
    later: list[Caught] = field(default_factory=list)
    close_seconds: float = 0.0
    new_is_exact: bool = False


def expected_of(rank: int, seed: int = 1) -> Expected:
    return Expected.of(Plan.make(SHAPE, random_ids, seed), rank)


def later_calls(comm: Communicator, expected: Expected) -> list[Caught]:
    """What the broken communicator says, by object, by name, and on check()."""
    x, ids = expected.plan.x(expected.rank), expected.plan.ids[expected.rank]
    return [
        attempt(lambda: dispatch_v2(x, ids, comm)),
        attempt(lambda: torch.ops.npu.dispatch_v2(x, ids, comm.name, 4, comm.rank, 8, global_bs=32)),
        attempt(comm.check),
    ]


def timed_close(comm: Communicator) -> float:
    start = time.monotonic()
    comm.close()
    return time.monotonic() - start


def new_group(folder: str, rank: int, num_ranks: int) -> None:
    """A process group of the survivors."""
    dist.destroy_process_group()
    store = dist.FileStore(f"{folder}/survivors", num_ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=num_ranks)


def killed_body(context: Any, moment: str, engine_rounds: int, folder: str) -> Aftermath:
    """The victim dies in a wait, between two calls, or somewhere in rounds that run free."""
    expected = expected_of(context.rank)
    comm = communicator(context, SHAPE, timeout_ms=8000)
    round_trip(comm, expected)
    dist.barrier()
    if context.rank == VICTIM:
        if moment == "between_calls":
            os.kill(os.getpid(), signal.SIGKILL)
        delay = 0.2 if moment == "in_a_wait" else 0.005
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
    if moment == "in_a_wait":
        time.sleep(0.0 if context.rank == VICTIM else 0.5)

    def go_on() -> None:
        for _ in range(engine_rounds):
            round_trip(comm, expected)

    result = Aftermath(attempt(go_on))
    result.later = later_calls(comm, expected)
    result.close_seconds = timed_close(comm)
    new_rank = context.rank - (context.rank > VICTIM)
    new_group(folder, new_rank, 3)
    shape = even(3, 8, 2, 6)
    with Communicator(dist.group.WORLD, max_tokens=8, hidden=1024, num_topk=2, num_experts=6) as new:
        round_trip(new, Expected.of(Plan.make(shape, random_ids, 2), new_rank))
    result.new_is_exact = True
    return result


def check_broken(result: Aftermath) -> None:
    """Later calls raise the first error, at once; close is quick; a new communicator worked."""
    for caught in result.later:
        assert (caught.kind, caught.text) == (result.first.kind, result.first.text), caught
        assert caught.root == result.first.root and caught.seconds < 1.0
    assert result.close_seconds < 1.0
    assert result.new_is_exact


@pytest.mark.parametrize("engine", ["mte", "urma"])
@pytest.mark.parametrize("moment", ["in_a_wait", "between_calls", "in_free_rounds"])
def test_killed_rank(moment: str, engine: str, tmp_path: Path) -> None:
    env = {"ASCEND_DEEPEP_COMBINE_ENGINE": engine}
    outcomes = shared_pool().outcomes(killed_body, 4, moment, 100_000, str(tmp_path), timeout=30, env=env)
    for rank, outcome in enumerate(outcomes):
        if rank == VICTIM:
            assert outcome.exit_code == -signal.SIGKILL, outcome.describe()
            continue
        assert outcome.ok, outcome.describe()
        first = outcome.value.first
        assert first.kind == "PeerLost" and first.root == VICTIM and first.rank == rank, first
        assert f"rank {VICTIM}" in first.text and first.stage and first.operation
        assert first.waited is not None and first.waited < GONE_SECONDS
        check_broken(outcome.value)


def missing_body(context: Any, rounds_before: int) -> Aftermath:
    expected = expected_of(context.rank)
    comm = communicator(context, SHAPE, timeout_ms=1000)
    for _ in range(rounds_before):
        round_trip(comm, expected)
    dist.barrier()
    x, ids = expected.plan.x(context.rank), expected.plan.ids[context.rank]
    first = Caught(None, "", 0.0) if context.rank == VICTIM else attempt(lambda: dispatch_v2(x, ids, comm))
    dist.barrier()
    result = Aftermath(first, later_calls(comm, expected))
    result.close_seconds = timed_close(comm)
    with communicator(context, SHAPE) as new:
        round_trip(new, expected)
    result.new_is_exact = True
    return result


@pytest.mark.parametrize("rounds_before", [0, 3])
def test_rank_that_never_calls(rounds_before: int) -> None:
    for rank, result in enumerate(run(missing_body, 4, rounds_before, timeout=30)):
        if rank == VICTIM:
            # Its own first call comes after the others gave up: it is told so at once, and of whom.
            assert result.later[0].kind is not None and result.later[0].seconds < 1.0
            assert result.close_seconds < 1.0 and result.new_is_exact
            continue
        assert result.first.kind == "WaitTimeout" and result.first.root == VICTIM, result.first
        assert 0.8 <= result.first.seconds <= 2.0
        check_broken(result)


def interrupt_body(context: Any) -> Aftermath:
    """Rank 0 waits alone and is interrupted; the others call afterwards."""
    expected = expected_of(context.rank)
    comm = communicator(context, SHAPE, timeout_ms=20_000)
    round_trip(comm, expected)
    dist.barrier()
    x, ids = expected.plan.x(context.rank), expected.plan.ids[context.rank]
    if context.rank == 0:
        context.report(os.getpid())
        first = attempt(lambda: dispatch_v2(x, ids, comm))
        dist.barrier()
    else:
        dist.barrier()
        first = attempt(lambda: dispatch_v2(x, ids, comm))
    result = Aftermath(first, later_calls(comm, expected))
    result.close_seconds = timed_close(comm)
    with communicator(context, SHAPE) as new:
        round_trip(new, expected)
    result.new_is_exact = True
    return result


def test_interrupt_in_a_wait() -> None:
    sent: list[float] = []

    def interrupt(_rank: int, pid: int) -> None:
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(pid, signal.SIGINT)

    results = run(interrupt_body, 4, timeout=30, on_report=interrupt)
    assert results[0].first.kind == "KeyboardInterrupt", results[0].first
    assert results[0].first.at - sent[0] < 1.0
    for rank, result in enumerate(results):
        assert result.close_seconds < 1.0 and result.new_is_exact
        for caught in result.later:
            assert caught.kind is not None and "DeepEPError" in caught.bases and caught.seconds < 1.0, caught
        if rank:
            assert result.first.kind is not None and result.first.root == 0 and result.first.seconds < 1.0, result.first
            check_broken(result)


def fork_body(context: Any) -> list[Caught]:
    """A child process tries the communicator by object and by name; the parent goes on."""
    expected = expected_of(context.rank)
    with communicator(context, SHAPE) as comm:
        round_trip(comm, expected)
        readable, writable = os.pipe()
        child = os.fork()
        if child == 0:
            # Nothing but the attempts: a child of a process with threads must not do much.
            os.write(
                writable, pickle.dumps([*later_calls(comm, expected), attempt(comm.close), attempt(comm.counters)])
            )
            os._exit(0)
        os.close(writable)
        with os.fdopen(readable, "rb") as pipe:
            found = pickle.load(pipe)
        os.waitpid(child, 0)
        round_trip(comm, expected)
    return list(found)


def test_communicator_inherited_over_fork() -> None:
    for by_object, by_name, check, close, counters in run(fork_body, 4, timeout=30):
        for caught in (by_object, by_name, check, counters):
            assert caught.kind == "ArgumentError" and "fork" in caught.text, caught
        assert close.kind is None, "closing what is not its own does nothing"


def thread_body(context: Any) -> Caught | None:
    """Rank 0 waits in one thread and calls in a second; the first call is not disturbed."""
    expected = expected_of(context.rank)
    with communicator(context, SHAPE, timeout_ms=10_000) as comm:
        round_trip(comm, expected)
        dist.barrier()
        if context.rank:
            time.sleep(0.6)
            round_trip(comm, expected)
            return None
        found: list[Caught] = []
        ids = expected.plan.ids[0]
        second = threading.Timer(
            0.2, lambda: found.append(attempt(lambda: dispatch_v2(payload(0, 8, 1024), ids, comm)))
        )
        second.start()
        round_trip(comm, expected)
        second.join()
        return found[0]


def test_second_thread_is_refused() -> None:
    caught = run(thread_body, 4, timeout=30)[0]
    assert caught is not None and caught.kind == "ArgumentError", caught
    assert "thread" in caught.text and caught.seconds < 0.3
