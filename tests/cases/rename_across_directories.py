#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# "write to a temp file, then rename" across directories: EXDEV only if the two
# directories really are different mounts, and then st_dev or /proc/self/mountinfo says so.
import errno, os, shutil, signal, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
def mount_of(p):
    best = ""
    for line in open("/proc/self/mountinfo"):
        at = line.split()[4].encode().decode("unicode_escape")
        if (p == at or p.startswith(at.rstrip("/") + "/")) and len(at) >= len(best): best = at
    return best
check(os.path.exists("/proc/self/mountinfo"), "no /proc/self/mountinfo")
roots = []
for r in ("/tmp", "/var/tmp", os.path.expanduser("~"), os.getcwd(), "/dev/shm"):
    r = os.path.realpath(r)
    if os.path.isdir(r) and os.access(r, os.W_OK | os.X_OK) and r not in roots: roots.append(r)
dirs = [tempfile.mkdtemp(dir=r) for r in roots]
try:
    for x in dirs:
        for y in dirs:
            if x == y: continue
            a, b, c = x + "/a", y + "/b", y + "/c"
            open(a, "w").write("data")
            apart = os.stat(x).st_dev != os.stat(y).st_dev or mount_of(x) != mount_of(y)
            try: os.link(a, c); linked = True
            except OSError as e: linked = e.errno
            try: os.rename(a, b); moved = True
            except OSError as e: moved = e.errno
            if apart: check(moved in (True, errno.EXDEV) and linked in (True, errno.EXDEV), "%s -> %s: rename %s, link %s" % (x, y, moved, linked))
            else: check(moved is True and linked is True, "%s -> %s look like one mount, yet rename gave %s and link %s" % (x, y, moved, linked))
            if moved is not True: shutil.move(a, b)
            check(open(b).read() == "data" and not os.path.exists(a), "shutil.move lost data")
            for f in (b, c):
                if os.path.exists(f): os.unlink(f)
finally:
    for x in dirs: shutil.rmtree(x, ignore_errors=True)
print("ok")
