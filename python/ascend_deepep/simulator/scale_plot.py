# SPDX-License-Identifier: Apache-2.0
"""Time by role against ranks, as PNG and SVG. Layer: Python; matplotlib, which the package does not need otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_deepep.simulator.scale import COMBINE, DISPATCH, ROLES, TOKENS, Measured

if TYPE_CHECKING:
    from ascend_deepep.simulator.scale_model import Extrapolated


def plot(rows: Sequence[Measured], larger: Sequence[Extrapolated], path: Path) -> None:
    """Write `path` with .png and .svg in place of its ending: a panel an operator and number of cores.

    Full lines are runs, dashed ones lead to what the model says.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "scale"  # the same file from the same figures
    from matplotlib import pyplot as plt

    core_counts = sorted({row.world.cores for row in rows})
    figure, panels = plt.subplots(
        len(core_counts), 2, figsize=(11, 4 * len(core_counts)), squeeze=False, layout="constrained"
    )
    for line, cores in zip(panels, core_counts, strict=True):
        for panel, operator in zip(line, (DISPATCH, COMBINE), strict=True):
            own = [row for row in rows if row.world.cores == cores and row.world.tokens == TOKENS]
            own.sort(key=lambda row: row.world.ranks)
            for number, role in enumerate(role for role in ROLES[operator] if role in own[0].roles[operator]):
                ranks = [row.world.ranks for row in own]
                busy = [row.roles[operator][role].busy_us for row in own]
                color = f"C{number}"
                panel.plot(ranks, busy, "o-", color=color, label=role)
                more = [row for row in larger if row.world.cores == cores and row.world.tokens == TOKENS]
                more = [row for row in more if (operator, role) in row.busy_us]
                if more:
                    panel.plot(
                        [ranks[-1], *(row.world.ranks for row in more)],
                        [busy[-1], *(row.busy_us[operator, role] for row in more)],
                        "--",
                        marker="x",
                        color=color,
                    )
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            panel.set_xlabel("ranks")
            panel.set_ylabel("busiest core, virtual us")
            panel.set_title(f"{operator}, {cores} cores a rank")
            panel.grid(alpha=0.3)
            panel.legend()
    figure.suptitle(f"busy time by role, {TOKENS} tokens a rank; dashed: model")
    for suffix, metadata in ((".png", {}), (".svg", {"Date": None})):
        figure.savefig(path.with_suffix(suffix), dpi=120, metadata=metadata)
    plt.close(figure)
