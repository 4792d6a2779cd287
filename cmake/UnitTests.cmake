# SPDX-License-Identifier: Apache-2.0
# Purpose: one test program per directory of tests/cpp (its *_test.cpp and helpers), run by ctest.
# Layer: build. The programs link the runtime and may open the kernel modules beside it. A directory with kernel code of
# its own (it includes the AscendC subset) is compiled for the Fast policy as <dir> and for Sim as <dir>_sim.
# tests/cpp/cann runs op_host/cann/, which comes in with it, on the stand-in of CANN's headers, and the kernel entries
# of the operator package as a kernel module of the twin.

set(ASCEND_DEEPEP_TEST_BOTH_POLICIES twin)
set(ASCEND_DEEPEP_TEST_TIMEOUT 300)

function(ascend_deepep_add_test_program name directory policy)
    file(GLOB sources CONFIGURE_DEPENDS "${directory}/*.cpp")
    add_executable(${name}_test ${sources})
    ascend_deepep_configure(${name}_test CXX 20)
    target_include_directories(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/twin/include"
                                                    "${PROJECT_SOURCE_DIR}/op_kernel" "${PROJECT_SOURCE_DIR}/tests/cpp")
    target_compile_definitions(${name}_test PRIVATE ASCEND_DEEPEP_TWIN_POLICY=${policy}
                                                    ASCEND_DEEPEP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name}_test PRIVATE ascend_deepep_runtime Threads::Threads)
    if(name STREQUAL "cann")
        file(GLOB package_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/op_host/cann/*.cpp")
        target_sources(${name}_test PRIVATE ${package_sources})
        target_include_directories(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}/tools/cann_headers")
        target_link_libraries(${name}_test PRIVATE ${CMAKE_DL_LIBS})
        ascend_deepep_add_kernels(ascend_deepep_kernels_package Fast "${directory}/package/kernels.cpp"
                                  "${PROJECT_SOURCE_DIR}/op_host/cann/arguments.cpp")
        set_target_properties(ascend_deepep_kernels_package PROPERTIES
                              LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
        target_include_directories(ascend_deepep_kernels_package PRIVATE "${PROJECT_SOURCE_DIR}/tools/cann_headers")
        add_dependencies(${name}_test ascend_deepep_kernels_package)
        target_compile_definitions(${name}_test PRIVATE ASCEND_DEEPEP_PACKAGE_TARGET="twin"
            ASCEND_DEEPEP_PACKAGE_KERNELS="$<TARGET_FILE:ascend_deepep_kernels_package>")
    endif()
    if(name STREQUAL "routing")  # its kernel code is counted, basic block by basic block
        set_source_files_properties("${directory}/steps_test.cpp" PROPERTIES
                                    COMPILE_OPTIONS "-fsanitize-coverage=trace-pc")
    endif()
    if(name STREQUAL "npu")
        target_link_libraries(${name}_test PRIVATE ascend_deepep_npu)
    endif()
    add_dependencies(${name}_test ascend_deepep_kernels_fast ascend_deepep_kernels_sim)
    # Compile time of a test outweighs its run time; g++ 12 at -O3 also sees frees in std::vector that are not there.
    target_compile_options(${name}_test PRIVATE -O1)
    target_precompile_headers(${name}_test PRIVATE <algorithm> <functional> <map> <memory> <set> <sstream> <vector>)
    set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ASCEND_DEEPEP_TEST_TIMEOUT})
    if(ASCEND_DEEPEP_SANITIZE)
        # The sanitizer calls dlopen in the program's place, so the program's own run path is not searched.
        set_tests_properties(${name} PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
    endif()
endfunction()

file(GLOB test_units CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cpp/*/*_test.cpp")
set(test_directories "")
foreach(unit IN LISTS test_units)
    get_filename_component(directory "${unit}" DIRECTORY)
    list(APPEND test_directories "${directory}")
endforeach()
list(REMOVE_DUPLICATES test_directories)
foreach(directory IN LISTS test_directories)
    get_filename_component(name "${directory}" NAME)
    ascend_deepep_add_test_program(${name} "${directory}" Fast)
    if(name IN_LIST ASCEND_DEEPEP_TEST_BOTH_POLICIES)
        ascend_deepep_add_test_program(${name}_sim "${directory}" Sim)
    endif()
endforeach()

include("${PROJECT_SOURCE_DIR}/tests/cpp/sim/sim.cmake")

if(NOT ASCEND_DEEPEP_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    include("${PROJECT_SOURCE_DIR}/tests/cpp/fabric/tsan/tsan.cmake")
    include("${PROJECT_SOURCE_DIR}/tests/cpp/twin/refused/refused.cmake")
endif()
