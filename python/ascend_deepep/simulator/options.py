# SPDX-License-Identifier: Apache-2.0
"""What is done to the worlds of a run, and the command line that does it again. Layer: Python, no torch."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

MAX_SEED = (1 << 64) - 1
NO_FAULT = "none"


@dataclass(frozen=True)
class WorldOptions:
    """Everything that a world follows from, besides its seed."""

    faults: bool = True
    fault: str = NO_FAULT
    drop: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    schedule_seed: int | None = None
    kernels: str | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `_simulator.run` and `_simulator.scenario`; the kernels belong to the process."""
        return {
            "faults": self.faults,
            "fault": self.fault,
            "drop": self.drop,
            "settings": self.settings,
            "schedule_seed": self.schedule_seed,
        }

    def command(self, seed: int) -> str:
        """The command line that runs this seed in the same way."""
        words: list[object] = ["ascend-deepep", "sim", "--seed", seed]
        words += [] if self.faults else ["--no-faults"]
        words += [] if self.fault == NO_FAULT else ["--fault", self.fault]
        for name in self.drop:
            words += ["--drop", name]
        for name, value in self.settings:
            words += ["--set", f"{name}={value}"]
        words += [] if self.schedule_seed is None else ["--schedule-seed", self.schedule_seed]
        words += [] if self.kernels is None else ["--kernels", self.kernels]
        return shlex.join(map(str, words))
