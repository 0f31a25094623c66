#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that the sandbox's kernel can't interrupt.

    tests/security/deaf_test.py [WORD...]     all cases, or those whose name has one of these words in it

deaf/WAY/END: a program is deaf in one of the ways of probes/deaf_ways.c, and is ended from outside: by its time
limit, by a signal to glovebox, by what it may use of processors. GLOVEBOX or BUILD name another build.
"""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GLOVEBOX = os.environ.get("GLOVEBOX", os.path.join(ROOT, os.environ.get("BUILD", "build"),
                                                   "cli/glovebox"))
PROBES = os.path.join(os.path.dirname(os.path.dirname(GLOVEBOX)), "probes/glovebox-probes")
TOGETHER = 3
SECONDS = 100  # after which something hangs
# What the program has broken ends it at once where it is disturbed, and one that sleeps uses nothing.
MAY_CRASH = {"unmap_the_stub", "lose_the_alternate_stack", "run_without_a_stack"}
SLEEPS = {"sleep_for_ever", "wait_for_a_vfork"}
BLOCKS = {"block_on_the_host"}
KICK = 1 << (signal.SIGURG - 1)
failed = False


def say(verdict, name, reason=""):
    global failed
    failed |= verdict == "FAIL"
    print(f"{verdict} {name}" + (f": {reason}" if reason else ""), flush=True)


def wanted(name):
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


def command(way, *options):
    return [GLOVEBOX, "run", "--rm", "--json", *options, "--mount", f"{PROBES}:/probes:ro", "--env",
            "GLOVEBOX_PROBE_INSIDE=1", "--", "/probes", "--deaf", way]


def statuses(pid):
    """/proc/PID/status of all processes below pid."""
    todo, found = [pid], []
    while todo:
        at = todo.pop()
        try:
            with open(f"/proc/{at}/task/{at}/children", encoding="utf-8") as f:
                todo += f.read().split()
            with open(f"/proc/{at}/status", encoding="utf-8", errors="replace") as f:
                found.append(f.read())
        except OSError:
            continue
    return found


def holds_kick_back(pid):
    return any(int(re.search(r"^SigBlk:\s*(\w+)", s, re.M)[1], 16) & KICK
               for s in statuses(pid) if "Name:\tprobes\n" in s)


def end_of(process, expected):
    """What is wrong with the end of one that must come."""
    try:
        out, _ = process.communicate(timeout=SECONDS)
        result = json.loads(out)
    except subprocess.TimeoutExpired:
        return "it did not end"
    except ValueError:
        return f"no result, status {process.returncode}"
    said = result["cause"], result["status"]
    return "" if said in expected else f"ended by {said[0]}, status {said[1]}: {result['message']}"


def attempt(name, way, options, expected, disturb):
    with tempfile.TemporaryDirectory(prefix="glovebox-deaf-") as store:
        env = {**os.environ, "TMPDIR": store, "XDG_RUNTIME_DIR": store}
        process = subprocess.Popen(command(way, *options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=env)
        try:
            trouble = disturb(process, way) or end_of(process, expected)
        finally:
            process.kill()
            process.communicate()
        left = os.listdir(store)
        return name, trouble or (f"files are left: {left[:3]}" if left else "")


def wait_for_deafness(process, way):
    until = time.monotonic() + SECONDS
    while way in BLOCKS and not holds_kick_back(process.pid):
        if time.monotonic() > until or process.poll() is not None:
            return "the host never held the signal back"
        time.sleep(0.02)
    return ""


def send(process, way):
    until = time.monotonic() + SECONDS
    while not any("Name:\tprobes\n" in s for s in statuses(process.pid)):
        if time.monotonic() > until:
            return "it did not start"
        time.sleep(0.02)
    trouble = wait_for_deafness(process, way)
    process.send_signal(signal.SIGTERM)
    return trouble


ENDS = {
    "timeout": (("--timeout", "1", "--grace", "300ms"), {("timeout", 124)}, wait_for_deafness),
    # By the signal itself where that is not blocked yet.
    "signal": (("--grace", "300ms"), {("killed", 143), ("killed", 137)}, send),
    "cpu_budget": (("--cpu-budget", "500ms"), {("budget", 137)}, lambda process, way: ""),
}


def main():
    ways = subprocess.run([PROBES, "--deaf"], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        cases = []
        for end, (options, expected, disturb) in ENDS.items():
            for way in ways:
                name = f"deaf/{way}/{end}"
                if not wanted(name) or (end == "cpu_budget" and way in SLEEPS):
                    continue
                if way in MAY_CRASH:
                    expected = expected | {("killed", 139)}
                cases.append(pool.submit(attempt, name, way, options, expected, disturb))
        for name, trouble in (case.result() for case in cases):
            say("FAIL" if trouble else "ok", name, trouble)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
