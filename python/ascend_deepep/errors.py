# SPDX-License-Identifier: Apache-2.0
"""Errors of the package. Layer: Python, no torch.

Every error that comes out of an operation or a communicator is a `DeepEPError`; an argument whose feature comes with a
later release is a plain NotImplementedError. A DeepEPError says who (`rank`), who is to blame
(`root`), where (`stage`), in what (`operation`) and after how long (`seconds`). The text is one line, written once by
the host side (op_host/messages), the same on every rank.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "DeepEPError",
    "FabricError",
    "Mismatch",
    "PeerLost",
    "WaitTimeout",
]


class DeepEPError(RuntimeError):
    """Something in dispatch, combine or a communicator went wrong."""

    def __init__(
        self,
        message: str,
        *,
        rank: int | None = None,
        root: int | None = None,
        stage: str | None = None,
        operation: str | None = None,
        seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        #: This rank within its communicator, None before there is one.
        self.rank = rank
        #: The rank to blame: the one that refused, is missing or is gone. None if nobody is.
        self.root = root
        #: The role that noticed, e.g. "cumsum" or "collect"; None outside an operation.
        self.stage = stage
        #: "dispatch_v2", "combine_v2" or None.
        self.operation = operation
        #: Seconds since entering the call; None for errors that did not wait.
        self.seconds = seconds

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions travel between processes; keyword-only attributes would be lost by the default.
        return type(self), self.args, self.__dict__


class ArgumentError(DeepEPError, ValueError):
    """This rank made a call that is not legal. The communicator lives on; the next good call is exact."""


class Mismatch(DeepEPError):
    """A peer refused its call, or made a different one. The communicator lives on."""


class WaitTimeout(DeepEPError, TimeoutError):
    """A wait ran past its deadline. The communicator is broken."""


class PeerLost(DeepEPError):
    """The process of a peer is gone. The communicator is broken."""


class FabricError(DeepEPError):
    """A transfer failed or brought impossible contents. The communicator is broken."""
