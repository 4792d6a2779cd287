# SPDX-License-Identifier: Apache-2.0
"""Wheel and source distribution, installed as a user does: new environment, torch in it, far from the checkout.

Layer: tests, long lane. The environments hold pip and torch only; torch is not installed again (30 s each) but borrowed
from the environment that runs the tests: a .pth file adds a folder of links to torch and the distributions it needs, so
nothing else of that environment, least of all an editable ascend_deepep, can be seen.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
DEMO = ["demo", "--ranks", "2", "--tokens", "8", "--hidden", "64", "--topk", "2", "--experts", "4", "--json"]


def run(command: list[str | Path], **options: object) -> str:
    """Standard output of a command that must succeed; what it said otherwise is in the failure."""
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ASCEND_DEEPEP_", "VIRTUAL"))
    }
    done = subprocess.run(command, capture_output=True, text=True, env=env, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return str(done.stdout)


def torch_closure() -> set[str]:
    """Names of torch and of the distributions that it needs."""
    open_names, closed = {"torch"}, set[str]()
    while open_names:
        name = open_names.pop()
        closed.add(name)
        for need in importlib.metadata.requires(name) or ():
            wanted = re.split(r"[^\w.-]", need, maxsplit=1)[0]
            try:
                importlib.metadata.distribution(wanted)
            except importlib.metadata.PackageNotFoundError:
                continue
            if "extra ==" not in need and wanted not in closed:
                open_names.add(wanted)
    return closed


def lend_torch(python: Path, folder: Path) -> None:
    """Let the environment of `python` see torch and its needs through a folder of links."""
    folder.mkdir()
    for name in torch_closure():
        for file in importlib.metadata.distribution(name).files or ():
            top = file.parts[0]
            if top not in ("..", "bin", "__pycache__") and not (folder / top).exists():
                (folder / top).symlink_to(Path(str(importlib.metadata.distribution(name).locate_file(top))))
    site = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    (Path(site) / "borrowed_torch.pth").write_text(f"{folder}\n")


def new_environment(path: Path) -> Path:
    """A virtual environment with pip and torch; returns its interpreter."""
    run([sys.executable, "-m", "venv", path])
    python = path / "bin/python"
    lend_torch(python, path / "torch")
    return python


def version() -> str:
    """The version, where it stands."""
    found = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the wheel and the source distribution of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir", folder, ROOT])
    return folder


def only(folder: Path, pattern: str) -> Path:
    """The one file that matches."""
    (found,) = folder.glob(pattern)
    return found


def test_metadata_names_no_torch(distributions: Path) -> None:
    with zipfile.ZipFile(only(distributions, "*.whl")) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert not re.search(r"^Requires-Dist: torch", metadata, re.MULTILINE)
    libraries = {Path(name).name for name in names if name.endswith(".so")}
    expected = {"runtime", "kernels_fast", "kernels_sim", "ops", "ops_cpu"}
    if platform.machine() == "x86_64":
        expected.add("kernels_fast_x86_64_v3")
    assert {f"libascend_deepep_{name}.so" for name in expected} < libraries
    assert re.search(rf"^Version: {re.escape(version())}$", metadata, re.MULTILINE)
    assert all(name.startswith(("ascend_deepep/", "ascend_deepep-")) for name in names)


def test_the_wheel_works_outside_the_checkout(distributions: Path, tmp_path: Path) -> None:
    python = new_environment(tmp_path / "env")
    run([python, "-m", "pip", "install", "-q", only(distributions, "*.whl")], cwd=tmp_path)
    where = run([python, "-c", "import ascend_deepep; print(ascend_deepep.__file__)"], cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
    command = python.parent / "ascend-deepep"
    assert run([command, "doctor"], cwd=tmp_path).strip()
    last = run([command, *DEMO], cwd=tmp_path).strip().splitlines()[-1]
    assert json.loads(last)["exact"] is True
    assert run([command, "--version"], cwd=tmp_path) == f"ascend-deepep {version()}\n"
    run([python, "-c", "import ascend_deepep.integrations.torch_npu"], cwd=tmp_path)
    run([python, ROOT / "tools/build/cpu_torch.py"], cwd=tmp_path)


def test_the_source_distribution_builds_under_isolation(distributions: Path, tmp_path: Path) -> None:
    python = new_environment(tmp_path / "env")
    run([python, "-m", "pip", "install", "-q", only(distributions, "*.tar.gz")], cwd=tmp_path)
    assert run([python.parent / "ascend-deepep", "doctor"], cwd=tmp_path).strip()
    run([python, ROOT / "tools/build/cpu_torch.py"], cwd=tmp_path)


def test_an_editable_installation_follows_its_sources(distributions: Path, tmp_path: Path) -> None:
    """From the unpacked source distribution: what pip writes must not get into this checkout."""
    with tarfile.open(only(distributions, "*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    source = only(tmp_path, "ascend_deepep-*")
    python = new_environment(tmp_path / "env")
    run([python, "-m", "pip", "install", "-q", "-e", source], cwd=tmp_path)
    show = [python, "-c", "import ascend_deepep.errors as it; print(it.__file__, getattr(it, 'EDITED', 0))"]
    module = source / "python/ascend_deepep/errors.py"
    assert run(show, cwd=tmp_path).split() == [str(module), "0"]
    module.write_text(module.read_text() + "\nEDITED = 1\n")
    assert run(show, cwd=tmp_path).split() == [str(module), "1"]
    last = run([python.parent / "ascend-deepep", *DEMO], cwd=tmp_path).strip().splitlines()[-1]
    assert json.loads(last)["exact"] is True
    assert run([python.parent / "ascend-deepep", "doctor"], cwd=tmp_path).strip()


def test_without_torch_the_build_says_what_to_do(distributions: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", tmp_path / "env"])
    command = [tmp_path / "env/bin/python", "-m", "pip", "install", only(distributions, "*.tar.gz")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "install torch first" in said and "pip install torch==" in said
