# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the Python tests: one pool of ranks for all of them (one a worker under pytest-xdist)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from ascend_deepep.testing import Pool
from hypothesis import settings

# The same examples every time, and no deadline: the machine may be busy with ranks.
settings.register_profile("suite", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def ranks() -> Iterator[Pool]:
    """Ranks that live until the last test."""
    with Pool() as pool:
        yield pool


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Matrix products round the same way here as on the ranks."""
    torch.set_num_threads(1)
