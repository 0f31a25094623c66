#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dash: scripts, pipelines, here-documents, traps, subshells, jobs.
fail() { echo "FAIL: $*"; exit 1; }
cd "$(mktemp -d)" || fail "no folder"
cat > script <<'S'
#!/bin/dash
set -eu
sum() { s=0; for i; do s=$((s + i)); done; echo $s; }
[ "$(sum 1 2 3)" = 6 ]
x=$(cat <<HERE
a $(echo b) ${HOME:+home}
HERE
)
[ "$x" = "a b home" ]
i=0; while read -r line; do i=$((i + line)); done <<HERE
1
2
HERE
[ $i = 3 ]
trap 'echo usr1' USR1; kill -USR1 $$
(trap 'echo bye' EXIT; exit 3) || [ $? = 3 ]
sleep 0.1 & p=$!; wait $p
sh -c 'exit 7' & wait $! || [ $? = 7 ]
sh -c 'kill -9 $$' || [ $? = 137 ]
case abc in a*c) ;; *) exit 1 ;; esac
seq 1000 | { read -r a; read -r b; [ "$a$b" = 12 ]; }
exec 3> out; echo three >&3; exec 3>&-; [ "$(cat out)" = three ]
set -- $(echo one two); [ $# = 2 ]
cd /; [ "$PWD" = / ]
S
chmod +x script
[ "$(./script | tr '\n' ' ')" = "usr1 bye " ] || fail "script: $(./script 2>&1 | tail -3)"
[ "$(dash -c 'for i in $(seq 300); do /bin/true & done; wait; echo done')" = "done" ] || fail "many children"
echo ok
