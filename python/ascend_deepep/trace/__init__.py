# SPDX-License-Identifier: Apache-2.0
"""What happened when: recordings of calls, written as timelines, tables and msprof folders. Layer: Python.

communicator.start_trace()
...                                              # calls, on all ranks
recording = trace.gather(communicator.stop_trace(), group)
trace.perfetto.write(recording, Path("timeline.json"))
print(trace.summary.text(trace.summary.summarise(recording)))
"""

from ascend_deepep.trace import perfetto, summary
from ascend_deepep.trace.assemble import recording_of
from ascend_deepep.trace.gathering import gather
from ascend_deepep.trace.recording import Recording
from ascend_deepep.trace.storage import load, save

__all__ = ["Recording", "gather", "load", "perfetto", "recording_of", "save", "summary"]
