# SPDX-License-Identifier: Apache-2.0
"""docs/ascendc_headers.md is the report of a clean comparison of today's names and headers of the twin.

Layer: tests of docs and of tools/header_check. The comparison itself needs the real headers (`build.sh header-check`);
here are the report, the stamp that vouches for it, and the pieces that work without them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.header_check import compare, page, selftest, signatures, stamp, uses
from tools.header_check.compare_selftest import PAGE_SEEDS, SEEDS
from tools.header_check.declarations import Reader

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[3]


def report_text() -> str:
    """The generated page."""
    return (ROOT / page.REPORT).read_text()


def names_of_section(title: str) -> list[str]:
    """Names in the table of one section of the report, in order."""
    section = report_text().split(f"## {title}\n")[1].split("\n## ")[0]
    return [cells[0].strip("`") for cells in page.rows(section, "name")]


def test_the_report_lists_the_names_of_the_page() -> None:
    assert names_of_section("Names of the page") == list(page.subset_names(ROOT))


def test_the_report_has_no_difference() -> None:
    counts = re.search(r"\*\*(\d+) names: (\d+) same, (\d+) built in; (\d+) differences\.\*\*", report_text())
    assert counts is not None
    names, same, built_in, differences = map(int, counts.groups())
    assert (names, differences) == (len(page.subset_names(ROOT)), 0)
    assert same + built_in == names
    assert "## Differences" not in report_text()
    results = {cells[4].split(":")[0].split(",")[0] for cells in page.rows(report_text(), "name")}
    assert results == {"same", "built in"}


def test_built_in_names_are_called_so_on_the_page() -> None:
    report = {cells[0].strip("`"): cells[2] for cells in page.rows(report_text(), "name")}
    for name, header in page.subset_names(ROOT).items():
        assert (header == "built in") == (report[name] == "built in"), name


def test_the_report_is_of_the_headers_as_they_are() -> None:
    last = stamp.read(ROOT)
    assert last is not None
    assert last.differences == 0
    assert last.report == stamp.report_hash(ROOT), "docs/ascendc_headers.md was edited"
    assert last.subset == stamp.subset_hash(ROOT), "twin/include/ or the names changed: run ./build.sh header-check"
    assert f"`{last.asc_devkit}`" in report_text()


def test_by_design_is_a_short_list_and_all_of_it_is_reported() -> None:
    assert len(compare.BY_DESIGN) <= 6
    for reason in (*compare.BY_DESIGN.values(), compare.SITE_REASON):
        assert reason in report_text()


def test_kinds_of_seeded_errors() -> None:
    kinds = [case.kind for case in selftest.SEEDED.values()]
    assert len(set(kinds)) == len(kinds) >= 10
    assert not set(selftest.SEEDED) & set(selftest.BLIND_SPOTS)
    source = (ROOT / "tools/header_check/neg/neg.cpp").read_text()
    assert set(map(int, re.findall(r"^#(?:el)?if CASE == (\d+)", source, re.MULTILINE))) >= {
        *selftest.SEEDED,
        *selftest.BLIND_SPOTS,
    }


def test_the_readme_lists_every_kind_and_blind_spot() -> None:
    readme = (ROOT / "tools/header_check/README.md").read_text()
    seeded = {int(number): kind for number, kind in list(page.rows(readme, "case"))}
    assert seeded == {number: case.kind for number, case in selftest.SEEDED.items()}
    blind = {int(number): kind for number, kind, _ in list(page.rows(readme, "blind spot"))}
    assert blind == selftest.BLIND_SPOTS
    assert [cells[0] for cells in page.rows(readme, "seeded difference")] == [seed.kind for seed in SEEDS]


def test_seeds_apply_to_the_headers_as_they_are() -> None:
    texts = {seed.file: (ROOT / stamp.TWIN / seed.file).read_text() for seed in SEEDS}
    for seed in SEEDS:  # in order: some undo what an earlier one renamed
        texts[seed.file], count = re.subn(seed.pattern, seed.replacement, texts[seed.file])
        assert count, f"{seed.kind}: {seed.pattern} is not in {seed.file}"
    assert set(PAGE_SEEDS) - set(page.subset_names(ROOT)) == {"asc_no_such_name"}


def test_a_name_stands_once_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / page.SUBSET).write_text("| name | header |\n|---|---|\n| `a` `b` | `x.h` |\n| `a` | `y.h` |\n")
    with pytest.raises(ValueError, match="lists a twice"):
        page.subset_names(tmp_path)


def test_comments_layout_and_messages_do_not_count() -> None:
    before = 'int f(int a);  // why\nconst char* s = "one";\n#define M \\\n    1\n'
    assert list(stamp.tokens(before)) == list(stamp.tokens('int f(\n    int a);\nconst char *s = "two"; #define M 1'))
    assert list(stamp.tokens(before)) != list(stamp.tokens(before.replace("int a", "long a")))


DUMP = {
    "kind": "TranslationUnitDecl",
    "inner": [
        {
            "id": "0x1",
            "kind": "NamespaceDecl",
            "name": "AscendC",
            "inner": [
                {
                    "id": "0x2",
                    "kind": "FunctionDecl",
                    "loc": {"offset": 1, "file": "a.h", "line": 7},
                    "range": {"begin": {"line": 8, "includedFrom": {"file": "b.h"}}},
                    "name": "wanted",
                    "type": {"qualType": "void (const uint32_t, __gm__ half *)"},
                    "inner": [
                        {"kind": "ParmVarDecl", "name": "n", "type": {"qualType": "const uint32_t"}},
                        {"kind": "ParmVarDecl", "name": "p", "type": {"qualType": "__gm__ half *"}},
                        {"kind": "CompoundStmt", "inner": [{"kind": "ReturnStmt", "name": "wanted"}]},
                    ],
                },
                {"id": "0x3", "kind": "VarDecl", "range": {}, "name": "other", "inner": [{"kind": "X"}]},
            ],
        },
        {"id": "0x4", "kind": "VarDecl", "range": {}, "name": "wanted", "type": {"qualType": "int"}},
    ],
}


def test_reading_a_dump() -> None:
    reader = Reader(lambda name, _: name == "wanted")
    reader.feed(f"{line}\n" for line in json.dumps(DUMP, indent=2).splitlines())
    function, variable = reader.found
    assert (function.scopes, function.name, function.file, function.line) == (("AscendC",), "wanted", "a.h", 7)
    assert "ReturnStmt" not in str(function.node)
    assert variable.scopes == ()
    (entity,) = signatures.entities(function)
    assert entity.text == "void (unsigned int, half *)"


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("const uint32_t", "unsigned int"),
        ("__attribute__((address_space(1))) T *", "$A *"),
        ("__gm__ PrimType const *", "const $A *"),
        ("typename LocalTensor<T>::PrimType", "$A"),
        ("const AscendC::LocalTensor<T> &", "const LocalTensor<$A> &"),
        ("typename GetPadValueType<T>::Type", "$A"),
    ],
)
def test_one_spelling_of_types(written: str, spelled: str) -> None:
    names = {"T": "$A", "PrimType": "PrimT<T>"}
    assert signatures.spelled(written, names) == spelled


def test_refused_probes_are_found_by_their_notes() -> None:
    output = "\n".join(
        [
            "calls.cpp:5:3: error: no matching function for call to 'f'",
            "h.h:1:1: note: candidate",
            "h.h:9:1: error: static assertion failed",
            "calls.cpp:7:9: note: in instantiation of function template specialization requested here",
        ]
    )
    assert uses.refused_lines(output, Path("calls.cpp")) == {5, 7}


def test_command_line_without_the_headers() -> None:
    command = [sys.executable, "-m", "tools.header_check"]
    plain = {"PATH": "/usr/bin:/bin"}
    run = subprocess.run([*command, "report"], cwd=ROOT, env=plain, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith("header-check: set ASC_DEVKIT to a checkout of asc-devkit")
    run = subprocess.run([*command, "nothing"], cwd=ROOT, env=plain, capture_output=True, text=True)
    assert (run.returncode, run.stderr.split(":")[0]) == (2, "usage")
