#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the real `glovebox run` from outside and looks at what a user gets.

    tests/e2e/run_test.py [NAME...]        all cases, or those whose name has one of these words in it

One line a case: "ok NAME", "FAIL NAME" (with the reason above it), "skip NAME: REASON".
"""
import hashlib
import json
import os
import select
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, ROOT, Case, descendants, heard, is_alive, main, run, start, \
    stat_fields, wait_until  # noqa: E402


# Until the program has begun within one of them.
TIMEOUTS = ("400ms", "2", "10", "50")


class Status(Case):
    def test_of_the_program(self):
        for status in (0, 1, 3, 124, 255):
            self.expect(run("--", "sh", "-c", f"exit {status}"), status, b"", b"")

    def test_of_a_program_that_a_signal_ended(self):
        for name, number in (("KILL", 9), ("TERM", 15), ("INT", 2), ("SEGV", 11), ("USR1", 10)):
            self.expect(run("--", "sh", "-c", f"kill -{name} $$; sleep 10"), 128 + number, b"")

    def test_real_crash(self):
        self.expect(run("python3", "-c", "import ctypes; ctypes.string_at(0)"), 128 + 11)

    def test_not_found(self):
        self.expect_refused(run("no-such-program"), "no-such-program", 127)
        self.expect_refused(run("/no/such/program"), "/no/such/program", 127)

    def test_directory(self):
        self.expect_refused(run("/usr"), "/usr: is a directory", 126)

    def test_not_executable(self):
        self.expect_refused(run("/etc/passwd"), "/etc/passwd", 126)

    def test_of_unknown_format(self):
        self.path("junk", b"\x00\x01\x02 junk")
        os.chmod(self.path("junk"), 0o755)
        self.expect_refused(run("-v", f"{self.folder}:/x:ro", "/x/junk"), "/x/junk", 126)

    def test_script_with_an_interpreter(self):
        self.path("script", "#!/bin/sh\necho \"script $1\"\nexit 4\n")
        os.chmod(self.path("script"), 0o755)
        done = run("-v", f"{self.folder}:/x:ro", "/x/script", "a")
        self.expect(done, 4, b"script a\n", b"")

    def test_script_whose_interpreter_is_missing(self):
        self.path("script", "#!/no/such/interpreter\n")
        os.chmod(self.path("script"), 0o755)
        self.expect_refused(run("-v", f"{self.folder}:/x:ro", "/x/script"),
                            "/x/script: what runs it, .* is not in the sandbox", 126)

    def test_what_stays_behind_ends_with_the_program(self):
        begin = time.monotonic()
        self.expect(run("--", "sh", "-c", "sleep 1000 & echo main"), 0, b"main\n")
        self.assertLess(time.monotonic() - begin, 20)

    def test_empty_command_words(self):
        self.expect(run("printf", "<%s>", "", "a b", "*"), 0, b"<><a b><*>")


class ManyGroups(Case):
    """What the host says of a task has its starter's groups in front of all that counts."""

    PROGRAM = """
import threading
t = threading.Thread(target=print, args=("a thread",))
t.start()
t.join()
lines = dict(line.split(":") for line in open("/proc/self/status"))
print(int(lines["VmRSS"].split()[0]) > 1000)
"""

    def test_of_the_starter_change_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be in many groups")
        for count in (350, 700, 20000):
            done = run("python3", "-c", self.PROGRAM, extra_groups=range(10**9, 10**9 + count))
            self.expect(done, 0, b"a thread\nTrue\n", b"")


class Streams(Case):
    def test_stay_apart(self):
        done = run("--", "sh", "-c", "echo out; echo err >&2; echo out2; echo err2 >&2")
        self.expect(done, 0, b"out\nout2\n", b"err\nerr2\n")

    def test_all_byte_values_pass(self):
        data = bytes(range(256)) * 7
        self.expect(run("cat", input=data), 0, data, b"")
        self.expect(run("--", "sh", "-c", "cat >&2", input=data), 0, b"", data)

    def test_ten_megabytes_both_ways(self):
        data = random.Random(1).randbytes(10_000_000)
        done = run("cat", input=data)
        self.expect(done, 0, err=b"")
        self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(data).digest())

    def test_both_outputs_full_at_once(self):
        script = ("import sys,threading\n"
                  "def w(f):\n for i in range(300): f.write(b'x'*10000)\n f.flush()\n"
                  "t=[threading.Thread(target=w,args=(f.buffer,)) for f in (sys.stdout,sys.stderr)]\n"
                  "[x.start() for x in t]; [x.join() for x in t]")
        done = run("python3", "-c", script)
        self.assertEqual((done.returncode, len(done.stdout), len(done.stderr)),
                         (0, 3_000_000, 3_000_000))

    def test_end_of_input_is_passed_on(self):
        self.expect(run("wc", "-c", input=b"x" * 100_000), 0, b"100000\n")
        self.expect(run("wc", "-c", input=b""), 0, b"0\n")

    def test_program_that_reads_no_input(self):
        process = self.start("true")
        self.assertEqual(process.wait(LIMIT), 0)

    def test_program_that_stops_reading_early(self):
        self.expect(run("head", "-c", "3", input=b"abc" + b"x" * 10_000_000), 0, b"abc", b"")

    def test_program_that_closes_its_input_and_goes_on(self):
        self.expect(run("--", "sh", "-c", "exec <&-; sleep 0.5; echo end", input=b"x" * 1_000_000),
                    0, b"end\n", b"")

    def test_a_program_that_waits_for_its_input_stops_no_other(self):
        process = self.start("sh", "-c", "(sleep 0.1; echo other) & cat")
        self.assertTrue(select.select([process.stdout], [], [], LIMIT)[0])
        self.assertEqual(process.stdout.readline(), b"other\n")
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_a_program_whose_output_nobody_reads_stops_no_other(self):
        process = self.start("sh", "-c", "yes & sleep 0.5; echo other >&2; kill $!")
        self.assertTrue(select.select([process.stderr], [], [], LIMIT)[0])
        self.assertEqual(process.stderr.readline(), b"other\n")

    def test_nothing_is_held_back(self):
        process = self.start("--", "sh", "-c", "echo ask; read x; echo got $x; read y")
        self.assertEqual(process.stdout.readline(), b"ask\n")
        process.stdin.write(b"one\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"got one\n")
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 1)

    def test_last_bytes_are_not_lost(self):
        for _ in range(10):
            done = run("--", "sh", "-c", "head -c 60000 /dev/zero; printf end >&2; kill -9 $$")
            self.assertEqual((len(done.stdout), done.stderr), (60000, b"end"))

    def test_joined_streams_keep_their_order(self):
        script = "import os\nfor i in range(200): os.write(1, b'o%d\\n' % i); os.write(2, b'e%d\\n' % i)"
        done = subprocess.run([GLOVEBOX, "run", "python3", "-c", script], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT)
        expected = "".join(f"o{i}\ne{i}\n" for i in range(200)).encode()
        self.assertEqual(done.stdout, expected)

    def test_reader_that_went_away(self):
        reader, writer = os.pipe()
        process = self.start("yes", stdout=writer)
        os.close(writer)
        os.read(reader, 100)
        os.close(reader)
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGPIPE)
        self.assertEqual(heard(process.stderr.read()), b"")

    def test_program_may_handle_the_broken_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = self.start("--", "sh", "-c", "trap '' PIPE; echo x 2>/dev/null; echo $? >&2; exit 9",
                             stdout=writer)
        os.close(writer)
        self.assertEqual(process.wait(LIMIT), 9)
        self.assertNotEqual(process.stderr.read(), b"")

    def test_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([GLOVEBOX, "run", "echo", "x"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, b"standard output: No space left")

    def test_slow_reader_slows_the_program(self):
        process = self.start("--", "sh", "-c", "head -c 50000000 /dev/zero; echo done >&2")
        time.sleep(1.5)
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as f:
            resident = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
        self.assertLess(resident, 20_000)
        self.assertIsNone(process.poll())
        self.assertEqual(len(process.stdout.read()), 50_000_000)
        self.assertEqual(process.wait(LIMIT), 0)

    def test_callers_descriptors_stay_blocking(self):
        reader, writer = os.pipe()
        process = self.start("cat", stdin=reader, stdout=writer)
        os.write(writer, b"x")
        time.sleep(0.3)
        self.assertTrue(os.get_blocking(reader) and os.get_blocking(writer))
        process.kill()
        os.close(reader)
        os.close(writer)

    def test_input_that_does_not_block(self):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        process = self.start("cat", stdin=reader)
        time.sleep(0.3)
        os.write(writer, b"late")
        os.close(writer)
        self.assertEqual(process.stdout.read(), b"late")
        self.assertEqual(process.wait(LIMIT), 0)
        os.close(reader)

    def test_closed_descriptors(self):
        for closing in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            done = subprocess.run(["sh", "-c", f'"$0" run -- sh -c "exit 5" {closing}', GLOVEBOX],
                                  timeout=LIMIT, capture_output=True)
            self.assertEqual(done.returncode, 5, (closing, done.stderr))

    def test_sockets_as_streams(self):
        import socket
        ours, theirs = socket.socketpair()
        process = self.start("cat", stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()
        ours.sendall(b"hello")
        ours.shutdown(socket.SHUT_WR)
        data = b""
        while len(data) < 5:
            data += ours.recv(100)
        self.assertEqual(data, b"hello")
        self.assertEqual(process.wait(LIMIT), 0)
        ours.close()

    def test_file_as_input_is_left_where_the_program_stopped(self):
        lines = self.path("lines", "one\ntwo\nthree\n")
        script = 'read a; "$0" run -- true; read b; "$0" run -- head -n 1 >/dev/null; echo $a $b'
        with open(lines, "rb") as f:
            done = subprocess.run(["sh", "-c", script, GLOVEBOX], stdin=f, capture_output=True,
                                  timeout=LIMIT)
        self.assertEqual(done.stdout, b"one two\n", done.stderr)

    def test_append_to_a_file(self):
        path = self.path("log", "before\n")
        with open(path, "ab") as f:
            subprocess.run([GLOVEBOX, "run", "echo", "after"], stdout=f, check=True, timeout=LIMIT)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), b"before\nafter\n")

    def test_python_from_standard_input(self):
        self.expect(run("python3", "-", input=b"print(sum(range(10)))"), 0, b"45\n", b"")

    def test_interactive_option_changes_nothing(self):
        self.expect(run("-i", "cat", input=b"x"), 0, b"x", b"")


class Signals(Case):
    def wait_ready(self, process, line=b"ready\n"):
        self.assertEqual(process.stdout.readline(), line)

    def test_end_the_sandbox(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            process = self.start("--", "sh", "-c", "echo ready; exec sleep 1000")
            self.wait_ready(process)
            below = descendants(process.pid)
            process.send_signal(number)
            self.assertEqual(process.wait(LIMIT), 128 + number)
            self.assertTrue(wait_until(lambda: not any(map(is_alive, below))))
            self.assertEqual(heard(process.stderr.read()), b"")

    def test_program_may_clean_up(self):
        process = self.start("--", "sh", "-c",
                             "trap 'echo cleaning; exit 7' TERM; echo ready; while :; do sleep 0.1; done")
        self.wait_ready(process)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.stdout.read(), b"cleaning\n")
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGTERM)

    def test_program_that_ignores_them_is_killed(self):
        process = self.start("--", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
        self.wait_ready(process)
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGTERM)
        self.assertGreater(time.monotonic() - begin, 1)

    def test_second_one_kills_at_once(self):
        process = self.start("--grace", "10m", "--", "sh", "-c", "trap 'echo int' INT; echo ready; while :; do sleep 0.1; done")
        self.wait_ready(process)
        process.send_signal(signal.SIGINT)
        self.wait_ready(process, b"int\n")
        subprocess.run(["kill", "-INT", str(process.pid)], check=True)  # another sender's is another one at once
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGINT)

    def test_one_sender_is_heard_again(self):
        """Not at once: timeout(1) sends each signal twice."""
        process = self.start("--grace", "10m", "--", "sh", "-c", "trap 'echo int' INT; echo ready; while :; do sleep 0.1; done")
        self.wait_ready(process)
        self.assertTrue(wait_until(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None))
        self.assertIn(process.returncode, (128 + signal.SIGINT, -signal.SIGINT))  # one more, when it was over

    def test_kill_leaves_no_process(self):
        process = self.start("--", "sh", "-c",
                             "sleep 1000 & (setsid sleep 1000 &) ; echo ready; wait")
        self.wait_ready(process)
        below = descendants(process.pid)
        self.assertGreaterEqual(len(below), 4)
        process.kill()
        process.wait()
        self.assertTrue(wait_until(lambda: not any(map(is_alive, below))), [p for p in below if is_alive(p)])

    def test_kill_during_start_leaves_no_process(self):
        for delay in range(12):
            process = self.start("sleep", "1000")
            time.sleep(delay / 1000)
            below = descendants(process.pid)
            process.kill()
            process.wait()
            self.assertTrue(wait_until(lambda: not any(map(is_alive, below))))

    def test_user_signals_go_to_the_program(self):
        process = self.start("--", "sh", "-c",
                             "trap 'echo usr1; exit 6' USR1; echo ready; while :; do sleep 0.1; done")
        self.wait_ready(process)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.stdout.read(), b"usr1\n")
        self.assertEqual(process.wait(LIMIT), 6)

    def test_ignored_hangup_stays_ignored(self):
        process = self.start("--", "sh", "-c", "echo ready; read x; echo $x",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_ready(process)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        process.stdin.write(b"still\n")
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"still\n")
        self.assertEqual(process.wait(LIMIT), 0)

    def test_program_gets_default_signals(self):
        def ignore():
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGTERM])
        process = self.start("grep", "-E", "Sig(Ign|Blk)", "/proc/self/status", preexec_fn=ignore)
        self.assertEqual(process.stdout.read().split()[1::2], [b"0" * 16] * 2)

    def test_stop_and_go_on(self):
        process = self.start("--", "sh", "-c", "echo ready; while :; do echo x; sleep 0.05; done",
                             preexec_fn=lambda: os.setpgid(0, 0))
        self.wait_ready(process)
        os.kill(process.pid, signal.SIGTSTP)
        self.assertTrue(wait_until(lambda: stat_fields(process.pid)[0] == "T"))
        os.set_blocking(process.stdout.fileno(), False)
        time.sleep(0.3)
        process.stdout.read()
        time.sleep(0.5)
        self.assertIn(process.stdout.read(), (None, b""))
        os.kill(process.pid, signal.SIGCONT)
        self.assertTrue(wait_until(lambda: process.stdout.read() not in (None, b"")))


class Timeout(Case):
    def test_ends_the_program(self):
        for form in ("0.5", "500ms", "0.5s"):
            begin = time.monotonic()
            self.expect(run("--timeout", form, "sleep", "1000"), 124, b"",
                        b"glovebox: time limit of 500 ms reached; raise it with --timeout\n")
            self.assertGreater(time.monotonic() - begin, 0.45)

    def test_program_that_ignores_it_is_killed(self):
        for timeout in TIMEOUTS:
            done = run("--timeout", timeout, "--", "sh", "-c", "trap '' TERM; echo begin; while :; do sleep 0.1; done")
            if done.stdout:
                break
        self.expect(done, 124, b"begin\n")

    def test_stopped_program(self):
        self.expect(run("--timeout", "500ms", "--", "sh", "-c", "kill -STOP $$"), 124)

    def test_busy_program(self):
        self.expect(run("--timeout", "500ms", "--", "sh", "-c", "trap '' TERM; while :; do :; done"),
                    124)

    def test_program_that_is_in_time(self):
        self.expect(run("--timeout", "1h", "--", "sh", "-c", "exit 3"), 3)

    def test_output_that_nobody_reads_does_not_stop_the_clock(self):
        process = self.start("--timeout", "500ms", "yes")
        below = []
        self.assertTrue(wait_until(lambda: below.extend(descendants(process.pid)) or below))
        self.assertTrue(wait_until(lambda: not any(map(is_alive, below))))
        process.stdout.read()
        self.assertEqual(process.wait(LIMIT), 124)


class Environment(Case):
    CALLER = {"PATH": "/caller/bin", "HOME": "/caller", "SECRET_KEY": "x", "LD_PRELOAD": "",
              "TERM": "vt100", "LANG": "C.UTF-8", "LC_TIME": "C", "PASSED": "from caller"}

    def variables(self, *words, command=("env", "-0")):
        done = run(*words, *command, env=self.CALLER)
        self.expect(done, 0, err=b"")
        return dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)

    def test_is_the_sandboxs_own(self):
        self.assertEqual(self.variables(), {
            "TERM": "vt100", "LANG": "C.UTF-8", "LC_TIME": "C",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/home/user", "USER": "user", "LOGNAME": "user", "SHELL": "/bin/bash",
            "HOSTNAME": "glovebox"})

    def test_of_root(self):
        env = self.variables("--user", "root")
        self.assertEqual((env["HOME"], env["USER"], env["LOGNAME"]), ("/root", "root", "root"))

    def test_of_another_user(self):
        self.assertIn("HOME", self.variables("--user", "4242:4242"))

    def test_given_ones(self):
        env = self.variables("--env", "A=1", "-e", "B=x=y", "-e", "PASSED", "-e", "ABSENT",
                             "-eHOME=/tmp", "-e", "EMPTY=", "-e", "UTF=ä€")
        self.assertEqual([env.get(k) for k in ("A", "B", "PASSED", "ABSENT", "HOME", "EMPTY", "UTF")],
                         ["1", "x=y", "from caller", None, "/tmp", "", "ä€"])

    def test_from_a_file(self):
        path = self.path("env", "# comment\nA=from file\nB=two words\n\nPASSED\n")
        env = self.variables("-e", "A=from option", "--env-file", path)
        self.assertEqual([env[k] for k in ("A", "B", "PASSED")],
                         ["from option", "two words", "from caller"])

    def test_caller_without_any(self):
        done = run("env", env={})
        self.assertNotIn(b"TERM=", done.stdout)
        self.assertIn(b"HOME=/home/user\n", done.stdout)

    def test_large_ones(self):
        words = [word for i in range(1000) for word in ("-e", f"V{i}={'x' * 100}")]
        self.assertEqual(len([k for k in self.variables(*words) if re.match(r"V\d", k)]), 1000)

    def test_no_descriptor_goes_in(self):
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        done = run("python3", "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:5])",
                   pass_fds=(reader, writer))
        os.close(reader)
        os.close(writer)
        self.expect(done, 0, b"[0, 1, 2, 3]\n")


class Files(Case):
    def test_working_directory(self):
        self.expect(run("pwd"), 0, b"/home/user\n")
        self.expect(run("--workdir", "/usr/lib", "pwd"), 0, b"/usr/lib\n")
        self.expect(run("-w", "/usr/../tmp/", "pwd"), 0, b"/tmp\n")
        self.expect(run("--user", "root", "pwd"), 0, b"/root\n")

    def test_mount_read_only(self):
        self.path("data", "content")
        done = run("--mount", f"{self.folder}:/data:ro", "--", "sh", "-c",
                   "cat /data/data; touch /data/new || rm -f /data/data || echo x > /data/data")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b"content")
        self.assertIn(b"Read-only file system", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["data"])

    def test_mount_is_writable(self):
        done = run("-v", f"{self.folder}:/data", "--", "sh", "-c",
                   "mkdir /data/d && echo inside > /data/d/new && mv /data/d/new /data/x && cat /data/x")
        self.expect(done, 0, b"inside\n", b"")
        with open(self.path("x"), "rb") as f:
            self.assertEqual(f.read(), b"inside\n")
        self.assertEqual(os.stat(self.path("x")).st_uid, os.getuid())

    def test_mount_of_one_file(self):
        path = self.path("data", "content")
        self.expect(run("-v", f"{path}:/etc/one:ro", "cat", "/etc/one"), 0, b"content", b"")

    def test_mount_source_may_be_relative(self):
        self.path("data", "content")
        self.expect(run("-v", ".:/data", "cat", "/data/data", cwd=self.folder), 0, b"content")

    def test_mount_source_with_a_colon(self):
        os.mkdir(self.path("a:b"))
        self.path("a:b/data", "content")
        self.expect(run("-v", f"{self.path('a:b')}:/data:ro", "cat", "/data/data"), 0, b"content")

    def test_mount_shows_what_the_host_writes(self):
        process = self.start("-v", f"{self.folder}:/data:ro", "--", "sh", "-c",
                             "echo ready; read x; cat /data/late")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.path("late", "written later")
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"written later")

    def test_mounts_inside_each_other(self):
        os.makedirs(self.path("a/sub"))
        os.mkdir(self.path("b"))
        self.path("a/one", "1")
        self.path("b/two", "2")
        done = run("-v", f"{self.path('a')}:/m:ro", "-v", f"{self.path('b')}:/m/sub:ro", "--",
                   "sh", "-c", "cat /m/one /m/sub/two")
        self.expect(done, 0, b"12", b"")

    def test_links_out_of_a_mount_lead_into_the_sandbox(self):
        os.symlink("/etc/hostname", self.path("absolute"))
        os.symlink("../../../../../../etc/hostname", self.path("upward"))
        done = run("--hostname", "inside", "-v", f"{self.folder}:/data:ro", "--", "sh", "-c",
                   "cat /data/absolute /data/upward")
        self.assertEqual(done.stdout, b"inside\ninside\n", done.stderr)

    def test_tmpfs_is_empty_and_writable(self):
        done = run("--tmpfs", "/scratch", "--", "sh", "-c", "ls -A /scratch; echo x > /scratch/f; "
                   "cat /scratch/f")
        self.expect(done, 0, b"x\n", b"")

    def test_tmpfs_has_a_size(self):
        done = run("--tmpfs", "/scratch:1M", "--", "sh", "-c",
                   "head -c 900000 /dev/zero > /scratch/a && echo fits; "
                   "head -c 900000 /dev/zero > /scratch/b || echo full")
        self.assertEqual(done.stdout, b"fits\nfull\n")
        self.assertIn(b"No space left", done.stderr)

    def test_host_does_not_change(self):
        marker = f"glovebox-e2e-{os.getpid()}"
        # The program writes and deletes only once it knows that it does not see the host's files: this
        # case must do no harm to a machine whose sandboxes hold nothing in.
        witness = self.path("witness", "of the host")
        done = run("--user", "root", "--", "sh", "-c",
                   f"test ! -e {witness} && test ! -e /proc/{os.getpid()} || exit 99; "
                   f"for d in /tmp /var/tmp /run /home /usr/bin /etc /root /; do "
                   f"echo x > $d/{marker} || exit 1; done; "
                   f"rm /usr/bin/{marker} && rm /usr/bin/env && ! test -e /usr/bin/env")
        self.expect(done, 0, b"", b"")
        for folder in ("/tmp", "/var/tmp", "/run", "/home", "/usr/bin", "/etc", "/root", "/"):
            self.assertFalse(os.path.exists(os.path.join(folder, marker)), folder)
        self.assertTrue(os.path.exists("/usr/bin/env"))

    def test_two_sandboxes_share_nothing(self):
        name = f"/tmp/glovebox-e2e-shared-{os.getpid()}"
        self.expect(run("--", "sh", "-c", f"echo x > {name}"), 0)
        self.expect(run("--", "sh", "-c", f"test ! -e {name}"), 0)
        self.assertFalse(os.path.exists(name))

    def test_image_is_a_directory(self):
        static = self.build_static("int main(void){puts(\"in an image\");return 7;}")
        os.makedirs(self.path("image/bin"))
        shutil.copy(static, self.path("image/bin/hello"))
        self.expect(run("--image", self.path("image"), "/bin/hello"), 7, b"in an image\n")
        self.assertEqual(sorted(os.listdir(self.path("image"))), ["bin"])

    def test_image_gets_the_sandboxs_names(self):
        """Its own name, resolver and user, as from container engines; what else it has is there."""
        static = self.build_static("int main(int n,char**v){for(int i=1,c;i<n;i++){FILE*f=fopen(v[i],\"r\");"
                                   "while(f&&(c=fgetc(f))!=EOF)putchar(c);}return 0;}")
        for folder in ("bin", "etc", "tmp"):
            os.makedirs(self.path("image/" + folder))
        shutil.copy(static, self.path("image/bin/cat"))
        self.path("image/etc/hosts", "192.0.2.1 elsewhere\n")
        self.path("image/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
        self.path("image/tmp/left", "of the image\n")
        os.symlink("../run/systemd/resolve/stub-resolv.conf", self.path("image/etc/resolv.conf"))
        files = ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/etc/passwd", "/tmp/left"]
        self.expect(run("--image", self.path("image"), "--hostname", "box", "/bin/cat", *files), 0,
                    b"box\n127.0.0.1\tlocalhost box\n::1\tlocalhost ip6-localhost ip6-loopback\n"
                    b"ff02::1\tip6-allnodes\nff02::2\tip6-allrouters\nnameserver 127.0.0.53\n"
                    b"root:x:0:0::/root:/bin/sh\nuser:*:1000:1000::/home/user:/bin/sh\nof the image\n")

    def build_static(self, code):
        if not shutil.which("gcc"):
            self.skipTest("no gcc")
        source = self.path("program.c", "#include <stdio.h>\n" + code)
        subprocess.run(["gcc", "-static", "-o", self.path("program"), source], check=True)
        return self.path("program")

    def stores(self):
        return [n for n in os.listdir(self.folder) if n.startswith(".glovebox-")]

    def test_store_is_a_folder_of_its_own(self):
        """Files whose descriptors are closed have names in it while the sandbox runs."""
        many = ("for i in $(seq 60); do head -c 100000 /dev/urandom > /tmp/$i; done; echo made; read line; "
                "cat /tmp/* | wc -c")
        p = self.start("--", "sh", "-c", many, env=dict(os.environ, TMPDIR=self.folder),
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))
        self.assertEqual(p.stdout.readline(), b"made\n")
        store = self.path(self.stores()[0])
        self.assertEqual(stat.S_IMODE(os.stat(store).st_mode), 0o700)
        self.assertGreater(len(os.listdir(store)), 0)
        p.stdin.write(b"go on\n")
        p.stdin.flush()
        self.assertEqual(p.stdout.readline(), b"6000000\n")
        self.assertEqual(p.wait(), 0)
        self.assertEqual(self.stores(), [])

    def test_store_of_a_killed_one_is_swept(self):
        env = dict(os.environ, TMPDIR=self.folder)
        killed = self.start("--", "sh", "-c", "echo up; sleep 1000", env=env)
        running = self.start("--", "sh", "-c", "echo up; sleep 1000", env=env)
        for p in (killed, running):
            self.assertEqual(p.stdout.readline(), b"up\n")
        below = descendants(killed.pid)
        killed.kill()
        killed.wait()
        self.assertTrue(wait_until(lambda: not any(map(is_alive, below))))
        self.assertEqual(len(self.stores()), 2)
        for name in self.stores():
            self.path(name + "/1", "what it left")
            os.utime(self.path(name), (0, 0))
        self.assertEqual(run("true", env=env).returncode, 0)
        self.assertEqual(len(self.stores()), 1)  # of the one that runs

    def test_what_another_left_is_swept_meanwhile(self):
        """However much it is: by a starter that serves its own sandbox as before."""
        left = self.path(".glovebox-0123456789abcdef")
        os.mkdir(left)
        for i in range(3000):
            self.path(f"{left}/{i}", "")
        os.utime(left, (0, 0))
        p = self.start("cat", env=dict(os.environ, TMPDIR=self.folder))
        while os.path.exists(left):
            p.stdin.write(b"word\n")
            p.stdin.flush()
            self.assertEqual(p.stdout.readline(), b"word\n")
        self.assertEqual(p.communicate()[0], b"")
        self.assertEqual((p.returncode, self.stores()), (0, []))


class User(Case):
    def test_is_an_ordinary_one(self):
        self.expect(run("--", "sh", "-c", "id -u; id -un; id -g"), 0, b"1000\nuser\n1000\n")

    def test_root(self):
        self.expect(run("--user", "root", "--", "sh", "-c", "id -u; id -un"), 0, b"0\nroot\n")
        self.expect(run("-u", "0", "id", "-u"), 0, b"0\n")

    def test_numbers(self):
        self.expect(run("-u", "4242:4343", "--", "sh", "-c", "id -u; id -g"), 0, b"4242\n4343\n")

    def test_own_group_is_a_supplementary_one(self):
        groups = "import os; print(os.getgid(), *os.getgroups())"
        for user, shown in (("user", rb"1000 (27 )?1000\n"), ("root", rb"0 0\n"),
                            ("4242:4343", rb"4343 4343\n"), ("1000:root", rb"0 0\n")):
            done = run("--user", user, "python3", "-c", groups)
            self.assertRegex(done.stdout, b"^" + shown + b"$", user)

    def test_unknown_name(self):
        self.expect_refused(run("--user", "nobody-knows", "true"), "nobody-knows")

    def test_host_name(self):
        self.expect(run("uname", "-n"), 0, b"glovebox\n")
        self.expect(run("--hostname", "box-1", "--", "sh", "-c", "uname -n; echo $HOSTNAME"), 0,
                    b"box-1\nbox-1\n")
        self.expect(run("--name", "job7", "uname", "-n"), 0, b"job7\n")

    def test_name_is_in_the_process_list(self):
        name = f"e2e-{os.getpid()}"
        process = self.start("--name", name, "--", "sh", "-c", "echo ready; read x")
        process.stdout.readline()
        lines = []
        for pid, _ in descendants(process.pid):
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                lines.append(f.read())
        self.assertIn(b"glovebox-kernel\0" + name.encode() + b"\0", lines)


class Json(Case):
    def result(self, *words, **more):
        done = run("--json", *words, **more)
        self.assertEqual(done.stdout.count(b"\n"), 1, done.stdout[:1000])
        return done, json.loads(done.stdout)

    def test_of_a_program(self):
        done, result = self.result("--name", "j", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr, b"")
        for key, value in {"cause": "exited", "status": 3, "exit_code": 3, "signal": None,
                           "message": None, "name": "j", "stdout": "out\n", "stderr": "err\n",
                           "stdout_bytes": 4, "stderr_bytes": 4, "stdout_truncated": False,
                           "stderr_truncated": False}.items():
            self.assertEqual(result[key], value, key)
        self.assertGreater(result["wall_ms"], 0)
        self.assertGreaterEqual(result["cpu_user_ms"] + result["cpu_system_ms"], 0)
        self.assertGreater(result["peak_memory_bytes"], 100_000)

    def test_of_a_signal(self):
        done, result = self.result("--", "sh", "-c", "kill -SEGV $$")
        self.assertEqual(done.returncode, 139)
        self.assertEqual((result["cause"], result["signal"], result["exit_code"], result["status"]),
                         ("signaled", "SIGSEGV", None, 139))

    def test_of_a_timeout(self):
        for timeout in TIMEOUTS:
            done, result = self.result("--timeout", timeout, "--", "sh", "-c", "echo x; sleep 1000")
            if result["stdout"]:
                break
        self.assertEqual(done.returncode, 124)
        self.assertEqual((result["cause"], result["stdout"]), ("timeout", "x\n"))
        self.assertGreaterEqual(result["wall_ms"], 350)

    def test_of_a_killed_run(self):
        process = self.start("--json", "--mount", f"{self.folder}:/out:rw", "--", "sh", "-c", "echo x; : >/out/runs; sleep 1000")
        self.assertTrue(wait_until(lambda: os.path.exists(self.path("runs"))))
        process.send_signal(signal.SIGTERM)
        result = json.loads(process.stdout.read())
        self.assertEqual((result["cause"], result["signal"]), ("killed", "SIGTERM"))
        self.assertEqual(process.wait(LIMIT), 143)

    def test_of_a_command_that_is_not_there(self):
        done, result = self.result("no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertEqual((result["cause"], result["status"]), ("not-started", 127))
        self.assertIn("no-such-program", result["message"])
        self.assertRegex(done.stderr, b"glovebox: no-such-program: ")

    def test_times_and_memory(self):
        script = ("x = bytearray(60_000_000)\nimport time\n"
                  "e = time.process_time() + 0.3\nwhile time.process_time() < e: pass")
        _, result = self.result("python3", "-c", script)
        self.assertGreater(result["cpu_user_ms"] + result["cpu_system_ms"], 250)
        self.assertGreater(result["peak_memory_bytes"], 60_000_000)
        self.assertGreater(result["wall_ms"], 250)

    def test_long_output_keeps_both_ends(self):
        _, result = self.result("python3", "-c", "print('begin' + 'x' * 5000000 + 'end')")
        text = result["stdout"]
        self.assertTrue(result["stdout_truncated"])
        self.assertEqual(result["stdout_bytes"], 5_000_009)
        self.assertTrue(text.startswith("beginx") and text.endswith("xend\n"))
        left_out = int(re.search(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", text).group(1))
        self.assertEqual(left_out, 5_000_009 - 1024 * 1024)

    def test_bytes_that_are_no_text(self):
        _, result = self.result("printf", r"a\377b\000c\303\244")
        self.assertEqual(result["stdout"], "a\ufffdb\0cä")
        self.assertEqual(result["stdout_bytes"], 7)

    def test_result_that_can_not_be_written(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([GLOVEBOX, "run", "--json", "true"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(done.returncode, 125)


class BadInput(Case):
    def test_options(self):
        cases = [
            (["--no-such-option", "true"], "--no-such-option: no such option; see glovebox run --help"),
            (["--muont", "a:b", "true"], r"--muont: no such option; did you mean --mount\?"),
            (["--timeuot=3", "true"], r"did you mean --timeout\?"),
            (["-X", "true"], "-X: no such option"),
            (["--network", "none", "true"], "no network but what --allow names"),
            (["--mount"], "--mount: its value is missing; write --mount HOST:GUEST"),
            (["-e"], "-e: its value is missing"),
            (["--json=yes", "true"], "--json: takes no value"),
            ([], "run: no command; "),
            (["--"], "run: no command; "),
            (["--user", "root"], "run: no command; "),
            (["--", ""], "command is empty; "),
        ]
        for words, pattern in cases:
            with self.subTest(words):
                self.expect_refused(run(*words), pattern)

    def test_mounts(self):
        cases = [
            (["/no/such/folder:/data"], "'/no/such/folder' does not exist on the host; create it"),
            (["./no-such:/data"], "'./no-such' does not exist"),
            ([":/data"], "no host path"),
            (["/usr"], "no place in the sandbox; write HOST:GUEST"),
            (["/usr:"], "not an absolute path"),
            (["/usr:relative"], "'relative' is not an absolute path of the sandbox; begin it with /"),
            (["/usr:/data:rx"], "'rx' is not a mode; write ro or rw"),
            (["/usr:/"], "over /; to run another tree use --image"),
            (["/usr:/proc"], "over /proc, the sandbox makes it itself; choose another place"),
            (["/usr:/proc/sys"], "over /proc"),
            (["/usr:/x/../proc"], "over /proc"),
            (["/usr:/sys"], "over /sys"),
            (["/usr:/dev"], "over /dev"),
            (["/dev/null:/data"], "neither a file nor a directory"),
            (["/usr:/data", "--mount", "/etc:/data/"], "two mounts at /data"),
            (["type=bind,source=/usr,target=/data"], "write HOST:GUEST"),
        ]
        for words, pattern in cases:
            with self.subTest(words):
                self.expect_refused(run("--mount", *words, "true"), pattern)

    def test_sizes_and_times(self):
        for size in ("64X", "-1", "0", "1.5G", "", "99999999999999999999", "16777216T", "M"):
            with self.subTest(size):
                self.expect_refused(run("--tmpfs", f"/scratch:{size}", "true"),
                                    "is not a size; write .* for example 64M")
        for length in ("-1", "0", "ten", "5x", "1e9", "", "99999999999999999999", "9999h", "1d"):
            with self.subTest(length):
                self.expect_refused(run("--timeout", length, "true"),
                                    "is not a time; write .* for example 30 or 500ms")

    def test_other_values(self):
        os.mkdir(self.path("folder"))
        binary = self.path("binary", b"A=\0B")
        cases = [
            (["--image", "/no/such"], "--image /no/such: no such directory; give host or"),
            (["--image", "/etc/passwd"], "--image /etc/passwd: not a directory"),
            (["--workdir", "relative"], "'relative' is not an absolute path"),
            (["--workdir", "/no/such"], "/no/such"),
            (["--tmpfs", "scratch"], "'scratch' is not an absolute path"),
            (["--tmpfs", "/proc"], "over /proc"),
            (["--env", "=x"], "no name before the '='"),
            (["--env", "A B=x"], "blank in the name"),
            (["--env-file", "/no/such"], "--env-file /no/such: No such file"),
            (["--env-file", self.path("folder")], "is a directory"),
            (["--env-file", binary], "not a text file"),
            (["--user", "a b"], "not a user"),
            (["--user", "-1"], "not a user"),
            (["--user", "4294967295"], "not a user"),
            (["--user", "1000:"], "not a group"),
            (["--hostname", "under_score"], "not a host name"),
            (["--hostname", "x" * 65], "not a host name"),
            (["--name", "../x"], "not a name"),
            (["--trace", ""], "the name is empty"),
            (["-t"], "--tty: standard input is not a terminal; leave -t out"),
            (["-it"], "--tty: standard input is not a terminal"),
            (["--json", "-t"], "--tty: not together with --json"),
            (["--for-model", "-t"], "--tty: not together with --for-model"),
            (["--for-model", "--raw"], "--raw: not together with --for-model"),
            (["--output-limit", "1M"], "--output-limit: .*; add --json or --for-model"),
            (["--json", "--output-limit", "0"], "--output-limit 0: '0' is not a size"),
            (["--json", "--output-limit", "257M"], "more than 256 MiB, the most that works"),
        ]
        for words, pattern in cases:
            with self.subTest(words):
                self.expect_refused(run(*words, "true"), pattern)

    def test_names_with_control_characters_are_escaped(self):
        done = run("--mount", "/no\n\033[31m:/data", "true")
        self.assertEqual(done.returncode, 125)
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertNotIn(b"\033", done.stderr)

    def test_too_many_words(self):
        self.expect_refused(run("true", *["x"] * 70_000), "or 60000 words; pass large data through")

    def test_image_without_a_dynamic_loader(self):
        os.makedirs(self.path("image/bin"))
        shutil.copy("/bin/true", self.path("image/bin/true"))
        self.expect_refused(run("--image", self.path("image"), "/bin/true"),
                            "/bin/true: what runs it, a dynamic loader .* is not in the sandbox", 126)

    def test_empty_image(self):
        os.mkdir(self.path("image"))
        self.expect_refused(run("--image", self.path("image"), "true"), "true", 127)

    def test_verbs(self):
        def verb(*words):
            return subprocess.run([GLOVEBOX, *words], capture_output=True, timeout=LIMIT)
        self.expect_refused(verb("frob", "x"), "frob: no such command; ")
        self.expect_refused(verb("rnu", "true"), r"rnu: no such command; did you mean glovebox run\?")
        self.expect_refused(verb("--nonsense"), "--nonsense: no such option; ")
        self.expect_refused(verb("help", "frob"), "frob: no such command; ")
        self.assertEqual(verb().returncode, 125)

    def test_failure_leaves_nothing(self):
        env = {**os.environ, "TMPDIR": self.folder}
        self.assertEqual(run("no-such-program", env=env).returncode, 127)
        self.assertEqual(run("--workdir", "/no/such", "true", env=env).returncode, 125)
        self.assertEqual(os.listdir(self.folder), [])


class Help(Case):
    def test_teaches(self):
        for words in (["--help"], ["help"], ["run", "--help"], ["run", "-h"], ["help", "run"]):
            done = subprocess.run([GLOVEBOX, *words], capture_output=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"glovebox run -- python3", done.stdout)
            self.assertLess(max(map(len, done.stdout.splitlines())), 100)

    def test_every_option_is_in_help_and_manual(self):
        text = subprocess.run([GLOVEBOX, "run", "--help"], capture_output=True).stdout.decode()
        with open(os.path.join(ROOT, "man/glovebox-run.1"), encoding="utf-8") as f:
            manual = f.read().replace("\\-", "-")
        options = re.findall(r"^  .{4}(--[a-z-]+)", text, re.MULTILINE)
        self.assertGreaterEqual(len(options), 16)
        for option in options:
            self.assertIn(option, manual)

    def test_version(self):
        for words in (["--version"], ["run", "--version"]):
            done = subprocess.run([GLOVEBOX, *words], capture_output=True, timeout=LIMIT)
            self.assertRegex(done.stdout, rb"\Aglovebox \d+\.\d+\.\d+\n\Z")


class Host(Case):
    def test_without_user_namespaces(self):
        script = ('mount -t proc proc /proc 2>/dev/null; '
                  'echo 0 > /proc/sys/user/max_user_namespaces || exit 99; exec "$0" run true')
        done = subprocess.run(["unshare", "-Urpfm", "sh", "-c", script, GLOVEBOX], timeout=LIMIT,
                              capture_output=True)
        if done.returncode == 99 or b"unshare" in done.stderr:
            self.skipTest("no user namespace to forbid them in")
        self.expect_refused(done, "user.max_user_namespaces is 0.*sysctl -w user.max_user_namespaces=")

    def test_with_an_old_kernel(self):
        if not shutil.which("setarch"):
            self.skipTest("no setarch")
        done = subprocess.run(["setarch", "--uname-2.6", GLOVEBOX, "run", "true"], timeout=LIMIT,
                              capture_output=True)
        self.expect_refused(done, "host: Linux 2.6 is too old; upgrade to 5.19 or newer")

    def test_with_a_slow_kernel(self):
        """Before Linux 6.6 one line says so, and all works; since then none."""
        version = tuple(int(n) for n in os.uname().release.split(".")[:2])
        done = subprocess.run([GLOVEBOX, "run", "sh", "-c", "echo out; echo error >&2"], timeout=LIMIT, capture_output=True,
                              stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout, heard(done.stderr)), (0, b"out\n", b"error\n"))
        self.assertEqual(done.stderr.count(b"\n"), 2 if version < (6, 6) else 1, done.stderr)

    def test_network_namespace_may_be_missing(self):
        """A machine that forbids it is refused until that is allowed, and then runs without a way out too."""
        script = ('mount -t proc proc /proc 2>/dev/null; '
                  'echo 0 > /proc/sys/user/max_net_namespaces || exit 99; exec "$0" run "$@"')
        base = ["unshare", "-Urpfm", "sh", "-c", script, GLOVEBOX]
        done = subprocess.run([*base, "true"], timeout=LIMIT, capture_output=True)
        if done.returncode == 99 or b"unshare" in done.stderr:
            self.skipTest("no user namespace to forbid them in")
        self.expect_refused(done, "user.max_net_namespaces is 0.*sysctl -w user.max_net_namespaces=")
        look = "import os, socket\nprint(len(socket.if_nameindex()))\n" \
               "try: socket.create_connection(('192.0.2.1', 80))\nexcept OSError as e: print(e.errno)"
        done = subprocess.run([*base, "--allow-missing", "network-namespace", "--", "python3", "-c", look],
                              timeout=LIMIT, capture_output=True)
        self.expect(done, 0, b"1\n101\n")

    def test_only_some_things_may_be_missing(self):
        for name in ("user-namespace", "seccomp", "moon"):
            self.expect_refused(run("--allow-missing", name, "true"),
                                f"--allow-missing {name}: .*landlock, core-scheduling")

    def test_few_descriptors(self):
        done = subprocess.run(["sh", "-c", 'ulimit -n 10; exec "$0" run true', GLOVEBOX],
                              timeout=LIMIT, capture_output=True)
        self.expect_refused(done, "Too many open files; raise the limit")

    def limited(self, limits, *words):
        return subprocess.run(["bash", "-c", f'ulimit {limits}; exec "$0" run "$@"', GLOVEBOX, *words],
                              timeout=LIMIT, capture_output=True)

    def test_machine_limits_of_a_process(self):
        """What one process may have here: as far as it can't be raised, it is told, and seen inside."""
        done = self.limited("-i 0", "true")
        self.expect_refused(done, "make a timer, which counts as a pending signal .ulimit -i.: Resource temporarily")
        done = self.limited("-f 0", "true")
        self.expect_refused(done, "File too large")
        done = self.limited("-f 4096", "sh", "-c", "ulimit -f; dd if=/dev/zero of=x bs=1M count=9; stat -c %s x")
        self.expect(done, 0, b"8192\n%d\n" % (4096 * 1024))  # blocks of 1024 in bash, of 512 in sh
        self.assertIn(b"File size limit exceeded", done.stderr)
        done = self.limited("-St 1", "sh", "-c", "ulimit -St; echo through")
        self.expect(done, 0, b"unlimited\nthrough\n", b"")

    def test_ordinary_user(self):
        if os.getuid() != 0:
            self.skipTest("is one already")
        base = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*base, GLOVEBOX, "--version"], capture_output=True).returncode != 0:
            self.skipTest("nobody may not run the program")
        os.chmod(self.folder, 0o777)
        done = subprocess.run([*base, GLOVEBOX, "run", "-v", f"{self.folder}:/data", "--", "sh", "-c",
                               "id -u; echo x > /data/f; cat"], input=b"in", timeout=LIMIT,
                              capture_output=True)
        self.expect(done, 0, b"1000\nin", b"")
        self.assertEqual(os.stat(self.path("f")).st_uid, 65534)


if __name__ == "__main__":
    main(sys.modules[__name__])
