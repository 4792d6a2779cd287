# SPDX-License-Identifier: Apache-2.0
"""Public bug reports as cases: global_bs and masks, rows of zeros, windows in a graph. Layer: build."""

from __future__ import annotations

from typing import Any

from tools.gen_conformance.build import Group

_LIVE = [8, 5, 0, 1]
_WINDOW = "window_bytes"


def reports() -> Group:
    """Entries 6 and 21, and 1 with its graph half; shapes are those of the entries."""
    group = Group("report", {"ranks": 4, "tokens": 8, "hidden": 1024, "topk": 2, "experts": 8, "payload": "index"})
    _masks(group)
    _zeros(group)
    _windows(group)
    return group


def _masks(group: Group) -> None:
    source = "public report 6"
    group.exact("6-equal", source)
    group.exact("6-mask", source, mask="live", live=_LIVE)
    group.exact("6-unequal", source, tokens=_LIVE, global_bs=32)
    group.exact("6-both", source, mask="live", live=_LIVE, global_bs=32)
    group.exact("6-hole", source, mask="holes")
    group.exact("6-all-false", source, mask="off")
    sizes: dict[str, Any] = {"limits": {"max_tokens": 16}}
    for name, value, words in (
        ("small", 31, ("global_bs = 31", "32")),
        ("odd", 34, ("global_bs = 34", "not a multiple of 4")),
    ):
        group.refuse(f"6-{name}", ("D18", "dispatch"), {"global_bs": value}, words, source=source, **sizes)
    differs = {"error": "Mismatch"}
    words = ("largest batch", "pass the same global_bs on all ranks")
    group.refuse("6-differs", ("D18", "dispatch"), {"global_bs": 64}, words, source=source, how=differs, **sizes)
    short = {"x_active_mask": {"shape": [7], "dtype": "bool"}}
    group.refuse("6-short-mask", ("D17", "dispatch"), short, ("x_active_mask", "7", "8"), source=source, **sizes)
    mask = {"x_active_mask": {"shape": [5], "dtype": "bool"}, "global_bs": 64}
    group.refuse(
        "6-unequal-mask", ("D17", "dispatch"), mask, ("x_active_mask",), source=source, how={"who": -1}, **sizes
    )


def _zeros(group: Group) -> None:
    shape = {"ranks": 2, "tokens": 7, "experts": 4, "payload": "edge"}
    for dtype in ("bfloat16", "float16"):
        for name, quant in (
            ("int8", {"quant": 2}),
            ("e4m3", {"quant": 2, "y_dtype": 292}),
            ("e5m2", {"quant": 2, "y_dtype": 291}),
            ("group-e4m3", {"quant": 3, "y_dtype": 292}),
            ("group-e5m2", {"quant": 3, "y_dtype": 291}),
            ("mx-e4m3", {"quant": 4, "y_dtype": 292}),
            ("mx-e5m2", {"quant": 4, "y_dtype": 291}),
        ):
            group.exact(f"21-{name}-{dtype}", "public report 21", **shape, **quant, dtype=dtype)


def _windows(group: Group) -> None:
    source = "public report 1, op_contract 7.1 #42"
    sizes: dict[str, Any] = {"tokens": 4, "experts": 16}
    for path in ("eager", "compile"):
        call = {**sizes, "path": path, "limits": {"window": "exact"}}
        group.exact(f"1-exact-{path}", source, **call)
        for name, value, words in (
            ("need-1", "need-1", ("window_bytes = \\d+ is below the \\d+ bytes", "max_tokens = 4", "num_experts = 16")),
            ("half", "need/2", ("window_bytes = \\d+ is below", "hidden = 1024", "4 a rank")),
            ("zero", 0, ("window_bytes = 0 is not a size", "bytes")),
            ("negative", -1, ("window_bytes = -1 is not a size", "bytes")),
            ("word", "much", ("window_bytes = 'much' is not a size", "bytes")),
            ("empty", "", ("window_bytes = '' is not a size", "bytes")),
        ):
            group.refuse(
                f"1-{name}-{path}",
                ("D29", "communicator"),
                {_WINDOW: value},
                words,
                source=source,
                how={"who": -1},
                **call,
            )
    one = {**sizes, "limits": {"window": "exact"}}
    zero = ("window_bytes = 0 is not a size",)
    group.refuse("1-one-rank", ("C11", "communicator"), {_WINDOW: 0}, zero, source=source, **one)
