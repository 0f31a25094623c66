#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Big and sparse files: offsets beyond 4 GiB, holes, copy, map, truncate.
import errno, hashlib, mmap, os, shutil, signal, subprocess, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
d = tempfile.mkdtemp(dir="/tmp"); p = d + "/sparse"; G = 1 << 30
fd = os.open(p, os.O_RDWR | os.O_CREAT)
check(os.pwrite(fd, b"end", 5 * G) == 3 and os.pwrite(fd, b"mid", 4 * G + 12345) == 3 and os.pwrite(fd, b"start", 0) == 5, "writes at large offsets")
st = os.fstat(fd); check(st.st_size == 5 * G + 3, "size %d" % st.st_size); check(st.st_blocks * 512 < 64 << 20, "a sparse file of 5 GiB uses %d bytes" % (st.st_blocks * 512))
check(os.pread(fd, 3, 4 * G + 12345) == b"mid" and os.pread(fd, 8, 3 * G) == bytes(8) and os.pread(fd, 10, 5 * G) == b"end" and os.pread(fd, 1, 6 * G) == b"", "reads at large offsets")
check(os.lseek(fd, 0, os.SEEK_END) == 5 * G + 3 and os.lseek(fd, -2, os.SEEK_CUR) == 5 * G + 1, "lseek")
h = os.lseek(fd, 0, os.SEEK_HOLE); check(0 < h <= st.st_size, "SEEK_HOLE %d" % h)
if h < st.st_size:
    x = os.lseek(fd, h, os.SEEK_DATA); check(x <= 4 * G + 12345, "SEEK_DATA %d skips data" % x)
try: os.lseek(fd, 6 * G, os.SEEK_DATA); check(False, "SEEK_DATA past the end")
except OSError as e: check(e.errno == errno.ENXIO, str(e))
m = mmap.mmap(fd, 4096, offset=4 * G, flags=mmap.MAP_SHARED); m[100:104] = b"MAPD"; m.flush(); check(os.pread(fd, 4, 4 * G + 100) == b"MAPD", "mapping at 4 GiB")
check(int(subprocess.check_output(["stat", "-c", "%s", p])) == 5 * G + 3 and int(subprocess.check_output(["du", "-k", p]).split()[0]) < 65536, "stat(1) or du(1)")
check(subprocess.check_output(["bash", "-c", "tail -c 3 '%s'; dd if='%s' bs=1 skip=%d count=3 status=none" % (p, p, 4 * G + 12345)]) == b"endmid", "tail and dd")
subprocess.run(["cp", "--sparse=always", p, d + "/copy"], check=True, timeout=300); c = os.stat(d + "/copy"); check(c.st_size == 5 * G + 3 and c.st_blocks * 512 < 64 << 20, "cp --sparse: %d bytes on disk" % (c.st_blocks * 512))
f2 = os.open(d + "/copy", os.O_RDONLY); check(os.pread(f2, 4, 4 * G + 100) == b"MAPD" and os.pread(f2, 3, 5 * G) == b"end", "content of the copy")
if shutil.which("node"):
    js = "const fs=require('fs'),f=fs.openSync(process.argv[1],'r'),b=Buffer.alloc(3);fs.readSync(f,b,0,3,%d);console.log(b.toString(),fs.statSync(process.argv[1]).size)" % (5 * G)
    check(subprocess.check_output(["node", "-e", js, p]).split() == [b"end", b"%d" % (5 * G + 3)], "node at 5 GiB")
os.ftruncate(fd, 4 * G + 12346); check(os.pread(fd, 9, 4 * G + 12345) == b"m", "truncate down"); os.ftruncate(fd, 4 * G + 20000); check(os.pread(fd, 3, 4 * G + 12345) == b"m\0\0", "truncate up shows old data")
r = os.copy_file_range(fd, os.open(d + "/part", os.O_RDWR | os.O_CREAT), 4, 4 * G + 100, 0) if hasattr(os, "copy_file_range") else 4; check(r == 4, "copy_file_range %d" % r)
check(open(d + "/part", "rb").read() == b"MAPD" if os.path.exists(d + "/part") else True, "copy_file_range content")
libc = __import__("ctypes").CDLL(None, use_errno=True); C = __import__("ctypes"); libc.fallocate.argtypes = [C.c_int, C.c_int, C.c_int64, C.c_int64]
os.pwrite(fd, b"\xaa" * (3 << 20), 0)
if libc.fallocate(fd, 3, 1 << 20, 1 << 20) == 0: check(os.pread(fd, 2, (1 << 20) - 1) == b"\xaa\0" and os.pread(fd, 2, (2 << 20) - 1) == b"\0\xaa", "punched hole")
else: check(C.get_errno() == errno.EOPNOTSUPP, "punch hole: errno %d" % C.get_errno())
real = d + "/real"; hsh = hashlib.sha256()                 # 200 MB of real data through the page cache and back
with open(real, "wb") as f:
    blk = os.urandom(1 << 20)
    for i in range(200): b = bytes([i]) + blk[1:]; f.write(b); hsh.update(b)
check(subprocess.check_output(["sha256sum", real]).split()[0].decode() == hsh.hexdigest(), "200 MB read back differ")
shutil.rmtree(d); print("ok")
