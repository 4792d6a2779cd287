# SPDX-License-Identifier: Apache-2.0
# Purpose: refuse what cannot work with one sentence, before anything is compiled.
# Layer: build. Included once, after project().

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "ascend-deepep builds on Linux only (memfd windows, futexes); this is ${CMAKE_SYSTEM_NAME}.")
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set(ASCEND_DEEPEP_ARCH "x86_64")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(ASCEND_DEEPEP_ARCH "aarch64")
else()
    message(FATAL_ERROR "ascend-deepep supports x86-64 and aarch64 (the fibers switch stacks in assembly); "
                        "this is ${CMAKE_SYSTEM_PROCESSOR}.")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    message(FATAL_ERROR "g++ >= 12 is needed, ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_VERSION}.")
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
    message(FATAL_ERROR "clang >= 16 is needed, ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_VERSION}.")
endif()
