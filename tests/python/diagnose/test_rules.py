# SPDX-License-Identifier: Apache-2.0
"""The decision procedure on statistics made by hand, unclear ones among them. Layer: tests."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ascend_deepep.diagnosis import Thresholds, diagnose
from ascend_deepep.diagnosis.rules import (
    BYTES,
    EVEN,
    HOT,
    LATE,
    OVERHEAD,
    SLOW_LINK,
    SLOW_RANK,
    describe,
    next_steps,
)
from ascend_deepep.stats import COMBINE, DISPATCH, Statistics
from made_statistics import add_wait, enter_late, even, load, take_longer

pytestmark = pytest.mark.fast


def found(statistics: Statistics) -> tuple[str, list[tuple[str, tuple[int, ...]]]]:
    diagnosis = diagnose(statistics)
    return diagnosis.picture, [(cause.kind, cause.ranks) for cause in diagnosis.causes]


def test_even_ranks_near_the_model_are_bytes() -> None:
    diagnosis = diagnose(even())
    assert (diagnosis.picture, diagnosis.causes, diagnosis.holds) == (BYTES, (), True)
    assert diagnosis.measured_us == pytest.approx(800)
    assert diagnosis.model_us == pytest.approx(760)
    assert diagnosis.ratio == pytest.approx(800 / 760)
    assert diagnosis.max_over_mean_load == 1.0


def test_without_figures_of_a_link_nothing_is_compared() -> None:
    diagnosis = diagnose(even(link=False))
    assert (diagnosis.picture, diagnosis.ratio, diagnosis.holds) == (EVEN, None, True)


def test_far_above_the_model_without_a_cause_is_overhead() -> None:
    statistics = even()
    assert statistics.link is not None
    faster = replace(statistics.link, alpha_us=10.0, bytes_per_us=10 * statistics.link.bytes_per_us)
    diagnosis = diagnose(replace(statistics, link=faster))
    assert (diagnosis.picture, diagnosis.causes, diagnosis.holds) == (OVERHEAD, (), False)


@pytest.mark.parametrize("with_link", [True, False])
@pytest.mark.parametrize("operator", [DISPATCH, COMBINE])
@pytest.mark.parametrize("rank", [0, 5])
def test_a_late_entry(operator: str, rank: int, with_link: bool) -> None:
    statistics = even(link=with_link)
    enter_late(statistics, operator, rank, 700.0)
    diagnosis = diagnose(statistics)
    assert found(statistics) == (LATE, [(LATE, (rank,))])
    assert diagnosis.causes[0].lost_us == pytest.approx(700.0)
    assert f"rank {rank} is away 700 us longer than the others before {operator}" in diagnosis.causes[0].evidence[0]
    assert diagnosis.causes[0].evidence[0].endswith("; the call takes 400 us from the last entry on")


def test_who_is_late_because_it_waited_is_not_late_by_itself() -> None:
    """Rank 6 leaves dispatch 300 us after the others, and is away as long as they are."""
    statistics = even()
    for step in range(statistics.num_steps):
        statistics.operators[DISPATCH].call_us[step][6] += 300.0
        statistics.operators[COMBINE].entry_us[step][6] += 300.0
        statistics.operators[COMBINE].call_us[step][6] -= 300.0
        for rank in range(8):
            statistics.operators[COMBINE].waits_us[step][rank][6] += 300 if rank != 6 else 0
    assert LATE not in {kind for kind, _ in found(statistics)[1]}


def test_late_once_is_not_late() -> None:
    statistics = even()
    enter_late(statistics, DISPATCH, 3, 700.0, since=4)
    assert found(statistics)[0] == BYTES


@pytest.mark.parametrize("with_link", [True, False])
@pytest.mark.parametrize("operator", [DISPATCH, COMBINE])
def test_a_column_is_a_slow_rank(operator: str, with_link: bool) -> None:
    statistics = even(link=with_link)
    for rank in range(8):
        add_wait(statistics, operator, rank, 2, 900)
    take_longer(statistics, operator, list(range(8)), 900.0)
    assert found(statistics) == (SLOW_RANK, [(SLOW_RANK, (2,))])


def test_a_row_is_a_slow_rank() -> None:
    statistics = even()
    for source in range(8):
        add_wait(statistics, DISPATCH, 4, source, 900)
    take_longer(statistics, DISPATCH, [4], 900.0)
    assert found(statistics) == (SLOW_RANK, [(SLOW_RANK, (4,))])


def test_a_rank_that_is_column_and_row_is_charged_once_a_call() -> None:
    """Within an operator the larger of the two, and calls add up: 900 of dispatch, 600 of combine."""
    statistics = even(link=False)
    for rank in range(8):
        if rank != 2:
            add_wait(statistics, DISPATCH, rank, 2, 900)
            add_wait(statistics, DISPATCH, 2, rank, 800)
            add_wait(statistics, COMBINE, rank, 2, 600)
    causes = diagnose(statistics).causes
    assert [(cause.kind, cause.ranks) for cause in causes] == [(SLOW_RANK, (2,))]
    assert causes[0].lost_us == pytest.approx(1500, abs=50)
    assert causes[0].operators == (DISPATCH, COMBINE) and len(causes[0].evidence) == 3


def test_a_rank_that_takes_longer_and_waits_for_nobody() -> None:
    statistics = even()
    take_longer(statistics, COMBINE, [7], 600.0)
    assert found(statistics) == (SLOW_RANK, [(SLOW_RANK, (7,))])


def test_one_that_takes_longer_now_and_then_is_not_slow() -> None:
    statistics = even(steps=8)
    for step in range(3, 8):
        statistics.operators[COMBINE].call_us[step][7] += 600.0
    assert SLOW_RANK not in {kind for kind, _ in found(statistics)[1]}
    for step in (1, 2):
        statistics.operators[COMBINE].call_us[step][7] += 600.0
    assert SLOW_RANK in {kind for kind, _ in found(statistics)[1]}


@pytest.mark.parametrize("with_link", [True, False])
def test_one_cell_is_a_slow_link(with_link: bool) -> None:
    statistics = even(link=with_link)
    for operator in (DISPATCH, COMBINE):
        add_wait(statistics, operator, 6, 1, 1200)
        take_longer(statistics, operator, [1, 6], 1000.0)
    assert found(statistics) == (SLOW_LINK, [(SLOW_LINK, (1, 6))])


def test_both_directions_of_a_link_are_two() -> None:
    statistics = even()
    for to, source in ((6, 1), (1, 6)):
        add_wait(statistics, DISPATCH, to, source, 1200)
    take_longer(statistics, DISPATCH, [1, 6], 1000.0)
    assert sorted(found(statistics)[1]) == [(SLOW_LINK, (1, 6)), (SLOW_LINK, (6, 1))]


def test_several_cells_of_a_source_are_its_core() -> None:
    statistics = even()
    for to in (3, 5):
        add_wait(statistics, DISPATCH, to, 1, 1200)
    assert found(statistics) == (SLOW_RANK, [(SLOW_RANK, (1,))])


def test_a_cell_whose_source_makes_all_late_is_its_core() -> None:
    """The core serves rank 3 alone in dispatch, and all ranks in combine, where waits begin behind other waits."""
    statistics = even()
    add_wait(statistics, DISPATCH, 3, 1, 1200)
    take_longer(statistics, COMBINE, list(range(8)), 600.0)
    assert found(statistics) == (SLOW_RANK, [(SLOW_RANK, (1,))])


def test_waits_that_the_bytes_explain_are_no_cause() -> None:
    """280 us are the fullest link's; without its figures they stand out."""
    statistics = even()
    add_wait(statistics, DISPATCH, 6, 1, 250)
    assert found(statistics)[0] == BYTES
    assert found(replace(statistics, link=None))[0] == SLOW_LINK


@pytest.mark.parametrize("rank", [0, 3])
def test_a_load_that_stands_out(rank: int) -> None:
    statistics = even()
    load(statistics, rank, 2.0)
    picture, causes = found(statistics)
    assert (picture, causes) == (HOT, [(HOT, (rank,))])
    diagnosis = diagnose(statistics)
    assert diagnosis.hottest_rank == rank and diagnosis.hottest_expert in (2 * rank, 2 * rank + 1)
    assert diagnosis.max_over_mean_load == pytest.approx(2 / (9 / 8))


def test_a_column_of_a_rank_with_more_rows_is_the_loads() -> None:
    statistics = even()
    load(statistics, 2, 1.3)
    assert found(statistics)[0] == BYTES
    for rank in range(8):
        add_wait(statistics, COMBINE, rank, 2, 900)
    assert found(statistics) == (HOT, [(HOT, (2,))])


def test_a_slow_link_to_a_rank_with_more_rows_is_still_the_link() -> None:
    statistics = even()
    load(statistics, 6, 1.3)
    for operator in (DISPATCH, COMBINE):
        add_wait(statistics, operator, 6, 1, 1500)
        take_longer(statistics, operator, [1, 6], 1000.0)
    assert found(statistics) == (SLOW_LINK, [(SLOW_LINK, (1, 6))])


def test_experts_of_a_hot_rank_make_it_late_to_combine() -> None:
    statistics = even()
    load(statistics, 2, 1.8)
    enter_late(statistics, COMBINE, 2, 700.0)
    assert found(statistics) == (HOT, [(HOT, (2,))])


def test_a_hot_rank_that_is_late_to_dispatch_is_two_things() -> None:
    statistics = even()
    load(statistics, 2, 1.8)
    enter_late(statistics, DISPATCH, 2, 700.0)
    diagnosis = diagnose(statistics)
    assert [cause.kind for cause in diagnosis.causes] == [LATE, HOT]
    assert any("more than one thing" in note for note in diagnosis.notes)


def test_a_load_is_told_whatever_else_there_is() -> None:
    statistics = even()
    load(statistics, 2, 1.8)
    enter_late(statistics, DISPATCH, 5, 50_000.0)
    assert found(statistics)[1] == [(LATE, (5,)), (HOT, (2,))]


def test_two_ranks_at_once_are_both_named_and_the_costlier_first() -> None:
    statistics = even()
    enter_late(statistics, DISPATCH, 1, 500.0)
    for rank in range(8):
        add_wait(statistics, COMBINE, rank, 4, 1400)
    picture, causes = found(statistics)
    assert picture == SLOW_RANK
    assert causes == [(SLOW_RANK, (4,)), (LATE, (1,))]


def test_what_costs_little_is_no_cause() -> None:
    statistics = even()
    for rank in range(8):
        add_wait(statistics, COMBINE, rank, 4, 340)
    assert found(statistics)[0] == BYTES
    stricter = diagnose(statistics, Thresholds(least_share=0.05))
    assert [cause.kind for cause in stricter.causes] == [SLOW_RANK]


def test_ranks_that_share_cores_need_more_to_stand_out() -> None:
    statistics = even()
    for rank in range(8):
        add_wait(statistics, COMBINE, rank, 4, 900)
    assert found(replace(statistics, host_cores=8))[0] == SLOW_RANK
    shared = diagnose(replace(statistics, host_cores=2))
    assert shared.picture == BYTES and "8 ranks share 2 cores" in shared.notes[0]


def test_clocks_that_differ_hide_what_is_less() -> None:
    statistics = even()
    enter_late(statistics, DISPATCH, 1, 500.0)
    assert found(replace(statistics, clock_error_us=300.0))[0] == LATE
    hidden = diagnose(replace(statistics, clock_error_us=600.0))
    assert LATE not in {cause.kind for cause in hidden.causes}
    assert any("600 us" in note for note in hidden.notes)


def test_two_ranks_cannot_tell_a_rank_from_a_link() -> None:
    statistics = even(ranks=2)
    add_wait(statistics, DISPATCH, 1, 0, 1500)
    diagnosis = diagnose(statistics)
    assert 0 in diagnosis.causes[0].ranks
    assert any("look alike" in note for note in diagnosis.notes)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("ranks", [1, 3])
def test_few_ranks_and_steps(ranks: int, steps: int) -> None:
    diagnosis = diagnose(even(ranks, steps, link=False))
    assert diagnosis.picture == EVEN
    few = "1 step is few" if steps == 1 else "2 steps are few"
    assert any(note.startswith(few) for note in diagnosis.notes)


def test_a_rank_alone_moves_no_bytes() -> None:
    diagnosis = diagnose(even(1))
    assert (diagnosis.picture, diagnosis.model_us, diagnosis.ratio) == (EVEN, None, None)


def test_fitted_figures_of_a_link_are_said_to_be() -> None:
    statistics = even()
    assert statistics.link is not None
    fitted = replace(statistics, link=replace(statistics.link, fitted_here=True))
    line = "note: the model's link figures were fitted on this machine right before the run"
    assert line in describe(diagnose(fitted)) and line not in describe(diagnose(statistics))


def test_it_is_said_in_lines_and_in_json() -> None:
    statistics = even()
    add_wait(statistics, DISPATCH, 6, 1, 1500)
    diagnosis = diagnose(statistics)
    lines = describe(diagnosis)
    assert lines[0] == "slow link, rank 1 -> rank 6"
    assert any("rank 6 waits" in line for line in lines) and any(next_steps(SLOW_LINK) in line for line in lines)
    value = diagnosis.to_json()
    assert value["picture"] == SLOW_LINK and value["causes"][0]["ranks"] == [1, 6] and value["holds"] is False
    assert describe(diagnose(even()))[0].startswith("bytes: ")
