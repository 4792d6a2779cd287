# SPDX-License-Identifier: Apache-2.0
"""docs/ascendc_subset.md and the code name the same things: what kernels use, what the twin has, which rules it checks.

Layer: tests. Reads sources only. The page is read by its tables: columns called "name" hold identifiers in backticks,
the table of rules holds the name of each and the test that breaks it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.check.tree import blank_comments
from tools.header_check.page import SUBSET, rows, subset_names

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / SUBSET).read_text()
HEADERS = {"asc_simt", "asc_fp16", "asc_bf16"}  # file names, not functions

KEYWORD = re.compile(r"\b__[A-Za-z]\w*\b")
SIMT_NAME = re.compile(r"\basc_\w+\b")
ASCENDC_NAME = re.compile(r"\bAscendC::(\w+)(?:::(\w+))?")
GLOBAL_NAME = re.compile(r"\b(?:GM_ADDR|GetTPipePtr|dim3|threadIdx|blockDim|blockIdx|gridDim|PIPE_\w+|EVENT_ID[0-7])\b")


def page_names() -> set[str]:
    """Every identifier that the page lists."""
    return set(subset_names(ROOT))


def code(folder: str, *suffixes: str) -> str:
    """All C++ sources below a folder, without comments and literals."""
    paths = [path for suffix in suffixes for path in sorted((ROOT / folder).rglob(f"*{suffix}"))]
    assert paths, f"{folder} holds no sources"
    return "\n".join(blank_comments(path.read_text()) for path in paths)


def used_names() -> set[str]:
    """Names of AscendC in op_kernel/."""
    text = "\n".join(
        line for line in code("op_kernel", ".h", ".cpp").splitlines() if not line.startswith(("#include", "#if"))
    )
    names = set(KEYWORD.findall(text)) - {"__builtin_offsetof"}
    names |= set(SIMT_NAME.findall(text)) | set(GLOBAL_NAME.findall(text))
    for first, second in ASCENDC_NAME.findall(text):
        names |= {first, second} - {""}
    return names


def test_what_kernels_use_is_on_the_page() -> None:
    used = used_names()
    assert {"DataCopy", "TPipe", "MTE3_S", "asc_ldcg", "__simt_vf__", "GM_ADDR"} <= used
    assert sorted(used - page_names()) == []


def test_the_page_lists_identifiers() -> None:
    odd = [name for name in page_names() if not re.fullmatch(r"[A-Za-z_]\w*", name)]
    assert odd == []


def test_what_is_on_the_page_exists_in_the_twin() -> None:
    words = set(re.findall(r"[A-Za-z_]\w*", code("twin/include", ".h")))
    # The built-in variables of SIMT code are declared where the runner keeps them.
    words |= set(re.findall(r"[A-Za-z_]\w*", blank_comments((ROOT / "twin/runtime/simt.h").read_text())))
    assert sorted(page_names() - words) == []


def test_every_simt_function_of_the_twin_is_on_the_page() -> None:
    names = set(SIMT_NAME.findall(code("twin/include", ".h")))
    assert "asc_vf_call" in names
    assert sorted(names - page_names() - HEADERS) == []


def rules_of_runs() -> dict[str, str]:
    """Name -> identifier of the rules that the twin checks while a kernel runs."""
    text = (ROOT / "twin/runtime/rules.h").read_text()
    return {name: constant for constant, name in re.findall(r'constexpr Rule (k\w+)\{\s*"([^"]+)"', text)}


def rules_of_the_compiler() -> dict[str, str]:
    """Name -> macro of the rules that a static_assert checks."""
    text = (ROOT / "twin/include/twin_detail/compile_rules.h").read_text()
    return {name: macro for macro, name in re.findall(r'#define (ASCEND_DEEPEP_\w+)[\s\\]*"\[([^\]]+)\]', text)}


def bodies_of_tests() -> dict[str, str]:
    """TEST name -> its text, over all C++ tests."""
    sources = "\n".join(path.read_text() for path in sorted((ROOT / "tests/cpp").rglob("*_test.cpp")))
    parts = re.split(r"^TEST\((\w+)\)", sources, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_and_the_twin_have_the_same_rules() -> None:
    listed = [cells[0].strip("`") for cells in rows(PAGE, "rule")]
    assert len(listed) == len(set(listed))
    assert listed == [*rules_of_runs(), *rules_of_the_compiler()]
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in listed)
    texts = (ROOT / "twin/runtime/rules.h").read_text()
    assert len(rules_of_runs()) == len(re.findall(r"constexpr Rule k", texts)) > 60


def test_the_twin_checks_every_rule() -> None:
    paths = [path for path in (ROOT / "twin").rglob("*.[hc]*") if path.name not in ("rules.h", "compile_rules.h")]
    sources = "\n".join(path.read_text() for path in sorted(paths))
    words = set(re.findall(r"\w+", sources))
    unused = [name for name, word in (rules_of_runs() | rules_of_the_compiler()).items() if word not in words]
    assert unused == []


def test_every_rule_has_a_test_that_breaks_it() -> None:
    """The test that the page names asks for this very rule."""
    bodies = bodies_of_tests()
    rules = rules_of_runs()
    untested = []
    for name, _, _, test in rows(PAGE, "rule"):
        constant = rules.get(name.strip("`"))
        if constant is not None and f"rules::{constant}" not in bodies.get(test.strip("`"), ""):
            untested.append(name)
    assert untested == []


def test_every_rule_of_the_compiler_has_a_test_that_breaks_it() -> None:
    listed = re.search(r"set\(compile_rules([^)]*)\)", (ROOT / "tests/cpp/twin/refused/refused.cmake").read_text())
    assert listed is not None
    assert listed[1].split() == list(rules_of_the_compiler())
    violations = set(re.findall(r"Rule::(\w+)", (ROOT / "tests/cpp/twin/refused/refused.cpp").read_text()))
    assert violations - {"VIOLATE"} == {name.replace("-", "_") for name in rules_of_the_compiler()}
    tests = {cells[0].strip("`"): cells[3].strip("`") for cells in rows(PAGE, "rule")}
    assert all(tests[name] == f"refused_{name}" for name in rules_of_the_compiler())
