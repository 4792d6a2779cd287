# SPDX-License-Identifier: Apache-2.0
"""Sizes of configurations: against the window function, real communicators, real outputs. Layer: tests."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from ascend_deepep import Communicator, _runtime, combine_v2, dispatch_v2, required_window_bytes
from ascend_deepep.cli.app import run
from ascend_deepep.errors import ArgumentError
from ascend_deepep.sizing import Configuration, Limits, changes, largest_tokens, size

_QUANTS = [(0, None), (1, None), (2, 1), (2, 24), (2, 23), (3, 24), (3, 23), (4, 24), (4, 23)]


def draw(generator: random.Random) -> Configuration:
    """A legal configuration."""
    while True:
        ranks = generator.choice([1, 2, 3, 4, 8, 16, 24, 64, 128, 256])
        shared = generator.choice([0, 0, 0, 1, 2])
        shared_ranks = shared * generator.choice([1, 2]) if shared else 0
        moe_ranks = ranks - shared_ranks
        if moe_ranks < 1:
            continue
        experts = moe_ranks * generator.choice([1, 2, 4, 8])
        if experts > 1024 or experts // moe_ranks * ranks > 2048:
            continue
        quant, dtype = generator.choice(_QUANTS)
        kind = generator.choice(["", "per-expert", "rank"])
        return Configuration(
            num_ranks=ranks,
            max_tokens=generator.randint(1, 8192 if kind != "per-expert" else 512),
            hidden=16 * generator.randint(4, 512),
            num_topk=generator.randint(1, min(16, experts)),
            num_experts=experts,
            shared_expert_num=shared,
            shared_expert_rank_num=shared_ranks,
            per_expert_copies=kind == "per-expert",
            sums_by_rank=kind == "rank",
            quant_mode=quant,
            y_dtype=dtype,
            comm_quant_mode=0 if kind == "rank" else generator.choice([0, 2]),
            is_urma=generator.random() < 0.5,
            num_cores=generator.randint(4, 72),
        )


def test_200_configurations() -> None:
    generator = random.Random(20)
    seen = []
    for _ in range(200):
        drawn = draw(generator)
        found = size(drawn)
        limits = (drawn.num_ranks, drawn.max_tokens, drawn.hidden, drawn.num_topk, drawn.num_experts)
        copies = (drawn.shared_expert_num, int(drawn.per_expert_copies), int(drawn.sums_by_rank))
        assert found.window_bytes == _runtime.required_window_bytes(*limits, *copies)
        # Regions begin at whole pages and at 512 B, and fill what there is.
        assert sum(-(-part // 4096) * 4096 for part in found.window.values()) == found.window_bytes
        assert sum(-(-(part + 32) // 512) * 512 for part in found.workspace.values()) == found.workspace_bytes
        assert found.memory_bytes == found.window_bytes + found.workspace_bytes + sum(found.outputs.values())
        element = 2 if drawn.quant_mode == 0 else 1
        assert found.outputs["expand_x"] == found.capacity_rows * drawn.hidden * element
        assert found.outputs["x_out"] == 2 * drawn.max_tokens * drawn.hidden
        assert found.ub_bytes == drawn.num_cores * found.ub_bytes_per_core <= drawn.num_cores * (256 << 10)
        seen.append(drawn)
    for feature in ("per_expert_copies", "sums_by_rank", "quant_mode", "comm_quant_mode", "shared_expert_num"):
        assert {bool(getattr(drawn, feature)) for drawn in seen} == {False, True}, feature


@pytest.mark.parametrize("number", range(6))
def test_a_real_communicator_and_its_calls(number: int) -> None:
    """What one rank in this process has, and what its calls return."""
    generator = random.Random(number)
    while (drawn := draw(generator)).num_ranks > 1 or drawn.shared_expert_num or drawn.comm_quant_mode:
        pass
    drawn = replace(drawn, max_tokens=1 + drawn.max_tokens % 32)
    found = size(drawn)
    options: dict[str, Any] = {"combine_reduce": "rank" if drawn.sums_by_rank else "row"}
    maxima = {name: getattr(drawn, name) for name in ("max_tokens", "hidden", "num_topk", "num_experts")}
    with Communicator(None, **maxima, per_expert_copies=drawn.per_expert_copies, **options) as comm:
        assert found.window_bytes == comm.window_bytes == comm.required_window_bytes
        x = torch.randn(drawn.max_tokens, drawn.hidden).bfloat16()
        ids = torch.rand(drawn.max_tokens, drawn.num_experts).topk(drawn.num_topk).indices.int()
        weights = torch.ones(drawn.max_tokens, drawn.num_topk)
        call: dict[str, Any] = {"quant_mode": drawn.quant_mode, "y_dtype": drawn.y_dtype}
        call |= {"scales": torch.ones(1)} if drawn.quant_mode == 1 else {}
        call |= {"expert_scales": weights} if drawn.sums_by_rank else {}
        call |= {"comm_alg": "fullmesh_v1"} if drawn.per_expert_copies else {}
        got = dispatch_v2(x, ids, comm, **call)
        rows = torch.zeros(found.capacity_rows, drawn.hidden, dtype=torch.bfloat16)
        more: dict[str, Any] = {"expand_scales": got.expand_scales} if drawn.sums_by_rank else {}
        out = combine_v2(rows, ids, got.assist_info_for_combine, got.ep_recv_counts, weights, comm, **more)
    real = {name: getattr(got, name) for name in found.outputs if name != "x_out"} | {"x_out": out}
    assert {name: part.numel() * part.element_size() for name, part in real.items()} == found.outputs


def test_largest_batch() -> None:
    base = Configuration(8, 128, 7168, 8, 256)
    for limits in (Limits(window=1 << 30), Limits(memory=1 << 30), Limits(300 << 20, 2 << 30)):
        most = largest_tokens(base, limits)
        assert 0 < most < 8192
        assert not size(replace(base, max_tokens=most)).excess(limits)
        assert size(replace(base, max_tokens=most + 1)).excess(limits)
    assert largest_tokens(base, Limits()) == 8192
    assert largest_tokens(base, Limits(window=1000)) == 0


def test_changes_are_sizes_that_were_asked_for() -> None:
    base = Configuration(8, 4096, 7168, 8, 256, per_expert_copies=True)
    limits = Limits(window=3 << 30)
    offered = changes(base, limits)
    assert any("per rank instead" in change.what and change.fits for change in offered)
    assert any(change.what.startswith("max_tokens ") and change.fits for change in offered)
    assert [change.fits for change in offered] == sorted((change.fits for change in offered), reverse=True)
    one = next(change for change in offered if "per rank instead" in change.what)
    assert one.window_bytes == size(replace(base, per_expert_copies=False)).window_bytes


def command(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run(["size", "--json", *words])
    return code, json.loads(capfd.readouterr().out.splitlines()[-1])


def test_command(capfd: pytest.CaptureFixture[str]) -> None:
    code, value = command(capfd)
    assert code == 0 and value["fits"] and value["largest_max_tokens"] == 8192
    need = required_window_bytes(8, max_tokens=128, hidden=7168, num_topk=8, num_experts=256)
    assert value["window_bytes"] == need == 66588672
    code, value = command(capfd, "--window-limit", "64MiB", "--tokens", "256")
    assert code == 1 and not value["fits"] and value["changes"]
    assert value["excess"][0].endswith(f"above the limit {64 << 20}")
    assert (
        run(["size", "--window-limit", "32MiB", "--quant", "pertoken-int8", "--shared", "1/2", "--experts", "12"]) == 1
    )
    text = capfd.readouterr().out
    assert "DOES NOT FIT window" in text and "dispatch_half_1" in text and "fits" in text


@pytest.mark.parametrize(
    "words, message",
    [
        (["--experts", "7", "--topk", "2"], "num_experts = 7 is not a multiple of num_ranks = 8"),
        (["--window-limit", "12parsecs"], "--window-limit '12parsecs' is not a number of bytes"),
        (["--memory-limit", "0.3"], "--memory-limit '0.3' is not a number of bytes"),
        (["--quant", "int4"], "--quant 'int4' is not one of none"),
        (["--shared", "1"], "--shared '1' is not EXPERTS/RANKS"),
        (["--tokens", "-1"], "--tokens -1 is outside [0, 4294967295]"),
        (["--tokens", "9000"], "max_tokens = 9000 is outside [1, 8192]"),
        (["--combine-reduce", "rank", "--copies", "per-expert"], "copy per expert"),
    ],
)
def test_refusals(capfd: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    code, value = command(capfd, *words)
    assert code == 2 and message in value["error"]["message"]


def test_footprint_raises_the_operators_errors() -> None:
    with pytest.raises(ArgumentError, match="quant_mode"):
        _runtime.footprint(num_ranks=8, max_tokens=8, hidden=64, num_topk=1, num_experts=8, quant_mode=9)
