#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# End of a terminal session: exit, Ctrl-D, and the caller going away.
import errno, os, pty, select, signal, subprocess, sys, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(280)
def sh(*argv):
    pid, fd = pty.fork()
    if pid == 0: os.environ.update(PS1="", TERM="dumb"); os.execvp(argv[0], argv)
    return pid, fd
def drain(fd, sec=60):
    """all output up to the end of the session"""
    out = b""; end = time.monotonic() + sec
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try: b = os.read(fd, 65536)
            except OSError as e:
                if e.errno != errno.EIO: die("read from the master: %s" % e)
                return out
            if not b: return out
            out += b
    die("session did not end; output so far %r" % out[-200:])
def until(fd, text, typed=b""):
    """until that was said, typing again what makes it say so"""
    out = b""; end = time.monotonic() + 60
    while text not in out:
        if time.monotonic() > end: die("no %r: %r" % (text, out[-200:]))
        os.write(fd, typed)
        while text not in out and select.select([fd], [], [], 1)[0]: out += os.read(fd, 65536)
def status(pid):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        w, st = os.waitpid(pid, os.WNOHANG)
        if w: return os.waitstatus_to_exitcode(st)
        time.sleep(0.01)
    die("not ended")
pid, fd = sh("sh"); os.write(fd, b"echo x$((1+1))y; exit 7\n"); out = drain(fd)
if b"x2y" not in out or status(pid) != 7: die("exit from sh: %r" % out)
pid, fd = sh("cat"); os.write(fd, b"line\n\x04"); out = drain(fd)
if out.count(b"line") != 2 or status(pid) != 0: die("Ctrl-D to cat: %r" % out)
pid, fd = sh("cat"); os.write(fd, b"no newline\x04\x04"); out = drain(fd)
if out.count(b"no newline") != 2 or status(pid) != 0: die("Ctrl-D after a partial line: %r" % out)
pid, fd = sh("sh", "-c", "seq 1 20000; exit 3"); out = drain(fd)     # nothing of the last output is lost
if not out.endswith(b"20000\r\n") or out.count(b"\r\n") != 20000 or status(pid) != 3: die("fast output at the end: %d lines, %r" % (out.count(b"\r\n"), out[-40:]))
pid, fd = sh("sh", "-c", "echo up; sleep 100"); until(fd, b"up"); os.close(fd)      # caller hangs up
if status(pid) != -signal.SIGHUP: die("no SIGHUP when the master closes")
r, w = os.pipe()
pid, fd = sh("bash", "--norc", "-c", "trap 'echo hup >&%d; exit 9' HUP; echo up; while :; do sleep 0.1; done" % w) if os.set_inheritable(w, True) is None else 0
until(fd, b"up"); os.close(fd); os.close(w)
if not select.select([r], [], [], 60)[0] or os.read(r, 9) != b"hup\n" or status(pid) != 9: die("HUP trap did not run")
prog = "import pty,sys,os; st=pty.spawn(['sh','-c','echo inner; exit 4']); print('st', os.waitstatus_to_exitcode(st))"
p = subprocess.run([sys.executable, "-c", prog], stdin=subprocess.DEVNULL, stdout=-1, timeout=60)
if b"inner" not in p.stdout or b"st 4" not in p.stdout: die("pty.spawn without a terminal: %r" % p.stdout)
pid, fd = sh(sys.executable, "-c", "import pty; pty.spawn('sh')"); until(fd, b"x2y", b"echo x$((1+1))y\n"); os.write(fd, b"exit\n"); drain(fd); status(pid)   # nested terminal
pid, fd = sh("script", "-qec", "tty; exit 6", "/dev/null") if any(os.access(p + "/script", os.X_OK) for p in os.environ["PATH"].split(":")) else (0, 0)
if pid:
    out = drain(fd)
    if b"/dev/pts/" not in out or status(pid) != 6: die("script(1): %r" % out)
print("ok")
