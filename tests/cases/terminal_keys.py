#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Keys Ctrl-C, Ctrl-\ and Ctrl-Z act on the foreground job of a terminal; raw mode passes them on.
import os, pty, re, select, signal, sys, termios, time, tty
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(280)
class Term:
    def __init__(self, *argv):
        self.buf = b""; self.pid, self.fd = pty.fork()
        if self.pid == 0: os.environ.update(PS1="<p>", TERM="dumb", HISTFILE="/dev/null"); os.execvp(argv[0], argv)
    def until(self, rx, sec=60):
        end = time.monotonic() + sec
        while not re.search(rx, self.buf):
            if time.monotonic() > end: die("waiting for %r, terminal said %r" % (rx, self.buf[-300:]))
            if select.select([self.fd], [], [], 0.2)[0]:
                try: b = os.read(self.fd, 4096)
                except OSError: b = b""
                if not b: die("terminal closed while waiting for %r: %r" % (rx, self.buf[-300:]))
                self.buf += b
        self.buf = self.buf[re.search(rx, self.buf).end():]
    def send(self, b): os.write(self.fd, b)
    def job(self):
        """until a program has the terminal"""
        end = time.monotonic() + 60
        while os.tcgetpgrp(self.fd) == self.pid:
            if time.monotonic() > end: die("no program got the terminal")
            time.sleep(0.01)
        time.sleep(0.3)
    def status(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            w, st = os.waitpid(self.pid, os.WNOHANG)
            if w: return os.waitstatus_to_exitcode(st)
            if select.select([self.fd], [], [], 0.05)[0]:
                try: os.read(self.fd, 4096)
                except OSError: pass
        die("process did not end")
READY = "import time,sys; print('rea'+'dy',flush=True); time.sleep(60)"
for key, want in ((b"\x03", -signal.SIGINT), (b"\x1c", -signal.SIGQUIT)):
    t = Term(sys.executable, "-c", "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL);" + READY)
    t.until(b"ready"); t.send(key); st = t.status()
    if st != want: die("key %r ended the program with %d, wanted %d" % (key, st, want))
t = Term("bash", "--norc", "--noprofile", "-i"); t.until(b"<p>")
t.send(b"sleep 100\n"); t.job(); t.send(b"\x03"); t.until(b"<p>"); t.send(b"echo st$?at\n"); t.until(b"st130at")
t.until(b"<p>"); t.send(b"cat | cat | cat\n"); t.job(); t.send(b"\x03"); t.until(b"<p>")          # a whole pipeline
t.send(b"for i in 1 2 3; do sleep 50; done; echo not'ok'\n"); t.job(); t.send(b"\x03"); t.until(b"<p>"); t.send(b"echo a$((40+2))b\n"); t.until(b"a42b")
t.until(b"<p>"); t.send(b"sleep 77\n"); t.job(); t.send(b"\x1a"); t.until(b"Stopped"); t.until(b"<p>")
t.send(b"jobs -l\n"); t.until(rb"Stopped +sleep 77"); t.until(b"<p>"); t.send(b"fg\n"); t.until(b"sleep 77"); t.job(); t.send(b"\x03"); t.until(b"<p>")
t.send(b"echo partial\x15echo cl'ea'n\n"); t.until(b"clean\r?\n")                                          # Ctrl-U kills the line
t.until(b"<p>"); t.send(b"exit 5\n"); st = t.status()
if st != 5: die("shell left with %d" % st)
t = Term(sys.executable, "-c", "import tty,os; tty.setraw(0); os.write(1,b'raw!'); b=b''\nwhile len(b)<3: b+=os.read(0,3-len(b))\nos.write(1,repr(b).encode()+b'.')")
t.until(b"raw!"); t.send(b"\x03\x1a\x1c"); t.until(rb"b'\\x03\\x1a\\x1c'")
if t.status() != 0: die("raw mode program")
print("ok")
