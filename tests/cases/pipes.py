#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Pipe size, atomic writes, EOF, EPIPE; a program that ends right after writing loses nothing.
import errno, fcntl, os, select, shutil, signal, subprocess, sys, threading
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
r, w = os.pipe(); cap = fcntl.fcntl(w, 1032); check(cap == 65536, "F_GETPIPE_SZ %d" % cap)
os.set_blocking(w, False); n = 0
try:
    while True: n += os.write(w, b"x" * 4096)
except BlockingIOError: pass
check(n == cap, "a full pipe holds %d bytes" % n)
check(not select.select([], [w], [], 0)[1], "a full pipe is writable")
os.read(r, 100)
try: os.write(w, b"y" * 4096); check(False, "a write of PIPE_BUF bytes was split")
except BlockingIOError: pass
while n > 0: n -= len(os.read(r, 65536)) if n > 100 else n
check(fcntl.fcntl(w, 1031, 1 << 20) >= 1 << 20, "F_SETPIPE_SZ")
got = os.write(w, b"z" * (1 << 20)); check(got == 1 << 20, "1 MiB pipe took %d" % got)
os.close(w); t = 0
while True:
    b = os.read(r, 1 << 20)
    if not b: break
    t += len(b)
check(t == 1 << 20, "after close %d bytes were left" % t)
r, w = os.pipe(); out = []                                 # atomic lines from many writers
def writer(k):
    for i in range(300): os.write(w, (b"%d" % k) * 500 + b"\n")
pids = []
for k in range(1, 7):
    p = os.fork()
    if p == 0: os.close(r); writer(k); os._exit(0)
    pids.append(p)
os.close(w)
lines = b"".join(iter(lambda: os.read(r, 65536), b"")).split(b"\n")
check(len(lines) == 1801 and all(len(set(l)) == 1 and len(l) == 500 for l in lines[:-1]), "lines of several writers were mixed")
for p in pids: os.waitpid(p, 0)
p = subprocess.run(["bash", "-c", "set -o pipefail; yes | head -n 1; echo ${PIPESTATUS[0]}"], stdout=-1, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
check(p.stdout == b"y\n141\n", "SIGPIPE in a pipeline: %r" % p.stdout)
r, w = os.pipe(); os.close(r); signal.signal(signal.SIGPIPE, signal.SIG_IGN)
try: os.write(w, b"x"); check(False, "write without a reader")
except BrokenPipeError: pass
N = 2000000
progs = [[sys.executable, "-c", "import sys; sys.stdout.write('p'*%d)" % N], ["bash", "-c", "head -c %d /dev/zero" % N], [sys.executable, "-c", "import os; b=b'q'*%d\nwhile b: b=b[os.write(1,b):]\nos._exit(0)" % N]]
if shutil.which("node"):
    progs += [["node", "-e", "process.stdout.write(Buffer.alloc(%d,65))" % N], ["node", "-e", "process.stdout.write(Buffer.alloc(%d,65),()=>process.exit(0))" % N]]
for cmd in progs:
    p = subprocess.Popen(cmd, stdout=-1); got = 0
    threading.Event().wait(0.3)                            # slow reader
    for b in iter(lambda: os.read(p.stdout.fileno(), 5000), b""): got += len(b)
    check(p.wait() == 0 and got == N, "%s: %d of %d bytes, status %s" % (cmd[0], got, N, p.returncode))
print("ok")
