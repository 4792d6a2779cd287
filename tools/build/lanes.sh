# SPDX-License-Identifier: Apache-2.0
# Purpose: the lanes of `build.sh test`: named steps, each a bash process of its own (so that `set -e` holds inside),
# the table of minutes, and the resumable long lane.
# Layer: build, sourced by build.sh after environment.sh.
# shellcheck shell=bash

STEP_NAMES=()
STEP_RESULTS=()

minutes() { awk -v s="$1" 'BEGIN { printf "%.1f", s / 60 }'; }

# run_step NAME [TIMEOUT_SECONDS]: run step_NAME, keep its time and result; sets STEP_RC. A failed step stops nothing.
run_step() {
    local name=$1 start=$SECONDS limit=()
    [ -z "${2:-}" ] || limit=(timeout -k 30 "$2")
    say "== $name"
    STEP_RC=0
    "${limit[@]}" "$BASH" ./build.sh step "$name" || STEP_RC=$?
    STEP_SECONDS=$((SECONDS - start))
    STEP_NAMES+=("$name")
    if [ "$STEP_RC" = 0 ]; then STEP_RESULTS+=("passed  $(minutes "$STEP_SECONDS") min"); else
        STEP_RESULTS+=("FAILED  $(minutes "$STEP_SECONDS") min (exit $STEP_RC)"); fi
}

# report TITLE: the table, then one closing line; returns 1 when a step failed.
report() {
    local i failed=0
    printf '\n%s\n' "$1"
    for i in "${!STEP_NAMES[@]}"; do
        printf '  %-14s %s\n' "${STEP_NAMES[i]}" "${STEP_RESULTS[i]}"
        case "${STEP_RESULTS[i]}" in FAILED*) failed=$((failed + 1)) ;; esac
    done
    printf '  %-14s %9s min\n' total "$(minutes "$SECONDS")"
    printf 'steps: %d passed, %d failed\n' "$((${#STEP_NAMES[@]} - failed))" "$failed"
    [ "$failed" = 0 ]
}

step_build() { need_package; }

# Programs that mostly wait run beside the one that computes; time-outs in them are long enough for that.
step_cpp() {
    need_package
    ctest --test-dir "$DEV_BUILD" --output-on-failure --no-tests=error -j "$JOBS"
}

# Two workers, by files: most of these tests wait, for ranks, imports or time-outs.
step_python() {
    need_package
    python -m pytest -q -m "not long" -n 2 --dist loadfile
}

step_python-fast() {
    need_package
    python -m pytest -q -m fast
}

step_sim() {
    need_package
    ASCEND_DEEPEP_TWIN_POLICY=sim python -m pytest -q -m "sim and not long"
}

# sanitized_build [TARGET...]: configure build/asan and build the targets, or all of them.
sanitized_build() {
    cmake --preset asan -DASCEND_DEEPEP_BUILD_PYTHON=ON -DPython_EXECUTABLE="$VENV/bin/python" > /dev/null
    cmake --build build/asan -j "$JOBS" ${1:+--target "$@"}
}

# The programs that run the kernels or own memory; `sanitizer-rest` has the others, and ranks in Python.
SANITIZED=(fabric protocol runtime)

step_sanitizer() {
    need_package
    local names
    sanitized_build "${SANITIZED[@]/%/_test}"
    names="$(IFS='|' && echo "${SANITIZED[*]}")"
    ctest --preset asan --no-tests=error -j "$JOBS" -R "^($names)\$"
}

# The Python selection runs under the venv's base interpreter with a staged package: PYTHONPATH entries, unlike the
# venv's own site-packages, have no .pth file executed, so the editable package cannot come before the stage. Capture
# is by sys, so that the report of a sanitizer that ends the process is seen. Left out is what imports the simulator's
# module, which the stage lacks: no test there is for sanitizers.
step_sanitizer-rest() {
    need_package
    local stage="$PWD/build/asan/stage" libraries names
    sanitized_build
    names="$(IFS='|' && echo "${SANITIZED[*]}")"
    ctest --preset asan --no-tests=error -E "^($names)\$"
    rm -rf "$stage"
    cmake --install build/asan --prefix "$stage" --component operators > /dev/null
    cp -r python/ascend_deepep/. "$stage/ascend_deepep/"
    libraries="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"
    LD_PRELOAD="$libraries" ASAN_OPTIONS=detect_leaks=0 PYTHONPATH="$stage:$(site_packages)" \
        "$PYTHON" -m pytest -q --capture=sys -m sanitizer --ignore=tests/python/sim --ignore=tests/python/docs
}

step_packaging() {
    need_package
    python -m pytest -q -m long tests/packaging
}

# Kernels with one thing wrong must fail: the tests of the tests.
step_mutants() {
    need_package
    python -m pytest -q -m long tests/python/mutants
}

step_python-long() {
    need_package
    need_clang # a seed of the simulator is the same under both compilers
    python -m pytest -q -m long --ignore=tests/packaging --ignore=tests/python/mutants
}

# The decode shape. Prints the ratio and fails on none: machines are noisy (`--require 2` does). What differs fails.
step_gloo() {
    need_package
    "$VENV/bin/ascend-deepep" bench --compare gloo --tokens 128
}

step_sweep() {
    need_package
    "$VENV/bin/ascend-deepep" demo --sweep
    "$VENV/bin/ascend-deepep" demo --sweep contract
}

step_aarch64() {
    need_compiler
    need_venv
    need_aarch64
    cmake --preset aarch64 > /dev/null
    cmake --build build/aarch64 -j "$JOBS"
    ctest --preset aarch64 --no-tests=error
}

# tree_hash: git's tree object of the files as they lie here, committed or not; the real index stays untouched.
tree_hash() {
    local scratch tree
    scratch="$(mktemp -d)"
    mkdir "$scratch/objects"
    tree="$(GIT_INDEX_FILE="$scratch/index" GIT_OBJECT_DIRECTORY="$scratch/objects" \
        GIT_ALTERNATE_OBJECT_DIRECTORIES="$(git rev-parse --absolute-git-dir)/objects" \
        bash -c 'git add -A && git write-tree')"
    rm -rf "$scratch"
    echo "$tree"
}

# Those that say most about the kernels come first: with a budget of minutes the last ones may not be reached.
LONG_SUITES=(mutants sweep gloo python-long sanitizer-rest aarch64 packaging)
NOT_REACHED=build/long/not-reached # the suites that the last call left open, for its caller; empty when it left none

# test_long [MINUTES]: each suite not yet passed for this very tree. With a budget, what does not fit is named as not
# reached; it is no failure, and the next call goes on there.
test_long() {
    local budget=${1:-} suite stamp tree left open=()
    [[ "$budget" =~ ^(0|[1-9][0-9]{0,5})?$ ]] || stop "test long '$budget': MINUTES is a number from 0 to 999999"
    tree="$(tree_hash)"
    mkdir -p build/long
    : > "$NOT_REACHED"
    for suite in "${LONG_SUITES[@]}"; do
        stamp="build/long/$suite-$tree"
        if [ -f "$stamp" ]; then
            STEP_NAMES+=("$suite")
            STEP_RESULTS+=("passed  $(cat "$stamp") min (earlier, same tree)")
            continue
        fi
        left=""
        if [ -n "$budget" ]; then
            left=$((budget * 60 - SECONDS))
            if [ "$left" -le 0 ]; then
                open+=("$suite")
                continue
            fi
        fi
        run_step "$suite" "$left"
        if [ "$STEP_RC" = 0 ]; then minutes "$STEP_SECONDS" > "$stamp"; fi
        # Ended by its time limit (124, or 137 where it had to be killed): neither passed nor failed.
        if [[ "$STEP_RC" =~ ^(124|137)$ ]] && [ -n "$left" ] && [ "$STEP_SECONDS" -ge "$left" ]; then
            open+=("$suite")
            unset 'STEP_NAMES[-1]' 'STEP_RESULTS[-1]'
        fi
    done
    if [ ${#open[@]} -gt 0 ]; then
        say "not reached within $budget min, run again to go on: ${open[*]}"
        echo "${open[*]}" > "$NOT_REACHED"
    fi
    report "test long, tree $tree"
}
