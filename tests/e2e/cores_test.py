#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where cores have threads and Linux can keep strangers off the second one: the kernel of a sandbox and its tasks have a
core-scheduling cookie that nobody else has, whatever they start. Elsewhere what is said of it fits the machine.

    tests/e2e/cores_test.py [NAME...]      all cases, or those whose name has one of these words in it
"""
import ctypes
import errno
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, descendants, main, wait_until  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SCHED_CORE, GET, CREATE, OF_PROCESS = 62, 0, 1, 1
POLICY = '{"version": 1, "rules": [{"id": "r", "action": "allow", "to": {"domain": ["a.test"]}}]}'
# A thread, a child that executes, one that is nobody's child any more, and their own threads.
BUSY = """
import os, subprocess, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execvp("sleep", ["sleep", "1001"])
subprocess.Popen(["sh", "-c", "sleep 1002; true"])
time.sleep(1000)
"""
PROGRAMS = ("sleep 1001", "sh -c sleep 1002; true", "sleep 1002", "sleep 1003")


def sched_core(*words):
    if LIBC.prctl(PR_SCHED_CORE, *words) < 0:
        raise OSError(ctypes.get_errno(), "PR_SCHED_CORE")


def cookie(thread):
    """0: none. It is no secret, and no address: a hash that is the same for the same cookie."""
    value = ctypes.c_uint64(0)
    sched_core(GET, thread, 0, ctypes.byref(value))
    return value.value


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
            return f.read().rstrip("\0").replace("\0", " ")
    except OSError:
        return ""


def cookies(pids):
    """Of all threads of these processes."""
    return {cookie(int(thread)) for pid in pids for thread in os.listdir(f"/proc/{pid}/task")}


def found():
    """What doctor says of it."""
    done = subprocess.run([GLOVEBOX, "doctor", "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
    return next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "core scheduling")


class Cores(Case):
    def glovebox(self, *words):
        done = subprocess.run([GLOVEBOX, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def begin(self, name, *words, **more):
        """The starter, and the kernel, of a sandbox."""
        process = self.start("--name", name, *words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        self.assertTrue(wait_until(lambda: b'"seal"' in self.inspected(name)))
        return process.pid, json.loads(self.inspected(name))["pid"]

    def inspected(self, name):
        return subprocess.run([GLOVEBOX, "inspect", "--json", name], capture_output=True, timeout=LIMIT).stdout

    def inside(self, kernel, *programs):
        """The kernel and its tasks, once those programs run."""
        self.assertTrue(wait_until(lambda: set(programs) <= {command(pid) for pid, _ in descendants(kernel)}),
                        [command(pid) for pid, _ in descendants(kernel)])
        return [kernel, *(pid for pid, _ in descendants(kernel))]

    def need(self):
        try:
            cookie(0)
        except OSError as e:
            self.skipTest("no core of this machine has threads" if e.errno == errno.ENODEV else
                          "this Linux has no core scheduling, or no core has threads")

    def test_a_cookie_for_each_sandbox(self):
        self.need()
        mine, seen = cookie(0), []
        for name in (f"one-{os.getpid()}", f"two-{os.getpid()}"):
            starter, kernel = self.begin(name, "--policy", self.path("policy", POLICY), "--", "python3", "-c", BUSY)
            self.inside(kernel, *PROGRAMS[:-1])
            ask = subprocess.Popen([GLOVEBOX, "exec", name, "--", "sleep", "1003"], stdin=subprocess.DEVNULL)
            self.addCleanup(ask.wait)
            self.addCleanup(ask.kill)
            sandbox = self.inside(kernel, *PROGRAMS)
            self.assertEqual(json.loads(self.inspected(name))["seal"]["core-scheduling"]["state"], "in-force")
            has = cookies(sandbox)
            self.assertEqual(len(has), 1, has)
            seen += has
            # Whoever serves the sandbox from outside stays with its caller.
            others = [pid for pid, _ in descendants(starter) if pid not in sandbox and command(pid)]
            self.assertTrue(any("gateway" in command(pid) for pid in others), [command(pid) for pid in others])
            self.assertEqual(cookies([starter, *others]), {mine})
        self.assertEqual(len({mine, *seen}), 3, (mine, seen))
        self.assertNotIn(0, seen)

    def test_that_of_a_caller_is_not_shared(self):
        self.need()
        name = f"one-{os.getpid()}"
        starter, kernel = self.begin(name, "--", "sleep", "1003",
                                     preexec_fn=lambda: sched_core(CREATE, 0, OF_PROCESS, 0))
        has = cookies(self.inside(kernel, "sleep 1003"))
        self.assertEqual(len(has), 1)
        self.assertEqual(len({0, cookie(starter), *has}), 3)

    def test_what_is_said(self):
        check = found()
        try:
            cookie(0)
            words, state = "there", "in-force"
        except OSError:
            words, state = "not needed|none", "not-needed|missing"
        self.assertRegex(check["found"], rf"\A({words})")
        name = f"one-{os.getpid()}"
        self.begin(name, *(["--allow-missing", "core-scheduling"] if check["state"] == "missing" else []), "--", "sleep", "1003")
        said = json.loads(self.inspected(name))["seal"]["core-scheduling"]["state"]
        self.assertRegex(said, rf"\A({state})\Z")
        self.assertEqual(said == "missing", check["state"] == "missing")


if __name__ == "__main__":
    main(sys.modules[__name__])
