#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`glovebox run --trace`: what a program asks of the kernel, a line a call.

    tests/e2e/trace_test.py [NAME...]   all cases, or those whose name has one of these words in it
"""
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main, run, start, wait_until  # noqa: E402


class Trace(Case):
    def test_to_a_file(self):
        path = self.path("trace")
        self.expect(run("--trace", path, "cat", "/etc/hostname"), 0, err=b"")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.assertRegex(text, r'openat\(.*"/etc/hostname".*\) += 3')
        self.assertRegex(text, r"write\(1, .*\) += 9")
        self.assertTrue(text.endswith("\n"))

    def test_to_standard_error(self):
        done = run("--trace", "-", "true")
        self.expect(done, 0, b"")
        self.assertIn(b"mmap(", done.stderr)

    def test_shows_what_arguments_mean(self):
        path = self.path("trace")
        script = r"""
import os, socket, subprocess, signal
s = socket.create_server(("127.0.0.1", 8123))
socket.create_connection(("127.0.0.1", 8123))
u = socket.socket(socket.AF_UNIX); u.bind("sock")
try: socket.create_connection(("2001:db8::1", 80))
except OSError: pass
r, w = os.pipe(); os.write(w, b"in\\the\0pipe"); os.read(r, 100)
os.stat("/etc/passwd"); os.stat("/dev/null"); os.readlink("/proc/self/fd/0")
try: os.stat("/no/such")
except OSError: pass
subprocess.run(["sh", "-c", "exit 3", "x" * 100, *"a" * 20])
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
os.link("sock", "other"); os.kill(os.getpid(), 0)
os.lseek(os.open(".", os.O_RDONLY | os.O_DIRECTORY), 0, os.SEEK_CUR)
signal.sigtimedwait([signal.SIGINT], 0.25)
"""
        self.expect(run("--trace", path, "python3", "-c", script), 0, err=b"")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for wanted in ("socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 0) = ",
                       "{AF_INET, 127.0.0.1, port 8123}, 16) = 0", '{AF_UNIX, "sock"}, ',
                       "connect(NUM, {AF_INET6, 2001:db8::1, port 80}, 28) = -1 ENETUNREACH",
                       "pipe2([NUM, NUM], O_RDONLY|O_CLOEXEC) = 0",
                       r'read(NUM, "in\\the\x00pipe", 100) = 11',
                       'newfstatat(AT_FDCWD, "/etc/passwd", {st_mode=0100644, st_uid=0, st_gid=0, st_size=NUM}, 0) = 0',
                       'newfstatat(AT_FDCWD, "/dev/null", {st_mode=020666, st_uid=0, st_gid=0, st_rdev=0x103}, 0) = 0',
                       'newfstatat(AT_FDCWD, "/no/such", 0xHEX, 0) = -1 ENOENT',
                       '["sh", "-c", "exit 3", "' + "x" * 64 + '"..., "a", "a", "a", "a", "a", "a", "a", "a", '
                       '"a", "a", "a", "a", ...], 0xHEX) = ', ", [0x300], 0, NULL) = NUM",
                       "rt_sigprocmask(SIG_BLOCK, [SIGINT SIGTERM], 0xHEX, 8) = 0",
                       "lseek(NUM, 0, SEEK_CUR) = 0", "rt_sigtimedwait([SIGINT], 0xHEX, {0, 250000000}, 8) = -1 EAGAIN"):
            pattern = re.escape(wanted).replace("NUM", r"\d+").replace("HEX", "[0-9a-f]+")
            self.assertRegex(text, pattern)

    def test_shows_errors_by_name(self):
        path = self.path("trace")
        run("--trace", path, "cat", "/no/such")
        with open(path, encoding="utf-8") as f:
            self.assertRegex(f.read(), r'"/no/such".*ENOENT')

    def test_is_safe_to_look_at(self):
        path = self.path("trace")
        run("--trace", path, "cat", "\033]0;title\007")
        with open(path, "rb") as f:
            data = f.read()
        self.assertIsNone(re.search(rb"[^\t\n -~]", data))
        self.assertIn(b"title", data)

    def test_that_can_not_be_written(self):
        self.expect_refused(run("--trace", "/no/such/file", "true"), "--trace /no/such/file: No such")
        self.expect_refused(run("--trace", self.folder, "true"), "--trace .*: Is a directory")

    def test_reader_that_is_stopped(self):
        path = self.path("trace")
        began, ended = self.path("began"), self.path("ended")
        calls = 20000
        # kill is a builtin of the shell and a call each time.
        script = (f"i=0; : >/out/began; while [ $i -lt {calls} ]; do kill -0 $$; i=$((i+1)); done; "
                  ": >/out/ended; exit 3")
        with start("--trace", path, "--mount", f"{self.folder}:/out:rw", "sh", "-c", script) as process:
            self.assertTrue(wait_until(lambda: os.path.exists(began)))
            process.send_signal(signal.SIGSTOP)
            try:
                self.assertTrue(wait_until(lambda: os.path.exists(ended), LIMIT), "the program is held up")
            finally:
                process.send_signal(signal.SIGCONT)
            _, errors = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, errors), (3, b""))
        with open(path, encoding="utf-8") as f:
            text = f.read()
        recorded = len(re.findall(r"^\d+ \w+\(", text, re.M))
        missing = sum(map(int, re.findall(r"^\((\d+) calls are missing here", text, re.M)))
        self.assertGreater(missing, 0)
        self.assertGreater(recorded + missing, calls)

    def test_reader_that_went_away(self):
        done = subprocess.run(["sh", "-c", '"$0" run --trace /dev/fd/3 -- sh -c "sleep 0.2; exit 5" '
                               "3>&1 >/dev/null | true", GLOVEBOX], timeout=LIMIT, capture_output=True)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    main(sys.modules[__name__])
