# SPDX-License-Identifier: Apache-2.0
"""The numbers of docs/scale.md that follow from op_host, and the clock's costs, are the code's. Layer: tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ascend_deepep import _simulator
from ascend_deepep.simulator.scale import COMBINE, DISPATCH

PAGE = (Path(__file__).resolve().parents[3] / "docs/scale.md").read_text()


def table(heading: str) -> list[list[str]]:
    """Cells of the rows of the first table behind a heading."""
    lines = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert len(rows) > 2
    return rows[2:]


def mib(count: int) -> str:
    """As the page writes it."""
    return f"{count / 2**20:.1f}"


@pytest.mark.fast
def test_memory_is_op_hosts() -> None:
    rows = table("Memory of a rank")
    assert {row[0] for row in rows} >= {"256", "1024"}
    for ranks, experts, tokens, *cells in rows:
        layout = _simulator.scale_layout(
            ranks=int(ranks), cores=64, tokens=int(tokens), hidden=7168, topk=8, experts=int(experts), engine="urma"
        )
        regions = layout["regions"]
        wanted = [mib(regions[name]) for name in ("control_ring", "dispatch_half", "combine_half", "combine_staging")]
        assert cells == [*wanted, mib(layout["window_bytes"]), mib(layout["workspace_bytes"])], ranks


@pytest.mark.fast
def test_roles_are_op_hosts() -> None:
    rows = table("Cores by role")
    assert {row[0] for row in rows} >= {"256", "1024"}
    for ranks, cores, *cells in rows:
        layout = _simulator.scale_layout(
            ranks=int(ranks),
            cores=int(cores),
            tokens=128,
            hidden=7168,
            topk=8,
            experts=max(256, int(ranks)),
            engine="urma",
        )
        roles = layout["roles"]
        counts = [roles[DISPATCH][role][1] for role in ("stage", "wqe_builder", "doorbell", "cumsum")]
        counts += [roles[COMBINE][role][1] for role in ("control", "send")]
        assert cells == [*map(str, counts), str(layout["route_width"])], (ranks, cores)


@pytest.mark.fast
def test_costs_are_those_of_the_clock() -> None:
    rows = {name.strip("`"): int(value) for name, value, _ in table("The virtual clock")}
    assert rows == {name: value for name, value, _ in _simulator.scale_costs()}


@pytest.mark.fast
def test_lines_that_are_named_exist() -> None:
    root = Path(__file__).resolve().parents[3]
    named = re.findall(r"`(op_kernel/[\w/]+\.h)`, `(\w+)`", PAGE)
    assert len(named) >= 4
    for path, function in named:
        assert re.search(rf"\b{function}\b", (root / path).read_text()), (path, function)
