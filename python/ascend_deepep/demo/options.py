# SPDX-License-Identifier: Apache-2.0
"""What a run of the demo is made of, and which combinations are legal. Layer: Python, no torch."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from ascend_deepep.config import ENGINES

ROUTINGS = ("gate", "uniform", "skewed", "one-hot", "none")
DTYPES = ("bf16", "fp16")
PAYLOADS = ("text", "index")


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
        """Raise UsageError for what cannot run. Sizes beyond the limits are the communicator's to refuse."""
        if any(count < 0 for count in self.tokens):
            raise UsageError(f"tokens {list(self.tokens)}: a rank cannot have fewer than 0")
        for option, size in (("tokens", self.max_tokens), ("--hidden", self.hidden), ("--experts", self.num_experts)):
            if not 0 <= size < 1 << 32:
                raise UsageError(f"{option} {size} is no size: it is outside [0, {(1 << 32) - 1}]")
        if self.num_experts < 1 or self.num_experts % self.num_ranks != 0:
            raise UsageError(f"{self.num_experts} experts cannot be divided among {self.num_ranks} ranks")
        if not 1 <= self.num_topk <= self.num_experts:
            raise UsageError(f"top-k {self.num_topk} is outside [1, {self.num_experts}], the number of experts")
        if self.iters < 1 or self.communicators < 1:
            raise UsageError("--iters and --communicators start at 1")
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
