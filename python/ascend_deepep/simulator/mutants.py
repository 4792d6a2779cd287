# SPDX-License-Identifier: Apache-2.0
"""Mutants: kernels with one thing wrong, and the seeds that the simulator needs to find it. Layer: Python, no torch.

A mutant is a patch of tests/mutants/. Its header says what it breaks: one line of text, then `Name: value` lines, among
them `Kind` and where they apply `Edge`, `Invariant`, `Assumption` with numbers of docs/protocol.md. It is applied to a
copy of op_kernel/, of which one unit is compiled: the kernel module that a run opens in place of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ascend_deepep.simulator import run
from ascend_deepep.simulator.options import WorldOptions
from ascend_deepep.simulator.workers import CannotRun, Workers

SEEDS = 300
JOBS = 2
_HEADER = re.compile(r"^([A-Z][a-z]+): (.+)$", re.MULTILINE)
_COMPILE_TIMEOUT_S = 300


class MutantsError(RuntimeError):
    """Mutants cannot be run here. `kind` is for programs, the text for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Mutant:
    """A patch and its header."""

    name: str
    patch: Path
    what: str
    header: dict[str, str]

    def numbers(self) -> list[str]:
        """The entries of docs/protocol.md that it breaks, such as P3 or I6."""
        fields = (self.header.get(name, "") for name in ("Edge", "Invariant", "Assumption"))
        return [number for text in fields for number in re.findall(r"[PIA]\d+", text)]


@dataclass(frozen=True)
class Seeds:
    """What seeds 1, 2, .. said: how many were run, and the checker and text of the last one if it failed."""

    count: int
    checker: str | None
    text: str
    seconds: float


@dataclass
class Report:
    """A run over mutants."""

    results: dict[str, Seeds] = field(default_factory=dict)
    unmutated: Seeds | None = None

    @property
    def holds(self) -> bool:
        """Every mutant is found, and the sources as they are pass."""
        return not self.survivors() and self.unmutated is not None and self.unmutated.checker is None

    def survivors(self) -> list[str]:
        """Mutants that no seed finds."""
        return [name for name, seeds in self.results.items() if seeds.checker is None]


def checkout(start: Path | None = None) -> Path:
    """The source tree: the first folder from `start`, the working directory or this file upwards with the patches."""
    places = [start] if start is not None else [Path.cwd(), Path(__file__).resolve().parent]
    for place in places:
        for folder in (place, *place.parents):
            if (folder / "tests/mutants").is_dir() and (folder / "op_kernel").is_dir():
                return folder
    raise MutantsError(
        "NoCheckout",
        "mutants are patches of the sources: run this in a checkout of ascend-deepep (tests/mutants, op_kernel)",
    )


def read(patch: Path) -> Mutant:
    """The mutant of a patch file."""
    head = patch.read_text(encoding="utf-8").split("\n--- ", 1)[0]
    return Mutant(patch.stem, patch, head.split("\n", 1)[0], dict(_HEADER.findall(head)))


def mutants(root: Path, name_contains: str = "") -> list[Mutant]:
    """The mutants of a tree, by name; those whose name, kind or number holds the text."""
    found = [read(patch) for patch in sorted((root / "tests/mutants").glob("*.patch"))]
    text = name_contains.lower()
    return [
        mutant
        for mutant in found
        if text in mutant.name or text in mutant.header["Kind"].lower() or name_contains in mutant.numbers()
    ]


def copy_sources(root: Path, folder: Path) -> Path:
    """A copy of op_kernel/ in `folder`, to be changed. Returns its path."""
    target = folder / "op_kernel"
    shutil.copytree(root / "op_kernel", target)
    return target


def apply(mutant: Mutant, op_kernel: Path) -> None:
    """Change the copy as the patch says."""
    # The copy may lie inside a repository, whose root git would take for the root of the paths.
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(op_kernel.parent.parent.resolve()))
    command = ["git", "apply", str(mutant.patch.resolve())]
    result = subprocess.run(command, cwd=op_kernel.parent, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise MutantsError("PatchFailed", f"{mutant.name} does not apply: {result.stderr.strip()}")


def build(root: Path, op_kernel: Path, policy: str = "Sim") -> Path:
    """Compile the kernel module from `op_kernel` for a policy of the twin, without a warning. Returns the library."""
    from ascend_deepep import _runtime

    package = Path(_runtime.__file__).parent
    library = op_kernel.parent / f"kernels_{policy.lower()}.so"
    compiler = os.environ.get("CXX", "g++")
    gnu_only = [] if "clang" in Path(compiler).name else ["-fno-gnu-unique"]
    command = [
        compiler,
        *("-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden", *gnu_only),
        *("-fno-strict-aliasing", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"),
        f"-DASCEND_DEEPEP_TWIN_POLICY={policy}",
        *(f"-I{root / 'twin/include'}", f"-I{op_kernel}", f"-I{root}"),
        str(root / "twin/kernels/table.cpp"),
        *(f"-L{package}", "-lascend_deepep_runtime", f"-Wl,-rpath,{package}", "-o", str(library)),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_TIMEOUT_S, check=False)
    if result.returncode != 0:
        errors = [line for line in result.stderr.splitlines() if "error" in line]
        raise MutantsError("CompileFailed", errors[0] if errors else " ".join(result.stderr.split()))
    return library


def run_seeds(library: Path, count: int = SEEDS) -> Seeds:
    """Seeds 1 to `count` against a module, up to the first that fails, in a process of their own."""
    options = WorldOptions(kernels=str(library))
    try:
        with Workers(1, options.kernels) as workers:
            result = run.run_seeds(workers, range(1, count + 1), options, max_failures=1)
    except CannotRun as error:
        raise MutantsError("CannotRun", str(error)) from None
    if not result.failures:
        return Seeds(result.seeds, None, "", result.seconds)
    failure = result.failures[0]
    return Seeds(failure.seed, failure.checker, failure.text, result.seconds)


def try_one(root: Path, mutant: Mutant | None, count: int = SEEDS) -> Seeds:
    """Seeds against a mutant, or against the sources as they are. The time is that of building and running."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant_") as folder:
        op_kernel = copy_sources(root, Path(folder))
        if mutant is not None:
            apply(mutant, op_kernel)
        seeds = run_seeds(build(root, op_kernel), count)
    return Seeds(seeds.count, seeds.checker, seeds.text, time.monotonic() - start)


def run_all(
    root: Path,
    chosen: Sequence[Mutant],
    count: int = SEEDS,
    jobs: int = JOBS,
    advance: Callable[[int], None] | None = None,
) -> Report:
    """The seeds against each mutant and, in the same run, against the sources as they are."""
    report = Report()
    todo: list[Mutant | None] = [None, *chosen]
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda mutant: try_one(root, mutant, count), todo)
        for done, (mutant, seeds) in enumerate(zip(todo, results, strict=True), 1):
            if mutant is None:
                report.unmutated = seeds
            else:
                report.results[mutant.name] = seeds
            if advance is not None:
                advance(done)
    return report


def to_json(report: Report, chosen: Sequence[Mutant]) -> dict[str, object]:
    """The report as plain values."""
    checkers: dict[str, list[str]] = {}
    edges: dict[str, list[str]] = {}
    rows: list[dict[str, object]] = []
    for mutant in chosen:
        seeds = report.results[mutant.name]
        numbers = mutant.numbers()
        row = {"name": mutant.name, "kind": mutant.header["Kind"], "edges": numbers, "checker": seeds.checker}
        rows.append({**row, "seeds": seeds.count, "seconds": round(seeds.seconds, 1)})
        if seeds.checker is None:
            continue
        checkers.setdefault(seeds.checker, []).append(mutant.name)
        for number in numbers:
            edges.setdefault(number, []).append(mutant.name)
    same = report.unmutated
    return {
        "mutants": rows,
        "survivors": report.survivors(),
        "unmutated": {} if same is None else {"seeds": same.count, "checker": same.checker, "failed": same.text},
        "checkers": dict(sorted(checkers.items())),
        "edges": dict(sorted(edges.items())),
    }
