# SPDX-License-Identifier: Apache-2.0
"""Judgements: findings in words, none where all is as expected. Layer: Python, torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from ascend_deepep.conformance.cases import Refusal
from ascend_deepep.conformance.inputs import KEPT_US
from ascend_deepep.conformance.oracle import Described, Expected

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_POISON = 0x7F
_LATE_US = 1000  # less than any wait for a rank that is late
OUTPUTS = (
    "expand_x",
    "dynamic_scales",
    "assist_info_for_combine",
    "expert_token_nums",
    "ep_recv_counts",
    "tp_recv_counts",
    "expand_scales",
)


def same(what: str, got: Tensor, want: Tensor) -> str:
    """Every bit equal, where both are NaN their bits aside; else the first difference."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{what} is {got.dtype} {list(got.shape)} instead of {want.dtype} {list(want.shape)}"
    bits = _BITS[got.element_size()]
    differs = got.contiguous().view(bits) != want.contiguous().view(bits)
    if not bool(differs.any()):
        return ""
    if got.dtype.is_floating_point:
        differs &= ~(got.float().isnan() & want.float().isnan())
        if not bool(differs.any()):
            return ""
    index = [int(i) for i in differs.nonzero()[0]]
    place = tuple(index)
    of = f"{int(differs.sum())} of {differs.numel()} differ"
    return f"{what}{index} is {got[place].item()} instead of {want[place].item()}; {of}"


def described(what: str, tensors: Sequence[Tensor], want: Sequence[Described]) -> list[str]:
    """Shapes and dtypes."""
    found = []
    for name, tensor, (shape, dtype) in zip(OUTPUTS if len(want) > 1 else ("x",), tensors, want, strict=True):
        if tuple(tensor.shape) != shape or tensor.dtype != dtype:
            found.append(f"{what}: {name} is {tensor.dtype} {list(tensor.shape)} instead of {dtype} {list(shape)}")
    return found


def dispatched(expected: Expected, outputs: Sequence[Tensor]) -> list[str]:
    """All that dispatch returns, up to the last row received."""
    call, mine, rows = expected.inputs.call, expected.mine, expected.rows
    count = mine.num_rows
    found = [
        same("ep_recv_counts", outputs[4], mine.ep_recv_counts),
        same("expert_token_nums", outputs[3], mine.expert_token_nums(call.nums_type)),
        same("assist_info_for_combine", outputs[2][: 3 * count].view(-1, 3), mine.triples),
        same("expand_x", outputs[0][:count].view(rows.values.dtype), rows.values),
        same("tp_recv_counts", outputs[5], torch.zeros(call.tp_world_size, dtype=torch.int32)),
    ]
    if rows.scales is not None:
        found.append(same("dynamic_scales", outputs[1][:count], rows.scales))
    if expected.expand_scales is not None:
        found.append(same("expand_scales", outputs[6][:count], expected.expand_scales))
    return [finding for finding in found if finding]


def waits(expected: Expected, info: Tensor | None, spent_us: float, what: str) -> list[str]:
    """performance_info after a call that took `spent_us`: the longest wait for each source, if it was longer."""
    call = expected.inputs.call
    if info is None:
        return []
    if call.performance == "kept":
        finding = same(f"{what}: performance_info", info, torch.full_like(info, KEPT_US))
        return [finding] if finding else []
    found = []
    if bool((info < 0).any()) or int(info.max()) > spent_us + 1:
        found.append(f"{what}: performance_info {info.tolist()} is not within the call's {spent_us:.0f} us")
    if call.performance == "late" and expected.rank != 0 and int(info[0]) < _LATE_US:
        found.append(f"{what}: performance_info {info.tolist()} shows no wait for rank 0, which was late")
    return found


def refused(refusal: Refusal, rank: int, error: Exception | None) -> list[str]:
    """How the changed call ended on this rank."""
    is_own = refusal.who in (-1, rank)
    kind = refusal.error if is_own else refusal.others
    if error is None:
        return [f"the call was not refused; expected {kind} matching {refusal.pattern!r}"]
    text, found = str(error), []
    if type(error).__name__ != kind:
        found.append(f"{type(error).__name__} instead of {kind}: {text}")
    if re.search(refusal.pattern, text, re.DOTALL) is None:
        found.append(f"the text does not match {refusal.pattern!r}: {text}")
    if not is_own and refusal.error != "Mismatch":
        root = getattr(error, "root", None)
        if root != refusal.who or re.search(f"rank {refusal.who} (refused|cannot make)", text) is None:
            found.append(f"root {root}, and the text does not blame rank {refusal.who}: {text}")
    if "\n" in text:
        found.append(f"the text has several lines: {text}")
    return found


def attempt(function: Callable[[], object]) -> Exception | None:
    """The exception that a call raised."""
    try:
        function()
    except Exception as error:  # whatever it is, it is judged
        return error
    return None


def poison(tensors: Iterable[Tensor]) -> None:
    """Bytes that no call writes: memory that is handed out again shows where it was not written."""
    for tensor in tensors:
        if tensor.numel():
            tensor.view(torch.uint8).fill_(_POISON)
