# SPDX-License-Identifier: Apache-2.0
"""Public reports 1, 4, 9 and 16: window, workspace and declared capacity. Layer: tests.

Report 1 without its half about graphs, which this package does not have.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch.distributed as dist
from ascend_deepep import _runtime, dispatch_v2
from ascend_deepep.testing import run
from conformance_support import (
    Caught,
    Expected,
    Plan,
    attempt,
    communicator,
    even,
    expert_step,
    hot_first,
    in_turn,
    last_rank,
    payload,
    random_ids,
    round_trip,
    rounds,
)
from conformance_windows import Sizes, Windows, stray_writes

WINDOW_SHAPE = even(4, 4, 2, 16)
WINDOWS = {
    "one_byte_short": lambda need: need - 1,
    "half": lambda need: need // 2,
    "zero": lambda need: 0,
    "negative": lambda need: -1,
    "word": lambda need: "many",
    "empty": lambda need: "",
}
VARIABLE = "ASCEND_DEEPEP_WINDOW_BYTES"


def need_of_window_shape() -> int:
    s = WINDOW_SHAPE
    return _runtime.required_window_bytes(s.num_ranks, s.tokens[0], s.hidden, s.topk, s.experts, 0)


def window_body(context: Any, offenders: tuple[int, ...], asked: object, need: int) -> Caught:
    """Ask for a window; then one of the size needed is EXACT."""
    wanted = asked if context.rank in offenders else need
    caught = attempt(lambda: communicator(context, WINDOW_SHAPE, window_bytes=wanted))
    with communicator(context, WINDOW_SHAPE, window_bytes=need) as comm:
        if (comm.window_bytes, comm.required_window_bytes) != (need, need):
            raise AssertionError(f"window {comm.window_bytes}, needed {comm.required_window_bytes}, expected {need}")
        round_trip(comm, Expected.of(Plan.make(WINDOW_SHAPE, random_ids, 1), context.rank))
    return caught


@pytest.mark.parametrize("which", WINDOWS)
@pytest.mark.parametrize("offenders", [(0, 1, 2, 3), (2,)], ids=["all", "rank2"])
def test_report_01_window_too_small(which: str, offenders: tuple[int, ...]) -> None:
    need = need_of_window_shape()
    asked = WINDOWS[which](need)
    for rank, caught in enumerate(run(window_body, 4, offenders, asked, need, timeout=30)):
        assert caught.kind == ("ArgumentError" if rank in offenders else "Mismatch"), caught
        assert repr(asked) in caught.text and str(need) in caught.text
        for term in ("num_ranks", "max_tokens", "hidden", "num_topk", "num_experts"):
            assert re.search(rf"{term} (= )?\d+", caught.text), caught.text
        assert caught.root == offenders[0] or rank in offenders
        assert not isinstance(asked, int) or asked < 1 or f"pass at least {need}" in caught.text


def window_variable_body(context: Any) -> Caught:
    def build_and_use() -> None:
        with communicator(context, WINDOW_SHAPE) as comm:
            round_trip(comm, Expected.of(Plan.make(WINDOW_SHAPE, random_ids, 1), context.rank))

    return attempt(build_and_use)


@pytest.mark.parametrize("which", ["as_needed", *WINDOWS])
def test_report_01_window_from_the_environment(which: str) -> None:
    need = need_of_window_shape()
    asked = str(WINDOWS[which](need)) if which in WINDOWS else str(need)
    for caught in run(window_variable_body, 4, timeout=30, env={VARIABLE: asked}):
        if which == "as_needed":
            assert caught.kind is None, caught
            continue
        assert caught.kind == "ArgumentError", caught
        assert asked in caught.text
        assert str(need) in caught.text or VARIABLE in caught.text


SIZES_BEYOND_32_BITS = [
    Sizes(8, 512, 8192, 8, 512),
    Sizes(7, 512, 8192, 8, 448),
    Sizes(8, 8192, 8192, 16, 1024),
    Sizes(512, 8192, 8192, 16, 1024),
    Sizes(1024, 8192, 8192, 16, 1024),
]


@pytest.mark.fast
@pytest.mark.parametrize("sizes", SIZES_BEYOND_32_BITS, ids=str)
def test_report_04_sizes_in_64_bits(sizes: Sizes) -> None:
    """(a): the size query against the same sum in Python integers; the constant part is taken from a small one."""

    def query(s: Sizes) -> int:
        return _runtime.required_window_bytes(s.num_ranks, s.max_tokens, s.hidden, s.topk, s.experts, 0)

    small = Sizes(1, 1, 64, 1, 1)
    control_page = query(small) - small.control - small.data
    assert 0 < control_page < 1 << 20
    assert query(sizes) == control_page + sizes.control + sizes.data


@pytest.mark.parametrize("policy", ["fast", "sim"])
@pytest.mark.parametrize("cores", [4, 7, 8, 9])
def test_report_04_guarded_scratch(cores: int, policy: str) -> None:
    """(b): the twin's scratch ends at guards; under `sim` it is poisoned and every copy is checked, too."""
    routings = [random_ids, in_turn, last_rank]
    env = {"ASCEND_DEEPEP_TWIN_POLICY": policy}
    run(rounds, 8, even(8, 3, 2, 8), routings, 3, num_cores=cores, timeout=30, env=env)


def construction_body(context: Any, shape: Any, more: dict[str, Any]) -> Caught:
    """Make a communicator that must be refused; then a good one is EXACT."""
    caught = attempt(lambda: communicator(context, shape, **more))
    good = even(context.num_ranks, 3, 2, 2 * context.num_ranks)
    with communicator(context, good) as comm:
        round_trip(comm, Expected.of(Plan.make(good, random_ids, 1), context.rank))
    return caught


@pytest.mark.parametrize("cores", [1, 2])
def test_report_04_too_few_cores(cores: int) -> None:
    lowest = _runtime.limits()["min_cores"]
    for caught in run(construction_body, 8, even(8, 3, 2, 8), {"num_cores": cores}, timeout=30):
        assert caught.kind == "ArgumentError", caught
        assert f"num_cores = {cores}" in caught.text and str(lowest) in caught.text


def algorithm_body(context: Any, options: dict[str, Any]) -> Caught:
    shape = even(4, 3, 2, 8)
    expected = Expected.of(Plan.make(shape, random_ids, 1), context.rank)
    with communicator(context, shape) as comm:
        caught = attempt(lambda: round_trip(comm, expected, **options))
        round_trip(comm, expected)
    return caught


@pytest.mark.parametrize("options", [{}, {"comm_alg": None}, {"comm_alg": ""}], ids=["omitted", "none", "empty"])
def test_report_04_default_algorithm(options: dict[str, Any]) -> None:
    """(c): no choice is the default."""
    for caught in run(algorithm_body, 4, options, timeout=30):
        assert caught.kind is None, caught


def test_report_04_unknown_algorithm() -> None:
    """(c): a word that does not exist is refused with those that do."""
    for caught in run(algorithm_body, 4, {"comm_alg": "carrier_pigeon"}, timeout=30):
        assert caught.kind == "ArgumentError", caught
        assert "carrier_pigeon" in caught.text and "fullmesh_v2" in caught.text and '""' in caught.text


CAPACITY_SHAPE = even(4, 9, 2, 8)


def capacity_body(context: Any, limits: tuple[object, ...]) -> Caught:
    """A communicator with this rank's limit; what it says to 9 tokens; then a good communicator is EXACT."""
    expected = Expected.of(Plan.make(CAPACITY_SHAPE, hot_first, 1), context.rank)

    def build_and_use() -> None:
        with communicator(context, CAPACITY_SHAPE, max_tokens=limits[context.rank]) as comm:
            round_trip(comm, expected)

    caught = attempt(build_and_use)
    with communicator(context, CAPACITY_SHAPE) as comm:
        round_trip(comm, expected)
    return caught


@pytest.mark.parametrize(
    "limits, texts",
    [
        ((16, 16, 16, 8), ("max_tokens", "16", "8", "rank 3")),
        ((0, 0, 0, 0), ("max_tokens = 0",)),
        ((-1, -1, -1, -1), ("max_tokens = -1",)),
        ((16, 16, 16, None), ("max_tokens = None",)),
    ],
    ids=["unequal", "zero", "negative", "last_gives_none"],
)
def test_report_09_refused_limits(limits: tuple[object, ...], texts: tuple[str, ...]) -> None:
    for caught in run(capacity_body, 4, limits, timeout=30):
        assert caught.kind in ("ArgumentError", "Mismatch"), caught
        assert all(text in caught.text for text in texts), caught.text


def test_report_09_full_capacity() -> None:
    """36 rows at one expert, with a limit of 9."""
    assert int(Expected.of(Plan.make(CAPACITY_SHAPE, hot_first, 1), 0).route.ranks[0].rows_per_expert[0]) == 36
    for caught in run(capacity_body, 4, (9, 9, 9, 9), timeout=30):
        assert caught.kind is None, caught


def above_capacity_body(context: Any) -> Caught:
    expected = Expected.of(Plan.make(even(4, 8, 2, 8), hot_first, 1), context.rank)
    ids = Plan.make(CAPACITY_SHAPE, hot_first, 1).ids[context.rank]
    with communicator(context, expected.plan.shape) as comm:
        caught = attempt(lambda: dispatch_v2(payload(context.rank, 9, 1024), ids, comm))
        round_trip(comm, expected)
    return caught


def test_report_09_more_tokens_than_declared() -> None:
    for caught in run(above_capacity_body, 4, timeout=30):
        assert caught.kind == "ArgumentError", caught
        assert re.search(r"\b9\b", caught.text) and re.search(r"\b8\b", caught.text)


def no_limit_body(context: Any) -> Caught:
    from ascend_deepep import Communicator

    limits = {"hidden": 1024, "num_topk": 2, "num_experts": 8}
    return attempt(lambda: Communicator(context.group, **limits))  # type: ignore[call-arg]


def test_report_09_limit_left_out() -> None:
    """There is no default: leaving it out is an error before anything is built."""
    for caught in run(no_limit_body, 4, timeout=30):
        assert caught.kind == "TypeError" and "max_tokens" in caught.text


SMALL_LIMITS = (1, 2, 3, 7, 8, 15, 31, 32, 33, 63, 64, 65, 127, 255, 256)
POISONS = (0x7F, 0x5A)


def small_limit_body(context: Any, limit: int) -> None:
    """Full and single-token batches, random and all to the last rank; not a block outside the slots is touched."""
    full, single = even(8, limit, 4, 16), even(8, 1, 4, 16)
    plans = [Plan.make(shape, routing, 1) for shape in (full, single) for routing in (random_ids, last_rank)]
    sizes = Sizes(8, limit, 1024, 4, 16)
    with communicator(context, full) as comm:
        windows = Windows(comm, sizes)
        for number, plan in enumerate(plans):
            expected = Expected.of(plan, context.rank)
            dist.barrier()
            windows.poison(POISONS[number % 2])
            dist.barrier()
            round_trip(comm, expected)
            dist.barrier()
            stray_writes(windows, expected.route, POISONS[number % 2])


@pytest.mark.parametrize("limit", SMALL_LIMITS)
def test_report_16_small_declared_maximum(limit: int) -> None:
    run(small_limit_body, 8, limit, timeout=30)


def blind_body(context: Any) -> list[str]:
    """What the search for stray writes says of a byte in a free slot, and of a slot that stayed empty."""
    shape = even(2, 3, 2, 4)
    expected = Expected.of(Plan.make(shape, random_ids, 1), context.rank)
    said = []
    with communicator(context, shape, max_tokens=5) as comm:
        windows = Windows(comm, Sizes(2, 5, shape.hidden, shape.topk, shape.experts))
        for area, block in ((0, -1), (2, -1), (0, None), (2, None)):
            dist.barrier()
            windows.poison(POISONS[0])
            dist.barrier()
            round_trip(comm, expected)
            dist.barrier()
            stray_writes(windows, expected.route, POISONS[0])
            halves = [half for kind in windows.halves(context.rank) for half in kind]
            if block is None:
                halves[area].fill_(POISONS[0])
                halves[area + 1].fill_(POISONS[0])
            else:
                halves[area][block, 7] = 1
            said.append(attempt(lambda: stray_writes(windows, expected.route, POISONS[0])).text)
    return said


def test_stray_writes_are_seen() -> None:
    """The canaries of these tests sing: a stray byte and a missing copy or row are both found."""
    for said in run(blind_body, 2, timeout=30):
        assert [text.split()[0] for text in said] == ["dispatch", "combine", "dispatch", "combine"], said


def test_expert_step_is_exact() -> None:
    """The oracle's own arithmetic: a step never rounds, whatever the expert and the row."""
    import torch

    x = payload(7, 512, 1024)
    for expert in range(4):
        step = expert_step(x, torch.full((512,), expert))
        assert torch.equal(step.double(), x.double() * 2**expert)
