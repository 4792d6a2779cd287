# SPDX-License-Identifier: Apache-2.0
"""Public reports 10, 22 and 23: experts over ranks, work over cores, products beyond 32 bits. Layer: tests.

Report 23 (b) needs memory that only a device has.
"""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ascend_deepep import _runtime
from ascend_deepep.testing import run
from conformance_support import (
    Caught,
    Expected,
    Plan,
    Shape,
    attempt,
    communicator,
    even,
    in_turn,
    last_expert,
    random_ids,
    round_trip,
    rounds,
)
from conformance_windows import DATA, Sizes, Windows

ROOT = Path(__file__).resolve().parents[3]


def uneven_body(context: Any, experts: int) -> Caught:
    """Refused, on every rank; then a number of experts that fits is EXACT."""
    shape = even(context.num_ranks, 5, 2, experts)
    good = even(context.num_ranks, 5, 2, 2 * context.num_ranks)
    caught = attempt(lambda: communicator(context, shape))
    with communicator(context, good) as comm:
        for routing in (in_turn, last_expert):
            round_trip(comm, Expected.of(Plan.make(good, routing, 1), context.rank))
    return caught


@pytest.mark.parametrize("experts, num_ranks", [(10, 4), (7, 2), (128, 6), (3, 4)])
def test_report_10_experts_that_do_not_divide(experts: int, num_ranks: int) -> None:
    for caught in run(uneven_body, num_ranks, experts, timeout=30):
        assert caught.kind == "ArgumentError", caught
        assert f"num_experts = {experts}" in caught.text and f"num_ranks = {num_ranks}" in caught.text


def test_report_10_one_expert_a_rank() -> None:
    run(rounds, 8, even(8, 5, 2, 8), [in_turn, last_expert], 2, timeout=30)


CORE_SHAPE = even(4, 37, 3, 12, hidden=1056)
CORES = (4, 5, 7, 8, 9, 13, 20, 21, 24, 40, 48, 72)


@pytest.mark.sim
@pytest.mark.parametrize("cores", CORES)
def test_report_22_any_number_of_cores(cores: int) -> None:
    """The oracle is the same for each, so the output is."""
    run(rounds, 4, CORE_SHAPE, [random_ids], 2, num_cores=cores, timeout=30)


@pytest.mark.parametrize(
    "shape, cores",
    [
        (even(4, 3, 3, 12, hidden=1056), 8),
        (even(4, 37, 3, 12, hidden=1056), 37),
        (even(8, 37, 3, 16, hidden=1056), 5),
        (even(4, 37, 3, 4, hidden=1056), 13),
        (Shape((0, 1, 37, 2), 3, 12, hidden=1056), 72),
    ],
    ids=["tokens_below_cores", "tokens_as_cores", "ranks_above_cores", "experts_below_cores", "mostly_idle"],
)
def test_report_22_cores_beside_other_sizes(shape: Shape, cores: int) -> None:
    run(rounds, shape.num_ranks, shape, [random_ids], 3, num_cores=cores, timeout=30)


def cores_body(context: Any, cores: int) -> Caught:
    caught = attempt(lambda: communicator(context, CORE_SHAPE, num_cores=cores))
    with communicator(context, CORE_SHAPE) as comm:
        round_trip(comm, Expected.of(Plan.make(CORE_SHAPE, random_ids, 1), context.rank))
    return caught


@pytest.mark.parametrize("cores", [0, 1, 2, 3, 73])
def test_report_22_illegal_number_of_cores(cores: int) -> None:
    for caught in run(cores_body, 4, cores, timeout=30):
        assert caught.kind == "ArgumentError", caught
        assert f"num_cores = {cores}" in caught.text


# Prints what the package's own helpers make of products that 32 bits do not hold.
OFFSETS = r"""
#include <cstdio>
#include "contract/window_layout.h"
using namespace ascend_deepep;
int main() {
    const CommunicatorLimits limits{1024, 8192, 8192, 16, 1024, 0};
    const WindowLayout layout = window_layout(limits);
    for (const Region& region : layout.regions) {
        std::printf("%llu %llu\n", (unsigned long long)region.offset, (unsigned long long)region.bytes);
    }
    const uint64_t rows[] = {262145, 65537, 1ULL << 31};
    for (uint64_t row : rows) std::printf("%llu 0\n", (unsigned long long)slot_offset(row * 16384));
    for (uint64_t row : rows) std::printf("%llu 0\n", (unsigned long long)flag_offset(row * 35));
}
"""


def test_report_23_offsets_in_64_bits(tmp_path: Path) -> None:
    """(a): offsets of the layout and of rows, against Python integers."""
    source, program = tmp_path / "offsets.cpp", tmp_path / "offsets"
    source.write_text(OFFSETS)
    command = ["g++", "-std=c++17", "-Wall", "-Werror", "-I", str(ROOT / "op_kernel"), str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    numbers = [tuple(map(int, line.split())) for line in lines]
    sizes = Sizes(1024, 8192, 8192, 16, 1024)
    areas = [sizes.send_buffer, *(2 * [sizes.dispatch_half]), *(2 * [sizes.combine_half]), sizes.staging]
    regions, rows = numbers[:-6], numbers[-6:]
    assert [size for _, size in regions[-6:]] == areas
    for (offset, size), (following, _) in itertools.pairwise(regions):
        assert following == -(-(offset + size) // 4096) * 4096
    assert regions[-1][0] > 1 << 37
    places = [262145 * 16384, 65537 * 16384, (1 << 31) * 16384]
    assert [offset for offset, _ in rows[:3]] == [at // DATA * 512 + at % DATA for at in places]
    assert [offset for offset, _ in rows[3:]] == [row * 35 * 512 + DATA for row in (262145, 65537, 1 << 31)]


def test_report_23_window_query_in_64_bits() -> None:
    """(a): the byte count of a window whose offsets pass 2^32 many times."""
    sizes = Sizes(64, 8192, 8192, 16, 1024)
    query = _runtime.required_window_bytes(64, 8192, 8192, 16, 1024, 0)
    assert query > sizes.data > 1 << 34
    assert query - sizes.data - sizes.control < 1 << 20


def high_window_body(context: Any) -> tuple[int, int]:
    """A round trip; where the windows lie, and where the stack ends, which is the top of what a process can map."""
    shape = even(2, 9, 2, 8)
    with communicator(context, shape) as comm:
        base = Windows(comm, Sizes(2, 9, shape.hidden, shape.topk, shape.experts)).bases[0]
        for seed in range(3):
            round_trip(comm, Expected.of(Plan.make(shape, random_ids, seed), context.rank))
    stack = next(line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("[stack]"))
    return base, int(stack.split("-")[1].split()[0], 16)


def test_report_23_windows_near_the_top_of_the_address_range() -> None:
    """(c): Linux maps from the top down; the windows lie in the last thirty-second of the range."""
    for base, top in run(high_window_body, 2, timeout=30):
        assert base > 1 << 40
        assert top - base < top // 32
