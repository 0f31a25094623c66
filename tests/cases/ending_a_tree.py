#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A whole process tree can be found and ended from inside, also members with an own session or group.
# (Every member ends by itself after about a minute, in case nothing ends it.)
import ctypes, os, signal, subprocess, sys, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
BEAT = "/tmp/case.beat"
def beat():
    for _ in range(600):
        with open(BEAT, "a") as f: f.write("%d\n" % os.getpid())
        time.sleep(0.1)
    os._exit(0)
def tree():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for how in ("plain", "group", "session", "daemon"):
        if os.fork() == 0:
            if how == "group": os.setpgid(0, 0)
            if how in ("session", "daemon"): os.setsid()
            if how == "daemon" and os.fork(): os._exit(0)
            beat()
    subprocess.Popen(["sh", "-c", "trap '' TERM HUP; (nohup sh -c 'i=0; while [ $((i+=1)) -lt 600 ]; do echo sh >> %s; sleep 0.1; done' >/dev/null 2>&1 &) ; sleep 60" % BEAT])
    beat()
if sys.argv[1:] == ["tree"]: tree()
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(280)
if os.path.exists(BEAT): os.unlink(BEAT)
if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0): die("PR_SET_CHILD_SUBREAPER")
root = os.fork(); pids = []
if root == 0: tree()
def stat(pid):
    try: f = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split(); return f[0], int(f[1]), int(f[2]), int(f[3])
    except (FileNotFoundError, ProcessLookupError): return None
def descendants():
    par = {}
    for d in os.listdir("/proc"):
        if d.isdigit():
            s = stat(int(d))
            if s: par[int(d)] = s[1]
    out, todo = [], [os.getpid()]
    while todo:
        k = [p for p, pp in par.items() if pp == todo[0]]; out += k; todo = todo[1:] + k
    return out
end = time.monotonic() + 60
def is_whole(): return len(pids) >= 8 and len({stat(p)[3] for p in pids if stat(p)}) >= 3
while not is_whole() and time.monotonic() < end:
    time.sleep(0.05); pids = descendants()
if len(pids) < 8: die("only %d members of the tree are visible" % len(pids))
if len({stat(p)[3] for p in pids if stat(p)}) < 3: die("sessions of the members")
kids = open("/proc/%d/task/%d/children" % (root, root)).read().split() if os.path.exists("/proc/%d/task/%d/children" % (root, root)) else None
if kids is not None and len(kids) < 4: die("/proc/PID/task/TID/children lists %r" % kids)
os.killpg(os.getpgid(root), 0)
for p in pids:
    try: os.kill(p, signal.SIGTERM)
    except ProcessLookupError: pass
time.sleep(0.5)
if not stat(root) or stat(root)[0] == "Z": die("a process that ignores SIGTERM ended")
for round in range(1000):                                     # orphans come to us: kill until none is left
    pids = [p for p in descendants() if stat(p) and stat(p)[0] != "Z"]
    for p in pids:
        try: os.kill(p, signal.SIGKILL)
        except ProcessLookupError: pass
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: break
    time.sleep(0.05)
else: die("tree not gone after 1000 rounds: %r" % pids)
a = os.path.getsize(BEAT); time.sleep(0.6)
if os.path.getsize(BEAT) != a: die("a member still writes")
os.unlink(BEAT)
print("ok")
