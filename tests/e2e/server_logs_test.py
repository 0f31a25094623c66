#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The log of a sandbox: what happened to it, and what its programs print."""
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, main, wait_until  # noqa: E402
from exec_test import runtime_folder  # noqa: E402
from server_client import Served  # noqa: E402

PRINTED = {"stdout", "stderr"}


class Logs(Served):
    def ask(self, box, query="", client=None, route="v2/sandboxes", **more):
        return (client or self.client).ask("GET", f"/{route}/{box.name}/logs{query}", **more)

    def entries(self, box, query=""):
        answer = self.ask(box, query)
        self.expect_status(answer, 200)
        said = answer.json()
        self.assertEqual([(e["timestamp"], e["message"]) for e in said["logEntries"]], [(e["timestamp"], e["message"]) for e in said["logs"]])
        return said["logEntries"]

    def printed(self, box, query=""):
        return [e for e in self.entries(box, query) if e["fields"]["event"] in PRINTED]

    def lines(self, box, query=""):
        return [e["message"] for e in self.printed(box, query)]

    def pages(self, box, query):
        """All lines, by way of as many pages as there are."""
        messages, cursor = [], ""
        for _ in range(1000):
            answer = self.ask(box, f"?{query}{cursor}")
            self.expect_status(answer, 200)
            messages += [e["message"] for e in answer.json()["logEntries"]]
            if "x-next-token" not in answer.fields:
                return messages
            cursor = "&cursor=" + answer.fields["x-next-token"]
        self.fail("there is no last page")

    def pid_of(self, box, whose):
        with open(f"{runtime_folder()}/sandboxes/{box.name}", encoding="utf-8") as f:
            return int(re.search(rf"^{whose}=(\d+)$", f.read(), re.M).group(1))

    def end(self, box):
        box.kill()
        self.assertTrue(wait_until(lambda: any(e["fields"]["event"] == "killed" for e in self.entries(box, "?limit=1&direction=backward"))))


class Printed(Logs):
    def test_what_programs_print(self):
        box = self.client.create()
        done = box.run("/bin/sh", "-c", "echo one; echo two >&2; printf rest", tag="web")
        self.assertEqual(sorted((e["message"], e["fields"]["event"]) for e in self.printed(box)),
                         [("one", "stdout"), ("rest", "stdout"), ("two", "stderr")])
        self.assertEqual({(e["fields"]["pid"], e["fields"]["tag"]) for e in self.printed(box)}, {(str(done.pid), "web")})
        self.assertEqual({(e["fields"]["event"], e["level"]) for e in self.printed(box)}, {("stdout", "info"), ("stderr", "warn")})
        self.assertEqual([e["message"] for e in self.entries(box)][0], "sandbox created")
        for entry in self.entries(box):
            self.assertRegex(entry["timestamp"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
        for line in self.ask(box, route="sandboxes").json()["logs"]:
            said = json.loads(line["line"])
            self.assertEqual((said["message"], said["level"], said["logger"]),
                             (line["message"], line["level"], "process" if line["fields"]["event"] in PRINTED else "sandbox"))
        self.assertEqual(self.lines(box, "?search=wo"), ["two"])
        self.assertEqual(self.lines(box, "?level=warn"), ["two"])
        self.assertEqual(self.lines(box, "?level=error"), [])

    def test_a_program_whose_client_is_gone(self):
        box = self.client.create()
        stream = box.start("/bin/sh", "-c", "echo here; until test -e /tmp/go; do sleep 0.01; done; echo later")
        stream.read_until(b"here")
        stream.close()
        box.run("touch", "/tmp/go")
        self.assertTrue(wait_until(lambda: self.lines(box) == ["here", "later"]))

    def test_the_command_line_shows_the_same(self):
        box = self.client.create()
        pid = box.run("echo", "hello").pid
        done = subprocess.run([GLOVEBOX, "logs", box.name], capture_output=True, timeout=LIMIT, check=True)
        self.assertEqual(done.stdout, f"[{pid}] hello\n".encode())

    def test_what_the_command_line_leaves_to_itself(self):
        box = self.client.create()
        subprocess.run([GLOVEBOX, "exec", "-d", "--tag", "t", box.name, "--", "echo", "hello"], capture_output=True, timeout=LIMIT, check=True)
        self.assertTrue(wait_until(lambda: self.lines(box) == ["hello"]))

    def test_a_terminal_is_not_in_it(self):
        box = self.client.create()
        self.assertIn(b"screen", box.run("echo", "screen", pty={"size": {"cols": 80, "rows": 24}}).pty)
        self.assertEqual(self.lines(box), [])

    def test_behind_its_end(self):
        box = self.client.create()
        box.run("/bin/sh", "-c", "echo first; echo last >&2")
        self.end(box)
        self.assertEqual(sorted(self.lines(box)), ["first", "last"])
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.assertEqual(sorted(self.lines(box)), ["first", "last"])
        subprocess.run([GLOVEBOX, "rm", box.name], capture_output=True, timeout=LIMIT, check=True)
        self.assertEqual([e["message"] for e in self.entries(box)], ["sandbox created", "sandbox ended: request"])

    def test_a_kernel_that_was_killed(self):
        box = self.client.create()
        box.run("echo", "kept")
        os.kill(self.pid_of(box, "pid"), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: len(self.entries(box, "?level=error")) == 1))
        self.assertEqual(self.lines(box), ["kept"])

    def test_a_keeper_that_was_killed(self):
        box = self.client.create()
        box.run("echo", "lost")
        os.kill(self.pid_of(box, "starter"), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: len(self.entries(box, "?level=error")) == 1))
        self.assertEqual(self.lines(box), [])

    def test_a_restarted_server_has_it(self):
        box = self.client.create()
        box.run("echo", "before")
        self.server.stop(signal.SIGKILL)
        self.server.start()
        box.run("echo", "after")
        self.assertEqual(self.lines(box), ["before", "after"])

    def test_other_tenants_do_not(self):
        tenants = [self.server.client(self.client.ask("POST", "/api-keys", {"name": n}).json()["key"]) for n in "ab"]
        box = tenants[0].create()
        box.run("echo", "private")
        self.assertIn(b"private", self.ask(box, client=tenants[0]).body)
        self.expect_status(self.ask(box, client=tenants[1]), 404)
        self.assertIn("private", self.lines(box))
        box.kill()
        self.expect_status(self.ask(box, client=tenants[1]), 404)


class Pages(Logs):
    def setUp(self):
        super().setUp()
        self.box = self.client.create()
        self.box.run("seq", "2500")
        self.numbers = [str(i) for i in range(1, 2501)]

    def test_forward(self):
        for limit in (1000, 999, 250):
            self.assertEqual(self.pages(self.box, f"limit={limit}"), ["sandbox created", *self.numbers])

    def test_backward(self):
        for limit in (1000, 333):
            self.assertEqual(self.pages(self.box, f"direction=backward&limit={limit}"), [*self.numbers[::-1], "sandbox created"])
        self.assertEqual(self.lines(self.box, "?direction=backward&limit=2"), ["2500", "2499"])

    def test_a_page_has_its_limit(self):
        self.assertEqual(len(self.entries(self.box)), 1000)
        self.assertEqual(self.entries(self.box, "?limit=0"), [])
        self.assertEqual(self.pages(self.box, "limit=100&search=99"), [n for n in self.numbers if "99" in n])

    def test_times(self):
        last = self.entries(self.box, "?direction=backward&limit=1")[0]["timestamp"]
        _, ms = re.fullmatch(r"(.*)\.(\d{3})Z", last).groups()
        from datetime import datetime, timezone
        at = int(datetime.strptime(last, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()) * 1000 + int(ms)
        self.assertIn("2500", self.pages(self.box, f"start={at}"))
        self.assertEqual(self.pages(self.box, f"start={at + 1}"), [])
        self.assertEqual(self.pages(self.box, f"start={at}&direction=backward")[0], "2500")
        # Who goes on behind the latest that he has seen misses nothing.
        self.assertTrue(wait_until(lambda: self.box.run("date", "+%s%3N").out.strip() > str(at).encode()))
        seen = self.pages(self.box, f"start={at + 1}")
        self.box.run("echo", "more")
        self.assertEqual(self.pages(self.box, f"start={at + 1}"), [*seen, "more"])

    def test_what_is_wrong(self):
        for query in ("limit=1001", "limit=-1", "cursor=x", "start=-1", "cursor=", "cursor=1-", "cursor=1-2", "cursor=1-2-", "cursor=1-0-1", "cursor=1-3-1",
                      "cursor=1-2-3-4", "cursor=1-2-x", "cursor=-", "cursor=1--1", "start=99999999999999999999", "cursor=1-1-99999999999999999999",
                      "direction=up", "level=loud", "search=%0", "search=%00"):
            self.expect_status(self.ask(self.box, f"?{query}"), 400, ".")


class Abuse(Logs):
    def test_it_is_shown_safely(self):
        box = self.client.create()
        box.run("printf", r"\033]0;owned\007\033[2J\033[31mred\033[0m\n\230\377\000x\r\n\342\200\256up\n{\"level\":\"error\"}\n")
        text = self.ask(box).body
        for what in (b"\033", b"\\u001b", b"owned", b"\230", "\u202e".encode(), b"\\u202e\\u", b"\\u0000"):
            self.assertNotIn(what, text)
        lines = self.lines(box)
        self.assertEqual(lines[0], "red")
        self.assertEqual(lines[1].count("\\x"), 3 - lines[1].count("\ufffd"))
        self.assertEqual(lines[2:], ["\\u202eup", '{"level":"error"}'])
        for line in self.ask(box).json()["logs"]:
            self.assertEqual(json.loads(line["line"])["level"], "info")

    def test_a_tag_is_shown_safely(self):
        box = self.client.create()
        box.run("echo", "x", tag="a\n\x1b[31m" + "b" * 200)
        tag = self.printed(box)[0]["fields"]["tag"]
        self.assertNotRegex(tag, r"[\x00-\x1f]")
        self.assertLess(len(tag), 64)

    def test_endless_output_is_bounded(self):
        box = self.client.create()
        box.run("/bin/sh", "-c", "yes 0123456789012345 | head -c 1700000; echo end")
        pages = self.pages(box, "limit=1000")
        self.assertEqual(pages[-1], "end")
        self.assertLess(sum(len(line) + 1 for line in pages), (256 << 10) + 100)

    def test_lines_without_an_end(self):
        box = self.client.create()
        box.run("/bin/sh", "-c", "head -c 200000 /dev/zero | tr '\\0' '\\1'; echo; head -c 200000 /dev/zero | tr '\\0' y; echo; echo end")
        lines = self.lines(box)
        self.assertEqual(lines[-1], "end")
        self.assertRegex(lines[-2], r"\Ay{4096} \[\.\.\. \d+ bytes of this line left out \.\.\.\]\Z")
        self.assertLess(sum(map(len, lines)), 3 * 4200)

    def test_empty_lines_and_many_streams(self):
        box = self.client.create()
        box.run("/bin/sh", "-c", "yes '' | head -n 100000")
        self.assertEqual(set(self.pages(box, "limit=1000&direction=backward")), {"", "sandbox created"})
        streams = [box.start("/bin/sh", "-c", f"printf {i}; read x", stdin=True) for i in range(70)]
        for i, stream in enumerate(streams):
            stream.read_until(str(i).encode())
        numbers = self.lines(box, "?direction=backward&limit=70")
        self.assertEqual(sorted(map(int, numbers)), list(range(70)))
        for stream in streams:
            stream.close()

    def test_one_who_ends_while_it_is_read(self):
        boxes = [self.client.create() for _ in range(4)]
        for box in boxes:
            box.run("seq", "3000")
        statuses = []

        def read(box):
            for _ in range(20):
                statuses.append(self.ask(box).status)
        threads = [threading.Thread(target=read, args=(b,)) for b in boxes]
        for t in threads:
            t.start()
        for box in boxes:
            box.kill()
        for t in threads:
            t.join(LIMIT)
        self.assertEqual(set(statuses), {200})
        self.assertEqual(len(statuses), 80)

    def test_only_so_many_read_at_once(self):
        box = self.client.create()
        box.run("seq", "3000")
        keeper = self.pid_of(box, "starter")
        os.kill(keeper, signal.SIGSTOP)
        self.addCleanup(os.kill, keeper, signal.SIGCONT)
        connections = [self.client.connect() for _ in range(40)]
        for c in connections:
            c.request("GET", f"/sandboxes/{box.name}/logs", headers={"X-API-Key": self.client.key})
        self.assertTrue(wait_until(lambda: len(self.readable(connections)) == 8))
        refused = self.readable(connections)
        self.assertEqual({c.getresponse().status for c in refused}, {429})
        waiting = [c for c in connections if c not in refused]
        for c in waiting[:16]:
            c.close()
        os.kill(keeper, signal.SIGCONT)
        self.assertEqual({c.getresponse().status for c in waiting[16:]}, {200})
        self.assertEqual(self.ask(box).status, 200)

    def readable(self, connections):
        ready, _, _ = select.select([c.sock for c in connections], [], [], 0)
        return [c for c in connections if c.sock in ready]


if __name__ == "__main__":
    main(sys.modules[__name__])
