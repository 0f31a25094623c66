#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Byte-range locks (F_SETLK, F_GETLK) between processes; SQLite depends on them.
import fcntl, os, signal, struct, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught

def die(msg):
    print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(60)
FMT = "hhlli4x"
def lock(fd, cmd, kind, start, length):
    return struct.unpack(FMT, fcntl.fcntl(fd, cmd, struct.pack(FMT, kind, 0, start, length, 0)))

def in_child(fn):
    """run fn in a fork; it returns a text, '' for good"""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try: msg = fn() or ""
        except BaseException as e: msg = "%s: %s" % (type(e).__name__, e)
        os.write(w, msg.encode()); os._exit(0)
    os.close(w); data = b""
    while True:
        b = os.read(r, 4096)
        if not b: break
        data += b
    os.close(r); os.waitpid(pid, 0)
    if data: die(data.decode())

d = tempfile.mkdtemp(); path = d + "/f"
fd = os.open(path, os.O_RDWR | os.O_CREAT); os.ftruncate(fd, 1000)
lock(fd, fcntl.F_SETLK, fcntl.F_WRLCK, 100, 100)
me = os.getpid()
def probe():
    c = os.open(path, os.O_RDWR)
    k = lock(c, fcntl.F_GETLK, fcntl.F_RDLCK, 150, 10)
    if (k[0], k[2], k[3], k[4]) != (fcntl.F_WRLCK, 100, 100, me): return "F_GETLK on a held range gave %r" % (k,)
    k = lock(c, fcntl.F_GETLK, fcntl.F_WRLCK, 300, 0)
    if k[0] != fcntl.F_UNLCK: return "F_GETLK on a free range gave %r" % (k,)
    try: lock(c, fcntl.F_SETLK, fcntl.F_WRLCK, 199, 1); return "a conflicting lock was granted"
    except OSError: pass
    lock(c, fcntl.F_SETLK, fcntl.F_WRLCK, 200, 0)
in_child(probe)
if lock(fd, fcntl.F_GETLK, fcntl.F_WRLCK, 200, 0)[0] != fcntl.F_UNLCK: die("lock of an ended process stays")
os.close(os.open(path, os.O_RDONLY))            # POSIX: closing any descriptor drops the process's locks
in_child(lambda: None if lock(os.open(path, os.O_RDWR), fcntl.F_GETLK, fcntl.F_WRLCK, 0, 0)[0] == fcntl.F_UNLCK else "locks survive close()")
a = open(path); b = open(path)
fcntl.flock(a, fcntl.LOCK_EX)
try: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB); die("flock granted twice")
except BlockingIOError: pass
fcntl.flock(a, fcntl.LOCK_UN)

try: import sqlite3
except ImportError: sqlite3 = None
if sqlite3:
    for mode in ("delete", "wal"):
        db = "%s/%s.db" % (d, mode)
        con = sqlite3.connect(db, isolation_level=None)
        got = con.execute("pragma journal_mode=" + mode).fetchone()[0]
        if got != mode: die("journal_mode %s became %s" % (mode, got))
        con.execute("create table t(x)"); con.execute("begin immediate"); con.execute("insert into t values(1)")
        def second():
            c = sqlite3.connect(db, isolation_level=None, timeout=0.2)
            try: c.execute("begin immediate"); return mode + ": two writers at once"
            except sqlite3.OperationalError as e:
                if "locked" not in str(e): return "%s: %s" % (mode, e)
        in_child(second)
        con.execute("commit")
        def third():
            c = sqlite3.connect(db, isolation_level=None, timeout=5)
            c.execute("insert into t values(2)")
            if c.execute("select count(*) from t").fetchone()[0] != 2: return mode + ": row missing"
        in_child(third)
        if con.execute("pragma integrity_check").fetchone()[0] != "ok": die(mode + ": integrity check")
__import__("shutil").rmtree(d, True); print("ok")
