#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Process substitution and the /dev/std* and /dev/fd names.
bad() { echo "FAIL: $*" | tr "\n" " "; echo; exit 1; }
[ "$(cat <(printf 'a\nb\n') <(printf 'c\n'))" = $'a\nb\nc' ] || bad "cat of two substitutions"
diff <(printf '1\n2\n') <(printf '1\n3\n') >/dev/null; [ $? -eq 1 ] || bad "diff of two substitutions gave status $?"
[ "$(printf 'x y z\n' | tee >(wc -c >/dev/null) | cat)" = "x y z" ] || bad "tee to a substitution"
n=0; while read -r _; do n=$((n+1)); done < <(seq 500); [ $n -eq 500 ] || bad "loop over a substitution read $n lines"
[ "$(paste -d+ <(seq 3) <(seq 4 6))" = $'1+4\n2+5\n3+6' ] || bad "paste"
[ "$(printf hello | cat /dev/stdin)" = hello ] || bad "/dev/stdin"
[ "$(echo out | tee /dev/stdout | wc -l)" -eq 2 ] || bad "/dev/stdout"
[ "$( { echo err > /dev/stderr; } 2>&1 )" = err ] || bad "/dev/stderr"
exec 7< <(echo seven); [ "$(cat /dev/fd/7)" = seven ] || bad "/dev/fd/7"; exec 7<&-
[ "$(python3 -c 'print(open("/dev/stdin").read().upper())' < <(printf abc))" = ABC ] || bad "python /dev/stdin"
if command -v node >/dev/null; then
  [ "$(printf 'n1' | node -e 'process.stdout.write(require("fs").readFileSync("/dev/stdin","utf8"))')" = n1 ] || bad "node /dev/stdin"
  [ "$(printf 'n2' | node -e 'process.stdout.write(require("fs").readFileSync(0,"utf8"))')" = n2 ] || bad "node fd 0"
fi
f=$(mktemp); echo filedata > "$f"; exec 8< "$f"; rm "$f"; [ "$(cat /proc/self/fd/8)" = filedata ] || bad "reopen of a removed file"; exec 8<&-
t=$(mktemp -d); mkfifo "$t/p"; (echo through > "$t/p") & [ "$(cat "$t/p")" = through ] || bad "fifo"; wait; rm -r "$t"
[ "$(readlink /dev/fd)" = /proc/self/fd ] || bad "/dev/fd is not a link to /proc/self/fd"
[ -c /dev/null ] && [ -c /dev/zero ] && [ -c /dev/full ] && [ -c /dev/urandom ] && [ -c /dev/tty ] || bad "a device is missing"
echo ok
