# SPDX-License-Identifier: Apache-2.0
"""`python -m tools.check [--fix]` from the repository root: formatters, linter, types, rules, sources for CANN, stamp.

Layer: build. Everything runs even when something failed; each finding names file and line.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.check import cann, functions, gm_words, host_layering, layering, mutants, orders, text_rules, words
from tools.check.tree import CPP_SUFFIXES, Finding, Tree
from tools.header_check import stamp
from tools.torch_npu_check.run import torch_npu_binding

ROOT = Path(__file__).resolve().parents[2]
Rule = Callable[[Tree], Iterator[Finding]]


def header_stamp(tree: Tree) -> Iterator[Finding]:
    """op_kernel/ passed the header check as it is today."""
    problem = stamp.problem(tree.root)
    if problem:
        yield Finding(stamp.STAMP.as_posix(), 1, "header-check", problem)


RULES: tuple[Rule, ...] = (
    text_rules.spdx,
    text_rules.line_length,
    text_rules.file_length,
    text_rules.file_size,
    words.banned_words,
    functions.function_length,
    layering.kernel_includes,
    host_layering.host_includes,
    layering.leaf_includes,
    layering.protocol_words,
    layering.target_conditionals,
    layering.polls,
    gm_words.gm_words,
    layering.oracle_imports,
    orders.orders,
    mutants.mutants,
    cann.cann_wrappers,
    cann.kernel_launches,
    header_stamp,
    torch_npu_binding,
)


def commands(tree: Tree, fix: bool) -> dict[str, list[str]]:
    """The outside tools, at the versions of requirements/dev.txt."""
    cpp = list(tree.written(*CPP_SUFFIXES))
    python = [sys.executable, "-m"]
    clang_format = ["clang-format", *(["-i"] if fix else ["--dry-run", "-Werror"]), *cpp]
    tools = {
        "clang-format": clang_format if cpp else ["clang-format", "--version"],
        "ruff format": [*python, "ruff", "format", "--quiet", *([] if fix else ["--diff"]), "."],
        "ruff check": [*python, "ruff", "check", "--quiet", *(["--fix"] if fix else []), "."],
    }
    return tools if fix else tools | {"mypy": [*python, "mypy", "--no-error-summary"]}


def main(arguments: list[str]) -> int:
    """Exit status: 0 clean, 1 findings, 2 wrong call."""
    if arguments not in ([], ["--fix"]):
        print("usage: python -m tools.check [--fix]", file=sys.stderr)
        return 2
    tree = Tree.of_repository(ROOT)
    results: dict[str, bool] = {}
    for name, command in commands(tree, bool(arguments)).items():
        results[name] = subprocess.run(command, cwd=ROOT).returncode == 0
    if not arguments:
        for rule in RULES:
            findings = list(rule(tree))
            print("".join(f"{finding}\n" for finding in findings), end="")
            results[rule.__name__] = not findings
    failed = [name for name, passed in results.items() if not passed]
    if failed:
        print(f"failed: {', '.join(failed)}")
    print(f"checks: {len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
