#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# All names of one inode are the same file (dpkg, git and pnpm rely on it).
import mmap, os, signal, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
d = tempfile.mkdtemp(); a, b, c = (os.path.join(d, n) for n in "abc")
with open(a, "wb") as f: f.write(b"x" * 5000)
os.link(a, b)
sa, sb = os.stat(a), os.stat(b)
check((sa.st_ino, sa.st_dev) == (sb.st_ino, sb.st_dev), "inode numbers differ")
check(sa.st_nlink == sb.st_nlink == 2, "link count %d/%d" % (sa.st_nlink, sb.st_nlink))
fa = os.open(a, os.O_RDWR); fb = os.open(b, os.O_RDWR)
os.pwrite(fa, b"hello", 10); check(os.pread(fb, 5, 10) == b"hello", "a write through one name is not seen through the other")
os.ftruncate(fb, 9000); check(os.stat(a).st_size == 9000 == os.fstat(fa).st_size, "truncate seen through one name only")
os.chmod(b, 0o640); check(os.stat(a).st_mode & 0o777 == 0o640, "chmod seen through one name only")
os.utime(a, ns=(10**9, 2 * 10**9)); check(os.stat(b).st_mtime_ns == 2 * 10**9, "times differ between names")
m = mmap.mmap(fa, 9000); m[8000:8004] = b"mmap"
check(os.pread(fb, 4, 8000) == b"mmap", "shared mapping through a, read through b")
n = mmap.mmap(fb, 9000); n[0:2] = b"zz"; check(m[0:2] == b"zz", "two shared mappings of one inode differ")
os.pwrite(fb, b"after", 4096); check(m[4096:4101] == b"after", "write not seen in a mapping of the other name")
e = os.open(a, os.O_WRONLY | os.O_APPEND); os.write(e, b"tail"); check(os.stat(b).st_size == 9004, "append through a")
os.rename(a, b)        # two names of one inode: rename does nothing and keeps both
check(os.path.exists(a) and os.path.exists(b), "rename between two names of one inode removed one")
try: os.link(a, b); check(False, "link over an existing name")
except FileExistsError: pass
os.symlink("a", d + "/s"); os.link(d + "/s", c, follow_symlinks=False)
check(os.path.islink(c) and os.readlink(c) == "a", "hard link of a symlink")
os.unlink(a); check(os.stat(b).st_nlink == 1 and os.pread(fa, 4, 9000) == b"tail", "after removing one name")
try: os.link(d, d + "/dirlink"); check(False, "hard link of a directory was allowed")
except OSError: pass
__import__("shutil").rmtree(d, True); print("ok")
