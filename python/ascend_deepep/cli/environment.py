# SPDX-License-Identifier: Apache-2.0
"""The environment as a command's first step: a bad value is the user's mistake, before anything runs. Layer: Python."""

from __future__ import annotations

import os

from ascend_deepep.config import PREFIX, Settings, settings
from ascend_deepep.demo.usage import UsageError
from ascend_deepep.errors import ArgumentError

ENGINE_VARIABLE = f"{PREFIX}COMBINE_ENGINE"


def check_environment(combine_engine: str | None = None) -> Settings:
    """What the environment asks for; an option wins over its variable. An illegal value is a UsageError."""
    given = {} if combine_engine is None else {ENGINE_VARIABLE: combine_engine}
    try:
        return settings({**os.environ, **given})
    except ArgumentError as error:
        raise UsageError(str(error), type(error).__name__) from None
