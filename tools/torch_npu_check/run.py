# SPDX-License-Identifier: Apache-2.0
"""The whole comparison: wheel, objects, symbols. Layer: build."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.check.tree import Finding, Tree
from tools.torch_npu_check import acl_table, symbols, units
from tools.torch_npu_check.wheel import PIN, Wheel, WheelError, obtain, torch_directory

HERE = Path("tools/torch_npu_check")
DIAGNOSTIC = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
RULE = "torch-npu"


@dataclass(frozen=True)
class Outcome:
    """What was compiled, the functions of torch_npu and ACL that it calls, and what is wrong."""

    wheel: Wheel
    units: list[units.Unit]
    acl_functions: int
    calls: list[symbols.Use]
    findings: list[Finding]


def relative(root: Path, path: Path) -> str:
    """Repository path, or the path itself where it lies outside."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def compile_findings(root: Path, unit: units.Unit) -> Iterator[Finding]:
    """The compiler's errors, each at its place."""
    if not unit.errors:
        return
    found = False
    for match in DIAGNOSTIC.finditer(unit.errors):
        found = True
        yield Finding(relative(root, Path(match["path"])), int(match["line"]), RULE, match["text"])
    if not found:
        yield Finding(relative(root, unit.source), 1, RULE, unit.errors.strip().splitlines()[-1])


def symbol_findings(root: Path, wheel: Wheel, uses: list[symbols.Use]) -> Iterator[Finding]:
    """Symbols that nobody defines."""
    for use in uses:
        if not use.provider:
            libraries = f"libtorch_npu.so {wheel.version}, torch and ACL's headers"
            yield Finding(relative(root, use.source), 1, RULE, f"'{use.symbol}' is in none of {libraries}")


def run(root: Path) -> Outcome:
    """Compile and compare; WheelError when there is nothing to compare with."""
    wheel = obtain(root)
    torch = torch_directory(wheel.version)
    chosen = units.compiler(root, wheel, torch)
    table = acl_table.write(root, root / "build/torch_npu/acl_table.cpp")
    product = units.sources(root)
    compiled = list(units.compile_all(chosen, [*product, root / HERE / "acl_values.cpp", table]))
    findings = [finding for unit in compiled for finding in compile_findings(root, unit)]
    calls: list[symbols.Use] = []
    if not findings:
        objects = [unit for unit in compiled if unit.source in product]
        providers = symbols.Providers(wheel, torch, chosen.program, [unit.object for unit in objects])
        uses = [use for unit in objects for use in symbols.uses(unit.source, unit.object, providers)]
        calls = [use for use in uses if symbols.FOREIGN.search(use.symbol) and use.provider != "the objects"]
        findings += symbol_findings(root, wheel, uses)
    return Outcome(wheel, compiled, len(acl_table.functions(root)), calls, findings)


def report(root: Path, outcome: Outcome) -> str:
    """For people: what is called and who exports it."""
    lines = [
        f"{relative(root, use.source)}: {use.symbol} [{use.provider or 'MISSING'}]"
        for use in sorted(outcome.calls, key=lambda use: (use.source, use.symbol))
    ]
    lines += [str(finding) for finding in outcome.findings]
    lines.append(
        f"torch-npu {outcome.wheel.version}: {len(outcome.units)} units compiled, {len(outcome.calls)} of its symbols "
        f"used, {outcome.acl_functions} ACL signatures compared, {len(outcome.findings)} errors"
    )
    return "".join(f"{line}\n" for line in lines)


def torch_npu_binding(tree: Tree, go: Callable[[Path], Outcome] = run) -> Iterator[Finding]:
    """As a rule of tools/check. What could not be compared is a finding too: nothing was shown to be right."""
    try:
        yield from go(tree.root).findings
    except WheelError as problem:
        yield Finding(PIN.as_posix(), 1, RULE, str(problem))
    except acl_table.TableError as problem:
        yield Finding(acl_table.TABLE.as_posix(), 1, RULE, str(problem))
