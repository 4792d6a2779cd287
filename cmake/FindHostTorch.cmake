# SPDX-License-Identifier: Apache-2.0
# Purpose: target HostTorch::stable = the stable-ABI headers and libtorch_cpu.so of the user's own torch.
# Layer: build. Under pip's build isolation PYTHONPATH hides the user's packages, so the calling interpreter is asked
# with PYTHONPATH removed; ASCEND_DEEPEP_TORCH (the directory of the torch package) goes before it.
#
# Why we link to libtorch_cpu.so by path but keep no run path to it: torch's libraries are loaded with local scope, so
# our libraries must name libtorch_cpu.so as needed to see its symbols. `import torch` has loaded it before ours, and
# the loader reuses it by its soname. The wheel thus fits any torch >= 2.10, wherever it is installed.

set(ASCEND_DEEPEP_TORCH "$ENV{ASCEND_DEEPEP_TORCH}" CACHE PATH "Directory of the torch package (holds include/, lib/)")

file(STRINGS "${PROJECT_SOURCE_DIR}/requirements/torch.txt" torch_pin REGEX "^torch==")
set(torch_hint "install torch first (2.10 or newer):\n    ${Python_EXECUTABLE} -m pip install ${torch_pin}\n"
    "then run the build again. torch may also be named by ASCEND_DEEPEP_TORCH=<.../site-packages/torch>; a front end "
    "that builds with another interpreter than the environment's (uv) needs that, or --no-build-isolation.")
list(JOIN torch_hint "" torch_hint)

set(torch_root "${ASCEND_DEEPEP_TORCH}")
if(NOT torch_root)
    execute_process(
        COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH --unset=PYTHONNOUSERSITE "${Python_EXECUTABLE}" -c
                "import importlib.util as util; torch = util.find_spec('torch')
print(torch.submodule_search_locations[0] if torch else '')"
        OUTPUT_VARIABLE torch_root OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
if(NOT torch_root)
    message(FATAL_ERROR "No torch in the environment of ${Python_EXECUTABLE}: ${torch_hint}")
endif()
if(NOT EXISTS "${torch_root}/include/torch/csrc/stable/library.h" OR NOT EXISTS "${torch_root}/lib/libtorch_cpu.so")
    message(FATAL_ERROR "${torch_root} is no torch with the stable ABI (2.10 or newer): ${torch_hint}")
endif()
file(STRINGS "${torch_root}/version.py" torch_version REGEX "^__version__ *= *")
string(REGEX MATCH "[0-9]+\\.[0-9]+(\\.[0-9]+)?" torch_version "${torch_version}")
if(torch_version VERSION_LESS 2.10)
    message(FATAL_ERROR "torch ${torch_version} in ${torch_root} is too old: ${torch_hint}")
endif()
message(STATUS "torch ${torch_version}: ${torch_root}")

add_library(HostTorch::stable SHARED IMPORTED)
set_target_properties(HostTorch::stable PROPERTIES
    IMPORTED_LOCATION "${torch_root}/lib/libtorch_cpu.so"
    INTERFACE_INCLUDE_DIRECTORIES "${torch_root}/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${torch_root}/include"
    # ABI of torch 2.10: what is compiled against a newer torch still loads into every release from there on.
    INTERFACE_COMPILE_DEFINITIONS "TORCH_TARGET_VERSION=0x020a000000000000")
