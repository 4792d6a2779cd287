# SPDX-License-Identifier: Apache-2.0
"""The oracle of `combine_reduce` "rank": sums of rows by the rank that computed them, in plain torch. Layer: none.

Imports nothing of this package, as `reference` does, whose rows and destinations it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

__all__ = ["combine", "combine_rank"]


def _partial(
    rows_of: Callable[[int, Tensor], Tensor], destination: Tensor, weights: Tensor | None, first: int, hidden: int
) -> tuple[Tensor, Tensor]:
    """(n,) tokens whose column `first` is the first one for its rank, and (n, hidden) float32 sums for that rank."""
    host = destination[:, first]
    is_first = (host >= 0) & ~(destination[:, :first] == host[:, None]).any(dim=1)
    total = torch.zeros(destination.shape[0], hidden, dtype=torch.float32)
    for column in range(first, destination.shape[1]):
        tokens = (is_first & (destination[:, column] == host)).nonzero()[:, 0]
        term = rows_of(column, tokens).to(torch.float32)
        if weights is not None and column < weights.shape[1]:
            term = term * weights[tokens, column].to(torch.float32)[:, None]
        total[tokens] = total[tokens] + term
    tokens = is_first.nonzero()[:, 0]
    return tokens, total[tokens]


def combine_rank(
    rows_of: Callable[[int, Tensor], Tensor],
    destination: Tensor,
    weights: Tensor | None,
    hidden: int,
    dtype: torch.dtype,
    shared: Tensor | None = None,
) -> Tensor:
    """The (tokens, hidden) output of one rank.

    `rows_of(column, tokens)` gives the rows of these tokens for this column, (n, hidden); `destination`, (tokens,
    columns), says which rank computes them, -1 for none. A partial is the float32 sum, from zero, of a token's rows of
    one rank, column ascending, each times its weight and then added, rounded to `dtype`. `weights`, (tokens, top-k),
    are those that dispatch got; columns behind them weigh 1, and None is a plain sum. Partials are added in float32 in
    the order of their first columns, then `shared`, (tokens, hidden); one rounding at the end.
    """
    total = torch.zeros(destination.shape[0], hidden, dtype=torch.float32)
    for first in range(destination.shape[1]):
        tokens, sums = _partial(rows_of, destination, weights, first, hidden)
        total[tokens] = total[tokens] + sums.to(dtype).to(torch.float32)
    if shared is not None:
        total = total + shared.to(torch.float32)
    return total.to(dtype)


def combine(
    y: Sequence[Tensor],
    destination: Sequence[Tensor],
    row: Sequence[Tensor],
    active: Sequence[Tensor],
    weights: Sequence[Tensor] | None = None,
    shared_expert_x: Sequence[Tensor] | None = None,
) -> list[Tensor]:
    """Per rank, the (tokens, hidden) output. `y[rank]` holds the experts' outputs in the row order of dispatch.

    `destination`, `row` and `active` are those of `reference.Route`. `shared_expert_x[rank]` counts for tokens that are
    active.
    """
    outputs = []
    for source, hosts in enumerate(destination):

        def rows_of(column: int, tokens: Tensor, source: int = source, hosts: Tensor = hosts) -> Tensor:
            rows = torch.empty(tokens.shape[0], y[0].shape[1], dtype=y[0].dtype)
            for host in sorted(set(hosts[tokens, column].tolist())):
                mine = hosts[tokens, column] == host
                rows[mine] = y[host][row[source][tokens, column][mine]]
            return rows

        scales = None if weights is None else weights[source]
        shared = None
        if shared_expert_x is not None:
            shared = torch.where(active[source][:, None], shared_expert_x[source], 0)
        outputs.append(combine_rank(rows_of, hosts, scales, y[0].shape[1], y[0].dtype, shared))
    return outputs
