#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile guests, and what the host looks like afterwards.

    tests/security/run_test.py [WORD...]     all cases, or those whose name has one of these words in it

probes/USER/NAME: each probe of `glovebox doctor --inside`, as an ordinary user and as root of a sandbox, and what
the host looks like to glovebox. detectors/NAME: the same probes where no sandbox is, which must see what they
look for. USER/host: no process, mount or file of the sandbox may be left, and also when the kernel or glovebox
was killed. GLOVEBOX or BUILD name another build, best one with sanitizers.
"""
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GLOVEBOX = os.environ.get("GLOVEBOX", os.path.join(ROOT, os.environ.get("BUILD", "build"),
                                                   "cli/glovebox"))
SECONDS = 600
GONE_SECONDS = 100  # the end of a sandbox that was killed
failed = False


def say(verdict, name, reason=""):
    global failed
    failed |= verdict == "FAIL"
    # In one piece: two say something at a time.
    sys.stdout.write(f"{verdict} {name}" + (f": {reason}" if reason else "") + "\n")
    sys.stdout.flush()


def wanted(name):
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


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


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
        return {line.split()[0] for line in f}


class Host:
    """What must be as before."""

    def __init__(self, store):
        self.store = store
        self.mounts = mounts()

    def trouble(self):
        if mounts() - self.mounts:
            return "a mount is left"
        left = os.listdir(self.store)
        return f"files are left: {left[:3]}" if left else ""


def environment(store):
    return {**os.environ, "TMPDIR": store, "XDG_RUNTIME_DIR": store, "XDG_CACHE_HOME": store}


# ---- probes ----

def doctor(host, *words):
    """(the report, why there is none)"""
    done = subprocess.run([GLOVEBOX, "doctor", "--json", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, env=environment(host.store), timeout=SECONDS, check=False)
    sys.stdout.write("".join(f"  {line}\n" for line in done.stderr.decode(errors="replace").splitlines()))
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return None, f"status {done.returncode}, no report"
    if done.returncode != (0 if report["passed"] else 1):
        return report, f"status {done.returncode}, passed {report['passed']}"
    return report, report["trouble"] or report["problem"] or ""


def say_report(group, report, good):
    for row in report["probes"]:
        name = f"{group}/{row['probe']}"
        reason = row["reason"] or ""
        if row["result"] == good:
            say("ok", name)
        elif row["result"] == "skipped" and reason:
            say("skip", name, reason)
        else:
            say("FAIL", name, f"{row['result']}: {reason} (must follow: {row['expected']})")


def run_probes(user):
    with tempfile.TemporaryDirectory(prefix="glovebox-security-") as store:
        probe(user, Host(store))


def probe(user, host):
    mark = f"probes{os.getpid()}-{user}"
    report, trouble = doctor(host, "--inside", "--user", user, "--name", mark)
    if report:
        say_report(f"probes/{user}", report, "contained")
    say("FAIL" if trouble else "ok", f"probes/{user}", trouble)
    # One that would use the machine's memory up where there is much of it.
    report, trouble = doctor(host, "--inside", "--user", user, "--memory", "320M", "fill_more_memory_than_the_limit")
    if report:
        say_report(f"limited/{user}", report, "contained")
    say("FAIL" if trouble else "ok", f"limited/{user}", trouble)
    trouble = host.trouble() or ("a process is left" if processes_with(mark) else "")
    say("FAIL" if trouble else "ok", f"{user}/host", trouble)


def run_detectors(host):
    report, trouble = doctor(host, "--outside")
    if report:
        say_report("detectors", report, "sees")
    say("FAIL" if trouble else "ok", "detectors", trouble)


# ---- what is killed ----

def wait_until(check, seconds):
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


BUSY = "for i in 1 2 3 4 5 6; do (while :; do echo x > /tmp/$i; /bin/true; done) & done; sleep 60 & echo up; wait"


def kill_case(name, host, choose):
    """Starts a busy sandbox, kills one process that choose names, and expects all to go."""
    mark = f"killed{os.getpid()}-{name}"
    p = subprocess.Popen([GLOVEBOX, "run", "--user", "root", "--name", mark, "--", "/bin/sh", "-c", BUSY],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         env=environment(host.store))
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
    trouble = host.trouble()
    # Of a kernel that was killed the next one sweeps the files.
    if trouble.startswith("files"):
        trouble = ""
    return say("FAIL" if trouble else "ok", f"{name}/host", trouble)


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
    with tempfile.TemporaryDirectory(prefix="glovebox-security-") as store:
        host = Host(store)
        if wanted("detectors"):
            run_detectors(host)
        # At the same time: most probes are a program and its kernel that take turns.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(run_probes, (user for user in ("user", "root") if wanted(f"probes/{user}"))))
        for name, choose in (("kill_the_kernel", kernel_of), ("kill_glovebox", lambda pid: pid)):
            if wanted(name):
                kill_case(name, host, choose)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
