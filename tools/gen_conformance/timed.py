# SPDX-License-Identifier: Apache-2.0
"""The shapes that the benchmark times, exact before they are fast. Layer: build."""

from __future__ import annotations

from typing import Any

from ascend_deepep.bench.shapes import SWEEP

from tools.gen_conformance.build import Group

_SOURCE = "docs/benchmarks.md: decode"
_DTYPES: dict[str, dict[str, Any]] = {"bf16": {}, "int8": {"quant": 2}}
_DECODE = 128  # the most tokens of it
#: Ranks, tokens, dtype, routing: of each something. What has more rows needs more memory than many machines have.
_PREFILL = (
    (2, 1024, "bf16", "uniform"),
    (2, 1024, "int8", "gate"),
    (4, 1024, "int8", "skewed"),
    (4, 2048, "bf16", "gate"),
    (2, 4096, "bf16", "skewed"),
)


def timed() -> Group:
    """All of decode, and some of prefill."""
    group = Group("timed", {"ranks": 2, "tokens": 128, "hidden": 7168, "topk": 8, "experts": 256})
    for ranks in SWEEP.ranks:
        for tokens in (count for count in SWEEP.tokens if count <= _DECODE):
            for dtype in SWEEP.dtype:
                for routing in SWEEP.routing:
                    _exact(group, _SOURCE, ranks, tokens, dtype, routing)
    for ranks, tokens, dtype, routing in _PREFILL:
        _exact(group, "docs/benchmarks.md: prefill", ranks, tokens, dtype, routing)
    return group


def _exact(group: Group, source: str, ranks: int, tokens: int, dtype: str, routing: str) -> None:
    call = {"ranks": ranks, "tokens": tokens, "routing": routing, **_DTYPES[dtype]}
    group.exact(f"{ranks}-{tokens}-{dtype}-{routing}", source, **call)
