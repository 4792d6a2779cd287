# SPDX-License-Identifier: Apache-2.0
"""Bytes that a configuration takes on a rank, the largest batch that fits, and what to change when it does not.

Layer: Python over the binding: every number comes from the functions that op_host uses for real calls. Nothing here
knows a formula; limits are met by asking again with other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ascend_deepep import _runtime
from ascend_deepep.errors import DeepEPError

if TYPE_CHECKING:
    from ascend_deepep._runtime import FootprintDict


@dataclass(frozen=True)
class Configuration:
    """Maxima of a communicator, and of its calls what changes their outputs. Tokens are bfloat16."""

    num_ranks: int
    max_tokens: int
    hidden: int
    num_topk: int
    num_experts: int
    shared_expert_num: int = 0
    #: Ranks that serve shared experts; ranks before those of the routed ones.
    shared_expert_rank_num: int = 0
    per_expert_copies: bool = False
    #: Rows of a token that one rank has computed return as their sum.
    sums_by_rank: bool = False
    quant_mode: int = 0
    #: Number of the dtype of expand_x; None: the mode's own.
    y_dtype: int | None = None
    comm_quant_mode: int = 0
    is_urma: bool = False
    #: 0: the target's own number.
    num_cores: int = 0


@dataclass(frozen=True)
class Limits:
    """Bytes of a rank; None: no limit. Memory is the window, the workspace and the outputs of one call of each."""

    window: int | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Size:
    """What a rank takes. `outputs` are those of the rank that takes most of them."""

    configuration: Configuration
    window_bytes: int
    window: dict[str, int]
    workspace_bytes: int
    workspace: dict[str, int]
    output_bytes: int
    outputs: dict[str, int]
    num_cores: int
    ub_bytes_per_core: int
    route_threads: int
    reduce_tile_bytes: int
    token_copy_bytes: int
    capacity_rows: int

    @property
    def memory_bytes(self) -> int:
        """Window, workspace and outputs."""
        return self.window_bytes + self.workspace_bytes + self.output_bytes

    @property
    def ub_bytes(self) -> int:
        """UB that a launch asks for, on all cores of the rank."""
        return self.num_cores * self.ub_bytes_per_core

    def excess(self, limits: Limits) -> list[str]:
        """A line for each limit that it does not keep."""
        rows = (("window", self.window_bytes, limits.window), ("memory", self.memory_bytes, limits.memory))
        return [
            f"{name} {need} bytes of a rank, {need - most} above the limit {most}"
            for name, need, most in rows
            if most is not None and need > most
        ]

    def to_json(self) -> dict[str, object]:
        """For `--json`."""
        return {**asdict(self), "memory_bytes": self.memory_bytes, "ub_bytes": self.ub_bytes}


@dataclass(frozen=True)
class Change:
    """One thing to change, and what a rank takes then."""

    what: str
    window_bytes: int
    memory_bytes: int
    fits: bool


def size(configuration: Configuration) -> Size:
    """What a rank of it takes. Errors: those of the communicator and the two operators, as they are."""
    ranks = {0, configuration.shared_expert_rank_num}  # one of a shared expert, if any, and one of routed experts
    found = [_footprint(configuration, rank) for rank in sorted(ranks)]
    largest = max(found, key=lambda one: sum(one["outputs"].values()))
    return Size(configuration=configuration, output_bytes=sum(largest["outputs"].values()), **largest)


def _footprint(configuration: Configuration, rank: int) -> FootprintDict:
    fields = asdict(configuration)
    fields["combine_reduce"] = int(fields.pop("sums_by_rank"))
    return _runtime.footprint(**fields, rank=rank)


def largest_tokens(configuration: Configuration, limits: Limits) -> int:
    """The most `max_tokens` that keep the limits with all else as it is; 0 where not even one does."""
    return _largest(
        _runtime.limits()["max_tokens"],
        lambda tokens: not size(replace(configuration, max_tokens=tokens)).excess(limits),
    )


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest of 0 to most that fits; sizes grow with it, and 0 fits."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def changes(configuration: Configuration, limits: Limits) -> list[Change]:
    """What would make smaller what is too large, one change each, with the sizes then; those that fit come first."""
    found = []
    now = size(configuration)
    for what, other in _others(configuration, limits):
        try:
            then = size(other)
        except DeepEPError:
            continue  # that configuration is none
        is_smaller = [
            limits.window is not None and limits.window < now.window_bytes and then.window_bytes < now.window_bytes,
            limits.memory is not None and limits.memory < now.memory_bytes and then.memory_bytes < now.memory_bytes,
        ]
        if any(is_smaller):
            found.append(Change(what, then.window_bytes, then.memory_bytes, not then.excess(limits)))
    return sorted(found, key=lambda change: not change.fits)


def _others(configuration: Configuration, limits: Limits) -> Iterator[tuple[str, Configuration]]:
    tokens = largest_tokens(configuration, limits)
    if 0 < tokens < configuration.max_tokens:
        parts = -(-configuration.max_tokens // tokens)
        what = f"max_tokens {tokens}: bring {configuration.max_tokens} tokens in {parts} calls"
        yield what, replace(configuration, max_tokens=tokens)
    if configuration.per_expert_copies:
        yield "copies per rank instead of per expert", replace(configuration, per_expert_copies=False)
    if configuration.quant_mode == 0:
        yield "quant_mode 2: int8 rows with a scale each", replace(configuration, quant_mode=2)
    fewer = configuration.num_ranks // 2
    if fewer > configuration.shared_expert_rank_num:
        yield f"num_ranks {fewer}", replace(configuration, num_ranks=fewer)
    more = 2 * configuration.num_ranks
    yield f"num_ranks {more}: fewer experts a rank", replace(configuration, num_ranks=more)
