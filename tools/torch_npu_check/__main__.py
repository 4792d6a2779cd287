# SPDX-License-Identifier: Apache-2.0
"""`python -m tools.torch_npu_check` from the repository root: prints what is called and who exports it. Layer: build.

Exit status: 0 all compiles and is exported, 1 something is not, 2 it could not be compared.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.torch_npu_check import acl_table, run
from tools.torch_npu_check.wheel import WheelError

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """Run the comparison."""
    if arguments:
        print("usage: python -m tools.torch_npu_check", file=sys.stderr)
        return 2
    try:
        outcome = run.run(ROOT)
    except (WheelError, acl_table.TableError) as problem:
        print(f"torch-npu-check: {problem}", file=sys.stderr)
        return 2
    print(run.report(ROOT, outcome), end="")
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
