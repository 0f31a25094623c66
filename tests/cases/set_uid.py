#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# set-uid programs work (or the process says NoNewPrivs), so sudo works.
import os, shutil, signal, subprocess, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
def skip(why): print("skip:", why); print("ok"); sys.exit(0)
status = open("/proc/self/status").read()
nnp = "NoNewPrivs:\t1" in status
if shutil.which("sudo") and not nnp:
    p = subprocess.run(["sudo", "-n", "id", "-u"], stdout=-1, stderr=-1, stdin=subprocess.DEVNULL, timeout=20)
    check((p.returncode == 0 and p.stdout.strip() == b"0") or b"password" in p.stderr or b"not allowed" in p.stderr or b"may not" in p.stderr,
          "sudo: status %d %r" % (p.returncode, p.stderr))
if os.geteuid() != 0: skip("needs root to build a set-uid file")
def as_user(prog, flags=()):
    def drop(): os.setgroups([]); os.setgid(65534); os.setuid(65534)
    p = subprocess.run([prog], stdout=-1, stderr=-1, preexec_fn=drop, cwd="/"); return p.returncode, p.stdout.decode().split()
for base in ("/var/tmp", "/tmp", "/root", "/"):
    if os.path.isdir(base) and os.access(base, os.W_OK):
        m = os.statvfs(base).f_flag
        if not m & (os.ST_NOSUID | os.ST_NOEXEC): break
else: skip("no place without nosuid")
d = tempfile.mkdtemp(dir=base if base != "/root" else "/"); os.chmod(d, 0o755)
try:
    if not shutil.which("gcc"): skip("no gcc")
    open(d + "/w.c", "w").write('#include <stdio.h>\n#include <unistd.h>\nint main(void){printf("%d %d %d %d\\n",(int)getuid(),(int)geteuid(),(int)getgid(),(int)getegid());return 0;}\n')
    subprocess.run(["gcc", "-w", "-o", d + "/w", d + "/w.c"], check=True)
    os.chmod(d + "/w", 0o755); check(as_user(d + "/w")[1] == ["65534"] * 4, "plain program: %r" % (as_user(d + "/w"),))
    os.chmod(d + "/w", 0o4755); check(os.stat(d + "/w").st_mode & 0o4000, "chmod u+s was dropped")
    got = as_user(d + "/w")[1]; check(got == (["65534"] * 4 if nnp else ["65534", "0", "65534", "65534"]), "set-uid program ran as %r" % got)
    os.chmod(d + "/w", 0o2755); got = as_user(d + "/w")[1]; check(got[3] == ("65534" if nnp else "0"), "set-gid program ran as %r" % got)
    os.chmod(d + "/w", 0o4755); os.chown(d + "/w", 0, 0); check(not os.stat(d + "/w").st_mode & 0o4000, "chown keeps the set-uid bit")
    os.chmod(d + "/w", 0o4755)
    r = subprocess.run([sys.executable, "-c", "import os;fd=os.open('/dev/null',0);os.setuid(65534)\ntry: os.setuid(0);print('back')\nexcept PermissionError: print('no')"], stdout=-1)
    check(r.stdout.strip() == b"no", "root came back after setuid")
finally: shutil.rmtree(d)
print("ok")
