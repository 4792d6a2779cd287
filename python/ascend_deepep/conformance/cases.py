# SPDX-License-Identifier: Apache-2.0
"""A case: a call of all ranks, and what must come of it. Layer: Python, no torch.

A file of cases is {"defaults": call, "cases": [{"id", "source", "call", "refusal"?}]}: a case's call says only what
differs from the defaults of its file, and those only what differs from the defaults of `Call`. Without a refusal the
result is exact.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data" / "conformance"
#: Numbers of dtypes that callers pass: torch's ScalarType, and torch_npu's.
ELEMENTS = {1: "int8", 23: "float8_e5m2", 24: "float8_e4m3fn", 291: "float8_e5m2", 292: "float8_e4m3fn"}
_LARGE_ELEMENTS = 512 * 7168  # of a rank's tokens
PERFORMANCE = ("none", "zeroed", "kept", "late")


@dataclass(frozen=True)
class Call:
    """The arguments of a dispatch and its combine, by the words of the operators where they have one."""

    ranks: int
    #: Of each rank.
    tokens: tuple[int, ...]
    hidden: int
    topk: int
    experts: int
    #: shared_expert_num and shared_expert_rank_num.
    shared: tuple[int, int] = (1, 0)
    #: Element type of x.
    dtype: str = "bfloat16"
    #: Type of the tensor that carries x, where it is another one.
    carrier: str = ""
    quant: int = 0
    y_dtype: int | None = None
    x_dtype: int | None = None
    scales_dtype: int | None = None
    #: none, scalar, channel (hidden,), expert (experts, hidden), or rows of float32 or e8m0 for a pass-through.
    scales: str = "none"
    #: Columns of scales that are rows.
    scale_columns: int = 0
    #: none, or what is true: first, holes, all, off, rank-off, live (1-D); pairs, pairs-all, pairs-off (2-D).
    mask: str = "none"
    #: Of the mask "live": true values of each rank.
    live: tuple[int, ...] = ()
    global_bs: int = 0
    comm_alg: str = ""
    nums_type: int = 1
    expert_scales: bool = False
    #: Whether combine weights what it sums.
    weights: bool = True
    comm_quant: int = 0
    #: shared_expert_x: none, 2d, 3d.
    shared_x: str = "none"
    #: performance_info: none, zeroed, kept (values that no wait reaches), late (zeroed, and rank 0 is late).
    performance: str = "none"
    tp_world_size: int = 0
    group_tp: str = ""
    #: uniform, gate, skewed, none, sparse, turn, expert:E, list:A,B,.., without:E, host:R
    routing: str = "uniform"
    #: normal, index, zeros, zero-groups, edge
    payload: str = "normal"
    #: eager, compile, or wrapper: the package's functions, with int64 expert_ids.
    path: str = "eager"
    #: Maxima of the communicator, where they are not those of its cases; `window` "exact" or "double".
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shared_num(self) -> int:
        """Shared experts; the pair (1, 0) means none."""
        return self.shared[0] if self.shared[1] else 0

    @property
    def hosts(self) -> int:
        """Ranks of routed experts."""
        return self.ranks - self.shared[1]

    @property
    def max_batch(self) -> int:
        """M."""
        return self.global_bs // self.ranks if self.global_bs else self.tokens[0]

    @property
    def element(self) -> str:
        """Element type of expand_x."""
        if self.quant == 0:
            return self.dtype
        return "int8" if self.y_dtype is None else ELEMENTS[self.y_dtype]

    @property
    def out_dtype(self) -> str:
        """Type of the experts' outputs."""
        return self.dtype if self.dtype in ("bfloat16", "float16") else "bfloat16"

    @property
    def copies_differ(self) -> bool:
        """Whether a copy goes to each expert, which the communicator must have room for."""
        return self.comm_alg == "fullmesh_v1" or self.scales == "expert"

    @property
    def sums_by_rank(self) -> bool:
        """Whether the communicator returns a token's rows of one rank as their sum."""
        return self.limits.get("combine_reduce") == "rank"

    def capacity(self, rank: int) -> int:
        """A: the most rows that a rank can receive (op_contract 1.2)."""
        if rank >= self.shared[1]:
            return self.max_batch * self.ranks * min(self.experts // self.hosts, self.topk)
        replicas = self.shared[1] // self.shared[0]
        return self.max_batch * -(-self.ranks // replicas)

    def local_experts(self, rank: int) -> int:
        """Experts of a rank."""
        return self.experts // self.hosts if rank >= self.shared[1] else 1


@dataclass(frozen=True)
class Refusal:
    """What one rank (or all of them) changes in the call, and how that ends."""

    #: Of op_contract 5: D1..D31, C1..C12; "own" for rules of this library, "later" for what it lacks.
    row: str
    #: dispatch, combine, communicator; meta-dispatch and meta-combine are shape inference.
    op: str
    #: Arguments by name: a value, or how to change the tensor (`changes`).
    change: Mapping[str, Any]
    #: Regular expression that the text matches: argument, value, limit.
    pattern: str
    error: str = "ArgumentError"
    #: The rank that makes the changed call; -1: all.
    who: int = 1
    #: How the call ends on the others; "" where they make none, as the refusal cannot be told.
    others: str = "Mismatch"


@dataclass(frozen=True)
class Case:
    """One line of the suite."""

    id: str
    source: str
    call: Call
    refusal: Refusal | None = None
    #: The file it is from.
    group: str = ""

    @property
    def seed(self) -> int:
        """All that is random follows from the id."""
        return zlib.crc32(self.id.encode())

    @property
    def is_large(self) -> bool:
        """Whether it takes many seconds, and gigabytes."""
        return max(self.call.tokens) * self.call.hidden > _LARGE_ELEMENTS

    def canonical(self) -> str:
        """Equal for two cases that test the same thing."""
        return json.dumps([asdict(self.call), self.refusal and _tested(self.refusal)], sort_keys=True)


def _tested(refusal: Refusal) -> dict[str, Any]:
    """All of a refusal but the row that it is listed under."""
    return {key: value for key, value in asdict(refusal).items() if key != "row"}


def make_call(values: Mapping[str, Any]) -> Call:
    """A call of JSON values; one number of tokens is that of every rank."""
    made: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    if isinstance(made["tokens"], int):
        made["tokens"] = (made["tokens"],) * made["ranks"]
    return Call(**made)


def plain(call: Call) -> dict[str, Any]:
    """The JSON values of a call, all of them."""
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(call).items()}
    if len(set(call.tokens)) == 1:
        values["tokens"] = call.tokens[0]
    return values


def read(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    data = json.loads(path.read_text())
    for item in data["cases"]:
        refusal = Refusal(**item["refusal"]) if "refusal" in item else None
        call = make_call({**data["defaults"], **item.get("call", {})})
        yield Case(item["id"], item["source"], call, refusal, path.stem.removeprefix("cases_"))


def load(folder: Path = DATA) -> list[Case]:
    """All cases, by file and in its order."""
    return [case for path in sorted(folder.glob("cases_*.json")) for case in read(path)]
