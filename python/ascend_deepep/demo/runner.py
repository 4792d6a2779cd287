# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of the demo and judges what they send back. Layer: Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from ascend_deepep import reference, reference_by_rank, required_window_bytes
from ascend_deepep.config import PREFIX
from ascend_deepep.demo import compare
from ascend_deepep.demo.experts import apply_blocks, make_experts
from ascend_deepep.demo.inputs import Round, make_payload, make_rounds
from ascend_deepep.demo.options import FaultPlace, Options
from ascend_deepep.demo.quantise import Quantiser, make_quantiser
from ascend_deepep.demo.rank import RankResult, demo_rank
from ascend_deepep.demo.usage import OutOfTime, UsageError
from ascend_deepep.errors import ArgumentError, DeepEPError
from ascend_deepep.testing import Outcome, Pool, RankErrors

_SECONDS_PER_RUN = 600.0  # at least
_SECONDS_PER_ITERATION = 5.0
_MAX_KEPT_BYTES = 4 << 30  # outputs that wait for comparison
MEMORY = "Memory"  # `UsageError.kind` where the machine has not enough of it


@dataclass
class DemoResult:
    """All ranks' results. `results` lacks those of ranks that were killed."""

    options: Options
    results: list[RankResult]
    #: The first error, as the JSON object has it.
    error: dict[str, object] | None = None
    mismatch: compare.Mismatch | None = None
    #: Errors of all ranks that had one.
    errors: list[dict[str, object]] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether every rank finished and everything was equal to the oracle."""
        return self.error is None and self.mismatch is None


def run_demo(
    options: Options, pool: Pool, on_progress: Callable[[int], None] | None = None, timeout: float | None = None
) -> DemoResult:
    """Run the demo on the pool's ranks, for at most `timeout` seconds; None: as many as `budget` gives.

    Raises UsageError for what the communicator refuses, OutOfTime, RankErrors for what nobody foresaw.
    """
    options.check()
    try:
        _check_sizes(options)
    except ArgumentError as error:
        raise _usage_error(error) from None
    seconds = budget(options) if timeout is None else timeout
    payload = make_payload(options)
    rounds = make_rounds(options, payload)
    outcomes = pool.outcomes(
        demo_rank,
        options.num_ranks,
        options,
        rounds,
        _place_fault(options, rounds) if options.fault else None,
        timeout=seconds,
        # Survivors of a kill need their time; after another rank's failure, that of a time-out must do.
        grace=None if options.kill else 60.0,
        env={f"{PREFIX}COMBINE_ENGINE": options.combine_engine},
        on_report=lambda _rank, finished: on_progress(finished) if on_progress else None,
    )
    _raise_unexpected(outcomes, options, seconds)
    results = [outcome.value for outcome in outcomes if outcome.ok]
    errors = [result.error for result in results if result.error is not None]
    mismatches = [result.mismatch for result in results if result.mismatch is not None]
    result = DemoResult(options, results, errors=errors)
    if mismatches:
        result.mismatch = mismatches[0]  # that rank stopped there; errors of others only say that they missed it
    elif errors:
        result.error = min(errors, key=_nearness)
    if result.exact and len(results) == options.num_ranks and results[0].outputs:
        result.mismatch = _judge_outputs(options, rounds, results)
    if options.fault and result.exact and not any(rank.fault_fired for rank in results):
        raise UsageError(f"--fault {options.fault} had no event to strike")
    return result


def budget(options: Options) -> float:
    """Seconds that a whole run may take; more iterations get more of them."""
    return max(_SECONDS_PER_RUN, _SECONDS_PER_ITERATION * options.iters)


def _nearness(error: dict[str, object]) -> tuple[bool, float]:
    """Order of errors of one cause: where it happened comes first, ranks that heard of it were further on or later."""
    seconds = error["seconds"]
    return error["operation"] == "combine_v2", seconds if isinstance(seconds, float) else 0.0


def _raise_unexpected(outcomes: list[Outcome], options: Options, seconds: float) -> None:
    victim = options.kill[0] if options.kill else -1
    failed = [outcome for outcome in outcomes if not outcome.ok and outcome.rank != victim]
    if not failed:
        return
    for outcome in failed:
        if isinstance(outcome.error, ArgumentError):
            raise _usage_error(outcome.error)
    for outcome in failed:
        if isinstance(outcome.error, DeepEPError):
            raise outcome.error
    if all(outcome.timed_out for outcome in failed):
        late = ", ".join(str(outcome.rank) for outcome in failed)
        raise OutOfTime(f"the run did not end within {seconds:.0f} s; still running: rank {late}") from RankErrors(
            outcomes
        )
    raise RankErrors(outcomes)


def _judge_outputs(options: Options, rounds: list[Round], results: list[RankResult]) -> compare.Mismatch | None:
    """Compare the combined outputs with the oracle's, which runs every expert's block once more, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _compare_outputs(options, rounds, results)
    finally:
        torch.set_num_threads(threads)


def _compare_outputs(options: Options, rounds: list[Round], results: list[RankResult]) -> compare.Mismatch | None:
    payload = make_payload(options)
    experts = make_experts(options, keep=len(rounds) > 1)
    quantiser = _quantiser(options)
    for index, round_ in enumerate(rounds):
        x = [payload.rows(index, rank, torch.arange(count)) for rank, count in enumerate(round_.tokens)]
        routed, rows = reference.dispatch(x, round_.ids, options.num_experts, round_.masks, options.shared)
        for rank, received in enumerate(routed.ranks):
            arrived = quantiser.arrived(rows[rank], received.scale_rows)
            rows[rank] = quantiser.decode(*arrived, rows[rank].dtype)
            first = options.first_expert(rank, options.num_ranks)
            apply_blocks(experts, first, received.rows_per_expert, rows[rank])
            rows[rank] = quantiser.returned(rows[rank])
        places = (routed.destination, routed.row, routed.active)
        if options.features.sums_by_rank:
            wanted = reference_by_rank.combine(rows, *places, round_.weights)
        else:
            wanted = reference.combine(rows, routed, round_.ids, round_.weights)
        for rank, want in enumerate(wanted):
            mismatch = compare.tensors(rank, "reduce: output", results[rank].outputs[index], want)
            if mismatch is not None:
                return mismatch
    return None


def _place_fault(options: Options, rounds: list[Round]) -> FaultPlace:
    """A rank, by the seed, and the events of the fault's kind that its first round is sure to have."""
    routed = reference.route(rounds[0].ids, options.num_experts, rounds[0].masks, options.shared)
    wire = _quantiser(options).wire(options.hidden, options.num_topk, options.max_local_experts(options.num_ranks))
    carried = reference.traffic(routed, wire, options.combine_engine)
    # Control messages go to every other rank; all other faults strike token copies.
    events = [options.num_ranks - 1 if options.fault == "drop-control" else rank.copies for rank in carried]
    ranks = [rank for rank, count in enumerate(events) if count > 0]
    if not ranks:
        raise UsageError(f"--fault {options.fault}: this run sends nothing that the fault could strike")
    rank = ranks[options.seed % len(ranks)]
    return FaultPlace(rank, events[rank])


def _quantiser(options: Options) -> Quantiser:
    return make_quantiser(options.features, options.hidden, options.num_experts, options.seed)


def _check_sizes(options: Options) -> None:
    """Refuse what no communicator could be made for, before inputs of that size are made, and outputs too big to keep.

    Whether the memory of this machine is enough is the communicator's to say: see `_usage_error`.
    """
    required_window_bytes(
        options.num_ranks,
        max_tokens=options.max_tokens,
        hidden=options.hidden,
        num_topk=options.num_topk,
        num_experts=options.num_experts,
        shared_expert_num=options.features.shared_expert_num,
        per_expert_copies=options.features.per_expert_copies,
    )
    kept = options.num_rounds * sum(options.tokens) * 2 * options.hidden
    if options.payload == "text" and options.vary and kept > _MAX_KEPT_BYTES:
        raise UsageError(f"{options.num_rounds} rounds keep {kept} bytes of outputs for the oracle; lower --iters")


def _usage_error(error: ArgumentError) -> UsageError:
    """A communicator's refusal as the user's mistake. That for memory names the bytes needed and free in its text."""
    text = str(error)
    return UsageError(text, MEMORY if "bytes are free" in text else type(error).__name__)
