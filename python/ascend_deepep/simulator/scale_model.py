# SPDX-License-Identifier: Apache-2.0
"""From large worlds to larger ones: what grows with ranks, role by role, and which role takes longest. Layer: Python.

The busy time of a role's busiest core is fitted, with no negative term, as

    fixed + sum of each_x x number of x

where x is what the role's loops go over (`loads`): queues it serves, those among them that carry anything (`open`),
WQEs or rows, messages it posts and reads, and loads of counts. How many there are is counted, not fitted: it follows
from ranks, cores, tokens and the roles that op_host gives them. Times hold for the costs of the virtual clock of the
runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ascend_deepep.simulator.scale import COMBINE, DISPATCH, EXPERTS, HIDDEN, TOPK, Measured, ScaleWorld

if TYPE_CHECKING:
    from ascend_deepep._simulator import LayoutDict


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


def traffic(ranks: int, experts: int, tokens: int) -> tuple[float, float]:
    """Token copies that a rank sends to others in an operation, and peers that get any.

    Expected, for uniform choices of different experts.
    """
    missed = comb(experts - experts // ranks, TOPK) / comb(experts, TOPK)
    return tokens * (ranks - 1) * (1 - missed), (ranks - 1) * (1 - missed**tokens)


def loads(layout: LayoutDict, ranks: int, tokens: int) -> dict[tuple[str, str], dict[str, float]]:
    """What the busiest core of a role has to do, by the role split. Roles that ranks do not change are left out."""
    roles = layout["roles"]
    local = layout["local_experts"]
    copies, open_queues = traffic(ranks, local * ranks, tokens)
    rows = tokens * TOPK * (ranks - 1) / ranks  # for other ranks, on average
    receivers = (ranks - 1) * (1 - (1 - 1 / ranks) ** (tokens * TOPK))

    def share(total: float, cores: int) -> float:
        return -(-total // cores)

    def of_queues(cores: int) -> dict[str, float]:
        return {"queue": share(ranks - 1, cores), "open": open_queues / cores, "wqe": copies / cores}

    sends, doorbells = roles[COMBINE]["send"][1], roles[COMBINE]["doorbell"][1]
    counted = {
        (DISPATCH, "wqe_builder"): of_queues(roles[DISPATCH]["wqe_builder"][1]),
        (DISPATCH, "doorbell"): of_queues(roles[DISPATCH]["doorbell"][1]),
        (DISPATCH, "cumsum"): {"message": share(ranks, roles[DISPATCH]["cumsum"][1])},
        (COMBINE, "control"): {"message": share(ranks, roles[COMBINE]["control"][1])},
    }
    if doorbells == 0:
        # The window of each other rank, and where the rows of each of its (expert, rank) pairs begin and end.
        counted[COMBINE, "send"] = {"load": (ranks - 1) * (1 + 2 * local), "row": rows / sends}
    else:
        counted[COMBINE, "send"] = {"load": 2 * local * (share(ranks - 1, sends) + 1), "row": rows / sends}
        of_doorbell = {"load": 2 * local * (ranks - 1), "open": receivers, "row": rows}
        counted[COMBINE, "doorbell"] = {name: count / doorbells for name, count in of_doorbell.items()}
    return counted


def fit(rows: Sequence[Measured]) -> Model:
    """A term for each role that ranks change, from all rows. Needs two numbers of ranks."""
    counts = [loads(layout_of(row.world), row.world.ranks, row.world.tokens) for row in rows]
    model = {}
    for operator, role in counts[0]:
        busy = np.array([row.roles[operator][role].busy_us for row in rows])
        names = counts[0][operator, role]
        model[operator, role] = _fit(
            busy, {name: np.array([count[operator, role][name] for count in counts]) for name in names}
        )
    return model


def _fit(busy: NDArray[np.float64], columns: Mapping[str, NDArray[np.float64]]) -> Term:
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

    world: ScaleWorld
    layout: LayoutDict
    busy_us: dict[tuple[str, str], float]

    def bottleneck(self, operator: str) -> str:
        """The role whose busiest core works longest."""
        roles = {role: busy for (name, role), busy in self.busy_us.items() if name == operator}
        return max(roles, key=lambda role: roles[role])

    def to_json(self) -> dict[str, object]:
        """The row of `--json`."""
        return {
            "ranks": self.world.ranks,
            "cores": self.world.cores,
            "tokens": self.world.tokens,
            "experts": experts_for(self.world.ranks),
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
                f"{operator}.{role}": counts
                for (operator, role), counts in loads(self.layout, self.world.ranks, self.world.tokens).items()
            },
        }


def extrapolate(model: Model, world: ScaleWorld) -> Extrapolated:
    """What the model says of a world, with the roles that op_host would give it."""
    layout = layout_of(world)
    counts = loads(layout, world.ranks, world.tokens)
    return Extrapolated(world, layout, {key: model[key].busy_us(counts[key]) for key in counts})


def layout_of(world: ScaleWorld) -> LayoutDict:
    """Roles and layout of its communicator."""
    from ascend_deepep import _simulator

    return _simulator.scale_layout(
        ranks=world.ranks,
        cores=world.cores,
        tokens=world.tokens,
        hidden=HIDDEN,
        topk=TOPK,
        experts=experts_for(world.ranks),
        engine=world.engine,
    )
