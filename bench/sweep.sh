#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Purpose: all shapes of decode and prefill, as a JSON object on stdout and plots: bench/sweep.sh [STEM] [OPTION...].
# Layer: bench.
exec "${PYTHON:-python}" -m ascend_deepep bench --sweep --compare gloo --json --plot "${1:-sweep}" "${@:2}"
