#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# openat2 is either complete or absent (ENOSYS); tar extraction works both ways.
import ctypes, errno, os, shutil, signal, stat, struct, subprocess, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
libc = ctypes.CDLL(None, use_errno=True)
def openat2(dfd, path, flags, resolve):
    how = struct.pack("QQQ", flags, 0, resolve)
    r = libc.syscall(437, dfd, path.encode(), how, len(how))
    if r < 0: return -ctypes.get_errno()
    return r
NO_XDEV, NO_MAGIC, NO_SYM, BENEATH, IN_ROOT = 1, 2, 4, 8, 16
d = tempfile.mkdtemp(); os.makedirs(d + "/root/sub"); open(d + "/root/sub/f", "w").write("in"); open(d + "/out", "w").write("out")
os.symlink("sub/f", d + "/root/good"); os.symlink("../out", d + "/root/bad"); os.symlink("/sub/f", d + "/root/abs")
dfd = os.open(d + "/root", os.O_PATH | os.O_DIRECTORY)
first = openat2(dfd, "sub/f", os.O_RDONLY, BENEATH)
if first == -errno.ENOSYS: print("# openat2 absent")
else:
    def gives(path, resolve, want):
        r = openat2(dfd, path, os.O_RDONLY, resolve)
        if isinstance(want, str): ok = r >= 0 and os.read(r, 99).decode() == want
        else: ok = r == -want
        check(ok, "openat2(%r, resolve=%d) gave %d, wanted %s" % (path, resolve, r, want))
    check(first >= 0, "plain openat2 BENEATH: %d" % first)
    gives("good", BENEATH, "in"); gives("../out", BENEATH, errno.EXDEV); gives("sub/../../out", BENEATH, errno.EXDEV)
    gives("bad", BENEATH, errno.EXDEV); gives("abs", BENEATH, errno.EXDEV); gives(d + "/out", BENEATH, errno.EXDEV)
    gives("abs", IN_ROOT, "in"); gives("../../sub/f", IN_ROOT, "in"); gives("/sub/f", IN_ROOT, "in"); gives("bad", IN_ROOT, errno.ENOENT)
    gives("good", NO_SYM, errno.ELOOP); gives("sub/f", NO_SYM, "in"); gives("sub/f", 1 << 40, errno.EINVAL)
    fd = os.open(d + "/out", os.O_RDONLY); gives("/proc/self/fd/%d" % fd, NO_MAGIC, errno.ELOOP)
check(libc.syscall(437, dfd, b"sub", b"x", 1) == -1 and ctypes.get_errno() in (errno.EINVAL, errno.ENOSYS), "too short open_how")
if shutil.which("tar"):
    src = d + "/src"; os.makedirs(src + "/a/b/c"); big = os.urandom(200000)
    open(src + "/a/b/c/big", "wb").write(big); open(src + "/run.sh", "w").write("#!/bin/sh\nexit 3\n"); os.chmod(src + "/run.sh", 0o755)
    os.symlink("a/b", src + "/link"); os.symlink("/no/where", src + "/dangling"); os.link(src + "/run.sh", src + "/a/hard")
    os.mkdir(src + "/ro"); open(src + "/ro/x", "w").write("x"); os.chmod(src + "/ro", 0o555)
    subprocess.run(["tar", "-C", src, "-czf", d + "/t.tgz", "."], check=True)
    dst = d + "/dst"; os.mkdir(dst)
    p = subprocess.run(["tar", "-C", dst, "-xzpf", d + "/t.tgz"], stderr=subprocess.PIPE)
    check(p.returncode == 0, "tar -x: " + p.stderr.decode()[-300:])
    check(open(dst + "/a/b/c/big", "rb").read() == big, "extracted data differs")
    check(os.readlink(dst + "/link") == "a/b" and os.readlink(dst + "/dangling") == "/no/where", "extracted links")
    check(os.stat(dst + "/a/hard").st_ino == os.stat(dst + "/run.sh").st_ino, "extracted hard link")
    check(stat.S_IMODE(os.stat(dst + "/ro").st_mode) == 0o555 and subprocess.call([dst + "/run.sh"]) == 3, "extracted modes")
    os.chmod(src + "/ro", 0o755); os.chmod(dst + "/ro", 0o755)
shutil.rmtree(d); print("ok")
