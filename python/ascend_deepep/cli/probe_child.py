# SPDX-License-Identifier: Apache-2.0
"""The other end of ascend_deepep.cli.probe: answers one question and writes the answer into a file. Layer: Python.

The file is replaced after each step, so that what was learnt before a crash is not lost.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

Tell = Callable[..., None]

#: Layers that people ask for: ranks, tokens, hidden, top-k, experts.
_SHAPES = {
    "decode, 4 ranks": (4, 128, 7168, 8, 256),
    "decode, 8 ranks": (8, 128, 7168, 8, 256),
    "prefill, 8 ranks": (8, 4096, 7168, 8, 256),
    "decode, 64 ranks": (64, 128, 7168, 8, 256),
}


def torch_npu(tell: Tell) -> None:
    """Version of torch_npu, whether it sees a device, and how many."""
    import importlib

    module = importlib.import_module("torch_npu")
    tell(version=str(module.__version__))
    import torch

    npu = getattr(torch, "npu", None)
    if npu is None:
        raise ImportError("torch_npu was imported but torch.npu does not exist")
    tell(is_available=bool(npu.is_available()))
    tell(device_count=int(npu.device_count()))


def shmem(tell: Tell) -> None:
    """The file of libshmem.so, found and loaded as a communicator of NPUs does it."""
    import ctypes

    ctypes.CDLL("libshmem.so")
    mapped = (line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines())
    tell(file=next(path for path in mapped if Path(path).name.startswith("libshmem.so")))


def package(tell: Tell) -> None:
    """Versions, target, limits and window sizes."""
    import torch

    from ascend_deepep import _runtime, _target, config
    from ascend_deepep._load import load_ops

    load_ops()
    limits = _runtime.limits()
    settings = config.settings()
    versions = {name: metadata.version(name) for name in ("ascend-deepep", "numpy", "rich", "typer")}
    tell(
        versions={"python": platform.python_version(), "torch": torch.__version__, **versions},
        platform=f"{platform.system()} {platform.machine()}",
        target=_target.choose(settings.target),
        targets=_target.targets(),
        npu_library=_target.missing(),
        policy=settings.policy,
        layout_abi=_runtime.LAYOUT_ABI,
        limits=limits,
        min_cores=limits["min_cores"],
        default_cores=_runtime.default_cores(),
        timeout_ms=settings.timeout_ms,
        window_bytes={name: _runtime.required_window_bytes(*shape) for name, shape in _SHAPES.items()},
        faults=_runtime.fault_names(),
    )


def self_test(tell: Tell) -> None:
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
                tell(exact=False, finding=last_line(result))
                return
    tell(exact=True, finding="two ranks, bf16 by mte and fp16 by urma, equal the oracle")


QUESTIONS: dict[str, Callable[[Tell], None]] = {
    "torch_npu": torch_npu,
    "shmem": shmem,
    "package": package,
    "self_test": self_test,
}


def main(question: str, report: Path) -> int:
    """Answer one question; the exit code says whether it came to its end."""
    answer: dict[str, Any] = {"value": {}, "problem": "", "kind": ""}

    def write() -> None:
        fresh = report.with_suffix(".new")
        fresh.write_text(json.dumps(answer))
        os.replace(fresh, report)

    def tell(**values: Any) -> None:
        answer["value"].update(values)
        write()

    try:
        QUESTIONS[question](tell)
    except Exception as error:
        answer["kind"] = getattr(error, "kind", type(error).__name__)
        answer["problem"] = " ".join(f"{answer['kind']}: {error}".split())
        write()
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], Path(sys.argv[2])))
