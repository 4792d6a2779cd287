# SPDX-License-Identifier: Apache-2.0
"""Banned words are found in any text file, pytest's own names in tests are not. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check import words

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "text",
    ["// TODO: later", "FIXME", "a XXX b", "see /work/main", 'path = "/root/x"', "an Agent", "in this session",
     "https://pypi.org/simple"],
)  # fmt: skip
def test_banned(findings: Findings, text: str) -> None:
    assert findings(words.banned_words, {"docs/a.md": f"fine\n{text}\n"}) == ["docs/a.md:2"]


@pytest.mark.parametrize("text", ["mktemp XXXXXX", "tests/work/x", "reagents", "network/root/x", "pytest_sessionstart"])
def test_allowed(findings: Findings, text: str) -> None:
    assert findings(words.banned_words, {"docs/a.md": text + "\n"}) == []


def test_pytest_names_are_allowed_in_tests_only(findings: Findings) -> None:
    line = '@pytest.fixture(scope="session")\n'
    files = {"tests/a.py": line + "# the session\n", "python/b.py": line}
    assert findings(words.banned_words, files) == ["python/b.py:1", "tests/a.py:2"]
