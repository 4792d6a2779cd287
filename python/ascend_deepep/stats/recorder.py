# SPDX-License-Identifier: Apache-2.0
"""Records the calls of a rank, and gathers what all ranks recorded. Layer: Python.

A step costs two small tensors of zeros, one clone and four looks at a clock, and waits for nothing. On an NPU a clock
is an event of the stream, and all tensors stay on the device until `gather`; that part was never run on one.
"""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor

from ascend_deepep import ops
from ascend_deepep._arguments import count
from ascend_deepep._group import AllGather, members
from ascend_deepep.communicator import Communicator
from ascend_deepep.config import TWIN
from ascend_deepep.errors import ArgumentError
from ascend_deepep.stats.statistics import COMBINE, DISPATCH, Link, OperatorStatistics, Statistics

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of the checker: this package does not need it to run

_BOOT = Path("/proc/sys/kernel/random/boot_id")  # the same for all who share a monotonic clock
_CLOCK_ROUNDS = 9
_COUNTERS = {DISPATCH: "bytes_put_dispatch", COMBINE: "bytes_put_combine"}


@dataclass
class _Step:
    tokens: int
    start: dict[str, Any]  # moments of a clock, by operator
    end: dict[str, Any]
    waits: dict[str, Tensor]
    bytes_put: dict[str, int]  # by this rank, into windows of others
    recv_counts: Tensor


class HostClock:
    """Of calls that have ended when they return."""

    def now(self) -> int:
        """A moment."""
        return time.monotonic_ns()

    def us(self, moment: int) -> float:
        """Microseconds of this machine's monotonic clock."""
        return moment / 1e3


class DeviceClock:
    """Of calls that a stream makes later: a moment is an event, and its time is known once the stream has passed it.

    Args:
        event: makes an event with `record()` and `elapsed_time(later)` in ms, such as
            `lambda: torch.npu.Event(enable_timing=True)`.
        synchronize: waits for the current stream.
    """

    def __init__(self, event: Callable[[], Any], synchronize: Callable[[], None]) -> None:
        self._event = event
        synchronize()
        self._first = event()
        self._first.record()
        synchronize()
        self._first_us = time.monotonic_ns() / 1e3

    def now(self) -> Any:
        """A moment."""
        event = self._event()
        event.record()
        return event

    def us(self, moment: Any) -> float:
        """Microseconds of this machine's monotonic clock, after the stream was waited for."""
        return self._first_us + 1e3 * float(self._first.elapsed_time(moment))


class Recorder:
    """Makes the calls of a communicator and keeps what is to be known of the last of them.

    Args:
        communicator: whose calls.
        steps: the last so many are kept, at least 1, the same number on all ranks. A step is 2 x ranks x 8 B + experts
            of a rank x ranks x 4 B.
        clock: what moments are taken with; None takes the host's on the twin and events of the stream on an NPU.

    Errors: `ArgumentError` for `steps` below 1; those of `Communicator.check`.
    """

    def __init__(self, communicator: Communicator, *, steps: int = 64, clock: HostClock | DeviceClock | None = None):
        communicator.check()
        self._communicator = communicator
        self._clock = _clock_of(communicator) if clock is None else clock
        self._steps: deque[_Step] = deque(maxlen=count("steps", steps, 1))
        self._open: _Step | None = None
        self._num_recorded = 0

    def dispatch_v2(self, x: Tensor, expert_ids: Tensor, **options: Unpack[ops.DispatchOptions]) -> ops.DispatchOutput:
        """`ascend_deepep.dispatch_v2` of the communicator, recorded.

        Errors: as of that function; TypeError for `performance_info`, which is the recorder's.
        """
        _refuse_performance_info(options)
        waits = options["performance_info"] = self._zeros(x)
        put_before = self._put(DISPATCH)
        start = self._clock.now()
        received = ops.dispatch_v2(x, expert_ids, self._communicator, **options)
        end = self._clock.now()
        put = {DISPATCH: self._put(DISPATCH) - put_before}
        counts = received.ep_recv_counts.clone()
        self._open = _Step(x.shape[0], {DISPATCH: start}, {DISPATCH: end}, {DISPATCH: waits}, put, counts)
        return received

    def combine_v2(
        self,
        expand_x: Tensor,
        expert_ids: Tensor,
        assist_info_for_combine: Tensor,
        ep_send_counts: Tensor,
        expert_scales: Tensor,
        **options: Unpack[ops.CombineOptions],
    ) -> Tensor:
        """`ascend_deepep.combine_v2` of the communicator, recorded. The step is complete then.

        Errors: as of that function; `ArgumentError` without a dispatch before, TypeError for `performance_info`.
        """
        _refuse_performance_info(options)
        step = self._open
        if step is None:
            raise ArgumentError("combine_v2 of a recorder follows its dispatch_v2", rank=self._communicator.rank)
        waits = options["performance_info"] = self._zeros(expand_x)
        arguments = (expand_x, expert_ids, assist_info_for_combine, ep_send_counts, expert_scales)
        put_before = self._put(COMBINE)
        start = self._clock.now()
        y = ops.combine_v2(*arguments, self._communicator, **options)
        step.start[COMBINE], step.end[COMBINE] = start, self._clock.now()
        step.waits[COMBINE] = waits
        step.bytes_put[COMBINE] = self._put(COMBINE) - put_before
        self._steps.append(step)
        self._num_recorded += 1
        self._open = None
        return y

    def clear(self) -> None:
        """Forget what was recorded, of a warm-up for example. On all ranks alike."""
        self._steps.clear()
        self._open = None
        self._num_recorded = 0

    def gather(self, group: dist.ProcessGroup | None, *, link: Link | None = None, title: str = "") -> Statistics:
        """What all ranks recorded since the last `clear`, the same on every rank. Collective over `group`.

        Args:
            group: the communicator's process group; None is a group of this process alone.
            link: figures of a peer link, for a comparison with the model.
            title: what was run.

        Waits for the calls made so far. Errors: `ArgumentError` where the group is of another size than the
        communicator, and on all ranks where ranks have recorded or kept different numbers of steps, or none; those of
        `Communicator.synchronize`.
        """
        self._communicator.synchronize()
        rank, size, all_gather = members(group)
        if size != self._communicator.num_ranks:
            raise ArgumentError(
                f"the group has {size} ranks and the communicator {self._communicator.num_ranks}: pass the process "
                "group that the communicator was made with",
                rank=rank,
            )
        offset_us, error_us = _common_clock(all_gather)
        parts = [pickle.loads(part) for part in all_gather(pickle.dumps(self._mine(offset_us)))]
        counts = [part["recorded"] for part in parts]
        if len(set(counts)) > 1 or counts[0] == 0:
            raise ArgumentError(
                f"ranks have recorded {', '.join(map(str, counts))} steps: record the same number, at least one",
                rank=rank,
            )
        kept = [len(part["tokens"]) for part in parts]
        if len(set(kept)) > 1:
            raise ArgumentError(
                f"ranks have kept {', '.join(map(str, kept))} steps: make all recorders with the same `steps`",
                rank=rank,
            )
        return _joined(parts, self._communicator, error_us, link, title)

    def _zeros(self, like: Tensor) -> Tensor:
        # What is no tensor is for the operator to refuse.
        device = like.device if isinstance(like, Tensor) else None
        return torch.zeros(self._communicator.num_ranks, dtype=torch.int64, device=device)

    def _put(self, operator: str) -> int:
        counters: Any = self._communicator.counters()
        return int(counters[_COUNTERS[operator]])

    def _mine(self, offset_us: float) -> dict[str, Any]:
        """This rank's part, as plain numbers."""
        ranks = self._communicator.num_ranks
        rows = [_differences(step.recv_counts.tolist()) for step in self._steps]
        summed = [sum(of_step) for of_step in zip(*rows, strict=True)]
        return {
            "recorded": self._num_recorded,
            "host": (_BOOT.read_text(), len(os.sched_getaffinity(0))),
            "tokens": [step.tokens for step in self._steps],
            "rows": [summed[first : first + ranks] for first in range(0, len(summed), ranks)],
            "operators": {
                operator: {
                    "waits_us": [step.waits[operator].tolist() for step in self._steps],
                    "entry_us": [self._clock.us(step.start[operator]) - offset_us for step in self._steps],
                    "end_us": [self._clock.us(step.end[operator]) - offset_us for step in self._steps],
                    "put": sum(step.bytes_put[operator] for step in self._steps),
                }
                for operator in _COUNTERS
            },
        }


def _refuse_performance_info(options: object) -> None:
    if isinstance(options, dict) and "performance_info" in options:
        raise TypeError("performance_info is the recorder's own; read it from gather()")


def _clock_of(communicator: Communicator) -> HostClock | DeviceClock:
    if communicator.target == TWIN:
        return HostClock()
    npu: Any = torch.npu  # type: ignore[attr-defined]
    return DeviceClock(lambda: npu.Event(enable_timing=True), lambda: npu.current_stream().synchronize())


def _differences(sums: list[int]) -> list[int]:
    return [high - low for low, high in zip([0, *sums], sums, strict=False)]


def _common_clock(all_gather: AllGather) -> tuple[float, float]:
    """What this rank's clock is ahead of rank 0's, in microseconds, and how far that may be wrong.

    Ranks of one machine have one clock. Others note the moment at which an all-gather lets them go, some times over:
    it lets all of them go at about the same time.
    """
    boots = all_gather(_BOOT.read_bytes())
    if len(set(boots)) == 1:
        return 0.0, 0.0
    moments = []
    for _ in range(_CLOCK_ROUNDS):
        all_gather(b"")
        moments.append(time.monotonic_ns() / 1e3)
    of_first: list[float] = pickle.loads(all_gather(pickle.dumps(moments))[0])
    ahead = [mine - first for mine, first in zip(moments, of_first, strict=True)]
    errors = [pickle.loads(part) for part in all_gather(pickle.dumps(max(ahead) - min(ahead)))]
    return median(ahead), max(errors)


def _host_cores(parts: list[dict[str, Any]]) -> int:
    """Of all machines that the ranks are on."""
    return sum(dict(part["host"] for part in parts).values())


def _joined(
    parts: list[dict[str, Any]], communicator: Communicator, error_us: float, link: Link | None, title: str
) -> Statistics:
    steps = range(len(parts[0]["tokens"]))
    first_us = min(part["operators"][DISPATCH]["entry_us"][0] for part in parts)
    operators = {}
    for operator in _COUNTERS:
        of_ranks = [part["operators"][operator] for part in parts]
        operators[operator] = OperatorStatistics(
            waits_us=[[of["waits_us"][step] for of in of_ranks] for step in steps],
            entry_us=[[of["entry_us"][step] - first_us for of in of_ranks] for step in steps],
            call_us=[[of["end_us"][step] - of["entry_us"][step] for of in of_ranks] for step in steps],
            bytes_put=[of["put"] for of in of_ranks],
        )
    return Statistics(
        source=communicator.target,
        num_ranks=communicator.num_ranks,
        num_experts=communicator.num_experts,
        operators=operators,
        rows=[part["rows"] for part in parts],
        tokens=[[part["tokens"][step] for part in parts] for step in steps],
        clock_error_us=error_us,
        host_cores=_host_cores(parts) if communicator.target == TWIN else None,
        link=link,
        title=title,
        dropped_steps=parts[0]["recorded"] - len(steps),
    )
