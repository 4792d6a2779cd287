# SPDX-License-Identifier: Apache-2.0
"""Which target a communicator runs on, and what is said where the wish cannot be met. Without an NPU here.

Each case is a program of its own over a copy of the package's links: what is loaded stays loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ascend_deepep
import pytest
from ascend_deepep import ArgumentError, Communicator, _runtime
from ascend_deepep._target import NPU_LIBRARY
from ascend_deepep.testing import Context, Pool

LIMITS = {"max_tokens": 4, "hidden": 64, "num_topk": 2, "num_experts": 4}
MAKE = """
from ascend_deepep import ArgumentError, Communicator
try:
    with Communicator(None, max_tokens=4, hidden=64, num_topk=2, num_experts=4) as ep:
        print(ep.target)
except ArgumentError as error:
    print("refused:", error)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with links to all files of this package and its libraries: a test may add to it."""
    copy = tmp_path / "ascend_deepep"
    copy.mkdir()
    for folder in {Path(ascend_deepep.__file__).parent, Path(_runtime.__file__).parent}:
        for file in folder.iterdir():
            if file.name != "__pycache__" and not (copy / file.name).exists():
                (copy / file.name).symlink_to(file.resolve())
    return tmp_path


def program(folder: Path, text: str, **environment: str) -> tuple[str, str]:
    """Standard output and error of a program that must succeed."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, env=env, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_without_the_npu_library_auto_is_the_twin(package: Path) -> None:
    for wish in ("auto", "twin"):
        assert program(package, MAKE, ASCEND_DEEPEP_TARGET=wish) == ("twin\n", "")


def test_an_npu_that_is_asked_for_and_missing(package: Path) -> None:
    out, _ = program(package, MAKE, ASCEND_DEEPEP_TARGET="ascend950")
    assert out.startswith("refused: ASCEND_DEEPEP_TARGET = 'ascend950', but this process has only twin: ")
    assert NPU_LIBRARY in out and "built without CANN" in out and "docs/npu.md" in out


@pytest.mark.parametrize(
    ("torch_npu", "reason"),
    [
        ("raise ImportError('libhccl.so: cannot open shared object file')", "ImportError: libhccl.so: cannot open"),
        pytest.param(
            "raise RuntimeError('two accelerators')", "RuntimeError: two accelerators", marks=pytest.mark.long
        ),
        pytest.param("", "OSError: ", marks=pytest.mark.long),  # torch_npu is there, but our library is none
    ],
)
def test_an_npu_library_that_cannot_be_loaded_is_told(package: Path, torch_npu: str, reason: str) -> None:
    (package / "ascend_deepep" / NPU_LIBRARY).write_text("no ELF file")
    (package / "torch_npu.py").write_text(torch_npu)
    load = f"import pathlib\nfrom ascend_deepep import _load\nhere = pathlib.Path({str(package / 'ascend_deepep')!r})\n"
    load += "_load._library_directory = lambda: here\n"
    out, err = program(package, load + MAKE)
    assert out == "twin\n"
    assert "RuntimeWarning: target ascend950 is left out, calls run on the twin" in err and reason in err
    out, _ = program(package, load + MAKE, ASCEND_DEEPEP_TARGET="ascend950")
    assert out.startswith("refused: ") and reason in out
    assert program(package, load + MAKE, ASCEND_DEEPEP_TARGET="twin") == ("twin\n", "")


def test_synchronize_and_check_of_the_twin() -> None:
    with Communicator(None, **LIMITS) as ep:
        ep.synchronize()
        assert ep.target == "twin"
    with pytest.raises(ArgumentError, match="is closed"):
        ep.synchronize()


def _wish(context: Context) -> str:
    try:
        Communicator(context.group, **LIMITS)
    except ascend_deepep.DeepEPError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_a_wish_that_cannot_be_met_is_an_error_on_all_ranks(ranks: Pool) -> None:
    for text in ranks.run(_wish, 2, env={"ASCEND_DEEPEP_TARGET": "ascend950"}):
        assert text.startswith("ArgumentError: ASCEND_DEEPEP_TARGET = 'ascend950'")
