# SPDX-License-Identifier: Apache-2.0
# Purpose: stand-in for CANN's CMake language ASC: finds bisheng. Layer: tests.
find_program(CMAKE_ASC_COMPILER NAMES bisheng REQUIRED)
file(WRITE "${CMAKE_PLATFORM_INFO_DIR}/CMakeASCCompiler.cmake" "set(CMAKE_ASC_COMPILER \"${CMAKE_ASC_COMPILER}\")
set(CMAKE_ASC_COMPILER_LOADED 1)
set(CMAKE_ASC_SOURCE_FILE_EXTENSIONS asc)
set(CMAKE_ASC_LINKER_PREFERENCE 50)
")
set(CMAKE_ASC_COMPILER_ENV_VAR ASC)
