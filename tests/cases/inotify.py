#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# inotify reports what happened and nothing else (file watchers of webpack, pytest-watch).
import ctypes, os, select, shutil, signal, struct, subprocess, sys, tempfile, threading, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out (deadlock?)")); signal.alarm(60)
libc = ctypes.CDLL(None, use_errno=True)
ACCESS, MODIFY, ATTRIB, CLOSE_W, CLOSE_NW, OPEN, FROM, TO, CREATE, DELETE, DELETE_SELF = (1 << i for i in range(11))
ISDIR, IGNORED = 0x40000000, 0x8000
def watcher(path, mask=0xfff):
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0 or libc.inotify_add_watch(fd, path.encode(), mask) < 0: die("inotify: errno %d" % ctypes.get_errno())
    return fd
def events(fd, wait=0.3):
    out = []
    while select.select([fd], [], [], wait)[0]:
        b = os.read(fd, 65536)
        while b:
            wd, mask, cookie, n = struct.unpack_from("iIII", b); name = b[16:16 + n].rstrip(b"\0").decode(); b = b[16 + n:]
            out.append((mask, name, cookie))
    return out
d = tempfile.mkdtemp(); fd = watcher(d); p = d + "/f"
def expect(what, want, never=0):
    got = events(fd); have = [(m, n) for m, n, _ in got]
    for w in want:
        if w not in have: die("%s: no event %r among %r" % (what, w, have))
    for m, n in have:
        if m & never: die("%s: unwanted event %r" % (what, (m, n)))
    return got
with open(p, "w") as f: f.write("1"); f.flush()
expect("create and write", [(CREATE, "f"), (OPEN, "f"), (MODIFY, "f"), (CLOSE_W, "f")])
open(p).read(); expect("read", [(OPEN, "f"), (ACCESS, "f"), (CLOSE_NW, "f")], MODIFY | CREATE | DELETE | CLOSE_W)
os.stat(p); os.access(p, os.R_OK)
if events(fd): die("stat made events")
os.chmod(p, 0o600); expect("chmod", [(ATTRIB, "f")], MODIFY)
os.rename(p, p + "2"); got = expect("rename", [(FROM, "f"), (TO, "f2")])
c = {k for m, _, k in got if m in (FROM, TO)}
if len(c) != 1 or c == {0}: die("rename halves have cookies %r" % c)
os.mkdir(d + "/s"); expect("mkdir", [(CREATE | ISDIR, "s")])
os.truncate(p + "2", 0); expect("truncate", [(MODIFY, "f2")])
os.unlink(p + "2"); os.rmdir(d + "/s"); expect("delete", [(DELETE, "f2"), (DELETE | ISDIR, "s")])
shutil.copy(shutil.which("true"), d + "/prog"); events(fd)
subprocess.run([d + "/prog"]); expect("exec of a watched program", [(OPEN, "prog"), (CLOSE_NW, "prog")], MODIFY)
one = d + "/one"; open(one, "w").close(); w2 = watcher(one)
subprocess.run(["sh", "-c", "echo hi >> '%s'" % one])
if MODIFY not in [m for m, *_ in events(w2)]: die("a write by another process is not reported")
os.unlink(one); ms = [m for m, *_ in events(w2)]
if DELETE_SELF not in ms or IGNORED not in ms: die("removal of the watched file: %r" % ms)
ep = select.epoll(); ep.register(fd, select.EPOLLIN); stop = time.monotonic() + 1.5
def lister():
    while time.monotonic() < stop: os.listdir(d)
ts = [threading.Thread(target=lister) for _ in range(3)]
for t in ts: t.start()
n = 0
while time.monotonic() < stop:                   # epoll on the watch while others list and change the directory
    open(d + "/x", "w").close(); os.unlink(d + "/x"); n += 1
    if ep.poll(1):
        try: os.read(fd, 65536)
        except BlockingIOError: pass
for t in ts: t.join()
if n < 20: die("only %d rounds in 1.5 s" % n)
print("ok")
