#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dispatch_v2 and combine_v2 on the host twin against the same MoE layer written with gloo. Layer: bench.

    python bench/vs_gloo.py --json

The layer of the comparison is the usual one: permute by expert, exchange counts, all_to_all_single of the rows, permute
by local expert; back the same way, then the weighted sum. It runs twice, with the allocator as it comes ("plain") and
tuned so that freed memory stays mapped and comes in huge pages ("tuned"). All three take turns within one run, on the
same inputs, with experts that return what they get. An iteration takes as long as its slowest rank; medians count.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

TURN = 5  # iterations of one contestant before the next
BATCHES = 4  # inputs that take turns
GIB = 1 << 30
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Nothing by mmap, nothing given back to the system, huge pages where they fit (the last two: glibc, torch).
TUNED = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(4 * GIB),
    "MALLOC_TOP_PAD_": str(64 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "THP_MEM_ALLOC_ENABLE": "1",
}
ENVIRONMENTS = {"plain": {}, "tuned": TUNED}


@dataclass(frozen=True)
class Shape:
    ranks: int
    tokens: int
    hidden: int
    topk: int
    experts: int
    dtype: str = "bfloat16"


# The parent: starts a process a rank and environment, gives the turns, takes the times.


class Group:
    """The ranks of one environment."""

    def __init__(self, name: str, shape: Shape, folder: Path) -> None:
        environment = {**os.environ, **ONE_THREAD, **ENVIRONMENTS[name]}
        shape_text = json.dumps(asdict(shape))
        self._ranks = []
        for rank in range(shape.ranks):
            command = [sys.executable, __file__, "--rank", str(rank), str(folder / name), shape_text]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._ranks.append(subprocess.Popen(command, env=environment, text=True, **pipes))

    def turn(self, contestant: str, iterations: int) -> list[float]:
        """Milliseconds of each iteration: those of its slowest rank."""
        for rank in self._ranks:
            assert rank.stdin is not None
            rank.stdin.write(f"{contestant} {iterations}\n")
            rank.stdin.flush()
        times = [self._answer(number, rank) for number, rank in enumerate(self._ranks)]
        return [max(iteration) for iteration in zip(*times, strict=True)]

    def _answer(self, number: int, rank: subprocess.Popen[str]) -> list[float]:
        assert rank.stdout is not None
        line = rank.stdout.readline()
        if not line:
            raise RuntimeError(f"rank {number} ended with exit code {rank.wait()}")
        return [float(word) for word in line.split()]

    def close(self) -> None:
        """End the ranks, in order or, where that does not help, by force."""
        for rank in self._ranks:
            assert rank.stdin is not None
            rank.stdin.close()
        for rank in self._ranks:
            try:
                rank.wait(10.0)
            except subprocess.TimeoutExpired:
                rank.kill()
                rank.wait()


def measure(shape: Shape, iterations: int, warmup: int) -> dict[str, list[float]]:
    """Times of "ours", "plain" and "tuned", taken in turns."""
    times: dict[str, list[float]] = {"ours": [], "plain": [], "tuned": []}
    with tempfile.TemporaryDirectory() as folder:
        groups = {name: Group(name, shape, Path(folder)) for name in ENVIRONMENTS}
        turns = {
            "ours": lambda n: groups["plain"].turn("ours", n),
            "plain": lambda n: groups["plain"].turn("gloo", n),
            "tuned": lambda n: groups["tuned"].turn("gloo", n),
        }
        try:
            groups["plain"].turn("check", 1)
            for take in turns.values():
                take(warmup)
            while len(times["ours"]) < iterations:
                count = min(TURN, iterations - len(times["ours"]))
                for name, take in turns.items():
                    times[name] += take(count)
        finally:
            for group in groups.values():
                group.close()
    return times


def result(shape: Shape, times: dict[str, list[float]]) -> dict[str, Any]:
    """The numbers as --json prints them; `spread` is the 10th and 90th percentile of each."""

    def percentiles(values: list[float]) -> list[float]:
        deciles = statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else values
        return [round(deciles[0], 3), round(deciles[-1], 3)]

    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "shape": asdict(shape),
        "ours_ms": round(medians["ours"], 3),
        "gloo_ms": {name: round(medians[name], 3) for name in ENVIRONMENTS},
        "ratio": round(min(medians[name] for name in ENVIRONMENTS) / medians["ours"], 3),
        "iters": len(times["ours"]),
        "spread": {name: percentiles(values) for name, values in times.items()},
    }


def show(numbers: dict[str, Any]) -> None:
    shape = numbers["shape"]
    print(", ".join(f"{name} {value}" for name, value in shape.items()))
    medians = {"ours": numbers["ours_ms"], **{f"gloo {name}": ms for name, ms in numbers["gloo_ms"].items()}}
    for (name, median), (low, high) in zip(medians.items(), numbers["spread"].values(), strict=True):
        print(f"{name:>11} {median:9.2f} ms   {low:.2f} to {high:.2f}")
    print(f"{'ratio':>11} {numbers['ratio']:9.2f}      better gloo / ours, {numbers['iters']} iterations")


# A rank.


def gloo_layer(x: Any, ids: Any, scales: Any, shape: Shape) -> Any:
    """One MoE layer with gloo, without its experts."""
    import torch
    import torch.distributed as dist

    local = shape.experts // shape.ranks
    chosen = ids.flatten()
    order = chosen.argsort(stable=True)
    counts = torch.bincount(chosen, minlength=shape.experts)
    outgoing = x.index_select(0, order // shape.topk)

    incoming_counts = torch.empty_like(counts)  # (source, local expert)
    dist.all_to_all_single(incoming_counts, counts)
    to_peers = counts.view(shape.ranks, local).sum(dim=1).tolist()
    from_peers = incoming_counts.view(shape.ranks, local).sum(dim=1).tolist()
    incoming = torch.empty(sum(from_peers), shape.hidden, dtype=x.dtype)
    dist.all_to_all_single(incoming, outgoing, from_peers, to_peers)

    expert_of_row = torch.arange(local).repeat(shape.ranks).repeat_interleave(incoming_counts)
    by_expert = expert_of_row.argsort(stable=True)
    rows = incoming.index_select(0, by_expert)  # what the experts would work on, and here give back

    answers = torch.empty_like(rows).index_copy_(0, by_expert, rows)
    returned = torch.empty_like(outgoing)
    dist.all_to_all_single(returned, answers, to_peers, from_peers)
    # Column by column: half the time of one product over (tokens, top-k, hidden), and our order of adding.
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel())
    place = place.view(ids.shape)
    total = torch.zeros(x.shape, dtype=torch.float32)
    for column in range(shape.topk):
        total.addcmul_(returned.index_select(0, place[:, column]).float(), scales[:, column : column + 1])
    return total.to(x.dtype)


def our_layer(x: Any, ids: Any, scales: Any, comm: Any) -> Any:
    """The same with dispatch_v2 and combine_v2."""
    from ascend_deepep import combine_v2, dispatch_v2

    got = dispatch_v2(x, ids, comm)
    return combine_v2(got.expand_x, ids, got.assist_info_for_combine, got.ep_recv_counts, scales, comm)


def inputs(rank: int, shape: Shape) -> list[tuple[Any, Any, Any]]:
    """Tokens, ids and weights of this rank. Whole numbers and powers of two: every sum is exact in any order."""
    import torch

    dtype = getattr(torch, shape.dtype)
    scales = (2.0 ** -(1.0 + torch.arange(shape.topk) % 4)).expand(shape.tokens, shape.topk).contiguous()
    batches = []
    for batch in range(BATCHES):
        generator = torch.Generator().manual_seed(1009 * batch + rank)
        x = torch.randint(-30, 31, (shape.tokens, shape.hidden), generator=generator).to(dtype)
        ids = torch.rand(shape.tokens, shape.experts, generator=generator).argsort(dim=1)[:, : shape.topk]
        batches.append((x, ids.to(torch.int32).contiguous(), scales))
    return batches


def timed(layer: Callable[[int], Any], iterations: int) -> list[float]:
    import torch.distributed as dist

    times = []
    for iteration in range(iterations):
        dist.barrier()
        start = time.perf_counter()
        layer(iteration % BATCHES)
        times.append((time.perf_counter() - start) * 1000)
    return times


def serve(rank: int, store: str, shape: Shape) -> None:
    """Answer the parent's turns until it closes the pipe."""
    import torch
    import torch.distributed as dist
    from ascend_deepep import Communicator

    torch.set_num_threads(1)
    group = dist.FileStore(store, shape.ranks)
    dist.init_process_group("gloo", store=group, rank=rank, world_size=shape.ranks, timeout=timedelta(seconds=120))
    sizes = {"max_tokens": shape.tokens, "hidden": shape.hidden, "num_topk": shape.topk, "num_experts": shape.experts}
    batches = inputs(rank, shape)
    with Communicator(dist.group.WORLD, **sizes) as comm:

        def check(number: int) -> None:
            ours, gloos = our_layer(*batches[number], comm), gloo_layer(*batches[number], shape)
            if not torch.equal(ours, gloos):
                raise AssertionError(f"rank {rank}: the two layers differ in {int((ours != gloos).sum())} elements")

        layers: dict[str, Callable[[int], Any]] = {
            "ours": lambda number: our_layer(*batches[number], comm),
            "gloo": lambda number: gloo_layer(*batches[number], shape),
            "check": check,
        }
        for line in sys.stdin:
            name, iterations = line.split()
            print(*timed(layers[name], int(iterations)), flush=True)
    dist.destroy_process_group()


def main() -> int:
    parser = argparse.ArgumentParser(description="dispatch plus combine against the same layer with gloo")
    parser.add_argument("--json", action="store_true", help="one JSON object, nothing else on stdout")
    parser.add_argument("--iters", type=int, default=40)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--require", type=float, metavar="RATIO", help="exit 1 below this ratio")
    for name, value in (("ranks", 4), ("tokens", 128), ("hidden", 7168), ("topk", 8), ("experts", 256)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rank", nargs=3, metavar=("RANK", "STORE", "SHAPE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        serve(int(options.rank[0]), options.rank[1], Shape(**json.loads(options.rank[2])))
        return 0
    shape = Shape(options.ranks, options.tokens, options.hidden, options.topk, options.experts)
    numbers = result(shape, measure(shape, options.iters, options.warmup))
    if options.json:
        print(json.dumps(numbers))
    else:
        show(numbers)
    return int(options.require is not None and numbers["ratio"] < options.require)


if __name__ == "__main__":
    sys.exit(main())
