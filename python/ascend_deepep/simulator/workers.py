# SPDX-License-Identifier: Apache-2.0
"""Seeds in processes. Layer: Python, no torch.

A seed runs in a process of its own kind: kernels that crash or never come back cost that process, and the seed is
known. Results come in the order of the jobs, however many processes there are.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ascend_deepep.simulator.options import WorldOptions

if TYPE_CHECKING:
    from ascend_deepep._simulator import RunDict

_CHUNK = 8  # seeds that a process is given at a time
_AHEAD = 4  # chunks a process, that may be done before the first of them
_SEED_SECONDS = 300.0  # a large world takes some seconds
_START_SECONDS = 120.0
KERNELS_VARIABLE = "ASCEND_DEEPEP_KERNELS"


class CannotRun(Exception):
    """Nothing was run: the kernels cannot be opened, or no process can be started. One line."""


@dataclass(frozen=True)
class Job:
    """One world."""

    seed: int
    options: WorldOptions
    timeline: str = ""  # file that gets the trace

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `_simulator.run`."""
        return {**self.options.arguments(), "timeline": self.timeline}


@dataclass(frozen=True)
class Outcome:
    """What came of a job: a run, or why there is none. `refused`: no legal world, or a file that cannot be written."""

    job: Job
    seconds: float = 0.0
    run: RunDict | None = None
    died: str = ""
    refused: str = ""

    @property
    def checker(self) -> str:
        """The checker that stopped the world; empty when all held."""
        if self.died:
            return "process"
        return self.run["findings"][0][0] if self.run is not None and self.run["findings"] else ""

    @property
    def text(self) -> str:
        """What that checker said."""
        if self.died:
            return self.died
        return self.run["findings"][0][1] if self.run is not None and self.run["findings"] else ""


class _Worker:
    def __init__(self, kernels: str | None) -> None:
        # Not forked: a fork keeps what this process has open, and its threads' locks.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, kernels), daemon=True)
        self.process.start()
        theirs.close()
        self.pending: deque[tuple[int, Job]] = deque()
        self.deadline = float("inf")

    def give(self, jobs: list[tuple[int, Job]]) -> None:
        self.pending.extend(jobs)
        self.deadline = time.monotonic() + _SEED_SECONDS
        self.connection.send([(job.seed, job.arguments()) for _, job in jobs])

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()

    def how_it_ended(self) -> str:
        self.process.join(5.0)
        code = self.process.exitcode
        if code is None or code >= 0:
            return f"its process ended with status {code}"
        return f"its process was ended by {signal.Signals(-code).name}"


class Workers:
    """Processes that run worlds, all with the same kernels."""

    def __init__(self, jobs: int, kernels: str | None = None) -> None:
        self._kernels = kernels
        self._next = 0
        self._workers: list[_Worker] = []
        try:
            for _ in range(jobs):
                self._workers.append(_Worker(kernels))
            for worker in self._workers:
                _wait_until_ready(worker)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.end()
        self._workers = []

    def processes(self) -> list[int]:
        """Process ids."""
        return [worker.process.pid or 0 for worker in self._workers]

    def run(self, jobs: Iterable[Job], chunk: int = _CHUNK) -> Iterator[Outcome]:
        """Outcomes in the order of the jobs. Whoever stops asking leaves running jobs to end unheard."""
        source = iter(jobs)
        first = self._next
        ready: dict[int, Outcome] = {}
        shown = first
        while True:
            while shown in ready:
                yield ready.pop(shown)
                shown += 1
            has_more = self._feed(source, chunk, shown + _AHEAD * chunk * len(self._workers))
            if not has_more and shown == self._next:
                return
            for number, outcome in self._collect():
                if number >= first:
                    ready[number] = outcome

    def _feed(self, source: Iterator[Job], chunk: int, most: int) -> bool:
        """Give every idle process a chunk, up to job number `most`; False when there is none left to give."""
        for worker in self._workers:
            if worker.pending or self._next >= most:
                continue
            jobs = list(enumerate(islice(source, chunk), self._next))
            if not jobs:
                return False
            self._next += len(jobs)
            worker.give(jobs)
        return True

    def _collect(self) -> list[tuple[int, Outcome]]:
        """Wait for any process; what has come, what its death cost, and what took too long."""
        busy = {worker.connection: worker for worker in self._workers if worker.pending}
        patience = min(worker.deadline for worker in busy.values()) - time.monotonic()
        outcomes = []
        for connection in wait(list(busy), max(0.0, patience)):
            worker = busy[connection]  # type: ignore[index]
            try:
                answer = worker.connection.recv()
            except (EOFError, OSError):
                outcomes.append(self._replace(worker, worker.how_it_ended()))
                continue
            number, job = worker.pending.popleft()
            worker.deadline = time.monotonic() + _SEED_SECONDS
            outcomes.append((number, replace(Outcome(job), **answer)))
        for worker in busy.values():
            if worker.pending and time.monotonic() > worker.deadline:
                outcomes.append(self._replace(worker, f"it did not end within {_SEED_SECONDS:.0f} s"))
        return outcomes

    def _replace(self, worker: _Worker, why: str) -> tuple[int, Outcome]:
        """The job that cost the process, and another process for those behind it."""
        number, job = worker.pending.popleft()
        rest = list(worker.pending)
        worker.pending.clear()  # it is done with, whoever still looks at it
        worker.end()
        fresh = _Worker(self._kernels)
        self._workers[self._workers.index(worker)] = fresh
        _wait_until_ready(fresh)
        if rest:
            fresh.give(rest)
        return number, Outcome(job, died=why)


def _wait_until_ready(worker: _Worker) -> None:
    try:
        problem = worker.connection.recv() if worker.connection.poll(_START_SECONDS) else "a process does not start"
    except (EOFError, OSError):
        problem = f"a process does not start: {worker.how_it_ended()}"
    if problem:
        raise CannotRun(str(problem))


def _serve(connection: Connection, kernels: str | None) -> None:
    """A process: chunks of seeds in, one answer a seed out, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is at the keyboard means the parent
    if kernels is not None:
        os.environ[KERNELS_VARIABLE] = kernels
    try:
        from ascend_deepep import _simulator

        _simulator.open_kernels()
    except (ImportError, RuntimeError) as error:
        connection.send(" ".join(str(error).split()))
        return
    connection.send("")
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            for seed, arguments in connection.recv():
                connection.send(_answer(_simulator, seed, arguments))


def _answer(simulator: Any, seed: int, arguments: dict[str, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        run = simulator.run(seed, **arguments)
    except (ValueError, RuntimeError) as error:
        return {"refused": str(error)}
    return {"run": run, "seconds": time.perf_counter() - start}
