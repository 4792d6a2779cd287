# SPDX-License-Identifier: Apache-2.0
"""Causes planted in worlds of virtual time are found: kind and rank, every time. Layer: tests."""

from __future__ import annotations

import pytest
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.diagnosis import Diagnosis, diagnose
from ascend_deepep.diagnosis.plants import PLANTS, Plant, parse_plant
from ascend_deepep.diagnosis.rules import BYTES
from ascend_deepep.diagnosis.worlds import World, world_statistics
from ascend_deepep.stats import DISPATCH

FEW, MORE = (1, 2), range(3, 41)


def names_it(diagnosis: Diagnosis, plant: Plant) -> bool:
    """One cause, of the right kind, on the right rank. Where the load lies is the router's draw."""
    if [cause.kind for cause in diagnosis.causes] != [plant.found_as] or diagnosis.picture != plant.found_as:
        return False
    ranks = diagnosis.causes[0].ranks
    if plant.kind == "skew":
        return diagnosis.hottest_rank in ranks
    return ranks == ((plant.rank, plant.other) if plant.kind == "link" else (plant.rank,))


def is_found(kind: str, seed: int) -> None:
    world = World(seed=seed)
    plant = parse_plant(kind, world.ranks, world.cores, seed)
    diagnosis = diagnose(world_statistics(world, plant))
    assert names_it(diagnosis, plant), (plant, diagnosis)


def is_bytes(seed: int) -> None:
    diagnosis = diagnose(world_statistics(World(seed=seed)))
    assert (diagnosis.picture, diagnosis.causes) == (BYTES, ())
    assert diagnosis.ratio is not None and 0.9 < diagnosis.ratio < 1.2


@pytest.mark.parametrize("seed", FEW)
@pytest.mark.parametrize("kind", list(PLANTS))
def test_a_planted_cause_is_named(kind: str, seed: int) -> None:
    is_found(kind, seed)


@pytest.mark.parametrize("seed", FEW)
def test_nothing_planted_is_bytes(seed: int) -> None:
    is_bytes(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", MORE)
@pytest.mark.parametrize("kind", list(PLANTS))
def test_more_seeds(kind: str, seed: int) -> None:
    is_found(kind, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", MORE)
def test_more_seeds_with_nothing_planted(seed: int) -> None:
    is_bytes(seed)


@pytest.mark.long
@pytest.mark.parametrize("core", range(8))
def test_every_core_of_a_rank(core: int) -> None:
    plant = Plant("core", 5, core)
    diagnosis = diagnose(world_statistics(World(), plant))
    assert names_it(diagnosis, plant), diagnosis


def test_the_same_world_gives_the_same_statistics() -> None:
    world = World(ranks=4, cores=4, tokens=4, hidden=64, steps=2)
    plant = Plant("late", 2)
    statistics = world_statistics(world, plant)
    assert statistics == world_statistics(world, plant)
    assert statistics != world_statistics(World(ranks=4, cores=4, tokens=4, hidden=64, steps=2, seed=2), plant)
    assert sum(statistics.rank_rows()) == 4 * 4 * 4 * 2
    assert statistics.bytes_moved(DISPATCH)[0][0] == 0
    entries = statistics.operators[DISPATCH].entry_us[1]
    assert entries[2] - max(entries[:2]) > 400


@pytest.mark.fast
def test_what_is_not_named_is_drawn() -> None:
    plants = {parse_plant("link", 8, 8, seed) for seed in range(60)}
    assert all(plant.rank != plant.other for plant in plants) and len({plant.rank for plant in plants}) == 8
    assert {parse_plant("core:3", 8, 8, seed).rank for seed in range(20)} == {3}
    assert len({parse_plant("core:3", 8, 8, seed).other for seed in range(60)}) == 8
    assert parse_plant("link:2:5", 8, 8, 1) == Plant("link", 2, 5)
    assert parse_plant("late:7", 8, 8, 1) == Plant("late", 7)
    # Of no rank, so nothing is drawn.
    assert {parse_plant("skew", 8, 8, seed) for seed in range(20)} == {Plant("skew")}


@pytest.mark.fast
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cable", "'cable' is not one of skew, core, link, late"),
        ("late:x", "'late:x' is not late[:rank]"),
        ("skew:1", "'skew:1' is not skew"),
        ("link:1:2:3", "is not link[:rank[:peer]]"),
        ("late:8", "rank 8 is outside [0, 7]"),
        ("core:1:8", "core 8 is outside [0, 7]"),
        ("link:1:1", "a link leads to another rank"),
    ],
)
def test_a_wrong_plant_is_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_plant(text, 8, 8, 1)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_world_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="num_experts = 10 is not a multiple of num_ranks = 4"):
        world_statistics(World(ranks=4, experts=10))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_few_ranks_have_no_skew(ranks: int) -> None:
    with pytest.raises(UsageError, match=f"--plant skew needs 4 ranks: {ranks} share"):
        parse_plant("skew", ranks, 8, 1)
