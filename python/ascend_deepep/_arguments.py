# SPDX-License-Identifier: Apache-2.0
"""Arguments of a `Communicator` as the runtime takes them: numbers and texts. Layer: Python over the binding.

What can be judged by looking at the value alone is judged here; the limits proper are checked by the runtime.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from ascend_deepep import _runtime
from ascend_deepep.config import Settings
from ascend_deepep.errors import ArgumentError, DeepEPError

#: What `combine_reduce` may be, the default first.
COMBINE_REDUCES = ("row", "rank")


def machine_options(
    env: Settings,
    *,
    num_cores: int | None,
    queues_per_peer: int | None,
    timeout_ms: int | None,
) -> dict[str, int]:
    """What a rank chooses for itself: the arguments, where they are None the environment, where that is silent 0."""
    return {
        "num_cores": optional("num_cores", env.num_cores if num_cores is None else num_cores),
        "timeout_ms": optional("timeout_ms", env.timeout_ms if timeout_ms is None else timeout_ms),
        "queue_depth": env.queue_depth or 0,
        "queues_per_peer": optional(
            "queues_per_peer", env.queues_per_peer if queues_per_peer is None else queues_per_peer
        ),
        "heap_bytes": env.heap_bytes or 0,
    }


def count(key: str, value: object, lowest: int) -> int:
    """`value` as an integer that fits the runtime's 32 bits; the limits proper are checked there."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{key} = {value!r} is not a whole number") from None
    if not lowest <= number < 1 << 32:
        raise ArgumentError(f"{key} = {number} is outside [{lowest}, {(1 << 32) - 1}]")
    return number


def reduce_number(value: object) -> int:
    """`combine_reduce` by its number in the runtime."""
    if value not in COMBINE_REDUCES:
        raise ArgumentError(f"combine_reduce = {value!r} is not one of {', '.join(map(repr, COMBINE_REDUCES))}")
    return COMBINE_REDUCES.index(str(value))


def optional(key: str, value: object) -> int:
    """0, the runtime's word for its own choice, stands for None only."""
    return 0 if value is None else count(key, value, 1)


def role_text(value: object) -> str:
    """The text that the runtime reads; names and numbers are checked there."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise ArgumentError(f"roles = {value!r} is no text and no mapping of role to cores")
    return ",".join(f"{role}={count(f'roles[{role!r}]', cores, 1)}" for role, cores in value.items())


def window_size(value: object, num_ranks: int, sizes: dict[str, int]) -> int:
    if value is None:
        return 0
    terms = f"num_ranks {num_ranks}, " + ", ".join(f"{key} {size}" for key, size in sizes.items())
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if 1 <= number < 1 << 63 and isinstance(value, int):
        return number
    try:
        need = f"{_runtime.required_window_bytes(num_ranks, *sizes.values())} bytes"
    except DeepEPError as error:
        need = f"more than can be told ({error})"
    raise ArgumentError(f"window_bytes = {value!r} is not a size; {terms} need {need}")
