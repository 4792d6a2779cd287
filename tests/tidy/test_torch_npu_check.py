# SPDX-License-Identifier: Apache-2.0
"""The comparison with torch_npu's wheel finds what it is for: wrong names, wrong signatures, wrong values.

Layer: tests of tools/torch_npu_check. The wheel is the one that `check` uses.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tools.check.tree import Tree
from tools.torch_npu_check import acl_table, run, symbols, units
from tools.torch_npu_check.wheel import PIN, Wheel, WheelError, obtain, torch_directory

pytestmark = pytest.mark.long  # compiles against the wheel of torch_npu, as `check` does

ROOT = Path(__file__).resolve().parents[2]

#: Declares a function of torch_npu's namespace as its headers would, and calls it.
CALL = """
namespace c10_npu {{ {declaration} }}
int call() {{ {call} }}
"""


@pytest.fixture(scope="module")
def wheel() -> Wheel:
    return obtain(ROOT)


@pytest.fixture(scope="module")
def torch(wheel: Wheel) -> Path:
    return torch_directory(wheel.version)


@pytest.fixture
def chosen(wheel: Wheel, torch: Path, tmp_path: Path) -> Iterator[units.Compiler]:
    """The compiler of the product, with a place of its own for objects."""
    yield replace(units.compiler(ROOT, wheel, torch), objects=tmp_path / "objects")


def missing(chosen: units.Compiler, wheel: Wheel, torch: Path, source: Path) -> list[str]:
    """Symbols of a unit that nobody defines."""
    (unit,) = units.compile_all(chosen, [source])
    assert unit.errors == ""
    providers = symbols.Providers(wheel, torch, chosen.program, [unit.object])
    return [use.symbol for use in symbols.uses(source, unit.object, providers) if not use.provider]


@pytest.mark.parametrize(
    ("declaration", "call", "symbol"),
    [
        ("void* getCurrentNPUStream(signed char);", "return getCurrentNPUStream(0) == nullptr;", ""),
        ("void* getCurrentNPUStreem(signed char);", "return getCurrentNPUStreem(0) == nullptr;", "NPUStreem"),
        ("void* getCurrentNPUStream(long);", "return getCurrentNPUStream(0) == nullptr;", "NPUStream(long)"),
        # Declared in the wheel's headers, used there by an inline function, and not exported.
        ("bool IsContextInitialized();", "return IsContextInitialized();", "IsContextInitialized"),
    ],
)
def test_names_that_nobody_exports(
    chosen: units.Compiler, wheel: Wheel, torch: Path, tmp_path: Path, declaration: str, call: str, symbol: str
) -> None:
    source = tmp_path / "call.cpp"
    source.write_text(CALL.format(declaration=declaration, call=call.replace("return ", "return c10_npu::")))
    found = missing(chosen, wheel, torch, source)
    assert (found == []) if symbol == "" else (len(found) == 1 and symbol in found[0])


def test_acl_functions_are_those_of_the_headers(
    chosen: units.Compiler, wheel: Wheel, torch: Path, tmp_path: Path
) -> None:
    source = tmp_path / "acl.cpp"
    source.write_text(
        'extern "C" int aclrtMalloc(); extern "C" int aclrtMaloc();\nint f() { return aclrtMalloc() + aclrtMaloc(); }'
    )
    assert missing(chosen, wheel, torch, source) == ["aclrtMaloc"]


def table_errors(chosen: units.Compiler, root: Path, spoil: tuple[str, str, str]) -> str:
    """What the compiler says of a table in which one file of framework/npu was changed."""
    shutil.copytree(ROOT / "framework/npu", root / "framework/npu")
    name, old, new = spoil
    path = root / "framework/npu" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    flags = tuple(f"-I{root}" if flag == f"-I{ROOT}" else flag for flag in chosen.flags)
    (unit,) = units.compile_all(replace(chosen, flags=flags), [acl_table.write(root, root / "table.cpp")])
    return unit.errors


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("acl.h", "(*malloc)(void** memory, size_t", "(*malloc)(void** memory, uint32_t", "declared as aclrtMalloc"),
        ("acl.h", "int (*free)(void* memory)", "int (*free)(void* memory, int)", "declared as aclrtFree"),
        ("acl.cpp", '"aclrtFree"', '"aclrtFre"', "aclrtFre"),
        ("acl.cpp", '"aclrtFree"', '"aclrtMalloc"', "Acl::free is not declared as aclrtMalloc"),
    ],
)
def test_wrong_signature_of_an_acl_function(
    chosen: units.Compiler, tmp_path: Path, name: str, old: str, new: str, words: str
) -> None:
    assert words in table_errors(chosen, tmp_path / "tree", (name, old, new))


def test_every_function_of_the_table_is_compared() -> None:
    filled = (ROOT / acl_table.TABLE).read_text().count("library.find(")
    assert len(acl_table.functions(ROOT)) == filled > 0


def test_objects_are_reused_until_something_changes(chosen: units.Compiler, tmp_path: Path) -> None:
    source, header = tmp_path / "unit.cpp", tmp_path / "unit.h"
    header.write_text("constexpr int kValue = 1;\n")
    source.write_text('#include "unit.h"\nint value() { return kValue; }\n')

    def made(compiler: units.Compiler) -> int:
        (unit,) = units.compile_all(compiler, [source])
        assert unit.errors == ""
        return unit.object.stat().st_mtime_ns

    first = made(chosen)
    assert made(chosen) == first
    header.write_text("constexpr int kValue = 2;\n")
    second = made(chosen)
    assert second != first
    assert made(replace(chosen, key="another wheel")) != second
    source.write_text('#include "unit.h"\nint value() { return kValu; }\n')
    (broken,) = units.compile_all(chosen, [source])
    (finding,) = run.compile_findings(tmp_path, broken)
    assert (finding.path, finding.line) == ("unit.cpp", 2) and "kValu" in finding.text


def test_wheel_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / PIN).parent.mkdir()
    (tmp_path / PIN).write_text("torch-npu==2.13.0\n")
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(WheelError, match=r"cannot be downloaded .*: go online, or name an index"):
        obtain(tmp_path)
    (finding,) = run.torch_npu_binding(Tree(tmp_path, ()))
    assert finding.path == PIN.as_posix() and "cannot be downloaded" in finding.text


def test_table_that_is_not_understood(tmp_path: Path) -> None:
    def table(root: Path) -> run.Outcome:
        acl_table.write(root, root / "table.cpp")
        raise AssertionError("a table without lines was written")

    (finding,) = run.torch_npu_binding(Tree(tmp_path, ()), table)
    assert finding.path == "framework/npu/acl.cpp" and "has no line like library.find(" in finding.text


def test_torch_of_another_release() -> None:
    with pytest.raises(WheelError, match=r"torch-npu 1.0.0 belongs to torch 1.0.0, this environment has"):
        torch_directory("1.0.0")


def test_command_line() -> None:
    command = [sys.executable, "-m", "tools.torch_npu_check", "wrong"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage" in done.stderr
