#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The one command of this repository: `./build.sh help` lists the verbs. Each verb installs what it needs once
# (tools/build/environment.sh says what and where) and then does its work; nothing outside the checkout is changed,
# except missing Debian packages when run as root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tools/build/environment.sh
source tools/build/environment.sh
# shellcheck source=tools/build/lanes.sh
source tools/build/lanes.sh
# shellcheck source=tools/build/npu.sh
source tools/build/npu.sh

usage() {
    cat << 'HELP'
usage: ./build.sh VERB

  demo [ARG...]        build, then `ascend-deepep demo ARG...`
  test                 build, C++ tests, Python tests, sim policy, sanitizers; minutes by step
  test fast            the C++ tests and the quick Python tests
  test long [MINUTES]  mutants, sweep, gloo, long tests, more with sanitizers, aarch64, packaging; goes on where it
                       stopped for this tree
  check                format, lint, types, tidy rules (tools/check), header-check stamp
  format               rewrite our sources as `check` wants them
  header-check         op_kernel/ and the twin's headers against the AscendC headers in $ASC_DEVKIT; `report` only the
                       twin's, `self-test` checks the checks, `update` takes over newer headers
  wheel                wheel and source distribution into dist/
  npu                  with CANN and torch_npu: build for Ascend 950 and install where torch_npu is (docs/npu.md)
  op                   with CANN: the custom operator package, build/op/run/*.run (docs/npu.md)
  clean [all]          remove build/ and dist/; with `all` .venv too

environment: ASCEND_DEEPEP_PYTHON (interpreter for .venv; for `npu` the one with torch_npu), ASCEND_DEEPEP_TORCH_INDEX
(package index with CPU builds of torch), CXX, ASC_DEVKIT and ASC_DEVKIT_COMMIT (header-check)
HELP
}

verb_demo() {
    need_package
    exec "$VENV/bin/ascend-deepep" demo "$@"
}

verb_test() {
    local step steps=(cpp python sim sanitizer)
    case "${1:-}" in
        "") ;;
        fast) steps=(cpp python-fast) ;;
        long)
            test_long "${2:-}"
            return
            ;;
        *) stop "unknown lane '$1': fast, long or none" ;;
    esac
    run_step build
    [ "$STEP_RC" = 0 ] || { report "test ${1:-}"; exit 1; }
    for step in "${steps[@]}"; do run_step "$step"; done
    report "test ${1:-}"
}

verb_check() {
    need_venv
    python -m tools.check
}

verb_format() {
    need_venv
    python -m tools.check --fix
}

verb_header-check() {
    need_clang
    choose_python
    "$PYTHON" -m tools.header_check "${@:-check}"
}

verb_wheel() {
    need_compiler
    need_venv
    rm -rf dist
    python -m build --no-isolation --outdir dist .
}

verb_clean() {
    rm -rf build dist tools/header_check/build
    if [ "${1:-}" = all ]; then rm -rf .venv; fi
}

# A step of a test lane: run_step starts it in a process of its own.
verb_step() {
    need_venv
    "step_$1"
}

verb=${1:-help}
[ $# = 0 ] || shift
case "$verb" in
    demo | test | check | format | header-check | wheel | npu | op | clean | step) "verb_$verb" "$@" ;;
    help | -h | --help) usage ;;
    *)
        usage >&2
        stop "unknown verb '$verb'"
        ;;
esac
