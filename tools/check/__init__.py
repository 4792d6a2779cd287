# SPDX-License-Identifier: Apache-2.0
"""Checks of the source tree: `python -m tools.check`. Each rule is a function from a Tree to Findings, with a test."""
