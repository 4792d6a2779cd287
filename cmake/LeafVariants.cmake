# SPDX-License-Identifier: Apache-2.0
# Purpose: compile leaf units (copy, reduce loops: files named *_leaf.cpp) once per instruction set.
# Layer: build. A unit sees its set as the macro ASCEND_DEEPEP_ISA (baseline, x86_64_v3 or x86_64_v4), wraps its code in
# `namespace ASCEND_DEEPEP_ISA`, and the caller picks a namespace at run time. ASCEND_DEEPEP_ISA_VARIANTS=1 tells the
# caller that the x86 sets exist. A leaf unit includes nothing with inline functions (<cstdint>, <cstddef>, <cstring>,
# <immintrin.h>, its own header) but those that are always in line: the linker keeps one copy of an inline function,
# perhaps the one for the newest CPU.

function(ascend_deepep_add_leaf_variants target)
    set(units ${ARGN})
    if(NOT units)
        return()
    endif()
    set(variants baseline)
    if(ASCEND_DEEPEP_ARCH STREQUAL "x86_64")
        list(APPEND variants x86_64_v3 x86_64_v4)
        target_compile_definitions(${target} PRIVATE ASCEND_DEEPEP_ISA_VARIANTS=1)
    endif()
    foreach(isa IN LISTS variants)
        set(object ${target}_leaf_${isa})
        add_library(${object} OBJECT ${units})
        get_target_property(standard ${target} CXX_STANDARD)
        ascend_deepep_configure(${object} CXX ${standard} HIDDEN)
        target_compile_definitions(${object} PRIVATE ASCEND_DEEPEP_ISA=${isa})
        target_include_directories(${object} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
        if(NOT isa STREQUAL "baseline")
            string(REPLACE "_v" "-v" march "${isa}")
            string(REPLACE "x86_64" "x86-64" march "${march}")
            target_compile_options(${object} PRIVATE -march=${march})
        endif()
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
    endforeach()
endfunction()

# ascend_deepep_sources(<target> <pattern>...): ordinary units go to the target, leaf units to their variants.
function(ascend_deepep_sources target)
    file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
    set(leaves ${sources})
    list(FILTER leaves INCLUDE REGEX "_leaf\\.cpp$")
    list(FILTER sources EXCLUDE REGEX "_leaf\\.cpp$")
    target_sources(${target} PRIVATE ${sources})
    ascend_deepep_add_leaf_variants(${target} ${leaves})
endfunction()
