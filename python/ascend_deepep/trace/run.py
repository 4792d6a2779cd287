# SPDX-License-Identifier: Apache-2.0
"""Recordings made on purpose: of ranks on the twin, and of a large world of the simulator. Layer: Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_deepep.bench.shapes import Shape
from ascend_deepep.trace.assemble import recording_of
from ascend_deepep.trace.recording import Recording

if TYPE_CHECKING:
    from ascend_deepep.testing import Pool

_SECONDS = 600.0


@dataclass(frozen=True)
class Made:
    """A recording, and what is wrong with the results of the calls: empty where every bit is right."""

    recording: Recording
    findings: list[str]


def trace_twin(shape: Shape, warmup: int, rounds: int, events: int, pool: Pool) -> Made:
    """Rounds of dispatch and combine by ranks of the pool.

    Errors: UsageError for what the communicator refuses, its other errors as they are, RankErrors, OutOfTime.
    """
    from ascend_deepep.bench.processes import values_of
    from ascend_deepep.config import PREFIX, TWIN
    from ascend_deepep.trace.ranks import trace_rank

    outcomes = pool.outcomes(
        trace_rank,
        shape.ranks,
        shape,
        warmup,
        rounds,
        events,
        timeout=_SECONDS,
        grace=40.0,
        env={f"{PREFIX}TARGET": TWIN},
    )
    traced = values_of(outcomes, _SECONDS)
    findings = [finding for rank in traced for finding in rank.findings]
    return Made(recording_of("twin", [rank.trace for rank in traced]), findings)


def trace_simulated(shape: Shape, cores: int, engine: str, rounds: int) -> Made:
    """The same number of rounds in a world of the simulator, in virtual time: uniform choices, bf16 (docs/scale.md).

    Errors: UsageError for a world that cannot be.
    """
    from ascend_deepep import _simulator
    from ascend_deepep.demo.usage import UsageError

    try:
        run = _simulator.run_scale(
            ranks=shape.ranks,
            cores=cores,
            tokens=shape.tokens,
            hidden=shape.hidden,
            topk=shape.topk,
            experts=shape.experts,
            engine=engine,
            rounds=rounds,
            costs=[],
            timeline=True,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    findings = [f"[{checker}] {text}" for checker, text in run["findings"]]
    return Made(recording_of("simulator", run["timeline"]), findings)
