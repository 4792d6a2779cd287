# SPDX-License-Identifier: Apache-2.0
# Purpose: stand-in for CANN's CMake package ASC: its documented functions for operator packages, as far as ours calls
# them, laying files out where CANN's own do. Layer: tests. Host libraries are really compiled and linked; kernels are
# placeholders (kernel_binaries.py). Language ASC is in asc_modules/. With ASC_DEVKIT set the tests run on CANN's own
# modules as well.

set(fake_cann "$ENV{ASCEND_HOME_PATH}")
set(CMAKE_CXX_FLAGS_RELEASE "")  # as CANN's does
list(APPEND CMAKE_MODULE_PATH "${fake_cann}/asc_modules")
set(ASCEND_AUTOGEN_PATH "${CMAKE_BINARY_DIR}/autogen")
file(MAKE_DIRECTORY "${ASCEND_AUTOGEN_PATH}")
set(fake_cann_flags -fPIC -D_GLIBCXX_USE_CXX11_ABI=0 -fvisibility=hidden -fvisibility-inlines-hidden)

function(npu_op_package name)
    set_property(GLOBAL PROPERTY fake_vendor "packages/vendors/${name}")
    file(STRINGS "${fake_cann}/compiler/version.info" line REGEX "^Version=")
    string(REPLACE "Version=" "custom_opp_compiler_version=" line "${line}")
    file(WRITE "${CMAKE_BINARY_DIR}/version.info" "${line}\n")
    install(FILES "${CMAKE_BINARY_DIR}/version.info" DESTINATION packages/vendors/${name})
endfunction()

function(npu_op_code_gen)
    cmake_parse_arguments(ARG "" "PACKAGE;OUT_DIR" "SRC;COMPILE_OPTIONS;LINK_OPTIONS" ${ARGN})
    set(library "${ARG_OUT_DIR}/libascend_all_ops.so")
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -shared -fPIC -D_GLIBCXX_USE_CXX11_ABI=0 ${ARG_COMPILE_OPTIONS}
                            "-I${fake_cann}/include" ${ARG_SRC} -o "${library}" ${ARG_LINK_OPTIONS}
                    COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND "${fake_cann}/tools/opbuild/op_build" "${library}" "${ARG_OUT_DIR}"
                            --compute_unit=${ASCEND_COMPUTE_UNIT} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(npu_op_library name type)
    add_library(${name} OBJECT ${ARGN})
    target_compile_options(${name} PRIVATE ${fake_cann_flags})
    target_include_directories(${name} PRIVATE "${fake_cann}/include")
    set_property(GLOBAL PROPERTY fake_type_${name} ${type})
endfunction()

function(npu_op_kernel_library name)
    cmake_parse_arguments(ARG "" "SRC_BASE;TILING_LIBRARY" "" ${ARGN})
    set_property(GLOBAL PROPERTY fake_type_${name} KERNEL)
    set_property(GLOBAL PROPERTY fake_sources_${name} "${ARG_SRC_BASE}")
endfunction()

function(npu_op_kernel_options name)
    set_property(GLOBAL PROPERTY fake_options_${name} ${ARGN})
endfunction()

# fake_shared_library(<object library> <output name> <where>): what CANN links of one npu_op_library.
function(fake_shared_library objects output where)
    add_library(fake_${objects} SHARED)
    target_link_libraries(fake_${objects} PRIVATE ${objects})
    set_target_properties(fake_${objects} PROPERTIES OUTPUT_NAME ${output} LINKER_LANGUAGE CXX)
    install(TARGETS fake_${objects} LIBRARY DESTINATION ${where})
endfunction()

function(fake_kernels name vendor)
    get_property(sources GLOBAL PROPERTY fake_sources_${name})
    set(tree "${CMAKE_BINARY_DIR}/kernels")
    add_custom_target(binary COMMAND python3 "${fake_cann}/kernel_binaries.py" "${sources}" "${tree}"
                             "${ASCEND_AUTOGEN_PATH}/aic-${ASCEND_COMPUTE_UNIT}-ops-info.ini" VERBATIM)
    install(DIRECTORY "${tree}/" DESTINATION ${vendor}/op_impl/ai_core/tbe)
    file(WRITE "${CMAKE_BINARY_DIR}/npu_supported_ops.json" "{}\n")
    install(FILES "${CMAKE_BINARY_DIR}/npu_supported_ops.json" DESTINATION ${vendor}/framework/tensorflow)
endfunction()

function(npu_op_package_add package)
    cmake_parse_arguments(ARG "" "" "LIBRARY" ${ARGN})
    get_property(vendor GLOBAL PROPERTY fake_vendor)
    set(linux lib/linux/${CMAKE_SYSTEM_PROCESSOR})
    foreach(name IN LISTS ARG_LIBRARY)
        get_property(type GLOBAL PROPERTY fake_type_${name})
        if(type STREQUAL "TILING")
            set(tiling ${vendor}/op_impl/ai_core/tbe/op_tiling)
            fake_shared_library(${name} cust_opmaster_rt2.0 ${tiling}/${linux})
            file(CREATE_LINK ${linux}/libcust_opmaster_rt2.0.so "${CMAKE_BINARY_DIR}/liboptiling.so" SYMBOLIC)
            install(FILES "${CMAKE_BINARY_DIR}/liboptiling.so" DESTINATION ${tiling})
        elseif(type STREQUAL "GRAPH")
            fake_shared_library(${name} cust_opsproto_rt2.0 ${vendor}/op_proto/${linux})
            install(FILES "${ASCEND_AUTOGEN_PATH}/op_proto.h" DESTINATION ${vendor}/op_proto/inc)
        elseif(type STREQUAL "ACLNN")
            fake_shared_library(${name} cust_opapi ${vendor}/op_api/lib)
            file(GLOB headers "${ASCEND_AUTOGEN_PATH}/aclnn_*.h")
            install(FILES ${headers} DESTINATION ${vendor}/op_api/include)
        else()
            fake_kernels(${name} ${vendor})
        endif()
    endforeach()
endfunction()
