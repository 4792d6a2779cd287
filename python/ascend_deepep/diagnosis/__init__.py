# SPDX-License-Identifier: Apache-2.0
"""Which of the known pictures recorded statistics show. Layer: Python; docs/diagnosis.md.

`rules` is the decision procedure, pure functions over `stats.Statistics`; `plants` are the causes that can be planted,
`worlds` runs them in virtual time, `twin` in real time on the twin.
"""

from ascend_deepep.diagnosis.rules import Cause as Cause
from ascend_deepep.diagnosis.rules import Diagnosis as Diagnosis
from ascend_deepep.diagnosis.rules import Thresholds as Thresholds
from ascend_deepep.diagnosis.rules import diagnose as diagnose

__all__ = ["Cause", "Diagnosis", "Thresholds", "diagnose"]
