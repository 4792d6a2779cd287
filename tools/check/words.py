# SPDX-License-Identifier: Apache-2.0
"""Words that no file may hold: left-overs, paths of one machine, hosts of package registries, who or what wrote it.

Layer: build. This file and its test name the words, so they are exempt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.check.tree import Finding, Tree

EXEMPT = ("tools/check/words.py", "tests/tidy/test_words.py")
BANNED = {
    r"\b(?:TODO|FIXME|XXX)\b": "left-over: do it, or file an issue",
    r"(?<![\w./-])/(?:work|root)/": "path of one machine",
    r"(?:pypi|pythonhosted|pytorch)\.org": "host of a package registry",
    r"(?i:\bagents?\b)": "how a text came about is not its subject",
    r"(?i:\bsessions?\b)": "how a text came about is not its subject",
}
# pytest's own identifiers, in tests only.
PYTEST_NAMES = re.compile(r"""scope\s*=\s*["']session["']|session\s*:\s*pytest\.Session|pytest\.Session""")


def banned_words(tree: Tree) -> Iterator[Finding]:
    """No text file holds a banned word."""
    patterns = [(re.compile(pattern), reason) for pattern, reason in BANNED.items()]
    for path in tree.paths:
        if path in EXEMPT or not tree.is_text(path):
            continue
        in_tests = path.startswith("tests/") and path.endswith(".py")
        for number, line in enumerate(tree.lines(path), 1):
            text = PYTEST_NAMES.sub("", line) if in_tests else line
            for pattern, reason in patterns:
                match = pattern.search(text)
                if match:
                    yield Finding(path, number, "words", f"'{match[0]}': {reason}")
