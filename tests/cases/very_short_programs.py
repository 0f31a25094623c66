#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Very short programs: the last (only) line of each arrives, with the right status.
import os, random, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
import os, signal, sys
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
def one(i):
    kind = i % 5
    if kind == 0: p = subprocess.run(["echo", "n%d" % i], stdout=-1); want = (0, b"n%d\n" % i)
    elif kind == 1: p = subprocess.run(["sh", "-c", "printf n%d; exit 3" % i], stdout=-1); want = (3, b"n%d" % i)
    elif kind == 2: p = subprocess.run(["sh", "-c", "echo n%d; kill -9 $$" % i], stdout=-1); want = (-9, b"n%d\n" % i)
    elif kind == 3: p = subprocess.run(["sh", "-c", "(echo n%d)" % i], stdout=-1, stderr=subprocess.STDOUT); want = (0, b"n%d\n" % i)
    else:
        with tempfile.TemporaryFile() as f:
            p = subprocess.run(["sh", "-c", "echo n%d; echo e%d >&2; exit 1" % (i, i)], stdout=f, stderr=f); f.seek(0); got = (p.returncode, f.read())
            check(got == (1, b"n%d\ne%d\n" % (i, i)), "program %d into a file: %r" % (i, got)); return
    check((p.returncode, p.stdout) == want, "program %d: %r, wanted %r" % (i, (p.returncode, p.stdout), want))
with ThreadPoolExecutor(12) as ex: list(ex.map(one, range(500)))
r, w = os.pipe()                                           # fork and _exit at once, data only in the pipe
for i in range(300):
    if os.fork() == 0: os.write(w, b"%03d\n" % i); os._exit(0)
os.close(w); got = b"".join(iter(lambda: os.read(r, 4096), b"")).split()
check(sorted(int(x) for x in got) == list(range(300)), "%d of 300 short writers arrived" % len(got))
for _ in range(300): os.wait()
if sys.argv[1:] != ["quiet"]:
    for i in range(50): os.write(1, b"tail %02d\n" % i)
os.write(1, b"ok\n"); os._exit(0)
