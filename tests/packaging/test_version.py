# SPDX-License-Identifier: Apache-2.0
"""The version stands in pyproject.toml and nowhere else; the changelog knows it, or what comes after it.

Layer: tests.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import ascend_deepep
import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[2]


def version() -> str:
    """The version, where it stands."""
    found = re.search(r'^version = "(\d+\.\d+\.\d+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_package_has_it() -> None:
    assert ascend_deepep.__version__ == version()


def test_no_other_file_writes_it_down() -> None:
    pattern = re.compile(rf"(?<![\d.]){re.escape(version())}(?![\d.])")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [name for name in listed if name not in ("pyproject.toml", "CHANGELOG.md")]
    assert len(files) > 100
    found = [name for name in files if pattern.search((ROOT / name).read_text(errors="replace"))]
    assert [name for name in found if not name.startswith("requirements/")] == []


def test_the_changelog_is_current() -> None:
    sections = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == "Unreleased" or sections[0].startswith(version())
    assert len(sections) == len(set(sections))
