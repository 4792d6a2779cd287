# SPDX-License-Identifier: Apache-2.0
"""The oracle against loops that follow the definition word by word, and against the published example."""

from __future__ import annotations

import pytest
import torch
from ascend_deepep import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

pytestmark = pytest.mark.fast


def _ids(*rows: list[int]) -> Tensor:
    return torch.tensor(rows, dtype=torch.int32)


def test_published_example() -> None:
    """Two ranks, four experts, two tokens each: the numbers of the operators' documentation."""
    routed = reference.route([_ids([0, 2], [2, 3]), _ids([1, 0], [3, 2])], 4)
    first, second = routed.ranks
    assert first.triples.tolist() == [[0, 0, 0], [1, 0, 1], [1, 0, 0]]
    assert second.triples.tolist() == [[0, 0, 1], [0, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]]
    assert first.ep_recv_counts.tolist() == [1, 2, 2, 3]
    assert second.ep_recv_counts.tolist() == [2, 3, 4, 5]
    assert (first.expert_token_nums(1).tolist(), first.expert_token_nums(0).tolist()) == ([2, 1], [2, 3])
    assert (second.expert_token_nums(1).tolist(), second.expert_token_nums(0).tolist()) == ([3, 2], [3, 5])
    assert first.ep_recv_counts.dtype == torch.int32
    assert first.expert_token_nums(0).dtype == torch.int64


@st.composite
def layers(draw: st.DrawFn) -> tuple[list[Tensor], int]:
    """Ids of all ranks and the number of experts; ranks may have no tokens and choices may be empty."""
    num_ranks = draw(st.integers(1, 5))
    num_experts = num_ranks * draw(st.integers(1, 4))
    num_topk = draw(st.integers(1, min(4, num_experts)))
    ids = []
    for _ in range(num_ranks):
        tokens = []
        for _ in range(draw(st.integers(0, 5))):
            row = draw(st.permutations(range(num_experts)))[:num_topk]
            tokens.append([-1 if draw(st.booleans()) and draw(st.booleans()) else expert for expert in row])
        ids.append(torch.tensor(tokens, dtype=torch.int32).reshape(-1, num_topk))
    return ids, num_experts


def _brute_triples(ids: list[Tensor], num_experts: int, rank: int) -> list[list[tuple[int, int, int]]]:
    """Per (local expert, source rank) the triples, by looking at every choice for every row."""
    local = num_experts // len(ids)
    return [
        [
            (source, token, column)
            for token in range(ids[source].shape[0])
            for column in range(ids[source].shape[1])
            if int(ids[source][token, column]) == rank * local + expert
        ]
        for expert in range(local)
        for source in range(len(ids))
    ]


@given(layers())
def test_route_equals_brute_force(layer: tuple[list[Tensor], int]) -> None:
    ids, num_experts = layer
    routed = reference.route(ids, num_experts)
    num_ranks = len(ids)
    for rank, received in enumerate(routed.ranks):
        blocks = _brute_triples(ids, num_experts, rank)
        rows = [triple for block in blocks for triple in block]
        assert [tuple(triple) for triple in received.triples.tolist()] == rows
        sizes = [len(block) for block in blocks]
        assert received.ep_recv_counts.tolist() == [sum(sizes[: i + 1]) for i in range(len(sizes))]
        per_expert = [sum(sizes[i : i + num_ranks]) for i in range(0, len(sizes), num_ranks)]
        assert received.expert_token_nums(1).tolist() == per_expert
        for row, (source, token, column) in enumerate(rows):
            assert int(routed.destination[source][token, column]) == rank
            assert int(routed.row[source][token, column]) == row
    assert routed.num_rows == sum(int((rank_ids >= 0).sum()) for rank_ids in ids)


@given(layers(), st.sampled_from([torch.bfloat16, torch.float16]), st.booleans(), st.integers(0, 99))
def test_combine_equals_brute_force(
    layer: tuple[list[Tensor], int], dtype: torch.dtype, is_weighted: bool, seed: int
) -> None:
    ids, num_experts = layer
    generator = torch.Generator().manual_seed(seed)
    hidden = 6
    x = [torch.randn(len(rank_ids), hidden, generator=generator).to(dtype) for rank_ids in ids]
    scales = [torch.randn(rank_ids.shape, generator=generator) for rank_ids in ids] if is_weighted else None
    routed, rows = reference.dispatch(x, ids, num_experts)
    local = num_experts // len(ids)
    for rank, received in enumerate(routed.ranks):
        for row, (source, token, _) in enumerate(received.triples.tolist()):
            assert torch.equal(rows[rank][row], x[source][token])
        experts = torch.repeat_interleave(torch.arange(local), received.rows_per_expert) + rank * local
        rows[rank] = (rows[rank].float() * (1.0 + experts[:, None])).to(dtype)
    outputs = reference.combine(rows, routed, ids, scales)
    for source, rank_ids in enumerate(ids):
        for token in range(len(rank_ids)):
            total = torch.zeros(hidden, dtype=torch.float32)
            for column, expert in enumerate(rank_ids[token].tolist()):
                if expert < 0:
                    continue
                term = (x[source][token].float() * (1.0 + expert)).to(dtype).float()
                weighted = term if scales is None else term * scales[source][token, column]
                total = total + weighted
            assert torch.equal(outputs[source][token].view(torch.int16), total.to(dtype).view(torch.int16))


def test_combine_skips_empty_choices_without_reading_them() -> None:
    asked: list[tuple[int, list[int]]] = []

    def rows_of(column: int, tokens: Tensor, experts: Tensor) -> Tensor:
        asked.append((column, tokens.tolist()))
        assert (experts >= 0).all()
        return torch.ones(len(tokens), 4)

    output = reference.combine_rank(rows_of, _ids([-1, -1], [3, -1]), None, 4, torch.bfloat16)
    assert asked == [(0, [1]), (1, [])]
    assert output.tolist() == [[0.0] * 4, [1.0] * 4]


def test_combine_rounds_once() -> None:
    """1 + 2^-9 - 1 is 2^-9 in float32; a sum kept in bfloat16 would lose it."""
    terms = torch.tensor([1.0, 2.0**-9, -1.0]).to(torch.bfloat16)

    def rows_of(column: int, tokens: Tensor, _experts: Tensor) -> Tensor:
        return terms[column].expand(len(tokens), 1)

    assert reference.combine_rank(rows_of, _ids([0, 1, 2]), None, 1, torch.bfloat16).item() == 2.0**-9


@pytest.mark.parametrize("ids", [_ids([0, 4]), _ids([-2, 0]), _ids([1, 1])], ids=["beyond", "below", "twice"])
def test_illegal_ids_are_refused(ids: Tensor) -> None:
    with pytest.raises(ValueError, match="rank 1"):
        reference.route([_ids([0, 1]), ids], 4)


def test_two_empty_choices_are_legal() -> None:
    assert reference.route([_ids([-1, -1])], 2).num_rows == 0


def _plain(hidden: int, topk: int, local_experts: int = 1) -> reference.Wire:
    """16-bit tokens as they are."""
    return reference.Wire(2 * hidden, topk, 2 * hidden, local_experts)


# Counted by hand: of each part up to 32 B, the sum in pieces of 480 B.
@pytest.mark.parametrize(
    ("wire", "token_blocks", "row_blocks"),
    [
        (reference.Wire(7168, 8, 7168, 1, scale_bytes=4, row_scale_bytes=1792), 16, 19),  # 7168 + 32 + 64
        (reference.Wire(7168, 9, 14336, 1, scale_bytes=224, num_weights=8), 16, 30),  # 7168 + 224 + 96
        (reference.Wire(80, 2, 80, 1, scale_bytes=4, row_scale_bytes=20), 1, 1),  # 96 + 32 + 32; 96 + 20
        (reference.Wire(448, 1, 448, 1), 1, 1),  # 448 + 32: exactly one block
        (reference.Wire(448, 1, 448, 1, scale_bytes=1), 2, 1),
    ],
)
def test_block_counts_of_quantised_rows(wire: reference.Wire, token_blocks: int, row_blocks: int) -> None:
    assert (wire.token_blocks, wire.row_blocks) == (token_blocks, row_blocks)


def test_copies_per_expert_are_one_per_choice_elsewhere() -> None:
    ids = [_ids([0, 1, 2], [3, -1, 1]), _ids([2, 3, -1])]
    routed = reference.route(ids, 4)  # experts 0 and 1 on rank 0
    per_rank = reference.traffic(routed, _plain(64, 3), "mte")
    wire = reference.Wire(64, 3, 128, 2, scale_bytes=4, per_expert=True)
    per_expert = reference.traffic(routed, wire, "mte")
    assert [rank.copies for rank in per_rank] == [2, 0]
    assert [rank.copies for rank in per_expert] == [2, 0]
    more = reference.route([_ids([2, 3, 0]), _ids([0, 1, 2])], 4)
    assert [rank.copies for rank in reference.traffic(more, wire, "mte")] == [2, 2]
    assert [rank.copies for rank in reference.traffic(more, _plain(64, 3), "mte")] == [1, 1]


# Blocks are counted by hand here: ceil((payload + header) / 480), where the header is 8 + 4 K bytes, up to 32 B.
@pytest.mark.parametrize(
    ("hidden", "topk", "token_blocks", "row_blocks"),
    [
        (7168, 8, 30, 30),
        (64, 1, 1, 1),
        (208, 6, 1, 1),
        (224, 6, 1, 1),
        (240, 6, 2, 1),
        (256, 2, 2, 2),
        (8192, 16, 35, 35),
    ],
)
def test_block_counts(hidden: int, topk: int, token_blocks: int, row_blocks: int) -> None:
    ids = [_ids(list(range(topk))), _ids([-1] * topk)]
    routed = reference.route([ids[0] + topk, ids[1]], 2 * topk)  # all choices of rank 0 are on rank 1
    wire = _plain(hidden, topk)
    first, second = reference.traffic(routed, wire, "urma")
    assert (first.copies, first.rows, second.copies, second.rows) == (1, 0, 0, topk)
    assert first.bytes_put_dispatch == token_blocks * 512
    assert second.bytes_put_combine == topk * row_blocks * 512
    assert (first.wqes_dispatch, second.wqes_combine) == (1, topk)
    assert reference.traffic(routed, wire, "mte")[1].wqes_combine == 0


@given(layers())
def test_copies_are_one_per_token_and_other_rank(layer: tuple[list[Tensor], int]) -> None:
    ids, num_experts = layer
    local = num_experts // len(ids)
    routed = reference.route(ids, num_experts)
    carried = reference.traffic(routed, _plain(64, ids[0].shape[1]), "mte")
    for rank, rank_ids in enumerate(ids):
        others = 0
        for row in rank_ids.tolist():
            others += len({expert // local for expert in row if expert >= 0} - {rank})
        assert carried[rank].copies == others


@pytest.mark.parametrize(("local_experts", "blocks"), [(1, 1), (80, 1), (81, 2), (200, 2), (201, 3)])
def test_control_bytes(local_experts: int, blocks: int) -> None:
    ids = [torch.full((0, 1), -1, dtype=torch.int32)] * 3
    wire = _plain(64, 1, local_experts)
    carried = reference.traffic(reference.route(ids, 3 * local_experts), wire, "mte")
    assert all(rank.bytes_put_control == 2 * 2 * blocks * 512 for rank in carried)


@st.composite
def full_layers(draw: st.DrawFn) -> tuple[list[Tensor], int, list[Tensor | None], reference.SharedExperts]:
    """Ranks with shared experts, masks of both kinds with holes, and ids that mean nothing where they are masked."""
    num = draw(st.integers(0, 2))
    shared = reference.SharedExperts(num, num * draw(st.integers(1, 2)))
    hosts = draw(st.integers(1, 3))
    num_ranks, num_experts = shared.num_ranks + hosts, hosts * draw(st.integers(1, 3))
    num_topk = draw(st.integers(1, min(3, num_experts)))
    ids, masks = [], []
    for _ in range(num_ranks):
        tokens = draw(st.integers(0, 4))
        rank_ids = torch.tensor(
            [draw(st.permutations(range(num_experts)))[:num_topk] for _ in range(tokens)], dtype=torch.int32
        ).reshape(-1, num_topk)
        kind = draw(st.sampled_from(["none", "1d", "2d"]))
        mask: Tensor | None = None
        if kind != "none":
            shape = (tokens,) if kind == "1d" else (tokens, num_topk)
            size = tokens if kind == "1d" else tokens * num_topk
            flags = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            mask = torch.tensor(flags, dtype=torch.bool).reshape(shape)
        if kind == "2d":
            assert mask is not None
            rank_ids[~mask] = 12345
        ids.append(rank_ids)
        masks.append(mask)
    return ids, num_experts, masks, shared


def _choices(ids: Tensor, mask: Tensor | None, token: int) -> list[bool]:
    if mask is None:
        return [True] * ids.shape[1]
    return [bool(mask[token])] * ids.shape[1] if mask.dim() == 1 else mask[token].tolist()


def _brute_layer(
    ids: list[Tensor], num_experts: int, masks: list[Tensor | None], shared: reference.SharedExperts
) -> dict[int, list[tuple[int, int, int, int]]]:
    """Per rank the rows (local expert, source, token, column), sorted."""
    rows: dict[int, list[tuple[int, int, int, int]]] = {rank: [] for rank in range(len(ids))}
    local_experts = num_experts // (len(ids) - shared.num_ranks)
    for source, rank_ids in enumerate(ids):
        for token in range(rank_ids.shape[0]):
            choices = _choices(rank_ids, masks[source], token)
            for column, is_on in enumerate(choices):
                if is_on:
                    expert = int(rank_ids[token, column])
                    host = shared.num_ranks + expert // local_experts
                    rows[host].append((expert % local_experts, source, token, column))
            if any(choices):
                for expert in range(shared.num):
                    replicas = shared.num_ranks // shared.num
                    rows[expert * replicas + source % replicas].append((0, source, token, len(choices) + expert))
    return {rank: sorted(found) for rank, found in rows.items()}


@settings(max_examples=50)
@given(full_layers())
def test_masks_and_shared_experts_equal_brute_force(
    layer: tuple[list[Tensor], int, list[Tensor | None], reference.SharedExperts],
) -> None:
    ids, num_experts, masks, shared = layer
    routed = reference.route(ids, num_experts, masks, shared)
    want = _brute_layer(ids, num_experts, masks, shared)
    local_experts = num_experts // (len(ids) - shared.num_ranks)
    for rank, received in enumerate(routed.ranks):
        assert received.triples.tolist() == [list(row[1:]) for row in want[rank]]
        blocks = 1 if rank < shared.num_ranks else local_experts
        sizes = [
            sum(row[:2] == (expert, source) for row in want[rank])
            for expert in range(blocks)
            for source in range(len(ids))
        ]
        assert received.ep_recv_counts.tolist() == [sum(sizes[: i + 1]) for i in range(len(sizes))]
        assert received.rows_per_expert.shape == (blocks,)
        first = rank // (shared.num_ranks // shared.num) if rank < shared.num_ranks else None
        for row, (expert, source, token, column) in enumerate(want[rank]):
            moe = shared.num + (rank - shared.num_ranks) * local_experts + expert
            assert int(received.scale_rows[row]) == (moe if first is None else first)
            assert int(routed.destination[source][token, column]) == rank
            assert int(routed.row[source][token, column]) == row
    assert sum(int((rows >= 0).sum()) for rows in routed.row) == routed.num_rows


@settings(max_examples=50)
@given(full_layers(), st.booleans(), st.integers(0, 99))
def test_combine_adds_shared_terms_last_and_leaves_zeros(
    layer: tuple[list[Tensor], int, list[Tensor | None], reference.SharedExperts], has_x: bool, seed: int
) -> None:
    ids, num_experts, masks, shared = layer
    generator = torch.Generator().manual_seed(seed)
    routed = reference.route(ids, num_experts, masks, shared)
    y = [torch.randn(r.num_rows, 4, generator=generator).to(torch.bfloat16) for r in routed.ranks]
    x = [torch.randn(len(i), 4, generator=generator).to(torch.bfloat16) for i in ids] if has_x else None
    scales = [torch.randn(i.shape, generator=generator) for i in ids]
    outputs = reference.combine(y, routed, ids, scales, x)
    rows = _brute_layer(ids, num_experts, masks, shared)
    for source, rank_ids in enumerate(ids):
        for token in range(len(rank_ids)):
            terms = {}
            for host, found in rows.items():
                for row, (_, from_rank, from_token, column) in enumerate(found):
                    if (from_rank, from_token) == (source, token):
                        terms[column] = y[host][row].float()
            total = torch.zeros(4)
            for column in sorted(terms):
                weight = scales[source][token, column] if column < rank_ids.shape[1] else None
                total = total + (terms[column] if weight is None else terms[column] * weight)
            is_active = any(_choices(rank_ids, masks[source], token))
            if x is not None and is_active:
                total = total + x[source][token].float()
            assert torch.equal(outputs[source][token].view(torch.int16), total.to(torch.bfloat16).view(torch.int16))
