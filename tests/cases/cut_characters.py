#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Non-ASCII text in volume, written in pieces that cut characters, must arrive whole.
import hashlib, os, signal, subprocess, sys, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
ALPH = "aé☕漢🚀ß字ж"
def text(n): return "".join("%05d " % i + "".join(ALPH[(i * 7 + k * 3) % len(ALPH)] for k in range(20)) + "\n" for i in range(n))
def emit(data, steps):
    i = k = 0
    while i < len(data):
        j = i + steps[k % len(steps)]; part = data[i:j]
        while part: part = part[os.write(1, part):]
        i = j; k += 1
data = text(4000).encode()
if sys.argv[1:] == ["child"]: emit(data, [1, 4095, 8192, 3, 65536, 65537, 7]); sys.exit(0)
p = subprocess.run([sys.executable, __file__, "child"], stdout=-1)
if p.stdout != data: print("FAIL: through a pipe %d bytes became %d" % (len(data), len(p.stdout))); sys.exit(1)
emit(data, [8191, 1, 65535, 2, 4096, 5])
for b in "slow: ☕漢🚀\n".encode(): os.write(1, bytes([b])); time.sleep(0.02)
os.write(1, b"lines 4001 digest %s\n" % hashlib.sha256(data).hexdigest().encode())
print("ok")
