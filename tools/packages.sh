# SPDX-License-Identifier: Apache-2.0
# Sourced: which Debian packages are needed, and getting those that are missing.

packages_to_build="gcc libc6-dev meson ninja-build pkg-config libc-ares-dev libidn2-dev libjansson-dev libnghttp2-dev libsqlite3-dev libssl-dev libunistring-dev python3 zlib1g-dev"
packages_for_the_tour="python3 sqlite3 unicode-data iso-codes gawk"
packages_to_test="binutils busybox|busybox-static bzip2 ca-certificates clang-format-14 curl dash findutils gawk git gzip iproute2 iso-codes
  jq less libpython3.11-testsuite make nodejs openssh-client openssh-server openssl perl procps python3-ipython python3-jsonschema python3-matplotlib python3-numpy
  python3-pandas python3-venv ripgrep sqlite3 sudo tar unicode-data util-linux vim|vim-tiny xz-utils zstd"

# Without them some tests are skipped, and say so.
packages_to_test_more="python3-httpx python3-requests r-base-core ruby"

# Prints those of the words that are not installed; of "A|B" either will do, A is named.
packages_missing() {
    local word name found
    for word; do
        found=
        for name in ${word//|/ }; do
            case $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) in
            installed) found=1 ;;
            esac
        done
        [ -n "$found" ] || printf '%s ' "${word%%|*}"
    done
}

# packages_need WORD...: installs what is missing when root; says what to do and returns 1 otherwise.
packages_need() {
    local missing
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || {
        echo "packages: this is not Debian; see README.md for what is needed" >&2
        return 0
    }
    missing=$(packages_missing "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "packages: missing; install them as root with: apt-get install ${missing% }" >&2
        return 1
    fi
    echo "installing: $missing"
    export DEBIAN_FRONTEND=noninteractive
    timeout 180 apt-get update -q >/dev/null || return 1
    # shellcheck disable=SC2086
    timeout 900 apt-get install -y -q --no-install-recommends $missing >/dev/null
}
