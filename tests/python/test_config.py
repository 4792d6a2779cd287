# SPDX-License-Identifier: Apache-2.0
"""The table of environment variables: reading, refusing, warning, and the page made from it."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from ascend_deepep import config
from ascend_deepep.errors import ArgumentError

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[2]


def test_defaults() -> None:
    assert config.settings({}) == config.Settings()


def test_values_are_read() -> None:
    env = {"TIMEOUT_MS": "5", "WINDOW_BYTES": "4096", "NUM_CORES": "13", "COMBINE_ENGINE": "urma", "QUEUE_DEPTH": "8"}
    env |= {"TARGET": "twin", "HEAP_BYTES": "77", "QUEUES_PER_PEER": "2", "ROLES": "stage=3"}
    got = config.settings({f"ASCEND_DEEPEP_{name}": value for name, value in env.items()})
    assert got == config.Settings(5, 4096, 13, "urma", 8, 2, "stage=3", "fast", 77, "twin")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIMEOUT_MS", "0"),
        ("TIMEOUT_MS", "soon"),
        ("WINDOW_BYTES", ""),
        ("WINDOW_BYTES", "-1"),
        ("NUM_CORES", "4.5"),
        ("QUEUE_DEPTH", "6"),
        ("QUEUES_PER_PEER", "0"),
        ("COMBINE_ENGINE", "fast"),
        ("TWIN_POLICY", "slow"),
        ("TARGET", "gpu"),
    ],
)
def test_illegal_values_are_named(name: str, value: str) -> None:
    with pytest.raises(ArgumentError, match=f"ASCEND_DEEPEP_{name} = '?{re.escape(value)}"):
        config.settings({f"ASCEND_DEEPEP_{name}": value})


def test_unknown_variable_warns_once() -> None:
    env = {"ASCEND_DEEPEP_TIMEOUT_SM": "1"}
    with pytest.warns(UserWarning, match="did you mean ASCEND_DEEPEP_TIMEOUT_MS"):
        config.settings(env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.settings(env)


def test_known_variables_do_not_warn(recwarn: pytest.WarningsRecorder) -> None:
    config.warn_unknown({variable.name: "x" for variable in config.VARIABLES})
    assert not recwarn.list


def test_every_variable_of_the_tree_is_in_the_table() -> None:
    """Whatever reads the environment in Python, C++ or the build names a variable of the table."""
    known = {variable.name for variable in config.VARIABLES}
    pattern = re.compile(r"""(?:getenv\(|environ(?:\.get\(|\[)|\$ENV\{)["']?(ASCEND_DEEPEP_[A-Z_]+)""")
    folders = ["framework", "twin", "op_host", "python", "cmake"]
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    found = set()
    for path in [*files, ROOT / "build.sh"]:
        if path.suffix not in {".so", ".pyc"} and path.exists():
            found |= set(pattern.findall(path.read_text(errors="replace")))
    assert found
    assert found <= known


def test_page_is_current() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "ascend_deepep.config"], capture_output=True, text=True, check=True
    ).stdout
    assert (ROOT / "docs" / "configuration.md").read_text() == made == config.page()
