# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of the conformance suite and the support matrix. Layer: build.

`python -m tools.gen_conformance` from the repository root writes python/ascend_deepep/data/conformance/cases_*.json and
the generated part of docs/compatibility.md. Everything follows from the modules here; a test writes it again and
compares.
"""
