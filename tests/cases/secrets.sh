#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Code in the sandbox sees its own environment and nothing of the supervisor's: no keys in process 1,
# in other processes, in command lines, in files of the agent daemon, in open descriptors.
bad() { echo "FAIL: $*" | tr "\n" " "; echo; exit 1; }
rx='(SECRET|TOKEN|API_?KEY|PASSWORD|PASSWD|CREDENTIAL|PRIVATE_KEY|CANARY)[A-Z0-9_]*=.'
for p in /proc/[0-9]*; do
  n=${p#/proc/}; [ "$n" = $$ ] && continue
  for f in "$p/environ" "$p"/task/*/environ; do
    v=$( { tr '\0' '\n' < "$f"; } 2>/dev/null | grep -aEi "^[A-Z0-9_]*$rx" | cut -d= -f1 | head -3)
    [ -z "$v" ] || bad "environment of process $n ($(tr '\0' ' ' < "$p/cmdline" 2>/dev/null | cut -c1-60)) holds: $v"
  done
  v=$( { tr '\0' ' ' < "$p/cmdline"; } 2>/dev/null | grep -aEio -- '(--?(token|secret|api-?key|password)[= ][^ ]+|sk-[A-Za-z0-9]{20,}|s3cr3t-canary)' | grep -vF 'api-?key' | head -1)
  [ -z "$v" ] || bad "command line of process $n shows a secret"
done
env | grep -q 's3cr3t-canary' && bad "own environment holds the canary"
for f in /run/secrets /var/run/secrets /.dockerenv.env /etc/sandbox.env /proc/1/root/run/secrets; do { [ -d "$f" ] && [ -n "$(ls -A "$f" 2>/dev/null)" ]; } && bad "$f is not empty"; done
for fd in /proc/$$/fd/*; do
  t=$(readlink "$fd" 2>/dev/null); n=${fd##*/}
  case "$n:$t" in [012]:*|255:*) ;; *:/dev/null|*:"$0"|*:/proc/*|*"$(basename "$0")") ;; *:socket:*|*:anon_inode:*) bad "descriptor $n ($t) was left open by the supervisor";; esac
done
python3 - <<'P' || exit 1
import os, sys
left = []
for n in os.listdir("/proc/self/fd"):
    try: t = os.readlink("/proc/self/fd/" + n)
    except OSError: continue
    if int(n) > 2 and (t.startswith("socket:") or t.startswith("anon_inode") or t.startswith("pipe:")): left.append("%s -> %s" % (n, t))
if left: print("FAIL: descriptors from the supervisor:", ", ".join(left)); sys.exit(1)
for p in ("/proc/kcore", "/proc/1/mem", "/dev/mem", "/dev/kmem", "/dev/port"):
    try: os.close(os.open(p, os.O_RDONLY)); print("# can open", p)
    except OSError: pass
P
mine=$(CASE_MINE=abc python3 -c 'import os; print(os.environ["CASE_MINE"], open("/proc/self/environ","rb").read().count(b"CASE_MINE=abc"))'); [ "$mine" = "abc 1" ] || bad "own variables: $mine"
[ -z "${CASE_MINE:-}" ] || bad "a variable of one command leaked into the next"
echo ok
