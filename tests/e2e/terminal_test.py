#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`glovebox run -t` from in front of the terminal: raw mode, sizes, keys, job control, editors.

    tests/e2e/terminal_test.py [NAME...]   all cases, or those whose name has one of these words in it
"""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
from cases import GLOVEBOX, Tty, descendants, is_alive, main, wait_until  # noqa: E402
from terminal import Terminal  # noqa: E402


# A job that says when it runs, and when it goes on; not in the words with which it is typed in.
JOB = b"""sh -c 'sleep 1000 & trap "echo went\\ on" CONT; echo beg""un; while :; do wait; done'"""


class Terminals(Tty):
    def test_is_a_terminal(self):
        t = self.open("-it", "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && tty")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.output, b"/dev/pts/0\r\n")

    def test_size_and_its_changes(self):
        # bash takes no notice of a Ctrl-C while it waits for a program that has just ended by itself: there is none then.
        t = self.open("-t", "--", "bash", "-c", "sleep 1000 & trap 'stty size; echo told' WINCH; stty size; "
                      "while :; do wait; done", size=(33, 101))
        self.assertTrue(t.expect(b"33 101\r\n"), t.output)
        t.resize(50, 120)
        self.assertTrue(t.expect(b"50 120\r\ntold\r\n"), t.output)
        t.write(b"\x03")
        self.assertEqual(t.wait(), 130)

    def test_callers_terminal_is_raw_and_comes_back(self):
        before = t = None
        t = self.open("-it", "--", "sh", "-c", "echo ready; read x; echo got $x")
        before = t.attributes_before
        self.assertTrue(t.expect(b"ready\r\n"), t.output)
        self.assertFalse(t.has_echo())
        t.write(b"word\r")
        self.assertTrue(t.expect(b"got word\r\n"), t.output)
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.attributes(), before)
        self.assertEqual(t.output.count(b"word"), 2)

    def test_what_was_typed_for_the_program_is_not_for_the_shell(self):
        """Nor are the answers that its escape sequences make a terminal give, which look like typing."""
        t = self.open("-t", "--mount", f"{self.folder}:/m:rw", "--", "sh", "-c",
                      "stty raw -echo; echo ready; while [ ! -e /m/go ]; do sleep 0.05; done")
        t.expect(b"ready")
        os.set_blocking(t.master, False)
        typed, refused = 0, 0
        while refused < 20:  # until nobody takes any more
            try:
                typed += os.write(t.master, b"echo typed\n" * 100)
                refused = 0
            except BlockingIOError:
                refused += 1
                time.sleep(0.01)
        self.path("go", "")
        self.assertEqual(os.waitstatus_to_exitcode(t.wait()), 0)
        self.assertGreater(typed, 8192)
        os.set_blocking(t.slave, False)
        self.assertRaises(BlockingIOError, os.read, t.slave, 1)

    def test_terminal_comes_back_after_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT):
            t = self.open("-it", "--", "sh", "-c", "echo ready; sleep 1000")
            self.assertTrue(t.expect(b"ready\r\n"), t.output)
            self.assertFalse(t.has_echo())
            os.kill(t.pid, number)
            t.wait()
            self.assertEqual(t.attributes(), t.attributes_before, number)

    def test_ctrl_c(self):
        t = self.open("-it", "--", "sh", "-c", "echo ready; exec sleep 1000")
        self.assertTrue(t.expect(b"ready\r\n"), t.output)
        t.write(b"\x03")
        self.assertEqual(t.wait(), 130)

    def test_ctrl_d(self):
        t = self.open("-it", "cat")
        t.write(b"line\r")
        self.assertTrue(t.expect(b"line\r\nline\r\n"), t.output)
        t.write(b"\x04")
        self.assertEqual(t.wait(), 0)

    def test_shell_with_job_control(self):
        t = self.open("-it", "-e", "PS1=$ ", "--", "bash", "--norc", "--noediting")
        self.assertTrue(t.expect(b"$ "), t.output)
        t.write(JOB + b"\r")
        self.assertTrue(t.expect(b"begun"), t.output)
        t.write(b"\x1a")
        self.assertTrue(t.expect(b"Stopped"), t.output)
        t.write(b"jobs; fg\r")
        self.assertTrue(t.expect(b"went on"), t.output)
        t.output = b""
        t.write(b"\x03")
        self.assertTrue(t.expect(b"$ "), t.output)  # what is typed before it would be thrown away
        t.write(b"echo status $?\r")
        self.assertTrue(t.expect(b"status 130"), t.output)
        t.write(b"exit 9\r")
        self.assertEqual(t.wait(), 9)

    def test_ctrl_z_stops_glovebox_when_the_program_stops(self):
        t = self.open("-it", "--", "sh", "-c", "echo ready; exec cat")
        self.assertTrue(t.expect(b"ready\r\n"), t.output)
        t.write(b"\x1a")
        self.assertTrue(t.wait_stopped())
        self.assertEqual(t.attributes(), t.attributes_before)
        os.kill(t.pid, signal.SIGCONT)
        self.assertTrue(wait_until(lambda: not t.has_echo()))
        t.write(b"again\r")
        self.assertTrue(t.expect(b"again\r\nagain\r\n"), t.output)
        t.write(b"\x04")
        self.assertEqual(t.wait(), 0)

    def test_a_program_that_stops_does_not_stop_the_clock(self):
        t = self.open("-t", "--timeout", "3", "--grace", "0", "--", "sh", "-c", "sleep 1000 & kill -STOP $$")
        self.assertEqual(t.wait(seconds=60), 124)
        self.assertEqual(t.attributes(), t.attributes_before)

    def test_a_program_that_stops_is_ended(self):
        t = self.open("-t", "--grace", "200ms", "--", "sh", "-c",
                      "trap 'kill -STOP $$' TERM; echo ready; while :; do sleep 0.05; done")
        self.assertTrue(t.expect(b"ready\r\n"), t.output)
        os.kill(t.pid, signal.SIGTERM)
        self.assertEqual(t.wait(seconds=60), 143)

    def test_bytes_pass_as_they_are(self):
        t = self.open("-it", "--", "sh", "-c", "stty raw -echo; echo ready; head -c 256 | od -An -tu1 -v")
        self.assertTrue(t.expect(b"ready\n"), t.output)
        t.write(bytes(range(256)))
        self.assertEqual(t.wait(), 0)
        numbers = t.output.partition(b"ready\n")[2].split()
        self.assertEqual(list(map(int, numbers)), list(range(256)))

    def test_much_output(self):
        t = self.open("-t", "seq", "100000")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.output, "".join(f"{i}\r\n" for i in range(1, 100001)).encode())

    def test_output_in_a_second(self):
        began = time.monotonic()
        t = self.open("--output-rate", "64K", "-t", "--", "sh", "-c", "head -c 128000 /dev/zero | tr '\\0' x; echo; echo over; read x")
        self.assertTrue(t.expect(b"over\r\n"), t.output[-100:])
        self.assertGreater(time.monotonic() - began, (128000 - 6554 - 4096) / 65536)
        self.assertEqual(t.output.count(b"x"), 128000)
        t.write(b"\r")
        self.assertEqual(t.wait(), 0)

    def test_colours(self):
        t = self.open("-it", "ls", "--color=auto", "-d", "/usr")
        self.assertEqual(t.wait(), 0)
        self.assertIn(b"\033[", t.output)

    def test_term_is_set(self):
        t = self.open("-t", "-e", "TERM=screen", "--", "sh", "-c", "echo $TERM")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.output, b"screen\r\n")

    def test_hangup_ends_the_sandbox(self):
        t = self.open("-it", "--", "sh", "-c", "echo ready; exec sleep 1000")
        self.assertTrue(t.expect(b"ready\r\n"), t.output)
        below = descendants(t.pid)
        t.hang_up()
        self.assertTrue(wait_until(lambda: not any(map(is_alive, below))))

    def test_message_in_raw_mode_has_proper_lines(self):
        t = self.open("-it", "no-such-program")
        self.assertEqual(t.wait(), 127)
        self.assertRegex(t.output, rb"\Aglovebox: no-such-program: [^\r\n]*\r\n\Z")

    def test_without_it_there_is_no_terminal(self):
        t = self.open("--", "sh", "-c", "test -t 0 || test -t 1 || test -t 2 || echo none; "
                      "(: < /dev/tty) 2>/dev/null || echo no tty")
        t.wait()
        self.assertTrue(t.expect(b"none"), t.output)
        self.assertTrue(t.expect(b"no tty"), t.output)

    def test_background_job_is_not_stopped_for_reading(self):
        t = Terminal(["bash", "-c", 'set -m; "$0" run -- sh -c "sleep 1; echo done" & wait $!; '
                      "echo status $?", GLOVEBOX], (24, 80))
        self.addCleanup(t.close)
        self.assertTrue(t.expect(b"status 0"), t.output)


class Programs(Tty):
    """Real programs that own the screen."""

    def shell(self, *words):
        t = self.open("-it", *words, "--", "bash", "--norc")
        t.write(b"PS1='>''> '\r")
        self.assertTrue(t.expect(b">> "), t.output)
        return t

    def say(self, t, line, answer):
        t.output = b""
        t.write(line + b"\r")
        self.assertTrue(t.expect(answer), (line, t.output))

    def test_less(self):
        t = self.open("-it", "--", "sh", "-c", "seq 1000 | less -X; echo left")
        self.assertTrue(t.expect(b"23\r\n:"), t.output)
        t.write(b" ")
        self.assertTrue(t.expect(b"46\r\n"), t.output)
        t.write(b"/777\r")
        self.assertTrue(t.expect(b"799\r\n"), t.output)
        t.output = b""
        t.write(b"G")
        self.assertTrue(t.expect(b"1000\r\n"), t.output)
        t.write(b"q")
        self.assertTrue(t.expect(b"left\r\n"), t.output)
        self.assertEqual(t.wait(), 0)

    def test_vi(self):
        t = self.open("-it", "--", "sh", "-c", "printf 'one\ntwo\n' > f; vi f; echo left; cat f")
        self.assertTrue(t.expect(b"one"), t.output)
        time.sleep(0.5)
        t.write(b"A more\x1bjdd")
        time.sleep(0.2)
        t.write(b"oadded\x1b")
        time.sleep(0.2)
        t.write(b":wq\r")
        self.assertTrue(t.expect(b"left\r\n"), t.output[-500:])
        self.assertEqual(t.wait(), 0)
        self.assertIn(b"left\r\none more\r\nadded\r\n", t.output)

    def test_bash_job_control(self):
        t = self.shell()
        self.say(t, JOB, b"begun")
        self.say(t, b"\x1a", b"Stopped")
        self.say(t, b"jobs", b"Stopped")
        self.say(t, b"bg", b"went on")
        self.say(t, b"jobs", b"Running")
        self.say(t, b"kill -STOP %1; until jobs -s | grep -q .; do sleep 0.1; done; fg", b"went on")
        t.output = b""
        t.write(b"\x03")
        self.assertTrue(t.expect(b">> "), t.output)
        self.say(t, b"echo status $?", b"status 130")
        self.say(t, b"cat & until jobs -s | grep -q cat; do sleep 0.1; done; jobs", b"Stopped")
        self.say(t, b"kill %1; wait %1; echo gone $?", b"gone ")
        self.say(t, b"seq 3 | (sleep 0.2; cat) | tail -1", b"\r3\r\n")
        t.write(b"exit 5\r")
        self.assertEqual(t.wait(), 5)

    def test_bash_edits_lines(self):
        t = self.shell()
        self.say(t, b"echo wrold\x7f\x7f\x7f\x7forld", b"\rworld\r\n")
        self.say(t, b"\x1b[A", b"\rworld\r\n")
        # To the end of the next prompt: before, the end of input would be the terminal's to read.
        self.say(t, b"echo /usr/local/sha\t", b"\r/usr/local/share/\r\n\x1b[?2004h>> ")
        t.write(b"\x04")
        self.assertEqual(t.wait(), 0)

    def test_here_document_typed_in(self):
        t = self.shell()
        t.write(b"cat <<E\rline $((6 * 7))\rE\r")
        self.assertTrue(t.expect(b"line 42\r\n"), t.output)
        t.write(b"exit\r")
        self.assertEqual(t.wait(), 0)

    def test_python_prompt(self):
        t = self.open("-it", "--", "python3", "-q")
        self.assertTrue(t.expect(b">>> "), t.output)
        t.write(b"6 * 7\r")
        self.assertTrue(t.expect(b"42\r\n"), t.output)
        t.write(b"while True: pass\r\r")
        time.sleep(0.5)
        t.write(b"\x03")
        self.assertTrue(t.expect(b"KeyboardInterrupt"), t.output)
        t.write(b"exit(3)\r")
        self.assertEqual(t.wait(), 3)


if __name__ == "__main__":
    main(sys.modules[__name__])
