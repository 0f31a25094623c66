#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# An allocation that is too big fails in the program (MemoryError); program and sandbox live on.
import ctypes, errno, mmap, os, resource, shutil, signal, subprocess, sys
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
try: mode = open("/proc/sys/vm/overcommit_memory").read().strip()
except FileNotFoundError: mode = "0"
libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p
for size in [1 << 46] * (mode != "1") + [1 << 48, 1 << 50, 1 << 62]:   # far beyond any machine: refused at once
    check(not libc.malloc(ctypes.c_size_t(size)), "malloc of 2**%d bytes was granted" % (size.bit_length() - 1))      # (not touched)
    try: mmap.mmap(-1, size); check(False, "mmap of 2**%d bytes was granted" % (size.bit_length() - 1))
    except (OSError, OverflowError, ValueError) as e: check(not isinstance(e, OSError) or e.errno == errno.ENOMEM, str(e))
try: b"x" * (1 << 48); check(False, "a string of 2**48 bytes was granted")
except MemoryError: pass
def child(fn):
    p = os.fork()
    if p == 0:
        try: os._exit(fn() or 0)
        except MemoryError: os._exit(42)
        except BaseException as e: os.write(2, repr(e).encode()); os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(p, 0)[1])
def grow():
    resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20)); l = []
    for i in range(1000): l.append(bytearray(4 << 20))
check(child(grow) == 42, "growing beyond RLIMIT_AS did not give MemoryError")
def recover():
    resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
    for _ in range(5):
        try: x = bytearray(1 << 30); return 2
        except MemoryError: pass
    y = bytearray(50 << 20); y[-1] = 1; return 0
check(child(recover) == 0, "no recovery after MemoryError")
def reserve():                                             # reserving address space is no use of memory (JVM, Go, node, jemalloc)
    m = mmap.mmap(-1, 1 << 36, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=0); n = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    n[5 << 30] = 7; rss = int(open("/proc/self/statm").read().split()[1]) * 4096; return 0 if n[5 << 30] == 7 and n[1 << 30] == 0 and rss < 500 << 20 else 3
check(child(reserve) == 0, "reserving 64 GiB of address space")
def deep():
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20)); os.execvp("bash", ["bash", "-c", "f() { f; }; f"])
r = subprocess.run(["bash", "-c", "ulimit -s 512; ulimit -c 0; f() { f; }; f"], stderr=subprocess.DEVNULL).returncode
check(r in (-11, 139, 2, 1), "endless recursion ended with %d" % r)
p = subprocess.run([sys.executable, "-c", "def f(): f()\nf()"], stderr=-1); check(p.returncode == 1 and b"RecursionError" in p.stderr, "Python recursion: %d" % p.returncode)
if shutil.which("node"):
    p = subprocess.run(["node", "--max-old-space-size=60", "-e", "const a=[];for(;;)a.push(new Array(1e5).fill(1.5))"], stderr=-1, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    check(p.returncode in (-6, 134, -5) and b"heap" in p.stderr, "node out of heap: %d" % p.returncode)
a = bytearray(200 << 20); a[::4096] = b"\1" * (200 << 20 >> 12)
kb = int([l for l in open("/proc/self/status") if l.startswith("VmRSS")][0].split()[1]); check(kb > 190 << 10, "VmRSS %d kB with 200 MB touched" % kb)
del a; kb = int([l for l in open("/proc/self/status") if l.startswith("VmRSS")][0].split()[1]); check(kb < 120 << 10, "VmRSS %d kB after freeing 200 MB" % kb)
print("ok")
