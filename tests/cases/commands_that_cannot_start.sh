#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A command that cannot be started fails at once, with the usual status and message.
bad() { echo "FAIL: $*" | tr "\n" " "; echo; exit 1; }
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d" || exit 1
st() { timeout 10 "$@" >o 2>e </dev/null; echo $?; }
[ "$(st bash -c 'no-such-command-zz --x')" = 127 ] && grep -q 'not found' e || bad "unknown command: $(cat e)"
[ "$(st sh -c 'no-such-command-zz')" = 127 ] || bad "unknown command in sh"
echo 'echo hi' > plain; [ "$(st bash -c ./plain)" = 126 ] && grep -qi 'permission denied' e || bad "no execute bit: $(cat e)"
chmod +x plain; [ "$(st bash -c ./plain)" = 0 ] && [ "$(cat o)" = hi ] || bad "script without #!: $(cat e)"
printf '#!/no/interp -x\n' > nointerp; chmod +x nointerp; r=$(st bash -c ./nointerp); [ "$r" = 126 ] || [ "$r" = 127 ] || bad "missing interpreter: $r"
[ "$(st bash -c "$d")" = 126 ] || bad "a directory as a command"
printf '\177ELF-broken' > elf; chmod +x elf; [ "$(st bash -c ./elf)" = 126 ] || bad "broken ELF: $(cat o e)"
: > empty; chmod +x empty; [ "$(st bash -c ./empty)" = 0 ] || bad "empty executable"
printf '#!/bin/sh\necho "$0|$1|$#"\n' > args; chmod +x args; [ "$(./args 'a b' c)" = "./args|a b|2" ] || bad "script arguments"
printf '#!%s/args opt one\n' "$d" > nested; chmod +x nested; [ "$(./nested x)" = "$d/args|opt one|3" ] || bad "script as interpreter: $(./nested x 2>&1)"
printf '#!/usr/bin/env -S bash -e\nfalse\necho no\n' > envs; chmod +x envs; [ "$(st ./envs)" = 1 ] || bad "env -S: $(cat o e)"
printf '#!/bin/sh\r\necho x\r\n' > crlf; chmod +x crlf; r=$(st bash -c ./crlf); [ "$r" = 126 ] || [ "$r" = 127 ] || bad "CRLF script: $r"
ln -s loop loop; [ "$(st bash -c ./loop)" = 126 ] && grep -qi 'levels of symbolic' e || bad "link loop: $(cat e)"
python3 - <<'P' || exit 1
import errno, os, subprocess, sys
def want(cmd, no):
    try: subprocess.run(cmd); got = 0
    except OSError as e: got = e.errno
    if got != no: print("FAIL: python start of %r gave errno %s, wanted %s" % (cmd, got, errno.errorcode[no])); sys.exit(1)
want(["/no/such"], errno.ENOENT); want(["./elf"], errno.ENOEXEC); want(["/etc"], errno.EACCES); want(["./nointerp"], errno.ENOENT); want(["./plain/x"], errno.ENOTDIR); want(["./loop"], errno.ELOOP)
fd = os.open("busy", os.O_WRONLY | os.O_CREAT, 0o755); os.write(fd, open("/bin/true", "rb").read()); want(["./busy"], errno.ETXTBSY); os.close(fd)
if subprocess.run(["./busy"]).returncode: print("FAIL: fresh copy of true"); sys.exit(1)
P
s=$(date +%s); for i in $(seq 30); do bash -c zzz-nope 2>/dev/null; done; [ $(( $(date +%s) - s )) -lt 20 ] || bad "30 failed starts took $(( $(date +%s) - s )) s"
echo ok
