# SPDX-License-Identifier: Apache-2.0
"""`Communicator`: a group of ranks that dispatch to and combine from each other. Layer: Python over the binding.

The rendezvous goes through the process group it is given, whatever its backend. Arguments are judged by every rank for
all: what one rank got wrong is an error on every rank, never a hang.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import secrets
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict

import torch.distributed as dist

from ascend_deepep import _runtime, _target
from ascend_deepep._arguments import (
    COMBINE_REDUCES,
    count,
    machine_options,
    reduce_number,
    role_text,
    window_size,
)
from ascend_deepep._group import AllGather, hccl_name, members
from ascend_deepep._load import load_ops
from ascend_deepep.config import Settings, settings
from ascend_deepep.errors import ArgumentError, DeepEPError, Mismatch

if TYPE_CHECKING:
    from ascend_deepep._runtime import CountersDict, TraceDict

#: Events of a trace: 16 MiB, some calls of a few hundred tokens.
DEFAULT_EVENTS = 1 << 18


class _Proposal(TypedDict):
    """What a rank tells the others first."""

    error: str
    name: str | None
    suggestion: str
    taken: list[str]


class Communicator:
    """A group of ranks with a window each.

    Args:
        group: a torch process group, of any backend; None is a group of this process alone.
        max_tokens: most tokens a rank brings to one call.
        hidden: largest hidden size, in elements.
        num_topk: largest number of experts a token chooses.
        num_experts: routed experts of all ranks together. Without shared experts the number of ranks divides it; with
            them the number of ranks that hold routed experts does, which each call says.
        shared_expert_num: most shared experts of a call.
        per_expert_copies: room for a copy of a token to each of its experts rather than to each of their ranks. Calls
            whose copies differ by expert (scales of a row per expert) or that ask for it (comm_alg="fullmesh_v1") need
            it; the window grows by up to top-k times.
        combine_reduce: what a rank returns of a token that several of its experts have worked on. "row": each expert's
            row. "rank": their sum, one row per (token, rank) instead of one per (token, expert). This partial is summed
            in float32 from zero, column ascending, each row times its weight and then added, and rounded to the dtype
            of the rows; the token's rank adds partials in float32, unweighted, in the order of their first columns,
            then `shared_expert_x`, and rounds once more. The weights are those that `dispatch_v2` got as
            `expert_scales`: combine needs the `expand_scales` that it returned, and of its own `expert_scales` takes
            only whether there are any. It goes without copies per expert and with `comm_quant_mode` 0.
        window_bytes: size of a rank's window; None takes what the limits need, less than that is refused.
        num_cores: cores of a kernel; None takes the target's own number.
        queues_per_peer: send queues to every peer, 1 to 4; None takes ASCEND_DEEPEP_QUEUES_PER_PEER or 1. Ranks may
            differ. An NPU's driver makes one a peer, so more are refused there.
        roles: cores of dispatch's roles, such as {"stage": 8, "doorbell": 1} or "stage=8,doorbell=1"; the roles are
            stage, wqe_builder, doorbell and cumsum. A model shares out the cores of roles that are not named, call by
            call; None takes ASCEND_DEEPEP_ROLES or leaves all to the model. Ranks may differ.
        timeout_ms: longest time an operation waits for its peers; None takes ASCEND_DEEPEP_TIMEOUT_MS or
            `config.DEFAULT_TIMEOUT_MS`.
        name: what the operators take as `group_ep`; None takes the name of the group's HCCL communicator, by which
            callers of torch_npu know the group, and where it has none lets the ranks agree on one.

    The sizes are maxima: smaller calls may follow each other in any order. All ranks pass the same.
    Creation is collective over the group. Errors: `ArgumentError` on a rank with an illegal argument and `Mismatch` on
    the others; `Mismatch` on every rank where ranks differ. A rank that cannot load the operators raises ImportError,
    and the others `Mismatch`.
    """

    def __init__(
        self,
        group: dist.ProcessGroup | None,
        *,
        max_tokens: int,
        hidden: int,
        num_topk: int,
        num_experts: int,
        shared_expert_num: int = 0,
        per_expert_copies: bool = False,
        combine_reduce: str = "row",
        window_bytes: int | None = None,
        num_cores: int | None = None,
        queues_per_peer: int | None = None,
        roles: str | Mapping[str, int] | None = None,
        timeout_ms: int | None = None,
        name: str | None = None,
        _settings: Settings | None = None,
        _problem: Exception | None = None,
    ) -> None:
        self._pid = os.getpid()
        self._closed = True
        rank, num_ranks, all_gather = members(group)
        sizes = {
            "max_tokens": max_tokens,
            "hidden": hidden,
            "num_topk": num_topk,
            "num_experts": num_experts,
            "shared_expert_num": shared_expert_num,
            "per_expert_copies": per_expert_copies,
        }
        error = _problem
        try:
            load_ops()
            env = settings() if _settings is None else _settings
            counts = {key: count(key, value, 0) for key, value in sizes.items()}
            reduce = reduce_number(combine_reduce)
            window = window_size(env.window_bytes if window_bytes is None else window_bytes, num_ranks, counts)
            options = machine_options(env, num_cores=num_cores, queues_per_peer=queues_per_peer, timeout_ms=timeout_ms)
            wanted_roles = env.roles if roles is None else role_text(roles)
            target = _target.choose(env.target)
            name = hccl_name(group, rank) if name is None else name
        except Exception as problem:  # whatever it is, the other ranks must hear of it
            error = error or problem
        name = _agree(all_gather, rank, name, error)
        self._native = _runtime.Communicator(
            name=name,
            rank=rank,
            num_ranks=num_ranks,
            **counts,
            combine_reduce=reduce,
            window_bytes=window,
            **options,
            combine_engine=env.combine_engine,
            policy=env.policy,
            all_gather=all_gather,
            target=target,
            roles=wanted_roles,
        )
        self._closed = False
        _open.add(self)
        _close_at_exit()
        self._name, self._rank, self._num_ranks = name, rank, num_ranks
        self._combine_reduce = COMBINE_REDUCES[reduce]
        self._max_tokens, self._num_experts = counts["max_tokens"], counts["num_experts"]
        self._required = _runtime.required_window_bytes(num_ranks, *counts.values())

    @property
    def name(self) -> str:
        """What the operators take as `group_ep`."""
        return self._name

    @property
    def rank(self) -> int:
        """This process's place in the group."""
        return self._rank

    @property
    def num_ranks(self) -> int:
        """Size of the group."""
        return self._num_ranks

    @property
    def max_tokens(self) -> int:
        """Most tokens a rank brings to one call."""
        return self._max_tokens

    @property
    def num_experts(self) -> int:
        """Experts of all ranks together."""
        return self._num_experts

    @property
    def num_cores(self) -> int:
        """Cores of a kernel."""
        return self._native.num_cores

    @property
    def combine_reduce(self) -> str:
        """What a rank returns of a token: "row", each expert's row, or "rank", their sum."""
        return self._combine_reduce

    @property
    def queues_per_peer(self) -> int:
        """Send queues to every peer."""
        return self._native.queues_per_peer

    @property
    def roles(self) -> str:
        """Cores of dispatch's roles that were asked for; empty where the model chooses all."""
        return self._native.roles

    @property
    def target(self) -> str:
        """What runs the kernels: "twin" or "ascend950"."""
        return self._native.target

    @property
    def layout(self) -> str:
        """The copies of the last dispatch: "per-rank", one per token and destination rank, or "per-expert"."""
        return self._native.layout

    @property
    def window_bytes(self) -> int:
        """Size of a rank's window."""
        return self._native.window_bytes

    @property
    def required_window_bytes(self) -> int:
        """Smallest window that the limits of this communicator allow."""
        return self._required

    @property
    def closed(self) -> bool:
        """Whether `close()` was called."""
        return self._closed or self._native.closed

    def check(self) -> None:
        """Raise if operations cannot run: closed, inherited over fork, or the failure that broke the communicator."""
        self._check_process()
        if self.closed:
            raise ArgumentError(f"communicator {self._name!r} is closed; make a new one", rank=self._rank)
        self._native.check()

    def synchronize(self) -> None:
        """Wait until the operations enqueued so far have ended, then `check()`.

        On the twin a call ends before it returns. On an NPU it only enqueues, and what went wrong shows at the next
        call, in `check()` or here.
        """
        self.check()
        self._native.synchronize()

    def progress(self) -> list[str]:
        """The stage each core is in, or was in last, by core number. From any thread, while a call runs too."""
        self._check_process()
        return self._native.progress()

    def counters(self) -> CountersDict:
        """What this rank's engine and block writer carried to other ranks since creation, and ns spent in each role."""
        self._check_process()
        return self._native.counters()

    def start_trace(self, events: int = DEFAULT_EVENTS) -> None:
        """Capture what happens in this rank's calls from now on: at most `events` events, of 64 B each.

        Not collective. Costs a few per cent of the calls' time (docs/trace.md). Errors: `ArgumentError` while a trace
        or a call runs, for a number outside [1, 2^26], and on an NPU, whose profiler does it; the text has the line.
        """
        self.check()
        self._native.start_trace(count("events", events, 1))

    def stop_trace(self) -> TraceDict:
        """End `start_trace` and give what was captured; `ascend_deepep.trace` makes one recording of all ranks' of it.

        Also after a failure. Errors: `ArgumentError` where no trace runs.
        """
        self._check_process()
        return self._native.stop_trace()

    def close(self) -> None:
        """Give the window back. Not collective, may be called twice, returns within a second."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        self._native.close()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # Also runs for an object whose __init__ raised before the first attribute was set.
        if getattr(self, "_closed", True) is False:
            self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"rank {self._rank} of {self._num_ranks}"
        return f"<Communicator {self._name!r}, {state}>"

    def _plant_fault(self, name: str, seed: int, events: int) -> None:
        """Make this rank's fabric fail once, at one of the next `events` events of the fault's kind. For tests."""
        self._native.set_fault(name, seed, events)

    def _fault_fired(self) -> bool:
        return self._native.fault_fired()

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise ArgumentError(
                f"communicator {self._name!r} belongs to process {self._pid}; this one inherited it over fork and "
                "must make its own",
                rank=self._rank,
            )


def required_window_bytes(
    num_ranks: int,
    *,
    max_tokens: int,
    hidden: int,
    num_topk: int,
    num_experts: int,
    shared_expert_num: int = 0,
    per_expert_copies: bool = False,
) -> int:
    """Bytes of a rank's window, by the exact packed sizes of copies and rows (docs/layout.md).

    Args: as for `Communicator`, of which this is the smallest legal `window_bytes`. Errors: `ArgumentError` for limits
    that no communicator could have.
    """
    return _runtime.required_window_bytes(
        num_ranks, max_tokens, hidden, num_topk, num_experts, shared_expert_num, per_expert_copies
    )


#: Those that were not closed, as long as somebody holds them.
_open: weakref.WeakSet[Communicator] = weakref.WeakSet()


@functools.cache
def _close_at_exit() -> None:
    """Close what is open when the process ends, before torch_npu, imported earlier, shuts its runtime down."""

    def close_all() -> None:
        for communicator in list(_open):
            communicator.close()

    atexit.register(close_all)


def _agree(all_gather: AllGather, rank: int, name: str | None, error: Exception | None) -> str:
    """The name all ranks use; raises on every rank if any of them cannot go on."""
    proposal = _Proposal(
        error=_text(error) if error else _name_error(name),
        name=name if isinstance(name, str) else None,
        suggestion=f"ep-{secrets.token_hex(6)}",
        taken=_runtime.communicator_names(),
    )
    proposals: list[_Proposal] = [pickle.loads(blob) for blob in all_gather(pickle.dumps(proposal))]
    if proposal["error"]:
        raise error or ArgumentError(proposal["error"], rank=rank, root=rank)
    for peer, other in enumerate(proposals):
        if other["error"]:
            raise Mismatch(f"rank {peer} cannot make the communicator: {other['error']}", rank=rank, root=peer)
        if other["name"] != proposals[0]["name"]:
            raise Mismatch(
                f"name = {other['name']!r} on rank {peer} but {proposals[0]['name']!r} on rank 0: "
                "all ranks pass the same",
                rank=rank,
                root=peer,
            )
    agreed = name or proposals[0]["suggestion"]
    for peer, other in enumerate(proposals):
        if agreed in other["taken"]:
            raise ArgumentError(
                f"name = {agreed!r} is in use on rank {peer}; close that communicator or choose another name",
                rank=rank,
                root=peer,
            )
    return agreed


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, DeepEPError) else f"{type(error).__name__}: {error}"


def _name_error(name: object) -> str:
    longest = _runtime.limits()["max_name_length"]
    if name is None or (isinstance(name, str) and 1 <= len(name.encode()) <= longest):
        return ""
    return f"name = {name!r} is not a string of 1 to {longest} bytes"
