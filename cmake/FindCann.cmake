# SPDX-License-Identifier: Apache-2.0
# Purpose: the CANN installation that set_env.sh has named, checked with one sentence each, and its CMake package ASC.
# Layer: build, target ascend950 and the operator package. find_package(ASC) sets flags and cache entries of its own, so
# include this in a directory that holds nothing else. Sets ASCEND_DEEPEP_CANN (the installation), its
# version, and ASCEND_DEEPEP_NPU_ARCH, what the kernels are compiled for.

set(cann_help "docs/npu.md has the steps")
set(ASCEND_DEEPEP_CANN "$ENV{ASCEND_HOME_PATH}")
if(NOT IS_DIRECTORY "${ASCEND_DEEPEP_CANN}")
    message(FATAL_ERROR "CANN is not set up: ASCEND_HOME_PATH is '${ASCEND_DEEPEP_CANN}'. Install CANN >= 9.0, then "
                        "source its set_env.sh; ${cann_help}.")
endif()

set(ASCEND_DEEPEP_CANN_VERSION "")
foreach(version_file compiler/version.info share/info/compiler/version.info)
    if(NOT ASCEND_DEEPEP_CANN_VERSION AND EXISTS "${ASCEND_DEEPEP_CANN}/${version_file}")
        file(STRINGS "${ASCEND_DEEPEP_CANN}/${version_file}" cann_version REGEX "^Version=")
        string(REGEX REPLACE "^Version=" "" ASCEND_DEEPEP_CANN_VERSION "${cann_version}")
    endif()
endforeach()
if(NOT ASCEND_DEEPEP_CANN_VERSION)
    message(WARNING "No version of CANN in ${ASCEND_DEEPEP_CANN}/compiler/version.info; 9.0 or newer is needed")
elseif(ASCEND_DEEPEP_CANN_VERSION VERSION_LESS 9.0)
    message(FATAL_ERROR "CANN ${ASCEND_DEEPEP_CANN_VERSION} in ${ASCEND_DEEPEP_CANN} is too old: 9.0 or newer is "
                        "needed for kernels with SIMT functions; ${cann_help}.")
endif()

set(ASCEND_DEEPEP_NPU_ARCH dav-3510)
set(CMAKE_ASC_ARCHITECTURES ${ASCEND_DEEPEP_NPU_ARCH})
find_package(ASC QUIET CONFIG HINTS "${ASCEND_DEEPEP_CANN}/lib64/cmake"
             "${ASCEND_DEEPEP_CANN}/compiler/tikcpp/ascendc_kernel_cmake")
if(NOT ASC_FOUND)
    message(FATAL_ERROR "CANN in ${ASCEND_DEEPEP_CANN} has no CMake package ASC (asc-config.cmake), which brings the "
                        "rules for kernels. Install the CANN toolkit, or name that file's directory in the environment "
                        "variable ASC_DIR; ${cann_help}.")
endif()
message(STATUS "CANN ${ASCEND_DEEPEP_CANN_VERSION}: ${ASCEND_DEEPEP_CANN}")
