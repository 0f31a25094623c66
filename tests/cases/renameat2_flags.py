#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# renameat2 flags: no-replace, and atomic exchange of two names.
import ctypes, errno, os, signal, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
libc = ctypes.CDLL(None, use_errno=True)
NR = {"x86_64": 316, "aarch64": 276}.get(os.uname().machine)
def ren(a, b, flags):
    r = libc.syscall(NR, -100, a.encode(), -100, b.encode(), flags)
    return 0 if r == 0 else ctypes.get_errno()
NOREPLACE, EXCHANGE = 1, 2
if NR is None: print("skip: machine"); print("ok"); sys.exit(0)
os.chdir(tempfile.mkdtemp())
open("a", "w").write("A"); open("b", "w").write("B"); os.mkdir("dir"); open("dir/in", "w").write("I")
os.symlink("a", "lnk")
r = ren("a", "b", NOREPLACE); check(r == errno.EEXIST, "NOREPLACE onto an existing name: %s" % r)
check(ren("a", "a2", NOREPLACE) == 0 and not os.path.exists("a"), "NOREPLACE onto a free name"); os.rename("a2", "a")
r = ren("a", "b", EXCHANGE); check(r == 0, "EXCHANGE of two files: %s" % (errno.errorcode.get(r, r)))
check(open("a").read() == "B" and open("b").read() == "A", "EXCHANGE did not swap contents")
r = ren("a", "dir", EXCHANGE); check(r == 0, "EXCHANGE of a file and a non-empty directory: %s" % (errno.errorcode.get(r, r)))
check(open("a/in").read() == "I" and open("dir").read() == "B", "EXCHANGE of file and directory")
check(ren("dir", "a", EXCHANGE) == 0, "swap back")
check(ren("lnk", "b", EXCHANGE) == 0 and os.path.islink("b") and open("lnk").read() == "A", "EXCHANGE with a symlink swaps the link itself")
r = ren("a", "missing", EXCHANGE); check(r == errno.ENOENT, "EXCHANGE with a missing name: %s" % r)
r = ren("a", "b", NOREPLACE | EXCHANGE); check(r == errno.EINVAL, "contradicting flags: %s" % r)
r = ren("dir", "dir/in", EXCHANGE); check(r == errno.EINVAL, "EXCHANGE of a directory with its own child: %s" % r)
r = ren("a", "b", 1 << 20); check(r == errno.EINVAL, "unknown flag: %s" % r)
print("ok")
