#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Too many processes or threads give EAGAIN to the caller; nothing else breaks, and it recovers.
import errno, os, resource, signal, subprocess, sys, threading, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(90)
def limited():
    """runs as an ordinary user with RLIMIT_NPROC; returns a complaint or ''"""
    if os.geteuid() == 0:                                  # (root is exempt)
        try: os.setgroups([]); os.setgid(64321); os.setuid(64321)
        except OSError: print("skip: root here cannot become another user", flush=True); return ""
    base = sum(1 for d in os.listdir("/proc") if d.isdigit() and os.path.exists("/proc/" + d) and os.stat("/proc/" + d).st_uid == os.getuid())
    lim = base + 40; resource.setrlimit(resource.RLIMIT_NPROC, (lim, lim))
    if resource.getrlimit(resource.RLIMIT_NPROC)[0] != lim: return "limit does not stick"
    kids = []; err = 0
    for i in range(2000):
        try: p = os.fork()
        except OSError as e: err = e.errno; break
        if p == 0: signal.signal(signal.SIGALRM, signal.SIG_DFL); signal.alarm(60); signal.pause(); os._exit(0)
        kids.append(p)
    if err != errno.EAGAIN: r = "after %d forks: %s" % (len(kids), errno.errorcode.get(err, "no limit"))
    elif not 1 <= len(kids) <= 60: r = "EAGAIN after %d forks with a limit of base+40" % len(kids)
    else: r = ""
    try: threading.Thread(target=time.sleep, args=(0.1,)).start(); r = r or "a thread started beyond the limit"
    except RuntimeError: pass
    try: subprocess.run(["true"]); r = r or "a program started beyond the limit"
    except OSError: pass
    for p in kids: os.kill(p, signal.SIGKILL)
    for p in kids: os.waitpid(p, 0)
    time.sleep(0.2)
    try:
        if subprocess.run(["true"]).returncode: r = r or "program after recovery"
    except OSError as e: r = r or "no recovery: %s" % e
    return r
rd, wr = os.pipe(); p = os.fork()
if p == 0:
    try: m = limited()
    except BaseException as e: m = "%s: %s" % (type(e).__name__, e)
    os.write(wr, (m or "-").encode()); os._exit(0)
os.close(wr); m = os.read(rd, 4096).decode(); os.waitpid(p, 0)
if m != "-": die(m or "the limited process died")
n = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (64, n[1])); fds = []
try:
    while True: fds.append(os.open("/dev/null", os.O_RDONLY))
except OSError as e:
    if e.errno != errno.EMFILE or max(fds) != 63: die("descriptor limit: %s, last %d" % (e, max(fds)))
for f in fds: os.close(f)
try: open("/dev/null").close(); os.dup2(0, 64); die("dup2 beyond the limit")
except OSError as e:
    if e.errno != errno.EBADF: die("dup2 beyond the limit: %s" % e)
resource.setrlimit(resource.RLIMIT_NOFILE, n)
go = threading.Event(); ts = [threading.Thread(target=go.wait) for _ in range(200)]
for t in ts: t.start()
k = len(os.listdir("/proc/self/task"))
if k != 201: die("/proc/self/task lists %d of 201 threads" % k)
go.set()
for t in ts: t.join()
print("ok")
