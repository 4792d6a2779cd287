# SPDX-License-Identifier: Apache-2.0
"""The one table of ASCEND_DEEPEP_* environment variables. Layer: Python, no torch.

`settings()` reads those that the package acts on; the rest are read where the table says. `python -m
ascend_deepep.config` prints docs/configuration.md, so the page cannot differ from this table.
"""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ascend_deepep.errors import ArgumentError

PREFIX = "ASCEND_DEEPEP_"

ENGINES = ("mte", "urma")
POLICIES = ("fast", "sim")
TWIN = "twin"  # names of targets as op_host/tensor_device.h has them
NPU = "ascend950"
TARGETS = ("auto", TWIN, NPU)
DEFAULT_TIMEOUT_MS = 30_000


@dataclass(frozen=True)
class Variable:
    """One variable: what may stand in it, what holds when it is not set, what it means, who reads it."""

    name: str
    values: str
    default: str
    meaning: str
    reader: str


def _names(choices: tuple[str, ...]) -> str:
    """Choices as the page shows them; the first is the default."""
    return ", ".join(f"`{name}`" for name in choices)


_TABLE = (
    ("TIMEOUT_MS", "milliseconds, from 1", str(DEFAULT_TIMEOUT_MS),
     "Longest time an operation waits for its peers, from entering the call. `timeout_ms=` of a communicator wins.",
     "Communicator"),
    ("WINDOW_BYTES", "bytes, from 1", "what the limits need",
     "Size of a rank's window. Less than the communicator's limits need is refused; `window_bytes=` wins.",
     "Communicator"),
    ("NUM_CORES", "4 to 72", "the target's own number",
     "Cores of a kernel: fibers on the twin, AIV cores on an NPU. `num_cores=` wins.", "Communicator"),
    ("COMBINE_ENGINE", _names(ENGINES), _names(ENGINES[:1]),
     "How combine brings rows back: stored straight into the peer's window, or staged and written by the queues.",
     "Communicator"),
    ("QUEUE_DEPTH", "a power of two, from 4", "the runtime's own number",
     "Work queue entries of each send queue.", "Communicator"),
    ("QUEUES_PER_PEER", "1 to 4", "1",
     "Send queues to every peer. An NPU's driver makes one, and more are refused there. `queues_per_peer=` wins.",
     "Communicator"),
    ("ROLES", "`role=cores`, comma between", "by a model, call by call",
     "Cores of dispatch's roles: `stage`, `wqe_builder`, `doorbell`, `cumsum`; the model shares out the rest. `roles=` "
     "wins.", "Communicator"),
    ("HEAP_BYTES", "bytes, from 1", "twice the first window",
     "NPUs only: memory that the windows of all communicators of a process are cut from; the first one sets it.",
     "Communicator"),
    ("TARGET", _names(TARGETS), _names(TARGETS[:1]),
     "What runs the kernels. `auto` is the NPU where the package was built for it and torch_npu can be imported, else "
     "the twin; `twin` leaves the NPU library unloaded.", "Communicator"),
    ("TWIN_POLICY", _names(POLICIES), _names(POLICIES[:1]),
     "Kernels of the twin: `fast` copies at once, `sim` lets copies complete only where the program waits for them.",
     "runtime"),
    ("KERNELS", "a file", "beside the package",
     "The library of kernels to open instead of the installed one.", "runtime"),
    ("TWIN_FAULT", "`name:rank:n`", "none",
     "One fault of the twin's fabric: on `rank`, at the n-th event of its kind from creation on. For tests.",
     "runtime"),
    ("PYTHON", "a command", "python3.11, else python3",
     "The interpreter that build.sh makes its environment with; for `npu` the one that has torch and torch_npu.",
     "build.sh"),
    ("TORCH", "a folder", "the torch of the calling interpreter",
     "Where CMake finds the torch to build against.", "CMake"),
    ("TORCH_INDEX", "a package index", "the one pip is set up for",
     "Where build.sh finds the CPU build of torch.", "build.sh"),
)  # fmt: skip

VARIABLES: tuple[Variable, ...] = tuple(Variable(PREFIX + name, *rest) for name, *rest in _TABLE)

_warned: set[str] = set()


@dataclass(frozen=True)
class Settings:
    """What the environment asks of a communicator; None leaves the choice to the runtime."""

    timeout_ms: int = DEFAULT_TIMEOUT_MS
    window_bytes: int | None = None
    num_cores: int | None = None
    combine_engine: str = ENGINES[0]
    queue_depth: int | None = None
    queues_per_peer: int | None = None
    roles: str = ""
    policy: str = POLICIES[0]
    heap_bytes: int | None = None
    target: str = TARGETS[0]


def settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the environment. A value that is not legal is an ArgumentError; an unknown variable warns once."""
    env = os.environ if environ is None else environ
    warn_unknown(env)
    _check_file(env, "KERNELS")
    default = Settings()
    return Settings(
        timeout_ms=_integer(env, "TIMEOUT_MS", 1) or default.timeout_ms,
        window_bytes=_integer(env, "WINDOW_BYTES", 1),
        num_cores=_integer(env, "NUM_CORES", 1),
        combine_engine=_choice(env, "COMBINE_ENGINE", ENGINES, default.combine_engine),
        queue_depth=_integer(env, "QUEUE_DEPTH", 4, lambda depth: depth & (depth - 1) == 0),
        queues_per_peer=_integer(env, "QUEUES_PER_PEER", 1),
        roles=env.get(f"{PREFIX}ROLES", default.roles),
        policy=_choice(env, "TWIN_POLICY", POLICIES, default.policy),
        heap_bytes=_integer(env, "HEAP_BYTES", 1),
        target=_choice(env, "TARGET", TARGETS, default.target),
    )


def warn_unknown(environ: Mapping[str, str]) -> None:
    """Warn, once per name and process, of ASCEND_DEEPEP_* variables that are not in the table."""
    known = [variable.name for variable in VARIABLES]
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in known or name in _warned:
            continue
        _warned.add(name)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; docs/configuration.md lists the known ones"
        warnings.warn(f"environment variable {name} is unknown and has no effect{hint}", stacklevel=3)


def _meaning(name: str) -> str:
    return next(variable.values for variable in VARIABLES if variable.name == name)


def _integer(
    env: Mapping[str, str], name: str, lowest: int, legal: Callable[[int], bool] = lambda value: True
) -> int | None:
    text = env.get(PREFIX + name)
    if text is None:
        return None
    try:
        value = int(text)
    except ValueError:
        raise ArgumentError(f"{PREFIX}{name} = {text!r} is not a number: {_meaning(PREFIX + name)}") from None
    if value < lowest or not legal(value):
        raise ArgumentError(f"{PREFIX}{name} = {value} is not legal: {_meaning(PREFIX + name)}")
    return value


def _check_file(env: Mapping[str, str], name: str) -> None:
    text = env.get(PREFIX + name)
    if text is not None and not os.path.isfile(text):
        raise ArgumentError(f"{PREFIX}{name} = {text!r} is no file: {_meaning(PREFIX + name)}")


def _choice(env: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    text = env.get(PREFIX + name, default)
    if text not in choices:
        raise ArgumentError(f"{PREFIX}{name} = {text!r} is not one of {', '.join(choices)}")
    return text


_PAGE_HEAD = """\
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Generated by `python -m ascend_deepep.config`; edit python/ascend_deepep/config.py instead. -->
# Configuration

Arguments of a call win over the environment. An unknown `ASCEND_DEEPEP_*` variable is a warning; a value that is not
legal is an error that names the variable, the value and what may stand there.

| variable | values | default | meaning | read by |
|---|---|---|---|---|
"""


def page() -> str:
    """The text of docs/configuration.md."""
    rows = (f"| `{v.name}` | {v.values} | {v.default} | {v.meaning} | {v.reader} |" for v in VARIABLES)
    return _PAGE_HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
