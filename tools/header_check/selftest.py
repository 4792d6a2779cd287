# SPDX-License-Identifier: Apache-2.0
"""Does the type check check? The probes must pass; each seeded error of neg/neg.cpp must be refused, for its reason.

Layer: build. Blind spots must pass, so that a change there is noticed too.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from tools.header_check.passes import HERE, PASSES, Result, run_all


@dataclasses.dataclass(frozen=True)
class Case:
    """One case of neg/neg.cpp: its kind of error and what an error of any pass must say."""

    kind: str
    says: str


SEEDED: dict[int, Case] = {
    1: Case("pointer to the wrong memory given to a VF", "cannot initialize a parameter of type '__gm__ int32_t"),
    2: Case("wrong number of VF arguments", "too few arguments to function call, expected 3"),
    3: Case("element types that differ in a copy", "no matching function for call to 'DataCopy'"),
    4: Case("atomic of a width that the memory lacks", "no matching function for call to 'asc_atomic_add'"),
    5: Case("shuffle of a struct", "no matching function for call to 'asc_shfl'"),
    6: Case("address of a kernel's local given to a VF", "cannot initialize a parameter of type '__gm__ int"),
    7: Case("misspelt member", "no member named 'blockLength'"),
    8: Case("misspelt enumerator", "no member named 'MTE2_VEC'"),
    9: Case("load with a cache hint from UB", "no matching function for call to 'asc_ldcg'"),
    10: Case("pointer that loses its address space", "cannot initialize a variable of type 'int"),
    12: Case("SIMD function called from a VF", "no matching function for call to 'PipeBarrier'"),
    13: Case("SIMT callee called from kernel code", "no matching function for call to 'helper'"),
    14: Case("VF called without asc_vf_call", "call to global function 'vf' not configured"),
    15: Case("VF that returns a value", "must have void return type"),
    16: Case("threadIdx outside of a VF", "reference to __device__ function 'gx' in __host__ function"),
    18: Case("libc function called from a VF", "no matching function for call to 'rand'"),
    19: Case("kernel function called from a VF's callee", "no matching function for call to 'aux'"),
    20: Case("reinterpret_cast between address spaces", "reinterpret_cast from '__gm__ int32_t"),
    21: Case("whole struct read from GM", "no matching constructor for initialization of 'P'"),
    22: Case("whole struct written to GM", "no viable overloaded '='"),
}
# Wrong as well, but not seen. They must stay unseen: one that is refused has become a case of SEEDED.
BLIND_SPOTS: dict[int, str] = {
    11: "illegal types of Cast",
    17: "plain kernel function as the target of asc_vf_call",
}
RIGHT = 0  # the case without an error


def first_error(results: list[Result]) -> str:
    """Text of the first error over the passes, or an empty string."""
    for result in results:
        if result.errors:
            return re.sub(r"^.*?error: ", "", result.errors[0])
    return ""


def verdict(wanted: Case | None, results: list[Result]) -> bool:
    """Do the passes over one source say what is wanted: the error of a case, or nothing?"""
    said = [re.sub(r"^.*?error: ", "", line) for result in results for line in result.errors]
    return not said if wanted is None else any(wanted.says in line for line in said)


def run(includes: list[str]) -> int:
    """Run probes and cases, print a line each, return the number of failures."""
    probes = sorted((HERE / "probes").glob("*.cpp"))
    jobs: list[tuple[Path, list[str]]] = [(probe, []) for probe in probes]
    plan: list[tuple[str, Case | None]] = [(f"accepted: {probe.name}", None) for probe in probes]
    plan.append((f"case {RIGHT}, accepted: the code that the cases start from", None))
    plan += [(f"case {number}, refused: {case.kind}", case) for number, case in SEEDED.items()]
    plan += [(f"case {number}, blind spot: {kind}", None) for number, kind in BLIND_SPOTS.items()]
    jobs += [(HERE / "neg/neg.cpp", [f"-DCASE={number}"]) for number in (RIGHT, *SEEDED, *BLIND_SPOTS)]
    results = run_all(jobs, includes)
    failed = 0
    for index, (title, wanted) in enumerate(plan):
        passes = results[len(PASSES) * index : len(PASSES) * (index + 1)]
        good = verdict(wanted, passes)
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {title}: {first_error(passes)[:100] or 'clean'}")
    print(f"type check: {len(plan) - failed} passed, {failed} failed")
    return failed
