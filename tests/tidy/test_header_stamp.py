# SPDX-License-Identifier: Apache-2.0
"""The header-check stamp vouches for exactly the op_kernel/ it was made from, and only without errors.

Layer: tests of tools/check and tools/header_check.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tools.check.__main__ import header_stamp
from tools.check.tree import Tree
from tools.header_check import devkit, page, stamp

pytestmark = pytest.mark.fast


@pytest.fixture
def stamped(tmp_path: Path) -> Path:
    """A tree with two kernel files, a header of the twin, page and report, and a fresh, clean stamp."""
    for folder in ("op_kernel/port", "tools/header_check", "twin/include", "docs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "twin/include/t.h").write_text("int t(int a);\n")
    (tmp_path / page.SUBSET).write_text("| name | header |\n|---|---|\n| `t` | `t.h` |\n")
    (tmp_path / page.REPORT).write_text("no difference\n")
    (tmp_path / "op_kernel/a.cpp").write_text("int a;\n")
    (tmp_path / "op_kernel/port/b.h").write_text("int b;\n")
    files, kernels = stamp.kernel_files(tmp_path), stamp.kernel_hash(tmp_path)
    subset, report = stamp.subset_hash(tmp_path), stamp.report_hash(tmp_path)
    fresh = stamp.Stamp(kernels, "0" * 40, files, 0, subset, report, 0)
    stamp.write(tmp_path, fresh)
    assert stamp.read(tmp_path) == fresh
    return tmp_path


def problems(root: Path) -> list[str]:
    """Texts of the rule's findings."""
    return [finding.text for finding in header_stamp(Tree.of_directory(root))]


def test_fresh(stamped: Path) -> None:
    assert problems(stamped) == []


def test_missing(stamped: Path) -> None:
    (stamped / stamp.STAMP).unlink()
    assert "no stamp" in problems(stamped)[0]


@pytest.mark.parametrize(
    "name", ["op_kernel/a.cpp", "op_kernel/port/b.h", "op_kernel/port/new.h", "op_kernel/package/new.cpp"]
)
def test_changed(stamped: Path, name: str) -> None:
    (stamped / name).parent.mkdir(exist_ok=True)
    (stamped / name).write_text("int c;\n")
    assert "changed" in problems(stamped)[0]


def test_renamed(stamped: Path) -> None:
    (stamped / "op_kernel/port/b.h").rename(stamped / "op_kernel/port/c.h")
    assert "changed" in problems(stamped)[0]


def test_errors(stamped: Path) -> None:
    last = stamp.read(stamped)
    assert last is not None
    stamp.write(stamped, dataclasses.replace(last, errors=3))
    assert "3 errors" in problems(stamped)[0]


def test_differences(stamped: Path) -> None:
    last = stamp.read(stamped)
    assert last is not None
    stamp.write(stamped, dataclasses.replace(last, differences=2))
    assert "differs from the real headers in 2 places" in problems(stamped)[0]


def test_stamp_of_an_older_form(stamped: Path) -> None:
    (stamped / stamp.STAMP).write_text('{"op_kernel": "0", "errors": 0}\n')
    assert "no stamp" in problems(stamped)[0]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("twin/include/t.h", "int t(long a);\n", "twin/include/ or the names of"),
        (page.SUBSET.as_posix(), "| name | header |\n|---|---|\n| `u` | `t.h` |\n", "twin/include/ or the names of"),
        (page.REPORT.as_posix(), "edited\n", "is not the report of the last header check"),
    ],
)
def test_comparison_is_older(stamped: Path, name: str, text: str, says: str) -> None:
    (stamped / name).write_text(text)
    assert says in problems(stamped)[0]


def test_layout_of_the_twins_headers_does_not_count(stamped: Path) -> None:
    (stamped / "twin/include/t.h").write_text("// a comment\nint t(\n    int a);\n")
    assert problems(stamped) == []


def test_entry_files_are_found_at_any_depth(stamped: Path) -> None:
    (stamped / "op_kernel/package").mkdir()
    (stamped / "op_kernel/package/c.cpp").write_text("int c;\n")
    assert stamp.kernel_files(stamped) == ("op_kernel/a.cpp", "op_kernel/package/c.cpp")


def test_devkit_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASC_DEVKIT", raising=False)
    with pytest.raises(devkit.DevkitError, match="set ASC_DEVKIT"):
        devkit.locate()
    monkeypatch.setenv("ASC_DEVKIT_COMMIT", "no commit")
    with pytest.raises(devkit.DevkitError, match="ASC_DEVKIT_COMMIT"):
        devkit.commit(tmp_path)


def test_edits_of_the_headers_copy() -> None:
    line = "void print(const __gm__ char* text, __gm__ const char* other, __gm__ charlie* kept);"
    assert devkit.edited("a.h", line) == "void print(const char* text, const char* other, __gm__ charlie* kept);"
    pointer = "inline __gm__ uint8_t* __simt_gm__ g_sysSimtPrintFifoSpace = nullptr;"
    assert devkit.edited("a.h", pointer) == pointer
    assert devkit.edited(devkit.FIFO, pointer).startswith("inline ASCCHK_SIMTVAR __gm__ uint8_t* g_sys")
