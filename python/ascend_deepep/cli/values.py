# SPDX-License-Identifier: Apache-2.0
"""Rules for the values of options that several commands have. Layer: Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import typer

from ascend_deepep.demo.usage import UsageError

#: Units of a size in bytes, the bare number first.
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def one_of(option: str, value: str, choices: Sequence[str]) -> str:
    """The value, if it is one of them."""
    if value not in choices:
        legal = ", ".join(choice or '""' for choice in choices)
        raise UsageError(f"{option} {value!r} is not one of {legal}")
    return value


def shared_experts(text: str) -> tuple[int, int]:
    """--shared: the shared experts and the ranks that serve them."""
    experts, _, ranks = text.partition("/")
    if not (experts.isdecimal() and ranks.isdecimal()):
        raise UsageError(f"--shared {text!r} is not EXPERTS/RANKS, such as 1/2")
    return int(experts), int(ranks)


def byte_count(option: str, text: str) -> int:
    """Bytes, as a number alone or with a unit: 536870912, 512MiB, 1.5GiB."""
    match = re.fullmatch(r"(\d{1,20}(?:\.\d{1,6})?) ?([KMGT]iB|B?)", text, re.ASCII)
    count = 0 if match is None else int(Fraction(match[1]) * _UNITS[match[2]])
    if not 1 <= count < 1 << 63:
        raise UsageError(f"{option} {text!r} is not a size from 1 byte, such as 536870912, 512MiB or 1.5GiB")
    return count


def refuse_others(context: typer.Context, allowed: Iterable[str], why: Callable[[str, str], str]) -> None:
    """An option that would be ignored is a mistake. `why` says it, given the parameter's name and its option."""
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name not in allowed and source is not None and source.name == "COMMANDLINE":
            raise UsageError(why(name, parameter.opts[0]))
