# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep doctor`: what is installed, what the target can, and whether two ranks understand each other.

Layer: Python.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib import metadata
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

#: Layers that people ask for: ranks, tokens, hidden, top-k, experts.
_SHAPES = {
    "decode, 4 ranks": (4, 128, 7168, 8, 256),
    "decode, 8 ranks": (8, 128, 7168, 8, 256),
    "prefill, 8 ranks": (8, 4096, 7168, 8, 256),
    "decode, 64 ranks": (64, 128, 7168, 8, 256),
}


def doctor(as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False) -> int:
    """Show versions, target, limits and window sizes, and test two ranks against the oracle."""
    findings = _findings()
    findings["self_test"] = _self_test()
    if as_json:
        print(json.dumps(findings))
    else:
        _show(findings, Console())
    return 0 if findings["self_test"]["exact"] else 1


def _findings() -> dict[str, Any]:
    import torch

    from ascend_deepep import _runtime, config
    from ascend_deepep._load import load_ops

    load_ops()
    limits = _runtime.limits()
    settings = config.settings()
    versions = {name: metadata.version(name) for name in ("ascend-deepep", "numpy", "rich", "typer")}
    return {
        "versions": {"python": platform.python_version(), "torch": torch.__version__, **versions},
        "platform": f"{platform.system()} {platform.machine()}",
        "target": _runtime.target(),
        "policy": settings.policy,
        "layout_abi": _runtime.LAYOUT_ABI,
        "limits": limits,
        "min_cores": limits["min_cores"],
        "default_cores": _runtime.default_cores(),
        "timeout_ms": settings.timeout_ms,
        "window_bytes": {name: _runtime.required_window_bytes(*shape) for name, shape in _SHAPES.items()},
        "faults": _runtime.fault_names(),
        "communicators": _runtime.communicator_names(),
    }


def _self_test() -> dict[str, Any]:
    """Two ranks, both engines and dtypes, against the oracle."""
    from ascend_deepep.demo.options import Options
    from ascend_deepep.demo.report import last_line
    from ascend_deepep.demo.runner import run_demo
    from ascend_deepep.testing import Pool

    with Pool() as pool:
        for dtype, engine in (("bf16", "mte"), ("fp16", "urma")):
            options = Options((5, 3), 1024, 4, 16, dtype=dtype, combine_engine=engine, payload="index", iters=3)
            result = run_demo(options, pool, timeout=60.0)
            if not result.exact:
                return {"exact": False, "finding": last_line(result)}
    return {"exact": True, "finding": "two ranks, bf16 by mte and fp16 by urma, equal the oracle"}


def _show(findings: dict[str, Any], console: Console) -> None:
    table = Table(show_header=False, box=None)
    for key, value in findings.items():
        if key in ("self_test", "window_bytes"):
            continue
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        text = ", ".join(value) if isinstance(value, list) else text
        table.add_row(key.replace("_", " "), str(text))
    for name, size in findings["window_bytes"].items():
        table.add_row(f"window, {name}", f"{size / 2**20:.1f} MiB a rank")
    console.print(table)
    test = findings["self_test"]
    console.print(f"self-test: {'EXACT' if test['exact'] else 'FAILED'}, {test['finding']}", highlight=False)
    sys.stdout.flush()
