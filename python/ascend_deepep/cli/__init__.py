# SPDX-License-Identifier: Apache-2.0
"""The command `ascend-deepep`. Layer: Python.

Exit codes: 0 as wished, 1 an error or a difference from the oracle, 2 a user's mistake.
"""

from __future__ import annotations


def main() -> None:
    """Entry point of the console script; what is heavy is imported from here on."""
    try:
        from ascend_deepep.cli.app import run
    except KeyboardInterrupt:  # struck while Python still loads it
        raise SystemExit("interrupted") from None

    raise SystemExit(run())
