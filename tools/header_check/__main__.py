# SPDX-License-Identifier: Apache-2.0
"""Command line of the header check: `python -m tools.header_check VERB`, from the repository root.

Layer: build. `check` compiles every op_kernel/**/*.cpp, each alone, compares the twin's headers with the real ones and
writes report and stamp; `report` does the second half only; `self-test` shows that both halves accept what is right and
refuse each seeded error; `update` makes the stubs anew for a newer version of the headers, then does all of this.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from tools.header_check import compare_selftest, gen_stubs, page, selftest, stamp
from tools.header_check.declarations import DumpError
from tools.header_check.devkit import OVERLAY, ROOT, DevkitError, commit, include_flags, locate, overlay
from tools.header_check.passes import Result, run_all
from tools.header_check.report import HEADERS, Comparer, render

USAGE = "usage: python -m tools.header_check check | report | self-test | update"


def show(result: Result) -> None:
    """One line a pass; the compiler's own text only where there is something to mend."""
    print(f"{Path(result.source).relative_to(ROOT)} [{result.name}] {len(result.errors)} error(s)")
    if result.errors:
        print("\n".join(result.output.splitlines()[:80]))
    else:
        warnings = [line for line in result.output.splitlines() if " warning: " in line]
        print("".join(f"  {line}\n" for line in warnings[:20]), end="")


class HeaderCheck:
    """The verbs, on one copy of the real headers."""

    def __init__(self) -> None:
        source = locate()
        self.version = commit(source)
        self.copy = overlay(source, self.version, OVERLAY)
        self.includes = include_flags(self.copy)
        self.comparer = Comparer(ROOT, self.copy, self.includes, compare_selftest.NAMES)

    def kernels(self) -> int:
        """Type-check the kernels; the number of errors."""
        flags = [f"-I{ROOT}", f"-I{ROOT / 'op_kernel'}"]
        results = run_all([(ROOT / name, flags) for name in stamp.kernel_files(ROOT)], self.includes)
        for result in results:
            show(result)
        return sum(len(result.errors) for result in results)

    def compare(self) -> int:
        """Compare the twin's headers, write the report; the number of differences."""
        outcome = self.comparer.outcome(ROOT / HEADERS, page.subset_names(ROOT))
        (ROOT / page.REPORT).write_text(render(outcome, self.version))
        print("".join(f"differs: {text}\n" for text in outcome.differences), end="")
        print(f"{len(outcome.rows)} names compared, {len(outcome.differences)} differences; {page.REPORT} written")
        return len(outcome.differences)

    def stamped(self, errors: int, differences: int) -> stamp.Stamp:
        """A stamp of the tree as it is."""
        files, kernels = stamp.kernel_files(ROOT), stamp.kernel_hash(ROOT)
        subset, report = stamp.subset_hash(ROOT), stamp.report_hash(ROOT)
        return stamp.Stamp(kernels, self.version, files, errors, subset, report, differences)

    def check(self) -> int:
        """Both halves; the number of findings."""
        errors, differences = self.kernels(), self.compare()
        made = self.stamped(errors, differences)
        stamp.write(ROOT, made)
        summary = f"{len(made.files)} files, {errors} errors, {differences} differences, asc-devkit {self.version}"
        print(f"header check: {summary}; {stamp.STAMP} written")
        return errors + differences

    def report(self) -> int:
        """The comparison alone: the stamp keeps what it says of the kernels."""
        last = stamp.read(ROOT)
        if last is None or last.asc_devkit != self.version:
            raise DevkitError(f"{stamp.STAMP} is not of asc-devkit {self.version}: run `check`, which does both halves")
        differences = self.compare()
        made = self.stamped(last.errors, differences)
        stamp.write(ROOT, dataclasses.replace(made, op_kernel=last.op_kernel, files=last.files))
        return differences

    def self_test(self) -> int:
        """Both self-tests; the number of failures."""
        return selftest.run(self.includes) + compare_selftest.run(ROOT, self.comparer)

    def update(self) -> int:
        """Stubs, then everything else; the number of findings."""
        return gen_stubs.generate(self.copy) + self.check() + self.self_test()


def main(arguments: list[str]) -> int:
    """Exit status: 0 clean, 1 errors or differences found, 2 not usable as called."""
    verbs = {
        "check": HeaderCheck.check,
        "report": HeaderCheck.report,
        "self-test": HeaderCheck.self_test,
        "update": HeaderCheck.update,
    }
    if len(arguments) != 1 or arguments[0] not in verbs:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        return 1 if verbs[arguments[0]](HeaderCheck()) else 0
    except (DevkitError, DumpError, ValueError) as error:
        print(f"header-check: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
