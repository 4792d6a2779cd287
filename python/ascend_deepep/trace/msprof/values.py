# SPDX-License-Identifier: Apache-2.0
"""Numbers as msprof prints them, and mistakes in them as one line. Layer: Python, no torch."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from ascend_deepep.demo.usage import UsageError

_NONE = ("", "NA", "N/A", "-")
_MOST_NS = 2**63  # nanoseconds since 1970 fit


class Cell:
    """One value, and the words for where it stands."""

    def __init__(self, where: str, text: str) -> None:
        self._where = where
        self.text = text.strip()
        self.is_empty = self.text in _NONE

    def nanoseconds(self) -> int | None:
        """Of microseconds; None where the cell is empty."""
        value = self._number("a number of microseconds")
        if value is None:
            return None
        if value.adjusted() > 18 or abs(value) * 1000 >= _MOST_NS:
            raise self._error("more microseconds than a clock can show")
        if value < 0:
            raise self._error("negative")
        return int((value * 1000).to_integral_value()) if value.adjusted() > -9 else 0

    def number(self) -> float | None:
        """A ratio, a bandwidth, a count of cycles."""
        value = self._number("a number")
        return None if value is None else float(value)

    def count(self) -> int | None:
        """A whole number from 0."""
        if self.is_empty:
            return None
        if not (self.text.isascii() and self.text.isdecimal() and len(self.text) <= 18):
            raise self._error("not a whole number from 0")
        return int(self.text)

    def _number(self, what: str) -> Decimal | None:
        if self.is_empty:
            return None
        try:
            value = Decimal(self.text)
        except InvalidOperation:
            raise self._error(f"not {what}") from None
        if not value.is_finite():
            raise self._error(f"not {what}")
        return value

    def _error(self, why: str) -> UsageError:
        text = self.text if len(self.text) <= 60 else self.text[:60] + "..."
        return UsageError(f"{self._where}: {text!r} is {why}")


def microseconds(nanoseconds: int) -> str:
    """With the three decimals that msprof prints; zeros at the end are left out."""
    sign = "-" if nanoseconds < 0 else ""
    whole, rest = divmod(abs(nanoseconds), 1000)
    return f"{sign}{whole}.{rest:03d}".rstrip("0").rstrip(".")
