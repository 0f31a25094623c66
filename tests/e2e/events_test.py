#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What happens to sandboxes: events; and labels, by which they are found."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, main, wait_until  # noqa: E402
from exec_test import Living, glovebox, runtime_folder  # noqa: E402


def is_looking(pid):
    """It watches the record, and sleeps."""
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return "anon_inode:inotify" in links and f.read().rpartition(")")[2].split()[0] == "S"
    except OSError:
        return False


class Events(Living):
    def events(self, *options):
        done = glovebox("events", "--no-follow", "--json", *options, self.name)
        self.expect(done, err=b"")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def follow(self, *options):
        process = subprocess.Popen([GLOVEBOX, "events", "--json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        # It tells what happens from now on when it has begun to look.
        self.assertTrue(wait_until(lambda: is_looking(process.pid) or process.poll() is not None))
        return process

    def next(self, process):
        return json.loads(process.stdout.readline())

    def test_a_life(self):
        self.create("--label", "a=b")
        self.exec("sh", "-c", "exit 3", options=("--tag", "one"))
        self.exec("sh", "-c", "kill -TERM $$")
        self.exec("sleep", "600", options=("--timeout", "0.1"))
        self.exec("no-such-program")
        self.expect(glovebox("exec", "-d", self.name, "--", "sh", "-c", "trap '' TERM; echo deaf; exec sleep 600"))
        self.assertTrue(wait_until(lambda: b"deaf" in glovebox("logs", self.name).stdout))
        glovebox("kill", self.name)
        seen = self.events()
        self.assertEqual([(e["type"], e.get("cause"), e.get("status")) for e in seen], [
            ("start", None, None),
            ("exec-start", None, None), ("exec-end", "exited", 3),
            ("exec-start", None, None), ("exec-end", "signaled", 143),
            ("exec-start", None, None), ("exec-end", "timeout", 124),
            ("exec-end", "not-started", 127),
            ("exec-start", None, None), ("exec-end", "sandbox-ended", 137),
            ("end", "killed", 143)])
        self.assertEqual((seen[1]["tag"], seen[1]["command"]), ("one", "sh -c exit 3"))
        self.assertEqual(seen[1]["pid"], seen[2]["pid"])
        self.assertRegex(seen[7]["words"], "not found")
        self.assertRegex(seen[-1]["words"], "glovebox kill")
        self.assertGreaterEqual(seen[6]["wall_ms"], 100)
        self.assertEqual(sorted(e["time_ms"] for e in seen), [e["time_ms"] for e in seen])
        text = glovebox("events", "--no-follow", self.name).stdout.decode().splitlines()
        self.assertEqual(len(text), len(seen))
        self.assertRegex(text[2], rf"^\d{{4}}-\S+Z  exec-end    {self.name} \d+ one  exited, status 3  sh -c exit 3$")

    def test_run(self):
        glovebox("run", "--rm", "--name", self.name, "sh", "-c", "exit 5")
        self.assertEqual([(e["type"], e.get("cause"), e.get("status"), e["command"]) for e in self.events()],
                         [("start", None, None, "sh -c exit 5"), ("end", "exited", 5, "sh -c exit 5")])

    def test_follow(self):
        process = self.follow(self.name)
        glovebox("run", "--name", "events-other", "--rm", "true")
        self.create("--lifetime", "300ms")
        self.assertEqual(self.next(process)["type"], "start")
        self.assertEqual(self.next(process)["cause"], "lifetime")
        self.assertIsNone(process.poll())

    def test_who_follows_is_told_of_a_killed_starter(self):
        for before, options in enumerate(((), ("--rm",))):
            with self.subTest(options):
                process = self.follow("--since", "1h", self.name)
                self.create(*options)
                for _ in range(2 * before):  # start and end of the ones before
                    self.next(process)
                self.assertEqual(self.next(process)["type"], "start")
                os.kill(self.starter(), signal.SIGKILL)
                end = self.next(process)
                self.assertEqual((end["type"], end["cause"], end["status"]), ("end", "host-failure", 125))
                self.assertTrue(wait_until(lambda: not self.is_listed()))
                self.assertEqual(sum(e["type"] == "end" for e in self.events("--since", "1h")),
                                 sum(e["type"] == "start" for e in self.events("--since", "1h")))
                process.kill()
                process.wait()

    def test_since(self):
        glovebox("run", "--name", self.name, "true")
        self.assertEqual(len(self.events("--since", "1h")), 2)
        self.assertTrue(wait_until(lambda: not self.events("--since", "1ms")))

    def test_a_reader_that_goes(self):
        process = self.follow(self.name)
        process.stdout.close()
        process.stdout = None
        self.assertNotEqual(process.wait(LIMIT), 0)

    def test_bad_use(self):
        self.expect_refused(glovebox("events", "--since", "yesterday"), "--since")
        self.expect_refused(glovebox("events", "--until", "1h"), "--no-follow")
        self.assertIn(b"Usage: glovebox events", glovebox("events", "--help").stdout)

    # ---- what a stranger had a say in ----

    def test_hostile_words(self):
        self.create()
        hostile = "\x1b]0;owned\x07\n{\"type\":\"end\",\"sandbox\":\"" + self.name + "\"}\n\\\"\u202e"
        self.exec("sh", "-c", "true", hostile, options=("--tag", "t\x1b[31m\n"))
        self.exec(hostile)
        raw = glovebox("events", "--no-follow", "--json", self.name).stdout
        seen = [json.loads(line) for line in raw.splitlines()]
        self.assertEqual([e["type"] for e in seen], ["start", "exec-start", "exec-end", "exec-end"])
        text = glovebox("events", "--no-follow", self.name).stdout.decode()
        self.assertEqual(len(text.splitlines()), 4)
        for what in ("\x1b", "\x07", "\u202e"):
            self.assertNotIn(what, text)

    def test_long_words(self):
        self.create()
        self.exec("true", "\\\"" * 30000)
        self.assertEqual([e["type"] for e in self.events()], ["start", "exec-start", "exec-end"])

    def test_lines_that_are_none(self):
        self.create()
        with open(f"{runtime_folder()}/events/log", "ab") as f:
            f.write(b"\n\0\xff\n{\n[]\n{\"time_ms\":true}\n{\"time_ms\":99999999999999999999,\"type\":\"end\"}\n"
                    b"{\"time_ms\":5,\"type\":7}\n" + b"x" * 100000 + b"\n" + b"[" * 5000 + b"\n")
        self.exec("true")
        self.assertEqual([e["type"] for e in self.events()], ["start", "exec-start", "exec-end"])

    def test_the_log_is_bounded_and_nothing_new_is_lost(self):
        folder = f"{runtime_folder()}/events"
        process = self.follow(self.name)
        self.create()
        self.assertEqual(self.next(process)["type"], "start")
        line = json.dumps({"time_ms": 5, "type": "filler", "sandbox": "x" * 900}).encode() + b"\n"
        for _ in range(3):
            with open(f"{folder}/log", "ab") as f:
                f.write(line * 1200)
            self.exec("true")
            self.assertEqual([self.next(process)["type"] for _ in range(2)], ["exec-start", "exec-end"])
        self.assertLess(os.path.getsize(f"{folder}/log"), 1 << 20)
        self.assertLess(os.path.getsize(f"{folder}/log.old"), 3 << 20)
        self.assertEqual(sorted(os.listdir(folder)), ["log", "log.old"])

    def test_many_write_at_once(self):
        before = len(self.events())
        self.create()
        running = [self.start_exec("true") for _ in range(40)]
        for process in running:
            self.assertEqual(process.wait(LIMIT), 0)
        seen = self.events()[before:]
        self.assertEqual([e["type"] for e in seen].count("exec-end"), 40)


class Labels(Living):
    def listed(self, *filters, ended=False):
        words = [w for f in filters for w in ("--filter", f"label={f}")]
        found = json.loads(glovebox("ps", "--json", *(["-a"] if ended else []), *words).stdout)
        return {s["name"] for s in found}

    def test_found_again(self):
        self.create("-l", "team=red", "--label", "job", "--label", "team=blue", "--label", f"own={self.name}")
        own = f"own={self.name}"
        self.assertEqual(self.listed(own), {self.name})
        self.assertEqual(self.listed(own, "team=blue", "job", "job="), {self.name})
        for other in ("team=red", "team=", "te", "teams", "job=1", "own"[:-1]):
            self.assertEqual(self.listed(own, other), set(), other)
        self.assertEqual(json.loads(glovebox("inspect", "--json", self.name).stdout)["labels"],
                         {"team": "blue", "job": "", "own": self.name})
        self.assertIn(b"\nlabel      team=blue\n", glovebox("inspect", self.name).stdout)
        glovebox("kill", self.name)
        self.assertEqual(self.listed(own), set())
        self.assertEqual(self.listed(own, ended=True), {self.name})
        self.assertEqual(json.loads(glovebox("inspect", "--json", self.name).stdout)["labels"]["team"], "blue")
        self.assertIn(b"\nlabel      team=blue\n", glovebox("inspect", self.name).stdout)

    def test_programs_do_not_see_them(self):
        done = glovebox("run", "--rm", "--label", "secret=word", "sh", "-c", "env; cat /proc/*/environ /proc/*/cmdline")
        self.assertNotIn(b"word", done.stdout)

    def test_most(self):
        words = [w for i in range(32) for w in ("--label", f"{'k' * 60}{i}={'v' * 252}\u00e9")]
        self.create(*words)
        labels = json.loads(glovebox("inspect", "--json", self.name).stdout)["labels"]
        self.assertEqual(labels, {f"{'k' * 60}{i}": f"{'v' * 252}\u00e9" for i in range(32)})
        self.expect_refused(glovebox("create", *words, "--label", "one=more"), "more than 32 labels")

    def test_refused(self):
        for word in ("", "=v", "-k=v", "k k=v", "k\n=v", "k" * 64 + "=v", "\u00e9=v"):
            self.expect_refused(glovebox("create", "--label", word), "not a key")
        for word in ("k=a\nb", "k=\x1b[31m", "k=\x7f", "k=\u0085", "k=" + "v" * 256, b"k=\xff"):
            self.expect_refused(glovebox("create", "--label", word), "not a value")
        for word in ("name=x", "label", "label=", "label=a b", "x"):
            self.expect_refused(glovebox("ps", "--filter", word), "not a filter")


if __name__ == "__main__":
    main(sys.modules[__name__])
