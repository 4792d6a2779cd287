#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Removes the operator package @CPACK_PACKAGE_VENDOR@ that this script was installed with.
set -euo pipefail

VENDOR="@CPACK_PACKAGE_VENDOR@"
target="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
if [ "$(basename "$target")" != "$VENDOR" ] || [ ! -f "$target/version.info" ]; then
    printf '%s: %s is no installed package of this vendor; nothing is removed\n' "$VENDOR" "$target" >&2
    exit 2
fi
config="$(dirname "$target")/config.ini"
if [ -f "$config" ]; then
    line="$(sed -n 's/^load_priority=//p' "$config" | head -n 1)"
    others="$(tr ',' '\n' <<< "$line" | grep -vx "$VENDOR" | paste -sd, -)" || true
    if [ -n "$others" ]; then printf 'load_priority=%s\n' "$others" > "$config"; else rm -f "$config"; fi
fi
rm -rf "$target"
