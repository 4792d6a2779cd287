#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Writes docs/layout.md from the contract. Layer: tools. Run it after a change in op_kernel/contract.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
"${CXX:-g++}" -std=c++20 -I"$root" -I"$root/op_kernel" "$root/tools/gen_layout_doc/main.cpp" -o "$scratch/generate"
mkdir -p "$root/docs"
"$scratch/generate" >"$scratch/layout.md"
mv "$scratch/layout.md" "$root/docs/layout.md"
