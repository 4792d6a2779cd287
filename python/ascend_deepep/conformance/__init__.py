# SPDX-License-Identifier: Apache-2.0
"""The conformance suite: the operators' contract as data, and what runs it. Layer: Python.

`cases` reads the data (ascend_deepep/data/conformance/*.json, written by tools/gen_conformance), `inputs` makes a
case's tensors, `oracle` says what must come out of them, `rank` runs on every rank, `runner` starts the ranks.
"""
