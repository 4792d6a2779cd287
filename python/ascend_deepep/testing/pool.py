# SPDX-License-Identifier: Apache-2.0
"""The pool of ranks as the caller sees it. Layer: Python. A pool belongs to one thread of one process."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_deepep.testing import wire
from ascend_deepep.testing.worker import ENVIRONMENT_PREFIXES, Call, Reply

_START_SECONDS = 120.0  # torch from a cold disk
_LONGEST_WAIT = 3600.0  # of one select; epoll takes no more than 2^31 ms


@dataclass
class Outcome:
    """How a call ended on one rank: a value, an error with its traceback, or the end of the process."""

    rank: int
    value: Any = None
    error: BaseException | None = None
    trace: str = ""
    #: Exit code of a rank that ended instead of returning; negative is a signal's number.
    exit_code: int | None = None
    #: Whether the rank was ended because its time was up; `trace` has its stacks.
    timed_out: bool = False
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the function returned."""
        return self.error is None and self.exit_code is None and not self.timed_out

    def describe(self) -> str:
        """The failure, with the traceback or stacks."""
        if self.timed_out:
            return f"rank {self.rank} was still running after {self.seconds:.1f} s; its stacks:\n{self.trace}"
        if self.exit_code is not None:
            how = f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit code {self.exit_code}"
            return f"rank {self.rank} ended with {how} after {self.seconds:.1f} s"
        return f"rank {self.rank} failed after {self.seconds:.1f} s\n{self.trace or self.error}"


class RankErrors(RuntimeError):
    """At least one rank did not return; the text has every rank's traceback."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        super().__init__("\n".join(outcome.describe() for outcome in outcomes if not outcome.ok))


class _Rank:
    def __init__(self, sock: socket.socket, pid: int) -> None:
        self.sock = sock
        self.pid = pid


class Pool:
    """Ranks that live from call to call. Made of one server process and, on demand, a process per rank."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """`environment` is set on top of the caller's from the ranks' first instruction on, as an allocator needs."""
        self._folder = Path(tempfile.mkdtemp(prefix="ascend-deepep-ranks-"))
        self._ranks: dict[int, _Rank] = {}
        self._exits: dict[int, int] = {}
        self._groups = 0
        self._group_size = 0
        self._pid = os.getpid()
        self._control, theirs = socket.socketpair()
        fd = theirs.fileno()
        command = [sys.executable, "-m", "ascend_deepep.testing.server", str(fd)]
        self._server = subprocess.Popen(
            command, pass_fds=[fd], stdin=subprocess.DEVNULL, env=_server_environment(environment)
        )
        theirs.close()
        atexit.register(self.close)
        self._started = False

    def run(
        self,
        function: Callable[..., Any],
        num_ranks: int,
        *args: Any,
        timeout: float = 60.0,
        env: Mapping[str, str] | None = None,
        on_report: Callable[[int, Any], None] | None = None,
        **kwargs: Any,
    ) -> list[Any]:
        """`function(context, *args, **kwargs)` on ranks 0 to num_ranks - 1; their values, in rank order.

        The function must be importable by its name. `timeout` is in seconds, for the whole call. `env` is set on top of
        the caller's ASCEND_DEEPEP_* variables. Raises RankErrors unless every rank returned.
        """
        outcomes = self.outcomes(
            function, num_ranks, *args, timeout=timeout, grace=5.0, env=env, on_report=on_report, **kwargs
        )
        if not all(outcome.ok for outcome in outcomes):
            raise RankErrors(outcomes)
        return [outcome.value for outcome in outcomes]

    def outcomes(
        self,
        function: Callable[..., Any],
        num_ranks: int,
        *args: Any,
        timeout: float = 60.0,
        grace: float | None = None,
        env: Mapping[str, str] | None = None,
        on_report: Callable[[int, Any], None] | None = None,
        **kwargs: Any,
    ) -> list[Outcome]:
        """As `run`, but tells how each rank ended. With `grace`, ranks get that many seconds after a first failure."""
        payload = pickle.dumps((function, args, kwargs))
        self._prepare(num_ranks)
        call = Call(
            payload=payload,
            num_ranks=num_ranks,
            store=str(self._folder / f"group-{self._groups}"),
            timeout=timeout,
            environment=_environment(env),
            cwd=os.getcwd(),
            path=list(sys.path),
            main=_main_script(function),
            stacks="",
        )
        start = time.monotonic()
        for rank in range(num_ranks):
            call.stacks = str(self._stacks(rank))
            # A rank that died since it was looked at shows as the end of its socket below.
            with contextlib.suppress(*wire.GONE):
                wire.send(self._ranks[rank].sock, call)
        try:
            done, has_group = self._collect(num_ranks, start, timeout, grace, on_report)
        except BaseException:
            # Ctrl-C, or what on_report raised: nobody knows where the ranks are, so the next call gets new ones.
            self._drop(num_ranks)
            raise
        if not has_group:
            self._group_size = 0
        return [done[rank] for rank in range(num_ranks)]

    def pids(self, num_ranks: int) -> list[int]:
        """Process ids of the first ranks, started if need be."""
        self._prepare(num_ranks)
        return [self._ranks[rank].pid for rank in range(num_ranks)]

    def close(self) -> None:
        """End all ranks and the server. May be called twice."""
        if os.getpid() != self._pid or self._server.returncode is not None:
            return
        for rank in self._ranks.values():
            rank.sock.close()
        self._ranks.clear()
        self._control.close()
        try:
            self._server.wait(10.0)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stacks(self, rank: int) -> Path:
        return self._folder / f"stacks-{rank}"

    def _prepare(self, num_ranks: int) -> None:
        """Start missing ranks; forget the process group unless it is the one this call needs."""
        if not self._started:
            self._await("ready")
            self._started = True
        missing = [rank for rank in range(num_ranks) if not self._is_alive(rank)]
        for rank in missing:
            ours, theirs = socket.socketpair()
            wire.send_with_socket(self._control, rank, theirs)
            theirs.close()
            self._ranks[rank] = _Rank(ours, self._await("born"))
        if missing or self._group_size != num_ranks:
            self._groups += 1
            self._group_size = num_ranks

    def _is_alive(self, rank: int) -> bool:
        if rank not in self._ranks:
            return False
        try:
            data = self._ranks[rank].sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            data = b""
        if data:
            raise RuntimeError(f"rank {rank} sent something between calls")
        self._forget(rank)
        return False

    def _await(self, kind: str, limit: float = _START_SECONDS) -> int:
        """The pid in the server's next message of this kind; exits that come before are noted."""
        self._control.settimeout(limit)
        while True:
            try:
                got, pid, value = wire.receive(self._control)
            except wire.GONE:
                raise RuntimeError(f"the server of ranks ended with exit code {self._server.wait()}") from None
            if got == "exit":
                self._exits[pid] = value
            if got == kind:
                return int(pid)

    def _exit_code(self, pid: int) -> int:
        while pid not in self._exits:
            self._await("exit", 10.0)
        return self._exits.pop(pid)

    def _forget(self, rank: int) -> int:
        gone = self._ranks.pop(rank)
        gone.sock.close()
        return self._exit_code(gone.pid)

    def _drop(self, num_ranks: int) -> None:
        for rank in [rank for rank in range(num_ranks) if rank in self._ranks]:
            os.kill(self._ranks[rank].pid, signal.SIGKILL)
            self._forget(rank)
        self._group_size = 0

    def _collect(
        self,
        num_ranks: int,
        start: float,
        timeout: float,
        grace: float | None,
        on_report: Callable[[int, Any], None] | None,
    ) -> tuple[dict[int, Outcome], bool]:
        done: dict[int, Outcome] = {}
        deadline = start + timeout
        has_group = True
        with selectors.DefaultSelector() as selector:
            for rank in range(num_ranks):
                selector.register(self._ranks[rank].sock, selectors.EVENT_READ, rank)
            while len(done) < num_ranks:
                left = deadline - time.monotonic()
                events = selector.select(min(left, _LONGEST_WAIT)) if left > 0 else []
                if not events and time.monotonic() >= deadline:
                    late = [rank for rank in range(num_ranks) if rank not in done]
                    done.update(self._give_up(late, time.monotonic() - start))
                    return done, False
                for key, _ in events:
                    rank = key.data
                    outcome = self._read(rank, start, on_report)
                    if outcome is None:
                        continue
                    selector.unregister(key.fileobj)
                    done[rank], rejoins = outcome
                    has_group = has_group and rejoins
                    if not done[rank].ok and grace is not None:
                        deadline = min(deadline, time.monotonic() + grace)
        return done, has_group

    def _read(
        self, rank: int, start: float, on_report: Callable[[int, Any], None] | None
    ) -> tuple[Outcome, bool] | None:
        """A rank's end of the call and whether its process group is fit for the next; None for a report."""
        try:
            kind, value = wire.receive(self._ranks[rank].sock)
        except wire.GONE:
            seconds = time.monotonic() - start
            return Outcome(rank, exit_code=self._forget(rank), seconds=seconds), False
        if kind == "report":
            if on_report is not None:
                on_report(rank, value)
            return None
        reply: Reply = value
        outcome = Outcome(rank, reply.value, reply.error, reply.trace, seconds=reply.seconds)
        return outcome, outcome.ok and reply.has_group

    def _give_up(self, ranks: list[int], seconds: float) -> dict[int, Outcome]:
        """End ranks that are late, with the stacks of their threads."""
        for rank in ranks:
            os.kill(self._ranks[rank].pid, signal.SIGUSR1)
        time.sleep(0.3)
        outcomes = {}
        for rank in ranks:
            os.kill(self._ranks[rank].pid, signal.SIGKILL)
            self._forget(rank)
            stacks = self._stacks(rank)
            trace = stacks.read_text() if stacks.exists() else "(none written)"
            outcomes[rank] = Outcome(rank, timed_out=True, trace=trace, seconds=seconds)
        return outcomes


_shared: Pool | None = None


def shared_pool() -> Pool:
    """The pool of this process, started at the first use and ended at exit."""
    global _shared
    if _shared is None or _shared._pid != os.getpid():
        _shared = Pool()
    return _shared


def run(function: Callable[..., Any], num_ranks: int, *args: Any, **kwargs: Any) -> list[Any]:
    """`Pool.run` on the pool of this process."""
    return shared_pool().run(function, num_ranks, *args, **kwargs)


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT_PREFIXES)}
    return {**ours, **(extra or {})}


def _server_environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """The server finds the package where this process did; one thread per rank from the first import on."""
    package_home = str(Path(__file__).absolute().parents[2])
    paths = [package_home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    ours = {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return {**os.environ, **ours, **(extra or {})}


def _main_script(function: Callable[..., Any]) -> str | None:
    if getattr(function, "__module__", None) != "__main__":
        return None
    return getattr(sys.modules["__main__"], "__file__", None)
