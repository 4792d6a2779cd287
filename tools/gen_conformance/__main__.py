# SPDX-License-Identifier: Apache-2.0
"""`python -m tools.gen_conformance` from the repository root. Layer: build."""

from __future__ import annotations

import sys

from tools.gen_conformance.write import outdated, write

if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        stale = outdated()
        print("".join(f"{path} is not what tools/gen_conformance writes\n" for path in stale), end="")
        raise SystemExit(1 if stale else 0)
    if sys.argv[1:]:
        print("usage: python -m tools.gen_conformance [--check]", file=sys.stderr)
        raise SystemExit(2)
    write()
