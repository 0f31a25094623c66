#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits that the sandbox's own kernel enforces by watching, since no cgroup of the host does.

As root the cases run as an ordinary user, who can make no cgroup here.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main  # noqa: E402

NOBODY = 65534

MAP = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
MIB = 1 << 20
SHARED, PRIVATE, ANONYMOUS, NORESERVE, POPULATE = 1, 2, 0x20, 0x4000, 0x8000
def memory(size, flags, protection=3):
    at = libc.mmap(None, size, protection, flags | ANONYMOUS, -1, 0)
    return None if at == ctypes.c_void_p(-1).value else at
def advise(at, size, advice):
    return libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), advice)
"""

# Ways to end of which the kernel is not told: the host lets nobody look at what such a process has used.
UNTOLD = """
import ctypes, mmap, os, sys, time
def run_code(code):
    m = mmap.mmap(-1, 4096, prot=7)
    m.write(code)
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()
def end_by_the_filter(): run_code(bytes.fromhex("cd80"))  # int $0x80
def end_without_a_stack(): run_code(bytes.fromhex("31e450"))  # xor %esp,%esp; push %rax
def spin(seconds):
    while time.process_time() < seconds: pass
"""

# A parent and six children that have 40 MiB together, until they are told to change() them.
LATE = """
import time
x = bytearray(b"1" * (40 * MIB))
def run():
    ready, told = os.pipe(), os.pipe()
    for i in range(6):
        if os.fork() == 0:
            os.write(ready[1], b"x")
            os.read(told[0], 1)
            change()
            time.sleep(2)
            os._exit(0)
    for i in range(6): os.read(ready[0], 1)
    y, until = bytearray(b"2" * (30 * MIB)), time.process_time() + 0.3
    while time.process_time() < until: pass
    del y
    os.write(told[1], b"xxxxxx")
    for i in range(6): os.wait()
"""

# Each keeps more than 128 MiB in a way of its own; 3 when nobody stopped it.
HOARDERS = {
    "anonymous": "x = [bytearray(MIB) for i in range(500)]; sys.exit(3)",
    "page tables": """
at = memory(1 << 45, PRIVATE | NORESERVE, 1)
for i in range(0, 1 << 45, 2 * MIB):
    ctypes.string_at(at + i, 1)
sys.exit(3)""",
    "memory file": """
f = os.memfd_create("x")
os.ftruncate(f, 500 * MIB)
m = mmap.mmap(f, 500 * MIB)
for i in range(0, 500 * MIB, 4096):
    m[i] = 1
    if i % MIB == 0:
        m.madvise(mmap.MADV_DONTNEED)
sys.exit(3)""",
    "threads": """
import threading
def fill():
    x = [bytearray(MIB) for i in range(60)]
    threading.Event().wait()
for i in range(8):
    threading.Thread(target=fill).start()
""",
    "a thread whose leader is gone": """
import threading
def fill():
    import time
    time.sleep(0.3)
    x = [bytearray(MIB) for i in range(500)]
    os._exit(3)
threading.Thread(target=fill).start()
libc.syscall(60, 0)""",
    "copies of fork": """
x = bytearray(40 * MIB)
for i in range(6):
    if os.fork() == 0:
        for k in range(0, len(x), 4096): x[k] = i
        import time; time.sleep(2); os._exit(0)
for i in range(6): os.wait()""",
    # Pages that fork left to all are measured first, near the limit, and copied then, each in its way.
    "late copies": LATE + """
def change():
    for k in range(0, len(x), 4096): x[k] = 2
run()""",
    "late copies by the kernel": LATE + """
zeros = os.open("/dev/zero", os.O_RDONLY)
def change():
    os.readv(zeros, [x])
run()""",
    "late copies by short processes": LATE + """
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
start, part, at = ctypes.addressof(ctypes.c_char.from_buffer(x)), 4 * MIB, 0
stack = memory(MIB, PRIVATE)
@CALL
def fill(_):
    libc.memset(start + at, 2, part)
    return 0
def change():
    global at
    while at < len(x):
        child = libc.clone(fill, ctypes.c_void_p(stack + MIB), 0x4100 | 17, None)  # CLONE_VM, CLONE_VFORK
        os.waitpid(child, 0)
        at += part
run()""",
    "links between mappings that forks have copied": """
at = memory(4000 * 4096, PRIVATE)
ctypes.memset(at, 1, 4000 * 4096)
for i in range(0, 4000, 2):
    libc.mprotect(ctypes.c_void_p(at + i * 4096), ctypes.c_size_t(4096), 1)
for i in range(40):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)
import time; time.sleep(5)""",
}

# What the host would fill or keep without a look being possible is refused.
REFUSED = {
    "freed lazily": "print(1 if advise(memory(MIB, PRIVATE), MIB, 8) == 0 else None)",
    "filled at once": "print(memory(500 * MIB, PRIVATE | POPULATE))",
    "filled by advice": "print(1 if advise(memory(500 * MIB, PRIVATE), 500 * MIB, 23) == 0 else None)",
    "shared": "print(memory(500 * MIB, SHARED))",
    "shared, and a byte more than its pages": """
for i in range(12000):
    if not memory(8193, SHARED): break
print(None if i <= 128 * MIB // 12288 else i)""",
    "shared and unmapped but for a page": """
for i in range(100):
    at = memory(16 * MIB, SHARED)
    if not at: break
    ctypes.memset(at, 1, 16 * MIB)
    libc.munmap(ctypes.c_void_p(at + 4096), ctypes.c_size_t(16 * MIB - 4096))
print(None if i < 20 else i)""",
}

# More by the counters than there is.
FRUGAL = {
    "copies of fork that nobody changes": """
x = bytearray(60 * MIB)
for i in range(8):
    if os.fork() == 0:
        import time; time.sleep(1); os._exit(0)
for i in range(8): assert os.wait()[1] == 0""",
    "memory that was freed": """
for i in range(8):
    at = memory(40 * MIB, PRIVATE)
    ctypes.memset(at, 1, 40 * MIB)
    assert advise(at, 40 * MIB, 4) == 0""",
    "one memory file for many": """
f = os.memfd_create("x")
os.ftruncate(f, 60 * MIB)
for i in range(6):
    if os.fork() == 0:
        m = mmap.mmap(f, 60 * MIB)
        for k in range(0, 60 * MIB, 4096): m[k] = 1
        import time; time.sleep(0.5); os._exit(0)
for i in range(6): assert os.wait()[1] == 0""",
    "shared memory that comes and goes": """
for i in range(50):
    at = memory(50 * MIB, SHARED)
    assert at, i
    ctypes.memset(at, 1, MIB)
    libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(50 * MIB))""",
}


class Watched(Case):
    def setUp(self):
        super().setUp()
        self.before = []
        self.env = {**os.environ, "HOME": self.folder, "XDG_RUNTIME_DIR": self.folder,
                    "XDG_CONFIG_HOME": self.folder}
        os.chmod(self.folder, 0o700)
        if os.geteuid() == 0:
            if not shutil.which("setpriv"):
                self.skipTest("no setpriv here")
            self.before = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            os.chown(self.folder, NOBODY, NOBODY)

    def run_json(self, *words, before=()):
        command = [*before, *self.before, GLOVEBOX, "run", "--json", *words]
        done = subprocess.run(command, env=self.env, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT, check=False)
        self.assertTrue(done.stdout, done.stderr)
        return json.loads(done.stdout)

    def run_python(self, text, *options):
        result = self.run_json(*options, "--", "python3", "-c", MAP + text)
        if result["limited_by"]["memory"] != "watched":
            self.skipTest("an ordinary user has cgroups here")
        return result


class Memory(Watched):
    def test_hoarders_are_killed(self):
        for name, text in HOARDERS.items():
            with self.subTest(name):
                result = self.run_python(text, "--memory", "128M")
                if "copies" in name:
                    self.assertGreaterEqual(result["memory_kills"], 3, result)
                elif "forks" in name:
                    self.assertGreater(result["memory_kills"], 0, result)
                else:
                    self.assertEqual((result["cause"], result["status"]), ("memory", 137), result)

    def test_what_a_look_can_not_see_is_refused(self):
        for name, text in REFUSED.items():
            with self.subTest(name):
                result = self.run_python(text, "--memory", "128M")
                self.assertEqual((result["cause"], result["stdout"]), ("exited", "None\n"), result)

    def test_what_is_shared_counts_once(self):
        for name, text in FRUGAL.items():
            with self.subTest(name):
                result = self.run_python(text, "--memory", "128M")
                self.assertEqual((result["status"], result["memory_kills"]), (0, 0), result)

    def test_no_descriptor_left_to_look_with(self):
        text = """
held = []
try:
    while True: held.append(os.memfd_create("x"))
except OSError as e: print(e.errno)
try:
    while os.fork(): pass
    import time; time.sleep(60)
except OSError as e: print(e.errno, flush=True)
x = [bytearray(MIB) for i in range(500)]
sys.exit(3)"""
        before = ["prlimit", "--nofile=256:256"]
        result = self.run_json("--memory", "128M", "--", "python3", "-c", MAP + text, before=before)
        self.assertEqual((result["cause"], result["stdout"]), ("memory", "23\n11\n"), result)
        self.assertNotIn("outside", result["stderr"])

    def test_ends_that_nobody_tells_of_blind_no_look(self):
        text = UNTOLD + """
if os.fork() == 0: spin(3); end_without_a_stack()
os.wait()
x = []
while True: x.append(bytearray(MIB))"""
        result = self.run_python(text, "--memory", "128M")
        self.assertEqual((result["cause"], result["memory_kills"]), ("memory", 1), result)
        self.assertLess(result["peak_memory_bytes"], 256 << 20, result)

    def test_the_largest_goes_and_the_rest_lives(self):
        text = """
small = os.fork()
if small == 0:
    x = bytearray(20 * MIB)
    import time; time.sleep(2); os._exit(7)
large = os.fork()
if large == 0:
    x = [bytearray(MIB) for i in range(500)]
    os._exit(3)
print(os.waitpid(large, 0)[1], os.waitpid(small, 0)[1] >> 8)"""
        result = self.run_python(text, "--memory", "128M")
        self.assertEqual((result["stdout"], result["memory_kills"]), ("9 7\n", 1), result)


class Processors(Watched):
    def test_share_of_processes_and_threads(self):
        text = """
import threading, time
until = time.monotonic() + 3
def spin():
    while time.monotonic() < until: os.getppid()
for i in range(2): os.fork()
for i in range(3): threading.Thread(target=spin).start()
spin()"""
        result = self.run_python(text, "--cpus", "0.2")
        used = result["cpu_user_ms"] + result["cpu_system_ms"] + result["cpu_kernel_ms"]
        self.assertEqual((result["cause"], result["limited_by"]["cpus"]), ("exited", "watched"), result)
        # What is used before the first look, and what a tick is too long, is on top.
        self.assertLess(used, 0.2 * result["wall_ms"] * 1.5 + 300, result)

    def test_nothing_inside_shows_that_it_was_stopped(self):
        script = ("trap 'echo cont' CONT; for i in 1 2 3 4 5 6 7 8; do seq 3000 | sort -n | tail -1; done; "
                  "sleep 0.5 & wait $!; echo $?")
        slow = self.run_json("--cpus", "0.1", "--", "bash", "-c", script)
        fast = self.run_json("--", "bash", "-c", script)
        self.assertEqual((slow["stdout"], slow["status"]), (fast["stdout"], fast["status"]))


class Budgets(Watched):
    def test_processor_time(self):
        for text in ("while True: pass", "while True: os.getppid()",
                     "while True:\n os.fork() or os._exit(sum(range(10**5)) * 0)\n os.wait()"):
            with self.subTest(text):
                result = self.run_json("--cpu-budget", "1", "--", "python3", "-c", "import os\n" + text)
                used = result["cpu_user_ms"] + result["cpu_system_ms"] + result["cpu_kernel_ms"]
                self.assertEqual((result["cause"], result["status"]), ("budget", 137), result)
                self.assertIn("processor time", result["cause_text"])
                self.assertGreater(used, 900, result)
                self.assertLess(used, 5000, result)

    def test_processor_time_of_brief_processes(self):
        for end in ("os._exit(0)", "end_by_the_filter()", "end_without_a_stack()",
                    "os.kill(os.getpid(), 9)"):
            with self.subTest(end):
                text = UNTOLD + f"""
for i in range(100):
    if os.fork() == 0: spin(0.1); {end}
    os.wait()"""
                result = self.run_json("--cpu-budget", "1", "--", "python3", "-c", text)
                self.assertEqual((result["cause"], result["status"]), ("budget", 137), result)

    def test_bytes_written_by_who_ends_untold(self):
        text = UNTOLD + """
f = open("/tmp/f", "w+b")
f.truncate(8 << 20)
for i in range(100):
    if os.fork() == 0:
        m = mmap.mmap(f.fileno(), 0)
        for k in range(0, 8 << 20, 4096): m[k] = 1
        end_without_a_stack()
    os.wait()
    os.fsync(f.fileno())"""
        if not self.counts_dirty_pages():
            self.skipTest("the host does not count what is changed through mappings")
        result = self.run_json("--write-budget", "64M", "--", "python3", "-c", text)
        self.assertEqual((result["cause"], result["status"]), ("budget", 137), result)

    def test_bytes_written(self):
        mapped = ("import mmap; f = open('/tmp/f', 'w+b'); f.truncate(40 << 20); m = mmap.mmap(f.fileno(), 0)\n"
                  "for i in range(0, 40 << 20, 4096): m[i] = 1\n"
                  "import time; time.sleep(20)")
        for command in (["sh", "-c", "while :; do head -c 100000 /dev/zero > /tmp/x; done"],
                        ["sh", "-c", "cat /dev/zero | cat > /dev/null"], ["yes"],
                        ["python3", "-c", mapped]):
            with self.subTest(command[-1]):
                if command[-1] == mapped and not self.counts_dirty_pages():
                    continue
                result = self.run_json("--write-budget", "16M", "--output-limit", "1M", "--timeout", "30",
                                       "--", *command)
                self.assertEqual((result["cause"], result["status"]), ("budget", 137), result["cause_text"])
                self.assertGreater(result["written_bytes"], 16 << 20)
                self.assertLess(result["written_bytes"], 256 << 20)  # a page may be written back and changed again

    def counts_dirty_pages(self):
        """Only for files on a disk: TMPDIR may be in memory."""
        folder = os.environ.get("TMPDIR", "/var/tmp")
        kind = subprocess.run(["stat", "-fc", "%T", folder], capture_output=True, check=False).stdout
        return os.path.exists("/proc/self/io") and kind.strip() not in (b"tmpfs", b"ramfs")

    def test_what_was_written_is_told(self):
        result = self.run_json("--", "sh", "-c", "head -c 100000 /dev/zero > /tmp/x; cat /tmp/x > /dev/null; echo hi")
        self.assertEqual(result["written_bytes"], 100003)

    def test_idle(self):
        result = self.run_json("--idle-timeout", "3", "--", "sh", "-c", "echo up; sleep 600")
        self.assertEqual((result["cause"], result["stdout"]), ("idle", "up\n"))
        busy = "for i in $(seq 60); do sleep 0.1; echo $i; done"
        result = self.run_json("--idle-timeout", "5", "--", "sh", "-c", busy)
        self.assertEqual(result["cause"], "exited")
        result = self.run_json("--idle-timeout", "3", "--", "python3", "-c", "import time\nt = time.monotonic()\n"
                               "while time.monotonic() < t + 5: pass")
        self.assertEqual(result["cause"], "exited")


class Disk(Watched):
    def test_a_full_one(self):
        """Of calls it is an errno; a page that it has no room for ends the program."""
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
            self.skipTest("no mount namespace of one's own here")
        os.mkdir(self.path("disk"))
        self.env["TMPDIR"] = self.path("disk")
        small = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=8M,mode=777 none "$TMPDIR" && exec "$@"', "-"]
        text = ("import mmap, sys; f = open('/tmp/f', 'w+b'); f.truncate(32 << 20); m = mmap.mmap(f.fileno(), 0)\n"
                "for i in range(0, 32 << 20, 4096): m[i] = 1")
        result = self.run_json("--", "python3", "-c", text, before=small)
        self.assertEqual((result["cause"], result["status"], result["signal"]), ("disk", 135, "SIGBUS"), result)
        result = self.run_json("--", "sh", "-c", "head -c 32M /dev/zero > /tmp/f; echo $?", before=small)
        self.assertEqual((result["cause"], result["stdout"]), ("exited", "1\n"), result)


if __name__ == "__main__":
    main(sys.modules[__name__])
