# SPDX-License-Identifier: Apache-2.0
# Purpose: the simulator's test program gets the simulator and ranks on threads to compare it with, and its command
# line driver is made.
# Layer: build. Included by cmake/UnitTests.cmake; the test program itself is made there, like all others.

target_link_libraries(sim_test PRIVATE ascend_deepep_simulator)
# Hundreds of worlds: a quarter of a minute, one under sanitizers, many under an emulator.
set_tests_properties(sim PROPERTIES TIMEOUT 1500 COST 100)  # first, where several run at once
target_sources(sim_test PRIVATE "${PROJECT_SOURCE_DIR}/tests/cpp/protocol/world.cpp")

file(GLOB run_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cpp/sim/run/*.cpp")
add_executable(sim_run ${run_sources})
ascend_deepep_configure(sim_run CXX 20)
target_link_libraries(sim_run PRIVATE ascend_deepep_simulator)
add_dependencies(sim_run ascend_deepep_kernels_sim)
set_target_properties(sim_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")

# Its own kernels (memory_test.cpp) see the memory that the simulator models: those of the Sim policy.
get_target_property(definitions sim_test COMPILE_DEFINITIONS)
list(TRANSFORM definitions REPLACE "TWIN_POLICY=Fast" "TWIN_POLICY=Sim")
set_target_properties(sim_test PROPERTIES COMPILE_DEFINITIONS "${definitions}")
