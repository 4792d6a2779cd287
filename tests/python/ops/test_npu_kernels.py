# SPDX-License-Identifier: Apache-2.0
"""Purpose: the kernels for NPU tensors, through torch's dispatcher, over a device on host memory. Layer: tests.

The product's own units run: registration, outputs, task queue. torch_npu and the launches are stand-ins
(tests/python/ops/npu_device), and device memory cannot be touched by the host: a program that does, dies.
Each test is a program of its own: what an interpreter loads cannot be taken back.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ascend_deepep._load import _library_directory

from tests.python.ops.npu_device.build import build
from tests.python.ops.support import COMBINE_SCHEMA, DISPATCH_SCHEMA, run_program

pytestmark = pytest.mark.long  # builds the library for NPU tensors

PRELUDE = """
import gc, os, types
import torch
from ascend_deepep import Communicator
from ascend_deepep._load import load_ops
from ascend_deepep.errors import ArgumentError
from tests.python.ops.support import SMALL, Shape

os.environ["ASCEND_DEEPEP_TARGET"] = "twin"  # of the communicators made here; the others are the fake's
load_ops()
OPERATORS = ["npu::dispatch_v2", "npu::combine_v2"]
OPERATORS += ["ascend_deepep::ordered_dispatch_v2", "ascend_deepep::ordered_combine_v2"]
def has_kernels(key):
    return [torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for name in OPERATORS]
before = has_kernels("PrivateUse1")
torch.utils.rename_privateuse1_backend("npu")
torch._register_device_module("npu", types.ModuleType("torch.npu"))
torch.ops.load_library({library!r})
fake, npu = torch.ops.fake_npu, torch.ops.npu

def communicator(name="npu", device=0):
    fake.make_communicator(name, 64, 1024, 2, 4, device)

def move(arguments, device="npu:0"):
    return [value.to(device) if isinstance(value, torch.Tensor) else value for value in arguments]

def refused(call, words):
    try:
        call()
    except ArgumentError as error:
        assert words in str(error), error
    else:
        raise SystemExit(f"not refused: {{words}}")

def cpu_results(shape):
    with Communicator(None, max_tokens=64, hidden=1024, num_topk=2, num_experts=4) as twin:
        x, ids, _, *rest = shape.dispatch_arguments("cpu")
        sent = npu.dispatch_v2(x, ids, twin.name, *rest)
        weights = torch.linspace(0.25, 1.0, ids.numel()).view(ids.shape)
        return sent, npu.combine_v2(sent[0], ids, sent[2], sent[4], weights, twin.name, *rest), weights

def same_rows(actual, expected):
    rows = int(expected[4][-1])
    assert rows > 0
    for index, count in ((0, rows), (1, None), (2, 3 * rows), (3, None), (4, None), (5, None), (6, None)):
        assert actual[index].device.type == "npu" and actual[index].shape == expected[index].shape
        assert actual[index].dtype == expected[index].dtype
        assert torch.equal(actual[index].cpu()[:count], expected[index][:count]), index
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("npu") / "libascend_deepep_ops_npu.so", _library_directory())


def run(library: Path, program: str) -> str:
    return run_program(PRELUDE.format(library=str(library)) + program)


def test_what_loading_adds(library: Path) -> None:
    program = """
assert before == [False] * 4, before
assert has_kernels("PrivateUse1") == has_kernels("CPU") == has_kernels("Meta") == [True] * 4
print(npu.dispatch_v2.default._schema)
print(npu.combine_v2.default._schema)
print(torch.ops.ascend_deepep.npu_owner())
"""
    assert run(library, program).splitlines() == [DISPATCH_SCHEMA, COMBINE_SCHEMA, str(library)]


def test_a_round_trip_is_enqueued_and_then_exact(library: Path) -> None:
    program = """
shape = Shape(tokens=17, hidden=256, topk=2, experts=4, ranks=1)
sent, combined, weights = cpu_results(shape)
communicator()
x, ids, *rest = move(shape.dispatch_arguments("cpu", "npu"))
fake.take_log()
out = npu.dispatch_v2(x, ids, *rest, tp_world_size=1)
result = npu.combine_v2(out[0], ids, out[2], out[4], weights.to("npu"), *rest)
plain = npu.combine_v2(out[0], ids, out[2], out[4], torch.empty(0, 0).to("npu"), *rest)
# Nothing waited, nothing ran: three launches stand in the queue of torch_npu.
assert fake.take_log() == ["enqueue dispatch_v2", "enqueue combine_v2", "enqueue combine_v2"]
assert out[5].shape == (1,)
assert fake.run_queue() == 3
same_rows((*out[:5], out[5][:0], out[6]), sent)
assert torch.equal(result.cpu(), combined)
assert not torch.equal(plain.cpu(), combined)
"""
    run(library, program)


def test_strides_and_private_formats_are_copied_by_the_device(library: Path) -> None:
    program = """
sent, combined, weights = cpu_results(SMALL)
communicator()
x, ids, *rest = move(SMALL.dispatch_arguments("cpu", "npu"))
wide = torch.full((x.shape[1] * 2, x.shape[0] * 3), 77.0, dtype=x.dtype).to("npu")
view = wide[::2, 1::3].t()
view.copy_(x)
out = npu.dispatch_v2(view, ids, *rest)
fake.run_queue()
same_rows(out, sent)
fake.take_log()
fake.set_private(x)
out = npu.dispatch_v2(x, ids, *rest)
assert fake.take_log() == ["format_cast 2", "enqueue dispatch_v2"]
fake.run_queue()
same_rows(out, sent)
"""
    run(library, program)


def test_memory_is_kept_until_the_launch(library: Path) -> None:
    program = """
communicator()
x, ids, *rest = move(SMALL.dispatch_arguments("cpu", "npu"))
gc.collect()
inputs = fake.live_blocks()
out = npu.dispatch_v2(x.t().contiguous().t(), ids, *rest)
used = (x, ids, *out)
launched = fake.live_blocks()
assert launched > inputs
del out, used, x, ids
gc.collect()
# x as its copy, ids and the four outputs that the kernel writes; the zeros are gone.
assert fake.live_blocks() == 6, fake.live_blocks()
assert fake.run_queue() == 1
assert fake.live_blocks() == 0, fake.live_blocks()
"""
    run(library, program)


def test_a_capture_is_seen(library: Path) -> None:
    program = """
communicator()
x, ids, *rest = move(SMALL.dispatch_arguments("cpu", "npu"))
fake.set_capturing(True)
npu.dispatch_v2(x, ids, *rest)
fake.set_capturing(False)
npu.dispatch_v2(x, ids, *rest)
assert fake.take_log() == ["capturing", "enqueue dispatch_v2", "enqueue dispatch_v2"]
"""
    run(library, program)


def test_tensors_and_communicators_of_different_devices(library: Path) -> None:
    program = """
communicator()
communicator("second", 1)
twin = Communicator(None, max_tokens=64, hidden=1024, num_topk=2, num_experts=4)
x, ids, *rest = SMALL.dispatch_arguments("cpu", "npu")
on_npu = move([x, ids])
fake.take_log()
refused(lambda: npu.dispatch_v2(x, ids, *rest),
        "x is not on the communicator's device: it is on cpu, must be on npu:0 (target ascend950): move it there, or "
        "pass the name of a communicator whose target is twin")
refused(lambda: npu.dispatch_v2(on_npu[0], ids, *rest), "expert_ids is not on the communicator's device: it is on cpu")
refused(lambda: npu.dispatch_v2(on_npu[0].to("meta"), on_npu[1], *rest), "x is not on the communicator's device: it is "
        "on meta, must be on npu:0 (target ascend950): move it there")
refused(lambda: npu.dispatch_v2(*on_npu, twin.name, *rest[1:]), "it is on npu:0, must be on cpu (target twin)")
refused(lambda: npu.dispatch_v2(*on_npu, "second", *rest[1:]), "it is on npu:0, must be on npu:1")
# Each was told to the other ranks, on the device of the communicator.
assert fake.take_log() == ["refuse dispatch_v2 on 0"] * 3 + ["refuse dispatch_v2 on 1"]
combine = SMALL.combine_arguments("cpu", "npu")
refused(lambda: npu.combine_v2(*combine), "expand_x is not on the communicator's device: it is on cpu")
assert fake.take_log() == ["refuse combine_v2 on 0"]
refused(lambda: npu.dispatch_v2(*on_npu, "nobody", *rest[1:]), "group_ep 'nobody'")
sent, _, _ = cpu_results(SMALL)
for name, device in (("npu", "npu:0"), ("second", "npu:1")):
    out = npu.dispatch_v2(*move(on_npu, device), name, *rest[1:])
    assert {str(tensor.device) for tensor in out} == {device}
    fake.run_queue()
    same_rows(out, sent)
"""
    run(library, program)


def test_inputs_that_require_grad(library: Path) -> None:
    program = """
communicator()
x, ids, *rest = move(SMALL.dispatch_arguments("cpu", "npu"))
refused(lambda: npu.dispatch_v2(x.requires_grad_(), ids, *rest), "x requires grad")
with torch.no_grad():
    out = npu.dispatch_v2(x, ids, *rest)
assert fake.run_queue() == 1 and not out[0].requires_grad
"""
    run(library, program)
