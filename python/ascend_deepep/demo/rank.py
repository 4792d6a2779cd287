# SPDX-License-Identifier: Apache-2.0
"""What every rank of the demo runs: rounds of dispatch, experts and combine, each checked at once. Layer: Python.

Counts, rows, triples and traffic are compared with the oracle here. Outputs are compared here where they follow from
the row alone (exact experts); those of the SwiGLU experts go to the process that started the ranks.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

import torch
import torch.distributed as dist
from torch import Tensor

from ascend_deepep import (
    Communicator,
    DeepEPError,
    DispatchOutput,
    combine_v2,
    dispatch_v2,
    reference,
    reference_by_rank,
)
from ascend_deepep.config import TWIN
from ascend_deepep.demo import compare
from ascend_deepep.demo.device import choose_device, to_host
from ascend_deepep.demo.experts import ExactExperts, Experts, apply_blocks, exact_factor, make_experts
from ascend_deepep.demo.features import COMM_QUANTS
from ascend_deepep.demo.inputs import Payload, Round, make_payload
from ascend_deepep.demo.options import FaultPlace, Options
from ascend_deepep.demo.quantise import Quantiser, make_quantiser

if TYPE_CHECKING:
    from ascend_deepep._runtime import CountersDict
    from ascend_deepep.testing import Context

_REPORT_SECONDS = 0.1
_SUBGROUP_EVERY = 4  # rounds between operations of the communicator over half of the ranks


@dataclass
class RankResult:
    """What a rank has to say at the end. Traffic is that of the last round."""

    rank: int
    tokens: int = 0
    rows: int = 0
    hottest_expert: int = -1
    hottest_rows: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    role_ns: dict[str, int] = field(default_factory=dict)
    dispatch_us: float = 0.0
    combine_us: float = 0.0
    layout: str = ""
    window_bytes: int = 0
    num_cores: int = 0
    mismatch: compare.Mismatch | None = None
    error: dict[str, object] | None = None
    #: Whether the fault that was to happen on this rank did.
    fault_fired: bool = False
    #: Outputs that the starter compares, by round; empty where they were compared here.
    outputs: list[Tensor] = field(default_factory=list)


def demo_rank(context: Context, options: Options, rounds: list[Round], fault: FaultPlace | None = None) -> RankResult:
    """Run all iterations, or as far as the first error or difference."""
    torch.set_num_threads(1)
    result = RankResult(context.rank)
    device = choose_device(context.rank)
    communicators, subgroup = _make_communicators(context, options)
    if fault is not None and options.fault is not None and fault.rank == context.rank:
        communicators[0]._plant_fault(options.fault, options.seed, fault.events)
    try:
        _Runner(context, options, rounds, result, device).run(communicators, subgroup)
    except DeepEPError as error:
        result.error = describe_error(error)
    finally:
        result.layout, result.window_bytes = communicators[0].layout, communicators[0].window_bytes
        result.num_cores = communicators[0].num_cores
        result.fault_fired = communicators[0]._fault_fired()
        for communicator in [*communicators, *filter(None, [subgroup])]:
            communicator.close()
    return result


def describe_error(error: DeepEPError) -> dict[str, object]:
    """An error as the JSON object has it."""
    return {
        "kind": type(error).__name__,
        "message": str(error),
        "rank": error.rank,
        "root": error.root,
        "stage": error.stage,
        "operation": error.operation,
        "seconds": None if error.seconds is None else round(error.seconds, 3),
    }


def _make_communicators(context: Context, options: Options) -> tuple[list[Communicator], Communicator | None]:
    def make(group: dist.ProcessGroup) -> Communicator:
        return Communicator(
            group,
            max_tokens=options.max_tokens,
            hidden=options.hidden,
            num_topk=options.num_topk,
            num_experts=options.num_experts,
            shared_expert_num=options.features.shared_expert_num,
            per_expert_copies=options.features.per_expert_copies,
            combine_reduce=options.features.combine_reduce,
            num_cores=options.num_cores,
            timeout_ms=options.timeout_ms,
        )

    communicators = [make(context.group) for _ in range(options.communicators)]
    half = options.num_ranks // 2
    hosts = options.features.moe_ranks(half)
    if options.communicators < 2 or hosts < 1 or options.num_experts % hosts != 0:
        return communicators, None
    group = dist.new_group(list(range(half)))
    return communicators, make(group) if context.rank < half else None


class _Runner:
    """State of the loop over rounds on one rank."""

    def __init__(
        self, context: Context, options: Options, rounds: list[Round], result: RankResult, device: torch.device
    ) -> None:
        self._device = device
        self._context = context
        self._options = options
        self._rounds = rounds
        self._result = result
        self._payload: Payload = make_payload(options)
        self._experts: Experts = make_experts(options)
        self._quantiser: Quantiser = make_quantiser(options.features, options.hidden, options.num_experts, options.seed)
        self._known: dict[tuple[int, int], _Expected] = {}
        self._first_output: Tensor | None = None
        self._reported = 0.0

    def run(self, communicators: list[Communicator], subgroup: Communicator | None) -> None:
        """All iterations, or as far as the first difference."""
        for iteration in range(self._options.iters):
            if self._options.kill == (self._context.rank, iteration):
                os.kill(os.getpid(), signal.SIGKILL)
            self._round(communicators[iteration % len(communicators)], iteration, self._experts)
            if subgroup is not None and iteration % _SUBGROUP_EVERY == 0 and self._result.mismatch is None:
                self._round(subgroup, iteration, ExactExperts())
            if self._result.mismatch is not None:
                return
            self._report(iteration + 1)
        self._result.dispatch_us /= self._options.iters
        self._result.combine_us /= self._options.iters

    def _report(self, finished: int) -> None:
        now = time.monotonic()
        if self._context.rank == 0 and (now - self._reported > _REPORT_SECONDS or finished == self._options.iters):
            self._reported = now
            self._context.report(finished)

    def _round(self, communicator: Communicator, iteration: int, experts: Experts) -> None:
        index = iteration % len(self._rounds)
        expected = self._expect(index, communicator.num_ranks)
        rank, round_ = communicator.rank, self._rounds[index]
        ids, weights, mask = round_.ids[rank], round_.weights[rank], round_.masks[rank]
        x = self._payload.rows(index, rank, torch.arange(len(ids)))
        x_there, scales_there, mask_there = (self._there(tensor) for tensor in (*self._quantiser.tokens(x), mask))
        ids_there, weights_there = ids.to(self._device), weights.to(self._device)
        assert x_there is not None
        before = communicator.counters()
        start = time.perf_counter()
        received = dispatch_v2(
            x_there,
            ids_there,
            communicator,
            scales=scales_there,
            expert_scales=weights_there if self._options.features.sums_by_rank else None,
            x_active_mask=mask_there,
            quant_mode=self._options.features.quant_mode,
            y_dtype=None if self._quantiser.is_plain else self._quantiser.dtype,
            **self._shared(),
        )
        communicator.synchronize()
        dispatched = time.perf_counter()
        held = to_host(received)
        mismatch = self._judge_dispatch(held, expected, index)
        rows = held.expand_x
        if mismatch is None:
            rows = self._computed(held, expected, communicator, experts, x.dtype)
        elif not self._quantiser.is_plain:
            rows = torch.zeros(held.expand_x.shape, dtype=x.dtype)  # the other ranks wait for some rows
        place = (received.assist_info_for_combine, received.ep_recv_counts)
        rows_there = rows.to(self._device)
        combine_start = time.perf_counter()
        output = combine_v2(
            rows_there,
            ids_there,
            *place,
            weights_there,
            communicator,
            x_active_mask=mask_there,
            expand_scales=received.expand_scales if self._options.features.sums_by_rank else None,
            comm_quant_mode=COMM_QUANTS[self._options.features.comm_quant],
            **self._shared(),
        )
        communicator.synchronize()
        combined = time.perf_counter()
        after = communicator.counters()
        if mismatch is None and communicator.target == TWIN:  # whose engine counts what it carries
            mismatch = compare.traffic(expected.traffic[rank], before, after, rank)
        if mismatch is None and isinstance(experts, ExactExperts):
            want = self._exact_output(x, round_, rank, expected)
            mismatch = compare.tensors(rank, "reduce: output", output.cpu(), want)
        elif mismatch is None:
            mismatch = self._keep(output.cpu())
        self._result.mismatch = mismatch
        if communicator.num_ranks == self._options.num_ranks:
            self._result.dispatch_us += (dispatched - start) * 1e6
            self._result.combine_us += (combined - combine_start) * 1e6
            self._note(expected.route.ranks[rank], len(ids), before, after)

    def _expect(self, index: int, num_ranks: int) -> _Expected:
        key = (index, num_ranks)
        if key not in self._known:
            if self._options.vary:
                self._known.clear()
            options = self._options
            round_, shared = self._rounds[index], options.shared
            route = reference.route(round_.ids[:num_ranks], options.num_experts, round_.masks[:num_ranks], shared)
            wire = self._quantiser.wire(options.hidden, options.num_topk, options.max_local_experts(num_ranks))
            traffic = reference.traffic(route, wire, options.combine_engine)
            self._known[key] = _Expected(route, traffic)
        return self._known[key]

    def _judge_dispatch(self, received: DispatchOutput, expected: _Expected, index: int) -> compare.Mismatch | None:
        rank = self._context.rank
        want = expected.route.ranks[rank]

        def rows_of(source: int, tokens: Tensor, scale_rows: Tensor) -> tuple[Tensor, Tensor | None]:
            return self._quantiser.arrived(self._payload.rows(index, source, tokens), scale_rows)

        return (
            compare.tensors(rank, "cumsum: ep_recv_counts", received.ep_recv_counts, want.ep_recv_counts)
            or compare.tensors(rank, "cumsum: expert_token_nums", received.expert_token_nums, want.expert_token_nums(1))
            or compare.tensors(rank, "collect: triples", received.triples, want.triples)
            or compare.rows(rank, received.rows, received.row_scales, want, rows_of)
        )

    def _computed(
        self,
        held: DispatchOutput,
        expected: _Expected,
        communicator: Communicator,
        experts: Experts,
        dtype: torch.dtype,
    ) -> Tensor:
        """What the experts make of the rows, in the shape of expand_x."""
        rank = communicator.rank
        rows = held.expand_x
        if not self._quantiser.is_plain:
            rows = torch.zeros(held.expand_x.shape, dtype=dtype)
            rows[: held.num_rows] = self._quantiser.decode(held.rows, held.row_scales, dtype)
        first = self._options.first_expert(rank, communicator.num_ranks)
        apply_blocks(experts, first, expected.route.ranks[rank].rows_per_expert, rows[: held.num_rows])
        return rows

    def _exact_output(self, x: Tensor, round_: Round, rank: int, expected: _Expected) -> Tensor:
        """What exact experts give, from this rank's tokens alone."""
        options, quantiser = self._options, self._quantiser
        num_topk, route = options.num_topk, expected.route
        factors = torch.tensor([exact_factor(expert) for expert in range(4)])

        def rows_of(tokens: Tensor, experts: Tensor, scale_rows: Tensor) -> Tensor:
            rows = quantiser.decode(*quantiser.arrived(x[tokens], scale_rows), x.dtype)
            return quantiser.returned((rows.to(torch.float32) * factors[experts % 4, None]).to(x.dtype))

        def routed(_column: int, tokens: Tensor, experts: Tensor) -> Tensor:
            return rows_of(tokens, experts, experts + options.features.shared_expert_num)

        if options.features.sums_by_rank:
            ids = round_.ids[rank]

            def of_column(column: int, tokens: Tensor) -> Tensor:
                if column < num_topk:
                    return routed(column, tokens, ids[tokens, column].long())
                same = torch.full_like(tokens, column - num_topk)
                return rows_of(tokens, same + options.num_experts, same)

            weights = round_.weights[rank]
            return reference_by_rank.combine_rank(of_column, route.destination[rank], weights, x.shape[1], x.dtype)
        added = []
        tokens = route.active[rank].nonzero()[:, 0]
        for expert in range(options.features.shared_expert_num):
            addend = torch.zeros_like(x)
            same = torch.full_like(tokens, expert)
            addend[tokens] = rows_of(tokens, same + options.num_experts, same)
            added.append(addend)
        live = torch.where(route.destination[rank][:, :num_topk] >= 0, round_.ids[rank], -1)
        return reference.combine_rank(routed, live, round_.weights[rank], x.shape[1], x.dtype, added)

    def _there(self, tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.to(self._device)

    def _shared(self) -> _Common:
        features = self._options.features
        return {
            "shared_expert_num": features.shared_expert_num,
            "shared_expert_rank_num": features.shared_expert_rank_num,
            "comm_alg": features.comm_alg,
        }

    def _keep(self, output: Tensor) -> compare.Mismatch | None:
        """Keep the outputs of every round whose inputs differ; the others must repeat the first."""
        if self._options.vary or self._first_output is None:
            self._first_output = output
            self._result.outputs.append(output)
            return None
        return compare.tensors(self._context.rank, "reduce: output of a repeated round", output, self._first_output)

    def _note(self, route: reference.RankRoute, tokens: int, before: CountersDict, after: CountersDict) -> None:
        result = self._result
        result.tokens, result.rows = tokens, route.num_rows
        if route.num_rows:
            local = int(route.rows_per_expert.argmax())
            result.hottest_rows = int(route.rows_per_expert[local])
            result.hottest_expert = self._options.first_expert(self._context.rank, self._options.num_ranks) + local
        result.counters = compare.difference(before, after)
        result.role_ns = {role: ns - before["role_ns"].get(role, 0) for role, ns in after["role_ns"].items()}


class _Common(TypedDict):
    """Arguments of both operators."""

    shared_expert_num: int
    shared_expert_rank_num: int
    comm_alg: str


@dataclass(frozen=True)
class _Expected:
    route: reference.Route
    traffic: list[reference.Traffic]
