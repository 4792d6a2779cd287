# SPDX-License-Identifier: Apache-2.0
# Purpose: cross build for aarch64 with Debian's g++-aarch64-linux-gnu; ctest runs the programs under qemu-user.
# Layer: build, the aarch64 preset.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
