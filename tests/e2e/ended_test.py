#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is known of sandboxes behind their end: ps -a, inspect, wait, rm, --rm."""
import fcntl
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main, wait_until, waits_on_a_socket, where_it_waits  # noqa: E402
from exec_test import glovebox, runtime_folder  # noqa: E402


class Ended(Case):
    def setUp(self):
        super().setUp()
        self.name = f"ended-{os.getpid()}-{self.id().rpartition('.')[2].removeprefix('test_')}"[:63]
        self.addCleanup(glovebox, "rm", "-f", self.name)

    def all(self):
        """What ps -a says of those of that name, the latest first."""
        listed = json.loads(glovebox("ps", "-a", "--json").stdout)
        return [s for s in listed if s["name"] == self.name]

    def inspect(self):
        return json.loads(glovebox("inspect", "--json", self.name).stdout)

    def create(self, *options):
        self.expect(glovebox("create", "--name", self.name, *options), out=f"{self.name}\n".encode(), err=b"")

    def starter(self):
        with open(f"{runtime_folder()}/sandboxes/{self.name}", encoding="utf-8") as f:
            return int(re.search(r"^starter=(\d+)$", f.read(), re.M).group(1))

    def run_to_its_end(self, *words):
        return glovebox("run", "--name", self.name, *words)

    def test_causes(self):
        for words, cause, status, pattern in (
                (("sh", "-c", "exit 3"), "exited", 3, "exited with status 3"),
                (("sh", "-c", "kill -SEGV $$"), "signaled", 139, "ended by SIGSEGV"),
                (("--timeout", "100ms", "sleep", "99"), "timeout", 124, "time limit of 100 ms reached"),
                (("--memory", "32M", "python3", "-c", "bytearray(1 << 30)"), "memory", 137, "memory limit of 32 MiB reached"),
                (("no-such-program",), "not-started", 127, "could not be started")):
            with self.subTest(cause):
                self.assertEqual(self.run_to_its_end(*words).returncode, status)
                seen = self.inspect()
                self.assertEqual((seen["state"], seen["cause"], seen["exit_status"]), ("ended", cause, status))
                self.assertRegex(seen["words"], pattern)
                self.assertGreaterEqual(seen["wall_ms"], 0)
                self.assertFalse(seen["ended_before"])
                done = glovebox("wait", self.name)
                self.expect(done, status, f"{self.name}\t{cause}\t{seen['words']}\n".encode(), b"")
                text = glovebox("inspect", self.name).stdout.decode()
                self.assertIn(f"state      ended: {cause}\n", text)
                self.assertIn(f"status     {status}\n", text)
                row = next(line for line in glovebox("ps", "-a").stdout.decode().splitlines() if line.startswith(self.name))
                self.assertRegex(row, rf"^\S+ +{cause} +{status} +\d+ s ago +\d+ s  .*{pattern[:20]}")
        self.assertEqual(len(self.all()), 5)
        self.assertEqual([s["cause"] for s in self.all()], ["not-started", "memory", "timeout", "signaled", "exited"])

    def test_only_with_all(self):
        self.run_to_its_end("true")
        self.assertNotIn(self.name, glovebox("ps").stdout.decode())
        self.assertNotIn(self.name, glovebox("ps", "--json").stdout.decode())
        self.assertIn(self.name, glovebox("ps", "--all").stdout.decode())

    def test_killed_starter(self):
        """Nothing is lost but when it was; and whoever looks first finds it, once."""
        self.create("--memory", "77M")
        os.kill(self.starter(), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: [s["state"] for s in self.all()] == ["ended"]), self.all())
        seen = self.inspect()
        self.assertEqual((seen["cause"], seen["exit_status"], seen["ended_before"]), ("host-failure", 125, True))
        self.assertRegex(seen["words"], r"^its starter, process \d+, was killed, and the sandbox with it$")
        self.assertEqual(seen["limits"]["memory_bytes"], 77 << 20)
        self.assertIsNone(seen["wall_ms"])
        self.assertRegex(glovebox("inspect", self.name).stdout.decode(), r"(?m)^ended      before 2")
        self.assertEqual(len(self.all()), 1)
        self.expect(glovebox("wait", self.name), 125)

    def test_wait_for_one_that_is_killed_then(self):
        self.create()
        waiting = subprocess.Popen([GLOVEBOX, "wait", self.name], stdout=subprocess.PIPE)
        self.addCleanup(waiting.stdout.close)
        self.assertTrue(wait_until(lambda: waits_on_a_socket(waiting.pid)))
        os.kill(self.starter(), signal.SIGKILL)
        out = waiting.stdout.read().decode()
        self.assertEqual(waiting.wait(), 125)
        self.assertRegex(out, rf"^{self.name}\thost-failure\tits starter")

    def test_names_may_be_used_again(self):
        self.run_to_its_end("sh", "-c", "exit 1")
        self.run_to_its_end("sh", "-c", "exit 2")
        self.assertEqual(self.inspect()["exit_status"], 2)
        self.create()
        self.assertEqual(self.inspect()["state"], "running")
        self.assertEqual([s["state"] for s in self.all()], ["running", "ended", "ended"])
        self.expect(glovebox("stop", self.name), 0)
        self.assertEqual(self.inspect()["cause"], "killed")
        self.expect(glovebox("create", "--name", self.name), 0)

    def test_one_that_is_about_to_be_kept(self):
        """Its kernel is gone, its starter has not written yet how it ended: not another of that name is told."""
        self.run_to_its_end("sh", "-c", "exit 1")
        self.run_to_its_end("sh", "-c", "exit 4")
        kept = f"{runtime_folder()}/ended/" + max(f for f in os.listdir(f"{runtime_folder()}/ended") if f.endswith(f".{self.name}"))
        away = f"{runtime_folder()}/{self.name}"
        os.rename(kept, away)
        self.addCleanup(subprocess.run, ["rm", "-f", away], check=True)
        registered = f"{runtime_folder()}/sandboxes/{self.name}"
        with open(away, "rb") as f, open(registered, "xb") as record:
            fcntl.flock(record, fcntl.LOCK_EX)
            record.write(f.read().partition(b"\0")[0])
            record.flush()
            asking = subprocess.Popen([GLOVEBOX, "inspect", "--json", self.name], stdout=subprocess.PIPE)
            self.assertTrue(wait_until(lambda: asking.poll() is not None or "nanosleep" in where_it_waits(asking.pid)))
            os.rename(away, kept)
            os.unlink(registered)
        seen = json.loads(asking.communicate(timeout=LIMIT)[0] or "{}")
        self.assertEqual((seen.get("state"), seen.get("exit_status")), ("ended", 4))

    def test_options_may_stand_behind_names(self):
        self.run_to_its_end("sh", "-c", "exit 3")
        self.assertEqual(json.loads(glovebox("inspect", self.name, "--json").stdout)["exit_status"], 3)
        for command in ("inspect", "wait", "stop", "kill", "rm", "stats", "events", "port"):
            done = glovebox(command, self.name, "--nothing")
            self.expect(done, 125)
            self.assertEqual(done.stderr, f"glovebox: --nothing: no such option; see glovebox {command} --help\n".encode())
        done = glovebox("wait", self.name, "--", "--nothing")
        self.assertIn(b"--nothing: nothing is known of a sandbox", done.stderr)
        self.expect(glovebox("rm", self.name, "--force"), 0)

    def test_rm(self):
        self.run_to_its_end("true")
        self.run_to_its_end("false")
        self.expect(glovebox("rm", self.name), 0, b"", b"")
        self.assertEqual(self.all(), [])
        self.expect_refused(glovebox("rm", self.name), "nothing is known of a sandbox of this name; glovebox ps -a")
        self.expect_refused(glovebox("inspect", self.name), "nothing is known")
        self.expect_refused(glovebox("wait", self.name), "nothing is known")
        self.expect_refused(glovebox("egress", self.name), "nothing is known")

    def test_rm_of_one_that_runs(self):
        self.create()
        self.expect_refused(glovebox("rm", self.name), "it is running; end it with glovebox stop")
        self.assertEqual(self.inspect()["state"], "running")
        self.expect(glovebox("rm", "-f", self.name), 0, b"", b"")
        self.assertEqual(self.all(), [])

    def test_rm_of_several(self):
        """One that is none does not spare the others."""
        self.run_to_its_end("true")
        done = glovebox("rm", "no-such-one", self.name)
        self.expect_refused(done, "no-such-one: nothing is known")
        self.assertEqual(self.all(), [])

    def test_bad_use(self):
        self.expect_refused(glovebox("rm"), "rm: no name; ")
        self.expect_refused(glovebox("rm", "--forse", "x"), "did you mean --force")
        for name in ("..", "../sandboxes", "a/b", "x" * 300, "*"):
            self.expect_refused(glovebox("rm", "-f", name), "nothing is known of a sandbox")

    def test_nothing_is_kept_with_rm(self):
        self.expect(self.run_to_its_end("--rm", "sh", "-c", "exit 4"), 4)
        self.assertEqual(self.all(), [])
        self.create("--rm")
        os.kill(self.starter(), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not self.all()))
        self.expect(glovebox("create", "--rm", "--name", self.name), 0)
        self.expect(glovebox("rm", "--force", self.name), 0, b"", b"")

    def test_a_stranger_wrote_it(self):
        """What programs say and are called gets into the record, and not into the terminal."""
        self.run_to_its_end("sh", "-c", "kill -9 $$", "\x1b[2J\nNAME")
        for words in (("ps", "-a"), ("inspect", self.name)):
            out = glovebox(*words).stdout
            self.assertNotIn(b"\x1b", out)
            self.assertNotIn(b"\nNAME\n", out)
        self.assertEqual(glovebox("stop", self.name).returncode, 125)


if __name__ == "__main__":
    main(sys.modules[__name__])
