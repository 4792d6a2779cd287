# SPDX-License-Identifier: Apache-2.0
# The compiled module (simulator/binding): types for checkers and readers. Layer: Python. ASCEND_DEEPEP_KERNELS names
# the module of kernels, of the Sim policy. ValueErrors are one line about an argument, RuntimeErrors about the kernels.
from collections.abc import Sequence
from typing import TypedDict

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
    struck: list[str]  # what happened of the world's fault and conditions, by name
    has_remote_row: bool

class ScenarioDict(TypedDict):
    description: str
    settings: dict[str, str]

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
