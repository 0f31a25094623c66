#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile guests, and what the host looks like afterwards.

    tests/security/run_test.py [WORD...]     all cases, or those whose name has one of these words in it

Each tests/security/*.c runs in a sandbox of its own, as its root: "ok PROGRAM/CASE" or "FAIL PROGRAM/CASE".
A canary lies on the host where no sandbox may see or touch it. After each program, and after the kernel or
glovebox was killed, no process, mount, socket or file of the sandbox may be left. GLOVEBOX or BUILD name another
build, best one with sanitizers.
"""
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GLOVEBOX = os.environ.get("GLOVEBOX", os.path.join(ROOT, os.environ.get("BUILD", "build"),
                                                   "cli/glovebox"))
SECONDS = 600
GONE_SECONDS = 10  # the end of a sandbox that was killed
TEXT = "canary-" + os.urandom(8).hex()
VERDICT = re.compile(r"(ok|FAIL|skip) (\S+?)(?:: (.*))?$")
failed = False


def say(verdict, name, reason=""):
    global failed
    failed |= verdict == "FAIL"
    print(f"{verdict} {name}" + (f": {reason}" if reason else ""), flush=True)


def compile_program(name, folder):
    program = os.path.join(folder, name)
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-I", ROOT, "-O1", "-w", "-static", "-pthread",
                    os.path.join(HERE, name + ".c"), os.path.join(ROOT, "tests/harness/harness.c"), "-o",
                    program], check=True)
    return program


def processes_with(mark):
    """Those whose environment or command line has the mark, and all below them."""
    parents, found = {}, set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if mark.encode() in f.read():
                    found.add(int(pid))
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            parents[int(pid)] = int(fields[1])
    grown = True
    while grown:
        grown = {p for p, parent in parents.items() if parent in found and p not in found}
        found |= grown
    return found & set(parents)


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
        return {line.split()[0] for line in f}


class Canary:
    def __init__(self, folder):
        self.path = os.path.join(folder, "canary")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(TEXT)
        os.chmod(self.path, 0o644)  # whoever gets there can read it
        self.before = self.look()

    def look(self):
        s = os.lstat(self.path)
        with open(self.path, encoding="utf-8") as f:
            return f.read(), stat.S_IMODE(s.st_mode), s.st_ino, s.st_size, s.st_uid, s.st_mtime_ns


class Host:
    """What must be as before."""

    def __init__(self, canary, store):
        self.canary, self.store = canary, store
        self.mounts = mounts()

    def trouble(self):
        if self.canary.look() != self.canary.before:
            return "the canary was touched"
        if mounts() - self.mounts:
            return "a mount is left"
        left = os.listdir(self.store)
        return f"files are left: {left[:3]}" if left else ""


def environment(store):
    return {**os.environ, "TMPDIR": store, "XDG_RUNTIME_DIR": store, "XDG_CACHE_HOME": store}


def words(*more):
    return [GLOVEBOX, "run", "--user", "root", *more]


def run_program(name, program, host, mark):
    command = words("--name", mark, "--timeout", str(SECONDS), "--mount", f"{program}:/hostile:ro",
                    "--env", "GLOVEBOX_TEST_INSIDE=1", "--env", f"GLOVEBOX_CANARY={host.canary.path}",
                    "--env", f"GLOVEBOX_CANARY_TEXT={TEXT}", "--", "/hostile")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment(host.store),
                          timeout=SECONDS + 60, check=False)
    said = (done.stdout + b"\n" + done.stderr).decode(errors="replace").splitlines()
    seen = 0
    for line in said:
        match = VERDICT.match(line)
        seen += bool(match)
        if match:
            say(match[1], f"{name}/{match[2]}", match[3] or "")
        elif line.strip():
            print(line)
    if done.returncode not in (0, 1) or not seen or b"kernel:" in done.stderr:
        say("FAIL", name, f"status {done.returncode}")
    if TEXT in "\n".join(said):
        say("FAIL", f"{name}/canary", "it was read")
    trouble = host.trouble() or ("a process is left" if processes_with(mark) else "")
    say("FAIL" if trouble else "ok", f"{name}/host", trouble)


def wait_until(check, seconds):
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


BUSY = "for i in 1 2 3 4 5 6; do (while :; do echo x > /tmp/$i; /bin/true; done) & done; sleep 60 & echo up; wait"


def kill_case(name, host, mark, choose):
    """Starts a busy sandbox, kills one process that choose names, and expects all to go."""
    p = subprocess.Popen(words("--name", mark, "--", "/bin/sh", "-c", BUSY), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(host.store))
    try:
        if p.stdout.readline() != b"up\n":
            return say("FAIL", name, "did not start")
        before = processes_with(mark)
        time.sleep(0.3)
        os.kill(choose(p.pid), signal.SIGKILL)
        gone = wait_until(lambda: not (processes_with(mark) | {q for q in before if alive(q)}) - {p.pid},
                          GONE_SECONDS)
        p.wait(GONE_SECONDS)
        say("ok" if gone else "FAIL", name, "" if gone else "processes are left")
    finally:
        p.kill()
        p.wait()
        p.stdout.close()
    return None


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def kernel_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        return int(f.read().split()[0])


def main():
    chosen = sys.argv[1:]
    names = sorted(f[:-2] for f in os.listdir(HERE) if f.endswith(".c"))
    with tempfile.TemporaryDirectory(prefix="glovebox-security-") as folder:
        store = os.path.join(folder, "store")
        os.mkdir(store)
        os.chmod(folder, 0o755)
        host = Host(Canary(folder), store)
        for number, name in enumerate(names):
            if not chosen or any(w in name for w in chosen):
                run_program(name, compile_program(name, folder), host, f"hostile{os.getpid()}-{number}")
        for name, choose in (("kill_the_kernel", kernel_of), ("kill_glovebox", lambda pid: pid)):
            if not chosen or any(w in name for w in chosen):
                kill_case(name, host, f"hostile{os.getpid()}-{name}", choose)
                trouble = host.trouble()
                # Of a kernel that was killed the next one sweeps the files.
                if trouble.startswith("files"):
                    trouble = ""
                say("FAIL" if trouble else "ok", f"{name}/host", trouble)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
