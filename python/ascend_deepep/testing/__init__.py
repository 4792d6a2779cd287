# SPDX-License-Identifier: Apache-2.0
"""Run a function on N ranks of this host. Layer: Python; knows torch.distributed, not the operators.

    def body(context: Context, scale: float) -> float:
        return scale * context.rank

    run(body, 4, 0.5)        # [0.0, 0.5, 1.0, 1.5]

Ranks are forked from a server that holds torch, stay alive for the next call and are replaced when they die. Each has
one torch thread and a gloo process group of the call's size; nothing uses a fixed port. A failure shows the traceback
of every rank that failed.
"""

from __future__ import annotations

from ascend_deepep.testing.pool import Outcome, Pool, RankErrors, run, shared_pool
from ascend_deepep.testing.worker import Context

__all__ = ["Context", "Outcome", "Pool", "RankErrors", "run", "shared_pool"]
