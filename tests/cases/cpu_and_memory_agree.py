#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# All views of CPU count and memory agree (make -j, cargo, JVM, Node size themselves by them).
import ctypes, os, re, shutil, signal, struct, subprocess, sys
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
n = len(os.sched_getaffinity(0))
views = {"os.cpu_count": os.cpu_count(), "sysconf ONLN": os.sysconf("SC_NPROCESSORS_ONLN"), "/proc/cpuinfo": len(re.findall(r"^processor\s*:", open("/proc/cpuinfo").read(), re.M)),
         "nproc --all": int(subprocess.check_output(["nproc", "--all"])), "/proc/stat": len(re.findall(r"^cpu\d", open("/proc/stat").read(), re.M))}
check(len(set(views.values())) == 1, "views of the CPU count differ: %r" % views)
check(int(subprocess.check_output(["nproc"])) == n <= os.cpu_count(), "nproc and sched_getaffinity differ")
allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", open("/proc/self/status").read()); check(allowed, "no Cpus_allowed_list in /proc/self/status"); allowed = allowed.group(1)
got = sum(int(b or a) - int(a) + 1 for a, _, b in (p.partition("-") for p in allowed.split(","))); check(got == n, "Cpus_allowed_list %s, affinity %d" % (allowed, n))
mem = {k: int(v) * 1024 for k, v in re.findall(r"^(\w+):\s+(\d+) kB", open("/proc/meminfo").read(), re.M)}
phys = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
b = ctypes.create_string_buffer(256); ctypes.CDLL(None).sysinfo(b); f = struct.unpack_from("l3L6LH", b); unit = struct.unpack_from("I", b, 104)[0] if struct.calcsize("l") == 8 else 1
total = f[4] * unit
check(mem["MemTotal"] == phys and abs(total - phys) <= 1 << 20, "MemTotal %d, sysconf %d, sysinfo %d" % (mem["MemTotal"], phys, total))
check(0 < mem["MemFree"] <= mem["MemAvailable"] + (64 << 20) and mem["MemAvailable"] <= mem["MemTotal"], "free memory is out of range")
for p in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
    if os.path.exists(p):
        v = open(p).read().strip()
        if v.isdigit() and int(v) < 1 << 60: check(mem["MemTotal"] <= int(v) * 1.02, "cgroup limit %s is below MemTotal %d" % (v, mem["MemTotal"]))
if os.path.exists("/sys/fs/cgroup/cpu.max"):
    q, per = open("/sys/fs/cgroup/cpu.max").read().split()
    if q != "max": check(n <= -(-int(q) // int(per)), "cpu.max allows %s/%s, yet %d CPUs are shown" % (q, per, n))
if shutil.which("node"):
    js = 'const o=require("os");console.log(o.availableParallelism?o.availableParallelism():o.cpus().length,o.totalmem(),o.cpus().length)'
    a, t, c = subprocess.check_output(["node", "-e", js]).split()
    check(int(c) == os.cpu_count() and int(a) == n and abs(int(t) - phys) <= 1 << 20, "node sees %s/%s CPUs and %s bytes" % (a, c, t))
if shutil.which("free"):
    check(abs(int(subprocess.check_output(["free", "-b"]).splitlines()[1].split()[1]) - phys) <= 1 << 20, "free(1)")
if n > 1:
    one = next(iter(os.sched_getaffinity(0))); os.sched_setaffinity(0, {one})
    check(int(subprocess.check_output(["nproc"])) == 1, "a narrowed affinity is not inherited")
print("ok")
