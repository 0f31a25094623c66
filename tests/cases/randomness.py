#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Every process and every clone gets its own randomness.
import ctypes, os, random, signal, struct, subprocess, sys, time, uuid
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
def sources():
    libc = ctypes.CDLL(None); libc.getauxval.restype = ctypes.c_ulong; b = ctypes.create_string_buffer(16)
    return {"urandom": os.urandom(16).hex(), "getrandom": os.getrandom(16).hex(), "/dev/urandom": open("/dev/urandom", "rb", buffering=0).read(16).hex(), "/dev/random": open("/dev/random", "rb", buffering=0).read(16).hex(),
            "uuid4": uuid.uuid4().hex, "proc uuid": open("/proc/sys/kernel/random/uuid").read().strip()}
if sys.argv[1:] == ["print"]:
    print("before"); sys.stdout.flush(); time.sleep(20)
    for k, v in sources().items(): print(k, v)
    sys.exit(0)
a, b = sources(), sources()
for k in a: check(a[k] != b[k], "%s repeats" % k)
check(os.urandom(300000).count(0) in range(900, 1500), "zeros in 300000 random bytes: %d" % os.urandom(300000).count(0))
def forked():
    r, w = os.pipe()
    if os.fork() == 0: os.write(w, "\n".join("%s=%s" % i for i in sources().items()).encode() + b"\nrandom=%d" % random.getrandbits(64)); os._exit(0)
    os.close(w); s = os.read(r, 9999).decode(); os.close(r); os.wait(); return dict(l.split("=", 1) for l in s.splitlines())
f, g = forked(), forked()
for k in f: check(f[k] != g[k], "%s is the same in two forks" % k)
PROG = r'''
import ctypes, os, random
l = ctypes.CDLL(None); l.getauxval.restype = ctypes.c_ulong; l.getauxval.argtypes = [ctypes.c_ulong]
p = l.getauxval(25); m = open("/proc/self/maps").read().splitlines()
stack = [x for x in m if "[stack]" in x][0].split("-")[0]; lib = [x for x in m if "libc" in x][0].split("-")[0]
print(ctypes.string_at(p, 16).hex() if p else "none", stack, lib, hash("abc"), random.getrandbits(64), os.getpid())
'''
runs = [subprocess.check_output([sys.executable, "-c", PROG], env={k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}).split() for _ in range(6)]
check(runs[0][0] != b"none", "no AT_RANDOM")
for i, name in enumerate(("AT_RANDOM", "stack address", "library address", "hash seed", "random module")):
    v = {r[i] for r in runs}; check(len(v) >= (6 if i in (0, 3, 4) else 4), "%s has %d values in 6 program starts" % (name, len(v)))
check(runs[0][0] != b"0" * 32, "AT_RANDOM is zero")
try:
    with open("/dev/urandom", "wb", buffering=0) as w: w.write(b"seed")
except OSError as e: check(False, "writing to /dev/urandom: %s" % e)
t = time.monotonic(); os.getrandom(1 << 20); check(time.monotonic() - t < 60, "1 MiB of randomness took %.1f s" % (time.monotonic() - t))
check(int(open("/proc/sys/kernel/random/entropy_avail").read()) > 0, "entropy_avail")
b1 = open("/proc/sys/kernel/random/boot_id").read(); check(b1 == open("/proc/sys/kernel/random/boot_id").read() and len(b1) == 37, "boot_id")
print("ok")
