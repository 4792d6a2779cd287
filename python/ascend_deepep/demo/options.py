# SPDX-License-Identifier: Apache-2.0
"""What a run of the demo is made of, and which combinations are legal. Layer: Python, no torch."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from ascend_deepep.config import ENGINES

ROUTINGS = ("gate", "uniform", "skewed", "one-hot", "none")
DTYPES = ("bf16", "fp16")
PAYLOADS = ("text", "index")
MAX_SEED = (1 << 43) - 1  # an expert's own seed is (seed << 20) + expert, in 63 bits
MAX_ITERS = 1_000_000_000
MAX_COMMUNICATORS = 8


@dataclass(frozen=True)
class FaultPlace:
    """Which rank's fabric fails, at one of how many events."""

    rank: int
    events: int


class UsageError(Exception):
    """The user asked for something that cannot be; one line, no traceback. `kind` goes into the JSON object."""

    def __init__(self, message: str, kind: str = "UsageError") -> None:
        super().__init__(message)
        self.kind = kind


class OutOfTime(Exception):
    """The whole run took longer than its budget; one line, its cause has the stacks of all ranks."""


def check_range(option: str, value: int, lowest: int, highest: int, what: str = "") -> None:
    """Raise UsageError unless the value is one of lowest to highest."""
    if not lowest <= value <= highest:
        raise UsageError(f"{option} {value} is outside [{lowest}, {highest}]{what}")


@dataclass(frozen=True)
class Options:
    """One run. Tokens are per rank; with `vary` they are the most that a round draws."""

    tokens: tuple[int, ...]
    hidden: int = 7168
    num_topk: int = 8
    num_experts: int = 256
    num_cores: int | None = None
    iters: int = 1
    dtype: str = "bf16"
    routing: str = "gate"
    combine_engine: str = ENGINES[0]
    payload: str = "text"
    seed: int = 0
    vary: bool = False
    communicators: int = 1
    timeout_ms: int | None = None
    kill: tuple[int, int] | None = None
    fault: str | None = None

    @property
    def num_ranks(self) -> int:
        """Ranks of the run."""
        return len(self.tokens)

    @property
    def max_tokens(self) -> int:
        """Most tokens of a rank, at least one: a communicator is made for some."""
        return max(1, *self.tokens)

    @property
    def local_experts(self) -> int:
        """Experts of one rank."""
        return self.num_experts // self.num_ranks

    @property
    def num_rounds(self) -> int:
        """Rounds whose inputs differ."""
        return self.iters if self.vary else 1

    def check(self) -> None:
        """Raise UsageError for what cannot run, before anything is made. Finer rules are the communicator's."""
        from ascend_deepep import _runtime

        limits = _runtime.limits()
        check_range("--ranks", self.num_ranks, 1, limits["max_ranks"])
        for count in self.tokens:
            check_range("tokens", count, 0, limits["max_tokens"])
        check_range("--hidden", self.hidden, limits["min_hidden"], limits["max_hidden"])
        check_range("--experts", self.num_experts, 1, limits["max_experts"])
        if self.num_experts % self.num_ranks != 0:
            raise UsageError(f"{self.num_experts} experts cannot be divided among {self.num_ranks} ranks")
        check_range("top-k", self.num_topk, 1, limits["max_topk"])
        check_range("top-k", self.num_topk, 1, self.num_experts, ", the number of experts")
        if self.num_cores is not None:
            check_range("--cores", self.num_cores, limits["min_cores"], limits["max_cores"])
        check_range("--iters", self.iters, 1, MAX_ITERS)
        check_range("--communicators", self.communicators, 1, MAX_COMMUNICATORS)
        check_range("--seed", self.seed, 0, MAX_SEED)
        if self.kill is not None:
            self._check_kill(*self.kill)

    def _check_kill(self, rank: int, iteration: int) -> None:
        if not 0 <= rank < self.num_ranks or self.num_ranks < 2:
            raise UsageError(f"--kill {rank}@{iteration}: there is no rank {rank} with survivors beside it")
        if not 0 <= iteration < self.iters:
            raise UsageError(f"--kill {rank}@{iteration}: iterations are 0 to {self.iters - 1}; raise --iters")

    def command(self) -> str:
        """The command line that makes this very object."""
        words: list[object] = ["ascend-deepep", "demo", "--tokens-per-rank", ",".join(map(str, self.tokens))]
        words += ["--hidden", self.hidden, "--topk", self.num_topk, "--experts", self.num_experts]
        words += [] if self.num_cores is None else ["--cores", self.num_cores]
        words += ["--dtype", self.dtype, "--routing", self.routing, "--combine-engine", self.combine_engine]
        words += ["--payload", self.payload, "--seed", self.seed, "--iters", self.iters]
        words += ["--vary"] if self.vary else []
        words += ["--communicators", self.communicators] if self.communicators > 1 else []
        words += [] if self.timeout_ms is None else ["--timeout-ms", self.timeout_ms]
        words += [] if self.kill is None else ["--kill", "@".join(map(str, self.kill))]
        words += [] if self.fault is None else ["--fault", self.fault]
        return shlex.join(map(str, words))
