# SPDX-License-Identifier: Apache-2.0
"""From large worlds to larger ones: what grows with ranks, role by role, and which role takes longest. Layer: Python.

The busy time of a role's busiest core is fitted, with no negative term, as

    fixed + each_queue x queues it serves + each_open x queues among them that carry anything + each_wqe x WQEs it
    builds or rings + each_message x messages it posts and reads + each_rank x ranks + each_block x (expert, rank)
    pairs that it looks at

where a role has only the terms that its loops have (`TERMS`). What multiplies them is counted, not fitted: it follows
from ranks, cores and the roles that op_host gives them. The terms hold for the costs of the virtual clock of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ascend_deepep.simulator.scale import COMBINE, DISPATCH, EXPERTS, HIDDEN, TOKENS, TOPK, Measured

if TYPE_CHECKING:
    from ascend_deepep._simulator import LayoutDict

# Operator and role -> what its loops go over. Roles whose time does not grow with ranks have no term but `fixed`.
TERMS: dict[tuple[str, str], tuple[str, ...]] = {
    (DISPATCH, "wqe_builder"): ("queue", "open", "wqe"),
    (DISPATCH, "doorbell"): ("queue", "open", "wqe"),
    (DISPATCH, "cumsum"): ("message",),
    (COMBINE, "control"): ("message",),
    (COMBINE, "send"): ("rank", "block"),
}


@dataclass(frozen=True)
class Term:
    """Fitted microseconds: fixed, and for one of each thing; `error`: the largest of the fit, as a part of the time."""

    fixed_us: float
    each_us: dict[str, float]
    error: float

    def busy_us(self, counts: Mapping[str, float]) -> float:
        """Of a core with these counts."""
        return self.fixed_us + sum(each * counts[name] for name, each in self.each_us.items())


Model = dict[tuple[str, str], Term]


def experts_for(ranks: int) -> int:
    """Routed experts of an extrapolated communicator: those of the runs, or one a rank where there are more ranks."""
    return max(EXPERTS, ranks)


def traffic(ranks: int, experts: int) -> tuple[float, float]:
    """Token copies that a rank sends to others in an operation, and peers that get any.

    Expected, for uniform choices of different experts.
    """
    missed = comb(experts - experts // ranks, TOPK) / comb(experts, TOPK)
    return TOKENS * (ranks - 1) * (1 - missed), (ranks - 1) * (1 - missed**TOKENS)


def loads(layout: LayoutDict, ranks: int) -> dict[tuple[str, str], dict[str, float]]:
    """What the busiest core of a role has to do, by the role split: queues, messages, blocks, WQEs."""
    roles = layout["roles"]
    experts = layout["local_experts"] * ranks
    copies, open_queues = traffic(ranks, experts)

    def share(total: float, cores: int) -> float:
        return -(-total // max(1, cores))

    def of_queues(cores: int) -> dict[str, float]:
        return {"queue": share(ranks - 1, cores), "open": open_queues / cores, "wqe": copies / cores}

    builders, doorbells = roles[DISPATCH]["wqe_builder"][1], roles[DISPATCH]["doorbell"][1]
    return {
        (DISPATCH, "wqe_builder"): of_queues(builders),
        (DISPATCH, "doorbell"): of_queues(doorbells),
        (DISPATCH, "cumsum"): {"message": share(ranks, roles[DISPATCH]["cumsum"][1])},
        (COMBINE, "control"): {"message": share(ranks, roles[COMBINE]["control"][1])},
        (COMBINE, "send"): {"rank": ranks, "block": experts},
    }


def fit(rows: Sequence[Measured], layouts: Sequence[LayoutDict]) -> Model:
    """One term for each role of TERMS, from all rows; `layouts` are those of the rows. Needs two numbers of ranks."""
    model = {}
    for key, names in TERMS.items():
        operator, role = key
        busy = np.array([row.roles[operator][role].busy_us for row in rows])
        counts = [loads(layout, row.world.ranks)[key] for row, layout in zip(rows, layouts, strict=True)]
        model[key] = _fit(busy, {name: np.array([count[name] for count in counts]) for name in names})
    return model


def _fit(busy: np.ndarray, columns: Mapping[str, np.ndarray]) -> Term:
    """Least squares over every choice of columns that gives no negative term; the best of them."""
    best: tuple[float, Term] | None = None
    for size in range(len(columns) + 1):
        for names in combinations(columns, size):
            matrix = np.column_stack([np.ones_like(busy), *(columns[name] for name in names)])
            solution = np.linalg.lstsq(matrix, busy, rcond=None)[0]
            if (solution < 0).any():
                continue
            wrong = np.abs(matrix @ solution - busy)
            error = float((wrong / busy).max())
            each = dict.fromkeys(columns, 0.0) | dict(zip(names, map(float, solution[1:]), strict=True))
            if best is None or float((wrong**2).sum()) < best[0]:
                best = float((wrong**2).sum()), Term(float(solution[0]), each, error)
    assert best is not None  # the mean alone is one
    return best[1]


@dataclass(frozen=True)
class Extrapolated:
    """A communicator that was not run: busy times by role, and the role that takes longest, by operator."""

    ranks: int
    cores: int
    layout: LayoutDict
    busy_us: dict[tuple[str, str], float]

    def bottleneck(self, operator: str) -> str:
        """The role whose busiest core works longest."""
        roles = {role: busy for (name, role), busy in self.busy_us.items() if name == operator}
        return max(roles, key=lambda role: roles[role])

    def to_json(self) -> dict[str, object]:
        """The row of `--json`."""
        return {
            "ranks": self.ranks,
            "cores": self.cores,
            "experts": experts_for(self.ranks),
            "operations": {
                operator: {
                    "bottleneck": self.bottleneck(operator),
                    "busy_us": {
                        role: round(busy, 1) for (name, role), busy in self.busy_us.items() if name == operator
                    },
                }
                for operator in (DISPATCH, COMBINE)
            },
            "loads": {
                f"{operator}.{role}": counts for (operator, role), counts in loads(self.layout, self.ranks).items()
            },
        }


def extrapolate(model: Model, ranks: int, cores: int, engine: str) -> Extrapolated:
    """What the model says of a communicator, with the roles that op_host would give it."""
    layout = layout_of(ranks, cores, engine)
    busy = {key: model[key].busy_us(counts) for key, counts in loads(layout, ranks).items()}
    return Extrapolated(ranks, cores, layout, busy)


def layout_of(ranks: int, cores: int, engine: str) -> LayoutDict:
    """Roles and layout of a communicator with the shape of the runs."""
    from ascend_deepep import _simulator

    return _simulator.scale_layout(
        ranks=ranks,
        cores=cores,
        tokens=TOKENS,
        hidden=HIDDEN,
        topk=TOPK,
        experts=experts_for(ranks),
        engine=engine,
    )
