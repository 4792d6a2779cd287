# SPDX-License-Identifier: Apache-2.0
"""What happened when: recordings of calls, written as timelines, tables and msprof folders. Layer: Python, no torch."""
