# SPDX-License-Identifier: Apache-2.0
"""A rank of the pool: runs one function after another. Layer: Python. docs of the package: ascend_deepep.testing."""

from __future__ import annotations

import faulthandler
import os
import pickle
import runpy
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from ascend_deepep.testing import wire

#: Variables of these prefixes follow the caller's environment at every call.
ENVIRONMENT_PREFIXES = ("ASCEND_DEEPEP_",)


@dataclass
class Call:
    """One call for one rank."""

    payload: bytes  # function, args, kwargs
    num_ranks: int
    store: str  # file of the process group; a rank that has the group of this file keeps it
    timeout: float
    environment: dict[str, str]
    cwd: str
    path: list[str]
    main: str | None  # script whose functions are called by the name of __main__
    stacks: str  # file for the stacks of all threads, written on SIGUSR1


@dataclass
class Reply:
    """How a call ended on a rank."""

    value: Any = None
    error: BaseException | None = None
    trace: str = ""
    seconds: float = 0.0
    has_group: bool = True


@dataclass
class Context:
    """What a function knows of its rank. `torch.distributed`'s default group is the call's group."""

    rank: int
    num_ranks: int
    timeout: float
    _socket: socket.socket = field(repr=False)

    @property
    def group(self) -> Any:
        """The process group of the call."""
        import torch.distributed as dist

        return dist.group.WORLD

    def report(self, value: object) -> None:
        """Send `value` to the caller's `on_report` while the function runs."""
        wire.send(self._socket, ("report", value))


def serve(rank: int, sock: socket.socket) -> None:
    """Run calls until the pool closes the socket or a function ends the process.

    A function that raises SystemExit leaves through the interpreter's own shutdown, as a program would. When the pool
    is done nothing is left to lose, and tearing down torch in many processes takes seconds: that end is immediate.
    """
    groups = _Groups(rank)
    while True:
        try:
            call: Call = wire.receive(sock)
        except wire.GONE:
            break
        reply = _run(rank, sock, call, groups)
        try:
            wire.send(sock, ("done", reply))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            reply = Reply(error=TypeError(f"what rank {rank} returned cannot be sent: {error}"), seconds=reply.seconds)
            wire.send(sock, ("done", reply))
        except wire.GONE:
            break
    sys.stderr.flush()
    os._exit(0)


def _run(rank: int, sock: socket.socket, call: Call, groups: _Groups) -> Reply:
    start = time.monotonic()
    reply = Reply()
    with Path(call.stacks).open("w") as stacks:
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
        try:
            _enter(call)
            function, args, kwargs = _load(call)
            groups.join(call)
            context = Context(rank, call.num_ranks, call.timeout, sock)
            reply.value = function(context, *args, **kwargs)
        except SystemExit:
            raise
        except BaseException as error:  # pytest's own outcomes and Ctrl-C are no Exceptions
            reply.trace = traceback.format_exc()
            reply.error = _portable(error)
        finally:
            faulthandler.unregister(signal.SIGUSR1)
    reply.has_group = groups.is_joined()
    reply.seconds = time.monotonic() - start
    return reply


def _enter(call: Call) -> None:
    os.chdir(call.cwd)
    sys.path[:] = call.path
    for name in [name for name in os.environ if name.startswith(ENVIRONMENT_PREFIXES)]:
        del os.environ[name]
    os.environ.update(call.environment)


def _load(call: Call) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    if call.main is not None and getattr(sys.modules["__main__"], "__file__", None) != call.main:
        # As multiprocessing does: the caller's script under another name, so that its main part does not run.
        module = ModuleType("__mp_main__")
        module.__dict__.update(runpy.run_path(call.main, run_name="__mp_main__"))
        module.__file__ = call.main
        sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    function, args, kwargs = pickle.loads(call.payload)
    return function, args, kwargs


def _portable(error: BaseException) -> BaseException:
    """`error` if it can travel, else its text: the traceback goes along in any case."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Groups:
    """The default process group of this rank, kept while calls ask for the same."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._store = ""

    def join(self, call: Call) -> None:
        import torch.distributed as dist

        if self._store == call.store and dist.is_initialized():
            return
        self.leave()
        store = dist.FileStore(call.store, call.num_ranks)  # type: ignore[attr-defined]
        limit = timedelta(seconds=max(call.timeout, 1.0))
        dist.init_process_group("gloo", store=store, rank=self._rank, world_size=call.num_ranks, timeout=limit)
        self._store = call.store

    def is_joined(self) -> bool:
        import torch.distributed as dist

        return bool(dist.is_initialized())

    def leave(self) -> None:
        import torch.distributed as dist

        if dist.is_initialized():
            dist.destroy_process_group()
        self._store = ""
