# SPDX-License-Identifier: Apache-2.0
"""The simulator from Python: seeds in processes, shrinking, reports. Layer: Python, no torch. See docs/twin.md.

A seed is a world of ranks and one schedule of it; `run.run_seeds` runs many, `shrink.shrink` finds the smallest world
that still fails, and every failure comes with the command line that replays it.
"""
