# SPDX-License-Identifier: Apache-2.0
# Purpose: find or install what the verbs need: Debian packages, Python, .venv with the pinned packages, our package.
# Layer: build, sourced by build.sh from the repository root. Everything is done once and stamped; a stamp holds a hash
# of what it depends on, so a changed pin, Python or pyproject.toml does the step again.
# shellcheck shell=bash

VENV="$PWD/.venv"
DEV_BUILD="build/dev"
JOBS="$(nproc)"

say() { printf '%s\n' "$*" >&2; }

# stop SENTENCE: the one way out when the user has to act.
stop() {
    say "build.sh: $*"
    exit 2
}

version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# need_packages PACKAGE...: install Debian packages as root, otherwise say the line that does it.
need_packages() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
        stop "missing: $*. Install with: sudo apt-get install -y --no-install-recommends $*"
    fi
    say "installing Debian packages: $*"
    apt-get update -qq > /dev/null || stop "apt-get update failed; missing: $*"
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" > /dev/null ||
        stop "apt-get could not install: $*"
}

have_compiler() { version_at_least "$("${CXX:-g++}" -dumpfullversion -dumpversion 2> /dev/null || echo 0)" 12; }
have_cmake() { version_at_least "$(cmake --version 2> /dev/null | sed -n '1s/[^0-9]*//p')" 3.22; }

need_compiler() {
    local missing=()
    have_compiler || missing+=(g++)
    have_cmake || missing+=(cmake)
    [ ${#missing[@]} = 0 ] && return
    need_packages "${missing[@]}"
    have_compiler || stop "g++ >= 12 is needed, this system's is older; name another compiler in CXX"
    have_cmake || stop "cmake >= 3.22 is needed, this system's is older"
}

python_works() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2> /dev/null; }

# choose_python: sets PYTHON to an interpreter that can make virtual environments and has its headers.
choose_python() {
    local candidate
    PYTHON=""
    if [ -n "${ASCEND_DEEPEP_PYTHON:-}" ]; then
        python_works "$ASCEND_DEEPEP_PYTHON" || stop "ASCEND_DEEPEP_PYTHON names no Python >= 3.10"
        PYTHON="$ASCEND_DEEPEP_PYTHON"
    else
        for candidate in python3.11 python3; do
            if [ -z "$PYTHON" ] && python_works "$candidate"; then PYTHON="$candidate"; fi
        done
    fi
    if [ -z "$PYTHON" ]; then
        need_packages python3 python3-venv python3-dev
        python_works python3 || stop "Python >= 3.10 is needed; name one in ASCEND_DEEPEP_PYTHON"
        PYTHON=python3
    fi
    # The real file behind links and virtual environments: .venv itself may stand first in PATH.
    PYTHON="$("$PYTHON" -c 'import os, sys
print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))')"
}

# need_python_parts: Debian ships venv and the headers apart from the interpreter.
need_python_parts() {
    local version headers missing=()
    version="$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    headers="$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')"
    "$PYTHON" -c 'import ensurepip, venv' 2> /dev/null || missing+=("python$version-venv")
    [ -f "$headers/Python.h" ] || missing+=("python$version-dev")
    [ ${#missing[@]} = 0 ] || need_packages "${missing[@]}"
}

hash_of() { sha256sum | cut -d ' ' -f 1; }

# install_torch: the CPU build, first and in a pip call of its own; never anything else in its place.
install_torch() {
    local index=()
    [ -z "${ASCEND_DEEPEP_TORCH_INDEX:-}" ] || index=(--extra-index-url "$ASCEND_DEEPEP_TORCH_INDEX")
    say "installing $(grep '^torch' requirements/torch.txt)"
    "$VENV/bin/pip" install -qq "${index[@]}" -r requirements/torch.txt ||
        stop "the CPU build $(grep '^torch' requirements/torch.txt) is not on pip's indexes;" \
            "set ASCEND_DEEPEP_TORCH_INDEX to the torch project's index of CPU builds"
}

# need_venv: .venv with torch and the pinned packages. Made anew when Python or the checkout's place changed.
need_venv() {
    local base pins
    choose_python
    base="$({ "$PYTHON" -VV; echo "$PYTHON $PWD"; } | hash_of)"
    pins="$({ echo "$base"; cat requirements/*.txt pyproject.toml; } | hash_of)"
    PATH="$VENV/bin:$PATH"
    [ "$(cat "$VENV/.stamp-pins" 2> /dev/null)" = "$pins" ] && return
    if [ "$(cat "$VENV/.stamp-base" 2> /dev/null)" != "$base" ]; then
        need_python_parts
        rm -rf "$VENV"
        "$PYTHON" -m venv "$VENV"
        echo "$base" > "$VENV/.stamp-base"
    fi
    install_torch
    say "installing the packages of requirements/dev.txt"
    "$VENV/bin/pip" install -qq -r requirements/dev.txt -c requirements/torch.txt
    "$VENV/bin/python" tools/build/cpu_torch.py || exit 2
    echo "$pins" > "$VENV/.stamp-pins"
}

site_packages() { "$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))'; }

# need_package: our package in .venv, editable; afterwards every call is an incremental build of build/dev.
need_package() {
    need_compiler
    need_venv
    if [ -f "$DEV_BUILD/CMakeCache.txt" ] && cmp -s "$VENV/.stamp-pins" "$VENV/.stamp-package"; then
        cmake --build "$DEV_BUILD" -j "$JOBS" >&2
        cmake --install "$DEV_BUILD" --prefix "$(site_packages)" > /dev/null
        return
    fi
    say "building ascend_deepep into $DEV_BUILD"
    CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" "$VENV/bin/pip" install -q --no-build-isolation --no-deps \
        --config-settings=build-dir="$DEV_BUILD" \
        --config-settings=cmake.define.ASCEND_DEEPEP_BUILD_TESTS=ON \
        --config-settings=cmake.define.ASCEND_DEEPEP_WERROR=ON -e . >&2
    cp "$VENV/.stamp-pins" "$VENV/.stamp-package"
}

need_aarch64() {
    local missing=()
    command -v aarch64-linux-gnu-g++ > /dev/null || missing+=(g++-aarch64-linux-gnu)
    command -v qemu-aarch64 > /dev/null || missing+=(qemu-user)
    [ ${#missing[@]} = 0 ] || need_packages "${missing[@]}"
}

need_clang() { command -v "${CLANGXX:-clang++-19}" > /dev/null || need_packages clang-19; }
