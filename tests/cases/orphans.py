#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Orphans are adopted and reaped by process 1 (or a subreaper); no zombies pile up.
import os, signal, subprocess, sys, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(280)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
if os.getpid() == 1:                                       # started as process 1: do its duty here and test in a child
    print("# running as process 1", flush=True); kid = os.fork()
    while kid:
        p, st = os.wait()
        if p == kid: os._exit(os.waitstatus_to_exitcode(st) & 255)
def state(pid):
    try: f = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split(); return f[0], int(f[1])
    except (FileNotFoundError, ProcessLookupError): return None
def zombies(): return [p for p in (int(d) for d in os.listdir("/proc") if d.isdigit()) if (state(p) or "-")[0] == "Z"]
before = set(zombies()); r, w = os.pipe(); me = os.getpid()
for i in range(60):
    mid = os.fork()
    if mid == 0:
        gid = os.fork()
        if gid == 0: time.sleep(0.05); os._exit(i % 5)      # the orphan
        os.write(w, b"%d\n" % gid); os._exit(0)
    os.waitpid(mid, 0)
os.close(w); orphans = [int(x) for x in b"".join(iter(lambda: os.read(r, 4096), b"")).split()]
check(len(set(orphans)) == 60, "%d orphans" % len(set(orphans)))
for cmd in ("(sleep 0.1 &) ; exit 0", "nohup sleep 0.1 >/dev/null 2>&1 & disown; exit 0", "sh -c 'sleep 0.1 &'", "python3 -c 'import os; os.fork() or os._exit(0)'"):
    subprocess.run(["bash", "-c", cmd], stdout=subprocess.DEVNULL)
end = time.monotonic() + 60
while time.monotonic() < end:
    left = [p for p in orphans if state(p)]
    new = set(zombies()) - before
    if not left and not new: break
    time.sleep(0.1)
else: check(False, "after 60 s: %d of 60 orphans still listed (%r), %d new zombies (parents %r)" % (len(left), left[:3] and [state(p) for p in left[:3]], len(new), {state(p)[1] for p in new if state(p)}))
pid = os.fork()                                            # an orphan's new parent is not its grandparent
if pid == 0:
    if os.fork() == 0:
        time.sleep(0.3)
        with open("/tmp/case.%d-" % me, "w") as f: f.write(str(os.getppid()))
        os.rename("/tmp/case.%d-" % me, "/tmp/case.%d" % me)
        os._exit(0)
    os._exit(0)
os.waitpid(pid, 0)
while not os.path.exists("/tmp/case.%d" % me): time.sleep(0.05)
pp = int(open("/tmp/case.%d" % me).read()); os.unlink("/tmp/case.%d" % me)
check(pp not in (me, pid) and pp >= 1, "parent of an orphan is %d" % pp)
pid = os.fork()                                            # our own zombie stays until waited for, then goes
if pid == 0: os._exit(4)
while state(pid)[0] != "Z": time.sleep(0.01)
check( open("/proc/%d/cmdline" % pid).read() == "", "state of a zombie: %r" % (state(pid),))
os.kill(pid, 9); check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4 and state(pid) is None, "zombie after wait")
print("ok")
