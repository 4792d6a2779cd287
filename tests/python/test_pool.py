# SPDX-License-Identifier: Apache-2.0
"""Running functions on ranks: values, failures of every kind, and ranks that come back after them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from ascend_deepep.errors import PeerLost
from ascend_deepep.testing import Context, Pool, RankErrors, wire

pytestmark = pytest.mark.fast


def _gather(context: Context, offset: int) -> tuple[list[int], int, int]:
    gathered = [None] * context.num_ranks
    dist.all_gather_object(gathered, context.rank + offset, group=context.group)
    return gathered, torch.get_num_threads(), os.getpid()  # type: ignore[return-value]


def _fail(context: Context, bad: list[int]) -> int:
    if context.rank in bad:
        raise ValueError(f"rank {context.rank} does not like this")
    return context.rank


def _end(context: Context, victim: int, how: str) -> int:
    if context.rank == victim and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if context.rank == victim and how == "exit":
        sys.exit(7)
    return context.rank


def _sleep_on(context: Context, sleeper: int) -> None:
    if context.rank == sleeper:
        time.sleep(60)


def _raise_typed(context: Context) -> None:
    raise PeerLost("gone", rank=context.rank, root=1, stage="collect", operation="dispatch_v2", seconds=0.5)


def _environment(context: Context) -> str | None:
    return os.environ.get("ASCEND_DEEPEP_TIMEOUT_MS")


def _report(context: Context) -> None:
    context.report(("hello", context.rank))


def _unpicklable(context: Context) -> object:
    return lambda: context


def test_ranks_live_from_call_to_call(ranks: Pool) -> None:
    first = ranks.run(_gather, 3, 10)
    second = ranks.run(_gather, 3, 20)
    assert [value[0] for value in first] == [[10, 11, 12]] * 3
    assert [value[0] for value in second] == [[20, 21, 22]] * 3
    assert all(value[1] == 1 for value in first)
    assert [value[2] for value in first] == [value[2] for value in second]


def test_group_has_the_size_of_the_call(ranks: Pool) -> None:
    for num_ranks in (4, 1, 2, 4):
        assert ranks.run(_gather, num_ranks, 0)[0][0] == list(range(num_ranks))


def test_sixteen_ranks(ranks: Pool) -> None:
    start = time.monotonic()
    assert len(ranks.run(_gather, 16, 0)) == 16
    assert time.monotonic() - start < 20  # 2 s on a quiet machine


def test_every_traceback_is_shown(ranks: Pool) -> None:
    with pytest.raises(RankErrors) as caught:
        ranks.run(_fail, 3, [0, 2])
    text = str(caught.value)
    assert "rank 0 does not like this" in text
    assert "rank 2 does not like this" in text
    assert "rank 1" not in text
    assert text.count("in _fail") == 2
    assert ranks.run(_gather, 3, 0)[0][0] == [0, 1, 2]


def test_a_server_ignores_ctrl_c_before_it_loads_torch() -> None:
    """A terminal's Ctrl-C goes to all of them: the pool's process tells it, and closes the others."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [sys.executable, "-m", "ascend_deepep.testing.server", str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, text=True)
        status, maps = (Path(f"/proc/{process.pid}/{name}") for name in ("status", "maps"))
        while not int(re.findall(r"SigIgn:\t(\w+)", status.read_text())[0], 16) & 1 << signal.SIGINT - 1:
            assert process.poll() is None
        assert "libtorch" not in maps.read_text()
        process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == (None, "")
    assert process.returncode == 0


@pytest.mark.parametrize(("how", "code"), [("kill", -signal.SIGKILL), ("exit", 7)])
def test_rank_that_ended_is_replaced(ranks: Pool, how: str, code: int) -> None:
    before = ranks.pids(3)
    outcomes = ranks.outcomes(_end, 3, 1, how)
    assert [outcome.exit_code for outcome in outcomes] == [None, code, None]
    assert [outcome.value for outcome in outcomes] == [0, None, 2]
    after = ranks.pids(3)
    assert (before[0], before[2]) == (after[0], after[2])
    assert before[1] != after[1]
    assert ranks.run(_gather, 3, 0)[0][0] == [0, 1, 2]


def test_late_rank_is_ended_with_its_stacks(ranks: Pool) -> None:
    outcomes = ranks.outcomes(_sleep_on, 2, 1, timeout=1.5)
    assert outcomes[0].ok
    assert outcomes[1].timed_out
    assert "in _sleep_on" in outcomes[1].describe()
    assert ranks.run(_gather, 2, 0)[0][0] == [0, 1]


def test_typed_errors_keep_their_attributes(ranks: Pool) -> None:
    error = ranks.outcomes(_raise_typed, 2)[1].error
    assert isinstance(error, PeerLost)
    assert (error.rank, error.root, error.stage) == (1, 1, "collect")
    assert (error.operation, error.seconds) == ("dispatch_v2", 0.5)


def test_environment_follows_the_caller(ranks: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_DEEPEP_TIMEOUT_MS", "77")
    assert ranks.run(_environment, 1) == ["77"]
    assert ranks.run(_environment, 1, env={"ASCEND_DEEPEP_TIMEOUT_MS": "78"}) == ["78"]
    monkeypatch.delenv("ASCEND_DEEPEP_TIMEOUT_MS")
    assert ranks.run(_environment, 1) == [None]


def test_reports_arrive_while_the_function_runs(ranks: Pool) -> None:
    seen: list[tuple[int, object]] = []
    ranks.run(_report, 2, on_report=lambda rank, value: seen.append((rank, value)))
    assert sorted(seen) == [(0, ("hello", 0)), (1, ("hello", 1))]


def test_interrupted_call_leaves_a_usable_pool(ranks: Pool) -> None:
    def interrupt(_rank: int, _value: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranks.run(_report, 2, on_report=interrupt)
    assert ranks.run(_gather, 2, 0)[0][0] == [0, 1]


def test_value_that_cannot_travel_is_an_error(ranks: Pool) -> None:
    with pytest.raises(RankErrors, match="cannot be sent"):
        ranks.run(_unpicklable, 1)


def test_closed_pool_leaves_no_process() -> None:
    with Pool() as pool:
        pids = pool.pids(2)
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_a_server_whose_pool_is_gone_ends_in_silence() -> None:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "ascend_deepep.testing.server", str(theirs.fileno())]
    server = subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, text=True)
    theirs.close()
    assert wire.receive(ours)[0] == "ready"
    kept, of_rank = socket.socketpair()
    server.send_signal(signal.SIGSTOP)
    wire.send_with_socket(ours, 0, of_rank)  # a rank is asked for, and nobody waits for the answer
    for end in (ours, kept, of_rank):
        end.close()
    server.send_signal(signal.SIGCONT)
    _, err = server.communicate(timeout=60)
    assert (server.returncode, err) == (0, "")
