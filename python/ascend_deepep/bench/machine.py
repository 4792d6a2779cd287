# SPDX-License-Identifier: Apache-2.0
"""The machine that figures are of. Layer: Python, Linux."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_MEMINFO = Path("/proc/meminfo")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")


def machine() -> dict[str, object]:
    """What a reader of the figures has to know; memory in bytes."""
    import torch

    return {
        "cpu": _cpu(_CPUINFO.read_text()),
        "cores": len(os.sched_getaffinity(0)),
        "memory": _memory("MemTotal"),
        "kernel": platform.release(),
        "arch": platform.machine(),
        "isa": torch.backends.cpu.get_cpu_capability(),
        "huge_pages": _chosen("enabled"),
        "huge_pages_shared": _chosen("shmem_enabled"),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    return _memory("MemAvailable")


def _memory(name: str) -> int:
    lines = (line.split() for line in _MEMINFO.read_text().splitlines())
    return next(1024 * int(words[1]) for words in lines if words[0] == f"{name}:")


def _cpu(text: str) -> str:
    """The model, where the kernel names it: on aarch64 it has numbers only."""
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    named = {name.strip(): value.strip() for name, value in fields.items()}
    parts = (named.get("CPU implementer"), named.get("CPU part"))
    return named.get("model name") or " ".join(part for part in parts if part) or "unknown"


def _chosen(name: str) -> str:
    """The word in brackets of a choice."""
    path = _HUGE_PAGES / name
    if not path.is_file():
        return "unknown"
    return path.read_text().partition("[")[2].partition("]")[0]
