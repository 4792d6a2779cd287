# SPDX-License-Identifier: Apache-2.0
"""The recorder on ranks of the twin: what it gathers is what happened. Layer: tests."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from ascend_deepep import ArgumentError, Communicator
from ascend_deepep.bench.shapes import Shape
from ascend_deepep.diagnosis import diagnose
from ascend_deepep.diagnosis.plants import Plant
from ascend_deepep.diagnosis.rules import HOT, LATE
from ascend_deepep.diagnosis.twin import LATE_SECONDS, Layer, twin_statistics
from ascend_deepep.stats import COMBINE, DISPATCH, Recorder, Statistics, recorder
from ascend_deepep.testing import Context, Pool

SHAPE = Shape(4, 16, 256, 2, 8, "bf16", "uniform", 1)


def layer(made: Recorder, tokens: int, experts: list[int]) -> None:
    """Every token of this rank goes to these experts."""
    x = torch.ones(tokens, 64, dtype=torch.bfloat16)
    ids = torch.tensor([experts] * tokens, dtype=torch.int32).view(tokens, len(experts))
    got = made.dispatch_v2(x, ids)
    places = (got.assist_info_for_combine, got.ep_recv_counts)
    y = made.combine_v2(got.expand_x, ids, *places, torch.full(ids.shape, 0.5))
    assert torch.equal(y, x)


def three_steps(context: Context) -> tuple[Statistics, dict[str, int]]:
    """Rank r brings r + 1 tokens, each for experts 0 and 3; of four steps the last three are kept."""
    with Communicator(context.group, max_tokens=4, hidden=64, num_topk=2, num_experts=4) as communicator:
        made = Recorder(communicator, steps=3)
        layer(made, 1, [0, 1])
        made.clear()
        before: Any = communicator.counters()
        for _ in range(4):
            layer(made, context.rank + 1, [0, 3])
        after: Any = communicator.counters()
        grown = {name: after[name] - before[name] for name in ("bytes_put_dispatch", "bytes_put_combine")}
        return made.gather(context.group), grown


def between_others(context: Context) -> tuple[Statistics, str, str, str]:
    """A recorded step between one that is not, and one of another recorder; recorders and groups that do not fit."""
    with Communicator(context.group, max_tokens=4, hidden=64, num_topk=2, num_experts=2) as communicator:
        made, other = Recorder(communicator), Recorder(communicator)
        layer(other, 3, [0, 1])
        layer(made, 1, [0, 1])
        layer(other, 4, [0, 1])
        statistics = made.gather(context.group)
        uneven = Recorder(communicator, steps=2 + context.rank)
        for _ in range(4):
            layer(uneven, 1, [0, 1])
        said = [refusal(lambda: uneven.gather(context.group)), refusal(lambda: made.gather(None))]
    return statistics, *said, refusal(lambda: Recorder(communicator))


def refusal(call: Any) -> str:
    """The text of the ArgumentError."""
    with pytest.raises(ArgumentError) as caught:
        call()
    return str(caught.value)


def test_only_recorded_calls_count_and_what_does_not_fit_is_refused(ranks: Pool) -> None:
    for statistics, uneven, alone, closed in ranks.run(between_others, 2):
        assert statistics.operators[DISPATCH].bytes_put == [512, 512]  # a copy of one block to the other rank
        assert statistics.operators[COMBINE].bytes_put == [512, 512]
        assert "ranks have kept 2, 3 steps" in uneven
        assert "the group has 1 ranks and the communicator 2" in alone
        assert "is closed" in closed


def test_rows_tokens_and_bytes_are_those_of_the_calls(ranks: Pool) -> None:
    results = ranks.run(three_steps, 4)
    statistics = results[0][0]
    assert all(of_rank == statistics for of_rank, _ in results)
    assert (statistics.num_steps, statistics.dropped_steps, statistics.source) == (3, 1, "twin")
    assert statistics.tokens == [[1, 2, 3, 4]] * 3
    each = [3, 6, 9, 12]  # rows of a source over the steps
    assert statistics.rows == [[each], [[0] * 4], [[0] * 4], [each]]
    for operator, name in ((DISPATCH, "bytes_put_dispatch"), (COMBINE, "bytes_put_combine")):
        of = statistics.operators[operator]
        assert of.bytes_put == [grown[name] * 3 // 4 for _, grown in results]
        assert all(0 < us < 10e6 for step in of.call_us for us in step)
        for step in range(3):
            for rank in range(4):
                assert max(of.waits_us[step][rank]) <= of.call_us[step][rank]
    # Nobody leaves an operation that somebody has not entered: clocks are one.
    assert statistics.clock_error_us == 0.0
    for operator in (DISPATCH, COMBINE):
        of = statistics.operators[operator]
        for step in range(3):
            assert min(of.end_us(step, rank) for rank in range(4)) >= max(of.entry_us[step])


def misuse(context: Context) -> list[str]:
    """What the recorder says to it."""
    texts = []
    with Communicator(context.group, max_tokens=4, hidden=64, num_topk=2, num_experts=4) as communicator:
        made = Recorder(communicator)
        x, ids = torch.ones(1, 64, dtype=torch.bfloat16), torch.tensor([[0, 1]], dtype=torch.int32)
        for wrong in (
            lambda: made.combine_v2(x, ids, ids, ids, x),
            lambda: made.dispatch_v2(x, ids, performance_info=torch.zeros(2, dtype=torch.int64)),
            lambda: Recorder(communicator, steps=0),
            lambda: made.gather(context.group),
        ):
            try:
                wrong()
            except (ArgumentError, TypeError) as error:
                texts.append(str(error))
        if context.rank == 0:
            made._num_recorded = 2
        try:
            made.gather(context.group)
        except ArgumentError as error:
            texts.append(str(error))
    return texts


def test_misuse_is_told_by_one_line(ranks: Pool) -> None:
    for texts in ranks.run(misuse, 2):
        wanted = [
            "follows its dispatch_v2",
            "performance_info is the recorder's own",
            "steps = 0 is outside [1, ",
            "ranks have recorded 0, 0 steps",
            "ranks have recorded 2, 0 steps",
        ]
        assert all(part in text for part, text in zip(wanted, texts, strict=True)), texts


def clock_apart(context: Context) -> tuple[float, float]:
    """Clocks of two machines, as far as the recorder knows."""
    recorder._BOOT = context_boot(context.rank)  # type: ignore[assignment]
    from ascend_deepep._group import members

    try:
        return recorder._common_clock(members(context.group)[2])
    finally:
        recorder._BOOT = BOOT


class context_boot:
    """Stands for the file of another machine."""

    def __init__(self, rank: int) -> None:
        self._rank = rank

    def read_bytes(self) -> bytes:
        return b"%d" % self._rank


BOOT = recorder._BOOT


def test_clocks_of_two_machines_are_compared(ranks: Pool) -> None:
    """Here they are one, so the difference is what is found for wrong."""
    (ahead, error), (other, other_error) = ranks.run(clock_apart, 2)
    assert ahead == 0.0 and error == other_error > 0.0
    assert abs(other) < 1e6


class Event:
    """Of a stream that is always a millisecond behind the host."""

    def __init__(self) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.monotonic() + 1e-3

    def elapsed_time(self, later: Event) -> float:
        return 1e3 * (later.at - self.at)


@pytest.mark.fast
def test_moments_of_a_device_come_from_events() -> None:
    waited: list[int] = []
    clock = recorder.DeviceClock(Event, lambda: waited.append(1))
    first = clock.now()
    time.sleep(0.02)
    second = clock.now()
    assert len(waited) == 2  # at its beginning only
    assert 20e3 <= clock.us(second) - clock.us(first) < 2e6
    assert abs(clock.us(second) - time.monotonic_ns() / 1e3) < 2e6


def test_a_late_rank_is_named_in_real_time(ranks: Pool) -> None:
    statistics = twin_statistics(Layer(SHAPE, 4, Plant("late", 3)), ranks)
    diagnosis = diagnose(statistics)
    assert diagnosis.picture == LATE and diagnosis.causes[0].ranks == (3,)
    assert diagnosis.causes[0].lost_us > 0.9e6 * LATE_SECONDS


def test_skewed_routing_is_named_in_real_time(ranks: Pool) -> None:
    statistics = twin_statistics(Layer(SHAPE, 4, Plant("skew")), ranks)
    diagnosis = diagnose(statistics)
    assert diagnosis.hottest_rank == 1 and diagnosis.hottest_expert == 2  # of seed 1
    hot = [cause for cause in diagnosis.causes if cause.kind == HOT]
    assert [cause.ranks for cause in hot] == [(1,)]
