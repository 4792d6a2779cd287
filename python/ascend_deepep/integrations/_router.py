# SPDX-License-Identifier: Apache-2.0
"""Replaces functions of a module by routers that look at `group_ep`, and puts them back. Layer: Python.

A module has one router for all groups that are installed in it: the first group saves what is there, the last one
restores it. Whoever replaced our function in the meantime keeps his: he may call ours, which then passes all calls on.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

import torch

from ascend_deepep.errors import ArgumentError

#: Function of torch_npu -> our operator, and where `group_ep` stands among the positional arguments of both.
FUNCTIONS = {
    "npu_moe_distribute_dispatch_v2": ("dispatch_v2", 2),
    "npu_moe_distribute_combine_v2": ("combine_v2", 5),
}
_ABSENT = object()


class Receiver(Protocol):
    """What runs the calls of one group."""

    def call(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run one call."""


class _Router:
    """The routers in one module, and what was there before."""

    def __init__(self, module: ModuleType) -> None:
        self.receivers: dict[str, Receiver] = {}
        self._originals = {function: vars(module).get(function, _ABSENT) for function in FUNCTIONS}
        self._ours = {
            # What the module makes on demand is called, but not put there by the undo.
            function: self._make(function, *place, getattr(module, function, _ABSENT))
            for function, place in FUNCTIONS.items()
        }
        try:
            for function, ours in self._ours.items():
                setattr(module, function, ours)
        except BaseException:
            self._put_back(module)
            raise

    def restore(self, module: ModuleType) -> None:
        """Put back what was there, where nobody else has put something since."""
        for function in self._put_back(module):
            warnings.warn(
                f"{module.__name__}.{function} was replaced by somebody else after install() and stays as it is",
                RuntimeWarning,
                stacklevel=4,
            )

    def _put_back(self, module: ModuleType) -> list[str]:
        """The functions that are not ours, which stay."""
        others = []
        for function, original in self._originals.items():
            if vars(module).get(function, _ABSENT) is not self._ours[function]:
                others.append(function)
            elif original is _ABSENT:
                delattr(module, function)
            else:
                setattr(module, function, original)
        return others

    def _make(self, function: str, operator_name: str, position: int, original: Any) -> Callable[..., Any]:
        operator = getattr(torch.ops.npu, operator_name)

        def route(*arguments: Any, **keywords: Any) -> Any:
            group_ep = arguments[position] if len(arguments) > position else keywords.get("group_ep")
            receiver = self.receivers.get(group_ep) if isinstance(group_ep, str) else None
            if receiver is not None:
                return receiver.call(operator, arguments, keywords)
            if original is not _ABSENT:
                return original(*arguments, **keywords)
            known = ", ".join(map(repr, self.receivers)) or "none"
            raise ArgumentError(
                f"{function}: group_ep = {group_ep!r} is not installed (installed: {known}) and torch_npu has no such "
                "function of its own; call ascend_deepep.integrations.torch_npu.install(group, **limits) on every rank"
            )

        route.__name__ = route.__qualname__ = function
        route.__doc__ = f"torch_npu's `{function}`; installed groups run on `torch.ops.npu.{operator_name}`."
        return route


_lock = threading.Lock()
_routers: weakref.WeakKeyDictionary[ModuleType, _Router] = weakref.WeakKeyDictionary()


def add(module: ModuleType, name: str, receiver: Receiver) -> None:
    """Send calls on `name` to `receiver`."""
    with _lock:
        router = _routers.get(module)
        if router is None:
            router = _routers[module] = _Router(module)
        router.receivers[name] = receiver


def remove(module: ModuleType, name: str, receiver: Receiver) -> None:
    """Undo `add`; does nothing when that was done already."""
    with _lock:
        router = _routers.get(module)
        if router is None or router.receivers.get(name) is not receiver:
            return
        del router.receivers[name]
        if not router.receivers:
            del _routers[module]
            router.restore(module)
