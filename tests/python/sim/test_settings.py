# SPDX-License-Identifier: Apache-2.0
"""Fields of a world by name, and schedules drawn apart from inputs. Layer: tests."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from ascend_deepep import _simulator

Settings = Sequence[tuple[str, str]]


def settings_of(seed: int, settings: Settings = (), **more: str) -> dict[str, str]:
    return _simulator.scenario(seed, settings=settings, **more)["settings"]  # type: ignore[arg-type]


def test_a_world_with_all_of_its_fields_set_takes_the_same_steps() -> None:
    for seed in range(1, 31):
        drawn = _simulator.run(seed)
        again = _simulator.run(seed, settings=list(settings_of(seed).items()))
        assert again == drawn


def test_a_schedule_seed_changes_the_steps_and_nothing_else() -> None:
    schedule = ["run_bits", "slow_shift", "pipe_shift", "piece_units", "block_ns"]
    schedule += ["delivery_ns", "wqe_ns", "completion_ns", "host_ns", "store_slots", "store_ns", "evictions"]
    drawn = settings_of(3)
    other = _simulator.scenario(3, schedule_seed=99)["settings"]
    assert {name for name in drawn if drawn[name] != other[name]} <= set(schedule)
    hashes = [_simulator.run(3, schedule_seed=number)["hash"] for number in (3, 99, 100)]
    assert len(set(hashes)) == 3
    assert hashes[0] == _simulator.run(3)["hash"]


@pytest.mark.fast
def test_what_was_not_set_fits_what_was_set() -> None:
    for seed in range(1, 60):
        for ranks in ("1", "2", "5"):
            world = settings_of(seed, [("ranks", ranks)])
            holders = int(ranks) - int(world["shared_ranks"])
            assert world["ranks"] == ranks and int(world["experts"]) % holders == 0
        world = settings_of(seed, [("topk", "7"), ("experts", str(8 * int(settings_of(seed)["ranks"])))])
        assert world["topk"] == "7" and int(world["max_topk"]) >= 7
        world = settings_of(seed, [("max_hidden", "64")])
        assert world["hidden"] == "64"


@pytest.mark.fast
@pytest.mark.parametrize(
    ("settings", "follows"),
    [
        ([("ranks", "5"), ("shared", "1"), ("shared_ranks", "2")], {"shared_x": "0"}),
        ([("ranks", "5"), ("shared", "2")], {"shared_ranks": ("2", "4")}),
        ([("ranks", "3"), ("shared_ranks", "2")], {"shared": ("1", "2")}),
        ([("shared_x", "1")], {"shared": "0", "shared_ranks": "0"}),
        ([("mask", "pairs")], {"uneven": "0"}),
        ([("uneven", "1")], {"mask": "none"}),
        ([("copies", "expert")], {"room_per_expert": "1"}),
        ([("quant", "pertoken-e4m3"), ("quant_scales", "expert")], {"room_per_expert": "1"}),
        ([("quant", "static-int8")], {"quant_scales": ("scalar", "row", "expert")}),
        ([("quant", "mx-e5m2")], {"quant_scales": "none", "dtype": ("bf16", "fp16")}),
        ([("dtype", "e5m2")], {"quant": "none", "quant_scales": ("fp32", "e8m0")}),
    ],
)
def test_features_fit_each_other(settings: Settings, follows: dict[str, str | tuple[str, ...]]) -> None:
    for seed in range(1, 60):
        world = settings_of(seed, settings)
        assert dict(settings).items() <= world.items()
        for name, value in follows.items():
            assert world[name] in ((value,) if isinstance(value, str) else value), name


@pytest.mark.fast
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ([("rank", "2")], "'rank' is no setting: it is one of ranks, cores,"),
        ([("ranks", "two")], "ranks 'two' is no number"),
        ([("ranks", "0")], "ranks 0 is outside [1, 32]"),
        ([("ranks", "33")], "ranks 33 is outside [1, 32]"),
        ([("ranks", "16"), ("cores", "72")], "ranks x cores 1152 is outside [1, 1024]"),
        (
            [("ranks", "2"), ("experts", "3"), ("shared", "0")],
            "experts 3 is not a multiple of the 2 ranks that hold them",
        ),
        ([("cores", "3")], "num_cores = 3 is outside [4, 72]"),
        ([("hidden", "65"), ("max_hidden", "128")], "hidden 65 is not a multiple of 16"),
        ([("hidden", "128"), ("max_hidden", "64")], "hidden 128 is outside [64, 64], the communicator's max_hidden"),
        ([("topk", "3"), ("max_topk", "2"), ("ranks", "4")], "topk 3 is outside [1, 2]"),
        ([("depth", "6")], "depth 6 is no power of two from 4 to 32768"),
        ([("engine", "dma")], "engine 'dma' is not mte or urma"),
        ([("uneven", "yes")], "uneven 'yes' is not 0 or 1"),
        ([("mask", "all")], "mask 'all' is not one of none, tokens, pairs"),
        ([("mask", "pairs"), ("uneven", "1")], "a mask needs batches of one size"),
        ([("mask", "pairs"), ("masked_one_in", "0")], "masked_one_in 0 is outside [1,"),
        ([("quant", "int4")], "quant 'int4' is not one of none, static-int8, pertoken-int8,"),
        ([("quant", "mx-e4m3"), ("dtype", "e5m2")], "quant mx-e4m3 takes bf16 and fp16, dtype is e5m2"),
        ([("quant", "mx-e4m3"), ("quant_scales", "expert")], "quant_scales expert does not go with quant mx-e4m3"),
        ([("dtype", "fp32")], "dtype 'fp32' is not one of bf16, fp16, e4m3, e5m2"),
        ([("dtype", "e4m3"), ("quant_scales", "fp32"), ("scale_columns", "99")], "scale_columns 99 is outside [1,"),
        ([("copies", "expert"), ("room_per_expert", "0")], "need room_per_expert 1"),
        ([("room_per_expert", "2")], "per_expert_copies = 2 is outside [0, 1]"),
        ([("ranks", "4"), ("shared", "2"), ("shared_ranks", "3")], "shared_ranks 3 is not a multiple of shared 2"),
        ([("ranks", "2"), ("shared", "2")], "shared_ranks 0 is outside [2, 1]"),
        ([("ranks", "2"), ("shared", "0"), ("shared_ranks", "1")], "shared_ranks without shared"),
        ([("ranks", "2"), ("shared", "5")], "shared_expert_num = 5 is outside [0, 4]"),
        ([("ranks", "4"), ("shared", "2"), ("max_shared", "1")], "shared 2 is outside [0, 1], the communicator's"),
        ([("ranks", "4"), ("shared", "1"), ("shared_x", "1")], "shared_x needs shared_ranks 0"),
        ([("tokens", "5"), ("max_tokens", "4")], "tokens 5 is outside [1, 4], the communicator's max_tokens"),
        ([("experts", "4"), ("max_experts", "2"), ("ranks", "2")], "experts 4 is outside [1, 2], the communicator's"),
        ([("tag_base", "7")], "tag_base's upper half 0 is outside"),
        ([("max_tokens", "8192"), ("max_hidden", "8192")], "a world has at most"),
        ([("operations", "D,C2")], "'C2' combines no good dispatch before it"),
        ([("operations", "D,")], "'' is no operation"),
        ([("operations", "D:bad-ids")], "does not say which rank acts"),
        ([("operations", "D:foreign-tag@0")], "is one of a combine"),
        ([("operations", "D:mad@0")], "it is one of good, host-refuses,"),
        ([("ranks", "2"), ("operations", "D:bad-ids@2")], "rank that acts 2 is outside [0, 1]"),
        ([("operations", ",".join("D" * 33))], "number of operations 33 is outside [1, 32]"),
        ([("fault", "gremlin")], "fault 'gremlin' is not one of none, rank-dies,"),
        ([("ranks", "1"), ("fault", "link-cut")], "fault link-cut needs a peer"),
        ([("ranks", "2"), ("fault", "link-cut"), ("fault_rank", "1"), ("fault_peer", "1")], "it must be another"),
        ([("fault", "late-process"), ("fault_ns", "200000000")], "fault_ns 200000000 is outside"),
        ([("run_bits", "40")], "run_bits 40 is outside [0, 16]"),
        ([("host_ns", "0")], "host_ns 0 is outside [1, 1000000]"),
    ],
)
def test_worlds_that_cannot_be_are_refused(settings: Settings, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        _simulator.scenario(8, settings=settings)
    assert text in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(ValueError):
        _simulator.run(8, settings=settings)


def test_operations_by_name_are_run() -> None:
    world = [("ranks", "2"), ("fault", "none"), ("operations", "D,D:host-refuses@1,C:bad-ids@0,D,C1,C")]
    run = _simulator.run(5, settings=world)
    assert (run["findings"], run["failed_calls"], run["fault"]) == ([], 0, "none")
    assert settings_of(5, world)["operations"] == "D,D:host-refuses@1,C:bad-ids@0,D,C1,C"
