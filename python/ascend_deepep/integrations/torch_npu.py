# SPDX-License-Identifier: Apache-2.0
"""Runs code written for torch_npu's MoE operators on ours: `install(group, **limits)`. Layer: Python.

    with install(group, max_tokens=512, hidden=7168, num_topk=8, num_experts=256):
        ...                      # calls torch_npu.npu_moe_distribute_dispatch_v2(..., group_ep=name, ...) as ever

Calls whose `group_ep` names an installed group run on the communicator made for it; all others go on to the function
that was there before. Arguments are passed on as they come, as the schemas are the same: what our operators do not
take is refused by them. docs/compatibility.md says which keyword sets of known callers run.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import torch

from ascend_deepep.communicator import Communicator
from ascend_deepep.errors import ArgumentError
from ascend_deepep.integrations import _router

if TYPE_CHECKING:
    import torch.distributed as dist

__all__ = ["Installation", "install"]


def install(
    group: dist.ProcessGroup | None,
    *,
    comm_alg_fallback: bool = False,
    module: ModuleType | None = None,
    **limits: Any,
) -> Installation:
    """Put our operators behind `torch_npu.npu_moe_distribute_dispatch_v2` and `..._combine_v2` for one group.

    Args:
        group: the process group of the expert-parallel ranks; every rank of it calls `install`.
        comm_alg_fallback: a `comm_alg` that we do not have, or that sends a copy per expert where the communicator
            has no room for them (`per_expert_copies`), runs as `""`, with one warning for each such name: results are
            the same. Without it such a call is refused.
        module: the module to change; None imports torch_npu.
        limits: arguments of `Communicator`: `max_tokens`, `hidden`, `num_topk`, `num_experts`, ... . `name` need not be
            given where the group has an HCCL communicator: callers already pass that name as `group_ep`. For any other
            group pass it, or give callers `Installation.name`.

    Returns an undo: call it, or use it as a context manager. Groups may be installed side by side and undone in any
    order; the last undo restores the attributes of the module. Errors: those of `Communicator`, and ImportError where
    there is no torch_npu, which is `Mismatch` on the other ranks.
    """
    problem: Exception | None = None
    target = module
    if target is None:
        try:
            target = _import_torch_npu()
        except ImportError as error:
            problem = error  # the other ranks are on their way into the communicator, and must hear of it there
    communicator = Communicator(group, _problem=problem, **limits)
    assert target is not None  # else the communicator has raised
    try:
        installation = Installation(
            communicator, comm_alg_fallback, target, bool(limits.get("per_expert_copies", False))
        )
        _router.add(target, communicator.name, installation)
    except BaseException:
        communicator.close()  # a module that cannot be changed
        raise
    return installation


class Installation:
    """One group behind torch_npu's functions. Calling it undoes it: not collective, and a second time does nothing."""

    def __init__(self, communicator: Communicator, comm_alg_fallback: bool, module: ModuleType, has_room: bool) -> None:
        self._communicator = communicator
        self._comm_alg_fallback = comm_alg_fallback
        self._module = module
        self._replaced: set[str] = set()
        self._has_room = has_room

    @property
    def communicator(self) -> Communicator:
        """The communicator of the group."""
        return self._communicator

    @property
    def name(self) -> str:
        """What callers pass as `group_ep`."""
        return self._communicator.name

    def undo(self) -> None:
        """Take the group out of the module and close its communicator."""
        _router.remove(self._module, self.name, self)
        self._communicator.close()

    __call__ = undo

    def __enter__(self) -> Installation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<Installation of {self._communicator!r} in {self._module.__name__}>"

    def call(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """One call of torch_npu's function, on our operator of the same schema. None stands for the default."""
        keywords = {name: value for name, value in keywords.items() if value is not None}
        if self._comm_alg_fallback:
            keywords = self._with_known_comm_alg(keywords)
        return operator(*arguments, **keywords)

    def _with_known_comm_alg(self, keywords: dict[str, Any]) -> dict[str, Any]:
        word = keywords.get("comm_alg", "")
        if not isinstance(word, str) or (_has_comm_alg(word) and (word != _PER_EXPERT or self._has_room)):
            return keywords
        if word not in self._replaced:
            self._replaced.add(word)
            warnings.warn(
                f"comm_alg = {word!r} is not available; calls on {self.name!r} run as comm_alg = '' instead "
                "(comm_alg_fallback=True)",
                RuntimeWarning,
                stacklevel=4,
            )
        return {**keywords, "comm_alg": ""}


_PER_EXPERT = "fullmesh_v1"


@functools.cache
def _has_comm_alg(word: str) -> bool:
    """Whether our operators take this `comm_alg`, by their own checks: a smallest call on tensors without data."""
    x = torch.empty(1, 64, dtype=torch.bfloat16, device="meta")
    ids = torch.empty(1, 1, dtype=torch.int32, device="meta")
    try:
        torch.ops.npu.dispatch_v2(x, ids, "any", 1, 0, 1, comm_alg=word)
    except (ArgumentError, NotImplementedError):
        torch.ops.npu.dispatch_v2(x, ids, "any", 1, 0, 1)  # must pass: then it was the word
        return False
    return True


def _import_torch_npu() -> ModuleType:
    try:
        return importlib.import_module("torch_npu")
    except ImportError as error:
        raise ImportError(
            f"torch_npu cannot be imported ({error}): install it, or pass module=, an object whose functions are to "
            "be replaced, to run such code on the twin; `ascend-deepep doctor` tells more"
        ) from error
