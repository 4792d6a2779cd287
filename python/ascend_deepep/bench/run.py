# SPDX-License-Identifier: Apache-2.0
"""All shapes one after the other. Layer: Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_deepep.bench.machine import available_bytes, machine
from ascend_deepep.bench.measure import Options, bytes_needed, measure
from ascend_deepep.bench.processes import Processes
from ascend_deepep.bench.result import Row, make_row, to_json
from ascend_deepep.bench.shapes import Shape
from ascend_deepep.demo.usage import UsageError


@dataclass
class Results:
    """What came of a run."""

    machine: dict[str, object]
    rows: list[Row] = field(default_factory=list)
    #: What does not hold, a line each.
    findings: list[str] = field(default_factory=list)
    #: Shapes that this machine has no memory for, with the bytes.
    left_out: list[str] = field(default_factory=list)

    def to_json(self, command: str, date: str) -> dict[str, Any]:
        """The object of --json."""
        return {
            "machine": self.machine,
            "command": command,
            "date": date,
            "exact": not self.findings,
            "rows": to_json(self.rows),
            "findings": self.findings,
            "left_out": self.left_out,
        }


def run_bench(shapes: Sequence[Shape], options: Options, on_round: Callable[[int], None] | None = None) -> Results:
    """Measure every shape that fits this machine; `on_round` hears how many rounds are done, of all shapes.

    Errors: UsageError where no shape fits, or one is no legal call; errors of the operators as they are.
    """
    results = Results(machine())
    fitting = _fitting(shapes, options, results.left_out)
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if on_round is not None:
            on_round(done)

    with Processes() as processes:
        for shape in fitting:
            measured = measure(shape, options, processes, advance)
            results.findings += [f"{shape.describe()}: {finding}" for finding in measured.findings]
            if measured.rounds:
                results.rows.append(make_row(measured))
    return results


def _fitting(shapes: Sequence[Shape], options: Options, left_out: list[str]) -> list[Shape]:
    free = available_bytes()
    fitting = []
    for shape in shapes:
        need = bytes_needed(shape, options)
        if need <= free:
            fitting.append(shape)
        else:
            left_out.append(f"{shape.describe()}: needs about {need} bytes of memory, {free} bytes are free")
    if not fitting:
        raise UsageError(f"{left_out[0]}; lower --tokens, --ranks or --hidden", "Memory")
    return fitting
