# SPDX-License-Identifier: Apache-2.0
# Purpose: flags of our own code, and one function that gives them to a target.
# Layer: build. Dependencies (torch, pybind11) come in as SYSTEM includes, so warnings stay on our code only.

option(ASCEND_DEEPEP_WERROR "Warnings are errors. build.sh turns it on; off for users with other compilers" OFF)
set(ASCEND_DEEPEP_SANITIZE "" CACHE STRING "Value for -fsanitize, e.g. address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# All libraries lie side by side, in the build tree as in the package: $ORIGIN finds the neighbours.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/ascend_deepep")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN")

find_program(ASCEND_DEEPEP_CCACHE ccache)
if(ASCEND_DEEPEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${ASCEND_DEEPEP_CCACHE}")
endif()

# Results are defined bit for bit, so a multiply and an add must never be fused: -ffp-contract=off.
# Kernels read and write the same device memory as words, halves and structs, which strict aliasing would not allow.
# torch's macros put __FILE__ into the binary: no build path ends up in a wheel.
set(ASCEND_DEEPEP_FLAGS -Wall -Wextra -ffp-contract=off -fno-strict-aliasing
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(ASCEND_DEEPEP_WERROR)
    list(APPEND ASCEND_DEEPEP_FLAGS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Two kernel modules live in one process (policies, mutants): no symbol may become process-wide unique.
    list(APPEND ASCEND_DEEPEP_FLAGS -fno-gnu-unique)
endif()
set(ASCEND_DEEPEP_LINK_FLAGS "")
if(ASCEND_DEEPEP_SANITIZE)
    list(APPEND ASCEND_DEEPEP_FLAGS -fsanitize=${ASCEND_DEEPEP_SANITIZE} -fno-sanitize-recover=all
         -fno-omit-frame-pointer -g1)
    list(APPEND ASCEND_DEEPEP_LINK_FLAGS -fsanitize=${ASCEND_DEEPEP_SANITIZE})
endif()

# ascend_deepep_configure(<target> CXX <17|20> [HIDDEN]): standard, warnings, visibility.
function(ascend_deepep_configure target)
    cmake_parse_arguments(ARG "HIDDEN" "CXX" "" ${ARGN})
    target_compile_features(${target} PRIVATE cxx_std_${ARG_CXX})
    set_target_properties(${target} PROPERTIES CXX_STANDARD ${ARG_CXX})
    target_compile_options(${target} PRIVATE ${ASCEND_DEEPEP_FLAGS})
    target_link_options(${target} PRIVATE ${ASCEND_DEEPEP_LINK_FLAGS})
    if(ARG_HIDDEN)
        set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    endif()
endfunction()
