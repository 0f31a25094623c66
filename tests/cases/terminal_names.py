#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A process on a terminal can find out its name, size and settings (tty, ps, screen, ssh, less).
import os, pty, re, select, shutil, signal, sys, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(60)
CHILD = r'''
import fcntl, os, stat, struct, sys, termios
def check(c, m):
    if not c: os.write(1, ("BAD " + m + "\n").encode()); os._exit(1)
check(all(os.isatty(i) for i in range(3)), "isatty")
n = os.ttyname(0); check(n.startswith("/dev/pts/"), "ttyname " + n)
st = os.stat(n); check(stat.S_ISCHR(st.st_mode) and st.st_rdev == os.fstat(0).st_rdev and os.major(st.st_rdev) == 136, "device of " + n)
check(st.st_uid == os.getuid(), "owner of the terminal")
check(os.readlink("/proc/self/fd/0") == n, "/proc/self/fd/0 is " + os.readlink("/proc/self/fd/0"))
f = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
check(int(f[4]) == st.st_rdev, "tty_nr in /proc/self/stat is %s, the device is %d" % (f[4], st.st_rdev))
check(int(f[5]) == os.tcgetpgrp(0) == os.getpgrp(), "foreground group: stat %s, tcgetpgrp %d, getpgrp %d" % (f[5], os.tcgetpgrp(0), os.getpgrp()))
check(os.getsid(0) == os.getpid() == int(f[3]), "session leader")
t = os.open("/dev/tty", os.O_RDWR); check(os.isatty(t), "/dev/tty"); os.write(t, b"via-dev-tty\n")
check(os.ctermid() == "/dev/tty", "ctermid")
a = termios.tcgetattr(0); check(a[3] & termios.ECHO and a[3] & termios.ICANON and a[3] & termios.ISIG and a[1] & termios.ONLCR and a[6][termios.VINTR] == b"\x03", "default settings")
a[3] &= ~termios.ECHO; termios.tcsetattr(0, termios.TCSADRAIN, a); check(not termios.tcgetattr(0)[3] & termios.ECHO, "settings do not stick")
check(struct.unpack("4H", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))[:2] == (30, 100), "size")
x = os.open(n, os.O_RDWR | os.O_NOCTTY); os.write(x, b"by name\n")
import subprocess
check(subprocess.check_output(["tty"], stdin=0).decode().strip() == n, "tty(1)")
check(subprocess.check_output(["stty", "size"], stdin=0).split() == [b"30", b"100"], "stty size")
import shutil
if shutil.which("ps"):
    o = subprocess.check_output(["ps", "-o", "tty=", "-p", str(os.getpid())]).decode().strip(); check("/dev/" + o == n, "ps says " + o)
    check(str(os.getpid()) in subprocess.check_output(["ps", "-t", n[5:], "-o", "pid="]).decode().split(), "ps -t")
if os.fork() == 0:
    os.setsid()
    try: os.open("/dev/tty", os.O_RDWR); os.write(1, b"BAD /dev/tty after setsid\n")
    except OSError as e: check(e.errno == 6, "errno of /dev/tty without a terminal: %d" % e.errno)
    os._exit(0)
os.wait(); os.write(1, b"all-good\n")
'''
m, s = pty.openpty()
import fcntl, struct, termios
fcntl.ioctl(m, termios.TIOCSWINSZ, struct.pack("4H", 30, 100, 0, 0))
pid = os.fork()
if pid == 0:
    os.setsid(); fcntl.ioctl(s, termios.TIOCSCTTY, 0)
    for i in range(3): os.dup2(s, i)
    os.closerange(3, 50); os.execv(sys.executable, [sys.executable, "-c", CHILD])
os.close(s); out = b""; end = time.monotonic() + 20
while time.monotonic() < end and b"all-good" not in out and b"BAD" not in out:
    if select.select([m], [], [], 0.2)[0]:
        try: b = os.read(m, 4096)
        except OSError: break
        out += b
if b"BAD" in out or b"all-good" not in out: die(out.decode(errors="replace").strip().replace("\r", "")[-400:] or "no output")
if b"via-dev-tty\r\n" not in out or b"by name\r\n" not in out: die("output through /dev/tty or the name is missing: %r" % out)
print("ok")
