# SPDX-License-Identifier: Apache-2.0
"""Fixture of the rule tests: write a few files, get the findings of one rule as `path:line`. Layer: tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools.check.__main__ import Rule
from tools.check.tree import Tree

Findings = Callable[[Rule, dict[str, str]], list[str]]


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    """Apply a rule to a tree made of the given files."""

    def apply(rule: Rule, files: dict[str, str]) -> list[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [f"{finding.path}:{finding.line}" for finding in rule(Tree.of_directory(tmp_path))]

    return apply
