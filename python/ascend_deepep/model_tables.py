# SPDX-License-Identifier: Apache-2.0
"""The cost model's results as JSON, as tables and as a picture. Layer: Python; matplotlib where a picture is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ascend_deepep.bench.plot import SUFFIXES
from ascend_deepep.model import Cost, Direction, path_bytes
from ascend_deepep.model_reference import Figure

_MARKERS = "osD^v<>P"


def to_json(of: Cost) -> dict[str, Any]:
    """The row of --json: everything."""
    return {
        **asdict(of.layer),
        "cluster": asdict(of.cluster),
        **{name: _direction(part) for name, part in (("dispatch_v2", of.dispatch), ("combine_v2", of.combine))},
        "us": of.us,
        "collective_us": of.collective_us,
        "path_bytes": path_bytes(of.layer),
    }


def _direction(part: Direction) -> dict[str, Any]:
    return {**asdict(part), "bytes_us": part.bytes_us, "us": part.us, "bound_by": part.bound_by}


def print_costs(costs: Sequence[Cost], axes: Mapping[str, Sequence[object]], console: Console) -> None:
    """A row for dispatch and one for combine of each; what changes between them stands first."""
    named = list(axes) or ["ranks", "tokens"]
    table = Table(box=None)
    for name in named:
        table.add_column(name)
    table.add_column("operator", no_wrap=True)
    for name in ("B/copy", "copies", "off node", "messages", "NIC MB", "local MB", "links", "us", "with sync"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bound by", no_wrap=True)
    for of in costs:
        row = {**asdict(of.layer), **_cluster(of)}
        for operator, part in (("dispatch_v2", of.dispatch), ("combine_v2", of.combine)):
            table.add_row(
                *(str(row[name]) for name in named),
                operator,
                str(part.bytes_per_copy),
                f"{part.copies_off_rank:.2f}",
                f"{part.copies_off_node:.2f}",
                f"{part.messages:.0f}",
                f"{part.nic_bytes / 1e6:.2f}",
                f"{part.local_bytes / 1e6:.2f}",
                f"{part.peer_links}+{part.nic_links}",
                f"{part.us:.1f}",
                "",
                part.bound_by,
            )
        empty = [""] * (len(named) - 1)
        table.add_row("", *empty, "layer", *[""] * 7, f"{of.us:.1f}", f"{of.collective_us:.1f}", end_section=True)
    console.print(table)
    formulas = sorted({of.layer.formula for of in costs})
    console.print(
        f"copies: of a token, by destinations {' and '.join(formulas)}. us: lower bound. with sync: counts are\n"
        "exchanged first and read by a host. links: to peers of the node + by NIC."
    )


def _cluster(of: Cost) -> dict[str, object]:
    links = {"intra": of.cluster.intra, "nic": of.cluster.nic}
    flat: dict[str, object] = {f"{name}_gb_s": link.gb_s for name, link in links.items()}
    flat |= {f"{name}_alpha_us": link.alpha_us for name, link in links.items()}
    return {**asdict(of.cluster), **flat}


def print_figures(figures: Sequence[Figure], console: Console) -> None:
    """The reference, a figure a line."""
    table = Table("figure", "printed", "ours", "", box=None)
    for figure in figures:
        table.add_row(figure.name, figure.printed, figure.ours, "" if figure.holds else "DIFFERS")
    console.print(table)


def plot(costs: Sequence[Cost], axes: Mapping[str, Sequence[object]], stem: Path) -> list[Path]:
    """Write STEM.png and STEM.svg: time of dispatch, combine and layer over the first axis, a line for each other one.

    Each axis of the picture has its unit. Returns the paths.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    first = next(iter(axes), "tokens")
    others = list(axes)[1:]
    settings: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "ascend-deepep", "font.size": 10}
    with mpl.rc_context(settings):
        figure, panels = plt.subplots(1, 3, figsize=(11.5, 4.4), sharey=True)
        lines: dict[str, list[Cost]] = {}
        for of in costs:
            row = {**asdict(of.layer), **_cluster(of)}
            lines.setdefault(", ".join(f"{name} {row[name]}" for name in others), []).append(of)
        for index, (label, of_line) in enumerate(lines.items()):
            x = [{**asdict(of.layer), **_cluster(of)}[first] for of in of_line]
            numeric = all(isinstance(value, (int, float)) for value in x)
            at: list[Any] = list(x) if numeric else list(map(str, x))
            for panel, times in zip(panels, _times(of_line), strict=True):
                marker = _MARKERS[index % len(_MARKERS)]
                panel.plot(at, times, marker=marker, markersize=4, label=label or None)
                if numeric and min(x) > 0 and max(x) >= 8 * min(x):
                    panel.set_xscale("log", base=2)
                    panel.set_xticks(at, [f"{value:g}" for value in at])
                    panel.minorticks_off()
        for panel, title in zip(panels, ("dispatch_v2", "combine_v2", "layer"), strict=True):
            panel.set_title(title)
            panel.set_xlabel(_AXES.get(first, first.replace("_", " ")))
            panel.set_yscale("log")
            panel.yaxis.set_major_formatter("{x:g}")
            panel.grid(True, which="major", alpha=0.3)
        panels[0].set_ylabel("lower bound of the time, us")
        if others:
            panels[-1].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.suptitle(_caption(costs[0], set(axes)), fontsize=9)
        figure.tight_layout()
        paths = [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
        for path in paths:
            figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths


_AXES = {
    "ranks": "ranks",
    "tokens": "tokens per rank",
    "hidden": "elements of a token",
    "topk": "experts of a token",
    "skew": "largest load / mean",
    "intra_gb_s": "local links of a rank, GB/s",
    "nic_gb_s": "NIC of a rank, GB/s",
    "issue_us": "issue cost of a message, us",
}


def _times(costs: Sequence[Cost]) -> tuple[list[float], list[float], list[float]]:
    return [of.dispatch.us for of in costs], [of.combine.us for of in costs], [of.us for of in costs]


def _caption(of: Cost, changing: set[str]) -> str:
    facts = {
        "ranks": f"{of.layer.ranks} ranks",
        "tokens": f"{of.layer.tokens} tokens per rank",
        "hidden": f"hidden {of.layer.hidden}",
        "topk": f"top-{of.layer.topk}",
        "routing": of.layer.routing,
        "dispatch": f"{of.layer.dispatch} out, {of.layer.combine} back",
        "ranks_per_node": f"nodes of {of.cluster.ranks_per_node}",
        "intra_gb_s": f"{of.cluster.intra.gb_s:g} GB/s local",
        "nic_gb_s": f"{of.cluster.nic.gb_s:g} GB/s NIC",
    }
    return "cost model: " + ", ".join(text for name, text in facts.items() if name not in changing)
