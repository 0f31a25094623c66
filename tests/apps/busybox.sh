#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# busybox: its shell, applets by name and by link, its archives.
fail() { echo "FAIL: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
command -v busybox > /dev/null || { echo "skip: no busybox"; exit 0; }
cd "$(mktemp -d)" || fail "no folder"
bb=$(command -v busybox)
is ash "$($bb sh -c 'x=0; for i in 1 2 3; do x=$((x + i)); done; echo $x | sed s/6/six/')" six
mkdir bin && for a in ls cat grep awk sort tar gzip find wc sh ps; do ln -s "$bb" bin/$a; done
export PATH=$PWD/bin:$PATH
is link "$(seq 100 | bin/grep -c 7)" 19
is awk "$(seq 10 | bin/awk '{s += $1} END {print s}')" 55
mkdir t && seq 1000 > t/n && bin/tar -czf t.tgz t && rm -r t && bin/tar -xzf t.tgz && is tar "$(bin/wc -l < t/n)" 1000
is find "$(bin/find t -type f)" t/n
is ps "$(bin/ps | bin/grep -c '[b]in/ps')" 1
is "static" "$($bb sha256sum < /dev/null | cut -c1-8)" e3b0c442
(cd t && $bb nc -l -p 18080 < n > /dev/null) & nc=$!
for i in $(seq 50); do sleep 0.1; sleep 2 | $bb nc 127.0.0.1 18080 > got 2> /dev/null && [ -s got ] && break; done
kill $nc 2> /dev/null; is nc "$(tail -1 got)" 1000
echo ok
