# SPDX-License-Identifier: Apache-2.0
"""Entries for code that was written for other packages: `torch_npu`. Layer: Python."""
