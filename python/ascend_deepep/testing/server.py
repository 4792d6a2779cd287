# SPDX-License-Identifier: Apache-2.0
"""The process that ranks are forked from. Layer: Python. Run as `python -m ascend_deepep.testing.server FD`.

It imports torch once, so that a rank starts in milliseconds, and reports how each rank ended. It ends, and takes the
ranks with it, when the pool's end of its socket closes, however the pool's process came to its end.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time

from ascend_deepep.testing import wire, worker

_PR_SET_PDEATHSIG = 1


def main(control: socket.socket) -> None:
    """Serve until the pool closes `control`; in a forked rank, become the rank."""
    os.dup2(2, 1)  # what ranks print must not mix with the output of the program that runs them
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pool's; it closes us
    _preload()
    wakeup, wakeup_write = os.pipe()
    for fd in (wakeup, wakeup_write):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup_write)
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    selector.register(wakeup, selectors.EVENT_READ)
    ranks: set[int] = set()
    try:
        wire.send(control, ("ready", os.getpid(), 0))
    except wire.GONE:
        return  # closed before the first use
    while True:
        for key, _ in selector.select():
            if key.fd == wakeup:
                os.read(wakeup, 4096)
                _reap(control, ranks)
                continue
            try:
                rank, sock = wire.receive_with_socket(control)
            except wire.GONE:
                _end(ranks)
                return
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                os.close(wakeup)
                os.close(wakeup_write)
                selector.close()
                control.close()
                _become_rank(rank, sock)
                return
            sock.close()
            ranks.add(pid)
            with contextlib.suppress(*wire.GONE):  # as in _reap: the next read finds out
                wire.send(control, ("born", pid, rank))


def _preload() -> None:
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    # A tree that is not built yet can still run functions that use torch only; others say themselves what is missing.
    with contextlib.suppress(ImportError):
        importlib.import_module("ascend_deepep.ops")
    gc.freeze()  # what is loaded by now stays shared with the ranks


def _become_rank(rank: int, sock: socket.socket) -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    worker.serve(rank, sock)


def _reap(control: socket.socket, ranks: set[int]) -> None:
    for pid in list(ranks):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            ranks.discard(pid)
            # The pool may have closed in the meantime; the next read finds that out.
            with contextlib.suppress(*wire.GONE):
                wire.send(control, ("exit", pid, os.waitstatus_to_exitcode(status)))


def _end(ranks: set[int]) -> None:
    """Ranks saw their own sockets close and leave by themselves; those that do not are stuck."""
    for _ in range(40):
        ranks -= {pid for pid in ranks if os.waitpid(pid, os.WNOHANG)[0]}
        if not ranks:
            return
        time.sleep(0.05)
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
