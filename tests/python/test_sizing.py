# SPDX-License-Identifier: Apache-2.0
"""Sizes of 200 random configurations: against the communicator's own, against docs/layout.md reckoned anew, and outputs
against the shapes that torch infers. Then limits, changes, and the command."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from ascend_deepep import ArgumentError, Communicator, dispatch_v2, required_window_bytes, sizing
from ascend_deepep._load import load_ops
from ascend_deepep.cli.app import run
from ascend_deepep.cli.values import byte_count
from ascend_deepep.demo.features import COMM_QUANTS, QUANTS
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.sizing import Configuration, Limits, changes, largest_max_tokens, sizes

pytestmark = pytest.mark.fast

_DOCS = Path(__file__).parents[2] / "docs"
_LAYOUT = (_DOCS / "layout.md").read_text()
_COUNT = 200
_HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
_EXAMPLE = Configuration(num_ranks=8, max_tokens=128, hidden=7168, num_topk=8, num_experts=256)


def _random(draw: random.Random) -> Configuration:
    """One that a communicator takes, and whose largest calls are legal; small and large sizes as often."""
    ranks = draw.choice([1, 2, 3, 8, 64, 1024, draw.randint(1, 1024)])
    shared = draw.choice([0, 0, draw.randint(1, 4)])
    shared_ranks = shared * draw.randint(1, (ranks - 1) // shared) if shared and ranks > shared else 0
    shared = shared if shared_ranks else 0
    routed = ranks - shared_ranks
    experts = routed * draw.randint(1, max(1, min(2048 // ranks, 1024 // routed)))
    by_rank = draw.random() < 0.3
    return Configuration(
        num_ranks=ranks,
        max_tokens=draw.choice([1, 128, 8192, draw.randint(1, 8192)]),
        hidden=16 * draw.choice([4, 448, 512, draw.randint(4, 512)]),
        num_topk=draw.randint(1, min(16, experts)),
        num_experts=experts,
        shared_expert_num=shared,
        shared_expert_rank_num=shared_ranks,
        per_expert_copies=not by_rank and draw.random() < 0.4,
        combine_reduce="rank" if by_rank else "row",
        combine_engine=draw.choice(["mte", "urma"]),
        dtype=draw.choice(["bf16", "fp16"]),
        quant=draw.choice(list(QUANTS)),
        comm_quant="none" if by_rank else draw.choice(list(COMM_QUANTS)),
        num_cores=draw.choice([None, draw.randint(4, 72)]),
        queues_per_peer=draw.randint(1, 4),
        queue_depth=draw.choice([None, 1 << draw.randint(2, 15)]),
    )


def _configurations() -> list[Configuration]:
    draw = random.Random(7)
    return [_random(draw) for _ in range(_COUNT)]


CONFIGURATIONS = _configurations()


def _up(count: int, unit: int) -> int:
    return -(-count // unit) * unit


def _slot(data_bytes: int) -> int:
    """Whole blocks of 512 B, of which 480 B are data."""
    return -(-data_bytes // 480) * 512


def _local_experts(c: Configuration) -> int:
    return min(c.num_experts, 2048 // c.num_ranks) if c.shared_expert_num else c.num_experts // c.num_ranks


def _copies(c: Configuration) -> int:
    """The most copies of one source to one rank."""
    return c.max_tokens * (min(_local_experts(c), c.num_topk) if c.per_expert_copies else 1)


def _header(c: Configuration) -> int:
    """8 B, an entry of 4 B a column, a weight of 4 B a routed column."""
    return _up(8 + 4 * (c.num_topk + c.shared_expert_num) + 4 * c.num_topk, 32)


def _window(c: Configuration) -> dict[str, int]:
    """Region by region as docs/layout.md describes them."""
    page = re.search(r"### ControlPage, (\d+) B", _LAYOUT)
    assert page is not None
    columns = c.num_topk + c.shared_expert_num
    token, row = _slot(2 * c.hidden + _header(c)), _slot(2 * c.hidden)
    dispatch, combine = c.num_ranks * _copies(c) * token, c.max_tokens * columns * row
    return {
        "control page": _up(int(page[1]), 4096),
        "control ring": c.num_ranks * 4 * _slot(160 + 4 * _local_experts(c)),
        "abort": c.num_ranks * 512,
        "send buffer": c.max_tokens * (columns if c.per_expert_copies else 1) * token,
        "dispatch half 0": dispatch,
        "dispatch half 1": dispatch,
        "combine half 0": combine,
        "combine half 1": combine,
        "combine staging": c.num_ranks * 4 * row,
    }


def _workspace(c: Configuration) -> dict[str, int]:
    blocks = 4 * c.num_ranks * _local_experts(c)
    return {
        "headers": c.max_tokens * _header(c),
        "destinations": 4 * c.num_ranks * _copies(c),
        "copies": 4 * c.num_ranks,
        "expert rows": 4 * (c.num_ranks + c.num_experts),
        "live ids": 4 * c.max_tokens * (c.num_topk + 1),
        "refusals": 64 * (1 + 72),
        "received rows": blocks,
        "received info": 8 * c.num_ranks,
        "block base": blocks,
        "partials": 4 * c.num_ranks,
        "own rows": 4 * c.max_tokens * (c.num_topk + c.shared_expert_num),
    }


def _limits_of(c: Configuration) -> dict[str, Any]:
    names = ("max_tokens", "hidden", "num_topk", "num_experts", "shared_expert_num", "per_expert_copies")
    return {name: getattr(c, name) for name in names}


def test_configurations_are_of_all_kinds() -> None:
    assert {c.quant for c in CONFIGURATIONS} == set(QUANTS)
    assert len(set(CONFIGURATIONS)) == _COUNT
    for name in ("shared_expert_num", "per_expert_copies", "combine_reduce", "combine_engine", "comm_quant", "dtype"):
        assert len({getattr(c, name) for c in CONFIGURATIONS}) > 1, name


def test_windows_are_those_of_communicators_and_of_the_page() -> None:
    for c in CONFIGURATIONS:
        taken = sizes(c)
        assert taken.window_bytes == required_window_bytes(c.num_ranks, **_limits_of(c)), c
        assert {region.name: region.bytes for region in taken.window} == _window(c), c
        assert taken.window_bytes == sum(_up(size, 4096) for size in _window(c).values()), c


def test_workspaces_are_those_of_the_page() -> None:
    for c in CONFIGURATIONS:
        taken = sizes(c)
        assert {region.name: region.bytes for region in taken.workspace} == _workspace(c), c
        # A unit of slack behind each region.
        assert taken.workspace_bytes == sum(_up(size + 32, 512) for size in _workspace(c).values()), c


@pytest.mark.parametrize(("heading", "part"), [("Window", "window"), ("Workspace", "workspace")])
def test_the_example_of_the_page(heading: str, part: str) -> None:
    table = _LAYOUT.split(f"\n### {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]
    rows = re.findall(r"^\| (\d+) \| (\d+) \| ([\w ]+) \|", table, re.MULTILINE)
    end = re.search(r"^\| (\d+) \| \| end \|", table, re.MULTILINE)
    taken = sizes(_EXAMPLE)
    got = [(str(region.offset), str(region.bytes), region.name) for region in getattr(taken, part)]
    assert got == rows
    assert end is not None
    assert getattr(taken, f"{part}_bytes") == int(end[1])


@pytest.mark.parametrize("number", range(4))
def test_a_communicator_has_this_window(number: int) -> None:
    c = replace(_random(random.Random(number)), num_ranks=1, num_experts=16, max_tokens=32, hidden=64 + 16 * number)
    c = replace(c, shared_expert_num=number % 2, shared_expert_rank_num=0, num_topk=number + 1, quant="none")
    taken = sizes(c)
    with Communicator(None, **_limits_of(c), combine_reduce=c.combine_reduce, num_cores=4) as comm:
        assert comm.window_bytes == comm.required_window_bytes == taken.window_bytes
        x = torch.ones(c.max_tokens, c.hidden, dtype=_HALVES[c.dtype])
        ids = torch.arange(c.num_topk, dtype=torch.int32).repeat(c.max_tokens, 1)
        comm_alg = "fullmesh_v1" if c.per_expert_copies else ""
        sent = dispatch_v2(x, ids, comm, expert_scales=torch.ones(ids.shape), comm_alg=comm_alg)
    rows = taken.outputs[0].dispatch[0]
    assert (sent.expand_x.shape, sent.expand_x.nbytes) == (rows.shape, rows.bytes)
    assert sent.assist_info_for_combine.nbytes == taken.outputs[0].dispatch[2].bytes


def _meta(c: Configuration, rank: int) -> list[torch.Tensor]:
    """Outputs of the operators' Meta kernels: those of dispatch, then that of combine."""
    mode, element = QUANTS[c.quant]
    is_passed = c.quant == "pass-e4m3"
    tokens = c.max_tokens
    # Experts make bfloat16 of float8 tokens.
    x_dtype, rows_dtype = (torch.float8_e4m3fn, torch.bfloat16) if is_passed else (_HALVES[c.dtype],) * 2
    scales = torch.empty(1, device="meta") if mode == 1 else None
    if is_passed:
        scales = torch.empty(tokens, -(-c.hidden // 128), device="meta")
    ids = torch.empty(tokens, c.num_topk, dtype=torch.int32, device="meta")
    weights = torch.empty(tokens, c.num_topk, device="meta")
    common: dict[str, Any] = {
        "shared_expert_num": c.shared_expert_num,
        "shared_expert_rank_num": c.shared_expert_rank_num,
        "comm_alg": "fullmesh_v1" if c.per_expert_copies else "",
    }
    numbers = {"int8": 1, "float8_e5m2": 23, "float8_e4m3fn": 24}
    group = ("any", c.num_ranks, rank, c.num_experts)
    sent = torch.ops.npu.dispatch_v2(
        torch.empty(tokens, c.hidden, dtype=x_dtype, device="meta"),
        ids,
        *group,
        scales=scales,
        expert_scales=weights,
        quant_mode=mode,
        y_dtype=numbers[element] if mode and element else None,
        **common,
    )
    rows = torch.empty(sent[0].shape, dtype=rows_dtype, device="meta")
    back = torch.ops.npu.combine_v2(
        rows, ids, sent[2], sent[4], weights, *group, comm_quant_mode=COMM_QUANTS[c.comm_quant], **common
    )
    return [*sent, back]


def _described(tensors: list[torch.Tensor]) -> list[tuple[tuple[int, ...], str, int]]:
    return [(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), tensor.nbytes) for tensor in tensors]


def test_outputs_are_those_that_torch_infers() -> None:
    load_ops()
    for c in CONFIGURATIONS:
        taken = sizes(c)
        kinds = {"routed": c.num_ranks - 1} | ({"shared": 0} if c.shared_expert_rank_num else {})
        assert {outputs.ranks for outputs in taken.outputs} == set(kinds), c
        for outputs in taken.outputs:
            inferred = _meta(c, kinds[outputs.ranks])
            got = [(tensor.shape, tensor.dtype, tensor.bytes) for tensor in (*outputs.dispatch, *outputs.combine)]
            assert got == _described(inferred), c
            assert outputs.bytes == sum(tensor.nbytes for tensor in inferred), c
        assert taken.outputs[0].bytes == max(outputs.bytes for outputs in taken.outputs)
        parts = taken.window_bytes + taken.workspace_bytes + taken.queue_bytes + taken.outputs[0].bytes
        assert taken.memory_bytes == parts


def test_ub_queues_and_roles() -> None:
    for c in CONFIGURATIONS:
        taken = sizes(c)
        assert [(share.kernel, share.role) for share in taken.ub] == [
            ("dispatch_v2", "route"),
            ("combine_v2", "reduce"),
        ]
        assert all(0 < share.bytes <= share.limit < taken.kernel_ub_bytes == 216 * 1024 for share in taken.ub), c
        # As many threads' counters as there are tokens, and no more than fit.
        words = c.num_experts + c.num_ranks
        route = taken.ub[0].bytes // (4 * words)
        assert route * 4 * words == taken.ub[0].bytes
        assert route <= c.max_tokens
        rings = c.num_ranks * c.queues_per_peer * taken.queue_depth * (64 + 64)
        assert taken.queue_depth == (c.queue_depth or taken.queue_depth)
        assert rings < taken.queue_bytes <= rings + 128 * c.num_ranks * c.queues_per_peer + 2 * 512 + 4096, c
        assert taken.num_cores == (c.num_cores or taken.num_cores)
        for kernel, roles in taken.roles.items():
            # What is left of combine_v2's cores without a role only reduces.
            assert sum(roles.values()) == taken.num_cores, (kernel, c)
        assert (taken.roles["combine_v2"]["doorbell"] > 0) == (c.combine_engine == "urma"), c


def test_the_largest_batch_is_the_last_that_fits() -> None:
    draw = random.Random(3)
    for c in CONFIGURATIONS[:12]:
        taken = sizes(c)
        window = draw.randint(taken.window_bytes // 3, taken.window_bytes)
        memory = draw.choice([None, draw.randint(taken.memory_bytes // 3, taken.memory_bytes)])
        limits = Limits(window, memory)
        most = largest_max_tokens(c, limits)
        assert most == 0 or limits.fits(sizes(replace(c, max_tokens=most))), c
        assert most == 8192 or not limits.fits(sizes(replace(c, max_tokens=most + 1))), c
        assert most == largest_max_tokens(replace(c, max_tokens=1), limits)
    assert largest_max_tokens(_EXAMPLE, Limits(1)) == 0
    assert largest_max_tokens(_EXAMPLE, Limits(sizes(_EXAMPLE).window_bytes)) == 128
    assert largest_max_tokens(_EXAMPLE, Limits()) == 8192


def test_changes_help() -> None:
    told: set[str] = set()
    for c in CONFIGURATIONS[:16]:
        taken = sizes(c)
        limits = Limits(taken.window_bytes * 2 // 3, taken.memory_bytes // 2)
        found = changes(c, limits)
        assert [change.fits for change in found] == sorted((change.fits for change in found), reverse=True)
        for change in found:
            told |= {name for name in vars(c) if getattr(c, name) != getattr(change.configuration, name)}
            again = sizes(change.configuration)
            assert change.sizes == again, change.text
            assert change.fits == limits.fits(again), change.text
            assert again.window_bytes < taken.window_bytes or again.memory_bytes < taken.memory_bytes, change.text
        assert changes(c, Limits(taken.window_bytes, taken.memory_bytes)) == []
    assert told >= {"max_tokens", "per_expert_copies", "num_topk", "num_ranks", "shared_expert_num", "quant"}


def test_what_saves_nothing_is_no_change() -> None:
    by_rank = replace(_EXAMPLE, combine_reduce="rank")
    assert sizes(by_rank).memory_bytes == sizes(_EXAMPLE).memory_bytes
    of_window = changes(_EXAMPLE, Limits(window_bytes=32 << 20))
    assert [change.text for change in of_window] == ["max_tokens 63 instead of 128"]
    deep = replace(_EXAMPLE, queue_depth=32768, queues_per_peer=2)
    rings = changes(deep, Limits(memory_bytes=200 << 20))
    assert "queue_depth 8192 instead of 32768" in [change.text for change in rings if change.fits]
    assert "queues_per_peer 1 instead of 2" in [change.text for change in rings if not change.fits]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"num_ranks": 3}, "num_experts = 256 is not a multiple of num_ranks = 3"),
        ({"num_topk": 17}, "num_topk = 17"),
        ({"hidden": 100}, "hidden = 100"),
        ({"max_tokens": -1}, "max_tokens = -1"),
        ({"max_tokens": 1 << 31}, "max_tokens = 2147483648"),
        ({"num_cores": 3}, "num_cores = 3"),
        ({"queues_per_peer": 5}, "queues_per_peer = 5"),
        ({"queue_depth": 6}, "queue_depth is 6"),
        ({"queue_depth": 0}, "queue_depth = 0"),
        ({"num_cores": 0}, "num_cores = 0"),
        ({"quant": "int7"}, "quant = 'int7' is not one of none"),
        ({"dtype": "fp32"}, "dtype = 'fp32'"),
        ({"combine_engine": "ccu"}, "combine_engine = 'ccu' is not one of mte, urma"),
        ({"combine_reduce": "both"}, "combine_reduce = 'both'"),
        ({"combine_reduce": "rank", "comm_quant": "int8"}, "combine_reduce"),
        ({"combine_reduce": "rank", "per_expert_copies": True}, "combine_reduce"),
        ({"shared_expert_num": 2, "shared_expert_rank_num": 3, "num_experts": 250}, "shared_expert_rank_num"),
    ],
)
def test_what_cannot_be(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(words)):
        sizes(replace(_EXAMPLE, **changed))


def test_sizes_with_units() -> None:
    for text, count in (("7", 7), ("8B", 8), ("1KiB", 1024), ("512 MiB", 512 << 20), ("1.5GiB", 3 << 29)):
        assert byte_count("--limit", text) == count
    for text in ("", "0", "-1", "1MB", "1e3", "GiB", "0.0001B", "9" * 20, "99999999TiB"):
        with pytest.raises(UsageError, match="--limit"):
            byte_count("--limit", text)


def _json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    text = capsys.readouterr().out
    assert text.count("\n") == 1
    value = json.loads(text)
    assert isinstance(value, dict)
    return value


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    taken = sizes(_EXAMPLE)
    assert run(["size", "--json"]) == 0
    value = _json(capsys)
    assert (value["window_bytes"], value["memory_bytes"]) == (taken.window_bytes, taken.memory_bytes)
    assert (value["fits"], value["largest_max_tokens"], value["changes"]) == (True, None, [])
    assert run(["size", "--window-limit", "32MiB", "--json"]) == 1
    value = _json(capsys)
    assert (value["fits"], value["largest_max_tokens"]) == (False, 63)
    assert value["changes"][0]["change"] == "max_tokens 63 instead of 128"
    assert run(["size", "--memory-limit", "1GiB", "--shared", "1/2", "--experts", "252", "--quant", "mx-e4m3"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^  window +control page +81920 ", shown, re.MULTILINE)
    assert shown.splitlines()[-1] == "FITS"
    monkeypatch.setenv("ASCEND_DEEPEP_WINDOW_BYTES", "4096")
    assert run(["size"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "DOES NOT FIT"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "3"], "num_experts = 256"),
        (["--window-limit", "5MB"], "--window-limit '5MB' is not a size"),
        (["--quant", "int7"], "--quant 'int7' is not one of"),
        (["--shared", "one"], "--shared 'one'"),
        (["--queue-depth", "6"], "queue_depth is 6"),
        (["--tokens", "0"], "max_tokens = 0"),
    ],
)
def test_a_bad_option(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["size", *words, "--json"]) == 2
    assert message in _json(capsys)["error"]["message"]


def test_the_module_names_what_it_has() -> None:
    assert all(hasattr(sizing, name) for name in sizing.__all__)


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    page = (_DOCS / "sizing.md").read_text()
    sample = re.search(r"^```console\n\$ ascend-deepep (.*?)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert sample is not None
    assert run(sample[1].split()) == 1
    shown = [line.rstrip() for line in capsys.readouterr().out.strip("\n").splitlines()]
    assert [line.rstrip() for line in sample[2].splitlines()] == shown
