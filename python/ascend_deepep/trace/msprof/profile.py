# SPDX-License-Identifier: Apache-2.0
"""What a folder of msprof or msopprof holds of our operators. Layer: Python, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from ascend_deepep.trace.recording import Call, Recording, Stage, Wait


@dataclass(frozen=True)
class CallRow:
    """A call of dispatch_v2 or combine_v2. None: the folder does not say."""

    rank: int
    number: int  # of the rank's calls, from 0
    name: str  # DISPATCH or COMBINE
    device: int
    start_ns: int | None  # on the recording's clock
    duration_ns: int
    wait_ns: int | None = None  # from the end of the task before it, as msprof counts
    cores: int | None = None
    stream: int | None = None
    shapes: tuple[tuple[str, str, str], ...] = ()  # of the inputs: name, dtype, shape such as "128,7168"
    pipes: dict[str, float] = field(default_factory=dict)  # by msprof's column, in its unit
    more: dict[str, str] = field(default_factory=dict)  # columns that this package knows no meaning of


@dataclass(frozen=True)
class CoreRow:
    """A vector core in one launch."""

    core: int  # block_id
    part: str  # sub_block_id, such as "vector0"
    duration_ns: int
    pipes: dict[str, float] = field(default_factory=dict)  # by msopprof's column, in its unit
    more: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Operator:
    """A launch that msopprof looked into. It has no place in time."""

    name: str  # DISPATCH or COMBINE
    device: int | None
    rank: int | None  # and call number: of a folder that the twin wrote
    number: int | None
    duration_ns: int
    cores: int | None
    per_core: list[CoreRow] = field(default_factory=list)
    more: dict[str, str] = field(default_factory=dict)
    folder: str = ""


@dataclass(frozen=True)
class OtherOperator:
    """Operators that are not ours, by type."""

    name: str
    count: int
    total_ns: int


@dataclass
class Profile:
    """One folder, or several below one."""

    source: str  # "twin", "simulator" or "npu"
    num_ranks: int
    calls: list[CallRow] = field(default_factory=list)  # by rank, then number
    operators: list[Operator] = field(default_factory=list)  # of msopprof: by device, then number
    others: list[OtherOperator] = field(default_factory=list)  # longest first
    stages: list[Stage] = field(default_factory=list)  # in folders of the twin
    waits: list[Wait] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # that were read
    older: list[str] = field(default_factory=list)  # an export before another of the same data: not read
    absent: list[str] = field(default_factory=list)  # files that msprof writes and that are not there
    missing: dict[str, list[str]] = field(default_factory=dict)  # by file: documented columns it does not have
    unknown: dict[str, list[str]] = field(default_factory=dict)  # by file: columns that went to `more`

    @property
    def recording(self) -> Recording:
        """The calls whose start is known, and the stages and waits of a folder of the twin."""
        calls = [
            Call(row.rank, row.number, row.name, row.start_ns, row.start_ns + row.duration_ns, row.cores, row.stream,
                 row.shapes)
            for row in self.calls
            if row.start_ns is not None
        ]  # fmt: skip
        calls.sort(key=lambda call: (call.start_ns, call.rank, call.number))
        return Recording(self.source, self.num_ranks, calls, list(self.stages), list(self.waits))
