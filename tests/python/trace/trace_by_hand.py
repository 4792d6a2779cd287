# SPDX-License-Identifier: Apache-2.0
"""What two ranks might have captured, by hand: rank 1 waits for rank 0's message, then collects its copy. Layer: tests.

Times are microseconds from 1000 on, so that a recording begins at 0 with rank 0's call.
"""

from __future__ import annotations

from typing import Any

from ascend_deepep.trace import Recording, recording_of

CONTROL, HALF = 0x1000, 0x8000  # offsets of a window


def us(time: int) -> int:
    """Nanoseconds of the clock."""
    return (1000 + time) * 1000


def ranks() -> list[dict[str, Any]]:
    """The traces of both, as the binding gives them."""
    empty = {"pauses": [], "idles": [], "doorbells": [], "wqes": [], "puts": [], "reads": [], "dropped": 0}
    rank0 = {
        **empty,
        "calls": [("dispatch_v2", us(0), us(60), 2, [("x", "bfloat16", "4,64")])],
        "stages": [
            (0, 0, "stage", us(5), us(20)),
            (1, 0, "doorbell", us(20), us(50)),
            (0, 0, "exit", us(50), us(52)),
        ],
        "waits": [(1, 0, "doorbell", 1, us(21), us(25))],
        "doorbells": [(1, 0, 1, 1, 2, us(30))],
        "wqes": [
            (1, 0, 1, 1, 0, us(31), us(34), us(35), us(31), us(34), HALF, 1024, "dispatch half"),
            (1, 0, 1, 1, 1, us(35), us(36), us(37), us(35), us(36), 0, 0, ""),  # failed
        ],
        "puts": [(0, 0, 1, CONTROL, 512, us(70), us(71), "control ring"), _message(0, us(18))],
    }
    rank1 = {
        **empty,
        "calls": [("dispatch_v2", us(2), us(102), 2, [])],
        "stages": [
            (0, 0, "cumsum", us(4), us(40)),
            (1, 0, "stage", us(10), us(12)),
            (0, 0, "collect", us(40), us(100)),
        ],
        "waits": [
            (0, 0, "cumsum", 0, us(6), us(36)),
            (1, 0, "prefix", 1, us(12), us(44)),
            (0, 0, "collect", 0, us(60), us(80)),
        ],
        "pauses": [(0, 0, us(85), us(95))],
        "idles": [(0, us(12), us(36)), (0, us(62), us(80))],
        # Before anything was recorded, the message, the second block of the copy.
        "reads": [(0, 0, CONTROL, 480, us(3)), (0, 0, CONTROL, 480, us(38)), (0, 0, HALF + 512, 480, us(82))],
    }
    return [rank0, rank1]


def _message(core: int, left: int) -> tuple[Any, ...]:
    return (core, 0, 1, CONTROL, 512, left, left + 1000, "control ring")


def recording(source: str = "twin") -> Recording:
    """Of both."""
    return recording_of(source, ranks())  # type: ignore[arg-type]
