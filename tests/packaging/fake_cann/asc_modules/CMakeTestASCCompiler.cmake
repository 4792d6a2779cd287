# SPDX-License-Identifier: Apache-2.0
# Purpose: stand-in for CANN's CMake language ASC, whose compiler is taken for good there too. Layer: tests.
set(CMAKE_ASC_COMPILER_WORKS 1 CACHE INTERNAL "")
