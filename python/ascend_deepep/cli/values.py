# SPDX-License-Identifier: Apache-2.0
"""Rules for the values of options that several commands have. Layer: Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import typer

from ascend_deepep.demo.usage import UsageError

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def one_of(option: str, value: str, choices: Sequence[str]) -> str:
    """The value, if it is one of them."""
    if value not in choices:
        legal = ", ".join(choice or '""' for choice in choices)
        raise UsageError(f"{option} {value!r} is not one of {legal}")
    return value


def refuse_others(context: typer.Context, allowed: Iterable[str], why: Callable[[str, str], str]) -> None:
    """An option that would be ignored is a mistake. `why` says it, given the parameter's name and its option."""
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name not in allowed and source is not None and source.name == "COMMANDLINE":
            raise UsageError(why(name, parameter.opts[0]))


def byte_size(option: str, text: str) -> int:
    """Bytes of a size such as 4096, 512MiB or 1.5GiB."""
    number, unit = next(
        ((text[: -len(name)], factor) for name, factor in _UNITS.items() if text.endswith(name)), (text, 1)
    )
    try:
        value = float(number) * unit
    except ValueError:
        value = -1.0
    if not (1 <= value < 1 << 63 and value == int(value)):
        raise UsageError(f"{option} {text!r} is not a number of bytes, such as 4096, 512MiB or 1.5GiB")
    return int(value)
