#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ripgrep: parallel walk, ignore files, mapped files, replacement.
fail() { echo "FAIL: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
command -v rg > /dev/null || { echo "skip: no rg"; exit 0; }
cd "$(mktemp -d)" || fail "no folder"
mkdir -p a/b/c d && for i in $(seq 500); do echo "line $i needle" > a/b/$i.txt; done
echo needle > d/hidden.log; echo '*.log' > .ignore; echo needle > .dot; seq 300000 > big; printf 'x\0needle\n' > binary
is count "$(rg -c needle a | wc -l)" 500
is ignore "$(rg -l needle d | wc -l) $(rg -lu needle d)" "0 d/hidden.log"
is hidden "$(rg -l --hidden -g '.dot' needle .)" "./.dot"
is mmap "$(rg --mmap -c '7$' big) $(rg --no-mmap -c '7$' big)" "30000 30000"
is threads "$(rg -j8 -l 'needle$' a | wc -l)" 500
is replace "$(echo abc123 | rg -o '(\d+)' -r '<$1>')" "<123>"
is json "$(rg --json -g 1.txt needle a | grep -c '"type":"match"')" 1
rg -q nothing-here a; is status $? 1
is unicode "$(rg -c 'GREEK' /usr/share/unicode/UnicodeData.txt)" "$(grep -c GREEK /usr/share/unicode/UnicodeData.txt)"
echo ok
