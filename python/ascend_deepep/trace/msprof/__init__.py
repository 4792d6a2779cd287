# SPDX-License-Identifier: Apache-2.0
"""Folders of msprof and msopprof: written from a recording, read into one. Layer: Python, no torch.

docs/msprof.md says which file and column means what, and which stay empty on the twin.
"""

from ascend_deepep.trace.msprof.profile import CallRow, CoreRow, Operator, OtherOperator, Profile
from ascend_deepep.trace.msprof.read import read_folder
from ascend_deepep.trace.msprof.show import call_table, print_profile, profile_json, show_profile
from ascend_deepep.trace.msprof.write import write_folder

__all__ = [
    "CallRow",
    "CoreRow",
    "Operator",
    "OtherOperator",
    "Profile",
    "call_table",
    "print_profile",
    "profile_json",
    "read_folder",
    "show_profile",
    "write_folder",
]
