# SPDX-License-Identifier: Apache-2.0
"""Purpose: definitions are loaded once, beside strangers of the same namespace, and never over another owner's.
Layer: tests. Each test is a program of its own: a second definition aborts an interpreter.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ascend_deepep._load import _library_directory

from tests.python.ops.support import run_program

LIBRARY = "libascend_deepep_ops.so"

CALL = """
def call():
    x = torch.zeros(4, 64, dtype=torch.bfloat16, device="meta")
    ids = torch.zeros(4, 2, dtype=torch.int32, device="meta")
    return tuple(torch.ops.npu.dispatch_v2(x, ids, "any", 2, 0, 4)[0].shape)
"""
START = "import torch\nfrom ascend_deepep._load import load_ops\n" + CALL
REFUSED = """
try:
    load_ops()
except ImportError as error:
    print(error)
else:
    raise SystemExit("loaded over a stranger")
"""


@pytest.mark.parametrize("kind", ["DEF", "FRAGMENT"])
@pytest.mark.parametrize("is_first", [True, False])
def test_beside_another_owner_of_the_namespace(kind: str, is_first: bool) -> None:
    stranger = f'library = torch.library.Library("npu", "{kind}"); library.define("other(Tensor x) -> Tensor")\n'
    program = [START, *([stranger, "load_ops()\n"] if is_first else ["load_ops()\n", stranger])]
    assert "(16, 64)" in run_program("".join(program) + "print(call(), torch.ops.npu.other.default)")


@pytest.mark.parametrize("name", ["dispatch_v2", "combine_v2"])
def test_definition_of_a_stranger(name: str) -> None:
    stranger = f'library = torch.library.Library("npu", "FRAGMENT"); library.define("{name}(Tensor x) -> Tensor")\n'
    text = run_program(START + stranger + REFUSED)
    assert f"npu::{name} is already defined by another library (" in text
    assert str(_library_directory() / LIBRARY) in text


def test_second_copy_of_the_package(tmp_path: Path) -> None:
    copy = shutil.copy(_library_directory() / LIBRARY, tmp_path)
    text = run_program(START + f"torch.ops.load_library({str(copy)!r})\n" + REFUSED)
    assert f"npu::dispatch_v2 is already defined by {copy}" in text
    assert str(_library_directory() / LIBRARY) in text


def test_this_package_is_first_and_a_copy_second(tmp_path: Path) -> None:
    change = (
        f"load_ops()\nfrom ascend_deepep import _load\n_load._library_directory = lambda: Path({str(tmp_path)!r})\n"
    )
    text = run_program(START + "from pathlib import Path\n" + change + "_load._is_loaded = False\n" + REFUSED)
    assert f"npu::dispatch_v2 is already defined by {_library_directory() / LIBRARY}" in text
    assert str(tmp_path / LIBRARY) in text


def test_stranger_with_kernels_for_our_definitions() -> None:
    stranger = f"""
torch.ops.load_library({str(_library_directory() / LIBRARY)!r})
library = torch.library.Library("npu", "IMPL")
library.impl("dispatch_v2", lambda *args, **kwargs: None, "CPU")
"""
    text = run_program(START + stranger + REFUSED)
    assert "already implements npu::dispatch_v2 for CPU tensors" in text


def test_own_definitions_are_reused() -> None:
    early = f"torch.ops.load_library({str(_library_directory() / LIBRARY)!r})\n"
    again = """
import sys
load_ops()
del sys.modules["ascend_deepep._load"]
from ascend_deepep._load import load_ops as second
second()
print(call())
"""
    assert "(16, 64)" in run_program(START + early + again)


def test_many_threads() -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda _: load_ops(), range(64)))
print(call())
"""
    assert "(16, 64)" in run_program(START + program)


def test_libraries_older_than_the_package() -> None:
    text = run_program(START + "from ascend_deepep import _runtime\n_runtime.LAYOUT_ABI += 1\n" + REFUSED)
    assert "start the process again" in text


def test_torch_with_other_internals() -> None:
    program = """
import warnings
import torch._higher_order_ops.effects as effects
del effects._EffectType
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    load_ops()
print(call(), [str(warning.message) for warning in caught])
"""
    text = run_program(START + program)
    assert "(16, 64)" in text and "out of torch.compile" in text
