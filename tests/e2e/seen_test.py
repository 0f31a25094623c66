#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs are told of their machine is the sandbox's share of it, whomever they ask."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import Case, main, run  # noqa: E402

MEMORY = 384 << 20
DISK = 64 << 20
INODES = 3000
PIDS = 77
SHARE = ["--memory", "384M", "--cpus", "1.5", "--pids", str(PIDS), "--disk", "64M", "--inodes", str(INODES)]
CPUS = min(2, os.cpu_count())  # 1.5, rounded up

ASK_PYTHON = r"""
import ctypes, json, os, re, resource, subprocess
read = lambda name: open(name).read()
info = ctypes.create_string_buffer(256)
ctypes.CDLL(None).sysinfo(info)
cpus = {
    "os.cpu_count": os.cpu_count(), "affinity": len(os.sched_getaffinity(0)),
    "configured": os.sysconf("SC_NPROCESSORS_CONF"),
    "nproc": int(subprocess.check_output(["nproc"])),
    "cpuinfo": len(re.findall(r"^processor\s*:", read("/proc/cpuinfo"), re.M)),
    "stat": len(re.findall(r"^cpu\d", read("/proc/stat"), re.M)),
    "folders": len([n for n in os.listdir("/sys/devices/system/cpu") if re.fullmatch(r"cpu\d+", n)]),
}
memory = {
    "MemTotal": int(re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo"))[1]) * 1024,
    "sysconf": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    "sysinfo": int.from_bytes(info.raw[32:40], "little"),
    "cgroup": int(read("/sys/fs/cgroup/memory.max")),
    "free": int(subprocess.check_output(["free", "-b"]).splitlines()[1].split()[1]),
    "node": int(re.search(r"MemTotal:\s+(\d+)", read("/sys/devices/system/node/node0/meminfo"))[1]) * 1024,
}
tasks = {
    "ulimit": resource.getrlimit(resource.RLIMIT_NPROC)[1], "cgroup": int(read("/sys/fs/cgroup/pids.max")),
    "threads-max": int(read("/proc/sys/kernel/threads-max")),
}
v = os.statvfs("/")
print(json.dumps({"cpus": cpus, "memory": memory, "tasks": tasks, "disk": v.f_blocks * v.f_frsize,
                  "inodes": v.f_files, "cpu.max": read("/sys/fs/cgroup/cpu.max").split(),
                  "swap": read("/proc/swaps").count("\n"), "group": read("/proc/self/cgroup"),
                  "groups": read("/proc/cgroups").split()}))
"""

ASK_NODE = """
const os = require("os");
const [major, minor] = process.versions.uv.split(".").map(Number);
const reads_version_2 = major > 1 || minor >= 45;  // before, libuv knew groups of version 1 alone
console.log(JSON.stringify([os.cpus().length, os.totalmem(), reads_version_2 ? process.constrainedMemory() : os.totalmem()]));
"""

ASK_GO = 'package main\nimport "runtime"\nfunc main() { println(runtime.NumCPU()) }\n'

MEMORY_IN_USE = r"""
import re, resource
def now():
    return {"MemFree": int(re.search(r"MemFree:\s+(\d+)", open("/proc/meminfo").read())[1]) << 10,
            "current": int(open("/sys/fs/cgroup/memory.current").read())}
import time
before = now()
data = b"x" * (100 << 20)
time.sleep(0.5)
after = now()
print(before["MemFree"] - after["MemFree"], after["current"] - before["current"])
"""


class Seen(Case):
    def ask(self, *words):
        done = run(*SHARE, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_by_python_and_the_tools(self):
        seen = json.loads(self.ask("--", "python3", "-c", ASK_PYTHON))
        self.assertEqual(set(seen["cpus"].values()), {CPUS}, seen["cpus"])
        self.assertEqual(set(seen["memory"].values()), {MEMORY}, seen["memory"])
        self.assertEqual(set(seen["tasks"].values()), {PIDS}, seen["tasks"])
        self.assertEqual(seen["disk"], DISK)
        self.assertEqual(seen["inodes"], INODES)
        quota, period = map(int, seen["cpu.max"])
        self.assertEqual(quota / period, 1.5)
        self.assertEqual(seen["swap"], 1)
        self.assertEqual(seen["group"], "0::/\n")
        for controller in ("cpuset", "cpu", "cpuacct", "memory", "pids"):
            self.assertIn(controller, seen["groups"])

    def test_memory_in_use(self):
        free, current = map(int, self.ask("--", "python3", "-c", MEMORY_IN_USE).split())
        for grown in (free, current):
            self.assertGreater(grown, 90 << 20)
            self.assertLess(grown, 120 << 20)

    def test_by_df_and_ulimit(self):
        said = self.ask("--", "bash", "-c", "df -B1 --output=size / | tail -1; df --output=itotal / | tail -1; "
                        "ulimit -u; ulimit -n; ulimit -Hn")
        self.assertEqual(said.split(), [str(n) for n in (DISK, INODES, PIDS, 1024, 65536)])

    def test_by_node(self):
        if not shutil.which("node"):
            self.skipTest("no node here")
        self.assertEqual(json.loads(self.ask("--", "node", "-e", ASK_NODE)), [CPUS, MEMORY, MEMORY])

    def test_by_java(self):
        if not shutil.which("java"):
            self.skipTest("no java here")
        said = self.ask("--", "sh", "-c", "java -XshowSettings:system -version 2>&1; "
                        "java -XX:+PrintFlagsFinal -version 2>/dev/null")
        self.assertRegex(said, f"Effective CPU Count: {CPUS}\n")
        self.assertRegex(said, "Provider: cgroupv2\n")
        self.assertRegex(said, f"Maximum Processes Limit: {PIDS}\n")
        heap = int(re.search(r"\bMaxHeapSize\s*=\s*(\d+)", said)[1])
        self.assertLessEqual(heap, MEMORY // 2)
        self.assertGreater(heap, MEMORY // 8)

    def test_by_go(self):
        go = shutil.which("go") or "/usr/local/go/bin/go"
        if not os.access(go, os.X_OK):
            self.skipTest("no go here")
        # Compiled outside, which takes long: what it is told there is all that matters.
        program = self.path("seen")
        subprocess.run([go, "build", "-o", program, self.path("seen.go", ASK_GO)], cwd=self.folder, check=True,
                       env={**os.environ, "GOCACHE": self.path("cache"), "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"})
        done = run("--cpus", "1", "-v", f"{program}:/seen:ro", "--", "/seen")
        self.expect(done, 0, err=b"1\n")

    def test_processors_are_never_fewer_than_one(self):
        done = run("--cpus", "0.1", "--", "sh", "-c", "nproc; cat /sys/fs/cgroup/cpu.max")
        self.expect(done, 0, b"1\n10000 100000\n")

    def test_numbers_of_processors(self):
        """The kernel's own answer; the vDSO's is the machine's."""
        ask = ("import ctypes; l = ctypes.CDLL(None); n = ctypes.c_uint(99); "
               "l.syscall(309, ctypes.byref(n), None, None); print(n.value)")
        self.expect(run("--cpus", "1", "--", "python3", "-c", ask), 0, b"0\n")

    def test_lost_processes_are_counted(self):
        done = run("--memory", "100M", "--", "sh", "-c",
                   "python3 -c 'x = bytearray(10**9)'; grep oom_kill /sys/fs/cgroup/memory.events")
        self.assertEqual(done.stdout.split()[:2], [b"oom_kill", b"1"], done)


if __name__ == "__main__":
    main(sys.modules[__name__])
