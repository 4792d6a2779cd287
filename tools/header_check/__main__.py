# SPDX-License-Identifier: Apache-2.0
"""Command line of the header check: `python -m tools.header_check check | self-test`, from the repository root.

Layer: build. `check` compiles every op_kernel/*.cpp, each alone, and writes the stamp; `self-test` shows that the
checker still accepts what is right and refuses each seeded error.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.header_check import devkit, selftest, stamp
from tools.header_check.passes import Result, run_all

ROOT = Path(__file__).resolve().parents[2]
OVERLAY = ROOT / "build/header_check/asc"


def show(result: Result) -> None:
    """One line a pass; the compiler's own text only where there is something to mend."""
    print(f"{Path(result.source).relative_to(ROOT)} [{result.name}] {len(result.errors)} error(s)")
    if result.errors:
        print("\n".join(result.output.splitlines()[:80]))
    else:
        warnings = [line for line in result.output.splitlines() if " warning: " in line]
        print("".join(f"  {line}\n" for line in warnings[:20]), end="")


def check(includes: list[str], version: str) -> int:
    """Type-check the kernels, write the stamp, return the number of errors."""
    files = stamp.kernel_files(ROOT)
    if not files:
        print("no op_kernel/*.cpp to check")
        return 1
    flags = [f"-I{ROOT}", f"-I{ROOT / 'op_kernel'}"]
    results = run_all([(ROOT / name, flags) for name in files], includes)
    for result in results:
        show(result)
    errors = sum(len(result.errors) for result in results)
    stamp.write(ROOT, stamp.Stamp(stamp.kernel_hash(ROOT), version, files, errors))
    print(f"header check: {len(files)} files, {errors} errors, asc-devkit {version}; {stamp.STAMP} written")
    return errors


def main(arguments: list[str]) -> int:
    """Exit status: 0 clean, 1 errors found, 2 not usable as called."""
    if arguments not in (["check"], ["self-test"]):
        print("usage: python -m tools.header_check check | self-test", file=sys.stderr)
        return 2
    try:
        source = devkit.locate()
        version = devkit.commit(source)
    except devkit.DevkitError as error:
        print(f"header-check: {error}", file=sys.stderr)
        return 2
    includes = devkit.include_flags(devkit.overlay(source, version, OVERLAY))
    errors = check(includes, version) if arguments == ["check"] else selftest.run(includes)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
