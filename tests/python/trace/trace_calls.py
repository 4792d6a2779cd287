# SPDX-License-Identifier: Apache-2.0
"""What ranks of the tests do with traces of their own. Layer: tests."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from ascend_deepep import ArgumentError, Communicator, combine_v2, dispatch_v2
from ascend_deepep import trace as tracing
from ascend_deepep.testing import Context


def gathered(context: Context) -> tuple[Any, list[str]]:
    """A recording of one dispatch and combine on every rank, and the errors of a wrong use."""
    group = dist.group.WORLD
    errors = []
    with Communicator(group, max_tokens=4, hidden=128, num_topk=2, num_experts=8) as communicator:

        def expect_refusal(call: Any, *arguments: Any) -> None:
            try:
                call(*arguments)
            except ArgumentError as error:
                errors.append(str(error))

        expect_refusal(communicator.stop_trace)
        expect_refusal(communicator.start_trace, 0)
        communicator.start_trace()
        expect_refusal(communicator.start_trace)
        x = torch.ones(4, 128, dtype=torch.bfloat16)
        ids = torch.arange(8, dtype=torch.int32).view(4, 2)
        got = dispatch_v2(x, ids, communicator)
        places = (got.assist_info_for_combine, got.ep_recv_counts)
        combine_v2(got.expand_x, ids, *places, torch.ones(4, 2), communicator)
        recording = tracing.gather(communicator.stop_trace(), group)
    return recording, errors
