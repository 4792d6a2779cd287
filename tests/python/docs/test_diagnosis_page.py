# SPDX-License-Identifier: Apache-2.0
"""docs/diagnosis.md says what the commands say, and its numbers are the rules'. Layer: tests."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from ascend_deepep.cli.app import run
from ascend_deepep.diagnosis import Thresholds
from ascend_deepep.diagnosis.plants import PLANTS
from ascend_deepep.diagnosis.rules import BYTES, EVEN, OVERHEAD

PAGE = (Path(__file__).resolve().parents[3] / "docs/diagnosis.md").read_text()
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
SHOWN = re.findall(r"^\$ ascend-deepep (diagnose --sim.*)\n((?:(?!\$ |```).*\n)+)", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_output_in_virtual_time_is_this(command: str, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = command.split()
    if "--plot" in words:
        at = words.index("--plot")
        del words[at : at + 2]
    assert run(words) == (0 if "\nbytes: " in output else 1)
    assert differences(capsys.readouterr().out, output) == []


def differences(found: str, shown: str) -> list[tuple[str, str]]:
    """Words that differ. Microseconds may, by a quarter: what kernels cost changes with them."""
    pairs = []
    for line, wanted in itertools.zip_longest(found.splitlines(), shown.splitlines(), fillvalue=""):
        for word, other in itertools.zip_longest(NUMBER.split(line), NUMBER.split(wanted), fillvalue=""):
            if word != other and not is_near(word, other):
                pairs.append((line, wanted))
    return pairs


def is_near(word: str, other: str) -> bool:
    """Numbers of ranks and sizes must be the same."""
    if not (NUMBER.fullmatch(word) and NUMBER.fullmatch(other)):
        return False
    value, wanted = float(word), float(other)
    return (wanted >= 100 or "." in other) and abs(value - wanted) <= 0.25 * wanted


@pytest.mark.fast
def test_what_differs_is_seen() -> None:
    shown = "slow rank 3\n  takes 400 us, ratio 1.20\n"
    assert differences(shown, shown) == []
    assert differences(shown.replace("400", "430").replace("1.20", "1.1"), shown) == []
    for word, other in (("rank 3", "rank 4"), ("400", "600"), ("takes", "waits"), ("1.20", "2.20")):
        assert len(differences(shown.replace(word, other), shown)) == 1
    assert len(differences(shown + "more\n", shown)) == 1


@pytest.mark.fast
def test_three_are_shown_and_every_picture_is_in_the_table() -> None:
    assert len(SHOWN) == 3
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| (`(\w+)`|-) \|.*\|$", PAGE, re.MULTILINE)
    table = {picture: plant or None for picture, _, plant in rows if picture not in ("ascend",)}
    assert table == {BYTES: None, EVEN: None, OVERHEAD: None, **{cause: plant for plant, cause in PLANTS.items()}}


@pytest.mark.fast
def test_thresholds_are_the_rules() -> None:
    limits = Thresholds()
    assert f"at most {limits.near_model} times the model's" in PAGE
    assert f"a rank with {limits.hot_load} times the mean rows; {limits.uneven_load} times where" in PAGE
    assert f"from {limits.hot_load} on the load is named" in PAGE
    assert limits.shared_share == 1.0 and "a cause must cost a whole layer" in PAGE
