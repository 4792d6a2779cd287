# SPDX-License-Identifier: Apache-2.0
# Purpose: what the simulator's test program and its command line driver share: scenarios, hosts, outcome checks.
# Layer: build. Included by cmake/UnitTests.cmake; the test program itself is made there, like all others.

file(GLOB scenario_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cpp/sim/scenario/*.cpp")
add_library(sim_scenario STATIC ${scenario_sources})
ascend_deepep_configure(sim_scenario CXX 20)
target_include_directories(sim_scenario PUBLIC "${PROJECT_SOURCE_DIR}/tests/cpp")
target_link_libraries(sim_scenario PUBLIC ascend_deepep_sim)
target_link_libraries(sim_test PRIVATE sim_scenario)

file(GLOB run_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cpp/sim/run/*.cpp")
add_executable(sim_run ${run_sources})
ascend_deepep_configure(sim_run CXX 20)
target_link_libraries(sim_run PRIVATE sim_scenario)
add_dependencies(sim_run ascend_deepep_kernels_sim)
set_target_properties(sim_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
