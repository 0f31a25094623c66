#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox cp: files out of a running sandbox, as a stranger's, and into one."""
import hashlib
import io
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main, rests, wait_until  # noqa: E402
import files_client  # noqa: E402
from files_client import Connection  # noqa: E402

RECORD = "<IIiIqqII"
DIRECTORY, LEAVE, FILE, DATA, FILE_END, LINK, LEFT_OUT, FAILED, END = range(1, 10)


class Copying(Case):
    def setUp(self):
        super().setUp()
        self.name = f"cp-{os.getpid()}-{self.id().rpartition('.')[2].removeprefix('test_')}"[:63]
        self.target = self.path("target")
        os.mkdir(self.target)

    def sandbox(self, code, *options):
        """A sandbox that has run Python code and then waits for the end of its input."""
        process = self.start("--name", self.name, *options, "--", "python3", "-c",
                             "import os, socket, sys\nos.makedirs('/tmp/d')\nos.chdir('/tmp/d')\n" + code +
                             "\nprint('ready', flush=True)\nsys.stdin.read()")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def cp(self, *words, **more):
        return subprocess.run([GLOVEBOX, "cp", *words], capture_output=True, timeout=LIMIT, **more)

    def copy(self, path="/tmp/d", *options, target=None):
        return self.cp(*options, f"{self.name}:{path}", target or self.target)

    def read(self, *names):
        with open(os.path.join(self.target, *names), "rb") as f:
            return f.read()

    def lines(self, done, status=1):
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode().splitlines()


class Descriptors(Copying):
    def test_all_in_use(self):
        """Who connects to a starter without a descriptor left waits, and does not keep it busy."""
        policy = '{"version": 1, "rules": [{"id": "r", "action": "allow", "to": {"domain": ["a.test"]}}]}'
        process = self.sandbox("open('a', 'w').write('one')", "--policy", self.path("policy", policy))
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)

        def in_use():
            return {int(fd) for fd in os.listdir(f"/proc/{process.pid}/fd")}
        idle = in_use()
        for kind in ("+copy", "+files", ""):
            with self.subTest(kind), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                self.assertTrue(wait_until(lambda: in_use() == idle))  # those before have been let go
                free = next(fd for fd in range(soft) if fd not in idle)
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (free, hard))
                s.connect(files_client.socket_path(self.name, kind))
                self.assertTrue(rests(process.pid))
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (soft, hard))
                self.expect(self.copy("/tmp/d/a"), out=b"", err=b"")


class Cp(Copying):
    def test_file_becomes_what_the_target_says(self):
        self.sandbox("open('a', 'w').write('one')")
        self.expect(self.copy("/tmp/d/a"), out=b"", err=b"")
        self.assertEqual(self.read("a"), b"one")
        self.expect(self.copy("tmp/d/a", target=self.path("target/other")), err=b"")
        self.assertEqual(self.read("other"), b"one")
        self.path("target/other", "longer than it was")
        self.expect(self.copy("/tmp/d/a", target=self.path("target/other")), err=b"")
        self.assertEqual(self.read("other"), b"one")
        self.expect_refused(self.copy("/tmp/d/a", target=self.path("target/nothing/")), "is no directory")
        self.assertEqual(sorted(os.listdir(self.target)), ["a", "other"])

    def test_directory_with_all_in_it(self):
        self.sandbox("import hashlib\nos.makedirs('x/y/z')\ndata = bytes(range(256)) * 20000\n"
                     "open('x/y/big', 'wb').write(data)\nfor i in range(500): open(f'x/{i}', 'w').write(str(i))\n"
                     "os.link('x/1', 'x/hard')")
        self.expect(self.copy(), out=b"", err=b"")
        self.assertEqual(hashlib.sha256(self.read("d", "x", "y", "big")).digest(),
                         hashlib.sha256(bytes(range(256)) * 20000).digest())
        self.assertEqual([self.read("d", "x", str(i)) for i in range(500)], [str(i).encode() for i in range(500)])
        self.assertTrue(os.path.isdir(os.path.join(self.target, "d/x/y/z")))
        self.assertEqual(self.read("d", "x", "hard"), b"1")
        self.assertEqual(os.stat(os.path.join(self.target, "d/x/hard")).st_nlink, 1)
        self.expect(self.copy("/tmp/d/x/."), err=b"")
        self.assertEqual(self.read("7"), b"7")
        self.expect(self.copy("/tmp/d/x/y", target=self.path("target/new")), err=b"")
        self.assertEqual(sorted(os.listdir(os.path.join(self.target, "new"))), ["big", "z"])

    def test_archive(self):
        self.sandbox("os.mkdir('s')\nopen('s/' + 'n' * 200, 'w').write('x')\nos.chmod('s', 0o1777)\n"
                     "os.symlink('n', 's/l')\nos.symlink('/etc/passwd', 's/out')\nos.mkfifo('s/fifo')")
        done = self.copy("/tmp/d/s", target="-")
        self.assertEqual(len(self.lines(done)), 2)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
            members = {m.name: m for m in tar.getmembers()}
            self.assertEqual(sorted(members), ["s", "s/l", "s/" + "n" * 200])
            self.assertEqual(members["s"].mode, 0o777)
            self.assertEqual(tar.extractfile("s/" + "n" * 200).read(), b"x")

    def test_no_link_leads_out(self):
        self.sandbox("os.mkdir('s')\nos.symlink('/etc/passwd', 'absolute')\nos.symlink('../../etc/passwd', 'up')\n"
                     "os.symlink('s/../../x', 'through')\nos.symlink('../good', 's/good')\nopen('good', 'w').write('x')\n"
                     "os.symlink('/', 'root')")
        lines = self.lines(self.copy())
        self.assertEqual(sorted(line.split(": ")[2] for line in lines), ["absolute", "root", "through", "up"])
        self.assertEqual(sorted(os.listdir(os.path.join(self.target, "d"))), ["good", "s"])
        self.assertEqual(self.read("d", "s", "good"), b"x")
        self.assertIn("-L", self.lines(self.copy("/tmp/d/absolute"))[0])
        self.expect(self.copy("/tmp/d/absolute", "-L"), err=b"")
        self.assertIn(b"root:", self.read("absolute"))  # the sandbox's

    def test_links_on_the_way_are_the_sandboxes(self):
        secret = self.path("secret", "host")
        self.sandbox(f"os.symlink({self.folder!r}, 'l')")
        self.expect_refused(self.copy("/tmp/d/l/secret"), "No such file")
        self.expect_refused(self.copy("/proc/self/root" + secret), r"cp-")
        self.assertEqual(os.listdir(self.target), [])

    def test_nothing_is_left_of_a_copy_that_is_killed(self):
        self.sandbox("open('big', 'wb').write(bytes(100 << 20))")
        for _ in range(20):
            process = subprocess.Popen([GLOVEBOX, "cp", f"{self.name}:/tmp/d/big", self.target])
            fds = f"/proc/{process.pid}/fd"

            def is_writing():
                links = [os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds)]
                return any(link.startswith(self.target + "/") for link in links)
            try:
                while process.poll() is None and not is_writing():
                    pass
            except OSError:  # it has ended, or closed one of them
                pass
            process.kill()
            if process.wait() == -signal.SIGKILL and "big" not in os.listdir(self.target):
                break
            self.assertEqual(os.listdir(self.target), ["big"])
            os.unlink(os.path.join(self.target, "big"))
        self.assertEqual(os.listdir(self.target), [])

    def test_planted_links_in_the_target(self):
        victim = self.path("victim")
        os.mkdir(victim)
        self.path("victim/f", "mine")
        self.sandbox("os.mkdir('s')\nopen('s/f', 'w').write('evil')\nopen('f', 'w').write('evil')")
        os.mkdir(self.path("target/d"))
        os.symlink(victim, self.path("target/d/s"))
        os.symlink(self.path("victim/f"), self.path("target/d/f"))
        self.assertEqual(len(self.lines(self.copy())), 1)
        with open(self.path("victim/f"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "mine")
        self.assertEqual(self.read("d", "f"), b"evil")
        os.symlink(victim, self.path("target/planted"))
        self.expect_refused(self.copy("/tmp/d/f", target=self.path("target/planted")), "symbolic link")
        self.expect_refused(self.copy("/tmp/d/f", target=self.path("target/planted/new")), "symbolic link")
        self.assertEqual(os.listdir(victim), ["f"])

    def test_links_planted_while_it_copies(self):
        """In a folder that the sandbox has too, where it turns directories into links and back."""
        victim = self.path("victim")
        os.mkdir(victim)
        self.sandbox("for i in range(200):\n    os.makedirs(f's/{i}')\n    open(f's/{i}/f', 'w').write('evil')\n"
                     "import threading\nos.makedirs('/mnt/s')\n"
                     f"def race():\n    while True:\n        for i in range(200):\n            p = f'/mnt/s/{{i}}'\n"
                     f"            try: os.rename(p, p + 'x')\n            except OSError: pass\n"
                     f"            try: os.symlink({victim!r}, p)\n            except OSError: pass\n"
                     "            try: os.unlink(p)\n            except OSError: pass\n"
                     "threading.Thread(target=race, daemon=True).start()",
                     "--mount", f"{self.target}:/mnt:rw")
        for _ in range(3):
            self.copy("/tmp/d/s")
        self.assertEqual(os.listdir(victim), [])

    def test_modes_owners_and_times(self):
        self.sandbox("open('a', 'w').close()\nos.chown('a', 12, 34)\nos.chmod('a', 0o6777)\nos.utime('a', (2**33, 2**33))\n"
                     "open('b', 'w').close()\nos.utime('b', (5, 5))\nos.mkdir('s')\nos.chmod('s', 0o7000)\n"
                     "open('s/in', 'w').close()", "--user", "0")
        self.expect(self.copy(), err=b"")
        a, b, s = (os.stat(os.path.join(self.target, "d", name)) for name in ("a", "b", "s"))
        self.assertEqual(stat.S_IMODE(a.st_mode) & 0o7000, 0)
        self.assertEqual((a.st_uid, a.st_gid), (os.geteuid(), os.getegid()))
        self.assertLessEqual(a.st_mtime, time.time())
        self.assertEqual(b.st_mtime, 5)
        self.assertEqual(stat.S_IMODE(s.st_mode), 0o700)

    def test_special_files_are_left_out(self):
        self.sandbox("os.mkfifo('fifo')\ns = socket.socket(socket.AF_UNIX)\ns.bind('socket')")
        lines = self.lines(self.copy())
        self.assertEqual(sorted(line.rpartition(": ")[2] for line in lines), ["it is a FIFO", "it is a socket"])
        self.assertEqual(os.listdir(os.path.join(self.target, "d")), [])
        lines = self.lines(self.copy("/dev/zero"))
        self.assertEqual(lines, ["glovebox: cp: /dev/zero: left out: it is a device"])
        self.lines(self.copy("/dev"))
        for folder, _, names in os.walk(self.target):
            for name in names:
                mode = os.lstat(os.path.join(folder, name)).st_mode
                self.assertTrue(stat.S_ISREG(mode) or stat.S_ISLNK(mode), name)
        self.lines(self.copy("/proc"))
        self.assertNotIn("proc", os.listdir(self.target))

    def test_what_the_host_lets_nobody_read_is_told(self):
        folder = self.path("folder")
        os.makedirs(os.path.join(folder, "locked", "in"))
        os.mkdir(os.path.join(folder, "open"))
        os.chmod(os.path.join(folder, "locked"), 0)
        self.addCleanup(os.chmod, os.path.join(folder, "locked"), 0o700)
        self.sandbox("", "--mount", f"{folder}:/mnt")
        self.assertEqual(self.lines(self.copy("/mnt")),
                         ["glovebox: cp: locked/: left out: what could not be read: Permission denied"])
        self.assertEqual(sorted(os.listdir(os.path.join(self.target, "mnt"))), ["locked", "open"])

    def test_sparse_file_takes_what_is_in_it(self):
        self.sandbox("f = open('sparse', 'wb')\nf.truncate(1 << 40)\nf.seek(1 << 39)\nf.write(b'x')\nf.flush()")
        self.expect(self.copy("/tmp/d/sparse", "--max-size", "1M"), err=b"")
        st = os.stat(os.path.join(self.target, "sparse"))
        self.assertEqual(st.st_size, 1 << 40)
        self.assertLess(st.st_blocks * 512, 1 << 20)
        with open(os.path.join(self.target, "sparse"), "rb") as f:
            f.seek(1 << 39)
            self.assertEqual(f.read(2), b"x\0")
        done = self.copy("/tmp/d/sparse", "--max-size", "1M", target="-")
        self.assertEqual(done.returncode, 125)
        self.assertLess(len(done.stdout), 1 << 20)

    def test_limits(self):
        self.sandbox("for i in range(50): open(f'{i:02}', 'w').write('x' * 100)")
        self.expect_refused(self.copy("/tmp/d", "--max-files", "10"), "--max-files")
        self.assertLessEqual(len(os.listdir(os.path.join(self.target, "d"))), 10)
        self.expect_refused(self.copy("/tmp/d", "--max-size", "1000"), "--max-size")

    def test_names_are_shown_safely(self):
        self.sandbox("os.mkfifo('a\\nb\\x1b[31m\\u202e')\nopen('c\\nd', 'w').write('x')")
        lines = self.lines(self.copy())
        self.assertEqual(lines, ["glovebox: cp: a\\nb\\x1b[31m\\u202e: left out: it is a FIFO"])
        self.assertEqual(self.read("d", "c\nd"), b"x")

    def test_deep_trees_end(self):
        self.sandbox("for i in range(300):\n    os.mkdir('d')\n    os.chdir('d')")
        self.assertEqual(len(self.lines(self.copy())), 1)

    def test_what_changes_meanwhile(self):
        process = self.sandbox(
            "import threading\nfor i in range(300): open(f'f{i}', 'w').write('x' * 3000)\n"
            "def race():\n    n = 0\n    while True:\n        n += 1\n        i = n % 300\n"
            "        os.rename(f'f{i}', 'g')\n        os.symlink('/etc/passwd', f'f{i}')\n        os.unlink(f'f{i}')\n"
            "        os.mkdir(f'f{i}')\n        os.rmdir(f'f{i}')\n        open('g', 'w').write('y' * (n % 5000))\n"
            "        os.rename('g', f'f{i}')\n"
            "threading.Thread(target=race, daemon=True).start()")
        for _ in range(3):
            self.assertIn(self.copy().returncode, (0, 1))
        for name in os.listdir(os.path.join(self.target, "d")):
            self.assertLessEqual(set(self.read("d", name)) if os.path.isfile(os.path.join(self.target, "d", name)) else set(),
                                 {ord("x"), ord("y")})
        self.assertIsNone(process.poll())

    def test_programs_go_on_meanwhile(self):
        """One copy that nobody reads holds up neither the sandbox nor another copy."""
        process = self.sandbox("open('a', 'wb').write(b'x' * 3000000)")
        slow = subprocess.Popen([GLOVEBOX, "cp", f"{self.name}:/tmp/d", "-"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
        try:
            slow.stdout.read(1)
            self.expect(self.copy("/tmp/d/a"), err=b"")
            self.assertEqual(len(self.read("a")), 3000000)
            process.stdin.close()
            self.assertEqual(process.wait(LIMIT), 0)
        finally:
            slow.stdout.close()
            self.assertNotEqual(slow.wait(LIMIT), None)

    def test_who_is_not_there(self):
        self.expect_refused(self.cp("no-such-sandbox:/x", self.target), "glovebox ps")
        self.expect_refused(self.cp("../x:/x", self.target), "NAME:PATH")
        self.expect_refused(self.cp(self.target, "no-such-sandbox:/y"), "glovebox ps")
        self.expect_refused(self.cp("x:/"), "NAME:PATH")
        self.expect_refused(self.cp("x:/a", "y:/b"), "both")
        self.expect_refused(self.cp("a", "b"), "neither")
        self.sandbox("")
        self.expect_refused(self.copy("/tmp/nothing"), "No such file")
        self.expect_refused(self.copy("/tmp/.."), "no name")
        self.expect_refused(self.copy("/tmp/" + "x" * 300), "no name")


class CpIn(Copying):
    def sandbox(self, code="", *options):
        process = super().sandbox(code, *options)
        self.connection = Connection(self.name)
        self.addCleanup(self.connection.close)
        return process

    def copy_in(self, source, path="/tmp/d", *options, **more):
        return self.cp(*options, source, f"{self.name}:{path}", **more)

    def tree(self):
        """A folder with one of each."""
        top = self.path("tree")
        os.makedirs(os.path.join(top, "a/b"))
        for name, content in (("f", b"one"), ("a/b/big", os.urandom(3 << 20)), ("a/even", b"x" * (1 << 20)), ("empty", b"")):
            self.path("tree/" + name, content)
        os.chmod(os.path.join(top, "f"), 0o6751)
        os.chmod(os.path.join(top, "a"), 0o750)
        os.utime(os.path.join(top, "f"), ns=(0, 1500000000123456789))
        os.symlink("a/b", os.path.join(top, "l"))
        os.symlink("/nowhere", os.path.join(top, "out"))
        return top

    def test_file_becomes_what_the_target_says(self):
        self.sandbox("os.mkdir('s')\nopen('old', 'w').write('longer than it was')")
        source = self.path("f", "one")
        self.expect(self.copy_in(source), out=b"", err=b"")
        self.assertEqual(self.connection.read("/tmp/d/f"), b"one")
        self.expect(self.copy_in(source, "tmp/d/s/"), err=b"")
        self.expect(self.copy_in(source, "/tmp/d/old"), err=b"")
        self.expect(self.copy_in(source, "/tmp/d/new"), err=b"")
        for name in ("s/f", "old", "new"):
            self.assertEqual(self.connection.read("/tmp/d/" + name), b"one")
        self.expect_refused(self.copy_in(source, "/tmp/d/nothing/"), "no such directory")
        self.expect_refused(self.copy_in(source, "/tmp/d/f/"), "no directory")
        self.expect_refused(self.copy_in(self.path("no"), "/tmp/d"), "No such file")
        self.lines(self.copy_in(source, "/tmp/d/not/there"))
        self.assertEqual({e.name for e in self.connection.list("/tmp/d", depth=3)[1:]}, {"f", "s", "old", "new"})

    def test_directory_with_all_in_it(self):
        self.sandbox()
        top = self.tree()
        self.expect(self.copy_in(top), out=b"", err=b"")
        c = self.connection
        with open(os.path.join(top, "a/b/big"), "rb") as f:
            self.assertEqual(c.read("/tmp/d/tree/a/b/big"), f.read())
        self.assertEqual(len(c.read("/tmp/d/tree/a/even")), 1 << 20)
        self.assertEqual(c.read("/tmp/d/tree/empty"), b"")
        f = c.stat("/tmp/d/tree/f")
        self.assertEqual((f.mode, f.owner, f.group), (0o100751, "user", "user"))
        self.assertAlmostEqual(f.mtime, 1500000000.123456789, 3)
        self.assertEqual((c.stat("/tmp/d/tree/a").mode, c.stat("/tmp/d/tree/l").target), (0o40750, "/tmp/d/tree/a/b"))
        self.assertTrue(stat.S_ISLNK(c.stat("/tmp/d/tree/out").mode))
        self.expect(self.copy_in(top + "/.", "/tmp/d"), err=b"")
        self.assertEqual(c.read("/tmp/d/f"), b"one")
        self.expect(self.copy_in(top, "/tmp/d/renamed"), err=b"")
        self.assertEqual(c.read("/tmp/d/renamed/f"), b"one")
        self.expect_refused(self.copy_in(top, "/tmp/d/f"), "no directory")

    def test_links_at_the_end_of_the_source(self):
        self.sandbox()
        os.symlink(self.path("f", "one"), self.path("l"))
        self.expect(self.copy_in(self.path("l"), "/tmp/d/link"), err=b"")
        self.assertTrue(stat.S_ISLNK(self.connection.stat("/tmp/d/link").mode))
        self.expect(self.copy_in(self.path("l"), "/tmp/d/file", "-L"), err=b"")
        self.assertEqual(self.connection.read("/tmp/d/file"), b"one")

    def test_links_in_the_sandbox_lead_nothing_astray(self):
        self.sandbox("open('victim', 'w').write('mine')\nos.symlink('/tmp/d/victim', 'f')")
        self.expect(self.copy_in(self.path("f", "one")), err=b"")
        self.assertEqual((self.connection.read("/tmp/d/f"), self.connection.read("/tmp/d/victim")), (b"one", b"mine"))

    def test_what_is_in_the_way_and_what_is_no_file(self):
        self.sandbox("os.makedirs('tree/f')\nopen('tree/a', 'w')")
        top = self.tree()
        os.mkfifo(os.path.join(top, "p\x1b"))
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.join(top, "s"))
            lines = self.lines(self.copy_in(top))
        self.assertEqual(sorted(line.partition("tree/")[2] for line in lines),
                         ["a: left out: something that is no directory is in its place or on the way",
                          "f: left out: a directory of this name is in its place",
                          "p\\x1b: left out: it is a FIFO", "s: left out: it is a socket"])
        self.assertEqual(self.connection.read("/tmp/d/tree/empty"), b"")

    def test_limits_and_full_disks(self):
        self.sandbox("", "--disk", "4M")
        top = self.tree()
        self.expect_refused(self.copy_in(top, "/tmp/d", "--max-files", "3"), "--max-files")
        self.expect_refused(self.copy_in(top, "/tmp/d", "--max-size", "1M"), "--max-size")
        big = self.path("big", b"x" * (8 << 20))
        self.expect_refused(self.copy_in(big), "No space left")
        self.assertNotIn("big", [e.name for e in self.connection.list("/tmp/d")])

    def archive(self, *members, **more):
        """members: (name, type, content or link)."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", **more) as tar:
            for name, kind, content in members:
                m = tarfile.TarInfo(name)
                m.type, m.mode, m.mtime = kind, 0o4750, 1500000000.25
                if kind == tarfile.REGTYPE:
                    m.size = len(content)
                else:
                    m.linkname = content
                tar.addfile(m, io.BytesIO(content) if kind == tarfile.REGTYPE else None)
        return out.getvalue()

    def test_archives(self):
        self.sandbox()
        c = self.connection
        deep = "/".join(["d" * 60] * 5) + "/" + "n" * 200
        for number, form in enumerate((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)):
            content = os.urandom(1500000)
            data = self.archive(("./a", tarfile.DIRTYPE, ""), ("a/f", tarfile.REGTYPE, content),
                                ("a/" + "x" * 150, tarfile.REGTYPE, b"long"), ("a/l", tarfile.SYMTYPE, "t" * 180),
                                ("a/\u00e4", tarfile.REGTYPE, b""), format=form)
            self.expect(self.copy_in("-", "/tmp/d", input=data), out=b"", err=b"")
            self.assertEqual(c.read("/tmp/d/a/f"), content)
            self.assertEqual(c.read("/tmp/d/a/" + "x" * 150), b"long")
            f = c.stat("/tmp/d/a/f")
            self.assertEqual((f.mode, f.owner, int(f.mtime)), (0o100750, "user", 1500000000))
            self.assertTrue(stat.S_ISLNK(c.stat("/tmp/d/a/l").mode))
            self.assertEqual(c.stat("/tmp/d/a/\u00e4").size, 0)
            self.expect(self.copy_in("-", "/tmp/d", input=self.archive((deep, tarfile.REGTYPE, b""), format=form)), err=b"")
            self.assertEqual(c.stat("/tmp/d/" + deep).size, 0)
            c.ask(files_client.REMOVE, "/tmp/d/a", flags=files_client.AS_ROOT)
        out = self.cp(f"{self.name}:/usr/share/zoneinfo/Etc", "-")
        if out.returncode == 0:
            self.expect(self.copy_in("-", "/tmp/d", input=out.stdout), err=b"")

    def test_archives_with_times_before_1970(self):
        self.sandbox()
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
            out = io.BytesIO()
            with tarfile.open(fileobj=out, mode="w", format=form) as tar:
                m = tarfile.TarInfo("old")
                m.mtime, m.size = -86400, 3
                tar.addfile(m, io.BytesIO(b"one"))
            self.expect(self.copy_in("-", "/tmp/d", input=out.getvalue()), out=b"", err=b"")
            self.assertEqual(self.connection.read("/tmp/d/old"), b"one")

    def test_sparse_files_of_tar_are_no_other_content(self):
        self.sandbox()
        with open(self.path("sparse"), "wb") as f:
            for i in range(40):  # more pieces than a header has room for
                f.seek(i << 20)
                f.write(b"data")
        self.path("after", "one")
        for form in ("gnu", "posix"):
            data = subprocess.run(["tar", "-C", self.folder, f"--format={form}", "-cS", "sparse", "after"],
                                  capture_output=True, check=True).stdout
            lines = self.lines(self.copy_in("-", "/tmp/d", input=data))
            self.assertEqual([line.split(": ", 2)[2] for line in lines], [
                "/tmp/d/sparse: left out: it is stored as a sparse file; archive it without --sparse"])
            self.assertEqual([e.name for e in self.connection.list("/tmp/d")[1:]], ["after"])
            self.assertEqual(self.connection.read("/tmp/d/after"), b"one")

    def test_archives_that_lead_out_or_are_none(self):
        self.sandbox("os.mkdir('s')")
        lines = self.lines(self.copy_in("-", "/tmp/d/s", input=self.archive(
            ("../escaped", tarfile.REGTYPE, b"x"), ("a/../../escaped", tarfile.REGTYPE, b"x"), ("/abs", tarfile.REGTYPE, b"x"),
            ("hard", tarfile.LNKTYPE, "abs"), ("dev", tarfile.CHRTYPE, ""), ("p", tarfile.FIFOTYPE, ""))))
        self.assertEqual(len(lines), 5)
        self.assertEqual([e.name for e in self.connection.list("/tmp/d", depth=2)[1:]], ["s", "abs"])
        good = self.archive(("f", tarfile.REGTYPE, b"x" * 5000))
        for bad in (b"x" * 512, good[:100], good[:3000], good[:512], good[:148] + b"0000000\0" + good[156:],
                    good[:124] + b"\xff" * 12 + good[136:], b"x" * 1024):
            self.expect_refused(self.copy_in("-", "/tmp/d", input=bad), "broken")
        self.expect_refused(self.copy_in("-", "/tmp/nothing", input=good), "no such directory")
        self.expect(self.copy_in("-", "/tmp/d", input=b""), err=b"")
        self.assertEqual([e.name for e in self.connection.list("/tmp/d")[1:]], ["s"])


class CpSocket(Copying):
    """Who talks to the starter's socket is of the same user, and may be of another version, or broken."""

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(s.close)
        for folder in ("/run/glovebox", os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nowhere"), "glovebox"),
                       f"/tmp/glovebox-{os.geteuid()}"):
            path = f"{folder}/sandboxes/.{self.name}+copy"
            if os.path.exists(path):
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700)
                s.connect(path)
                s.settimeout(LIMIT)
                return s
        self.fail("no socket")

    @staticmethod
    def question(kind, text=b"", version=1, size=None):
        return struct.pack("<IIII", version, kind, 0, len(text) if size is None else size) + text

    def test_nonsense_ends_the_connection_only(self):
        self.sandbox("open('a', 'w').write('x')")
        for bad in (b"x", self.question(7, b"/"), self.question(2), self.question(1, b"/", version=9),
                    self.question(1, b"/", size=9), self.question(1), self.question(1, b"x" * 4096), b"y" * 100000):
            with self.connect() as s:
                s.send(bad)
                self.assertEqual(s.recv(70000), b"", bad[:40])
        with self.connect() as s:
            s.send(self.question(1, b"/tmp/d"))
            s.send(self.question(1, b"/tmp/d"))
            while s.recv(70000):
                pass
        self.expect(self.copy("/tmp/d/a"), err=b"")

    def test_no_more_than_four_at_once(self):
        self.sandbox("open('a', 'w').write('x')")
        held = [self.connect() for _ in range(4)]
        for s in held:
            s.send(self.question(1, b"/usr/lib"))
            self.assertGreater(len(s.recv(70000)), 1000)
        self.expect_refused(self.copy("/tmp/d/a"), "too many|ended")
        held[0].close()
        self.assertTrue(wait_until(lambda: self.copy("/tmp/d/a").returncode == 0))

    def test_nothing_is_left_of_it(self):
        process = self.sandbox("")
        path = self.connect().getpeername()
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 0)
        self.assertFalse(os.path.exists(path))


class CpForged(Copying):
    """A kernel that was taken over says whatever it likes; here somebody with a registry of his own does."""

    def setUp(self):
        super().setUp()
        if os.geteuid() == 0 and os.access("/run", os.W_OK):
            self.registry = "/run/glovebox/sandboxes"
        else:
            self.registry = None

    def serve(self, *packets, kind="copy"):
        """A starter that was there, whose socket answers with these packets."""
        path = f"{self.registry}/.{self.name}+{kind}"
        os.unlink(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        listener.listen(1)
        self.addCleanup(listener.close)

        def answer():
            s, _ = listener.accept()
            with s:
                for packet in packets:
                    s.recv(5000)
                    if packet:
                        s.send(packet)
                s.recv(5000)
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        return thread

    @staticmethod
    def record(kind, text=b"", mode=0o644, error=0, value=0):
        return struct.pack(RECORD, kind, mode, error, len(text), value, 0, 0, 0) + text

    def test_lies_to_who_copies_in(self):
        if not self.registry:
            self.skipTest("needs the registry of root")
        self.sandbox("")
        source = self.path("f", "one")
        A, E = files_client.ANSWER, files_client.ENTRY

        def entry(name, mode=0o100644, target_mode=0, target=b""):
            return E.pack(mode, target_mode, 0, 0, 1, 0, 0, 0, 0, len(name), len(target), 0, 0, 0, 0) + name + target

        def answer(kind, records=b"", error=0, value=0, size=None):
            return A.pack(kind, error, value, len(records) if size is None else size, 0) + records
        good = answer(1, entry(b"/tmp/d", 0o40755))
        for lies in ((b"x",), (answer(2, entry(b"/tmp")),), (answer(1, entry(b"../x")),), (answer(1),), (answer(1, b"short"),),
                     (answer(1, entry(b"/l", 0o120777, 0o644, b"/etc")),), (answer(1, error=5000),), (answer(1, error=-1),),
                     (answer(1, b"", size=9),), (answer(1, value=7),), (good, answer(11, value=4)), (good, answer(11, value=-1)),
                     (good, b"y" * 66000)):
            # It answers questions only: the hello has none.
            self.serve(b"", *lies, kind="files")
            self.expect_refused(self.cp(source, f"{self.name}:/tmp/d"), "must not")

    def test_lies(self):
        if not self.registry:
            self.skipTest("needs the registry of root")
        self.sandbox("")
        r = self.record
        for lie in (r(DIRECTORY) + r(FILE, b"../escaped", value=1), r(DIRECTORY) + r(FILE, b"..", value=1),
                    r(DIRECTORY) + r(DIRECTORY, b"a/b"), r(DIRECTORY) + r(LEAVE) + r(LEAVE), r(FILE, value=1) + r(DATA, b"xy"),
                    r(FILE, value=1 << 62), b"short", r(99), r(DIRECTORY) + r(LINK, b"l"), r(END)):
            self.serve(lie)
            self.expect_refused(self.copy("/x/d", target=tempfile.mkdtemp(dir=self.folder)), "must not")
        self.assertNotIn("escaped", os.listdir(self.folder))
        self.serve(r(DIRECTORY) + r(FILE, b"a", mode=0o106755, value=1) + r(DATA, b"x") + r(FILE_END, value=1) +
                   r(LINK, b"l\0/etc/passwd") + r(LEFT_OUT, b"\x1b]0;x\a", mode=0o20666) + r(LEAVE) + r(END))
        lines = self.lines(self.copy("/x/good"))
        self.assertEqual(len(lines), 2)
        self.assertNotIn("\x1b", "".join(lines))
        self.assertEqual(os.listdir(os.path.join(self.target, "good")), ["a"])
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.target, "good/a")).st_mode) & 0o7000, 0)


if __name__ == "__main__":
    main(sys.modules[__name__])
