# SPDX-License-Identifier: Apache-2.0
"""The demo: a mixture-of-experts layer over N ranks, checked bit by bit against the oracle. Layer: Python.

`options` says what to run, `inputs` and `gate` make tokens and choices, `experts` are the layer's experts, `rank` is
what every rank runs, `runner` starts the ranks and judges the outputs, `report` shows the result, `sweep` runs many
cases.
"""
