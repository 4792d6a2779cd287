# SPDX-License-Identifier: Apache-2.0
"""What every rank runs: the cases of one communicator after another. Layer: Python, torch.

Findings are gathered after every case, so that all ranks know whether the communicator can go on, and rank 0 reports.
A difference found in dispatch does not keep a rank from its combine: the others wait for it.
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor

from ascend_deepep import _runtime, ops
from ascend_deepep.communicator import Communicator
from ascend_deepep.conformance import calls, checks
from ascend_deepep.conformance.cases import Call, Case, Refusal
from ascend_deepep.conformance.inputs import Inputs
from ascend_deepep.conformance.oracle import Expected
from ascend_deepep.demo.device import choose_device

if TYPE_CHECKING:
    from ascend_deepep.testing import Context

TIMEOUT_MS = 20_000
_LATE_SECONDS = 0.2


@dataclass(frozen=True)
class Group:
    """Cases that share a communicator with these maxima."""

    maxima: dict[str, Any]
    #: "exact", "double" or "": its size of window.
    window: str
    cases: list[Case]


@dataclass(frozen=True)
class Finished:
    """What rank 0 reports of a case."""

    id: str
    findings: list[str]
    seconds: float


def conformance_rank(context: Context, groups: list[Group]) -> None:
    """Run all groups; their results are reports."""
    torch.set_num_threads(1)
    device = choose_device(context.rank)
    for group in groups:
        runner = _Runner(context, group, device)
        for case in group.cases:
            start = time.monotonic()
            findings = runner.findings(case)
            findings = _shared_findings(context, findings, runner)
            if context.rank == 0:
                context.report(Finished(case.id, findings, time.monotonic() - start))
        runner.close()


def _shared_findings(context: Context, findings: list[str], runner: _Runner) -> list[str]:
    """Those of all ranks; also the barrier between cases. A communicator that broke on any rank goes on all of them."""
    failed = torch.tensor([len(findings)])
    dist.all_reduce(failed)
    if int(failed) == 0:
        return []
    gathered: list[Any] = [None] * context.num_ranks
    dist.all_gather_object(gathered, (findings, runner.is_broken()))
    if any(is_broken for _, is_broken in gathered):
        runner.close()
    ranks: dict[str, list[int]] = {}
    for rank, (part, _) in enumerate(gathered):
        for finding in part:
            ranks.setdefault(finding, []).append(rank)
    return [f"rank {', '.join(map(str, found))}: {finding}" for finding, found in ranks.items()]


def window_bytes(maxima: dict[str, Any], num_ranks: int, kind: str) -> int | None:
    """The size of a window by its word."""
    if not kind:
        return None
    need = int(_runtime.required_window_bytes(num_ranks, **maxima))
    return {"exact": need, "double": 2 * need, "need-1": need - 1, "need/2": need // 2}[kind]


class _Runner:
    """The communicator of a group on one rank; made when it is first needed, and again after a failure."""

    def __init__(self, context: Context, group: Group, device: torch.device) -> None:
        self._context = context
        self._group = group
        self._device = device
        self._communicator: Communicator | None = None

    def close(self) -> None:
        """Close the communicator, if there is one."""
        if self._communicator is not None:
            self._communicator.close()
        self._communicator = None

    def is_broken(self) -> bool:
        """Whether there is none that could go on."""
        return self._communicator is None or checks.attempt(self._communicator.check) is not None

    @property
    def _comm(self) -> Communicator:
        if self._communicator is None:
            self._communicator = self._make({})
        return self._communicator

    def _make(self, change: dict[str, Any]) -> Communicator:
        given: dict[str, Any] = dict(self._group.maxima)
        given["window_bytes"] = window_bytes(given, self._context.num_ranks, self._group.window)
        given.update(change)
        return Communicator(self._context.group, timeout_ms=TIMEOUT_MS, **given)

    def findings(self, case: Case) -> list[str]:
        """Run a case; what raises is a finding."""
        try:
            if case.refusal is not None:
                return self._refuse(case, case.refusal)
            return self._exact(case, with_meta=True)
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]

    def _exact(self, case: Case, with_meta: bool = False) -> list[str]:
        """Dispatch, experts, combine, and shape inference of both."""
        rank, call = self._context.rank, case.call
        inputs = Inputs(case)
        expected = Expected(inputs, rank)
        arguments = calls.dispatch_arguments(inputs, self._comm.name, rank)
        if call.path == "compile":
            return self._compiled(inputs, expected, arguments)
        expected.combined, expected.rows  # noqa: B018 - made before the clock runs
        outputs, waited = self._timed("dispatch_v2", arguments, call)
        received = [output.cpu() for output in outputs]
        found = checks.described("dispatch_v2", received, expected.described())
        if not found:
            found = checks.dispatched(expected, received)
        found += checks.waits(expected, *waited, "dispatch_v2")
        second = calls.combine_arguments(inputs, self._comm.name, rank, expected, received)
        if case.refusal is not None and case.refusal.op == "combine" and not with_meta:
            found += self._refused_call(case.refusal, "combine_v2", second)
        combined, waited = self._timed("combine_v2", second, call)
        finding = checks.same("combined x", combined.cpu(), expected.combined)
        found += [finding] if finding else []
        found += checks.waits(expected, *waited, "combine_v2")
        if with_meta:
            found += self._shapes(expected, arguments, second)
        checks.poison([*outputs, combined])
        return found

    def _timed(self, name: str, arguments: calls.Arguments, call: Call) -> tuple[Any, tuple[Tensor | None, float]]:
        """The result, and performance_info with the microseconds of the call."""
        there = calls.moved(arguments, self._device)
        operator = getattr(torch.ops.npu, name)
        if call.path == "wrapper":
            operator = getattr(ops, name)
            there |= {"group_ep": self._comm, "expert_ids": there["expert_ids"].long()}
            there |= {"ep_world_size": None, "ep_rank_id": None}
        if call.performance == "late":
            dist.barrier()
            time.sleep(_LATE_SECONDS if self._context.rank == 0 else 0.0)
        start = time.perf_counter()
        result = calls.invoke(operator, there)
        self._comm.synchronize()
        spent = (time.perf_counter() - start) * 1e6
        info = there["performance_info"]
        return result, (None if info is None else info.cpu(), spent)

    def _shapes(self, expected: Expected, first: calls.Arguments, second: calls.Arguments) -> list[str]:
        """Shape inference says what came out."""
        call = expected.inputs.call
        outputs = calls.invoke(torch.ops.npu.dispatch_v2, calls.moved(first, "meta"))
        combined = calls.invoke(torch.ops.npu.combine_v2, calls.moved(second, "meta"))
        want = ((call.tokens[expected.rank], call.hidden), getattr(torch, call.out_dtype))
        found = checks.described("meta of dispatch_v2", outputs, expected.described())
        return found + checks.described("meta of combine_v2", [combined], [want])

    def _compiled(self, inputs: Inputs, expected: Expected, arguments: calls.Arguments) -> list[str]:
        """Both operators in one graph."""
        call = inputs.call
        blank = [torch.zeros(shape, dtype=dtype) for shape, dtype in expected.described()]
        second = calls.combine_arguments(inputs, self._comm.name, self._context.rank, expected, blank)
        first_there, second_there = calls.moved(arguments, self._device), calls.moved(second, self._device)

        def layer(x: Tensor, expand_x: Tensor) -> tuple[Any, Any]:
            received = calls.invoke(torch.ops.npu.dispatch_v2, {**first_there, "x": x})
            handed = {"assist_info_for_combine": received[2], "ep_send_counts": received[4]}
            handed |= {"tp_send_counts": received[5], "expand_scales": received[6]}
            return received, calls.invoke(torch.ops.npu.combine_v2, {**second_there, **handed, "expand_x": expand_x})

        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        received, combined = compiled(first_there["x"], second_there["expand_x"])
        held = [output.cpu() for output in received]
        found = checks.described("compiled dispatch_v2", held, expected.described())
        found = found or checks.dispatched(expected, held)
        finding = checks.same("compiled combined x", combined.cpu(), expected.combined)
        torch._dynamo.reset()
        assert call.performance == "none"
        return found + ([finding] if finding else [])

    def _refuse(self, case: Case, refusal: Refusal) -> list[str]:
        """The changed call, then the same without the change, which must be exact."""
        if refusal.op == "combine":  # the changed call stands between the dispatch and the good combine
            return self._exact(case)
        rank, inputs = self._context.rank, Inputs(case)
        found: list[str] = []
        if refusal.op == "communicator":
            found = self._refused_communicator(refusal, inputs)
        elif refusal.op == "dispatch":
            arguments = calls.dispatch_arguments(inputs, self._comm.name, rank)
            found = self._refused_call(refusal, "dispatch_v2", arguments)
        elif rank in (refusal.who, 0 if refusal.who == -1 else refusal.who):
            found = self._refused_inference(refusal, inputs)
        return found + self._exact(case)

    def _refused_call(self, refusal: Refusal, name: str, arguments: calls.Arguments) -> list[str]:
        is_own = refusal.who in (-1, self._context.rank)
        if not is_own and not refusal.others:
            return []
        given = calls.moved(arguments, self._device)
        given = calls.changed(given, refusal.change) if is_own else given
        # Of a tensor that is none only the wrappers can tell the other ranks.
        is_wrapped = is_own and any(value is None for value in refusal.change.values())

        def call() -> None:
            getattr(ops, name)(**given) if is_wrapped else calls.invoke(getattr(torch.ops.npu, name), given)
            self._comm.synchronize()

        return checks.refused(refusal, self._context.rank, checks.attempt(call))

    def _refused_inference(self, refusal: Refusal, inputs: Inputs) -> list[str]:
        rank = self._context.rank
        arguments = calls.dispatch_arguments(inputs, self._comm.name, rank)
        operator = torch.ops.npu.dispatch_v2
        if refusal.op == "meta-combine":
            expected = Expected(inputs, rank)
            blank = [torch.zeros(shape, dtype=dtype) for shape, dtype in expected.described()]
            arguments = calls.combine_arguments(inputs, self._comm.name, rank, expected, blank)
            operator = torch.ops.npu.combine_v2
        given = calls.moved(calls.changed(arguments, refusal.change), "meta")
        return checks.refused(refusal, rank, checks.attempt(lambda: calls.invoke(operator, given)))

    def _refused_communicator(self, refusal: Refusal, inputs: Inputs) -> list[str]:
        """A communicator that cannot be, beside the one that can; in a graph its name is unknown."""
        rank = self._context.rank
        self._comm  # noqa: B018 - all ranks have the good one first
        change = dict(refusal.change) if refusal.who in (-1, rank) else {}
        word = change.get("window_bytes")
        if word in ("need-1", "need/2"):
            change["window_bytes"] = window_bytes(self._group.maxima, self._context.num_ranks, str(word))
        error = checks.attempt(lambda: self._make({"name": "refused", **change}))
        found = checks.refused(refusal, rank, error)
        if inputs.call.path == "compile":
            arguments = calls.dispatch_arguments(inputs, "refused", rank)
            call = torch.compile(functools.partial(calls.invoke, torch.ops.npu.dispatch_v2), backend="aot_eager")
            unknown = checks.attempt(lambda: call(calls.moved(arguments, self._device)))
            if unknown is None or "group_ep 'refused' names no communicator" not in str(unknown):
                found.append(f"the graph's call was not refused as one of an unknown group: {unknown}")
        return found
