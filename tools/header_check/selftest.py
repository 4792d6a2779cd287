# SPDX-License-Identifier: Apache-2.0
"""Does the checker check? The probes must pass; each seeded error of neg/neg.cpp must be refused, and for its reason.

Layer: build. Two cases are known blind spots (README.md): they must pass, so that a change there is noticed too.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.header_check.passes import HERE, Result, run_all

# case of neg/neg.cpp -> what an error of any pass must say; None: no error expected.
EXPECTED: dict[int, str | None] = {
    0: None,
    1: "cannot initialize a parameter of type '__gm__ int32_t",
    2: "too few arguments to function call, expected 3",
    3: "no matching function for call to 'DataCopy'",
    4: "no matching function for call to 'asc_atomic_add'",
    5: "no matching function for call to 'asc_shfl'",
    6: "cannot initialize a parameter of type '__gm__ int",
    7: "no member named 'blockLength'",
    8: "no member named 'MTE2_VEC'",
    9: "no matching function for call to 'asc_ldcg'",
    10: "cannot initialize a variable of type 'int",
    11: None,
    12: "no matching function for call to 'PipeBarrier'",
    13: "no matching function for call to 'helper'",
    14: "call to global function 'vf' not configured",
    15: "must have void return type",
    16: "reference to __device__ function 'gx' in __host__ function",
    17: None,
    18: "no matching function for call to 'rand'",
    19: "no matching function for call to 'aux'",
    20: "reinterpret_cast from '__gm__ int32_t",
    21: "no matching constructor for initialization of 'P'",
    22: "no viable overloaded '='",
}


def first_error(results: list[Result]) -> str:
    """Text of the first error over the passes, or an empty string."""
    for result in results:
        if result.errors:
            return re.sub(r"^.*?error: ", "", result.errors[0])
    return ""


def run(includes: list[str]) -> int:
    """Run probes and cases, print a line each, return the number of failures."""
    probes = sorted((HERE / "probes").glob("*.cpp"))
    jobs: list[tuple[Path, list[str]]] = [(probe, []) for probe in probes]
    jobs += [(HERE / "neg/neg.cpp", [f"-DCASE={case}"]) for case in EXPECTED]
    results = run_all(jobs, includes)
    names = [probe.name for probe in probes] + [f"case {case}" for case in EXPECTED]
    wanted = [None] * len(probes) + list(EXPECTED.values())
    failed = 0
    for index, (name, want) in enumerate(zip(names, wanted, strict=True)):
        passes = results[3 * index : 3 * index + 3]
        said = [re.sub(r"^.*?error: ", "", line) for result in passes for line in result.errors]
        good = not said if want is None else any(re.search(want, line) for line in said)
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}: {first_error(passes)[:110] or 'clean'}")
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed
