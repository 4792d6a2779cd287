# SPDX-License-Identifier: Apache-2.0
"""The benchmark: dispatch and combine on the twin beside the same layer over gloo, in one run. Layer: Python.

`shapes` says what is timed, `routing` and `inputs` make the tensors, `contestants` has the layers, `ranks` runs them in
the processes of the ranks, `measure` gives the turns, `result` makes rows of the times, `plot` draws them.
docs/benchmarks.md says what every figure means.
"""
