#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# natively: no
# A login shell has its user's path and what is set for all logins, and starts no program for that.
set -eu
fail() { echo "FAIL: $1"; exit 1; }
if [ "$(id -u)" = 0 ]; then
    path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
else
    path=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games
fi
for shell in bash sh; do
    got=$(env -i PATH=/nowhere:/usr/bin:/bin "$shell" -lc 'echo "$PATH"')
    [ "$got" = "$path" ] || fail "$shell: PATH is $got"
done
[ "$(bash -lc 'env printenv PATH')" = "$path" ] || fail "programs do not get the path"

# The number after its own is that of the first process that it starts.
numbers=$(bash -lc 'echo $$; bash -c "echo \$\$"; true')
[ "${numbers##*$'\n'}" = "$((${numbers%%$'\n'*} + 1))" ] || fail "processes between: $numbers"

if [ "$(id -u)" = 0 ]; then
    mkdir -p /etc/profile.d
    echo 'export FOR_ALL="a b"' > '/etc/profile.d/an extra.sh'
    for shell in bash sh; do
        got=$("$shell" -lc 'echo "$FOR_ALL ${i-unset}"')
        [ "$got" = "a b unset" ] || fail "$shell: profile.d: $got"
    done
fi
echo ok
