#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What running sandboxes use: stats, and the same of inspect."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, main, wait_until  # noqa: E402
from exec_test import PACKET, VERSION, Living, glovebox, runtime_folder  # noqa: E402
from terminal import Terminal  # noqa: E402

ANSWER, USAGE, USED = 11, 19, 20
HEAD = struct.Struct(PACKET)


class Stats(Living):
    def stats(self, *names):
        return json.loads(glovebox("stats", "--no-stream", "--json", *(names or (self.name,))).stdout)

    def one(self):
        seen = self.stats()
        self.assertEqual([s["name"] for s in seen], [self.name])
        return seen[0]

    def kernel(self):
        return json.loads(glovebox("inspect", "--json", self.name).stdout)["pid"]

    def stop(self, pid):
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)

    def test_disk(self):
        self.create("--disk", "100M", "--inodes", "5000")
        before = self.one()
        self.assertEqual((before["disk_limit_bytes"], before["inode_limit"]), (100 << 20, 5000))
        self.exec("sh", "-c", "head -c 20000000 /dev/zero >/tmp/a; for i in 1 2 3 4 5; do : >/tmp/$i; done")
        after = self.one()
        self.assertGreaterEqual(after["disk_bytes"] - before["disk_bytes"], 20000000)
        self.assertLess(after["disk_bytes"] - before["disk_bytes"], 21000000)
        self.assertEqual(after["inodes"] - before["inodes"], 6)
        self.assertGreaterEqual(after["written_bytes"], 20000000)
        self.exec("sh", "-c", "rm /tmp/*")
        gone = self.one()
        self.assertLess(gone["disk_bytes"], before["disk_bytes"] + 100000)
        self.assertGreaterEqual(gone["written_bytes"], 20000000)
        seen = json.loads(glovebox("inspect", "--json", self.name).stdout)["usage"]
        self.assertEqual((seen["disk_bytes"], seen["inodes"]), (gone["disk_bytes"], gone["inodes"]))

    def test_processors(self):
        self.create("--cpus", "1")
        self.exec("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
        spent = self.one()["cpu_ms"]
        self.assertGreater(spent, 10)
        self.expect(glovebox("exec", "-d", self.name, "--", "sh", "-c", "while :; do :; done"))
        seen = self.one()
        self.assertGreater(seen["cpu_percent"], 0)
        self.assertGreater(seen["cpu_ms"], spent)
        self.assertEqual((seen["processes"], seen["threads"]), (1, 1))

    def test_children_of_threads_are_counted(self):
        self.create()
        self.expect(glovebox("exec", "-d", self.name, "--", "python3", "-c",
                             "import subprocess, threading\n"
                             "t = threading.Thread(target=subprocess.run, args=(['sleep', '600'],))\n"
                             "t.start(); t.join()"), 0)
        self.assertTrue(wait_until(lambda: self.one()["processes"] == 2))

    def ports(self):
        return json.loads(glovebox("port", "--json", self.name).stdout)

    def test_network(self):
        self.create("--publish", "127.0.0.1:0:8000")
        self.expect(glovebox("exec", "-d", self.name, "--", "python3", "-c",
                             "import socket\n"
                             "s = socket.create_server(('127.0.0.1', 8000))\n"
                             "c = s.accept()[0]\n"
                             "while c.recv(9, socket.MSG_PEEK) and (d := c.recv(65536)): c.sendall(d * 2)\n"), 0)
        self.assertEqual((self.one()["received_bytes"], self.one()["sent_bytes"]), (0, 0))
        self.assertTrue(wait_until(lambda: self.ports()["listening"]))
        with socket.create_connection(("127.0.0.1", self.ports()["published"][0]["port"])) as c:
            c.sendall(b"x" * 100000)
            left = 200000
            while left:
                left -= len(c.recv(left))
            seen = self.one()
        self.assertEqual((seen["received_bytes"], seen["sent_bytes"]), (100000, 200000))

    def test_what_is_not_known_is_not_made_up(self):
        self.create()
        self.stop(self.kernel())
        seen = self.one()
        for what in ("disk_bytes", "inodes", "received_bytes", "sent_bytes", "written_bytes", "cpu_percent", "cpu_ms"):
            self.assertIsNone(seen[what], what)
        self.assertGreater(seen["memory_bytes"], 0)
        text = glovebox("stats", "--no-stream", self.name).stdout.decode().splitlines()[1]
        self.assertRegex(text, rf"^{self.name} +- +[\d.]+ \S+ / [\d.]+ \S+ +0 +- / [\d.]+ \S+ +- / -$")
        self.assertIsNone(json.loads(glovebox("inspect", "--json", self.name).stdout)["usage"]["disk_bytes"])

    def test_a_starter_that_does_not_answer(self):
        self.create()
        self.stop(self.starter())
        self.assertIsNone(self.one()["disk_bytes"])

    def test_all_and_some(self):
        self.create()
        first = self.name
        self.name += "-2"
        self.create()
        self.addCleanup(glovebox, "kill", self.name)
        self.assertLessEqual({first, self.name}, {s["name"] for s in json.loads(glovebox("stats", "--no-stream", "--json").stdout)})
        self.assertEqual([s["name"] for s in self.stats(first)], [first])
        self.assertEqual(sorted(s["name"] for s in self.stats(first, self.name)), sorted((first, self.name)))

    def test_again_until_its_end(self):
        self.create()
        following = subprocess.Popen([GLOVEBOX, "stats", self.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(following.communicate)
        self.assertRegex(following.stdout.readline().decode(), r"^NAME +CPU +MEMORY")
        self.assertRegex(following.stdout.readline().decode(), rf"^{self.name} +- ")
        self.assertRegex(following.stdout.readline().decode(), r"^NAME ")
        self.assertRegex(following.stdout.readline().decode(), rf"^{self.name} +[\d.]+ % ")
        glovebox("kill", self.name)
        self.assertEqual((following.wait(LIMIT), following.stderr.read()), (0, b""))

    def test_terminal(self):
        self.create()
        terminal = Terminal([GLOVEBOX, "stats", self.name], (24, 120))
        self.addCleanup(terminal.close)
        self.assertTrue(terminal.expect(b"\033[H\033[JNAME "))
        self.assertTrue(terminal.expect(self.name.encode()))
        glovebox("kill", self.name)
        self.assertEqual(terminal.wait(), 0)

    def test_bad_use(self):
        self.expect_refused(glovebox("stats", "no-such-box"), "no sandbox of this name is running")
        self.expect_refused(glovebox("stats", "--no-stream", "x\x1b[31m\x07"), r"x\\")
        self.expect_refused(glovebox("stats", "../../etc/passwd"), "no sandbox of this name")
        self.expect_refused(glovebox("stats", "--format", "x"), "take --json")
        self.assertIn(b"Usage: glovebox stats", glovebox("stats", "--help").stdout)


class Abuse(Living):
    """Of the question of which its numbers come."""

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(f"{runtime_folder()}/sandboxes/.{self.name}+exec")  # waits for room, as one with a time limit does not
        s.settimeout(LIMIT)
        self.addCleanup(s.close)
        return s

    def ask(self, s):
        s.send(HEAD.pack(VERSION, USAGE, 0, 0, 0, 0, 0, 0))

    def test_asked_twice_at_once(self):
        self.create()
        kernel = json.loads(glovebox("inspect", "--json", self.name).stdout)["pid"]
        os.kill(kernel, signal.SIGSTOP)
        s = self.connect()
        try:
            self.ask(s)
            self.ask(s)
            answer = HEAD.unpack(s.recv(4096)[:HEAD.size])
            self.assertEqual((answer[1], answer[5]), (ANSWER, 16))
        finally:
            os.kill(kernel, signal.SIGCONT)
        self.assertEqual(HEAD.unpack(s.recv(4096)[:HEAD.size])[1], USED)

    def test_many_ask_one_kernel(self):
        self.create()
        asking = [self.connect() for _ in range(100)]
        for s in asking:
            self.ask(s)
        for s in asking:
            self.assertEqual(HEAD.unpack(s.recv(4096)[:HEAD.size])[1], USED)

    def test_who_asks_and_goes(self):
        self.create()
        for _ in range(200):
            s = self.connect()
            self.ask(s)
            s.close()
        self.expect(self.exec("true"), 0)
        s = self.connect()
        self.ask(s)
        self.assertEqual(HEAD.unpack(s.recv(4096)[:HEAD.size])[1], USED)


if __name__ == "__main__":
    main(sys.modules[__name__])
