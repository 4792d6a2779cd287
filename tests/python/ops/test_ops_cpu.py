# SPDX-License-Identifier: Apache-2.0
"""Purpose: the CPU kernels at one rank: strides, typed errors, reused outputs. Layer: tests.

What is computed is tested elsewhere; here a call is compared with another form of the same call.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from ascend_deepep import Communicator
from ascend_deepep._load import load_ops
from ascend_deepep.errors import ArgumentError

from tests.python.ops.support import COMBINE_LATER, DISPATCH_LATER, SMALL, TWO_RANKS, Later, Shape

load_ops()
dispatch_v2 = torch.ops.npu.dispatch_v2
combine_v2 = torch.ops.npu.combine_v2

#: Large enough for its outputs to be reused.
LARGE = Shape(tokens=64, hidden=1024, topk=2, experts=4, ranks=1)


@pytest.fixture(scope="module")
def group() -> Iterator[str]:
    with Communicator(None, max_tokens=64, hidden=1024, num_topk=2, num_experts=4) as communicator:
        yield communicator.name


def spread(value: torch.Tensor) -> torch.Tensor:
    """The same values, every other element of a larger tensor and transposed."""
    wide = torch.full((value.shape[1] * 2, value.shape[0] * 3), 77, dtype=value.dtype)
    view = wide[::2, 1::3].t()
    view.copy_(value)
    return view


def test_strides_are_honoured(group: str) -> None:
    x, ids, *rest = SMALL.dispatch_arguments("cpu", group)
    plain = dispatch_v2(x, ids, *rest)
    x_view, ids_view = spread(x), spread(ids)
    strided = dispatch_v2(x_view, ids_view, *rest)
    rows = int(plain[4][-1])
    assert torch.equal(strided[0][:rows], plain[0][:rows])
    assert torch.equal(strided[2][: 3 * rows], plain[2][: 3 * rows])
    assert torch.equal(strided[3], plain[3]) and torch.equal(strided[4], plain[4])
    assert torch.equal(x_view, x) and torch.equal(ids_view, ids)

    scales = torch.rand(4, 2)
    expected = combine_v2(plain[0], ids, plain[2], plain[4], scales, *rest)
    expand_view, scales_view = spread(plain[0]), spread(scales)
    assert torch.equal(combine_v2(expand_view, ids_view, plain[2], plain[4], scales_view, *rest), expected)
    assert torch.equal(scales_view, scales)


def test_outputs_that_no_kernel_writes_are_zeros(group: str) -> None:
    outputs = dispatch_v2(*LARGE.dispatch_arguments("cpu", group), tp_world_size=1)
    for index in (1, 5, 6):
        assert not outputs[index].any()


@pytest.mark.parametrize("later", DISPATCH_LATER, ids=lambda later: later.name)
def test_dispatch_argument_of_a_later_release(group: str, later: Later) -> None:
    with pytest.raises(NotImplementedError, match=later.words):
        dispatch_v2(*SMALL.dispatch_arguments("cpu", group), **later.keywords("cpu"))


@pytest.mark.parametrize("later", COMBINE_LATER, ids=lambda later: later.name)
def test_combine_argument_of_a_later_release(group: str, later: Later) -> None:
    with pytest.raises(NotImplementedError, match=later.words):
        combine_v2(*SMALL.combine_arguments("cpu", group), **later.keywords("cpu"))


def refused(call: Callable[[], Any], words: str) -> ArgumentError:
    with pytest.raises(ArgumentError, match=words) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    return caught.value


def test_typed_errors_and_the_next_call(group: str) -> None:
    arguments = SMALL.dispatch_arguments("cpu", group)
    x, ids, *rest = arguments
    error = refused(lambda: dispatch_v2(x.float(), ids, *rest), "x is float32")
    assert (error.rank, error.root, error.operation, error.seconds) == (0, 0, "dispatch_v2", None)
    refused(lambda: dispatch_v2(*TWO_RANKS.dispatch_arguments("cpu", group)), "ep_world_size")
    refused(lambda: dispatch_v2(x, ids, "nobody", *rest[1:]), "nobody")
    refused(lambda: dispatch_v2(x, ids, "", *rest[1:]), "group_ep")
    refused(lambda: dispatch_v2(x.clone().requires_grad_(), ids, *rest), "x requires grad")
    combine = SMALL.combine_arguments("cpu", group)
    combine[4] = combine[4].requires_grad_()
    refused(lambda: combine_v2(*combine), "expert_scales requires grad")
    assert int(dispatch_v2(*arguments)[4][-1]) == SMALL.tokens * SMALL.topk


def test_tensors_on_two_devices(group: str) -> None:
    x, ids, *rest = SMALL.dispatch_arguments("cpu", group)
    refused(lambda: dispatch_v2(x, ids.to("meta"), *rest), "expert_ids is not on the communicator's device")
    refused(lambda: dispatch_v2(x.to("meta"), ids, *rest), "x is not on the communicator's device")
    combine = SMALL.combine_arguments("cpu", group)
    combine[0] = combine[0].to("meta")
    refused(lambda: combine_v2(*combine), "expand_x is not on the communicator's device")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(group: str, mode: Callable[[], Any]) -> None:
    x, ids, *rest = SMALL.dispatch_arguments("cpu", group)
    x = x.requires_grad_()
    with mode():
        assert not dispatch_v2(x, ids, *rest)[0].requires_grad


def test_typed_error_through_a_compiled_call(group: str) -> None:
    x, ids, *rest = SMALL.dispatch_arguments("cpu", group)
    ids[1, 1] = 300

    @torch.compile(backend="aot_eager", fullgraph=True)
    def call(x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        rows: torch.Tensor = dispatch_v2(x, ids, *rest)[0]
        return rows

    refused(lambda: call(x, ids), r"expert_ids\[1, 1\]")


Holder = Callable[[torch.Tensor], Any]
HOLDERS: list[Holder] = [
    lambda rows: rows,
    lambda rows: rows[5:7],
    lambda rows: rows.view(torch.int16).t(),
    lambda rows: rows.detach(),
    lambda rows: rows.untyped_storage(),
    lambda rows: rows.view(torch.int16).numpy(),
    lambda rows: rows.__dlpack__(),
]


@pytest.mark.parametrize("hold", HOLDERS)
def test_memory_in_use_is_never_handed_out(group: str, hold: Holder) -> None:
    arguments = LARGE.dispatch_arguments("cpu", group)
    rows = dispatch_v2(*arguments)[0]
    address = rows.data_ptr()
    held = hold(rows)
    del rows
    gc.collect()
    others = [dispatch_v2(*arguments) for _ in range(4)]
    assert address not in [tensor.data_ptr() for outputs in others for tensor in outputs]
    del held, others
    gc.collect()


def test_memory_is_reused(group: str) -> None:
    arguments = LARGE.dispatch_arguments("cpu", group)
    address = dispatch_v2(*arguments)[0].data_ptr()
    assert dispatch_v2(*arguments)[0].data_ptr() == address
    idle = torch.ops.ascend_deepep.idle_output_bytes()
    for _ in range(8):
        dispatch_v2(*arguments)
    assert torch.ops.ascend_deepep.idle_output_bytes() == idle
