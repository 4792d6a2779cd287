# SPDX-License-Identifier: Apache-2.0
"""What a run of the demo is made of, and which combinations are legal. Layer: Python, no torch."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascend_deepep.config import ENGINES
from ascend_deepep.demo.features import Features
from ascend_deepep.demo.usage import UsageError, check_range

if TYPE_CHECKING:
    from ascend_deepep.reference import SharedExperts

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
    features: Features = field(default_factory=Features)

    @property
    def num_ranks(self) -> int:
        """Ranks of the run."""
        return len(self.tokens)

    @property
    def max_tokens(self) -> int:
        """Most tokens of a rank, at least one: a communicator is made for some."""
        return max(1, *self.tokens)

    def local_experts(self, num_ranks: int) -> int:
        """Routed experts of a rank that holds some, in a group of so many."""
        return self.num_experts // self.features.moe_ranks(num_ranks)

    def first_expert(self, rank: int, num_ranks: int) -> int:
        """The first expert of a rank; shared ones are numbered behind the routed."""
        shared = self.features.shared_expert_rank_num
        if rank < shared:
            return self.num_experts + rank // (shared // self.features.shared_expert_num)
        return (rank - shared) * self.local_experts(num_ranks)

    def max_local_experts(self, num_ranks: int) -> int:
        """Most experts of a rank that the communicator of such a group allows (docs/layout.md)."""
        from ascend_deepep import _runtime

        if self.features.shared_expert_num == 0:
            return self.num_experts // num_ranks
        return min(self.num_experts, _runtime.limits()["max_blocks_per_rank"] // num_ranks)

    @property
    def shared(self) -> SharedExperts:
        """The shared experts, as the oracle has them."""
        from ascend_deepep.reference import SharedExperts

        return SharedExperts(self.features.shared_expert_num, self.features.shared_expert_rank_num)

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
        check_range("--shared", self.features.shared_expert_num, 0, limits["max_shared_experts"], " shared experts")
        self.features.check(self.num_ranks, self.num_experts)
        if self.features.mask and len(set(self.tokens)) > 1:
            raise UsageError("--mask needs the same number of tokens on every rank; what is padding is masked")
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
        words += self.features.words()
        words += ["--vary"] if self.vary else []
        words += ["--communicators", self.communicators] if self.communicators > 1 else []
        words += [] if self.timeout_ms is None else ["--timeout-ms", self.timeout_ms]
        words += [] if self.kill is None else ["--kill", "@".join(map(str, self.kill))]
        words += [] if self.fault is None else ["--fault", self.fault]
        return shlex.join(map(str, words))
