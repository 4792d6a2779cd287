# SPDX-License-Identifier: Apache-2.0
"""Does the comparison compare? Differences are seeded into a copy of the twin's headers; each must be reported.

Layer: build. All seeds stand in one copy, on different names, so that two readings are enough: one of the headers as
they are, without a difference, and one of the copy, with the seeded differences and no other.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

from tools.header_check import page
from tools.header_check.report import HEADERS, Comparer


@dataclasses.dataclass(frozen=True)
class Seed:
    """Replace `pattern` in `file`; a difference of `name` must then hold `says`."""

    kind: str
    name: str
    file: str
    pattern: str
    replacement: str
    says: str


SEEDS = (
    Seed(
        "parameter missing",
        "AtomicCas",
        "twin_detail/scalar.h",
        r"(AtomicCas\(__gm__ T\* address, T value1), T value2\) \{",
        r"\1) { T value2 = value1;",
        "the twin has `template <class> $A ($A *, $A)`",
    ),
    Seed(
        "parameter too many",
        "asc_threadfence_block",
        "simt_api/device_sync_functions.h",
        r"asc_threadfence_block\(\)",
        "asc_threadfence_block(int)",
        "the twin has `void (int)`",
    ),
    Seed(
        "parameter of another type",
        "asc_dcci_single",
        "simt_api/device_functions.h",
        r"asc_dcci_single\(__gm__ void\*",
        "asc_dcci_single(__gm__ int*",
        "the twin has `void (int *)`",
    ),
    Seed(
        "template parameters in another order",
        "Cast",
        "twin_detail/cast.h",
        r"template <typename T, typename U>(\s*__aicore__ inline void Cast\()",
        r"template <typename U, typename T>\1",
        "(const LocalTensor<$B> &, const LocalTensor<$A> &",
    ),
    Seed(
        "template parameter without its default",
        "TBuf",
        "twin_detail/tpipe.h",
        r"template <TPosition pos = TPosition::LCM>(\s*class TBuf)",
        r"template <TPosition pos>\1",
        "the twin has `template <TPosition>`",
    ),
    Seed(
        "default argument of another value",
        "asc_shfl_xor",
        "simt_api/device_warp_functions.h",
        r"(asc_shfl_xor\(T var, int32_t lane_mask, int32_t width) = warpSize",
        r"\1 = 16",
        "int = 16",
    ),
    Seed(
        "another result",
        "GetBlockNum",
        "twin_detail/scalar.h",
        r"int64_t GetBlockNum\(\)",
        "uint32_t GetBlockNum()",
        "the twin has `unsigned int ()`",
    ),
    Seed(
        "extra overload",
        "asc_threadfence",
        "simt_api/device_sync_functions.h",
        r"(__simt_callee__ inline void asc_threadfence\(\))",
        r"inline void asc_threadfence(long) {}\n\1",
        "the twin has `void (long)`",
    ),
    Seed(
        "name missing",
        "__int2float_rn",
        "simt_api/device_functions.h",
        r"\b__int2float_rn\b",
        "__int2float_other",
        "the twin has no such name",
    ),
    Seed(
        "name that the real headers lack",
        "__int2float_other",
        "simt_api/device_functions.h",
        r"\b__int2float_other\b",
        "__int2float_other",
        "the real headers have no such name",
    ),
    Seed(
        "method missing",
        "HasIdleBuffer",
        "twin_detail/tpipe.h",
        r"\bHasIdleBuffer\(\)",
        "twin_has_idle_buffer()",
        "the twin has no such name",
    ),
    Seed(
        "method that the class lacks",
        "TQueBind",
        "twin_detail/tpipe.h",
        r"\btwin_has_idle_buffer\b",
        "twin_has_idle_buffer",
        "TQueBind::twin_has_idle_buffer: the twin has `bool ()`",
    ),
    Seed(
        "extra enumerator",
        "MemDsbT",
        "twin_detail/types.h",
        r"(enum class MemDsbT : uint8_t \{ ALL = 0,)",
        r"\1 NEAR,",
        "MemDsbT::NEAR",
    ),
    Seed(
        "enumerators that are two instead of one",
        "LCM",
        "twin_detail/types.h",
        r"LCM = VECCALC",
        "LCM",
        "the twin has `enumerator`, the real headers `enumerator, the same as VECCALC`",
    ),
    Seed(
        "enumeration without a scope",
        "PaddingMode",
        "twin_detail/types.h",
        r"enum class PaddingMode",
        "enum PaddingMode",
        "the twin has `enum : unsigned char`",
    ),
    Seed(
        "enumeration of another size",
        "CacheLine",
        "twin_detail/types.h",
        r"enum class CacheLine : uint64_t",
        "enum class CacheLine : uint32_t",
        "the twin has `enum class : unsigned int`",
    ),
    Seed(
        "field renamed",
        "DataCopyExtParams",
        "twin_detail/data_copy.h",
        r"\brsv\b",
        "spare",
        "unsigned int spare",
    ),
    Seed(
        "fields in another order",
        "DataCopyPadExtParams",
        "twin_detail/data_copy.h",
        r"(uint8_t leftPadding = 0;)(\s*)(uint8_t rightPadding = 0;)",
        r"\3\2\1",
        "unsigned char rightPadding; unsigned char leftPadding",
    ),
    Seed(
        "types that the real headers refuse",
        "asc_atomic_inc",
        "simt_api/device_atomic_functions.h",
        r"(kIsAtomicCounter = kIsOneOf<T, )",
        r"\1int32_t, ",
        "compiles on the twin only: int32_t",
    ),
    Seed(
        "macro with arguments",
        "ASCEND_IS_AIC",
        "twin_detail/keywords.h",
        r"define ASCEND_IS_AIC ",
        "define ASCEND_IS_AIC() ",
        "takes arguments on one side only",
    ),
)
# Seeds whose effect shows at another name as well.
ALSO = {"asc_atomic_dec"}
# Seeded into the page: a name that is nowhere, and a wrong column "header".
PAGE_SEEDS = {
    "asc_no_such_name": ("basic_api/kernel_tensor.h", "the real headers have no such name"),
    "TPipe": ("basic_api/kernel_tensor.h", "the page says `basic_api/kernel_tensor.h`, it is"),
}
# Every name with a seed, so that the real headers are read once for both readings of the twin's.
NAMES = frozenset(seed.name for seed in SEEDS) | frozenset(PAGE_SEEDS)


def seeded_copy(root: Path, target: Path) -> list[str]:
    """Copy the twin's headers to `target`, apply every seed; kinds whose pattern was not there."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / HEADERS, target)
    stale = []
    for seed in SEEDS:
        path = target / seed.file
        text, count = re.subn(seed.pattern, seed.replacement, path.read_text())
        path.write_text(text)
        if not count:
            stale.append(seed.kind)
    return stale


def run(root: Path, comparer: Comparer) -> int:
    """Compare as is and seeded, print a line each, return the number of failures."""
    names = page.subset_names(root)
    found = "; ".join(comparer.outcome(root / HEADERS, names).differences)
    lines = [(not found, f"difference without a seed: {found or 'none'}")]
    target = root / "build/header_check/seeded/include"
    stale = seeded_copy(root, target)
    outcome = comparer.outcome(target, names | {name: header for name, (header, _) in PAGE_SEEDS.items()})
    said: dict[str, str] = {}
    for row in (*outcome.rows, *outcome.beyond):
        if row.differences:
            said[row.name] = "; ".join(row.differences)
    for seed in SEEDS:
        good = seed.kind not in stale and seed.says in said.get(seed.name, "")
        text = "its pattern is not in the headers" if seed.kind in stale else said.get(seed.name, "not reported")
        lines.append((good, f"{seed.kind}: {seed.name}: {text}"))
    for name, (_, says) in PAGE_SEEDS.items():
        lines.append((says in said.get(name, ""), f"page: {name}: {said.get(name, 'not reported')}"))
    seeded = {seed.name for seed in SEEDS} | set(PAGE_SEEDS) | ALSO
    noise = sorted(set(said) - seeded)
    lines.append((not noise, f"names with a difference that none was seeded into: {', '.join(noise) or 'none'}"))
    for good, text in lines:
        print(f"{'ok  ' if good else 'FAIL'} {text[:200]}")
    failed = sum(not good for good, _ in lines)
    print(f"comparison: {len(lines) - failed} passed, {failed} failed")
    return failed
