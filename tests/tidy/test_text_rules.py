# SPDX-License-Identifier: Apache-2.0
"""Each rule on text finds its violation, at its line, and nothing in a good file. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check import text_rules

pytestmark = pytest.mark.fast

C_HEAD = f"// {text_rules.SPDX}\n"
PY_HEAD = f"# {text_rules.SPDX}\n"


def test_spdx(findings: Findings) -> None:
    files = {
        "a.h": "int x;\n",
        "CMakeLists.txt": "\n\n" + PY_HEAD,
        "b.py": "#!/usr/bin/env python3\n" + PY_HEAD,
        "c.cpp": C_HEAD,
        "notes.md": "no source\n",
    }
    assert findings(text_rules.spdx, files) == ["CMakeLists.txt:1", "a.h:1"]


def test_line_length(findings: Findings) -> None:
    files = {"a.py": PY_HEAD + "x" * 120 + "\n" + "x" * 121 + "\n", "long.md": "y" * 300}
    assert findings(text_rules.line_length, files) == ["a.py:3"]


def test_file_length(findings: Findings) -> None:
    files = {"a.cpp": "\n" * 400, "b.cpp": "\n" * 401, "README.md": "x\n" * 201, "docs/README.md": "x\n" * 201}
    assert findings(text_rules.file_length, files) == ["b.cpp:401", "README.md:201"]


def test_generated_files_are_exempt_from_lengths(findings: Findings) -> None:
    files = {"tools/header_check/stubs/npu_intrinsics.h": ("x" * 200 + "\n") * 500}
    assert findings(text_rules.file_length, files) == findings(text_rules.line_length, files) == []


def test_file_size(findings: Findings) -> None:
    files = {"a.txt": "", "b.txt": " \n\n", "big.bin": "x" * (2**20 + 1), "ok.bin": "x" * 2**20, "p/py.typed": ""}
    assert findings(text_rules.file_size, files) == ["a.txt:1", "b.txt:1", "big.bin:1"]
