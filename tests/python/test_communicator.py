# SPDX-License-Identifier: Apache-2.0
"""Making and closing communicators: names, windows, and arguments that one rank has got wrong."""

from __future__ import annotations

import os

import pytest
import torch
from ascend_deepep import ArgumentError, Communicator, DeepEPError, combine_v2, dispatch_v2
from ascend_deepep.testing import Context, Pool
from torch import Tensor

from tests.python.ops.support import run_program

_SHAPE = {"max_tokens": 4, "hidden": 64, "num_topk": 2, "num_experts": 12}


def _make(context: Context, changes: dict[int, dict[str, object]]) -> tuple[str, str]:
    """The error of every rank, as class and text."""
    try:
        with Communicator(context.group, **{**_SHAPE, **changes.get(context.rank, {})}):  # type: ignore[arg-type]
            return "", ""
    except DeepEPError as error:
        return type(error).__name__, str(error)


def _names(context: Context) -> tuple[list[str], list[bool]]:
    first = Communicator(context.group, **_SHAPE)
    second = Communicator(context.group, **_SHAPE, name="layer 7")
    first.check()
    first.close()
    first.close()
    third = Communicator(context.group, **_SHAPE)
    states = [first.closed, second.closed, third.closed]
    second.close()
    third.close()
    return [first.name, second.name, third.name], states


def test_ranks_agree_on_names(ranks: Pool) -> None:
    (names, states), other = ranks.run(_names, 2)
    assert (names, states) == other
    assert names[1] == "layer 7"
    assert len(set(names)) == 3
    assert states == [True, False, False]


def _own_choices(context: Context) -> tuple[int, str, int, Tensor]:
    """Each rank with queues and roles of its own."""
    roles = "" if context.rank == 0 else {"doorbell": 2, "wqe_builder": 3}
    queues = 2 + context.rank
    with Communicator(context.group, **_SHAPE, num_cores=9, queues_per_peer=queues, roles=roles) as own:
        x = torch.full((4, 64), 1.0 + context.rank, dtype=torch.bfloat16)
        ids = torch.tensor([[0, 6], [1, 7], [2, 8], [3, 11]], dtype=torch.int32)
        sent = dispatch_v2(x, ids, own)
        back = combine_v2(sent.expand_x, ids, sent.assist_info_for_combine, sent.ep_recv_counts, torch.ones(4, 2), own)
        return own.queues_per_peer, own.roles, own.counters()["wqes_dispatch"], back


def test_ranks_choose_queues_and_roles_for_themselves(ranks: Pool) -> None:
    results = ranks.run(_own_choices, 2)
    assert [result[:3] for result in results] == [(2, "", 4), (3, "doorbell=2,wqe_builder=3", 4)]
    for rank, (*_, back) in enumerate(results):
        assert back.eq(2 * (1.0 + rank)).all()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"max_tokens": "many"}, "max_tokens = 'many'"),
        ({"num_topk": -1}, "num_topk = -1"),
        ({"window_bytes": 0}, "window_bytes = 0"),
        ({"window_bytes": -5}, "window_bytes = -5"),
        ({"window_bytes": ""}, "window_bytes = ''"),
        ({"window_bytes": "1 MiB"}, "window_bytes = '1 MiB'"),
        ({"timeout_ms": 0}, "timeout_ms = 0"),
        ({"combine_reduce": "token"}, "combine_reduce = 'token' is not one of 'row', 'rank'"),
        ({"queues_per_peer": 0}, "queues_per_peer = 0"),
        ({"queues_per_peer": 5}, "queues_per_peer = 5 is outside [1, 4]"),
        ({"roles": 3}, "roles = 3 is no text and no mapping"),
        ({"roles": {"stage": 0}}, "roles['stage'] = 0"),
        ({"roles": "ring=1"}, "'ring=1' is not a role"),
        ({"roles": {"cumsum": 70}, "num_cores": 72}, "roles: cumsum = 70 is above num_ranks"),
        ({"roles": {"stage": 72}, "num_cores": 72}, "come to 75 cores"),
        ({"name": ""}, "name = ''"),
        ({"name": "x" * 128}, "127 bytes"),
    ],
)
def test_illegal_argument_of_one_rank_is_an_error_on_all(ranks: Pool, changes: dict[str, object], text: str) -> None:
    outcome = ranks.run(_make, 3, {1: changes}, timeout=20)
    assert [kind for kind, _ in outcome] == ["Mismatch", "ArgumentError", "Mismatch"]
    assert all(text in message for _, message in outcome)
    assert all("rank 1" in message for kind, message in outcome if kind == "Mismatch")
    assert ranks.run(_make, 3, {}) == [("", "")] * 3


@pytest.mark.parametrize("changes", [{"hidden": 80}, {"num_topk": 1}, {"max_tokens": 5}, {"name": "other"}])
def test_differing_limits_are_refused_on_every_rank(ranks: Pool, changes: dict[str, object]) -> None:
    outcome = ranks.run(_make, 3, {2: changes}, timeout=20)
    assert all(kind for kind, _ in outcome), outcome
    assert all("rank 2" in message and next(iter(changes)) in message for _, message in outcome), outcome


def _taken(context: Context) -> str:
    with Communicator(context.group, **_SHAPE, name="one"):
        with pytest.raises(DeepEPError, match="in use") as caught:
            Communicator(context.group, **_SHAPE, name="one")
        return str(caught.value)


def test_name_in_use_is_refused(ranks: Pool) -> None:
    assert all("'one'" in text for text in ranks.run(_taken, 2))


def _windows(context: Context) -> list[str]:
    texts = []
    with Communicator(context.group, **_SHAPE) as comm:
        need = comm.required_window_bytes
        assert comm.window_bytes >= need
    for size in (need - 1, need // 2):
        with pytest.raises(ArgumentError) as caught:
            Communicator(context.group, **_SHAPE, window_bytes=size)
        texts.append(str(caught.value))
        assert str(size) in texts[-1] and str(need) in texts[-1]
    with Communicator(context.group, **_SHAPE, window_bytes=need) as comm:
        comm.check()
    return texts


def test_window_too_small_is_refused_with_the_need(ranks: Pool) -> None:
    assert len(ranks.run(_windows, 2)[0]) == 2


def test_closed_communicator_says_so() -> None:
    comm = Communicator(None, **_SHAPE)
    comm.close()
    with pytest.raises(ArgumentError, match="is closed"):
        comm.check()
    assert "closed" in repr(comm)


def test_forked_communicator_is_refused() -> None:
    with Communicator(None, **_SHAPE) as comm:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                comm.check()
            except ArgumentError as error:
                os.write(write, str(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert b"over fork" in os.read(read, 4096)
        comm.check()


@pytest.mark.fast
def test_a_communicator_left_open_is_closed_before_what_was_imported_earlier_shuts_down() -> None:
    program = """
        import atexit
        atexit.register(lambda: print("shut down", ep.closed))  # as torch_npu registers its own, when it is imported
        from ascend_deepep import Communicator
        ep = Communicator(None, max_tokens=4, hidden=64, num_topk=2, num_experts=4)
        print("open", ep.closed)
    """
    assert run_program(program).splitlines() == ["open False", "shut down True"]
