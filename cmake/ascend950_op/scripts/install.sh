#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the unpacked operator package @CPACK_PACKAGE_VENDOR@ @CPACK_PACKAGE_VERSION@, in place of an older one.
# Called by the .run with its options.
set -euo pipefail

VENDOR="@CPACK_PACKAGE_VENDOR@"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
install_path=""
quiet=n
mode=750

say() { [ "$quiet" = y ] || printf '%s\n' "$1"; }
fail() {
    printf '%s: %s\n' "$VENDOR" "$1" >&2
    exit 2
}

for option in "$@"; do
    case "$option" in
        --install-path=?*) install_path="${option#*=}" ;;
        --install-for-all) mode=755 ;;
        --quiet) quiet=y ;;
        *) fail "unknown option '$option'" ;;
    esac
done

root="${install_path:-${ASCEND_OPP_PATH:-}}"
[ -n "$root" ] || fail "where to? source CANN's set_env.sh (it sets ASCEND_OPP_PATH), or pass --install-path=DIR"
# Without --install-path the directory is CANN's own: never make one by mistake.
[ -n "$install_path" ] || [ -d "$root" ] || fail "ASCEND_OPP_PATH is '$root', which is no directory"
mkdir -p "$root/vendors" 2> /dev/null && [ -w "$root/vendors" ] ||
    fail "$root/vendors cannot be written: run as its owner, or pass --install-path=DIR"
root="$(cd "$root" && pwd)"
target="$root/vendors/$VENDOR"

# The new files lie complete beside the old ones before those go.
fresh="$(mktemp -d "$root/vendors/.$VENDOR.XXXXXX")"
trap 'rm -rf "$fresh"' EXIT
cp -R "$here/packages/vendors/$VENDOR/." "$fresh"
mkdir -p "$fresh/scripts"
cp "$here/uninstall.sh" "$fresh/scripts/uninstall.sh"
if [ -n "$install_path" ]; then
    mkdir -p "$fresh/bin"
    {
        printf '#!/bin/bash\n'
        # shellcheck disable=SC2016
        printf 'export ASCEND_CUSTOM_OPP_PATH="%s${ASCEND_CUSTOM_OPP_PATH:+:$ASCEND_CUSTOM_OPP_PATH}"\n' "$target"
        # shellcheck disable=SC2016
        printf 'export LD_LIBRARY_PATH="%s/op_api/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n' "$target"
    } > "$fresh/bin/set_env.bash"
fi
chmod -R "$mode" "$fresh"
rm -rf "$target"
mv "$fresh" "$target"
trap - EXIT

if [ -n "$install_path" ]; then
    say "installed into $target; before use: source $target/bin/set_env.bash"
    exit 0
fi
# CANN looks through the vendors in the order of this line.
config="$root/vendors/config.ini"
others=""
if [ -f "$config" ]; then
    line="$(sed -n 's/^load_priority=//p' "$config" | head -n 1)"
    others="$(tr ',' '\n' <<< "$line" | grep -vx "$VENDOR" | paste -sd, -)" || true
fi
printf 'load_priority=%s%s\n' "$VENDOR" "${others:+,$others}" > "$config"
chmod "$mode" "$config"
say "installed into $target; before use of aclnn: export LD_LIBRARY_PATH=$target/op_api/lib:\$LD_LIBRARY_PATH"
