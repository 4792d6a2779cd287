# SPDX-License-Identifier: Apache-2.0
"""What a recorder of all ranks has seen, as plain numbers: a file of JSON and back. Layer: Python, no torch."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

DISPATCH, COMBINE = "dispatch_v2", "combine_v2"
OPERATORS = (DISPATCH, COMBINE)
FORMAT = 1  # of the file
_GZIP = b"\x1f\x8b"  # first bytes; recordings are packed, statistics are not

Matrix = list[list[float]]
_LARGEST = float(1 << 60)  # of a number in a file: microseconds or bytes that nobody sees; NaN compares with nothing


@dataclass(frozen=True)
class Link:
    """The alpha-beta model of a peer link, of which each rank has one to every other."""

    #: Microseconds of an operation that carries hardly anything.
    alpha_us: float
    #: Of one link, one direction.
    bytes_per_us: float
    #: Whether the two come of runs on the same machine right before; if not, they were given.
    fitted_here: bool = False


@dataclass(frozen=True)
class OperatorStatistics:
    """The calls of one operator. Lists are by step first."""

    #: [step][rank][source], whole microseconds: `performance_info`, the longest single wait of any core of the rank for
    #: the source in this call; 0 is below a microsecond.
    waits_us: list[list[list[int]]]
    #: [step][rank], microseconds since the first entry of all: when the rank entered the call.
    entry_us: Matrix
    #: [step][rank], microseconds: how long the rank's call took.
    call_us: Matrix
    #: [rank]: bytes put into windows of other ranks, over all steps.
    bytes_put: list[int]

    def end_us(self, step: int, rank: int) -> float:
        """When the rank's call ended, on the clock of `entry_us`."""
        return self.entry_us[step][rank] + self.call_us[step][rank]

    def wait_matrix(self) -> Matrix:
        """[rank][source], microseconds: the median over the steps."""
        ranks = range(len(self.bytes_put))
        return [[float(median(step[rank][source] for step in self.waits_us)) for source in ranks] for rank in ranks]


@dataclass(frozen=True)
class Statistics:
    """What all ranks recorded of the same steps. A step is a dispatch and its combine."""

    #: "twin", "ascend950" or "simulator" (virtual time).
    source: str
    num_ranks: int
    #: Of all ranks.
    num_experts: int
    #: By operator.
    operators: dict[str, OperatorStatistics]
    #: [rank][local expert][source]: rows that the rank's experts got, summed over the steps.
    rows: list[list[list[int]]]
    #: [step][rank]: tokens that the rank brought.
    tokens: list[list[int]]
    #: How far clocks of two ranks may be apart, in microseconds; 0: they have one clock.
    clock_error_us: float = 0.0
    link: Link | None = None
    #: Cores of the machine that runs the twin's ranks, all together; None where that is not known, or each has its own.
    host_cores: int | None = None
    #: What was run, for readers.
    title: str = ""
    #: Steps that were recorded before these, and not kept.
    dropped_steps: int = field(default=0)

    @property
    def num_steps(self) -> int:
        """Steps that are here."""
        return len(self.tokens)

    @property
    def shares_cores(self) -> bool:
        """Whether ranks wait for turns of a machine's cores."""
        return self.host_cores is not None and self.host_cores < self.num_ranks

    @property
    def local_experts(self) -> int:
        """Experts of a rank."""
        return len(self.rows[0])

    def expert_rows(self) -> list[int]:
        """[expert of all ranks]: rows over the steps. Expert e is of rank e // local_experts."""
        return [sum(sources) for rank in self.rows for sources in rank]

    def rank_rows(self) -> list[int]:
        """[rank]: rows that its experts got over the steps."""
        return [sum(map(sum, rank)) for rank in self.rows]

    def bytes_moved(self, operator: str) -> Matrix:
        """[from][to], bytes of one step, between ranks: what each rank put, shared out by the rows of the pair.

        Rows of several experts of a rank may have travelled as one copy, so a pair's part is an estimate; what a rank
        put in all is counted.
        """
        ranks = range(self.num_ranks)
        by_pair = [[sum(expert[source] for expert in self.rows[rank]) for source in ranks] for rank in ranks]
        moved = []
        for sender in ranks:
            rows = [by_pair[to][sender] if operator == DISPATCH else by_pair[sender][to] for to in ranks]
            rows[sender] = 0
            share = self.operators[operator].bytes_put[sender] / max(1, sum(rows)) / max(1, self.num_steps)
            moved.append([share * count for count in rows])
        return moved

    def save(self, path: Path | str) -> None:
        """Write JSON. OSError where that cannot be."""
        Path(path).write_text(json.dumps({"format": FORMAT, **asdict(self)}) + "\n")

    @classmethod
    def load(cls, path: Path | str) -> Statistics:
        """Read what `save` wrote. OSError where there is no such file, ValueError, one line, where it is another's."""
        try:
            raw = Path(path).read_bytes()
            value = json.loads(gzip.decompress(raw) if raw.startswith(_GZIP) else raw)
        except (ValueError, RecursionError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is no file of statistics: {error}") from None
        if isinstance(value, dict) and "stages" in value:
            raise ValueError(f"{path} is a recording, not statistics: see `ascend-deepep trace --from {path}`")
        if not isinstance(value, dict) or value.pop("format", None) != FORMAT:
            raise ValueError(f"{path} is no file of statistics of format {FORMAT}; record it again")
        try:
            statistics = _from_json(value)
            problem = statistics._problem()
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{path}: a field is missing or of another kind: {error}") from None
        if problem:
            raise ValueError(f"{path}: {problem}")
        return statistics

    def _problem(self) -> str:
        """What is of another size than it must be; empty where nothing is."""
        steps, ranks = self.num_steps, self.num_ranks
        for name, least in (("num_ranks", 1), ("num_experts", 1), ("dropped_steps", 0), ("host_cores", 1)):
            value = getattr(self, name)
            if not (isinstance(value, int) and not isinstance(value, bool) and value >= least) and value is not None:
                return f"{name} is {value!r}, want a whole number from {least} on"
        for name in ("source", "title"):
            if not isinstance(getattr(self, name), str):
                return f"{name} is {getattr(self, name)!r}, want a text"
        figures = [] if self.link is None else [self.link.alpha_us, self.link.bytes_per_us]
        if self.link is not None and not (_has_size(figures, (2,)) and self.link.bytes_per_us):
            return f"link is {asdict(self.link)}, want alpha_us from 0 on and bytes_per_us above 0"
        if steps < 1 or not self.rows or not isinstance(self.rows[0], list) or not self.rows[0]:
            return "without a step and an expert there is nothing to look at"
        if set(self.operators) != set(OPERATORS):
            return f"operators are {', '.join(self.operators) or 'none'}, want {' and '.join(OPERATORS)}"
        sizes: dict[str, tuple[object, tuple[int, ...]]] = {
            "rows": (self.rows, (ranks, len(self.rows[0]), ranks)),
            "tokens": (self.tokens, (steps, ranks)),
            "clock_error_us": (self.clock_error_us, ()),
        }
        for name, of in self.operators.items():
            sizes[f"{name}.waits_us"] = (of.waits_us, (steps, ranks, ranks))
            sizes[f"{name}.entry_us"] = (of.entry_us, (steps, ranks))
            sizes[f"{name}.call_us"] = (of.call_us, (steps, ranks))
            sizes[f"{name}.bytes_put"] = (of.bytes_put, (ranks,))
        for name, (value, size) in sizes.items():
            if not _has_size(value, size):
                what = f"a list of {' x '.join(map(str, size))} numbers" if size else "a number"
                return f"{name} is not {what}, from 0 on"
        return ""


def _from_json(value: dict[str, Any]) -> Statistics:
    link = value.pop("link")
    operators = {name: OperatorStatistics(**of) for name, of in value.pop("operators").items()}
    return Statistics(operators=operators, link=None if link is None else Link(**link), **value)


def _has_size(value: object, size: tuple[int, ...]) -> bool:
    if not size:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST
    return isinstance(value, list) and len(value) == size[0] and all(_has_size(part, size[1:]) for part in value)
