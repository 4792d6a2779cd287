#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operator package @CPACK_PACKAGE_VENDOR@ @CPACK_PACKAGE_VERSION@ for Ascend 950: a shell script with an archive behind
# it. Options are those of other .run packages of CANN; the rest goes to the install script inside.
set -euo pipefail

VERSION="@CPACK_PACKAGE_VERSION@"
SHA256="@payload_sha256@"

usage() {
    cat << 'HELP'
usage: ./@CPACK_PACKAGE_FILE_NAME@ [OPTION...]

  --install-path=DIR   install into DIR/vendors/@CPACK_PACKAGE_VENDOR@ and write bin/set_env.bash there
                       (default: into $ASCEND_OPP_PATH, for all environments that use this CANN)
  --install-for-all    let other users read the installed files
  --quiet              say nothing but errors
  --version            print the version
  --list               list the files inside
  --check              check the archive
  --extract=DIR        unpack into DIR and install nothing
  --help               this text
HELP
}

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit 2
}

payload() { sed '1,/^__PAYLOAD__$/d' "$0"; }

check() {
    local sum
    sum="$(payload | sha256sum | cut -d ' ' -f 1)"
    [ "$sum" = "$SHA256" ] ||
        fail "the file is damaged (SHA-256 of the archive is $sum, expected $SHA256): copy it again"
}

for option in "$@"; do
    case "$option" in
        --help) usage; exit 0 ;;
        --version) printf '%s\n' "$VERSION"; exit 0 ;;
        --list) check; payload | tar -tzf -; exit 0 ;;
        --check) check; printf 'good\n'; exit 0 ;;
        --extract=?*)
            check
            mkdir -p "${option#*=}"
            payload | tar -xzf - -C "${option#*=}"
            exit 0
            ;;
        --install-path=?* | --install-for-all | --quiet) ;;
        *) fail "unknown option '$option'; --help lists them" ;;
    esac
done

check
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
payload | tar -xzf - -C "$scratch"
bash "$scratch/install.sh" "$@"
exit 0
__PAYLOAD__
