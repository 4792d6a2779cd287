# SPDX-License-Identifier: Apache-2.0
# The compiled module (simulator/binding): types for checkers and readers. Layer: Python. ASCEND_DEEPEP_KERNELS names
# the module of kernels, of the Sim policy. ValueErrors are one line about an argument, RuntimeErrors about the kernels.
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from ascend_deepep._runtime import TraceDict

class RunDict(TypedDict):
    seed: int
    findings: list[tuple[str, str]]  # checker, text
    hash: int
    steps: int
    events: int
    writes: int
    virtual_ns: int
    failed_calls: int
    fault: str
    struck: list[str]  # the world's fault, if it has struck
    conditions: list[str]  # of the world, by name
    features: list[str]  # of its calls, by name
    timed: str  # which of the shapes that the benchmark times its calls have; empty: none
    has_remote_row: bool
    survivors: int  # ranks of the communicator made after a failure; 0: none was made

class ScenarioDict(TypedDict):
    description: str
    settings: dict[str, str]

class SearchDict(TypedDict):
    runs: int  # different lists of delays
    replayed: int  # all runs, those of passes that knew fewer shared words included
    points: int  # of the run without delays
    different: int  # fingerprints
    bound: int
    is_complete: bool
    seconds: float
    failures: list[tuple[str, str, str]]  # checker, text, delays

class ReplayDict(TypedDict):
    hash: int
    findings: list[tuple[str, str]]

def search_worlds() -> list[str]: ...
def search(
    world: str,
    *,
    tokens: int = 1,
    bound: int = 2,
    max_runs: int = 0,
    max_seconds: float = 0,
    max_failures: int = 1,
    drop: Sequence[str] = (),
    on_progress: Callable[[int], None] | None = None,
    under_way: Any = None,  # memory that always holds the delays of the run that is being made
) -> SearchDict: ...
def replay_search(
    world: str, delays: str, *, tokens: int = 1, drop: Sequence[str] = (), timeline: str = ""
) -> ReplayDict: ...

class OracleDict(TypedDict):
    batches: list[dict[str, Any]]  # by rank: what it gives to a dispatch and its combine
    dispatch: list[dict[str, bytes]]  # by rank: what dispatch gives
    experts: list[bytes]  # by rank: what its experts make of these rows
    combine: list[bytes]  # by rank: what combine gives

# One row: values and scales. Of combine's int8: what the source of the row sees.
def quantise(quant: str, dtype: str, x: bytes, factors: bytes = b"") -> tuple[bytes, bytes]: ...
def combine_int8(dtype: str, y: bytes) -> bytes: ...
def oracle(seed: int, *, settings: Sequence[tuple[str, str]] = (), round: int = 1) -> OracleDict: ...

class KernelDict(TypedDict):
    calls: list[int]  # by rank
    call_ns: list[int]  # by rank, of all its calls
    wqes: list[int]  # by rank
    ranks: list[dict[str, int]]  # by rank: counts of all cores and stages; the names are those of twin/sim/meter.h
    cores: list[dict[str, dict[str, int]]]  # by core and stage, over all ranks

class CallDict(TypedDict):
    operator: str
    step: int
    rank: int
    start_ns: int
    end_ns: int
    waits_us: list[int]  # performance_info: by source
    recv_counts: list[int]  # ep_recv_counts: running sum by (local expert, source); empty of a combine

class ScaleDict(TypedDict):
    findings: list[tuple[str, str]]
    hash: int
    steps: int
    virtual_ns: int
    roles: dict[str, dict[str, tuple[int, int]]]  # by operator and role: first core, number of cores
    local_experts: int
    control_blocks: int
    remote_copies: list[int]  # by rank: token copies of all its dispatches for other ranks, from the ids
    kernels: dict[str, KernelDict]  # by operator
    calls: list[CallDict]  # where asked for, in the order of their ends
    timeline: list[TraceDict]  # by rank, where asked for

class LayoutDict(TypedDict):
    regions: dict[str, int]  # of a window: bytes
    window_bytes: int
    workspace_bytes: int
    control_blocks: int
    local_experts: int
    copy_bytes: int  # of a token copy with plain 16-bit elements
    row_bytes: int  # of a row of combine
    route_width: int  # SIMT threads of the route role, for a call of the largest size
    roles: dict[str, dict[str, tuple[int, int]]]

# A large world whose cores run beside each other, and op_host's exact numbers for any limits that it takes. Costs are
# those of scale_costs(): name, default, what it is of.
def scale_costs() -> list[tuple[str, int, str]]: ...
def run_scale(
    *,
    ranks: int,
    cores: int,
    tokens: int,
    hidden: int,
    topk: int,
    experts: int,
    engine: str,
    rounds: int,
    costs: Sequence[tuple[str, int]],
    routing: str = "uniform",
    seed: int = 1,
    calls: bool = False,
    handicap: str = "none",  # a part that is slow: core (rank, core, ns), link (rank, peer, times), entry (rank, ns)
    of_handicap: Sequence[tuple[str, int]] = (),
    timeline: bool = False,
) -> ScaleDict: ...
def scale_layout(
    *, ranks: int, cores: int, tokens: int, hidden: int, topk: int, experts: int, engine: str
) -> LayoutDict: ...
def faults() -> list[str]: ...
def switches() -> list[str]: ...
def open_kernels() -> None: ...
def run(
    seed: int,
    *,
    faults: bool = True,
    fault: str = "none",
    drop: Sequence[str] = (),
    schedule_seed: int | None = None,
    settings: Sequence[tuple[str, str]] = (),
    timeline: str = "",
) -> RunDict: ...
def scenario(
    seed: int,
    *,
    faults: bool = True,
    fault: str = "none",
    drop: Sequence[str] = (),
    schedule_seed: int | None = None,
    settings: Sequence[tuple[str, str]] = (),
) -> ScenarioDict: ...
