# SPDX-License-Identifier: Apache-2.0
"""A recording of calls: who was where when, on every rank. Layer: Python, no torch.

It comes from the twin (real time), from the simulator (virtual time) or from a profiler's folder, and everything that
looks at one goes by these classes. Times are nanoseconds on one clock for all ranks, from the first event of the
recording on. What a source does not know stays None or empty; it is never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ascend_deepep.stats.statistics import COMBINE as COMBINE
from ascend_deepep.stats.statistics import DISPATCH as DISPATCH


@dataclass(frozen=True)
class Call:
    """An operator on one rank. `number` counts the calls of the rank, from 0."""

    rank: int
    number: int
    name: str  # DISPATCH or COMBINE
    start_ns: int
    end_ns: int
    cores: int | None = None  # block dim
    stream: int | None = None
    shapes: tuple[tuple[str, str, str], ...] = ()  # of the inputs: name, dtype, shape such as "128,7168"


@dataclass(frozen=True)
class Stage:
    """A core in one stage of its roles (op_kernel/contract, `Stage`), waits included."""

    rank: int
    core: int
    call: int
    stage: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Wait:
    """A core that polls. `peer`: the rank it waits for, its own where it waits for another core."""

    rank: int
    core: int
    call: int
    stage: str
    peer: int
    start_ns: int
    end_ns: int
    what: str = ""  # more about it, where the source knows: the places it looks at


@dataclass(frozen=True)
class Pause:
    """A core that could go on while others had its thread: cores of a rank on the twin share one."""

    rank: int
    core: int
    call: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Idle:
    """All cores of a rank waited, and its thread with them; not where cores run beside each other."""

    rank: int
    call: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Doorbell:
    """A core tells the engine that entries up to `producer` are ready."""

    rank: int
    core: int
    call: int
    peer: int
    queue: int
    producer: int
    at_ns: int


@dataclass(frozen=True)
class Wqe:
    """A work queue entry: fetched by the engine, executed, completed. `index` counts in its queue."""

    rank: int
    call: int
    peer: int
    queue: int
    index: int
    fetched_ns: int
    executed_ns: int
    completed_ns: int


@dataclass(frozen=True)
class Write:
    """Whole blocks that went to a peer's window. `wqe`: index in `Recording.wqes`, or None: put by `core`."""

    rank: int
    call: int
    peer: int
    offset: int  # in the peer's window
    num_bytes: int
    left_ns: int
    landed_ns: int
    region: str  # such as "dispatch half", "combine half", "control ring"
    core: int | None = None
    wqe: int | None = None


@dataclass(frozen=True)
class Collected:
    """A core read what a peer had written. `write`: index in `Recording.writes`, or None: from several."""

    rank: int
    core: int
    call: int
    source: int
    offset: int  # in the own window
    num_bytes: int
    at_ns: int
    write: int | None = None


@dataclass
class Recording:
    """All of it. Lists are in order of their start."""

    source: str  # "twin", "simulator" or "npu"
    num_ranks: int
    calls: list[Call] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    doorbells: list[Doorbell] = field(default_factory=list)
    wqes: list[Wqe] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    collected: list[Collected] = field(default_factory=list)
    dropped: int = 0  # events that found no room
    pauses: list[Pause] = field(default_factory=list)
    idles: list[Idle] = field(default_factory=list)
