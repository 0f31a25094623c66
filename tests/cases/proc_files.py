#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Files below /proc that real programs parse (Chromium, Elasticsearch, ps, psutil).
import os, re, signal, sys, threading
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
st = dict(l.rstrip("\n").split(":", 1) for l in open("/proc/self/status"))
for k in "Name State Tgid Pid PPid TracerPid Uid Gid FDSize Groups VmSize VmRSS Threads SigBlk SigIgn SigCgt CapEff NoNewPrivs Seccomp Cpus_allowed_list".split():
    check(k in st, "/proc/self/status has no %s:" % k)
check([int(x) for x in st["Uid"].split()] == [*os.getresuid(), os.geteuid()], "Uid line " + st["Uid"])
check(int(st["Pid"]) == os.getpid() and int(st["PPid"]) == os.getppid(), "Pid or PPid line")
f = os.open("/dev/null", os.O_RDONLY)
os.dup2(f, 10); os.dup2(f, 200)
for d in ("fd", "fdinfo"):
    n = os.listdir("/proc/self/" + d); check(len(n) == len(set(n)), "/proc/self/%s repeats names: %r" % (d, sorted(n)))
    check({"0", "1", "2", "10", "200"} <= set(n), "/proc/self/%s lacks descriptors: %r" % (d, n))
check(os.readlink("/proc/self/fd/10") == "/dev/null" and "pos:" in open("/proc/self/fdinfo/10").read(), "fd/10")
check(len(os.listdir("/proc")) == len(set(os.listdir("/proc"))), "/proc repeats names")
check(os.readlink("/proc/self") == str(os.getpid()), "/proc/self")
seen = []
t = threading.Thread(target=lambda: seen.append((os.readlink("/proc/thread-self"), threading.get_native_id()))); t.start(); t.join()
check(seen[0][0] == "%d/task/%d" % (os.getpid(), seen[0][1]), "/proc/thread-self is %r" % (seen[0],))
check(os.path.samefile("/proc/self/exe", sys.executable) or os.path.basename(os.readlink("/proc/self/exe")).startswith("python"), "/proc/self/exe")
check(open("/proc/self/cmdline", "rb").read().split(b"\0")[-2].endswith(os.path.basename(sys.argv[0]).encode()), "/proc/self/cmdline")
check(re.match(r"\d+ \(.+\) R( -?\d+){49}", open("/proc/self/stat").read()), "/proc/self/stat: " + open("/proc/self/stat").read())
check(len(open("/proc/self/statm").read().split()) == 7, "/proc/self/statm")
maps = open("/proc/self/maps").read()
check("[stack]" in maps and all(re.match(r"[0-9a-f]+-[0-9a-f]+ [r-][w-][x-][ps] [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ \d+", l) for l in maps.splitlines()), "/proc/self/maps")
for p in ("/proc/sys/vm/max_map_count", "/proc/sys/kernel/pid_max", "/proc/sys/net/core/somaxconn", "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/file-max"):
    try: int(open(p).read())
    except (OSError, ValueError) as e: check(False, "%s: %s" % (p, e))
for p, want in (("/proc/meminfo", "MemAvailable:"), ("/proc/cpuinfo", "processor"), ("/proc/stat", "btime "), ("/proc/uptime", "."), ("/proc/loadavg", "/"), ("/proc/version", "Linux version"),
                ("/proc/mounts", " / "), ("/proc/self/mountinfo", " / "), ("/proc/self/cgroup", ":"), ("/proc/self/limits", "Max open files"), ("/proc/filesystems", "proc"),
                ("/proc/sys/kernel/random/boot_id", "-"), ("/proc/sys/kernel/hostname", ""), ("/proc/self/comm", "")):
    try: s = open(p).read()
    except OSError as e: check(False, "%s: %s" % (p, e))
    check(s and want in s, "%s lacks %r" % (p, want))
a = open("/proc/sys/kernel/random/uuid").read(); check(a != open("/proc/sys/kernel/random/uuid").read(), "random/uuid repeats")
check(open("/proc/sys/kernel/hostname").read().strip() == os.uname().nodename, "hostname differs from uname")
print("ok")
