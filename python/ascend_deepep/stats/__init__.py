# SPDX-License-Identifier: Apache-2.0
"""Who waited for whom, how long calls took and how many rows experts got, over steps. Layer: Python.

    recorder = Recorder(comm)
    for step in range(steps):
        received = recorder.dispatch_v2(x, expert_ids)
        ...                                                # the experts
        y = recorder.combine_v2(rows, expert_ids, received.assist_info_for_combine, received.ep_recv_counts, scales)
    statistics = recorder.gather(group)                    # collective: the same on every rank
    statistics.save("layer.json")                          # `ascend-deepep diagnose --from layer.json`
    plot(statistics, Path("layer"))                        # layer.png and layer.svg

`Statistics` and `plot` need no torch; `Recorder` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascend_deepep.stats.plot import plot as plot
from ascend_deepep.stats.statistics import COMBINE as COMBINE
from ascend_deepep.stats.statistics import DISPATCH as DISPATCH
from ascend_deepep.stats.statistics import FORMAT as FORMAT
from ascend_deepep.stats.statistics import Link as Link
from ascend_deepep.stats.statistics import OperatorStatistics as OperatorStatistics
from ascend_deepep.stats.statistics import Statistics as Statistics

if TYPE_CHECKING:
    from ascend_deepep.stats.recorder import Recorder as Recorder

__all__ = ["COMBINE", "DISPATCH", "FORMAT", "Link", "OperatorStatistics", "Recorder", "Statistics", "plot"]


def __getattr__(name: str) -> object:
    if name != "Recorder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ascend_deepep.stats.recorder import Recorder

    return Recorder
