# SPDX-License-Identifier: Apache-2.0
# The compiled module (framework/binding): types for checkers and readers. Layer: Python. Errors come out of it as the
# classes of ascend_deepep.errors.
from collections.abc import Callable
from typing import TypedDict

LAYOUT_ABI: int

class CountersDict(TypedDict):
    copies: int
    rows: int
    bytes_put_dispatch: int
    bytes_put_combine: int
    bytes_put_control: int
    wqes_dispatch: int
    wqes_combine: int
    doorbells_dispatch: int
    doorbells_combine: int
    operations: int
    role_ns: dict[str, int]

class FootprintDict(TypedDict):
    window_bytes: int
    window: dict[str, int]
    workspace_bytes: int
    workspace: dict[str, int]
    ub_bytes_per_core: int
    num_cores: int
    route_threads: int
    reduce_tile_bytes: int
    token_copy_bytes: int
    capacity_rows: int
    outputs: dict[str, int]

def limits() -> dict[str, int]: ...
def default_cores() -> int: ...
def targets() -> list[str]: ...
def required_window_bytes(
    num_ranks: int,
    max_tokens: int,
    hidden: int,
    num_topk: int,
    num_experts: int,
    shared_expert_num: int = 0,
    per_expert_copies: int = 0,
    combine_reduce: int = 0,
) -> int: ...
def footprint(
    *,
    num_ranks: int,
    max_tokens: int,
    hidden: int,
    num_topk: int,
    num_experts: int,
    shared_expert_num: int = 0,
    per_expert_copies: int = 0,
    combine_reduce: int = 0,
    num_cores: int = 0,
    is_urma: bool = False,
    rank: int = 0,
    shared_expert_rank_num: int = 0,
    quant_mode: int = 0,
    y_dtype: int | None = None,
    comm_quant_mode: int = 0,
) -> FootprintDict: ...
def communicator_names() -> list[str]: ...
def stream_copy(to: object, source: object) -> None: ...
def fault_names() -> list[str]: ...

class Communicator:
    def __init__(
        self,
        *,
        name: str,
        rank: int,
        num_ranks: int,
        max_tokens: int,
        hidden: int,
        num_topk: int,
        num_experts: int,
        shared_expert_num: int = 0,
        per_expert_copies: int = 0,
        combine_reduce: int = 0,
        num_cores: int = 0,
        timeout_ms: int = 0,
        window_bytes: int = 0,
        queue_depth: int = 0,
        combine_engine: str = "mte",
        policy: str = "",
        all_gather: Callable[[bytes], list[bytes]],
        target: str = "",
        heap_bytes: int = 0,
        queues_per_peer: int = 0,
        roles: str = "",
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def rank(self) -> int: ...
    @property
    def num_ranks(self) -> int: ...
    @property
    def num_cores(self) -> int: ...
    @property
    def queues_per_peer(self) -> int: ...
    @property
    def roles(self) -> str: ...
    @property
    def window_bytes(self) -> int: ...
    @property
    def layout(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def check(self) -> None: ...
    def synchronize(self) -> None: ...
    def close(self) -> None: ...
    def counters(self) -> CountersDict: ...
    def progress(self) -> list[str]: ...
    def set_fault(self, name: str, seed: int, events: int = 1) -> None: ...
    def fault_fired(self) -> bool: ...
