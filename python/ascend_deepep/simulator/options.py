# SPDX-License-Identifier: Apache-2.0
"""What is done to the worlds of a run, and the command line that does it again. Layer: Python, no torch."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
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
        words: list[object] = ["--seed", seed]
        words += [] if self.faults else ["--no-faults"]
        words += [] if self.fault == NO_FAULT else ["--fault", self.fault]
        words += drop_words(self.drop)
        for name, value in self.settings:
            words += ["--set", f"{name}={value}"]
        words += [] if self.schedule_seed is None else ["--schedule-seed", self.schedule_seed]
        return command_line(words, self.kernels)


def drop_words(drop: Sequence[str]) -> list[object]:
    """The options that drop these switches."""
    return [word for name in drop for word in ("--drop", name)]


def command_line(words: Sequence[object], kernels: str | None) -> str:
    """`ascend-deepep sim` with these words, and with the kernels if they are not the package's."""
    of_kernels = [] if kernels is None else ["--kernels", kernels]
    return shlex.join(map(str, ("ascend-deepep", "sim", *words, *of_kernels)))
