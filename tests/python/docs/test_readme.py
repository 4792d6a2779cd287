# SPDX-License-Identifier: Apache-2.0
"""The README says what is so: its sample and the example run, its commands, limits, errors and links exist.

Layer: tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
PAGES = ("README.md", "README.zh.md", *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")))


def block(language: str) -> str:
    """The first code block of a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert found is not None, f"README.md has no block of {language}"
    return found[1]


def rows(heading: str) -> dict[str, str]:
    """First and second column of the table below a heading."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return {cells[1].strip(): cells[2].strip() for cells in (line.split("|") for line in lines)}


def run(command: list[str | Path], folder: Path) -> str:
    """Standard output of a program that must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_sample_runs(tmp_path: Path) -> None:
    """As a script of its own, with the output that its last comment announces."""
    sample = block("python")
    announced = re.search(r"print\(.*\)  # (.*)$", sample, re.MULTILINE)
    assert announced is not None
    script = tmp_path / "sample.py"
    script.write_text(sample)
    assert run([sys.executable, script], tmp_path).strip().splitlines()[-1] == announced[1]


@pytest.mark.parametrize("example", ["torchrun_layer.py", pytest.param("torch_npu_caller.py", marks=pytest.mark.long)])
def test_an_example_runs_under_torchrun(example: str, tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    assert "EXACT on 2 ranks" in run([*launcher, ROOT / "examples" / example], tmp_path)


@pytest.mark.fast
def test_the_commands_exist() -> None:
    commands = re.findall(r"^(\./build\.sh) (\w+)", block("sh"), re.MULTILINE)
    assert commands == [("./build.sh", "demo"), ("./build.sh", "test")]
    assert os.access(ROOT / "build.sh", os.X_OK)
    verbs = re.findall(r"^  ([a-z-]+)", run([ROOT / "build.sh", "help"], ROOT), re.MULTILINE)
    assert {"demo", "test", "header-check"} <= set(verbs)
    assert re.search(r"^ascend-deepep = ", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)


@pytest.mark.fast
@pytest.mark.parametrize("verb", ["demo", "sim", "size"])
def test_the_options_of_a_command_exist(verb: str) -> None:
    text = run([sys.executable, "-m", "ascend_deepep.cli", verb, "--help"], ROOT)
    named = re.findall(r"--[a-z-]+", rows("Interfaces")[f"`ascend-deepep {verb}`"])
    assert len(named) > 5
    assert [option for option in named if option not in text] == []


def test_the_limits_are_those_of_the_library() -> None:
    from ascend_deepep import _runtime

    limits = _runtime.limits()
    numbers = {name: [int(number) for number in re.findall(r"\d+", text)] for name, text in rows("Limits").items()}
    assert numbers == {
        "ranks": [1, limits["max_ranks"]],
        "experts, all ranks": [limits["max_experts"]],
        "local experts x ranks": [limits["max_blocks_per_rank"]],
        "tokens per rank and call": [0, limits["max_tokens"]],
        "top-k": [1, limits["max_topk"]],
        "hidden": [limits["min_hidden"], limits["max_hidden"], limits["hidden_multiple"]],
        "cores of a kernel": [limits["min_cores"], limits["max_cores"]],
        "bytes of a communicator's name": [1, limits["max_name_length"]],
    }


@pytest.mark.fast
def test_the_errors_are_those_of_the_package() -> None:
    from ascend_deepep import errors

    named = {name for cell in rows("Errors") for name in re.findall(r"`(\w+)`", cell)}
    assert named == {*errors.__all__, "NotImplementedError"}


@pytest.mark.fast
@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Links, and paths of the repository in backticks. Patterns and names with `...` are no paths."""
    text = (ROOT / page).read_text()
    places = {link: (ROOT / page).parent / link for link in re.findall(r"\]\((?!https?:)([^)#]+)", text)}
    roots = "docs|examples|framework|op_host|op_kernel|tests|tools|twin"
    places |= {path: ROOT / path for path in re.findall(rf"`((?:{roots})/[\w./-]+)`", text)}
    assert [place for place, path in places.items() if not path.exists()] == []
