#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rm -r and find must manage deep and wide trees (also beyond PATH_MAX).
import os, signal, subprocess, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
d = tempfile.mkdtemp()
def chain(name, depth, part):
    os.mkdir(os.path.join(d, name)); fd = os.open(os.path.join(d, name), os.O_RDONLY)
    for i in range(depth):
        os.mkdir(part, dir_fd=fd); n = os.open(part, os.O_RDONLY, dir_fd=fd); os.close(fd); fd = n
        f = os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd); os.write(f, b"x"); os.close(f)
    os.close(fd)
def run(*cmd):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    check(p.returncode == 0, "%s: status %d: %s" % (" ".join(cmd), p.returncode, p.stdout[-200:].decode(errors="replace")))
    return p.stdout
for depth in (1, 7, 8, 9, 33, 120): chain("n%d" % depth, depth, "k")
chain("long", 300, "p" * 40)                       # a path of more than 12,000 bytes
check(os.path.isdir(d + "/n120" + "/k" * 120), "deep path not found")
got = len(run("find", d + "/n120", "-type", "f").split()); check(got == 120, "find saw %d of 120 files" % got)
wide = d + "/wide"; os.mkdir(wide)
for i in range(5000): os.close(os.open("%s/f%05d" % (wide, i), os.O_CREAT | os.O_WRONLY))
names = os.listdir(wide); check(len(names) == len(set(names)) == 5000, "listing: %d names, %d distinct" % (len(names), len(set(names))))
it = os.scandir(wide); first = [next(it).name for _ in range(100)]     # unlink while a listing is open
for n in first: os.unlink(wide + "/" + n)
rest = [e.name for e in it]; check(not set(first) & set(rest) and len(rest) >= 4900, "listing lost or repeated names during unlink: %d" % len(rest))
for n in sorted(os.listdir(d)): run("rm", "-r", os.path.join(d, n))
check(os.listdir(d) == [], "left over: %r" % os.listdir(d)); os.rmdir(d)
print("ok")
