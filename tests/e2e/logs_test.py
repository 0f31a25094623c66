#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is kept of the output of a sandbox's programs: logs."""
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, is_sanitized, main, wait_until  # noqa: E402
from exec_test import PACKET, VERSION, Living, glovebox, runtime_folder  # noqa: E402
from terminal import Terminal  # noqa: E402

LOGS, LOGGED, ANSWER = 21, 22, 11
HEAD = struct.Struct(PACKET)
RECORD = struct.Struct("=qQiIII")


class Logs(Living):
    def setUp(self):
        super().setUp()
        self.addCleanup(glovebox, "rm", "-f", self.name)

    def logs(self, *words, options=()):
        return glovebox("logs", *options, self.name, *words)

    def detach(self, *words, options=()):
        done = glovebox("exec", "-d", *options, self.name, "--", *words)
        self.expect(done, err=b"")
        return done.stdout.decode().strip()

    def wait_for(self, pid):
        """Until the program has ended."""
        self.assertEqual(glovebox("attach", "--new", self.name, pid).returncode, 0)

    def follow(self, *words, options=()):
        process = subprocess.Popen([GLOVEBOX, "logs", "-f", *options, self.name, *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def test_main_program(self):
        process = subprocess.Popen([GLOVEBOX, "run", "--name", self.name, "sh", "-c", "echo out; echo err >&2; read x; echo $x"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertEqual((process.stdout.readline(), process.stderr.readline()), (b"out\n", b"err\n"))
        self.expect(self.logs(), 0, b"out\n", b"err\n")
        process.stdin.write(b"more\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"more\n")
        self.assertEqual(process.wait(LIMIT), 0)
        self.expect(self.logs(), 0, b"out\nmore\n", b"err\n")
        self.expect(self.logs("0"), 0, b"out\nmore\n", b"err\n")
        self.expect(self.logs("1"), 0, b"", b"")
        glovebox("rm", self.name)
        self.expect_refused(self.logs(), "nothing is known of a sandbox of this name")

    def test_detached_programs(self):
        self.create()
        one = self.detach("sh", "-c", "echo a; echo b", options=("--tag", "web"))
        self.wait_for(one)
        two = self.detach("sh", "-c", "printf c; echo d >&2")
        self.wait_for(two)
        self.exec("echo", "of one that was followed")
        self.expect(self.logs(), 0, f"[{one} web] a\n[{one} web] b\n[{two}] c".encode(), f"[{two}] d\n".encode())
        self.expect(self.logs(one), 0, b"a\nb\n", b"")
        self.expect(self.logs("web"), 0, b"a\nb\n", b"")
        self.expect(self.logs(two), 0, b"c", b"d\n")
        self.expect(self.logs("we"), 0, b"", b"")
        glovebox("kill", self.name)
        self.expect(self.logs("web"), 0, b"a\nb\n", b"")
        self.expect(self.logs(two), 0, b"c", b"d\n")

    def test_lines_of_two_are_not_mixed(self):
        self.create()
        one = self.detach("sh", "-c", "printf begun; cat >/dev/null; sleep 600")
        self.assertTrue(wait_until(lambda: self.logs().stdout == f"[{one}] begun".encode()))
        two = self.detach("echo", "two")
        self.wait_for(two)
        self.expect(self.logs(), 0, f"[{one}] begun\n[{two}] two\n".encode(), b"")

    def test_tail(self):
        glovebox("run", "--name", self.name, "seq", "1000")
        for lines, out in (("0", b""), ("1", b"1000\n"), ("3", b"998\n999\n1000\n"),
                           ("all", b"".join(b"%d\n" % i for i in range(1, 1001))),
                           ("5000", b"".join(b"%d\n" % i for i in range(1, 1001)))):
            self.expect(self.logs(options=("--tail", lines)), 0, out, b"")
        for lines in ("-1", "x", "", "1000001", "1 "):
            self.expect_refused(self.logs(options=(f"--tail={lines}",)), "not a number of lines")

    def test_times(self):
        glovebox("run", "--name", self.name, "sh", "-c", "echo a; echo b")
        lines = self.logs(options=("-t",)).stdout.decode().splitlines()
        self.assertEqual([re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", "", line) for line in lines], ["a", "b"])
        self.assertEqual(self.logs(options=("--since", "1h")).stdout, b"a\nb\n")
        self.assertTrue(wait_until(lambda: self.logs(options=("--since", "1ms")).stdout == b""))

    def test_follow_to_the_end(self):
        self.create()
        pid = self.detach("sh", "-c", "echo first; exec sleep 600")
        follower = self.follow(pid)
        self.assertEqual(follower.stdout.readline(), b"first\n")
        self.exec("sh", "-c", "mkfifo /tmp/go 2>/dev/null")
        self.detach("sh", "-c", "echo before; while read word </tmp/go; do echo $word; done", options=("--tag", "reader"))
        self.assertTrue(wait_until(lambda: self.logs("reader").stdout == b"before\n"))
        second = self.follow("reader", options=("--tail", "0"))
        # What is written before it looks is not for it.
        while not select.select([second.stdout], [], [], 0.1)[0]:
            self.exec("sh", "-c", "echo now >/tmp/go")
        self.assertEqual(second.stdout.readline(), b"now\n")
        self.exec("sh", "-c", "echo over >/tmp/go")
        self.assertTrue(any(line == b"over\n" for line in iter(second.stdout.readline, b"")))
        glovebox("kill", self.name)
        self.assertEqual((second.wait(LIMIT), second.stderr.read()), (0, b""))
        self.assertEqual((follower.wait(LIMIT), follower.stderr.read()), (0, b""))

    def test_follow_one_that_has_ended(self):
        glovebox("run", "--name", self.name, "echo", "done")
        follower = self.follow()
        self.assertEqual(follower.communicate(timeout=LIMIT), (b"done\n", b""))

    def test_what_was_written_last_is_there(self):
        self.create()
        self.detach("sh", "-c", "head -c 60000 /dev/zero | tr '\\0' x; echo; echo last")
        self.assertTrue(wait_until(lambda: self.logs().stdout.endswith(b"last\n")))
        glovebox("kill", self.name)
        self.assertTrue(self.logs().stdout.endswith(b"x\n[2] last\n"), self.logs().stdout[-100:])

    def test_nothing_with_rm(self):
        self.expect(glovebox("run", "--rm", "--name", self.name, "echo", "x"), 0, b"x\n")
        self.expect_refused(self.logs(), "nothing is known")

    # ---- hostile ----

    def test_endless_output_is_bounded(self):
        self.create()
        pid = self.detach("sh", "-c", "yes | head -c 300000000; echo; echo end")
        follower = self.follow(options=("--tail", "0"))
        before = self.memory()
        self.wait_for_end(pid)
        done = self.logs(pid)
        self.assertTrue(done.stdout.endswith(b"\nend\n"))
        self.assertLessEqual(len(done.stdout), 256 << 10)
        self.assertGreater(len(done.stdout), 128 << 10)
        self.assertLess(self.memory() - before, 8 << 20)
        self.assertIsNone(follower.poll())
        glovebox("kill", self.name)
        self.assertLessEqual(len(self.logs().stdout), 3 * (64 << 10))
        self.assertTrue(self.logs(pid).stdout.endswith(b"\nend\n"))

    def wait_for_end(self, pid):
        self.assertTrue(wait_until(lambda: self.logs(pid, options=("--tail", "1")).stdout == b"end\n", 60))

    def memory(self):
        """Of the starter; 0 when that says nothing."""
        if is_sanitized():
            return 0
        with open(f"/proc/{self.starter()}/statm", encoding="utf-8") as f:
            return int(f.read().split()[1]) * 4096

    def test_who_follows_and_does_not_read_holds_nobody_up(self):
        self.create()
        self.detach("sh", "-c", "echo begun")
        follower = self.follow()
        self.assertEqual(follower.stdout.readline(), b"[2] begun\n")
        pid = self.detach("sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' '\\n'; echo end")
        self.wait_for_end(pid)
        # All of it before the kill, from which on who rests for a second, as on a busy machine, is waited for no more.
        out = b""
        while not out.endswith(b"end\n"):
            piece = follower.stdout.read1()
            self.assertTrue(piece, "it ends without the end")
            out = out[-100:] + piece
        glovebox("kill", self.name)
        out, err = follower.communicate(timeout=LIMIT)
        self.assertEqual((follower.returncode, out), (0, b""))
        self.assertRegex(err.decode(), rf"^glovebox: {self.name}: \d+ bytes came faster than they were read, and are not kept any more\n")

    def test_a_byte_at_a_time(self):
        self.create()
        before = self.memory()
        pid = self.detach("python3", "-c", "import os\nfor i in range(30000): os.write(1 + i % 2, b'x')\nos.write(1, b'\\nend\\n')")
        self.wait_for(pid)
        self.assertIn(b"\nend\n", self.logs(pid).stdout)
        self.assertLess(self.memory() - before, 4 << 20)
        self.assertLessEqual(len(self.logs(pid).stdout), 256 << 10)

    def test_terminal_is_safe(self):
        hostile = r"\033]0;owned\007\033[2J\033[31mred\033[0m\033[8m\230hidden\n\033P$q\033\\end\n"
        self.expect(glovebox("run", "--name", self.name, "printf", hostile))
        terminal = Terminal([GLOVEBOX, "logs", self.name], (24, 200))
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"end", terminal.output)
        for what in (b"\033]", b"\033[2J", b"\007", b"\230", b"\033P"):
            self.assertNotIn(what, terminal.output)
        raw = Terminal([GLOVEBOX, "logs", "--raw", self.name], (24, 200))
        self.addCleanup(raw.close)
        self.assertEqual(raw.wait(), 0)
        self.assertIn(b"\033]0;owned\007", raw.output)
        self.assertIn(b"\033]0;owned\007", self.logs().stdout)

    def test_what_comes_in_pieces_is_one_on_a_terminal(self):
        pieces = [b"a\xc3", b"\xa9b\033[3", b"1mred\033[0m 10%\r", b"20%\nend\n"]
        code = f"import os\nfor piece in {pieces}: os.write(1, piece); input(); os.write(2, b'.'); input()"
        process = subprocess.Popen([GLOVEBOX, "run", "--name", self.name, "python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        for i in range(2 * len(pieces)):
            written = b"".join(pieces[: i // 2 + 1]), b"." * ((i + 1) // 2)
            self.assertTrue(wait_until(lambda: (self.logs().stdout, self.logs().stderr) == written, LIMIT))
            process.stdin.write(b"\n")
            process.stdin.flush()
        self.assertEqual(process.wait(LIMIT), 0)
        terminal = Terminal(["env", "TERM=xterm", GLOVEBOX, "logs", self.name], (24, 80))
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(terminal.output, b"a.\xc3\xa9b.\033[31mred\033[0m 10%.\r\033[K\\r20%\r\nend\r\n.")

    def test_a_tag_is_no_way_out_of_the_line(self):
        self.create()
        pid = self.detach("echo", "x", options=("--tag", "a\n[1] b\033[31m"))
        self.wait_for(pid)
        out = self.logs().stdout
        self.assertEqual(out.count(b"\n"), 1)
        self.assertNotIn(b"\033", out)

    def test_secrets_are_not_in_it(self):
        value = f"s3cr3t-{os.getpid()}-value-long-enough"
        done = glovebox("run", "--name", self.name, "--allow", "a.example", "--secret", "KEY=env:S@a.example", "--env", f"COPY={value}",
                        "sh", "-c", "echo $COPY", env={**os.environ, "S": value})
        self.expect(done)
        self.assertNotIn(value.encode(), done.stdout)
        self.assertNotIn(value.encode(), self.logs().stdout)
        self.assertEqual(self.logs().stdout, done.stdout)

    def test_secrets_of_programs_from_outside_are_not_in_it(self):
        value = f"s3cr3t-{os.getpid()}-value-long-enough"
        self.expect(glovebox("create", "--name", self.name, "--allow", "a.example", "--secret", "KEY=env:S@a.example", env={**os.environ, "S": value}))
        pid = self.detach("sh", "-c", f"echo {value}; echo end")
        self.assertTrue(wait_until(lambda: self.logs().stdout.endswith(f"[{pid}] end\n".encode())))
        self.assertNotIn(value.encode(), self.logs().stdout)

    def test_what_is_kept_is_read_as_a_strangers(self):
        glovebox("run", "--name", self.name, "echo", "x")
        folder = f"{runtime_folder()}/ended"
        (name,) = (f for f in os.listdir(folder) if f.partition(".")[2] == self.name)
        with open(f"{folder}/{name}", "rb") as f:
            record = f.read().partition(b"\0")[0]
        for tail in (b"\xff" * 100, RECORD.pack(1, 0, 0, 1, 0, 5), RECORD.pack(1, 0, 0, 1, 0, 1 << 31) + b"x" * 9,
                     RECORD.pack(1, 0, 0, 1, 1 << 30, 1) + b"x", RECORD.pack(1, 0, 0, 7, 0, 1) + b"x",
                     RECORD.pack(1, 0, -1, 1, 0, 1) + b"x", RECORD.pack(1, 0, 0, 1, 0, 0)):
            with open(f"{folder}/{name}", "wb") as f:
                f.write(record + b"\0" + RECORD.pack(1, 0, 0, 1, 0, 2) + b"ok" + tail)
            self.expect(self.logs(), 0, b"ok", b"")

    def test_bad_use(self):
        for words, pattern in (((), "give the name"), (("a", "b", "c"), "give the name"), (("no-such-box",), "nothing is known"),
                               (("../../etc/passwd",), "nothing is known"), (("x\x1b[31m",), "nothing is known"),
                               (("--until", "1", "x"), "--since"), (("--nothing",), "no such option")):
            self.expect_refused(glovebox("logs", *words), pattern)
        self.assertIn(b"Usage: glovebox logs", glovebox("logs", "--help").stdout)

    def test_nobody_reads(self):
        self.create()
        follower = self.follow()
        follower.stdout.close()
        follower.stdout = None
        self.assertNotEqual(follower.wait(LIMIT), 0)


class Abuse(Living):
    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(f"{runtime_folder()}/sandboxes/.{self.name}+exec")  # waits for room, as one with a time limit does not
        s.settimeout(LIMIT)
        self.addCleanup(s.close)
        return s

    def ask(self, s, offset=0, flags=0):
        s.send(HEAD.pack(VERSION, LOGS, 0, offset, flags, 0, 0, 0))

    def answer(self, s):
        return HEAD.unpack(s.recv(70000)[:HEAD.size])

    def test_questions(self):
        self.create()
        s = self.connect()
        for offset in (0, 1, 2**63, 2**64 - 1):
            self.ask(s, offset)
            self.assertEqual(self.answer(s)[1:6], (ANSWER, 0, 0, LOGS, 0))
        self.ask(s, flags=1)
        self.ask(s)
        self.assertEqual(self.answer(s)[5], 16)
        glovebox("exec", "-d", self.name, "--", "echo", "x")
        self.assertEqual(self.answer(s)[1], LOGGED)

    def test_many_follow_and_go(self):
        self.create()
        glovebox("exec", "-d", self.name, "--", "yes")
        for _ in range(100):
            s = self.connect()
            self.ask(s, flags=1)
            self.assertEqual(self.answer(s)[1], LOGGED)
            s.close()
        self.expect(self.exec("true"), 0)


if __name__ == "__main__":
    main(sys.modules[__name__])
