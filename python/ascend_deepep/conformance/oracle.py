# SPDX-License-Identifier: Apache-2.0
"""What one rank must see of a case, from `reference` and `reference_quant` alone. Layer: Python, torch.

Rows are judged as they arrive; the experts' outputs follow from the expected rows, so that combine is judged whatever
dispatch did. A row's expert multiplies it by a power of two of its own, so that a row of the wrong expert shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ascend_deepep import reference, reference_by_rank, reference_quant
from ascend_deepep.conformance.cases import Call
from ascend_deepep.conformance.inputs import Inputs

Described = tuple[tuple[int, ...], torch.dtype]


@dataclass(frozen=True)
class Rows:
    """Rows as dispatch delivers them."""

    #: (rows, hidden) of the element type.
    values: Tensor
    #: (rows,) or (rows, columns), as in dynamic_scales; None where nothing is said of it.
    scales: Tensor | None


@dataclass(frozen=True)
class Expected:
    """Of one rank of a case."""

    inputs: Inputs
    rank: int

    @cached_property
    def shared(self) -> reference.SharedExperts:
        """The shared experts as the oracle knows them."""
        call = self.inputs.call
        return reference.SharedExperts(call.shared_num, call.shared[1]) if call.shared_num else reference.NO_SHARED

    @cached_property
    def route(self) -> reference.Route:
        """Of all ranks."""
        inputs = self.inputs
        return reference.route(inputs.ids, inputs.call.experts, inputs.masks, self.shared)

    @property
    def mine(self) -> reference.RankRoute:
        """What this rank receives."""
        return self.route.ranks[self.rank]

    @cached_property
    def rows(self) -> Rows:
        """The rows received, in order."""
        inputs, triples = self.inputs, self.mine.triples.long()
        parts: list[tuple[Tensor, Rows]] = []
        for source in sorted(set(triples[:, 0].tolist())):
            at = (triples[:, 0] == source).nonzero()[:, 0]
            tokens = triples[at, 1]
            parts.append((at, delivered(inputs, source, tokens, self.mine.scale_rows[at])))
        if not parts:
            return delivered(inputs, self.rank, torch.arange(0), torch.arange(0))
        order = torch.cat([at for at, _ in parts]).argsort()
        values = torch.cat([rows.values.view(torch.uint8) for _, rows in parts])[order]
        kind = parts[0][1].values.dtype
        given = [rows.scales for _, rows in parts if rows.scales is not None]
        scales = None
        if given:
            carried = torch.cat([part.view(torch.uint8) if part.element_size() == 1 else part for part in given])
            scales = carried[order].view(given[0].dtype)
        return Rows(values.view(kind), scales)

    @cached_property
    def outputs(self) -> Tensor:
        """(rows, hidden): what this rank's experts make of their rows."""
        call, rank = self.inputs.call, self.rank
        if rank < call.shared[1]:
            expert = call.experts + rank // (call.shared[1] // call.shared[0])
            experts = torch.full((self.mine.num_rows,), expert)
        else:
            local = call.experts // call.hosts
            first = (rank - call.shared[1]) * local
            experts = (first + torch.arange(local)).repeat_interleave(self.mine.rows_per_expert)
        return expert_work(call, self.rows, experts)

    @cached_property
    def expand_scales(self) -> Tensor | None:
        """(rows,) float32; None where nothing is said of them."""
        if not self.inputs.call.expert_scales or self.rank < self.inputs.call.shared[1]:
            return None
        weights = [self.inputs.weights(source) for source in range(self.inputs.call.ranks)]
        found = [weights[source][token, column] for source, token, column in self.mine.triples.tolist()]
        return torch.stack(found) if found else torch.zeros(0)

    @cached_property
    def combined(self) -> Tensor:
        """(tokens, hidden)."""
        call, rank, inputs = self.inputs.call, self.rank, self.inputs
        route, topk = self.route, call.topk

        def returned(tokens: Tensor, experts: Tensor, scale_rows: Tensor) -> Tensor:
            y = expert_work(call, delivered(inputs, rank, tokens, scale_rows), experts)
            return reference_quant.combine_int8_round_trip(y) if call.comm_quant == 2 else y

        def rows_of(_column: int, tokens: Tensor, experts: Tensor) -> Tensor:
            return returned(tokens, experts, experts + call.shared_num)

        dtype = getattr(torch, call.out_dtype)
        active = route.active[rank]
        weights = inputs.weights(rank) if call.weights else None
        shared_x = inputs.shared_x(rank)
        if call.sums_by_rank:

            def of_column(column: int, tokens: Tensor) -> Tensor:
                if column < topk:
                    return rows_of(column, tokens, inputs.ids[rank][tokens, column].long())
                same = torch.full_like(tokens, column - topk)
                return returned(tokens, same + call.experts, same)

            shared_rows = None if shared_x is None else torch.where(active[:, None], shared_x, 0)
            destination = route.destination[rank]
            return reference_by_rank.combine_rank(of_column, destination, weights, call.hidden, dtype, shared_rows)
        tokens = active.nonzero()[:, 0]
        added = []
        for shared in range(call.shared_num):
            addend = torch.zeros(call.tokens[rank], call.hidden, dtype=dtype)
            experts = torch.full_like(tokens, call.experts + shared)
            addend[tokens] = returned(tokens, experts, torch.full_like(tokens, shared))
            added.append(addend)
        if shared_x is not None:
            added.append(torch.where(active[:, None], shared_x, 0))
        kept = torch.where(route.destination[rank][:, :topk] >= 0, inputs.ids[rank], -1)
        return reference.combine_rank(rows_of, kept, weights, call.hidden, dtype, added)

    def described(self) -> list[Described]:
        """Shapes and dtypes of the seven outputs of dispatch (op_contract 1.1, 1.4, 9)."""
        call, rank = self.inputs.call, self.rank
        rows, local = call.capacity(rank), call.local_experts(rank)
        scales: tuple[int, ...] = (rows,)
        kind = torch.float32
        if call.quant == 0 and call.scales != "none":
            scales = (rows, call.scale_columns)
            kind = scale_carrier(call)
        elif call.quant == 3:
            scales = (rows, -(-call.hidden // 128))
        elif call.quant == 4:
            scales, kind = (rows, 2 * -(-call.hidden // 64)), torch.uint8
        return [
            ((rows, call.hidden), getattr(torch, call.carrier or call.element)),
            (scales, kind),
            ((max(call.tokens[rank] * call.topk, 128 * rows),), torch.int32),
            ((local,), torch.int64),
            ((call.ranks * local,), torch.int32),
            ((call.tp_world_size,), torch.int32),
            ((rows,), torch.float32),
        ]


def scale_carrier(call: Call) -> torch.dtype:
    """Type of the tensor of scales that pass through."""
    if call.scales == "rows-float32":
        return torch.float32
    return torch.uint8 if call.scales_dtype is not None else torch.float8_e8m0fnu


def delivered(inputs: Inputs, source: int, tokens: Tensor, scale_rows: Tensor) -> Rows:
    """Tokens of a source as dispatch delivers them. `scale_rows`: the row of the table of scales, of each."""
    call = inputs.call
    x = inputs.x(source).view(torch.uint8)[tokens].view(getattr(torch, call.dtype))
    if call.quant == 0:
        scales = inputs.row_scales(source)
        if scales is None:
            return Rows(x, None)
        carrier = scale_carrier(call)
        return Rows(x, scales.view(torch.uint8)[tokens].view(carrier))
    table = inputs.table
    if table is not None and table.dim() == 2:
        table = table[scale_rows]
    element = getattr(torch, call.element)
    if call.quant == 1:
        assert table is not None
        return Rows(reference_quant.static_int8(x, table).values, None)
    if call.quant == 2:
        made = reference_quant.per_token(x, element, table)
    elif call.quant == 3:
        made = reference_quant.per_group(x, element, table)
    else:
        made = reference_quant.mx(x, element)
    assert made.scales is not None
    scales = made.scales.view(torch.uint8) if call.quant == 4 else made.scales
    return Rows(made.values, scales[:, 0] if call.quant == 2 else scales)


def expert_work(call: Call, rows: Rows, experts: Tensor) -> Tensor:
    """The experts' outputs: rows decoded, times a power of two of their expert."""
    decoded = rows.values.to(torch.float32)
    if call.quant in (2, 3, 4) and rows.scales is not None:
        scales = rows.scales.view(torch.float8_e8m0fnu).to(torch.float32) if call.quant == 4 else rows.scales
        width = {2: call.hidden, 3: reference_quant.GROUP, 4: reference_quant.MX_GROUP}[call.quant]
        table = scales if scales.dim() == 2 else scales[:, None]
        decoded = decoded * table.repeat_interleave(width, dim=1)[:, : call.hidden]
    factors = torch.exp2((experts % 4).to(torch.float32) - 2.0)
    return (decoded * factors[:, None]).to(getattr(torch, call.out_dtype))
