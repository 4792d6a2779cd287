# SPDX-License-Identifier: Apache-2.0
"""Messages between pool, server and ranks: pickles with a length in front, over Unix sockets. Layer: Python."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<Q")


#: What a socket raises when the other side is gone. Closing with unread messages shows as a reset.
GONE = (EOFError, BrokenPipeError, ConnectionResetError)


def send(sock: socket.socket, message: object) -> None:
    """Send one message; raises one of GONE when nobody is there."""
    payload = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    sock.sendall(_LENGTH.pack(len(payload)))
    sock.sendall(payload)


def receive(sock: socket.socket) -> Any:
    """The next message; raises one of GONE when there will be none."""
    (length,) = _LENGTH.unpack(_exactly(sock, _LENGTH.size))
    return pickle.loads(_exactly(sock, length))


def send_with_socket(sock: socket.socket, message: object, passed: socket.socket) -> None:
    """Send one message; the receiver gets a copy of `passed` with it."""
    payload = pickle.dumps(message)
    socket.send_fds(sock, [_LENGTH.pack(len(payload))], [passed.fileno()])
    sock.sendall(payload)


def receive_with_socket(sock: socket.socket) -> tuple[Any, socket.socket]:
    """Counterpart of `send_with_socket`."""
    head, fds, _, _ = socket.recv_fds(sock, _LENGTH.size, 1)
    if not head:
        raise EOFError
    (length,) = _LENGTH.unpack(head + _exactly(sock, _LENGTH.size - len(head)))
    return pickle.loads(_exactly(sock, length)), socket.socket(fileno=fds[0])


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray(count)
    view = memoryview(data)
    while view:
        got = sock.recv_into(view)
        if got == 0:
            raise EOFError
        view = view[got:]
    return bytes(data)
