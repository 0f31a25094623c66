#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# grep, sed, gawk and jq on the machine's own data.
fail() { echo "FAIL: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
cd "$(mktemp -d)" || fail "no folder"
seq 1 20000 > n

is "grep -c" "$(grep -c 7 n)" "$(awk '/7/' n | wc -l)"
is "grep -E" "$(grep -E '^(12|34)5{2}$' n | tr '\n' ' ')" "1255 3455 "
is "grep -P" "$(echo 'foo123bar' | grep -oP '(?<=foo)\d+')" 123
is "grep -r" "$(mkdir r && echo needle > r/x && grep -rl needle r)" "r/x"
is "grep -f" "$(printf '5\n6\n' > pat; grep -xf pat n | tr '\n' ' ')" "5 6 "
grep -q nothing n; is "grep status" $? 1
is "grep binary" "$(printf 'a\0needle\n' | grep -c needle)" 1

is "sed s" "$(echo 'hello world' | sed -E 's/(\w+) (\w+)/\2 \1/')" "world hello"
is "sed -n" "$(sed -n '100,102p' n | tr '\n' ' ')" "100 101 102 "
cp n m; sed -i.bak 's/^1$/one/' m
is "sed -i" "$(head -1 m) $(head -1 m.bak)" "one 1"
is "sed script" "$(printf 'a\nb\n' | sed -e '1{h;d}' -e 'G')" "$(printf 'b\na')"

is "awk sum" "$(gawk '{s += $1} END {print s}' n)" 200010000
is "awk arrays" "$(gawk '{c[$1 % 7]++} END {n = asorti(c, k); for (i = 1; i <= n; i++) printf "%s:%d ", k[i], c[k[i]]}' n)" \
    "0:2857 1:2858 2:2857 3:2857 4:2857 5:2857 6:2857 "
is "awk getline" "$(gawk 'BEGIN {while (("echo x; echo y" | getline l) > 0) printf "%s-", l}')" "x-y-"
is "awk coprocess" "$(gawk 'BEGIN {c = "sort -r"; print "a\nb" |& c; close(c, "to"); while ((c |& getline l) > 0) printf "%s", l}')" ba
is "awk printf" "$(gawk 'BEGIN {printf "%.3f %05d %x", 3.14159, 42, 255}')" "3.142 00042 ff"
is "awk redirect" "$(gawk '{print > ("out" $1 % 3)}' n; cat out0 out1 out2 | wc -l)" 20000

is "jq" "$(jq -c '[.[] | select(.a > 1) | .b]' <<< '[{"a":1,"b":"x"},{"a":2,"b":"y"}]')" '["y"]'
is "jq on countries" "$(jq -r '.["3166-1"][] | select(.alpha_2 == "NO") | .name' /usr/share/iso-codes/json/iso_3166-1.json)" Norway
is "jq counts" "$(jq '.["3166-1"] | length' /usr/share/iso-codes/json/iso_3166-1.json)" 249
echo ok
