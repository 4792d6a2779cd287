# SPDX-License-Identifier: Apache-2.0
"""Which calls compile? For names whose declarations cannot be compared as text: each call is tried on both sides.

Layer: build. The twin has one constrained template where the real headers have a set of overloads, and both refuse
element types by static_assert. A probe is one function on one line of a generated source; it is refused when any error
of the compiler leads back to its line.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

INTEGERS = [f"{sign}int{bits}_t" for bits in (8, 16, 32, 64) for sign in ("", "u")]
SCALARS = [*INTEGERS, "half", "bfloat16_t", "float", "double", "bool"]
C_SCALARS = ["long long", "unsigned long long", "char"]
VECTOR_BASES = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float")
VECTORS = [f"{base}{count}" for base in VECTOR_BASES for count in (2, 3, 4)]
PAIRS = ["half2", "bfloat16x2_t"]
STRUCT = ["Record"]
WORDS = [*SCALARS, *C_SCALARS, *VECTORS, *PAIRS, *STRUCT]
ELEMENTS = [*SCALARS, *STRUCT]

ATOMIC_NAMES = ("add", "sub", "exch", "max", "min", "inc", "dec", "and", "or", "xor")
ATOMICS = [f"asc_atomic_{name}" for name in ATOMIC_NAMES]
LOADS = ["asc_ldcg", "asc_ldca"]
STORES = ["asc_stcg", "asc_stwt"]
# Overload sets of the real headers that are one template each on the twin: compared by their calls alone.
OVERLOAD_SETS = (*ATOMICS, "asc_atomic_cas", *LOADS, *STORES)

HEAD = """#include "simt_api/asc_bf16.h"
#include "simt_api/asc_fp16.h"
#include "simt_api/asc_simt.h"
using namespace AscendC;
struct Record { int a; float b; };
template <typename T> T any();
template <typename T> struct Is { explicit Is(T) {} };
__simt_vf__ inline void vf(__gm__ int* p, int n) { *p = n; }
"""
ERROR = re.compile(r"^(?P<file>[^:\s]+):(?P<line>\d+):\d+: (?P<kind>(?:fatal )?error|note): ")


@dataclasses.dataclass(frozen=True)
class Probe:
    """A call of `name`. Two probes of one `case` differ by memory only, which the twin knows at run time.

    An error in a template is reported at its first use only: but for such pairs, no two probes of a side may share an
    instantiation that fails.
    """

    name: str
    case: str
    body: str


def simt_probes() -> Iterator[Probe]:
    """Overload sets by type and memory; the result must be exactly the type of the word."""
    for name, word, space in itertools.product(OVERLOAD_SETS, WORDS, ("__gm__", "__ubuf__")):
        pointer = f"any<{space} {word}*>()"
        values = "" if name in LOADS else f", any<{word}>()"
        call = f"{name}({pointer}{values * (2 if name == 'asc_atomic_cas' else 1)})"
        exact = f"auto got = {call}; static_assert(std::is_same<decltype(got), {word}>::value);"
        yield Probe(name, word, f"{call};" if name in STORES else exact)


def vector_probes() -> Iterator[Probe]:
    """Vector instructions and copies by element type."""
    for element in ELEMENTS:
        local, gm = f"any<LocalTensor<{element}>>()", f"any<GlobalTensor<{element}>>()"
        value = f"any<{element}>()"
        for name in ("Add", "Sub", "Mul", "Max", "Min"):
            yield Probe(name, element, f"{name}({local}, {local}, {local}, 8);")
        for name in ("Adds", "Muls"):
            yield Probe(name, element, f"{name}({local}, {local}, {value}, 8);")
        yield Probe("Duplicate", element, f"Duplicate({local}, {value}, 8);")
        ways = {"GM to UB": f"{local}, {gm}", "UB to GM": f"{gm}, {local}", "UB to UB": f"{local}, {local}"}
        for way, sides in ways.items():
            yield Probe("DataCopy", f"{element}, {way}, count", f"DataCopy({sides}, 32u);")
            yield Probe("DataCopy", f"{element}, {way}, blocks", f"DataCopy({sides}, DataCopyParams(1, 1, 0, 0));")
        block = "DataCopyExtParams(1, 32, 0, 0, 0)"
        pad = f"DataCopyPadExtParams<{element}>(false, 0, 0, {value})"
        yield Probe("DataCopyPadExtParams", element, f"{pad};")
        yield Probe("DataCopyPad", f"{element}, UB to GM", f"DataCopyPad({gm}, {local}, {block});")
        if element not in STRUCT:
            yield Probe("DataCopyPad", f"{element}, GM to UB", f"DataCopyPad({local}, {gm}, {block}, {pad});")


def scalar_probes() -> Iterator[Probe]:
    """Scalar words and atomics by type, control bits, barriers."""
    for word in [*SCALARS, *STRUCT]:
        pointer, value = f"any<__gm__ {word}*>()", f"any<{word}>()"
        yield Probe("ReadGmByPassDCache", word, f"Is<{word}> is(ReadGmByPassDCache({pointer}));")
        yield Probe("WriteGmByPassDCache", word, f"WriteGmByPassDCache({pointer}, {value});")
        for name in ("AtomicAdd", "AtomicMax", "AtomicMin", "AtomicExch"):
            yield Probe(name, word, f"Is<{word}> is({name}({pointer}, {value}));")
        yield Probe("AtomicCas", word, f"Is<{word}> is(AtomicCas({pointer}, {value}, {value}));")
    for first, last in ((60, 60), (48, 48), (6, 8), (6, 10), (45, 45), (50, 50), (53, 53), (59, 59), (5, 5), (48, 60)):
        yield Probe("SetCtrlSpr", f"bits {first} to {last}", f"SetCtrlSpr<{first}, {last}>(1);")
        yield Probe("ResetCtrlSpr", f"bits {first} to {last}", f"ResetCtrlSpr<{first}, {last}>();")
    for pipe in ("PIPE_S", "PIPE_V", "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_ALL"):
        yield Probe("PipeBarrier", pipe, f"PipeBarrier<{pipe}>();")


def shape_probes() -> Iterator[Probe]:
    """Classes as a kernel writes them."""
    for position in ("VECIN", "VECOUT", "VECCALC", "GM"):
        queue = f"TQue<TPosition::{position}, 1>"
        yield Probe("TQue", position, f"{queue} q; any<TPipe&>().InitBuffer(q, 2, 64u); q.AllocTensor<float>();")
        yield Probe(
            "TBuf", position, f"TBuf<TPosition::{position}> b; any<TPipe&>().InitBuffer(b, 64u); b.Get<float>();"
        )
    yield Probe("TBuf", "default position", "TBuf<> b; any<TPipe&>().InitBuffer(b, 64u); b.Get<float>();")
    bind = "TQueBind<TPosition::VECIN, TPosition::VECOUT, 1>"
    yield Probe(
        "TQueBind", "VECIN to VECOUT", f"{bind} q; any<TPipe&>().InitBuffer(q, 2, 64u); q.AllocTensor<float>();"
    )
    yield Probe("asc_vf_call", "pointer, scalar", "asc_vf_call<vf>(dim3(32), any<__gm__ int*>(), 3);")
    yield Probe("asc_vf_call", "an argument too few", "asc_vf_call<vf>(dim3(32), any<__gm__ int*>());")
    yield Probe("asc_vf_call", "no dim3", "asc_vf_call<vf>(any<__gm__ int*>(), 3);")
    for vector in [*VECTORS, *PAIRS]:
        yield Probe(vector, "size is alignment", f"static_assert(sizeof({vector}) == alignof({vector}));")
        yield Probe(vector, ".x .y", f"Is<decltype(any<{vector}>().x)> x(any<{vector}>().x), y(any<{vector}>().y);")
        yield Probe(vector, ".z", f"static_cast<void>(any<{vector}>().z);")
        yield Probe(vector, ".w", f"static_cast<void>(any<{vector}>().w);")


def all_probes() -> list[Probe]:
    """Every probe, in a fixed order."""
    return [*simt_probes(), *vector_probes(), *scalar_probes(), *shape_probes()]


def source_of(probes: list[Probe]) -> str:
    """A translation unit with probe n on line n behind HEAD."""
    return HEAD + "".join(f"void probe_{n}() {{ {probe.body} }}\n" for n, probe in enumerate(probes))


def refused_lines(output: str, source: Path) -> set[int]:
    """Lines of `source` that errors come from, directly or by a note "requested here"."""
    lines, failing = set[int](), False
    for text in output.splitlines():
        match = ERROR.match(text)
        if not match:
            continue
        failing = match["kind"] != "note" or failing
        if failing and Path(match["file"]) == source:
            lines.add(int(match["line"]))
    return lines


def legal_cases(command: list[str], source: Path, probes: list[Probe], has_spaces: bool) -> dict[str, set[str]]:
    """Per name the cases that compile: in some memory where memories are types, else in none that is refused."""
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(source_of(probes))
    limits = ["-ferror-limit=0", "-fno-caret-diagnostics", "-ftemplate-backtrace-limit=0", "-w"]
    run = subprocess.run([*command, *limits, str(source)], capture_output=True, text=True)
    refused, first = refused_lines(run.stderr, source), HEAD.count("\n") + 1
    verdicts: dict[tuple[str, str], list[bool]] = {}
    for number, probe in enumerate(probes):
        verdicts.setdefault((probe.name, probe.case), []).append(first + number not in refused)
    legal: dict[str, set[str]] = {probe.name: set() for probe in probes}
    for (name, case), compiled in verdicts.items():
        if any(compiled) if has_spaces else all(compiled):
            legal[name].add(case)
    return legal
