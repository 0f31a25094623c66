#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A full disk and a file size limit are errors that programs see; they neither hang nor lose the report.
import errno, os, resource, shutil, signal, subprocess, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
def sh(cmd): p = subprocess.run(["bash", "-c", cmd], capture_output=True, timeout=60); return p.returncode, p.stdout, p.stderr
try: os.write(os.open("/dev/full", os.O_WRONLY), b"x"); check(False, "/dev/full takes data")
except OSError as e: check(e.errno == errno.ENOSPC, "/dev/full: %s" % e)
check(os.read(os.open("/dev/full", os.O_RDONLY), 4) == b"\0\0\0\0", "/dev/full reads as zeros")
for cmd in ("echo hi > /dev/full", "seq 100000 > /dev/full", "cat /etc/passwd > /dev/full", "dd if=/dev/zero of=/dev/full bs=1k count=4 status=none", "cp /etc/passwd /dev/full"):
    r, o, e = sh(cmd); check(r != 0 and b"No space left" in e, "%s: status %d, %r" % (cmd, r, e))
p = subprocess.run([sys.executable, "-c", "print('x'*100)"], stdout=open("/dev/full", "w"), stderr=-1); check(p.returncode in (120, 1) and b"No space" in p.stderr, "python to a full device: %d" % p.returncode)
p = subprocess.run([sys.executable, "-c", "with open('/dev/full','w') as f: f.write('x')"], stderr=-1); check(p.returncode == 1 and b"OSError: [Errno 28]" in p.stderr, "python file on a full device: %r" % p.stderr)
if shutil.which("node"):
    r, o, e = sh("""node -e 'try{require("fs").writeFileSync("/dev/full","x");console.log("no")}catch(e){console.log(e.code)}'"""); check(o == b"ENOSPC\n", "node: %r" % o)
d = tempfile.mkdtemp(); os.chdir(d)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN); old = resource.getrlimit(resource.RLIMIT_FSIZE); resource.setrlimit(resource.RLIMIT_FSIZE, (100000, old[1]))
fd = os.open("f", os.O_RDWR | os.O_CREAT); n = os.write(fd, b"a" * 200000); check(n == 100000, "a write across the limit wrote %d" % n)
for what, fn in (("write", lambda: os.write(fd, b"b")), ("pwrite", lambda: os.pwrite(fd, b"b", 200000)), ("truncate", lambda: os.ftruncate(fd, 100001)), ("fallocate", lambda: os.posix_fallocate(fd, 0, 200000))):
    try: fn(); check(False, what + " beyond the limit worked")
    except OSError as e: check(e.errno == errno.EFBIG, "%s beyond the limit: %s" % (what, e))
check(os.fstat(fd).st_size == 100000, "size %d" % os.fstat(fd).st_size); os.pwrite(fd, b"c", 5)
resource.setrlimit(resource.RLIMIT_FSIZE, old)
r, o, e = sh("ulimit -f 10; head -c 100000 /dev/zero > g; echo $?"); check(o == b"153\n" and os.path.getsize("g") == 10240, "SIGXFSZ: %r, %d bytes" % (o, os.path.getsize("g")))
v = os.statvfs("."); check(v.f_bsize > 0 and v.f_blocks > 0 and v.f_bavail <= v.f_bfree <= v.f_blocks and v.f_namemax == 255, "statvfs: %r" % (v,))
b0 = os.statvfs(".").f_bfree * v.f_frsize
with open("big", "wb") as f:
    for _ in range(64): f.write(os.urandom(1 << 20))
    f.flush(); os.fsync(f.fileno())
used = b0 - os.statvfs(".").f_bfree * v.f_frsize; check(32 << 20 < used < 512 << 20, "free space fell by %d for a file of 64 MiB" % used)
check(os.stat("big").st_blocks * 512 >= 63 << 20, "st_blocks of the file: %d" % os.stat("big").st_blocks)
du = int(sh("du -sk .")[1].split()[0]); check(65000 <= du <= 70000, "du says %d kB" % du)
os.unlink("big"); f2 = os.statvfs(".").f_bfree * v.f_frsize; check(f2 > b0 - (40 << 20), "space does not come back")
check(v.f_bavail * v.f_frsize < 1 << 50, "the disk claims %d TiB of free space" % (v.f_bavail * v.f_frsize >> 40))
need = v.f_bavail * v.f_frsize * 2 + (1 << 40)
try: os.posix_fallocate(fd, 0, need); check(False, "fallocate of %d TB was granted" % (need >> 40))
except OSError as e: check(e.errno in (errno.ENOSPC, errno.EFBIG, errno.EOPNOTSUPP), "huge fallocate: %s" % e)
shutil.rmtree(d); print("ok")
