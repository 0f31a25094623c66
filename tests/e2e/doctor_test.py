#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the real `glovebox doctor` from outside. What the probes say is the matter of tests/security; here it is
what a user gets of it, and that a sandbox which does not hold is found out.

    tests/e2e/doctor_test.py [NAME...]     all cases, or those whose name has one of these words in it
"""
import json
import os
import re
import resource
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, ROOT, Case, heard, main  # noqa: E402
from terminal import Terminal  # noqa: E402

ROOMS = os.path.dirname(os.path.dirname(os.path.realpath(GLOVEBOX)))
FEW = ["read_by_its_path", "connect_to_the_hosts_port", "call_refused_rows_with_nothing"]
OUTSIDE = 9  # things of the host that are looked at afterwards


def doctor(*words, env=None, **more):
    done = subprocess.run([GLOVEBOX, "doctor", *words], stdin=subprocess.DEVNULL, capture_output=True, env=env,
                          timeout=LIMIT, **more)
    done.stderr = heard(done.stderr)
    return done


def rows(done):
    return {row["probe"]: row for row in json.loads(done.stdout)["probes"]}


# Runs the words behind it where kill(2), 62, of SIGUSR1 is EPERM.
WITHOUT_SIGUSR1 = """
import ctypes, os, struct, sys
rows = ((0x20, 0, 0, 0), (0x15, 0, 3, 62), (0x20, 0, 0, 24), (0x15, 0, 1, 10), (0x06, 0, 0, 0x00050000 | 1),
        (0x06, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(program)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


class Machine(Case):
    def test_table(self):
        done = doctor()
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        is_quick = tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 6)
        self.assertRegex(done.stdout, rb"(?m)^%s +Linux +\d+\.\d+" % (b"good" if is_quick else b"degraded"))
        self.assertRegex(done.stdout, rb"(?m)^good +a sandbox +starts, and its program runs")
        self.assertTrue(done.stdout.endswith(b"\nSandboxes run here. Whether they hold: glovebox doctor --inside\n"))

    def test_json(self):
        report = json.loads(doctor("--json").stdout)
        self.assertIs(report["ready"], True)
        names = {check["name"]: check for check in report["checks"]}
        for name in ("Linux", "processor", "seccomp user notification", "calls that are run once",
                     "quick wake-up of notifications", "namespaces", "a /proc of their own", "Landlock", "core scheduling", "files without a name",
                     "memory", "kernel.pid_max", "kernel.yama.ptrace_scope", "its limit of memory", "a sandbox"):
            self.assertIn(name, names)
        for check in names.values():
            self.assertIn(check["state"], ("good", "degraded", "missing"))
            self.assertTrue(check["found"])
            # What is not good says what it costs and what to do.
            self.assertEqual(check["state"] == "good", check["cost"] is None, check)
            self.assertEqual(check["state"] == "good", check["remedy"] is None, check)

    def test_what_can_not_be_tried_is_not_said_to_be_good(self):
        done = subprocess.run(["python3", "-c", WITHOUT_SIGUSR1, GLOVEBOX, "doctor", "--json"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT)
        self.assertEqual(heard(done.stderr), b"")
        found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        self.assertEqual(found["seccomp user notification"]["state"], "good")
        once = found["calls that are run once"]
        self.assertEqual(once["found"], "could not be tried (Operation not permitted): 0 of 3000 calls were answered, 0 run again")
        self.assertEqual(once["state"], "degraded")

    def test_leaves_nothing(self):
        before = set(os.listdir(self.folder))
        env = dict(os.environ, TMPDIR=self.folder)
        self.assertEqual(doctor(env=env).returncode, 0)
        self.assertEqual(set(os.listdir(self.folder)), before)

    def test_with_few_descriptors(self):
        for limit in (64, 512):
            with self.subTest(limit):
                done = doctor("--json", preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
                found = {check["name"]: check["state"] for check in json.loads(done.stdout)["checks"]}
                self.assertEqual([found[name] for name in ("seccomp user notification", "descriptors for mappings", "a sandbox")], ["good"] * 3)

    def test_without_user_namespaces(self):
        script = ('mount -t proc proc /proc 2>/dev/null; '
                  'echo 0 > /proc/sys/user/max_user_namespaces || exit 99; exec "$0" doctor --json')
        done = subprocess.run(["unshare", "-Urpfm", "sh", "-c", script, GLOVEBOX], timeout=LIMIT, capture_output=True)
        if done.returncode == 99 or b"unshare" in done.stderr:
            self.skipTest("no user namespace to forbid them in")
        self.assertEqual(done.returncode, 1)
        report = json.loads(done.stdout)
        self.assertIs(report["ready"], False)
        check = next(c for c in report["checks"] if c["name"] == "namespaces")
        self.assertEqual(check["state"], "missing")
        self.assertIn("user.max_user_namespaces is 0", check["cost"])
        self.assertIn("sysctl -w user.max_user_namespaces=", check["remedy"])

    def test_with_an_old_kernel(self):
        if not shutil.which("setarch"):
            self.skipTest("no setarch")
        done = subprocess.run(["setarch", "--uname-2.6", GLOVEBOX, "doctor"], timeout=LIMIT, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rb"(?m)^missing +Linux +2\.6")
        self.assertIn(b"upgrade to 5.19 or newer", done.stdout)

    def test_without_control_groups(self):
        """Whoever is root already is not told to be, nor to ask a manager of a user's."""
        if os.geteuid() != 0:
            self.skipTest("not root")
        script = 'mount -t tmpfs none /sys/fs/cgroup && exec "$0" doctor --json'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, GLOVEBOX], timeout=LIMIT, capture_output=True)
        check = next(c for c in json.loads(done.stdout)["checks"] if c["name"] == "its limit of memory")
        self.assertEqual(check["state"], "degraded")
        self.assertIn("systemd-run --scope -p Delegate=yes glovebox", check["remedy"])
        self.assertNotIn("as root", check["remedy"])

    def test_in_a_sandbox(self):
        """A machine that lacks nearly everything is told so, line by line, and nothing crashes."""
        mounts = []
        for room, name, place in (("cli", "glovebox", "/usr/bin"), ("kernel", "glovebox-kernel", "/usr/libexec/glovebox"),
                                  ("probes", "glovebox-probes", "/usr/libexec/glovebox")):
            mounts += ["--mount", f"{ROOMS}/{room}/{name}:{place}/{name}:ro"]
        done = subprocess.run([GLOVEBOX, "run", *mounts, "--", "/usr/bin/glovebox", "doctor"], timeout=LIMIT,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for name in (b"seccomp", b"namespaces", b"a sandbox"):
            self.assertRegex(done.stdout, rb"(?m)^missing +" + name + rb" ")
        self.assertTrue(done.stdout.endswith(b"\nNo safe sandbox can run here: see what is missing above\n"))

    def test_full_output(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([GLOVEBOX, "doctor", "--json"], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"No space left on device", done.stderr)


class Inside(Case):
    def test_table(self):
        done = doctor("--inside", *FEW)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        lines = done.stdout.decode().splitlines()
        self.assertRegex(lines[0], r"^CONTROL +PROBE +RESULT$")
        for name in FEW:
            self.assertEqual(len([line for line in lines if re.search(rf" {name} +contained$", line)]), 1)
        self.assertEqual(lines[-1], f"{len(FEW) + OUTSIDE} contained, 0 not, 0 skipped")

    def test_json(self):
        done = doctor("--inside", "--json", *FEW)
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["passed"], report["trouble"], report["problem"]),
                         (0, True, None, None))
        self.assertEqual((report["contained"], report["not_contained"], report["skipped"]), (len(FEW) + OUTSIDE, 0, 0))
        for row in report["probes"]:
            self.assertEqual(row["result"], "contained")
            self.assertTrue(row["control"] and row["expected"])

    def test_takes_the_options_of_run(self):
        self.path("file", "mine")
        done = doctor("--inside", "--user", "root", "--mount", f"{self.folder}:/mine:ro", "--env", "A=1", "--memory",
                      "512M", "--name", "examined", "--json", *FEW)
        self.assertEqual(done.returncode, 0, done.stderr)
        # Of the sandbox's root only: it is not skipped.
        done = doctor("--inside", "-u", "root", "--json", "read_memory_of_another_user")
        self.assertEqual(rows(done)["read_memory_of_another_user"]["result"], "contained")
        done = doctor("--inside", "--json", "read_memory_of_another_user")
        self.assertEqual(rows(done)["read_memory_of_another_user"]["result"], "skipped")
        self.assertIn("root", rows(done)["read_memory_of_another_user"]["reason"])

    def test_in_an_image_with_nothing_in_it(self):
        os.mkdir(self.path("image"))
        done = doctor("--inside", "--image", self.path("image"), "--json", "give_files_away_as_a_user",
                      "race_the_path_of_an_exec", *FEW)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)

    def test_on_a_terminal(self):
        terminal = Terminal([GLOVEBOX, "doctor", "--inside", "-t", *FEW], (24, 80))
        self.addCleanup(terminal.close)
        self.assertTrue(terminal.expect(b" contained, 0 not, 0 skipped", LIMIT))
        self.assertEqual(terminal.wait(), 0)

    def test_leaves_nothing(self):
        env = dict(os.environ, TMPDIR=self.folder)
        self.assertEqual(doctor("--inside", *FEW, env=env).returncode, 0)
        self.assertEqual(os.listdir(self.folder), [])



# Stands where the sandbox's kernel does, with its rights, and says what it likes.
FALSE_KERNEL = """#!/usr/bin/python3
import os, socket
records = b""
while True:
    more = os.read(4, 1 << 20)
    if not more:
        break
    records += more
env = dict(r[4:].split(b"=", 1) for r in records.split(b"\\0") if r.startswith(b"env="))
folder = env[b"GLOVEBOX_PROBE_FOLDER"].decode()
def secret():
    with open(folder + "/secret") as f:
        return f.read().strip()
def say(*rows):
    text = "".join("\\t".join(["probe", "host-files", name, result, "never", "1", "none", "", reason]) + "\\n"
                   for name, result, reason in rows)
    os.write(6, f"glovebox-probes\\t1\\t{len(rows)}\\n{text}end\\t{len(rows)}\\n".encode())
"""


class FalseKernel(Case):
    """A sandbox that does not hold is found out, whatever it says of itself."""

    def doctor(self, script, *words):
        libexec = os.path.join(self.folder, "libexec/glovebox")
        os.makedirs(os.path.join(self.folder, "bin"))
        os.makedirs(libexec)
        shutil.copy(GLOVEBOX, os.path.join(self.folder, "bin/glovebox"))
        shutil.copy(os.path.join(ROOMS, "probes/glovebox-probes"), libexec)
        kernel = self.path("libexec/glovebox/glovebox-kernel", FALSE_KERNEL + script)
        os.chmod(kernel, 0o755)
        return subprocess.run([os.path.join(self.folder, "bin/glovebox"), "doctor", "--inside", *words],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)

    def test_that_reaches_the_host(self):
        done = self.doctor("""
secret()
with open(folder + "/victim", "a") as f:
    f.write("x")
socket.socket(socket.AF_UNIX).connect(folder + "/socket")
say(("read_by_its_path", "contained", ""))
""", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        results = {name: row["result"] for name, row in rows(done).items()}
        self.assertEqual(results["read_by_its_path"], "contained")
        for name in ("host_files_unread", "host_files_unchanged", "host_sockets_unreached"):
            self.assertEqual(results[name], "ESCAPED", name)
        for name in ("image_unchanged", "settings_unchanged", "host_process_unharmed"):
            self.assertEqual(results[name], "contained", name)

    def test_that_tells_the_secret(self):
        done = self.doctor('say(("read_by_its_path", "contained", secret()))', "--json")
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["passed"]), (1, False))
        self.assertEqual(report["trouble"], "the host's secret is in the output of the probes")

    def test_that_escaped(self):
        done = self.doctor('say(("read_by_its_path", "ESCAPED", "it can be read"))')
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rb"(?m) read_by_its_path +ESCAPED: it can be read \(must follow: none\)$")

    def test_that_breaks_off(self):
        done = self.doctor('os.write(6, b"glovebox-probes\\t1\\t7\\n")', "--json")
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["passed"], report["problem"]), (1, False, "it breaks off"))
        self.assertIn("ended unexpectedly", report["trouble"])

    def test_that_says_nothing(self):
        done = self.doctor("", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["problem"]), (1, "there is none"))

    def test_that_writes_to_the_terminal(self):
        done = self.doctor('os.write(6, b"\\x1b[2J\\x07 rubbish \\xff\\n"); os.write(7, b"\\x1b]0;title\\x07\\n")')
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"can't be trusted: it does not begin as a report", done.stdout)
        for byte in (b"\x1b", b"\x07"):
            self.assertNotIn(byte, done.stdout + done.stderr)


class Outside(Case):
    def test_sees(self):
        done = doctor("--outside", "read_by_its_path", "connect_to_the_hosts_port", "look_for_the_hosts_process",
                      "find_inherited_descriptors", "install_a_filter_of_its_own")
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        self.assertTrue(done.stdout.endswith(b"\n5 see, 0 are blind, 0 skipped\n"))

    def test_is_refused_for_what_would_do_harm(self):
        done = doctor("--outside", "restart_the_machine")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn(b"restart_the_machine", done.stdout)

    def test_the_program_alone_refuses(self):
        probes = os.path.join(ROOMS, "probes/glovebox-probes")
        for words in (["--inside"], ["--inside", "restart_the_machine"], [], ["restart_the_machine"]):
            env = dict(os.environ, GLOVEBOX_PROBE_INSIDE="1")
            done = subprocess.run([probes, *words], capture_output=True, timeout=LIMIT, env=env)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(b"glovebox doctor", done.stderr)


class BadInput(Case):
    def refused(self, *words, pattern):
        self.expect_refused(doctor(*words), pattern)

    def test_options(self):
        self.refused("--nope", pattern="--nope: no such option; see glovebox doctor --help")
        self.refused("--insid", pattern="did you mean --inside")
        self.refused("--mount", "/tmp:/x", pattern="--mount: no such option; it goes with --inside only")
        self.refused("--inside", "--qqqq", pattern="--qqqq: no such option; see glovebox doctor --help")
        self.refused("--inside", "--timeout", "soon", pattern="--timeout soon: ")
        self.refused("--inside", "--mount", "/no/such/file:/x", pattern="does not exist")
        self.refused("--inside", "--outside", pattern="not together with --inside")
        self.refused("--inside=yes", pattern="takes no value")
        self.refused("--inside", "--init", pattern="takes in orphans")

    def test_names(self):
        self.refused("read_by_its_path", pattern="go with --inside or --outside only")
        self.refused("--inside", "Read;rm -rf", pattern="not the name of a probe")
        self.refused("--inside", "", pattern="not the name of a probe")
        self.refused("--outside", "a\x1b[2Jb", pattern="not the name of a probe")

    def test_unknown_probe(self):
        for where in ("--inside", "--outside"):
            done = doctor(where, "no_such_probe")
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"no_such_probe: no such probe", done.stderr)
            self.assertIn(b"the report of the probes can't be trusted: there is none", done.stdout)

    def test_nowhere_for_the_canary(self):
        self.refused("--inside", "--mount", "/:/host:ro", *FEW, pattern="there is no place for a file that must stay unseen")

    def test_a_mount_in_the_place_of_the_probes(self):
        self.refused("--inside", "--mount", f"{self.folder}:/glovebox-probes", *FEW, pattern="two mounts at /glovebox-probes")

    def test_time_is_up(self):
        done = doctor("--inside", "--timeout", "100ms", "--json", "signal_every_number")
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["passed"]), (1, False))
        self.assertIn("timeout", report["trouble"])

    def test_help(self):
        for words in (["doctor", "--help"], ["doctor", "-h"], ["help", "doctor"], ["doctor", "--inside", "--help"]):
            done = subprocess.run([GLOVEBOX, *words], capture_output=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"glovebox doctor --inside", done.stdout)
        with open(os.path.join(ROOT, "man/glovebox-doctor.1"), encoding="utf-8") as f:
            manual = f.read().replace("\\-", "-")
        for option in re.findall(r"^  .{4}(--[a-z-]+)", done.stdout.decode(), re.MULTILINE):
            self.assertIn(option, manual)


if __name__ == "__main__":
    main(sys.modules[__name__])
