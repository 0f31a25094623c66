#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that live on behind their command: create, exec, attach, stop, kill, wait."""
import array
import errno
import fcntl
import json
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, descendants, is_alive, main, stat_fields, wait_until, waits_on_a_socket  # noqa: E402
from terminal import Terminal  # noqa: E402

PACKET = "<IIqQIiII"  # sandbox/exec_messages.h: version, type, value, offset, flags, status, text_size, unused
VERSION = 1
(START, ATTACH, INPUT, INPUT_END, SIGNAL, WINDOW, LIST, END, LIFETIME, WATCH, ANSWER, STARTED, FAILED, OUTPUT, ENDED,
 ITEM, OVER, OUTPUT_END) = range(1, 19)
NULL_INPUT = 2
OUT, ERR = 1, 2
WITH_SANDBOX = 1 << 31
FROM_NOW = 2**64 - 1


def glovebox(*words, input=b"", **more):
    return subprocess.run([GLOVEBOX, *words], input=input, capture_output=True, timeout=LIMIT, **more)


def runtime_folder():
    if os.geteuid() == 0:
        return "/run/glovebox"
    folder = os.environ.get("XDG_RUNTIME_DIR")
    return f"{folder}/glovebox" if folder else f"/tmp/glovebox-{os.geteuid()}"


class Living(Case):
    def setUp(self):
        super().setUp()
        self.name = f"exec-{os.getpid()}-{self.id().rpartition('.')[2].removeprefix('test_')}"[:63]

    def create(self, *options):
        done = glovebox("create", "--name", self.name, *options)
        self.expect(done, out=f"{self.name}\n".encode(), err=b"")
        self.addCleanup(glovebox, "kill", self.name)
        return self.name

    def exec(self, *words, options=(), **more):
        return glovebox("exec", *options, self.name, "--", *words, **more)

    def start_exec(self, *words, options=(), **more):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([GLOVEBOX, "exec", *options, self.name, "--", *words], **{**streams, **more})

        def end():
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.addCleanup(end)
        return process

    def starter(self):
        """The process id of its starter."""
        with open(f"{runtime_folder()}/sandboxes/{self.name}", encoding="utf-8") as f:
            return int(re.search(r"^starter=(\d+)$", f.read(), re.M).group(1))

    def kernel(self):
        with open(f"{runtime_folder()}/sandboxes/{self.name}", encoding="utf-8") as f:
            return int(re.search(r"^pid=(\d+)$", f.read(), re.M).group(1))

    @staticmethod
    def takes(pid, number):
        """Whether a process of glovebox has begun to look for that signal."""
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            blocked = next(int(line.split()[1], 16) for line in f if line.startswith("SigBlk"))
        return bool(blocked >> (number - 1) & 1)

    def is_listed(self):
        return self.name in {s["name"] for s in json.loads(glovebox("ps", "--json").stdout)}


class Exec(Living):
    def test_streams_apart_and_status(self):
        self.create()
        self.expect(self.exec("sh", "-c", "echo out; echo err >&2; exit 3"), 3, b"out\n", b"err\n")
        self.expect(self.exec("sh", "-c", "kill -9 $$"), 137, b"", b"")

    def test_state_is_shared(self):
        self.create()
        self.expect(self.exec("sh", "-c", "echo one > f; sleep 60 & echo $! > pid"))
        self.expect(self.exec("sh", "-c", "cat f; kill -0 $(cat pid) && echo alive"), out=b"one\nalive\n")

    def test_pid_is_the_sandboxes(self):
        self.create()
        process = self.start_exec("sh", "-c", "echo $$; sleep 60")
        pid = process.stdout.readline().strip().decode()
        self.expect(self.exec("sh", "-c", f"kill -9 {pid}"))
        self.assertEqual(process.wait(LIMIT), 137)
        self.expect(self.exec("sh", "-c", f"kill -0 {pid} 2>/dev/null || echo gone"), out=b"gone\n")

    def test_input(self):
        self.create()
        data = os.urandom(3_000_000)
        self.expect(self.exec("cat", options=["-i"], input=data), out=data)
        # Without -i it has none, whatever ours is.
        self.expect(self.exec("cat", input=b"not passed on"), out=b"")
        # A program that reads nothing does not hold anybody up.
        self.expect(self.exec("true", options=["-i"], input=data), out=b"")

    def test_output_is_whole(self):
        self.create()
        done = self.exec("sh", "-c", "seq 400000; seq 1000 >&2")
        self.expect(done, out="".join(f"{i}\n" for i in range(1, 400001)).encode(),
                    err="".join(f"{i}\n" for i in range(1, 1001)).encode())

    def test_environment_user_and_folder(self):
        self.create("--env", "A=1", "--env", "B=1")
        script = "echo $A $B $HOME $USER; pwd; id -un"
        self.expect(self.exec("sh", "-c", script, options=["-e", "B=2"]), out=b"1 2 /home/user user\n/home/user\nuser\n")
        self.expect(self.exec("sh", "-c", "echo $HOME; pwd; id -un", options=["-u", "root", "-w", "/tmp"]),
                    out=b"/root\n/tmp\nroot\n")

    def test_groups_are_those_of_the_user_whom_a_number_names(self):
        self.create()
        self.expect(self.exec("sh", "-c", "echo more:x:5000:root,user >> /etc/group", options=["-u", "root"]))
        for user, shown in (("user", True), ("1000", True), ("0", True), ("4242", False), ("user:2000", False), ("1000:2000", False)):
            done = self.exec("id", "-G", options=["-u", user])
            self.assertEqual(b"5000" in done.stdout.split(), shown, (user, done))

    def test_arguments_of_any_size_are_whole(self):
        self.create()
        # The init has room for about 12,000 bytes at hand, with the environment.
        for size in (0, 1, *range(10_000, 12_200, 50), 100_000):
            word = "".join(f"{i} " for i in range(size // 2))[:size]
            self.expect(self.exec("printf", "%s|", word, "last"), out=f"{word}|last|".encode())
        words = [str(i) for i in range(20_000)]
        self.expect(self.exec("printf", "%s|", *words), out="".join(f"{w}|" for w in words).encode())

    def test_what_cannot_start(self):
        self.create()
        self.assertEqual(self.exec("no-such-program").returncode, 127)
        self.assertEqual(self.exec("/etc/passwd").returncode, 126)
        for options in (["-u", "nobody-such"], ["-w", "/no/such"]):
            done = self.exec("true", options=options)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertRegex(done.stderr.decode(), r"\Aglovebox: [^\n]+\n\Z")
        self.expect(self.exec("echo", "still here"), out=b"still here\n")

    def test_what_turns_out_late_not_to_be_a_program(self):
        """The file was found, and execve refuses it: it never was a start."""
        self.create()
        self.exec("sh", "-c", "cd /tmp; echo garbage >text; echo '#!/no/such' >script; chmod +x text script")
        for word, said in (("text", b"is neither a program for this machine nor a script"), ("script", b"what runs it")):
            for options in ([], ["-i"], ["-d"], ["-d", "--tag", word]):
                done = self.exec(f"/tmp/{word}", options=options)
                self.expect(done, 126, b"")
                self.assertRegex(done.stderr, rb"\Aglovebox: [^\n]*/tmp/%b: %b[^\n]*\n\Z" % (word.encode(), said))
        self.expect(self.exec("echo", "still here"), out=b"still here\n")

    def test_terminal(self):
        self.create()
        terminal = Terminal([GLOVEBOX, "exec", "-it", self.name, "--", "bash", "--norc"], (30, 90))
        self.addCleanup(terminal.close)
        terminal.write(b"tty; stty size; echo $((6*7))\n")
        self.assertTrue(terminal.expect(b"/dev/pts/"))
        self.assertTrue(terminal.expect(b"30 90"))
        self.assertTrue(terminal.expect(b"42"))
        terminal.write(b"sh -c 'echo beg''un; exec sleep 100'\n")
        self.assertTrue(terminal.expect(b"begun"))
        terminal.output = b""
        terminal.write(b"\x03")
        self.assertTrue(terminal.expect(b"$ "))  # what is typed before it would be thrown away
        terminal.write(b"echo after-$?\n")
        self.assertTrue(terminal.expect(b"after-130"))
        terminal.write(b"exit 5\n")
        self.assertEqual(terminal.wait(), 5)

    def test_what_comes_in_pieces_is_one_on_a_terminal(self):
        self.create()
        pieces = [b"a\xc3", b"\xa9b\033[3", b"1mred\033[0m 10%\r", b"20%\nend\n"]
        code = f"import os\nfor piece in {pieces}: os.write(1, piece); input()"
        terminal = Terminal(["env", "TERM=xterm", GLOVEBOX, "exec", "-i", self.name, "--", "python3", "-c", code], (24, 80))
        self.addCleanup(terminal.close)
        for seen in (b"a", b"b", b"red\033[0m 10%"):
            self.assertTrue(terminal.expect(seen))
            terminal.output = terminal.output.replace(b"\r\n", b"", 1)  # the terminal's echo of the last newline
            terminal.write(b"\n")
        self.assertTrue(terminal.expect(b"end"))
        terminal.write(b"\n")
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(terminal.output.replace(b"\r\n", b""), b"a\xc3\xa9b\033[31mred\033[0m 10%\r\033[K\\r20%end")

    def test_two_terminals_are_apart(self):
        self.create()
        first = Terminal([GLOVEBOX, "exec", "-it", self.name, "--", "sh", "-c", "tty; read x; echo got $x"], (24, 80))
        self.addCleanup(first.close)
        self.assertTrue(first.expect(b"/dev/pts/0"))
        second = Terminal([GLOVEBOX, "exec", "-it", self.name, "--", "sh", "-c", "tty"], (24, 80))
        self.addCleanup(second.close)
        self.assertTrue(second.expect(b"/dev/pts/1"))
        self.assertEqual(second.wait(), 0)
        first.write(b"hello\n")
        self.assertTrue(first.expect(b"got hello"))
        self.assertEqual(first.wait(), 0)

    def test_signals_are_passed_on(self):
        self.create()
        process = self.start_exec("sh", "-c", "trap 'echo term; exit 9' TERM; echo ready; while :; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.communicate(timeout=LIMIT)[0], b"term\n")
        self.assertEqual(process.returncode, 9)

    def test_time_is_up(self):
        self.create()
        done = self.exec("sh", "-c", "trap '' TERM; echo $$ > pid; sleep 100 & wait; sleep 100",
                         options=["--timeout", "0.3"])
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertIn(b"time was up", done.stderr)
        # Not the shell alone: all of its session.
        left = self.exec("sh", "-c", "ls /proc | grep -c '^[0-9]'")
        self.assertLessEqual(int(left.stdout), 4, left.stdout)

    def test_no_call_waits_for_a_kernel_that_does_not_obey(self):
        self.create()
        running = self.start_exec("sh", "-c", "echo up; sleep 1000", options=["--timeout", "1"])
        self.assertEqual(running.stdout.read(3), b"up\n")
        kernel = self.kernel()
        os.kill(kernel, signal.SIGSTOP)
        self.addCleanup(os.kill, kernel, signal.SIGCONT)
        done = self.exec("true", options=["--timeout", "0.1"])
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(b"kernel does not answer; end the sandbox", done.stderr)
        self.assertEqual(running.wait(LIMIT), 124, running.stderr.read())

    def processes(self):
        return int(self.exec("sh", "-c", "ls /proc | grep -c '^[0-9]'").stdout)

    def test_what_its_starter_was_late_for_is_ended_then(self):
        """Its time and all that a kernel may take to obey is over before the starter could say a word."""
        self.create()
        before = self.processes()
        running = self.start_exec("sh", "-c", "echo up; sleep 1000", options=["--timeout", "0.3"])
        self.assertEqual(running.stdout.read(3), b"up\n")
        starter = self.starter()
        os.kill(starter, signal.SIGSTOP)
        try:
            time.sleep(8)
        finally:
            os.kill(starter, signal.SIGCONT)
        self.assertEqual(running.wait(LIMIT), 124, running.stderr.read())
        self.assertTrue(wait_until(lambda: self.processes() == before))

    def test_what_starts_too_late_is_ended(self):
        self.create()
        before = self.processes()
        kernel = self.kernel()
        os.kill(kernel, signal.SIGSTOP)
        self.addCleanup(os.kill, kernel, signal.SIGCONT)
        done = self.exec("sleep", "1000", options=["--timeout", "0.1"])
        self.assertEqual(done.returncode, 125, done.stderr)
        os.kill(kernel, signal.SIGCONT)
        self.assertTrue(wait_until(lambda: self.processes() == before))

    def test_who_is_left_behind_does_not_hold_up_its_end(self):
        self.create()
        process = self.start_exec("sh", "-c", "yes & echo $! > pid; sleep 0.5; exit 3")
        # Slower than yes writes, so that there is always more.
        taken = 0
        while piece := os.read(process.stdout.fileno(), 4096):
            taken += len(piece)
            self.assertLess(taken, 64 << 20)
            time.sleep(0.002)
        self.assertEqual(process.wait(LIMIT), 3)
        # Whoever it left behind goes on, with nobody to read it.
        def used():
            fields = self.exec("sh", "-c", "cut -d' ' -f14,15 /proc/$(cat pid)/stat").stdout.split()
            return sum(map(int, fields))
        before = used()
        self.assertTrue(wait_until(lambda: used() > before))
        self.expect(self.exec("sh", "-c", "kill $(cat pid) && echo killed"), out=b"killed\n")

    def test_nobody_who_goes_away_ends_it(self):
        self.create()
        process = self.start_exec("sh", "-c", "echo begun; sleep 0.5; echo done > result; sleep 60")
        self.assertEqual(process.stdout.readline(), b"begun\n")
        process.kill()
        process.wait()
        self.assertTrue(wait_until(lambda: self.exec("cat", "result").stdout == b"done\n"))

    def test_signals_come_through_behind_input(self):
        self.create()
        process = self.start_exec("sleep", "60", options=["-i"], stdin=subprocess.PIPE)
        os.set_blocking(process.stdin.fileno(), False)
        taken = 0
        while taken < 200_000:  # more than lies between
            try:
                taken += os.write(process.stdin.fileno(), b"x" * 4096)
            except BlockingIOError:
                time.sleep(0.05)
                if select.select([], [process.stdin], [], 1)[1] == []:
                    break
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT), 143)

    def test_signals_come_through_behind_output(self):
        self.create()
        script = "trap 'echo got > got' USR1; (trap '' USR1; exec yes) & wait; wait"
        process = self.start_exec("sh", "-c", script)
        process.stdout.read(10)
        time.sleep(0.5)  # all that lies between is full
        process.send_signal(signal.SIGUSR1)
        self.assertTrue(wait_until(lambda: self.exec("cat", "got").stdout == b"got\n"))
        time.sleep(0.2)
        process.send_signal(signal.SIGQUIT)
        while process.stdout.read(1 << 20):
            pass
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGQUIT)

    def test_who_is_not_read_any_more_is_told(self):
        self.create()
        process = self.start_exec("yes")
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.wait(LIMIT), 141)
        # Of one stream of two.
        process = self.start_exec("sh", "-c", "trap '' PIPE; while echo x 2>/dev/null; do :; done; echo noticed >&2; exit 4")
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"noticed\n")
        self.assertEqual(process.wait(LIMIT), 4)

    def test_output_that_can_not_be_written_is_said(self):
        self.create()
        with open("/dev/full", "wb") as full:
            done = subprocess.run([GLOVEBOX, "exec", self.name, "--", "echo", "x"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"standard output: No space left on device; the program's output is incomplete", done.stderr)

    def test_a_starter_that_does_not_answer(self):
        self.create()
        starter = self.starter()
        os.kill(starter, signal.SIGSTOP)
        try:
            process = self.start_exec("true")
            self.assertTrue(wait_until(lambda: self.takes(process.pid, signal.SIGINT)))
            self.assertTrue(wait_until(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None))
            self.assertIn(process.returncode, (130, -signal.SIGINT))  # one more, when it was over
        finally:
            os.kill(starter, signal.SIGCONT)

    def test_no_process_for_it(self):
        self.create("--pids", "5")
        sleepers = [self.start_exec("sh", "-c", "echo up; exec sleep 60") for _ in range(5)]
        for sleeper in sleepers:
            self.assertEqual(sleeper.stdout.readline(), b"up\n")
        done = self.exec("true")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(b"no process can be made", done.stderr)
        sleepers[0].send_signal(signal.SIGTERM)
        sleepers[0].wait(LIMIT)
        self.expect(self.exec("echo", "again"), out=b"again\n")

    def test_many_at_once(self):
        self.create()
        running = [self.start_exec("sh", "-c", f"echo {i}; cat", options=["-i"], stdin=subprocess.PIPE)
                   for i in range(40)]
        for i, process in enumerate(running):
            self.assertEqual(process.stdout.readline(), f"{i}\n".encode())
        for i, process in enumerate(running):
            self.assertEqual(process.communicate(f"in {i}".encode(), timeout=LIMIT)[0], f"in {i}".encode())
            self.assertEqual(process.returncode, 0)

    def test_also_beside_a_main_program(self):
        process = self.start("--name", self.name, "--", "sh", "-c", "echo ready; read x; exit 4")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.expect(self.exec("sh", "-c", "pgrep -c sh || true; echo here"))
        waiting = self.start_exec("sleep", "60")
        time.sleep(0.2)
        process.stdin.write(b"\n")
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 4)
        waiting.wait(LIMIT)
        self.assertNotEqual(waiting.returncode, 0)


class Beside(Living):
    """Programs beside that of glovebox run."""

    def test_as_many_as_descriptors_can_be_had(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        started = subprocess.Popen([GLOVEBOX, "run", "--name", self.name, "sh", "-c", "echo here; exec sleep 1000"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, preexec_fn=few)
        try:
            self.assertEqual(started.stdout.readline(), b"here\n")
            programs = [self.start_exec("sh", "-c", "echo here; exec sleep 1000") for _ in range(24)]
            self.assertEqual([p.stdout.readline() for p in programs], [b"here\n"] * len(programs))
        finally:
            glovebox("kill", self.name)
            started.communicate(timeout=LIMIT)


class Attach(Living):
    def detach(self, *words, options=()):
        done = self.exec(*words, options=["-d", *options])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip().decode()

    def attach(self, which, *options, **more):
        return glovebox("attach", *options, self.name, which, **more)

    def test_by_pid_and_by_tag(self):
        self.create()
        pid = self.detach("sh", "-c", "echo one; sleep 0.3; echo two >&2; exit 6", options=["--tag", "job"])
        self.expect(self.attach(pid), 6, b"one\n", b"two\n")
        # Also behind its end, and from any byte.
        self.expect(self.attach("job", "--since", "2"), 6, b"e\n", b"two\n")
        self.assertEqual(self.attach("nothing").returncode, 125)

    def test_two_see_the_same(self):
        self.create()
        pid = self.detach("sh", "-c", "sleep 0.3; seq 20000")
        followers = [subprocess.Popen([GLOVEBOX, "attach", self.name, pid], stdout=subprocess.PIPE) for _ in range(3)]
        wanted = "".join(f"{i}\n" for i in range(1, 20001)).encode()
        for follower in followers:
            self.assertEqual(follower.communicate(timeout=LIMIT)[0], wanted)

    def test_what_is_not_kept_is_said(self):
        self.create()
        pid = self.detach("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo end")
        self.assertTrue(wait_until(lambda: self.attach(pid, "--new").returncode == 0))
        done = self.attach(pid)
        self.assertTrue(done.stdout.endswith(b"xend\n"))
        self.assertLessEqual(len(done.stdout), 1 << 20)
        self.assertRegex(done.stderr.decode(), r"\d+ bytes of its output came before somebody read")
        self.assertEqual(len(done.stdout) + int(re.search(rb"(\d+) bytes", done.stderr).group(1)), 3_000_004)

    def test_input_of_one_that_was_left(self):
        self.create()
        first = self.start_exec("sh", "-c", "echo $$; read x; echo got $x", options=["-i"], stdin=subprocess.PIPE)
        pid = first.stdout.readline().strip().decode()
        first.kill()
        first.wait()
        self.expect(self.attach(pid, "-i", "--new", input=b"hello\n"), 0, b"got hello\n")

    def test_who_follows_and_goes_ends_nothing(self):
        self.create()
        pid = self.detach("sh", "-c", "i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo line; sleep 0.05; done; echo done > done")
        follower = subprocess.Popen([GLOVEBOX, "attach", self.name, pid], stdout=subprocess.PIPE)
        follower.stdout.read(5)
        follower.stdout.close()
        self.assertEqual(follower.wait(LIMIT), 141)
        self.assertTrue(wait_until(lambda: self.exec("cat", "done").stdout == b"done\n"))

    def test_a_reader_that_rests_holds_it_up(self):
        self.create()
        process = self.start_exec("sh", "-c", "head -c 20000000 /dev/zero; echo all > written")
        time.sleep(0.5)
        self.assertEqual(self.exec("cat", "written").returncode, 1)
        starter = self.starter()
        with open(f"/proc/{starter}/status", encoding="utf-8") as f:
            resident = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
        self.assertLess(resident, 16_000)
        self.assertEqual(len(process.communicate(timeout=LIMIT)[0]), 20_000_000)
        self.expect(self.exec("cat", "written"), out=b"all\n")


    def test_a_reader_that_takes_nothing_is_left_when_told_twice(self):
        """Whatever the program makes of it."""
        self.create()
        process = self.start_exec("sh", "-c", "trap '' INT; echo ready; head -c 20000000 /dev/zero; sleep 1000")
        self.assertEqual(process.stdout.readline(), b"ready\n")

        def is_gone():
            process.send_signal(signal.SIGINT)
            return process.poll() is not None
        self.assertTrue(wait_until(is_gone))
        self.assertIn(process.returncode, (130, -signal.SIGINT))  # one more, when it was over


class Life(Living):
    def test_stop_gives_a_grace(self):
        self.create()
        process = self.start_exec("sh", "-c", "trap 'echo term; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        waiting = subprocess.Popen([GLOVEBOX, "wait", self.name], stdout=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: self.is_listed()))
        self.assertTrue(wait_until(lambda: waits_on_a_socket(waiting.pid)))
        self.expect(glovebox("stop", self.name))
        self.assertEqual(process.communicate(timeout=LIMIT)[0], b"term\n")
        out = waiting.communicate(timeout=LIMIT)[0].decode()
        self.assertRegex(out, rf"\A{self.name}\tkilled\t[^\n]*glovebox stop\n\Z")
        self.assertEqual(waiting.returncode, 143)
        self.assertFalse(self.is_listed())

    def test_kill_is_at_once_and_leaves_nothing(self):
        self.create("--grace", "30")
        process = self.start_exec("sh", "-c", "trap '' TERM; echo ready; sleep 60")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        starter = self.starter()
        self.expect(glovebox("kill", self.name))
        process.wait(LIMIT)
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{starter}")))
        names = [n for n in os.listdir(f"{runtime_folder()}/sandboxes") if self.name in n]
        self.assertEqual(names, [])
        self.expect_refused(glovebox("kill", self.name), "no sandbox of this name")

    def test_lifetime(self):
        begun = time.monotonic()
        self.create("--lifetime", "1")
        process = self.start_exec("sleep", "60")
        waiting = subprocess.run([GLOVEBOX, "wait", self.name], capture_output=True, timeout=LIMIT)
        self.assertIn(b"\tlifetime\t", waiting.stdout)
        self.assertGreaterEqual(time.monotonic() - begun, 1)
        process.wait(LIMIT)
        self.assertNotEqual(process.returncode, 0)

    def test_it_outlives_its_creator(self):
        done = subprocess.run(["setsid", GLOVEBOX, "create", "--name", self.name], capture_output=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(glovebox, "kill", self.name)
        self.expect(self.exec("echo", "there"), out=b"there\n")
        starter = self.starter()
        for fd in os.listdir(f"/proc/{starter}/fd"):
            try:
                self.assertNotIn(self.folder, os.readlink(f"/proc/{starter}/fd/{fd}"))
            except FileNotFoundError:  # that of the program which has just ended
                pass
        self.assertEqual(os.readlink(f"/proc/{starter}/cwd"), "/")

    def stopped_creator(self):
        """One that waits for a sandbox and does not know its name yet, and all below it."""
        for _ in range(50):
            creator = subprocess.Popen([GLOVEBOX, "create", "--name", self.name], stdout=subprocess.PIPE)
            self.addCleanup(glovebox, "kill", self.name)
            # Step by step, since who only looks may have to wait for a processor meanwhile.
            with open(f"/proc/{creator.pid}/task/{creator.pid}/children", encoding="ascii") as children:
                while True:
                    os.kill(creator.pid, signal.SIGSTOP)
                    self.assertTrue(wait_until(lambda: stat_fields(creator.pid)[0] in "TZ"))
                    children.seek(0)
                    if children.read() or stat_fields(creator.pid)[0] == "Z":
                        break
                    os.kill(creator.pid, signal.SIGCONT)
                    time.sleep(0.001)
            said = fcntl.ioctl(creator.stdout, termios.FIONREAD, bytes(4))
            if stat_fields(creator.pid)[0] == "T" and said == bytes(4):
                self.assertTrue(wait_until(lambda: len(descendants(creator.pid)) > 1))
                return creator, descendants(creator.pid)
            os.kill(creator.pid, signal.SIGCONT)
            creator.communicate(timeout=LIMIT)
            glovebox("kill", self.name)
        raise AssertionError("never stopped in time")

    def test_whose_creator_is_killed_is_not_left(self):
        """As it begins; when it is there, but the creator does not know its name yet."""
        for is_there in (False, True):
            creator, below = self.stopped_creator()
            if is_there:
                self.assertTrue(wait_until(lambda: self.exec("true").returncode == 0))
                below = descendants(creator.pid)
            creator.kill()
            self.assertEqual(creator.communicate(timeout=LIMIT)[0], b"")
            self.assertTrue(wait_until(lambda: not any(map(is_alive, below))), is_there)
            self.assertFalse(self.is_listed())

    def test_whose_name_nobody_takes_is_not_left(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([GLOVEBOX, "create", "--name", self.name], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, rb"\Aglovebox: create: its name can't be written, [^\n]+\n\Z")
        self.assertTrue(wait_until(lambda: not self.is_listed()))
        for words, options in (["create", "--name", self.name], b""), (["answer"], b"name=" + self.name.encode() + b"\0"):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([GLOVEBOX, *words], input=options, stdout=writer, stderr=subprocess.PIPE, timeout=LIMIT)
            os.close(writer)
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue(wait_until(lambda: not self.is_listed()))

    def test_a_result_that_gets_nowhere_is_none(self):
        self.create()
        policy = os.path.join(self.folder, "policy.json")
        with open(policy, "w", encoding="utf-8") as f:
            f.write('{"version": 1}')
        for words in (["ps"], ["ps", "-a"], ["ps", "--json"], ["inspect", self.name], ["inspect", "--json", self.name],
                      ["port", self.name], ["port", "--json", self.name], ["stats", "--no-stream"], ["events", "--no-follow"],
                      ["policy", "check", policy], ["policy", "explain", policy, "dns:a.test"], ["logs", "--help"],
                      ["exec", "-d", self.name, "--", "true"], ["exec", self.name, "--", "echo", "x"], ["help"], ["--version"]):
            with self.subTest(words), open("/dev/full", "wb") as full:
                done = subprocess.run([GLOVEBOX, *words], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT)
                self.assertEqual(done.returncode, 125)
                self.assertRegex(done.stderr, rb"\Aglovebox: [^\n]*: No space left on device; [^\n]+\n\Z")

    def test_a_killed_starter_leaves_no_process(self):
        self.create()
        process = self.start_exec("sh", "-c", "echo ready; sleep 60")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        starter = self.starter()
        below = descendants(starter)
        self.assertTrue(below)
        os.kill(starter, signal.SIGKILL)
        process.wait(LIMIT)
        self.assertEqual(process.returncode, 125)
        self.assertTrue(wait_until(lambda: not any(is_alive(p) for p in below)))
        self.assertTrue(wait_until(lambda: not self.is_listed()))
        names = [n for n in os.listdir(f"{runtime_folder()}/sandboxes") if self.name in n]
        self.assertEqual(names, [])

    def test_what_is_no_use(self):
        for words, pattern in ((("create", "true"), "starts no command"), (("create", "--timeout", "3"), "for a command"),
                               (("exec", "no-such-box", "--", "true"), "no sandbox of this name"),
                               (("exec", "box"), "no command"), (("stop",), "no name"),
                               (("attach", "box"), "process id or tag")):
            with self.subTest(words):
                self.expect_refused(glovebox(*words), pattern)


class Abuse(Living):
    """What comes over the socket is checked, whoever sends it."""

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(s.close)
        s.connect(f"{runtime_folder()}/sandboxes/.{self.name}+exec")  # waits for room, as one with a time limit does not
        s.settimeout(LIMIT)
        return s

    def packet(self, kind, text=b"", value=0, offset=0, flags=0, status=0, size=None, version=VERSION):
        return struct.pack(PACKET, version, kind, value, offset, flags, status, len(text) if size is None else size, 0) + text

    def receive(self, s):
        data = s.recv(70000)
        if not data:
            return None
        head = struct.unpack_from(PACKET, data)
        return head[1], head, data[struct.calcsize(PACKET):]

    def start_raw(self, s, records, **more):
        with tempfile.TemporaryFile() as f:
            f.write(records)
            f.flush()
            s.sendmsg([self.packet(START, **more)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f.fileno()]))])

    def test_garbage_ends_the_connection_alone(self):
        self.create()
        for data in (b"x", b"\0" * 40, os.urandom(60000), self.packet(99), self.packet(START, size=5),
                     self.packet(LIST, version=2), self.packet(LIST, b"x" * 32769), self.packet(START, b"t" * 256, flags=NULL_INPUT)):
            s = self.connect()
            s.send(data)
            self.assertIsNone(self.receive(s), data[:40])
        self.expect(self.exec("echo", "fine"), out=b"fine\n")

    def test_records_that_are_none(self):
        self.create()
        for records in (b"", b"arg=true", b"noequals\0", b"image=host\0arg=true\0", b"waits=1\0", b"mount.guest=/x\0arg=true\0",
                        b"arg=" + b"x" * (5 << 20) + b"\0", b"env=NOEQUALS\0arg=true\0", b"user=\0arg=true\0"):
            s = self.connect()
            self.start_raw(s, records, flags=NULL_INPUT)
            kind, head, text = self.receive(s)
            self.assertEqual((kind, head[5]), (FAILED, 125), (records[:40], text))
        s = self.connect()
        s.send(self.packet(START, flags=NULL_INPUT))
        self.assertEqual(self.receive(s)[0], FAILED)
        reading, writing = os.pipe()
        s = self.connect()
        s.sendmsg([self.packet(START)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [reading]))])
        self.assertEqual(self.receive(s)[0], FAILED)
        os.close(reading)
        os.close(writing)
        self.expect(self.exec("echo", "fine"), out=b"fine\n")

    def test_questions_about_nobody(self):
        self.create()
        s = self.connect()
        for packet, error in ((self.packet(INPUT, b"x", value=4711), 3), (self.packet(SIGNAL, value=1, status=9), 3),
                              (self.packet(INPUT, b"x"), 3), (self.packet(ATTACH, value=1), 3), (self.packet(ATTACH), 3),
                              (self.packet(LIFETIME, value=-1), 22), (self.packet(LIST), 0)):
            s.send(packet)
            kind, head, _ = self.receive(s)
            self.assertEqual((kind, head[5]), (ANSWER, error))

    def test_time_that_is_up_before_it_has_begun(self):
        self.create()
        s = self.connect()
        self.start_raw(s, b"arg=sleep\0arg=40\0", flags=NULL_INPUT, value=1)
        self.assertEqual(self.receive(s)[0], STARTED)
        kind, head, _ = self.receive(s)
        self.assertEqual((kind, head[2], head[5]), (ENDED, 1, signal.SIGKILL))

    def start_and_wait(self, script, **more):
        s = self.connect()
        self.start_raw(s, b"arg=sh\0arg=-c\0arg=" + script.encode() + b"\0", **more)
        kind, head, text = self.receive(s)
        self.assertEqual(kind, STARTED, text)
        return s, head[2]

    def until(self, s, wanted):
        """Packets up to one of that type."""
        found = []
        while not found or found[-1][0] != wanted:
            found.append(self.receive(s))
            self.assertIsNotNone(found[-1])
        return found

    def test_who_asks_for_the_end_and_is_gone(self):
        """What was sent is done, also when nobody is left to answer, and when it lies behind something else."""
        for before in ((WATCH, LIST), (INPUT, INPUT), ()):
            with self.subTest(before):
                self.create()
                starter = next(s["pid"] for s in json.loads(glovebox("ps", "--json").stdout) if s["name"] == self.name)
                s, _ = self.start_and_wait("sleep 60") if INPUT in before else (self.connect(), 0)
                os.kill(starter, signal.SIGSTOP)
                try:
                    for kind in before:
                        s.send(self.packet(kind, b"x" * 32768 if kind == INPUT else b""))
                    s.send(self.packet(END, status=1))
                    s.close()
                finally:
                    os.kill(starter, signal.SIGCONT)
                self.assertTrue(wait_until(lambda: not self.is_listed()))

    def test_any_time_can_be_given(self):
        self.create()
        for value, grace in ((2**63 - 1, 2**64 - 1), (2**62, 0)):
            s, _ = self.start_and_wait("sleep 0.2; echo done", flags=NULL_INPUT, value=value, offset=grace)
            *_, output, end = self.until(s, ENDED)
            self.assertEqual((output[2], end[1][2], end[1][5]), (b"done\n", 0, 0))

    def test_questions_behind_input(self):
        self.create()
        s, _ = self.start_and_wait("sleep 60")
        asked = 0
        while True:  # until one is not answered: there is no room
            s.send(self.packet(INPUT, b"x" * 32768))
            asked += 1
            try:
                s.settimeout(3)
                kind, head, _ = self.receive(s)
            except TimeoutError:
                break
            self.assertEqual((kind, head[4], head[5]), (ANSWER, INPUT, 0))
            self.assertLess(asked, 100)
        s.settimeout(LIMIT)
        for packet, question, error in ((self.packet(INPUT_END), INPUT_END, 0), (self.packet(WINDOW), WINDOW, errno.ENOTTY),
                                        (self.packet(SIGNAL, status=0), SIGNAL, errno.EINVAL)):
            s.send(packet)
            kind, head, _ = self.receive(s)
            self.assertEqual((kind, head[4], head[5]), (ANSWER, question, error))
        s.send(self.packet(SIGNAL, status=9))
        self.assertEqual(self.until(s, ENDED)[-1][1][5], 9)

    def test_two_who_write_lose_nothing(self):
        self.create()
        pieces = 16
        first, pid = self.start_and_wait(f"while [ ! -e go ]; do sleep 0.02; done; head -c {2 * pieces * 32768} | wc -c")
        second = self.connect()
        statuses = []

        def write(s):
            for _ in range(pieces):
                s.send(self.packet(INPUT, b"x" * 32768, value=pid))
                statuses.append(self.receive(s)[1][5])
        writers = [threading.Thread(target=write, args=[s]) for s in (first, second)]
        for writer in writers:
            writer.start()
        time.sleep(0.3)  # both wait for room
        self.expect(self.exec("touch", "go"))
        writers[1].join(LIMIT)
        writers[0].join(LIMIT)
        found = self.until(first, ENDED)
        self.assertEqual(statuses, [0] * 2 * pieces)
        self.assertEqual(b"".join(text for kind, _, text in found if kind == OUTPUT), b"%d\n" % (2 * pieces * 32768))

    def test_who_comes_again_gets_what_he_has_not_got(self):
        self.create()
        wanted = "".join(f"{i}\n" for i in range(300_000)).encode()
        s, pid = self.start_and_wait("exec seq 0 299999", flags=NULL_INPUT)
        got, changes = b"", 0
        while True:
            kind, head, text = self.receive(s)
            if kind == ENDED:
                break
            self.assertEqual((kind, head[3]), (OUTPUT, len(got)))
            got += text
            if len(got) // 100_000 > changes:  # as if that one had been killed, with all that was on its way
                changes += 1
                again = self.connect()
                again.send(self.packet(ATTACH, value=pid, offset=len(got)))
                kind, head, _ = self.receive(again)
                self.assertEqual((kind, head[3]), (STARTED, len(got)))
                s.close()
                s = again
        self.assertGreater(changes, 10)
        self.assertTrue(got == wanted)

    def test_output_that_others_read_is_not_ended(self):
        self.create()
        s, pid = self.start_and_wait("echo one; read x; echo two; echo three >&2; read x", flags=0)
        other = self.connect()
        other.send(self.packet(ATTACH, value=pid))
        self.until(other, STARTED)
        s.send(self.packet(OUTPUT_END, flags=OUT))
        self.assertEqual(self.until(s, ANSWER)[-1][1][5], errno.EBUSY)
        other.close()
        self.expect(self.exec("true"))
        s.send(self.packet(OUTPUT_END, flags=OUT))
        self.assertEqual(self.until(s, ANSWER)[-1][1][5], 0)
        s.send(self.packet(INPUT, b"x\n"))
        found = self.until(s, ENDED)
        self.assertEqual(found[-1][1][5], signal.SIGPIPE)

    def test_all_descriptors_in_use(self):
        self.create()
        starter = self.starter()
        limit = len(os.listdir(f"/proc/{starter}/fd")) + 8
        soft, hard = resource.prlimit(starter, resource.RLIMIT_NOFILE)
        resource.prlimit(starter, resource.RLIMIT_NOFILE, (limit, hard))
        sockets = [self.connect() for _ in range(20)]
        self.assertTrue(wait_until(lambda: len(os.listdir(f"/proc/{starter}/fd")) >= limit))
        resource.prlimit(starter, resource.RLIMIT_NOFILE, (soft, hard))
        for s in sockets:
            s.close()
        self.expect(self.exec("echo", "again"), out=b"again\n")
        # Held by a program, and nobody goes away when it ends.
        idle = [self.connect() for _ in range(12)]
        program, _ = self.start_and_wait("sleep 60")
        limit = len(os.listdir(f"/proc/{starter}/fd"))
        resource.prlimit(starter, resource.RLIMIT_NOFILE, (limit, hard))
        waiting = self.connect()
        time.sleep(0.3)
        waiting.close()
        program.send(self.packet(SIGNAL, status=9))
        self.until(program, ENDED)
        s = self.connect()
        s.send(self.packet(LIST))
        self.assertEqual(self.receive(s)[0], ANSWER)
        self.assertEqual(len(idle), 12)

    def test_no_program_comes_to_what_ends(self):
        self.create("--grace", "600")
        process = self.start_exec("sh", "-c", "trap 'echo term' TERM; echo ready; while [ ! -e go ]; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        s = self.connect()
        s.send(self.packet(END))
        self.assertEqual(self.receive(s)[0], ANSWER)
        self.assertEqual(process.stdout.readline(), b"term\n")
        late = self.exec("true")
        self.assertEqual(late.returncode, 125)
        self.assertIn(b"about to end", late.stderr)

    def test_who_reads_nothing_does_not_keep_a_sandbox(self):
        self.create()
        s, _ = self.start_and_wait("yes", flags=NULL_INPUT)
        time.sleep(0.3)
        [kernel] = [pid for pid, _ in descendants(self.starter()) if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "glovebox-kernel"
                    and stat_fields(pid)[1] == str(self.starter())]
        os.kill(kernel, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not self.is_listed()))

    def test_the_end_of_the_sandbox_is_told(self):
        self.create()
        s, _ = self.start_and_wait("trap '' TERM; echo one; exec sleep 60", flags=NULL_INPUT)
        process = self.start_exec("sh", "-c", "trap '' TERM; echo up; exec sleep 60")
        self.assertEqual(process.stdout.readline(), b"up\n")
        self.until(s, OUTPUT)
        self.expect(glovebox("kill", self.name))
        end = self.until(s, ENDED)[-1][1]
        self.assertEqual((end[5], end[4]), (signal.SIGKILL, WITH_SANDBOX))
        self.assertEqual(process.wait(LIMIT), 125)
        self.assertIn(b"the sandbox has ended, and the program with it", process.stderr.read())

    def test_who_reads_nothing_costs_no_memory(self):
        self.create()
        sockets = [self.connect() for _ in range(20)]
        for s in sockets:
            self.start_raw(s, b"arg=sh\0arg=-c\0arg=yes\0", flags=NULL_INPUT)
        time.sleep(1)
        with open(f"/proc/{self.starter()}/status", encoding="utf-8") as f:
            resident = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
        self.assertLess(resident, 80_000)
        for s in sockets:
            s.close()
        self.expect(self.exec("echo", "fine"), out=b"fine\n")

    def test_too_many_are_turned_away(self):
        self.create()
        sockets = []
        for _ in range(600):
            try:
                sockets.append(self.connect())
            except OSError:
                break
        for s in sockets:
            s.close()
        self.expect(self.exec("echo", "fine"), out=b"fine\n")

    def test_lifetime_can_be_moved(self):
        self.create("--lifetime", "60")
        s = self.connect()
        s.send(self.packet(WATCH))
        self.assertEqual(self.receive(s)[0], ANSWER)
        s.send(self.packet(LIFETIME, value=300_000_000))
        self.assertEqual(self.receive(s)[0], ANSWER)
        kind, _, text = self.receive(s)
        self.assertEqual(kind, OVER)
        self.assertEqual(text.split(b"\0")[0], b"lifetime")


if __name__ == "__main__":
    main(sys.modules[__name__])
