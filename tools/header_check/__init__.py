# SPDX-License-Identifier: Apache-2.0
"""Type-check op_kernel/ with a stock clang against the real AscendC headers (README.md here says how and what for)."""
