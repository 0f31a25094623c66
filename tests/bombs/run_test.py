#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that use up whatever they can get, each in a small sandbox.

    tests/bombs/run_test.py [WORD...]     all cases, or those whose name has one of these words in it

limits/NAME: everything that a guest can make grow in the sandbox's kernel is bounded (limits.c). CALLER/NAME: a
bomb (bombs.c) goes off; meanwhile other sandboxes start, run and end; the bomb ends as it must; and nothing of it
is left: no process, control group, mount, file or entry of the registry. CALLER is who started it, and when that
is root an ordinary user too, who has no control groups here, so that the sandbox's kernel is what holds the bomb.
GLOVEBOX or BUILD name another build.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GLOVEBOX = os.environ.get("GLOVEBOX", os.path.join(ROOT, os.environ.get("BUILD", "build"), "cli/glovebox"))
NOBODY = 65534
CGROUPS = "/sys/fs/cgroup"
NEIGHBOURS = 3  # that run while a bomb goes off
SECONDS = 120  # after which something hangs
LIMITS_SECONDS = 400  # all limits, one after the other, also with sanitizers
GLOVEBOX_MEMORY = 64 << 20  # that glovebox itself stays below, whatever comes out
# A sanitizer's shadow, and what it keeps for a while of what was freed (ASan: 256 MiB), count as the kernel's. Where
# the programs are to reach the limit, that is left as it is.
MEMORY_MIB, SANITIZED_MIB = 256, 512
SMALL = ["--pids", "64", "--disk", "128M", "--inodes", "20000", "--timeout", "2",
         "--grace", "500ms", "--output-limit", "64K"]

# What ends it. Where both stand, what can be had is bounded below the memory or above it, by what else there is.
TIME, MEMORY, EITHER = ("timeout",), ("memory",), ("timeout", "memory")
BOMBS = {
    "forks": TIME, "threads": TIME, "orphans": TIME, "vforks": TIME, "deafness": TIME, "stops": TIME, "execs": TIME,
    "memory": MEMORY, "memory_of_many": EITHER, "page_tables": MEMORY, "mappings": EITHER,
    "memory_files": EITHER, "shared_memory": EITHER, "pipes": EITHER, "sockets": EITHER, "locks": TIME,
    "watches": TIME, "files_in_memory": TIME, "inodes": TIME, "sparse_files": TIME, "deep_folders": TIME,
    "output": TIME,
}
COMMANDS = {
    "yes_100G": (["sh", "-c", "yes | head -c 100G > /dev/null"], TIME),
    "yes_to_the_caller": (["sh", "-c", "yes | head -c 100G"], TIME),
    "shell_forks": (["bash", "-c", ":(){ :|:& };:; sleep 60"], TIME),
    "ulimits_raised": (["bash", "-c", "ulimit -n 65536; exec 9</dev/zero; for ((i = 10; i < 60000; i++)); do "
                                      "eval \"exec $i<&9\"; done; sleep 60"], TIME),
}
VERDICT = re.compile(r"(ok|FAIL|skip) (\S+?)(?:: (.*))?$")
failed = False


def say(verdict, name, reason=""):
    global failed
    failed |= verdict == "FAIL"
    print(f"{verdict} {name}" + (f": {reason}" if reason else ""), flush=True)


def wanted(name):
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


def is_sanitized():
    with open(os.path.join(os.path.dirname(os.path.dirname(GLOVEBOX)), "kernel/glovebox-kernel"), "rb") as f:
        return b"__asan_init" in f.read()


def compile_program(name, folder, *sources):
    program = os.path.join(folder, name)
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-I", ROOT, "-O1", "-w", "-static", "-pthread",
                    os.path.join(HERE, name + ".c"), *(os.path.join(ROOT, s) for s in sources), "-o", program],
                   check=True)
    return program


class Caller:
    """Who starts sandboxes, with a store and a registry of its own."""

    def __init__(self, name, before, folder, uid=None):
        self.name, self.before = name, before
        self.store, self.runtime = os.path.join(folder, name, "store"), os.path.join(folder, name, "run")
        for path in (self.store, self.runtime):
            os.makedirs(path, 0o700)
        self.env = {**os.environ, "TMPDIR": self.store, "XDG_RUNTIME_DIR": self.runtime,
                    "HOME": self.runtime, "XDG_CONFIG_HOME": self.runtime}
        if uid is not None:
            for path in (os.path.dirname(self.store), self.store, self.runtime):
                os.chown(path, uid, uid)

    def command(self, *words):
        return [*self.before, GLOVEBOX, "run", *words]

    def run(self, *words):
        return subprocess.run(self.command(*words), env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS + LIMITS_SECONDS, check=False)


def find_callers(folder):
    yield Caller("caller", [], folder)
    if os.geteuid() == 0 and shutil.which("setpriv"):
        yield Caller("user", ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"], folder, NOBODY)


# ---- what is left ----

def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
        return {line.split()[0] for line in f}


def processes_with(mark):
    """Those whose command line has the mark, and all below them."""
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


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()
    except OSError:
        return None


def begun(pids):
    """{pid: when it began}, by which a number that is used again is told."""
    return {pid: fields[19] for pid in pids if (fields := stat_of(pid))}


def outlived(before):
    """Those of begun() that are still there, if only as what the machine takes apart."""
    return [pid for pid, start in before.items() if (fields := stat_of(pid)) and fields[19] == start]


def groups_with(mark):
    return [name for _, names, _ in os.walk(CGROUPS) for name in names if mark in name]


def entries_with(mark, caller):
    """But for the records of what it looked up and connected to (glovebox egress) and of what came of it (glovebox ps -a),
    which stay for a while."""
    places = [caller.runtime, "/run/glovebox"]
    return [name for place in places for folder, _, names in os.walk(place) for name in names
            if mark in name and os.path.basename(folder) not in ("egress", "ended")]


def traces(mark, caller, mounts_before):
    if groups_with(mark):
        return "a control group is left"
    if mounts() - mounts_before:
        return "a mount is left"
    if os.listdir(caller.store):
        return f"files are left: {os.listdir(caller.store)[:3]}"
    return "an entry of the registry is left" if entries_with(mark, caller) else ""


def trouble_after(mark, caller, mounts_before):
    """What glovebox could not take away, since the machine held it up, the next one does."""
    if processes_with(mark):
        return "a process is left"
    if not traces(mark, caller, mounts_before):
        return ""
    caller.run("--", "true")
    return traces(mark, caller, mounts_before)


# ---- bombs ----

def neighbours_trouble(caller):
    for _ in range(NEIGHBOURS):
        done = caller.run("--", "true")
        if done.returncode != 0:
            return f"a neighbour's true: status {done.returncode}: {done.stderr.decode(errors='replace')[:200]}"
    return ""


def peak_bytes(process):
    """Of glovebox itself so far; 0 when it has ended."""
    try:
        with open(f"/proc/{process.pid}/status", encoding="utf-8", errors="replace") as f:
            found = re.search(r"^VmHWM:\s+(\d+) kB", f.read(), re.M)
            return int(found[1]) * 1024 if found else 0
    except OSError:
        return 0


def result_of(process, out):
    """(what --json says, why it says nothing)"""
    process.wait(SECONDS)
    out.seek(0)
    try:
        return json.loads(out.read()), ""
    except ValueError:
        return None, "no result"


def light(name, caller, command, causes):
    patience = ("--timeout", str(SECONDS - 20)) if causes == MEMORY else ()
    memory = f"{MEMORY_MIB + (SANITIZED_MIB if is_sanitized() and causes != MEMORY else 0)}M"
    mark, before = f"bomb{os.getpid()}-{caller.name}-{name.replace('_', '-')}"[:60].lower(), mounts()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(caller.command("--json", "--name", mark, "--memory", memory, *SMALL, *patience, *command),
                                   env=caller.env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        trouble = neighbours_trouble(caller)
        peak, seen = peak_bytes(process), begun(processes_with(mark) - {process.pid})
        result, why = result_of(process, out)
        left = outlived(seen)
    trouble = trouble or why
    if left:
        trouble = trouble or f"{len(left)} processes outlived glovebox"
    if peak > GLOVEBOX_MEMORY:
        trouble = trouble or f"glovebox itself took {peak >> 20} MiB"
    if result and result["cause"] not in causes:
        trouble = trouble or f"ended by {result['cause']}: {result['message']}"
    trouble = trouble or trouble_after(mark, caller, before)
    say("FAIL" if trouble else "ok", f"{caller.name}/{name}", trouble)


def run_bombs(program, caller):
    for name, causes in BOMBS.items():
        if wanted(f"{caller.name}/{name}"):
            light(name, caller, ["--mount", f"{program}:/bombs:ro", "--", "/bombs", name], causes)
    for name, (command, causes) in COMMANDS.items():
        if wanted(f"{caller.name}/{name}"):
            light(name, caller, ["--", *command], causes)


# ---- limits ----

def run_limits(program, caller, folder):
    mounted = tempfile.mkdtemp(prefix="listed-", dir=folder)
    done = caller.run("--timeout", str(LIMITS_SECONDS), "--user", "root", "--mount", f"{program}:/limits:ro",
                      "--mount", f"{mounted}:/listed:rw", "--env", "LIMITS_FOLDER=/listed",
                      "--env", "GLOVEBOX_TEST_INSIDE=1", "--", "/limits")
    seen = 0
    for line in (done.stdout + b"\n" + done.stderr).decode(errors="replace").splitlines():
        match = VERDICT.match(line)
        seen += bool(match)
        if match:
            say(match[1], f"limits/{match[2]}", match[3] or "")
        elif line.strip():
            print("  " + line)
    if done.returncode not in (0, 1) or not seen:
        say("FAIL", "limits", f"status {done.returncode}")


def main():
    with tempfile.TemporaryDirectory(prefix="glovebox-bombs-") as folder:
        os.chmod(folder, 0o755)
        bombs = compile_program("bombs", folder)
        for number, caller in enumerate(find_callers(folder)):
            run_bombs(bombs, caller)
            if number == 0 and wanted("limits"):
                run_limits(compile_program("limits", folder, "tests/harness/harness.c"), caller, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
