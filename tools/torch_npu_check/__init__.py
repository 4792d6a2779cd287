# SPDX-License-Identifier: Apache-2.0
"""Compiles framework/npu/ against the headers of the torch_npu wheel and compares symbols. Layer: build."""
