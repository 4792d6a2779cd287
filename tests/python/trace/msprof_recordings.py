# SPDX-License-Identifier: Apache-2.0
"""Recordings made up for tests. Layer: tests."""

from __future__ import annotations

from ascend_deepep.trace.recording import COMBINE, DISPATCH, Call, Recording, Stage, Wait

SHAPES = (("x", "bfloat16", "128,7168"), ("expert_ids", "int32", "128,8"))


def small_recording() -> Recording:
    """Two ranks with calls, the second with cores' stages; a third without."""
    calls = [
        Call(1, 0, DISPATCH, 500, 5_000, cores=8),
        Call(0, 0, DISPATCH, 1_000, 5_123, cores=8, shapes=SHAPES),
        Call(1, 1, COMBINE, 6_000, 6_001, cores=8, stream=3),
        Call(0, 1, COMBINE, 7_001, 1_234_567_890, cores=8),
    ]
    stages = [
        Stage(1, 0, 0, "stage", 600, 3_000),
        Stage(1, 4, 0, "stage", 700, 900),
        Stage(1, 0, 0, "collect", 3_000, 4_999),
    ]
    return Recording("twin", 3, calls, stages, [Wait(1, 0, 0, "collect", 0, 3_100, 4_001, "tags of 4 rows")])
