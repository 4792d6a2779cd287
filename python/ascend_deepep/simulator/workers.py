# SPDX-License-Identifier: Apache-2.0
"""Seeds and searches in processes. Layer: Python, no torch.

Kernels run in a process of their own kind: those that crash or never come back cost that process, and what it was doing
is known. Results come in the order of the jobs, however many processes there are.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ascend_deepep.simulator.options import WorldOptions

if TYPE_CHECKING:
    from ascend_deepep._simulator import RunDict

_CHUNK = 8  # seeds that a process is given at a time
_AHEAD = 4  # chunks a process, that may be done before the first of them
_SEED_SECONDS = 300.0  # longest silence: a large world takes some seconds, a search says every 256 runs that it lives
_START_SECONDS = 120.0
_DELAYS_BYTES = 256  # of one run of a search, as text
CHECKER_OF_DEATH = "process"  # stands for a checker where kernels cost the process its life
KERNELS_VARIABLE = "ASCEND_DEEPEP_KERNELS"


class CannotRun(Exception):
    """Nothing was run: the kernels cannot be opened, or no process can be started. One line."""


class Call(Protocol):
    """What a process is asked for."""

    def call(self) -> tuple[str, dict[str, Any]]:
        """A function of `_simulator` and its keyword arguments."""


_Call = TypeVar("_Call", bound=Call)


@dataclass(frozen=True)
class Answer:
    """What came of a call: a value, or why there is none. `refused`: it takes no such arguments.

    `delays`: those of the run that a search was at when its process died.
    """

    value: Any = None
    seconds: float = 0.0
    died: str = ""
    refused: str = ""
    delays: str = ""


@dataclass(frozen=True)
class Job:
    """One world."""

    seed: int
    options: WorldOptions
    timeline: str = ""  # file that gets the trace

    def call(self) -> tuple[str, dict[str, Any]]:
        """`_simulator.run` of it."""
        return "run", {"seed": self.seed, **self.options.arguments(), "timeline": self.timeline}


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
            return CHECKER_OF_DEATH
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
        self._delays = context.RawArray("c", _DELAYS_BYTES)  # outlives the process
        self.process = context.Process(target=_serve, args=(theirs, self._delays, kernels), daemon=True)
        # Whoever is at the keyboard means this process: the new one inherits the mask, and ends in silence.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        theirs.close()
        self.pending: deque[tuple[int, Call]] = deque()
        self.deadline = float("inf")

    def give(self, calls: list[tuple[int, Call]]) -> None:
        self.pending.extend(calls)
        self.lives()
        self.connection.send([call.call() for _, call in calls])

    def lives(self) -> None:
        self.deadline = time.monotonic() + _SEED_SECONDS

    @property
    def delays(self) -> str:
        """Of the run that a search is at."""
        return str(self._delays.value.decode())

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
        for job, answer in self.answers(jobs, chunk):
            yield Outcome(job, answer.seconds, answer.value, answer.died, answer.refused)

    def answers(
        self, calls: Iterable[_Call], chunk: int, on_progress: Callable[[int, int], None] | None = None
    ) -> Iterator[tuple[_Call, Answer]]:
        """The same for any calls; `on_progress` hears the number of a search, from 0, and how far it is."""
        source = iter(calls)
        first = self._next
        ready: dict[int, tuple[Any, Answer]] = {}
        shown = first
        while True:
            while shown in ready:
                yield ready.pop(shown)
                shown += 1
            has_more = self._feed(source, chunk, shown + _AHEAD * chunk * len(self._workers))
            if not has_more and shown == self._next:
                return
            for number, call, answer in self._collect():
                if number < first:
                    continue
                if isinstance(answer, Answer):
                    ready[number] = call, answer
                elif on_progress is not None:
                    on_progress(number - first, answer)

    def _feed(self, source: Iterator[Call], chunk: int, most: int) -> bool:
        """Give every idle process a chunk, up to call number `most`; False when there is none left to give."""
        for worker in self._workers:
            if worker.pending or self._next >= most:
                continue
            calls = list(enumerate(islice(source, chunk), self._next))
            if not calls:
                return False
            self._next += len(calls)
            worker.give(calls)
        return True

    def _collect(self) -> list[tuple[int, Call, Answer | int]]:
        """Wait for any process; answers, how far searches are, what a death cost, and what took too long."""
        busy = {worker.connection: worker for worker in self._workers if worker.pending}
        patience = min(worker.deadline for worker in busy.values()) - time.monotonic()
        heard: list[tuple[int, Call, Answer | int]] = []
        for connection in wait(list(busy), max(0.0, patience)):
            worker = busy[connection]  # type: ignore[index]
            try:
                message: Answer | int = worker.connection.recv()
            except (EOFError, OSError):
                heard.append(self._replace(worker, worker.how_it_ended()))
                continue
            worker.lives()
            heard.append((*worker.pending[0], message))
            if isinstance(message, Answer):
                worker.pending.popleft()
        for worker in busy.values():
            if worker.pending and time.monotonic() > worker.deadline:
                heard.append(self._replace(worker, f"it did not end within {_SEED_SECONDS:.0f} s"))
        return heard

    def _replace(self, worker: _Worker, why: str) -> tuple[int, Call, Answer]:
        """The call that cost the process, and another process for those behind it."""
        number, call = worker.pending.popleft()
        rest = list(worker.pending)
        worker.pending.clear()  # it is done with, whoever still looks at it
        worker.end()
        fresh = _Worker(self._kernels)
        self._workers[self._workers.index(worker)] = fresh
        _wait_until_ready(fresh)
        if rest:
            fresh.give(rest)
        return number, call, Answer(died=why, delays=worker.delays)


def _wait_until_ready(worker: _Worker) -> None:
    try:
        problem = worker.connection.recv() if worker.connection.poll(_START_SECONDS) else "a process does not start"
    except (EOFError, OSError):
        problem = f"a process does not start: {worker.how_it_ended()}"
    if problem:
        raise CannotRun(str(problem))


def _serve(connection: Connection, delays: Any, kernels: str | None) -> None:
    """A process: chunks of calls in, one answer a call out, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if kernels is not None:
        os.environ[KERNELS_VARIABLE] = kernels
    try:
        from ascend_deepep import _simulator

        _simulator.open_kernels()
    except (ImportError, RuntimeError) as error:
        connection.send(" ".join(str(error).split()))
        return
    connection.send("")
    of_search = {"on_progress": connection.send, "under_way": delays}
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            for name, arguments in connection.recv():
                more = of_search if name == "search" else {}
                connection.send(_answer(getattr(_simulator, name), {**arguments, **more}))


def _answer(function: Callable[..., Any], arguments: dict[str, Any]) -> Answer:
    start = time.perf_counter()
    try:
        value = function(**arguments)
    except (ValueError, RuntimeError) as error:
        return Answer(refused=str(error))
    return Answer(value, time.perf_counter() - start)
