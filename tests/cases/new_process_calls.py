#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# New process calls are complete or ENOSYS (never EPERM, never a hang), so that
# run-times (Bun, asyncio, glibc) can fall back.
import asyncio, ctypes, errno, os, select, signal, subprocess, sys, threading, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(280)
libc = ctypes.CDLL(None, use_errno=True)
try:
    pid = os.fork()
    if pid == 0: time.sleep(0.3); os._exit(9)
    fd = os.pidfd_open(pid)
    p = select.poll(); p.register(fd, select.POLLIN)
    if p.poll(0): die("pidfd readable before the exit")
    t = time.monotonic()
    if not p.poll(60000) or time.monotonic() - t > 50: die("pidfd not readable after the exit")
    r = os.waitid(os.P_PIDFD, fd, os.WEXITED)
    if r is None or r.si_status != 9: die("waitid(P_PIDFD) gave %r" % (r,))
    pid = os.fork()
    if pid == 0: time.sleep(60); os._exit(0)
    fd = os.pidfd_open(pid); signal.pidfd_send_signal(fd, signal.SIGTERM)
    if os.waitpid(pid, 0)[1] != signal.SIGTERM: die("pidfd_send_signal")
    try: signal.pidfd_send_signal(fd, 0); die("signal to a reaped pidfd worked")
    except ProcessLookupError: pass
except AttributeError: print("# python without pidfd")
except OSError as e:
    if e.errno != errno.ENOSYS: die("pidfd: %s" % e)
    print("# no pidfd"); os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
r = libc.syscall(435, 0, 1)              # clone3 with a bad size
if not (r == -1 and ctypes.get_errno() in (errno.EINVAL, errno.ENOSYS)): die("clone3(bad size): %d errno %d" % (r, ctypes.get_errno()))
hits = []
ts = [threading.Thread(target=lambda i=i: hits.append(subprocess.check_output(["echo", str(i)]))) for i in range(24)]
for t in ts: t.start()
for t in ts: t.join()
if sorted(int(h) for h in hits) != list(range(24)): die("processes started from threads: %d of 24" % len(hits))
async def many():
    async def one(i):
        p = await asyncio.create_subprocess_exec("sh", "-c", "read x; echo got $x; exit %d" % i, stdin=-1, stdout=-1)
        out, _ = await p.communicate(b"%d\n" % i)
        if out != b"got %d\n" % i or p.returncode != i: die("asyncio child %d: %r %r" % (i, out, p.returncode))
    await asyncio.gather(*(one(i) for i in range(30)))
asyncio.run(many())
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 5"], os.environ); got = os.waitpid(pid, 0)
if got[0] != pid or os.waitstatus_to_exitcode(got[1]) != 5: die("posix_spawn: %r" % (got,))
print("ok")
