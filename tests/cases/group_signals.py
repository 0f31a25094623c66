#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A signal to a process group reaches every member (timeout, shells and supervisors rely on it).
import errno, os, signal, subprocess, sys, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(280)
def group(n, fn):
    pids = []
    for i in range(n):
        p = os.fork()
        if p == 0:
            try: os.setpgid(0, pids[0] if pids else 0); fn(i)
            finally: os._exit(0)
        try: os.setpgid(p, pids[0] if pids else p)
        except PermissionError: pass
        pids.append(p)
    return pids
def reap(pids, limit=60):
    end = time.monotonic() + limit; left = {}
    while len(left) < len(pids):
        for p in pids:
            if p not in left:
                w, st = os.waitpid(p, os.WNOHANG)
                if w: left[p] = st
        if time.monotonic() > end: return left
        time.sleep(0.01)
    return left
g = group(5, lambda i: time.sleep(60)); time.sleep(0.2); os.killpg(g[0], 0); os.killpg(g[0], signal.SIGTERM); got = reap(g)
if len(got) != 5 or any(not os.WIFSIGNALED(s) or os.WTERMSIG(s) != signal.SIGTERM for s in got.values()): die("killpg(SIGTERM) ended %d of 5: %r" % (len(got), got))
try: os.killpg(g[0], 0); die("a group without members can be signalled")
except ProcessLookupError: pass
g = group(3, lambda i: (signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(60)))
def ignores(p): return next(int(l.split()[1], 16) for l in open("/proc/%d/status" % p) if l.startswith("SigIgn")) >> 14 & 1
while not all(map(ignores, g)): time.sleep(0.01)
os.killpg(g[0], signal.SIGTERM); time.sleep(0.2)
if reap(g, 0.1): die("a group that ignores SIGTERM ended")
os.kill(-g[0], signal.SIGSTOP)
for p in g:
    w, st = os.waitpid(p, os.WUNTRACED)
    if not os.WIFSTOPPED(st): die("member not stopped: %#x" % st)
    if open("/proc/%d/stat" % p).read().rsplit(")", 1)[1].split()[0] != "T": die("/proc state of a stopped process")
os.killpg(g[0], signal.SIGCONT)
for p in g:
    w, st = os.waitpid(p, os.WCONTINUED)
    if not os.WIFCONTINUED(st): die("member not continued")
os.killpg(g[0], signal.SIGKILL)
if len(reap(g)) != 3: die("killpg(SIGKILL) left members")
p = subprocess.Popen(["sh", "-c", "trap '' INT; (sleep 60 & sleep 60 & wait) & sleep 60 & wait"], start_new_session=True); time.sleep(0.4)
os.killpg(p.pid, signal.SIGKILL); p.wait(60)
def alive(): return [d for d in os.listdir("/proc") if d.isdigit() and (lambda s: s and s.rsplit(")", 1)[1].split()[2] == str(p.pid) and s.rsplit(")", 1)[1].split()[0] not in "ZX")(
    read("/proc/%s/stat" % d))]
def read(f):
    try: return open(f).read()
    except (FileNotFoundError, ProcessLookupError): return ""
end = time.monotonic() + 60
while alive():
    if time.monotonic() > end: die("left in the killed group: %r" % alive())
    time.sleep(0.01)
t = time.monotonic(); r = subprocess.run(["timeout", "0.5", "sh", "-c", "sleep 30 | sleep 30"]).returncode
if r != 124 or time.monotonic() - t > 25: die("timeout(1): status %d after %.1f s" % (r, time.monotonic() - t))
r = subprocess.run(["timeout", "-s", "INT", "-k", "0.5", "0.3", "sh", "-c", "trap '' INT; while :; do sleep 0.1; done"]).returncode
if r not in (137, -9): die("timeout -k: status %d" % r)
out = subprocess.run(["bash", "-c", "set -m; sleep 60 & p=$!; kill -TERM -- -$p; wait $p; echo $?"], stdout=-1, stderr=subprocess.DEVNULL).stdout.strip()
if out != b"143": die("bash kill of a job's group: %r" % out)
print("ok")
