# SPDX-License-Identifier: Apache-2.0
"""The windows of a communicator as memory, for poison and canaries. Layer: tests.

Sizes are worked out here from docs/protocol.md, "Wire format", and share no code with the contract: a slot of the
receive areas is where the text says, or the tests see a stray write.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path

import torch
from ascend_deepep import Communicator, reference
from torch import Tensor

BLOCK = 512
DATA = 480
PAGE = 4096
STAGING_ROWS = 4
_NAME = "ascend_deepep_window"


def up(value: int, unit: int) -> int:
    """`value` rounded up to a multiple of `unit`."""
    return -(-value // unit) * unit


def blocks(data_bytes: int) -> int:
    """Blocks that hold so much data."""
    return -(-data_bytes // DATA)


@dataclass(frozen=True)
class Sizes:
    """The maxima of a communicator and the areas they make."""

    num_ranks: int
    max_tokens: int
    hidden: int
    topk: int
    experts: int

    @property
    def token_blocks(self) -> int:
        """Blocks of a token copy."""
        return blocks(up(2 * self.hidden, 32) + up(8 + 4 * self.topk, 32))

    @property
    def row_blocks(self) -> int:
        """Blocks of a combine row."""
        return blocks(2 * self.hidden)

    @property
    def dispatch_half(self) -> int:
        """Bytes of one receive area of dispatch: [source][copy]."""
        return self.num_ranks * self.max_tokens * self.token_blocks * BLOCK

    @property
    def combine_half(self) -> int:
        """Bytes of one receive area of combine: [token][column]."""
        return self.max_tokens * self.topk * self.row_blocks * BLOCK

    @property
    def send_buffer(self) -> int:
        return self.max_tokens * self.token_blocks * BLOCK

    @property
    def staging(self) -> int:
        return self.num_ranks * STAGING_ROWS * self.row_blocks * BLOCK

    @property
    def control(self) -> int:
        """Bytes of control rings and abort cells."""
        ring = self.num_ranks * 4 * blocks(128 + 4 * (self.experts // self.num_ranks)) * BLOCK
        return up(ring, PAGE) + up(self.num_ranks * BLOCK, PAGE)

    @property
    def data(self) -> int:
        """Bytes from the send buffer to the end of the window."""
        areas = (self.send_buffer, *(2 * (self.dispatch_half,)), *(2 * (self.combine_half,)), self.staging)
        return sum(up(area, PAGE) for area in areas)


class Windows:
    """The mapped windows of the communicator that was made last in this process."""

    def __init__(self, comm: Communicator, sizes: Sizes) -> None:
        self.sizes = sizes
        wanted = comm.window_bytes + PAGE  # behind a window lies a page of the twin's own
        found = sorted((start, inode) for start, end, inode in _mappings() if end - start == wanted)
        # The windows of a communicator lie side by side, by rank; files that were made last have the largest numbers.
        groups = [found[first : first + comm.num_ranks] for first in range(0, len(found), comm.num_ranks)]
        if not groups or len(groups[-1]) != comm.num_ranks:
            raise AssertionError(f"{len(found)} windows of {wanted} bytes are mapped, expected {comm.num_ranks}")
        self.bases = [start for start, _ in max(groups, key=lambda group: max(inode for _, inode in group))]
        self.own = comm.rank
        self._window_bytes = comm.window_bytes

    def halves(self, rank: int) -> tuple[list[Tensor], list[Tensor]]:
        """Both receive areas of dispatch and both of combine, as (blocks, 512) bytes."""
        s = self.sizes
        at = self.bases[rank] + self._window_bytes - s.data + up(s.send_buffer, PAGE)
        areas: list[Tensor] = []
        for size in (s.dispatch_half, s.dispatch_half, s.combine_half, s.combine_half):
            memory = (ctypes.c_uint8 * size).from_address(at)
            areas.append(torch.frombuffer(memory, dtype=torch.uint8).view(-1, BLOCK))
            at += up(size, PAGE)
        return areas[:2], areas[2:]

    def poison(self, value: int) -> None:
        """Fill the receive areas of the own window. Between two barriers only: peers write here."""
        dispatch, combine = self.halves(self.own)
        for area in (*dispatch, *combine):
            area.fill_(value)

    def touched(self, value: int) -> tuple[list[Tensor], list[Tensor]]:
        """Per receive area of the own window, which blocks are no longer all `value`."""
        dispatch, combine = self.halves(self.own)
        return [(a != value).any(dim=1) for a in dispatch], [(a != value).any(dim=1) for a in combine]


def _mappings() -> list[tuple[int, int, int]]:
    """Start, end and file number of the windows in this process."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) +/memfd:" + _NAME, line)
        if match:
            found.append((int(match[1], 16), int(match[2], 16), int(match[3])))
    return found


def stray_writes(windows: Windows, routed: reference.Route, value: int) -> None:
    """AssertionError unless one round trip since the poison touched just the slots of its copies and rows."""
    s, me = windows.sizes, windows.own
    copies = torch.zeros(s.num_ranks, s.max_tokens, s.token_blocks, dtype=torch.bool)
    for source in range(s.num_ranks):
        if source != me:
            copies[source, : int((routed.destination[source] == me).any(dim=1).sum())] = True
    hosts = torch.full((s.max_tokens, s.topk), -1)
    own = routed.destination[me]
    hosts[: own.shape[0]] = own
    remote = ((hosts >= 0) & (hosts != me))[:, :, None].expand(-1, -1, s.row_blocks).flatten()
    live = (hosts >= 0)[:, :, None].expand(-1, -1, s.row_blocks).flatten()
    dispatch, combine = windows.touched(value)
    for what, areas, must, may in (
        ("dispatch", dispatch, copies.flatten(), copies.flatten()),
        ("combine", combine, remote, live),
    ):
        touched = areas[0] | areas[1]
        if bool((touched & ~may).any()) or bool((must & ~touched).any()) or bool((areas[0] & areas[1]).any()):
            block = int(((touched & ~may) | (must & ~touched) | (areas[0] & areas[1])).nonzero()[0])
            raise AssertionError(
                f"{what} area, block {block}: touched {bool(touched[block])}, a slot in use {bool(may[block])}, "
                f"in both halves {bool((areas[0] & areas[1])[block])}"
            )
