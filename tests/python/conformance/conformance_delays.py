# SPDX-License-Identifier: Apache-2.0
"""Delays of the conformance tests: ranks are stopped and continued from outside. Layer: tests.

A stop strikes wherever the rank happens to be, between a remote write and its signal as well as inside a wait or a
copy, and the kernels cannot know of it. The instants are those of the clock: a seed fixes the order and the lengths.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence


def hold(pid: int, seconds: float) -> None:
    """Stop a process for a while."""
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def jitter(pids: Sequence[int], *, seed: int = 1, longest_ms: float = 2.0) -> Iterator[None]:
    """While in the block, stop one of the processes after the other, at random, each for up to `longest_ms`."""
    print(f"delays: seed {seed}, up to {longest_ms} ms")
    done = threading.Event()
    draw = random.Random(seed)

    def strike() -> None:
        while not done.wait(draw.random() * 0.003):
            # The rank may have ended: then its test tells, not this thread.
            with contextlib.suppress(ProcessLookupError):
                hold(draw.choice(pids), draw.random() * longest_ms / 1000)

    thread = threading.Thread(target=strike, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
