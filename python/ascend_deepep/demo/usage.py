# SPDX-License-Identifier: Apache-2.0
"""The user's mistakes, as exceptions of one line. Layer: Python, no torch."""

from __future__ import annotations


class UsageError(Exception):
    """The user asked for something that cannot be; one line, no traceback. `kind` goes into the JSON object."""

    def __init__(self, message: str, kind: str = "UsageError") -> None:
        super().__init__(message)
        self.kind = kind


class OutOfTime(Exception):
    """The whole run took longer than its budget; one line, its cause has the stacks of all ranks."""


def check_range(option: str, value: int, lowest: int, highest: int, what: str = "") -> None:
    """Raise UsageError unless the value is one of lowest to highest."""
    if not lowest <= value <= highest:
        raise UsageError(f"{option} {value} is outside [{lowest}, {highest}]{what}")
