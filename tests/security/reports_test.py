#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That what sanitizers say of any process is heard by the tests: of each kind of process one is sent a signal that is reported as a fault of
its own, while nobody listens to what it says."""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from cases import GLOVEBOX, LIMIT, Case, descendants, is_sanitized, main, wait_until  # noqa: E402
from reports import Reports  # noqa: E402
from server_client import Server  # noqa: E402

COMPILER = shutil.which("gcc")
OVERFLOW = "int main(int count, char **words) { (void)words; return (__INT_MAX__ - 1 + count + count) ? 0 : 1; }\n"


class Heard(Case):
    def setUp(self):
        super().setUp()
        if not is_sanitized():
            self.skipTest("this build has no sanitizers")
        self.reports = self.enterContext(Reports())

    def expect_heard(self, pattern, take):
        said = ""

        def hears():
            nonlocal said
            said += take()
            return pattern in said
        self.assertTrue(wait_until(hears), said)

    def kill(self, pid, take=None):
        os.kill(pid, signal.SIGSEGV)
        self.expect_heard("AddressSanitizer: SEGV", take or self.reports.take)

    def create(self):
        """The starter's pid, and of each program below it by its name."""
        done = subprocess.run([GLOVEBOX, "create", "--allow", "a.example"], capture_output=True, timeout=LIMIT, check=True)
        name = done.stdout.decode().strip()
        self.addCleanup(subprocess.run, [GLOVEBOX, "rm", "--force", name], capture_output=True, timeout=LIMIT, check=False)
        done = subprocess.run([GLOVEBOX, "inspect", "--json", name], capture_output=True, timeout=LIMIT, check=True)
        starter = json.loads(done.stdout)["starter_pid"]
        below = {os.path.basename(os.readlink(f"/proc/{pid}/exe")): pid for pid, _ in reversed(descendants(starter))}
        self.assertEqual(self.reports.take(), "")
        return starter, below

    def test_starter(self):
        self.kill(self.create()[0])

    def test_kernel(self):
        self.kill(self.create()[1]["glovebox-kernel"])

    def test_gateway(self):
        self.kill(self.create()[1]["glovebox-gateway"])

    def test_command(self):
        process = self.start("sh", "-c", "echo; exec sleep 600")
        self.assertEqual(process.stdout.read(1), b"\n")
        self.kill(process.pid)

    def test_launcher(self):
        server = Server(self.folder)
        self.kill(server.process.pid)
        server.process.wait(LIMIT)
        server.process.stdout.close()

    def test_server(self):
        server = Server(self.folder)
        self.kill(server.child(), server.said)
        self.assertRaisesRegex(AssertionError, "SEGV", server.expect_no_report)
        server.stop()

    @unittest.skipUnless(COMPILER, "no compiler")
    def test_undefined_behaviour(self):
        """These have a run-time of their own."""
        program = self.path("overflow")
        subprocess.run([COMPILER, "-fsanitize=address,undefined", "-o", program, self.path("overflow.c", OVERFLOW)], timeout=LIMIT, check=True)
        subprocess.run([program], stderr=subprocess.DEVNULL, timeout=LIMIT, check=False)
        self.expect_heard("__ubsan_handle_add_overflow", self.reports.take)


if __name__ == "__main__":
    main(sys.modules[__name__])
