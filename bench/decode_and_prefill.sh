#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Purpose: dispatch plus combine beside gloo at one decode and one prefill shape: 4 ranks, 128 and 2048 tokens, hidden
# 7168, top-8 of 256 experts, bf16, gate routing. A thin caller; options are those of `ascend-deepep bench`.
# Layer: bench.
exec "${PYTHON:-python}" -m ascend_deepep bench --compare gloo "$@"
