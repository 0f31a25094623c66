#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each limit of a sandbox is reached: what ends, how that is told, and that nothing is left.

Cases run as who started them, and those of AsUser, when that is root, as an ordinary user too, who
has no cgroup here: there the sandbox's kernel watches.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, descendants, is_alive, main, stat_fields, wait_until  # noqa: E402

NOBODY = 65534
CGROUPS = "/sys/fs/cgroup"
BOMB = "x = bytearray(10**9)"
# Copies that go on alone, deaf to every signal that can be blocked.
FORKING = """
import os, signal, time
for s in range(1, 32):
    if s not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(s, signal.SIG_IGN)
for i in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(1000)
print("up", flush=True)
time.sleep(1000)
"""
SENT_AT_ONCE = 50000
SENDING = f"""
import socket
s, _ = socket.create_server(("127.0.0.1", 8000)).accept()
while True:
    s.sendall(bytes({SENT_AT_ONCE}))
"""


def receive(s):
    try:
        return s.recv(1 << 16)
    except ConnectionResetError:
        return b""


def as_user():
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

class Unread(Case):
    def test_time_is_up_though_nobody_reads_what_is_said(self):
        """A program fills the pipe, and does what glovebox has to say something of: that is not waited for."""
        policy = '{"version": 1, "rules": [{"id": "r", "action": "allow", "to": {"domain": ["a.test"]}}]}'
        code = """if True:
            import os, socket, time
            os.set_blocking(2, False)
            def fill():
                try:
                    while True:
                        os.write(2, b"x" * 4095 + b"\\n")
                except OSError:
                    pass
            while True:
                fill()
                try:
                    socket.create_connection(("192.0.2.1", 80))
                except OSError:
                    pass
        """
        process = self.start("--timeout", "3s", "--grace", "1ms", "--policy", self.path("policy", policy), "--",
                             "python3", "-c", code, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.assertTrue(wait_until(lambda: descendants(process.pid)))
        self.assertTrue(wait_until(lambda: not descendants(process.pid)))
        said = process.stderr.read()
        self.assertEqual(process.wait(), 124)
        self.assertIn(b"glovebox: ", said)


class Limited(Case):
    """A caller with a registry and a configuration of its own."""
    before = []

    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "HOME": self.folder, "XDG_CONFIG_HOME": self.path("config"),
                    "XDG_RUNTIME_DIR": self.path("run")}
        for name in ("run", "config"):
            os.mkdir(self.path(name), 0o700)
        if self.before:
            for name in ("", "run", "config"):
                os.chown(self.path(name), NOBODY, NOBODY)
        self.name = f"test-{os.getpid()}-{id(self)}"

    @property
    def runtime(self):
        is_root = os.geteuid() == 0 and not self.before
        return "/run/glovebox" if is_root else self.path("run/glovebox")

    def command(self, *words):
        return [*self.before, GLOVEBOX, *words]

    def glovebox(self, *words, **more):
        return subprocess.run(self.command(*words), env=self.env, capture_output=True,
                              timeout=LIMIT, stdin=subprocess.DEVNULL, **more)

    def run_json(self, *words):
        done = self.glovebox("run", "--json", "--name", self.name, *words)
        self.assertTrue(done.stdout, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["status"], done.returncode)
        self.assertEqual(result["name"], self.name)
        self.expect_nothing_left()
        return result

    def run_for_a_while(self, option, *words):
        """As run_json(), with a time in which the program has written something."""
        for seconds in ("1", "4", "16", "60"):
            result = self.run_json(option, seconds, *words)
            if result["stdout"]:
                break
        return result, f"of {seconds} s reached"

    def begin(self, *words):
        process = subprocess.Popen(self.command("run", "--name", self.name, *words), env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def record(self):
        try:
            with open(f"{self.runtime}/sandboxes/{self.name}", encoding="utf-8") as f:
                return dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line)
        except FileNotFoundError:
            return {}

    def wait_for_start(self):
        self.assertTrue(wait_until(lambda: "pid" in self.record()))
        return int(self.record()["pid"])

    def wait_for_work_below(self, kernel):
        """Until a program has run for some ticks of the clock."""
        def works(pid):
            fields = stat_fields(pid)
            return fields and int(fields[11]) + int(fields[12]) > 10
        self.assertTrue(wait_until(lambda: any(works(pid) for pid, _ in descendants(kernel))))

    def groups(self):
        return [os.path.join(folder, name) for folder, names, _ in os.walk(CGROUPS)
                for name in names if self.name in name]

    def kernels(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
                    if self.name in f.read() and os.readlink(f"/proc/{pid}/exe") != GLOVEBOX:
                        found.append(pid)
            except OSError:
                pass
        return found

    def expect_nothing_left(self):
        self.assertEqual(self.record(), {})
        self.assertEqual(self.groups(), [])
        self.assertEqual(self.kernels(), [])

    def expect_cause(self, result, cause, status, text):
        said = {k: result[k] for k in ("cause", "status", "cause_text", "message", "stderr")}
        self.assertEqual((result["cause"], result["status"]), (cause, status), said)
        self.assertIn(text, result["cause_text"], said)


class Rows:
    """What holds for every caller."""

    def test_memory_of_the_main_program(self):
        result = self.run_json("--memory", "256M", "python3", "-c", BOMB)
        self.expect_cause(result, "memory", 137, "memory limit of 256 MiB reached")
        self.assertEqual(result["message"],
                         "memory limit of 256 MiB reached; raise it with --memory")
        self.assertEqual(result["limits"]["memory_bytes"], 256 << 20)
        # As far as it is known: never 0.
        self.assertNotEqual(result["peak_memory_bytes"], 0)
        self.assertGreaterEqual(result["memory_kills"], 1)

    def test_memory_of_another_program(self):
        result = self.run_json("--memory", "128M", "--", "sh", "-c",
                               f"python3 -c '{BOMB}'; echo $?; exit 3")
        self.expect_cause(result, "exited", 3, "exited with status 3")
        self.assertEqual(result["stdout"], "137\n")
        self.assertEqual(result["memory_kills"], 1)

    def test_who_was_killed_for_memory_is_said(self):
        done = self.glovebox("run", "--memory", "128M", "--", "sh", "-c",
                             f"python3 -c '{BOMB}'; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr.decode(), r"glovebox: memory limit of 128 MiB reached, killed "
                                               r"process \d+: python3\n")

    def test_memory_of_files_in_memory(self):
        script = ("import os\nf = os.memfd_create('x')\n"
                  "try:\n for i in range(200): os.write(f, bytes(1 << 20))\n"
                  "except OSError as e: print(e.errno)\n"
                  "else: print('all')")
        result = self.run_json("--memory", "100M", "python3", "-c", script)
        # Either the program is taken for it, or its write fails as on a full disk.
        if result["cause"] != "memory":
            self.assertIn(result["stdout"], ("28\n", "12\n"))

    def test_processes(self):
        script = ("import os, time\nn = 0\n"
                  "try:\n while True:\n  if os.fork() == 0: time.sleep(1000)\n  n += 1\n"
                  "except BlockingIOError as e: print(e.errno, n)")
        result = self.run_json("--pids", "20", "python3", "-c", script)
        self.expect_cause(result, "exited", 0, "")
        self.assertEqual(result["stdout"], "11 19\n")

    def test_a_fork_bomb(self):
        result = self.run_json("--pids", "64", "python3", "-c", "import os\nwhile True: os.fork()")
        self.expect_cause(result, "exited", 1, "")
        self.assertIn("BlockingIOError", result["stderr"])

    def test_threads_count_as_processes(self):
        script = ("import threading, time\nn = 0\n"
                  "try:\n while True:\n  threading.Thread(target=time.sleep, args=(1000,), "
                  "daemon=True).start(); n += 1\n"
                  "except RuntimeError: print(n)")
        result = self.run_json("--pids", "10", "python3", "-c", script)
        self.assertEqual(result["stdout"], "9\n")

    def test_processors_are_shared_out(self):
        loop = "import os\nprint(flush=True)\nos.fork()\nwhile True: pass"
        result, _ = self.run_for_a_while("--timeout", "--cpus", "0.25", "--grace", "0", "python3", "-c", loop)
        self.assertEqual((result["cause"], result["limits"]["cpus"]), ("timeout", 0.25))
        used = result["cpu_user_ms"] + result["cpu_system_ms"]
        # Two would have all of two processors; what a period has given is used up to its end.
        self.assertLess(used, 0.25 * result["wall_ms"] + 200)
        self.assertGreater(used, 0)

    def test_processor_time_in_all(self):
        result = self.run_json("--cpu-budget", "1", "python3", "-c",
                               "import os\nos.fork()\nwhile True: pass")
        self.expect_cause(result, "budget", 137, "processor time budget of 1 s reached")
        used = result["cpu_user_ms"] + result["cpu_system_ms"] + result["cpu_kernel_ms"]
        self.assertGreater(used, 800)
        self.assertEqual(result["message"], "processor time budget of 1 s reached; raise it with "
                                            "--cpu-budget")

    def test_bytes_written_in_all(self):
        result = self.run_json("--write-budget", "1M", "--", "sh", "-c",
                               "while :; do head -c 100000 /dev/zero > /tmp/x; done")
        self.expect_cause(result, "budget", 137, "write budget of 1 MiB reached")
        self.assertGreater(result["written_bytes"], 1 << 20)
        self.assertLess(result["written_bytes"], 2 << 20)

    def test_bytes_sent_in_all(self):
        process = self.begin("--json", "--send-budget", "1M", "-p", "0:8000", "--", "python3", "-c", SENDING)
        ports = {}

        def is_there():
            done = self.glovebox("port", "--json", self.name)
            ports.update(json.loads(done.stdout) if done.returncode == 0 else {})
            return ports.get("listening")
        self.assertTrue(wait_until(is_there), ports)
        with socket.create_connection(("127.0.0.1", ports["published"][0]["port"]), LIMIT) as s:
            received = sum(map(len, iter(lambda: receive(s), b"")))
        result = json.loads(process.communicate(timeout=LIMIT)[0])
        self.expect_cause(result, "budget", 137, "send budget of 1 MiB reached")
        self.assertTrue(result["message"].endswith("raise it with --send-budget"), result["message"])
        self.assertGreater(result["written_bytes"], 1 << 20)
        self.assertLessEqual(received, (1 << 20) + SENT_AT_ONCE)
        self.expect_nothing_left()

    def test_output_in_a_second(self):
        """Slower it may be, and faster it must not, over whichever stream."""
        text = ("import os, threading\n"
                "def say(fd):\n"
                "    for _ in range(64): os.write(fd, b'x' * 1000)\n"
                "threads = [threading.Thread(target=say, args=[fd]) for fd in (1, 2)]\n"
                "for t in threads: t.start()\n"
                "for t in threads: t.join()\n")
        began = time.monotonic()
        done = self.glovebox("run", "--output-rate", "64K", "--", "python3", "-c", text)
        taken = time.monotonic() - began
        self.assertEqual((done.returncode, len(done.stdout), len(done.stderr)), (0, 64000, 64000), done)
        # But for what the bucket held at first, and one write ahead of it.
        self.assertGreater(taken, (128000 - 6554 - 4096) / 65536)

    def test_a_slow_stream_holds_nobody_else_up(self):
        """Who waits for room has not written, and is not told that there is some; who does not want to wait needn't."""
        text = ("import os, select\n"
                "os.set_blocking(1, False)\n"
                "said = 0\n"
                "try:\n"
                "    while said < 1 << 20: said += os.write(1, b'x' * 4000)\n"
                "except BlockingIOError: pass\n"
                "p, e = select.poll(), select.epoll()\n"
                "p.register(1, select.POLLOUT)\n"
                "e.register(1, select.EPOLLOUT)\n"
                "full = p.poll(0)\n"
                "room = e.poll(), p.poll()\n"
                "os.set_blocking(1, True)\n"
                "os.write(2, f'{said < 65536} {full} {room}'.encode())\n")
        done = self.glovebox("run", "--output-rate", "1K", "--", "python3", "-c", text)
        self.assertEqual((done.returncode, done.stderr), (0, b"True [] ([(1, 4)], [(1, 4)])"), done)

    def test_slow_streams_have_their_turns(self):
        """One write that takes minutes is not waited for by who writes a line elsewhere."""
        text = ("import os, threading\n"
                "threading.Thread(target=os.write, args=(1, b'x' * 10000000), daemon=True).start()\n"
                "for i in range(3): os.write(2, b'line\\n')\n"
                "os._exit(0)\n")
        done = self.glovebox("run", "--output-rate", "16K", "--", "python3", "-c", text)
        self.assertEqual((done.returncode, done.stderr), (0, b"line\n" * 3), done)
        self.assertLess(len(done.stdout), 10000000)

    def test_idle_time(self):
        result, reached = self.run_for_a_while("--idle-timeout", "--", "sh", "-c", "echo out; sleep 1000")
        self.expect_cause(result, "idle", 124, f"idle time limit {reached}")
        self.assertEqual(result["stdout"], "out\n")

    def test_a_program_that_does_something_is_not_idle(self):
        result = self.run_json("--idle-timeout", "5", "--", "sh", "-c", "for i in $(seq 60); do sleep 0.1; echo $i; done")
        self.expect_cause(result, "exited", 0, "")

    def test_disk(self):
        result = self.run_json("--disk", "2M", "--", "sh", "-c",
                               "head -c 3M /dev/zero > /tmp/x; stat -c %s /tmp/x")
        self.expect_cause(result, "exited", 0, "")
        self.assertIn("No space left", result["stderr"])
        self.assertLessEqual(int(result["stdout"]), 2 << 20)

    def test_inodes(self):
        result = self.run_json("--inodes", "200", "--", "sh", "-c",
                               "cd /tmp; i=0; while [ $i -lt 300 ] && true > $i; do i=$((i+1)); done")
        self.assertIn("No space left", result["stderr"])

    def test_resource_limits(self):
        result = self.run_json("--ulimit", "nofile=50:60", "--ulimit", "fsize=1024", "--", "sh",
                               "-c", "ulimit -n; ulimit -Hn; ulimit -f")
        self.assertEqual(result["stdout"], "50\n60\n2\n")
        self.assertEqual(result["limits"]["ulimits"], {"nofile": [50, 60], "fsize": [1024, 1024]})

    def test_time(self):
        for name, cause, text in (("--timeout", "timeout", "time limit"), ("--lifetime", "lifetime", "lifetime")):
            with self.subTest(name):
                result, reached = self.run_for_a_while(name, "--", "sh", "-c", "echo out; sleep 1000")
                self.expect_cause(result, cause, 124, f"{text} {reached}")
                self.assertEqual((result["stdout"], result["exit_code"], result["signal"]), ("out\n", None, "SIGTERM"))

    def test_grace_is_for_who_cleans_up(self):
        script = "trap 'sleep 0.3; echo clean; exit 5' TERM; echo up; sleep 1000 & wait"
        result, reached = self.run_for_a_while("--timeout", "--grace", "10m", "--", "sh", "-c", script)
        self.expect_cause(result, "timeout", 124, f"time limit {reached}")
        self.assertEqual((result["stdout"], result["exit_code"], result["signal"]), ("up\nclean\n", 5, None))

    def test_nobody_outlives_the_grace(self):
        for program in (["python3", "-c", FORKING],
                        ["sh", "-c", "trap '' TERM; echo up; sleep 1000 & sleep 1000"],
                        ["sh", "-c", "echo up; kill -STOP $$"],
                        ["sh", "-c", "trap '' TERM; echo up; while :; do (exec true) & done"],
                        ["sh", "-c", "trap '' TERM; echo up; while :; do :; done"]):
            for grace in ("0", "500ms"):
                with self.subTest(f"{program} {grace}"):
                    result, reached = self.run_for_a_while("--timeout", "--grace", grace, "--", *program)
                    self.expect_cause(result, "timeout", 124, f"time limit {reached}")
                    obeys = "kill -STOP" in program[-1] and grace != "0"
                    signal_name = "SIGTERM" if obeys else "SIGKILL"
                    self.assertEqual((result["stdout"], result["exit_code"], result["signal"]), ("up\n", None, signal_name))

    def test_nobody_outlives_the_grace_of_a_kernel_that_does_not_obey(self):
        for _ in range(10):
            process = self.begin("--json", "--grace", "0", "--", "sh", "-c", "while :; do :; done")
            kernel = self.wait_for_start()
            self.wait_for_work_below(kernel)
            with open(os.pidfd_open(kernel), "rb") as handle:
                signal.pidfd_send_signal(handle.fileno(), signal.SIGSTOP)
                programs = descendants(kernel)
                process.send_signal(signal.SIGTERM)
                self.assertTrue(wait_until(lambda: not any(is_alive(p) for p in programs)))
                try:
                    signal.pidfd_send_signal(handle.fileno(), signal.SIGCONT)
                except ProcessLookupError:
                    pass  # this test had not its turn for a second
            result = json.loads(process.communicate(timeout=LIMIT)[0])
            self.expect_cause(result, "killed", 143, "ended by SIGTERM")
            self.expect_nothing_left()
            # It lives on without programs, for the time it takes to say what they used.
            if result["cpu_user_ms"] is not None:
                # What it can't know any more was seen by who killed them.
                self.assertGreater(result["cpu_user_ms"] + result["cpu_system_ms"], 50)
                return
        self.fail("the programs ended with their kernel, not before it")

    def test_output_before_the_end_is_not_lost(self):
        script = "head -c 300000 /dev/zero | tr '\\0' x; exec sleep 1000"
        result = self.run_json("--timeout", "5", "--grace", "0", "--", "sh", "-c", script)
        self.assertEqual((result["cause"], result["stdout_bytes"]), ("timeout", 300000))

    def test_a_reader_that_sleeps_holds_nothing_up(self):
        process = self.begin("--timeout", "5", "--grace", "0", "yes")
        self.assertEqual(process.wait(LIMIT), 124)
        self.assertIn(b"its reader takes nothing", process.stderr.read())
        self.expect_nothing_left()

    def test_a_signal_to_glovebox_names_its_sender(self):
        process = self.begin("--json", "sleep", "1000")
        self.wait_for_start()
        process.send_signal(signal.SIGTERM)
        result = json.loads(process.communicate(timeout=LIMIT)[0])
        self.expect_cause(result, "killed", 143, "ended by SIGTERM (Terminated) from process "
                                                 f"{os.getpid()} (")
        self.assertTrue(result["cause_text"].endswith(f"of user {os.getuid()}"),
                        result["cause_text"])
        self.expect_nothing_left()

    def test_the_kernel_is_killed(self):
        process = self.begin("--json", "sleep", "1000")
        os.kill(self.wait_for_start(), signal.SIGKILL)
        result = json.loads(process.communicate(timeout=LIMIT)[0])
        self.expect_cause(result, "host-failure", 125, "kernel was killed from outside")
        self.expect_nothing_left()

    def test_all_tasks_are_killed_amid_calls(self):
        script = "import os\nprint(flush=True)\nwhile True: os.getppid()"
        process = self.begin("--json", "python3", "-c", script)
        kernel = self.wait_for_start()
        self.wait_for_work_below(kernel)
        with open(f"/proc/{kernel}/task/{kernel}/children", encoding="ascii") as f:
            init = int(f.read().split()[0])
        os.kill(init, signal.SIGKILL)  # with their init the host ends all
        result = json.loads(process.communicate(timeout=LIMIT)[0])
        self.expect_cause(result, "signaled", 137, "ended by SIGKILL from outside")
        self.expect_nothing_left()

    def test_the_starter_is_killed(self):
        process = self.begin("sh", "-c", "sleep 1000 & sleep 1000")
        self.wait_for_start()
        process.kill()
        process.wait(LIMIT)
        self.assertTrue(wait_until(lambda: not self.kernels()))
        # What no process can do any more, the next one does; a start looks at a few only of very many.
        self.assertEqual(self.glovebox("ps").returncode, 0)
        self.expect_nothing_left()

    def test_ps_and_inspect(self):
        self.begin("--memory", "64M", "--", "sh", "-c", "sleep 1000 & sleep 1000")
        pid = self.wait_for_start()

        def usage():
            done = self.glovebox("inspect", "--json", self.name)
            return json.loads(done.stdout) if done.returncode == 0 else None
        self.assertTrue(wait_until(lambda: usage() and usage()["usage"]["processes"] == 3), usage())
        seen = usage()
        self.assertEqual((seen["name"], seen["pid"]), (self.name, pid))
        self.assertEqual(seen["limits"]["memory_bytes"], 64 << 20)
        self.assertIn(seen["limited_by"]["memory"], ("cgroup v1", "cgroup v2", "watched"))
        self.assertGreater(seen["usage"]["memory_bytes"], 0)
        self.assertLess(seen["usage"]["memory_bytes"], 64 << 20)
        self.assertEqual(seen["command"], "sh -c sleep 1000 & sleep 1000")
        listed = json.loads(self.glovebox("ps", "--json").stdout)
        self.assertIn((self.name, pid), [(s["name"], s["pid"]) for s in listed])
        text = self.glovebox("inspect", self.name).stdout.decode()
        self.assertRegex(text, r"\n  memory +64 MiB +(cgroup v[12]|watched) ")
        self.assertIn(self.name, self.glovebox("ps").stdout.decode())

    def host_limit_of_processes(self):
        """What the host has been told, or None: of the group, or of the init."""
        for group in self.groups():
            if os.path.exists(f"{group}/pids.max"):
                with open(f"{group}/pids.max", encoding="ascii") as f:
                    return int(f.read())
        try:
            kernel = self.record()["pid"]
            with open(f"/proc/{kernel}/task/{kernel}/children", encoding="ascii") as f:
                init = int(f.read())
            with open(f"/proc/{init}/limits", encoding="ascii") as f:
                return next(int(line.split()[2]) for line in f if line.startswith("Max processes"))
        except (KeyError, OSError, ValueError):
            return None

    def test_the_host_counts_processes_too(self):
        self.begin("--pids", "30", "sleep", "1000")
        self.wait_for_start()
        # The init is there a little before its limits are.
        self.assertTrue(wait_until(lambda: 30 < (self.host_limit_of_processes() or 0) < 130),
                        self.host_limit_of_processes())

    def test_who_is_held_back_still_dies_in_time(self):
        loop = "import os\nfor i in range(5): os.fork()\nwhile True: pass"
        result = self.run_json("--cpus", "0.02", "--timeout", "3", "--grace", "0", "python3", "-c",
                               loop)
        self.assertEqual(result["cause"], "timeout")

    def test_a_name_in_use(self):
        self.begin("sleep", "1000")
        self.wait_for_start()
        done = self.glovebox("run", "--name", self.name, "true")
        self.expect_refused(done, f"{self.name}: a sandbox of this name is running; choose another")
        done = self.glovebox("inspect", "no-such-name")
        self.expect_refused(done, "no-such-name: nothing is known of a sandbox of this name")

    def test_sandboxes_at_once(self):
        self.begin("sleep", "1000")
        self.wait_for_start()
        done = self.glovebox("run", "--sandboxes", "1", "true")
        self.expect_refused_start(done, "limit of 1 sandboxes at once reached")
        done = self.glovebox("run", "--json", "--sandboxes", "1", "true")
        self.assertEqual(json.loads(done.stdout)["cause"], "not-started")

    def expect_refused_start(self, done, text):
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(f"glovebox: {text}; ", done.stderr.decode())


class AsCaller(Rows, Limited):
    pass


@unittest.skipUnless(os.geteuid() == 0, "is one already")
class AsUser(Rows, Limited):
    before = as_user()


class Configuration(Limited):
    def configure(self, text):
        os.makedirs(self.path("config/glovebox"), exist_ok=True)
        self.path("config/glovebox/config", text)

    def test_the_users_defaults(self):
        self.configure("pids = 17\ngrace = 0\nulimit = nofile=99\n")
        result = self.run_json("--", "sh", "-c", "ulimit -n")
        self.assertEqual((result["limits"]["pids"], result["stdout"]), (17, "99\n"))
        result = self.run_json("--pids", "18", "--ulimit", "nofile=98", "--", "sh", "-c", "ulimit -n")
        self.assertEqual((result["limits"]["pids"], result["stdout"]), (18, "98\n"))

    def test_a_mistake_stops_the_start(self):
        self.configure("# mine\npidz = 17\n")
        self.expect_refused(self.glovebox("run", "true"),
                            "/config/glovebox/config: line 2: pidz: no such key; did you mean pids")
        self.configure("max-pids = 17\n")
        self.expect_refused(self.glovebox("run", "true"), "only /etc/glovebox/config sets maxima")

    def operated(self, text, *words):
        """glovebox run with another /etc/glovebox/config, which only this process sees."""
        for name in ("upper/glovebox", "work"):
            os.makedirs(self.path(name), exist_ok=True)
        self.path("upper/glovebox/config", text)
        script = ('mount -t overlay -o "lowerdir=/etc,upperdir=$0/upper,workdir=$0/work" o /etc '
                  '|| exit 99; exec "$@"')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, self.folder,
                               *self.command("run", *words)], env=self.env, timeout=LIMIT,
                              capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode == 99 or b"unshare" in done.stderr:
            self.skipTest("no mount of one's own over /etc")
        return done

    def test_the_operators_maximum(self):
        text = "cpus = 1\nmax-memory = 512M\nmax-timeout = 1h\n"
        result = json.loads(self.operated(text, "--json", "true").stdout)
        limits = result["limits"]
        self.assertEqual((limits["memory_bytes"], limits["timeout_ms"], limits["cpus"]),
                         (512 << 20, 3600000, 1))
        self.expect_refused(self.operated(text, "--memory", "1G", "true"),
                            "--memory: more than 512 MiB, the most that /etc/glovebox/config allows")
        self.expect_refused(self.operated(text, "--timeout", "none", "true"), "--timeout: more than 1 h")
        self.configure("memory = 1G\n")
        self.expect_refused(self.operated(text, "true"),
                            "config/glovebox/config: memory: more than 512 MiB")

    def test_a_mistake_of_the_operator(self):
        self.expect_refused(self.operated("memory\n", "true"), "/etc/glovebox/config: line 1: there "
                                                              "is no '='")

    def test_a_file_that_can_not_be_read(self):
        os.makedirs(self.path("config/glovebox/config"))
        self.expect_refused(self.glovebox("run", "true"), "config/glovebox/config: not a file")


class Folder(Limited):
    before = as_user() if os.geteuid() == 0 else []

    def test_of_another_user_is_not_used(self):
        if os.geteuid() != 0:
            self.skipTest("needs two users")
        os.mkdir(self.path("run/glovebox"))
        self.expect_refused(self.glovebox("run", "true"), "run/glovebox: others have access to it; set")

    def test_that_is_a_link_is_not_used(self):
        os.symlink("/tmp", self.path("run/glovebox"))
        self.expect_refused(self.glovebox("run", "true"), "run/glovebox: .*; make it a directory")

    def test_new_ones_in_a_second(self):
        done = self.glovebox("run", "--sandboxes-per-second", "1", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        # Two of three within a second, whatever the machine does: their times are the same.
        with open(self.path("run/glovebox/rate"), "r+b") as f:
            at = f.read()
            self.assertEqual(len(at), 8)

    def test_a_kernel_that_fails_leaves_a_report(self):
        for room in ("cli", "kernel"):
            os.mkdir(self.path(room), 0o755)
        os.chmod(self.folder, 0o755)
        program = shutil.copy(GLOVEBOX, self.path("cli/glovebox"))
        self.path("kernel/glovebox-kernel", "#!/bin/sh\necho 'last words' >&2\nexit 3\n")
        os.chmod(self.path("kernel/glovebox-kernel"), 0o755)
        for i in range(2):
            done = subprocess.run([*self.before, program, "run", "--json", "true"], env=self.env,
                                  timeout=LIMIT, capture_output=True, stdin=subprocess.DEVNULL)
            result = json.loads(done.stdout)
            self.expect_cause(result, "kernel-failure", 125, "kernel ended unexpectedly: status 3")
            for number in ("cpu_user_ms", "cpu_system_ms", "peak_memory_bytes", "written_bytes"):
                self.assertIsNone(result[number], number)
            with open(f"{self.path('run/glovebox/reports')}/{result['report']}",
                      encoding="utf-8") as f:
                report = f.read()
            self.assertIn("last words: last words\n", report)
            self.assertIn(result["report"], result["message"])
        self.assertEqual(len(os.listdir(self.path("run/glovebox/reports"))), 2)


if __name__ == "__main__":
    main(sys.modules[__name__])
