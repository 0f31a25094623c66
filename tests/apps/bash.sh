#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bash: here-documents, expansions, arrays, process substitution, coprocesses, traps, job control.
fail() { echo "FAIL: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
cd "$(mktemp -d)" || fail "no folder"
v=value
is here "$(cat <<A
$v $((1 + 1)) $(echo sub)
A
)" "value 2 sub"
is "quoted here" "$(cat <<'A'
$v `x`
A
)" '$v `x`'
is "two heres" "$(paste - /dev/fd/3 <<A 3<<B
1
A
2
B
)" "1	2"
big=$(head -c 300000 /dev/zero | tr '\0' x)
is "large here-string" "$(wc -c <<< "$big")" 300001
declare -A map=([a]=1 [b]=2); is arrays "${map[b]} ${#map[@]}" "2 2"
is substitution "$(diff <(seq 3) <(seq 4) | tail -1)" "> 4"
coproc cat; echo echoed >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; is coproc "$line" echoed
eval "exec ${COPROC[1]}>&-"; wait "$COPROC_PID"
mapfile -t lines < <(seq 5000); is mapfile "${#lines[@]} ${lines[4999]}" "5000 5000"
is pipestatus "$(false | true | (exit 3); echo "${PIPESTATUS[*]}")" "1 0 3"
touch a1 a2 b1
is globs "$(bash -O extglob -c 'echo a* !(a*)')" "a1 a2 b1"
is regex "$([[ abc123 =~ ([0-9]+) ]] && echo "${BASH_REMATCH[1]}")" 123
is "printf -v" "$(printf -v x '%q' 'a b'; echo "$x")" 'a\ b'
is "read -t" "$(read -rt 0.1 x < <(sleep 2); echo $?)" 142
is trap "$(bash -c 'trap "echo int" INT; kill -INT $$; echo after' | tr '\n' ' ')" "int after "
is "exit trap" "$(bash -c 'trap "echo out" EXIT; exit 4'; echo $?)" "out
4"
is "wait -n" "$(sleep 2 & (sleep 0.1; exit 5) & wait -n; echo $?)" 5
is "many jobs" "$(for i in $(seq 200); do /bin/true & done; wait; ls /proc | grep -c '^[0-9]' | awk '{print $1 < 300}')" 1
is "noclobber" "$(set -C; : > new; (: > new) 2>/dev/null; echo $?)" 1
is "tcp" "$( (exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; echo $?)" 1

# Job control without a terminal: groups of their own, stop and go on.
set -m
sleep 30 & job=$!
is "own group" "$(ps -o pgid= -p $job | tr -d ' ')" $job
kill -STOP %1; until jobs -s | grep -q sleep; do sleep 0.1; done; is stopped "$(jobs -r | grep -c sleep)" 0
bg %1 > /dev/null; until jobs -r | grep -q sleep; do sleep 0.1; done; is running "$(jobs -s | grep -c sleep)" 0
kill %1; wait $job 2>/dev/null; is ended $? 143
(sleep 30 | sleep 30) & kill -TERM -- -$!; wait $! 2>/dev/null; is "group ended" $? 143
echo ok
