# SPDX-License-Identifier: Apache-2.0
# Purpose: the verbs `npu` and `op`: find CANN, the compiler for kernels and torch_npu, or say in one sentence what is
# missing; then build the torch library, or the custom operator package.
# Layer: build, sourced by build.sh after environment.sh.
# shellcheck shell=bash

NPU_HELP="docs/npu.md has the steps"
SET_ENV="source /usr/local/Ascend/cann/set_env.sh"
OP_BUILD="build/op"

# cann_version: the release of $ASCEND_HOME_PATH; nothing when no file tells.
cann_version() {
    local file
    for file in "$ASCEND_HOME_PATH"/{compiler,share/info/compiler}/version.info; do
        if [ -f "$file" ]; then
            sed -n 's/^Version=//p' "$file" | head -n 1
            return
        fi
    done
}

# need_cann: CANN >= 9.0, set up in this shell, with bisheng.
need_cann() {
    local version bisheng
    [ -n "${ASCEND_HOME_PATH:-}" ] ||
        stop "CANN is not set up: ASCEND_HOME_PATH is not set. Install CANN >= 9.0, then \`$SET_ENV\`; $NPU_HELP"
    [ -d "$ASCEND_HOME_PATH" ] ||
        stop "ASCEND_HOME_PATH is '$ASCEND_HOME_PATH', which is no directory. Install CANN >= 9.0, then" \
            "\`$SET_ENV\`; $NPU_HELP"
    version="$(cann_version)"
    if [ -z "$version" ]; then
        say "the version of CANN cannot be read from $ASCEND_HOME_PATH/compiler/version.info; 9.0 or newer is needed"
    elif ! version_at_least "$version" 9.0; then
        stop "CANN $version in $ASCEND_HOME_PATH is too old: 9.0 or newer is needed (kernels with SIMT functions)." \
            "Install it, then \`$SET_ENV\`; $NPU_HELP"
    fi
    bisheng="$ASCEND_HOME_PATH/$(uname -m)-linux/ccec_compiler/bin/bisheng"
    command -v bisheng > /dev/null || [ -x "$bisheng" ] ||
        stop "bisheng, the compiler for kernels, is neither in PATH nor below $ASCEND_HOME_PATH." \
            "Install the CANN toolkit (the runtime alone has no compiler), then \`$SET_ENV\`; $NPU_HELP"
}

# need_torch_npu: sets NPU_PYTHON to the interpreter whose environment gets the library: it has torch and torch_npu.
need_torch_npu() {
    local missing
    NPU_PYTHON="${ASCEND_DEEPEP_PYTHON:-$VENV/bin/python}"
    python_works "$NPU_PYTHON" ||
        stop "no Python >= 3.10 at '$NPU_PYTHON': name the interpreter that has torch_npu in ASCEND_DEEPEP_PYTHON;" \
            "$NPU_HELP"
    missing="$("$NPU_PYTHON" -c 'import importlib.util as util
print(*(name for name in ("torch", "torch_npu") if util.find_spec(name) is None), sep=" and ")')"
    [ -z "$missing" ] ||
        stop "$NPU_PYTHON has no $missing: install torch and the torch_npu of the same release there, or name another" \
            "interpreter in ASCEND_DEEPEP_PYTHON; $NPU_HELP"
}

# verb_npu: our package with libascend_deepep_ops_npu.so, installed into the environment that has torch_npu, with what
# it needs of Python. torch is none of its dependencies (pyproject.toml), so pip leaves the one that is there alone.
verb_npu() {
    local isolation=()
    need_cann
    need_torch_npu
    need_compiler
    if "$NPU_PYTHON" -c 'import pybind11, scikit_build_core' 2> /dev/null; then isolation=(--no-build-isolation); fi
    CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" "$NPU_PYTHON" -m pip install "${isolation[@]}" \
        --config-settings=build-dir=build/npu --config-settings=cmake.define.ASCEND_DEEPEP_TARGET=ascend950 . >&2
    say "installed for $NPU_PYTHON; try: $NPU_PYTHON -m ascend_deepep doctor"
}

# verb_op: build/op/run/*.run. CANN's rules for packages call make.
verb_op() {
    need_cann
    need_compiler
    command -v make > /dev/null || need_packages make
    cmake -S cmake/ascend950_op -B "$OP_BUILD" -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release --log-level=WARNING >&2 ||
        stop "CMake cannot configure the operator package with CANN in $ASCEND_HOME_PATH, for the reason above;" \
            "$NPU_HELP"
    cmake --build "$OP_BUILD" -j "$JOBS" >&2
    cmake --build "$OP_BUILD" --target binary -j "$JOBS" >&2
    rm -rf "$OP_BUILD/run"
    (cd "$OP_BUILD" && cpack --config AscendDeepepPackage.cmake) >&2
    ls "$PWD/$OP_BUILD"/run/*.run
}
