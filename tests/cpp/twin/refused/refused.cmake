# SPDX-License-Identifier: Apache-2.0
# Purpose: a test for each rule that the compiler checks: refused.cpp compiles, and with the rule's line broken it is
# refused with the rule's name. Layer: build, included by UnitTests.cmake.

set(compile_rules vf-arguments launch-bound-range barrier-pipe ctrl-bits word-types atomic-types hint-types vector-types
                  queue-position queue-depth queue-config padding-mode)
foreach(rule IN ITEMS none ${compile_rules})
    string(REPLACE "-" "_" violated "${rule}")
    add_test(NAME refused_${rule}
             COMMAND "${CMAKE_CXX_COMPILER}" -std=c++17 -fsyntax-only -Wall -Wextra -Werror -Wno-unused-function
                     -DASCEND_DEEPEP_TWIN_POLICY=Fast -DVIOLATE=${violated} "-I${PROJECT_SOURCE_DIR}"
                     "-I${PROJECT_SOURCE_DIR}/twin/include" "-I${PROJECT_SOURCE_DIR}/op_kernel"
                     "${PROJECT_SOURCE_DIR}/tests/cpp/twin/refused/refused.cpp")
    set_tests_properties(refused_${rule} PROPERTIES TIMEOUT 120)
    if(NOT rule STREQUAL "none")
        set_tests_properties(refused_${rule} PROPERTIES PASS_REGULAR_EXPRESSION "error: static[^\n]*\\[${rule}\\]")
    endif()
endforeach()
