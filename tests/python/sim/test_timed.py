# SPDX-License-Identifier: Apache-2.0
"""Shapes that the benchmark times and that seeds do not draw: larger batches, decode and prefill. Layer: tests.

Rows of 7168 elements up to 128 tokens; prefill, and 128 tokens on 8 ranks, have shorter ones, which keep the windows of
a world within a GiB. Ranks, tokens, top-k, experts, routing and quantisation are those of the benchmark.
"""

from __future__ import annotations

import pytest
from sim_cli import sim, value_of

QUANTS, ROUTINGS = ("none", "pertoken-int8"), ("uniform", "gate", "skewed")
DECODE = [(ranks, tokens, 7168) for ranks in (2, 4) for tokens in (32, 128)] + [(8, 32, 7168), (8, 128, 1024)]
PREFILL = [(2, 1024, 512), (4, 1024, 256), *((ranks, tokens, 64) for ranks in (2, 4, 8) for tokens in (2048, 4096))]
PREFILL += [(8, 1024, 64)]
# What a seed may draw besides.
PLAIN = (
    "max_topk=8 topk=8 max_experts=256 experts=256 operations=D,C second=0 shared=0 shared_ranks=0 shared_x=0 "
    "mask=none hole_one_in=0 dtype=bf16 quant_scales=none copies=rank combine_int8=0 uneven=0 one_hot=0 "
    "depth=64 cq_depth=64 cores=8 survivors=0 timeout_ns=10000000000"
)


def run(seed: int, ranks: int, tokens: int, hidden: int, quant: str, routing: str) -> None:
    """A dispatch and its combine, without a fault, under the schedule that the seed draws."""
    shape = f"ranks={ranks} max_tokens={tokens} tokens={tokens} max_hidden={hidden} hidden={hidden}"
    settings = f"{shape} quant={quant} routing={routing} {PLAIN}".split()
    words = [word for setting in settings for word in ("--set", setting)]
    value = value_of(sim("--seed", str(seed), "--no-faults", *words, "--json"))
    assert value["outcome"] == "held", value
    if hidden == 7168:
        rows = "bf16" if quant == "none" else quant
        assert value["timed"] == f"{ranks} ranks, {tokens} tokens, {rows}, {routing}"


@pytest.mark.long
@pytest.mark.parametrize("quant", QUANTS)
@pytest.mark.parametrize(("ranks", "tokens", "hidden"), DECODE)
def test_decode(ranks: int, tokens: int, hidden: int, quant: str) -> None:
    for seed, routing in enumerate(ROUTINGS, 1):
        run(seed, ranks, tokens, hidden, quant, routing)


@pytest.mark.long
@pytest.mark.parametrize("quant", QUANTS)
@pytest.mark.parametrize(("ranks", "tokens", "hidden"), PREFILL)
def test_prefill(ranks: int, tokens: int, hidden: int, quant: str) -> None:
    for seed, routing in enumerate(ROUTINGS, 1):
        run(seed, ranks, tokens, hidden, quant, routing)


def test_a_timed_shape_of_a_seed_is_told() -> None:
    value = value_of(sim("--seed", "88", "--json"))
    assert value["timed"] == "2 ranks, 1 tokens, bf16, uniform"
    assert value_of(sim("--seed", "87", "--json"))["timed"] == ""
