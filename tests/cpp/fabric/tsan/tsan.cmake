# SPDX-License-Identifier: Apache-2.0
# Purpose: the race test of the header with all cross-process flag accesses, built twice for the thread sanitizer.
# Layer: build, included by UnitTests.cmake on native builds without another sanitizer.

foreach(variant IN ITEMS clean relaxed)
    set(name flag_race_${variant})
    add_executable(${name} "${PROJECT_SOURCE_DIR}/tests/cpp/fabric/tsan/flag_race.cpp"
                           "${PROJECT_SOURCE_DIR}/twin/fabric/block_copy.cpp"
                           "${PROJECT_SOURCE_DIR}/twin/runtime/copy_kernels.cpp"
                           "${PROJECT_SOURCE_DIR}/twin/runtime/copy_leaf.cpp")
    target_compile_definitions(${name} PRIVATE ASCEND_DEEPEP_ISA=baseline)
    target_compile_features(${name} PRIVATE cxx_std_20)
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/op_kernel")
    # The sanitizer sees a copy only where it is a call: the compiler must not expand memcpy in line.
    target_compile_options(${name} PRIVATE -Wall -Wextra -O1 -g -fno-builtin -fsanitize=thread)
    target_link_options(${name} PRIVATE -fsanitize=thread)
    target_link_libraries(${name} PRIVATE Threads::Threads)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 60)
endforeach()
target_compile_definitions(flag_race_relaxed PRIVATE ASCEND_DEEPEP_TEST_RELAXED_FLAGS)
set_tests_properties(flag_race_clean PROPERTIES PASS_REGULAR_EXPRESSION "blocks whole"
                                                FAIL_REGULAR_EXPRESSION "data race")
# Passes when the detector speaks up; that it then exits with an error does not matter.
set_tests_properties(flag_race_relaxed PROPERTIES PASS_REGULAR_EXPRESSION "WARNING: ThreadSanitizer: data race")
