#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of a running sandbox, by its kernel: what is asked over the socket beside its record."""
import errno
import os
import socket
import stat
import struct
import sys

sys.dont_write_bytecode = True
from cases import LIMIT, Case, descendants, is_sanitized, main, stat_fields, wait_until  # noqa: E402
import files_client as files  # noqa: E402
from files_client import (AND_COMMIT, AS_ROOT, CHANGED, CREATED, EXACT_MODE, OVERFLOW, PARENTS, REMOVED,  # noqa: E402
                          RENAMED, WITH_DATA, WITH_TIME, WRITTEN, Connection)


class Files(Case):
    def sandbox(self, code="", *options, **more):
        """A connection to a sandbox that has run Python code as user and then waits for the end of its input."""
        self.name = f"files-{os.getpid()}-{self.id().rpartition('.')[2].removeprefix('test_')}"[:63]
        self.process = self.start("--name", self.name, *options, "--", "python3", "-c",
                                  "import os, socket, sys, threading, time\nos.makedirs('/tmp/d')\nos.chdir('/tmp/d')\n" + code +
                                  "\nprint('ready', flush=True)\nfor line in sys.stdin: exec(line)")
        self.assertEqual(self.process.stdout.readline(), b"ready\n")
        return self.connect(**more)

    def connect(self, **more):
        connection = Connection(self.name, **more)
        self.addCleanup(connection.close)
        return connection

    def inside(self, expression):
        """What Python in the sandbox says of an expression."""
        self.process.stdin.write(f"print(repr(({expression})), flush=True)\n".encode())
        self.process.stdin.flush()
        return eval(self.process.stdout.readline())  # of a test's own sandbox

    def touch(self, path):
        self.inside(f"open({path!r}, 'w').close()")

    def refused(self, number, call, *words, **more):
        with self.assertRaises(OSError) as caught:
            call(*words, **more)
        self.assertEqual(errno.errorcode[caught.exception.errno], errno.errorcode[number])


class Names(Files):
    def test_paths_are_the_users(self):
        c = self.sandbox()
        for text, path in (("", "/home/user"), ("~", "/home/user"), ("~/", "/home/user"), (".", "/home/user"),
                           ("/", "/"), ("/tmp/./x/../d//", "/tmp/d"), ("/../../tmp", "/tmp"), ("../../tmp/d", "/tmp/d")):
            self.assertEqual(c.stat(text).name, path)
        self.assertEqual(c.stat("", user="root").name, "/root")
        self.assertEqual(c.stat("~", user="0").name, "/root")
        self.refused(errno.ENOENT, c.stat, "~user")
        self.refused(errno.ESRCH, c.stat, "", user="who")
        self.refused(errno.ENAMETOOLONG, c.stat, "x" * 256)
        self.refused(errno.ENAMETOOLONG, c.stat, "x/" * 2043, user="1000")

    def test_what_is_told(self):
        c = self.sandbox("open('f', 'w').write('abc')\nos.chmod('f', 0o4751)\nos.utime('f', (1, 5))\n"
                         "os.symlink('f', 'l')\nos.symlink('nothing', 'broken')\nos.mkfifo('p')\nos.symlink('/tmp/d', 'up')")
        f = c.stat("/tmp/d/f")
        self.assertEqual((f.name, f.mode, f.size, f.mtime, f.owner, f.group), ("/tmp/d/f", 0o104751, 3, 5, "user", "user"))
        self.assertEqual((c.stat("/etc/passwd").owner, c.stat("/etc/passwd").uid), ("root", 0))
        link = c.stat("/tmp/d/up/l")
        self.assertEqual((link.name, stat.S_IFMT(link.mode), link.target_mode, link.target),
                         ("/tmp/d/up/l", stat.S_IFLNK, 0o104751, "/tmp/d/f"))
        broken = c.stat("/tmp/d/broken")
        self.assertEqual((broken.target, broken.target_mode), ("", 0))
        self.assertTrue(stat.S_ISFIFO(c.stat("/tmp/d/p").mode))

    def test_lists(self):
        c = self.sandbox("os.makedirs('a/b/c')\nopen('a/b/c/deep', 'w')\nos.symlink('a', 'l')\nfor n in range(3000): open(f'a/{n:04}', 'w')\n"
                         "os.mkdir('closed', 0)")
        top = c.list("/tmp/d")
        self.assertEqual([(e.name, e.level) for e in top[:1]], [("/tmp/d", 0)])
        self.assertEqual(sorted(e.name for e in top[1:]), ["a", "closed", "l"])
        self.assertEqual({e.level for e in top[1:]}, {1})
        deep = c.list("/tmp/d", depth=10)
        self.assertEqual([(e.name, e.level) for e in deep if e.name in "bc" or e.name == "deep"], [("b", 2), ("c", 3), ("deep", 4)])
        self.assertEqual(len(deep), 3 + 3 + 1 + 3000)
        self.assertEqual([e.error for e in deep if e.name == "closed"], [errno.EACCES])
        self.assertEqual(len(c.list("/tmp/d/l")), 3002)
        self.refused(errno.ENOTDIR, c.list, "/etc/passwd")
        self.refused(errno.ENOENT, c.list, "/tmp/nothing")
        self.refused(errno.EACCES, c.list, "/tmp/d/closed")
        self.assertEqual(len(c.list("/tmp/d/closed", flags=AS_ROOT)), 1)
        self.refused(errno.EBADF, c.ask, files.LIST_NEXT)

    def test_deep_and_long(self):
        c = self.sandbox("for i in range(400):\n    os.mkdir('n' * 200)\n    os.chdir('n' * 200)")
        self.assertEqual(len(c.list("/tmp/d", depth=1000)), 257)
        c.ask(files.REMOVE, "/tmp/d")
        self.refused(errno.ENOENT, c.stat, "/tmp/d")

    def test_what_is_deeper_than_anybody_goes(self):
        c = self.sandbox("for i in range(4200):\n    os.mkdir('n')\n    os.chdir('n')")
        self.refused(errno.ENAMETOOLONG, c.ask, files.REMOVE, "/tmp/d")
        self.assertEqual(len(c.list("/tmp/d", depth=1 << 31)), 257)

    def test_makes_moves_and_links(self):
        c = self.sandbox()
        made = c.entry(files.MAKE_DIRECTORY, "x/y/z", flags=PARENTS)
        self.assertEqual((made.name, made.mode, made.owner), ("/home/user/x/y/z", 0o40755, "user"))
        self.refused(errno.ENOENT, c.ask, files.MAKE_DIRECTORY, "q/r")
        self.refused(errno.EEXIST, c.ask, files.MAKE_DIRECTORY, "x/y")
        self.refused(errno.EEXIST, c.ask, files.MAKE_DIRECTORY, "/")
        c.put("x/f", b"1")
        self.refused(errno.ENOTDIR, c.ask, files.MAKE_DIRECTORY, "x/f")
        self.refused(errno.ENOTDIR, c.ask, files.MAKE_DIRECTORY, "x/f/g", flags=PARENTS)
        self.assertEqual(c.entry(files.MOVE, "x/f", more="n/e/w", flags=PARENTS).name, "/home/user/n/e/w")
        self.refused(errno.ENOENT, c.ask, files.MOVE, "x/f", more="y")
        self.refused(errno.EINVAL, c.ask, files.MOVE, "x", more="x/y/in")
        self.refused(errno.EINVAL, c.ask, files.MOVE, "x", more=b"a\0b")
        c.put("x/f", b"2")
        c.ask(files.MOVE, "x/f", more="n/e/w")
        self.assertEqual(c.read("n/e/w"), b"2")
        c.ask(files.LINK, "l", more="n/e/w")
        self.assertEqual(c.read("l"), b"2")
        c.ask(files.LINK, "l", more="/etc/hostname")
        self.assertEqual(c.stat("l").target, "/etc/hostname")
        self.refused(errno.EISDIR, c.ask, files.LINK, "x", more="y")

    def test_rights_are_the_users(self):
        c = self.sandbox("os.mkdir('mine', 0o700)\nopen('mine/f', 'w').write('x')\nos.chmod('.', 0o755)", "--user", "0")
        self.refused(errno.EACCES, c.read, "/tmp/d/mine/f")
        self.refused(errno.EACCES, c.put, "/tmp/d/new", b"")
        self.refused(errno.EACCES, c.put, "/made/new", b"")
        self.refused(errno.EACCES, c.ask, files.REMOVE, "/tmp/d/mine")
        self.refused(errno.EACCES, c.ask, files.MOVE, "/tmp/d/mine", more="/tmp/other")
        self.refused(errno.EACCES, c.watch, "/tmp/d/mine")
        made = c.put("/made/by/root", b"x", flags=AS_ROOT | PARENTS)
        self.assertEqual((made.owner, made.mode), ("user", 0o100644))
        self.assertEqual((c.stat("/made").owner, c.stat("/made").mode), ("user", 0o40755))
        self.assertEqual(c.put("/made/x", b"x", user="root").owner, "root")
        self.assertEqual(c.read("/tmp/d/mine/f", flags=AS_ROOT), b"x")

    def test_removes(self):
        c = self.sandbox("os.makedirs('a/b')\nos.symlink('/home', 'a/l')\nfor n in range(2000): open(f'a/b/{n}', 'w')\n"
                         "os.mkdir('a/closed', 0o500)\nopen('f', 'w')")
        c.ask(files.REMOVE, "/tmp/d/a")
        c.ask(files.REMOVE, "/tmp/d/a")
        c.ask(files.REMOVE, "/tmp/d/f")
        self.assertEqual(self.inside("os.listdir('/tmp/d'), os.path.exists('/home/user')"), ([], True))
        self.refused(errno.EBUSY, c.ask, files.REMOVE, "/proc", flags=AS_ROOT)

    def test_removes_what_keeps_coming_and_goes_elsewhere(self):
        """A program that moves directories out of the tree while it is removed loses nothing there."""
        c = self.sandbox("os.makedirs('/tmp/keep')\nfor n in range(500): open(f'/tmp/keep/{n}', 'w')\n"
                         "def race():\n    n = 0\n    while True:\n        n += 1\n        try:\n"
                         "            os.makedirs(f'/tmp/d/t/{n % 7}/s')\n            open(f'/tmp/d/t/{n % 7}/s/f', 'w')\n"
                         "            os.rename(f'/tmp/d/t/{n % 7}/s', f'/tmp/keep/s{n}')\n            os.rmdir(f'/tmp/keep/s{n}')\n"
                         "        except OSError: pass\n"
                         "threading.Thread(target=race, daemon=True).start()")
        for _ in range(30):
            try:
                c.ask(files.REMOVE, "/tmp/d/t")
            except OSError as e:
                self.assertIn(e.errno, (errno.ENOTEMPTY, errno.ESTALE))
        self.assertEqual(self.inside("all(os.path.exists(f'/tmp/keep/{n}') for n in range(500))"), True)

    def test_metadata(self):
        c = self.sandbox("open('f', 'w')")
        made = c.put("m", b"x", more=b"a\0one\0b\0\0")
        self.assertEqual(made.metadata, {b"a": b"one", b"b": b""})
        self.assertEqual(self.inside("os.getxattr('/home/user/m', 'user.e2b.a')"), b"one")
        self.assertEqual(c.put("m", b"y", more=b"c\0" b"2\0").metadata, {b"c": b"2"})
        self.assertEqual(c.put("m", b"z").metadata, {})
        self.inside("os.setxattr('/tmp/d/f', 'user.other', b'kept')")
        self.assertEqual(c.entry(files.SET_METADATA, "/tmp/d/f", more=b"k\0v\0").metadata, {b"k": b"v"})
        self.assertEqual(c.entry(files.SET_METADATA, "/tmp/d/f", more=b"").metadata, {})
        self.assertEqual(self.inside("os.listxattr('/tmp/d/f')"), ["user.other"])
        for bad in (b"a", b"a\0", b"\0x\0", b"a\0b\0c\0", b"n" * 247 + b"\0v\0"):
            self.refused(errno.EINVAL, c.put, "m", b"", more=bad)
        self.refused(errno.EACCES, c.ask, files.SET_METADATA, "/etc/passwd", more=b"a\0b\0")


class Content(Files):
    def test_all_sizes_come_back(self):
        c = self.sandbox(size=4096)
        for size in (0, 1, 4095, 4096, 4097, 65536, 300001):
            content = os.urandom(size)
            self.assertEqual(c.write("f", content).size, size)
            self.assertEqual(c.read("f"), content)
            self.assertEqual(self.inside("len(open('/home/user/f', 'rb').read())"), size)

    def test_what_has_no_size_is_read_to_its_end(self):
        c = self.sandbox(size=4096)
        self.assertIn(b"processor", c.read("/proc/cpuinfo"))
        self.assertEqual(c.stat("/proc/cpuinfo").size, 0)
        self.assertEqual(c.read("/proc/sys/kernel/hostname").strip().decode(), self.inside("os.uname().nodename"))
        self.assertEqual(c.read("/proc/1/status").split()[0], b"Name:")

    def test_only_files_are_read_and_written(self):
        c = self.sandbox("os.mkfifo('p')\nos.symlink('/proc/self/fd/0', 'fd')")
        for name in ("/tmp/d/p", "/dev/zero", "/dev/tty", "/dev/null"):
            self.refused(errno.EOPNOTSUPP, c.read, name)
            self.refused(errno.EOPNOTSUPP, c.put, name, b"", flags=AS_ROOT)
        self.refused(errno.EISDIR, c.read, "/tmp")
        self.refused(errno.EISDIR, c.put, "/tmp", b"")
        self.refused(errno.EISDIR, c.put, "/", b"", flags=AS_ROOT)
        with self.assertRaises(OSError):
            c.read("/proc/1/fd/0")
        self.refused(errno.ENOENT, c.read, "/tmp/d/nothing")
        self.refused(errno.EBADF, c.ask, files.READ, size=1)
        self.refused(errno.EBADF, c.ask, files.WRITE, size=1)
        self.refused(errno.EBADF, c.ask, files.COMMIT)

    def test_sparse(self):
        c = self.sandbox("f = open('s', 'wb')\nf.truncate(1 << 40)\nf.seek(1 << 39)\nf.write(b'x')\nf.flush()")
        c.ask(files.READ_OPEN, "/tmp/d/s")
        size, _ = c.ask(files.READ, offset=(1 << 39) - 1, size=4)
        self.assertEqual(c.memory[:size], b"\0x\0\0")
        self.assertEqual(c.ask(files.READ, offset=1 << 40, size=4)[0], 0)
        self.assertEqual(c.ask(files.READ, offset=(1 << 63) - 1, size=4)[0], 0)
        c.ask(files.WRITE_OPEN, "w")
        c.memory[:1] = b"y"
        c.ask(files.WRITE, offset=1 << 39, size=1)
        self.refused(errno.EFBIG, c.ask, files.WRITE, offset=1 << 62, size=1)
        self.assertEqual(c.entry(files.COMMIT, "").size, (1 << 39) + 1)
        self.assertLess(self.inside("os.stat('/home/user/w').st_blocks"), 100)

    def test_replaces_whole(self):
        """Whoever reads meanwhile has the old bytes or the new ones, and sees no other name."""
        c = self.sandbox("seen = set()\nnames = set()\nopen('f', 'w').write('0' * 100000)\n"
                         "def look():\n    while True:\n        s = open('f').read()\n        seen.add((len(s), len(set(s))))\n"
                         "        names.update(os.listdir('.'))\n"
                         "threading.Thread(target=look, daemon=True).start()")
        for n in range(1, 60):
            c.write("/tmp/d/f", (b"%d" % (n % 10)) * 100000)
        self.assertEqual(self.inside("seen"), {(100000, 1)})
        self.assertEqual(self.inside("names"), {"f"})

    def test_mode_and_time(self):
        c = self.sandbox("open('run', 'w')\nos.chmod('run', 0o4755)\nos.link('run', 'other')\nos.symlink('run', 'l')")
        self.assertEqual(c.put("/tmp/d/l", b"new").target, "/tmp/d/run")
        self.assertEqual(self.inside("oct(os.stat('run').st_mode), open('run').read(), open('other').read()"),
                         ("0o100755", "new", ""))
        made = c.put("/tmp/d/run", b"x", flags=EXACT_MODE | WITH_TIME, mode=0o7700, mtime=(7, 500000000))
        self.assertEqual((made.mode, made.mtime), (0o100700, 7.5))

    def test_links_are_followed_to_where_they_lead(self):
        c = self.sandbox("os.symlink('made/here', 'dangling')\nos.mkdir('made')\nos.symlink('a', 'b')\nos.symlink('b', 'a')")
        c.put("/tmp/d/dangling", b"x")
        self.assertEqual(c.read("/tmp/d/made/here"), b"x")
        self.refused(errno.ELOOP, c.put, "/tmp/d/a", b"x")
        self.refused(errno.ELOOP, c.read, "/tmp/d/a")

    def test_nothing_is_left_of_what_is_not_committed(self):
        shared = self.path("shared")
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        c = self.sandbox("", "--mount", f"{shared}:/mnt:rw")
        for folder in ("/tmp/d", "/mnt"):
            with self.connect() as gone:
                gone.ask(files.WRITE_OPEN, folder + "/f")
                gone.memory[:100000] = b"x" * 100000
                gone.ask(files.WRITE, size=100000)
            c.ask(files.WRITE_OPEN, folder + "/f")
            self.assertEqual([e.name for e in c.list(folder)[1:]], [])
            self.refused(errno.EBADF, c.ask, files.COMMIT)
            self.assertTrue(wait_until(lambda: self.inside(f"os.listdir({folder!r})") == []))
        self.assertEqual(os.listdir(shared), [])

    def test_in_a_mounted_folder(self):
        shared = self.path("shared")
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        c = self.sandbox("", "--mount", f"{shared}:/mnt:rw")
        c.write("/mnt/sub/f", b"x" * 200000)
        with open(os.path.join(shared, "sub/f"), "rb") as f:
            self.assertEqual(f.read(), b"x" * 200000)
        c.write("/mnt/sub/f", b"y")
        self.assertEqual(c.read("/mnt/sub/f"), b"y")
        self.assertEqual(os.listdir(os.path.join(shared, "sub")), ["f"])
        self.refused(errno.EXDEV, c.ask, files.MOVE, "/mnt/sub/f", more="/tmp/f")
        c.ask(files.REMOVE, "/mnt/sub")
        self.assertEqual(os.listdir(shared), [])

    def test_what_the_host_lets_nobody_read(self):
        shared = self.path("shared")
        os.makedirs(os.path.join(shared, "locked", "in"))
        os.chmod(os.path.join(shared, "locked"), 0)
        self.addCleanup(os.chmod, os.path.join(shared, "locked"), 0o700)
        c = self.sandbox("", "--mount", f"{shared}:/mnt:rw")
        self.refused(errno.EACCES, c.list, "/mnt/locked", flags=AS_ROOT)
        self.assertEqual([(e.name, e.error) for e in c.list("/mnt", depth=3, flags=AS_ROOT)[1:]], [("locked", errno.EACCES)])
        self.refused(errno.EACCES, c.ask, files.REMOVE, "/mnt/locked", flags=AS_ROOT)

    def test_programs_that_move_things_about(self):
        c = self.sandbox("os.mkdir('/tmp/d/x')\ndef race():\n    while True:\n"
                         "        try:\n            os.rename('/tmp/d/x', '/tmp/d/y')\n            os.symlink('/etc', '/tmp/d/x')\n"
                         "            os.unlink('/tmp/d/x')\n            os.rename('/tmp/d/y', '/tmp/d/x')\n        except OSError: pass\n"
                         "threading.Thread(target=race, daemon=True).start()")
        for n in range(300):
            try:
                c.write("/tmp/d/x/f", b"%d" % n, flags=0)
            except OSError as e:
                self.assertIn(e.errno, (errno.ENOENT, errno.EACCES, errno.ENOTDIR))
        self.assertEqual(self.inside("sorted(set(os.listdir('/etc')) & {'f'})"), [])
        c.ask(files.WRITE_OPEN, "gone/f", flags=PARENTS)
        self.inside("os.rmdir('/home/user/gone')")
        self.refused(errno.ENOENT, c.ask, files.COMMIT)

    def test_full_disk(self):
        c = self.sandbox("", "--disk", "8M")
        c.put("old", b"kept")
        c.ask(files.WRITE_OPEN, "old")
        c.memory[:1 << 20] = b"x" * (1 << 20)
        with self.assertRaises(OSError) as caught:
            for at in range(0, 16 << 20, 1 << 20):
                c.ask(files.WRITE, offset=at, size=1 << 20)
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        c.ask(files.CLOSE)
        self.assertEqual(c.read("old"), b"kept")
        self.assertEqual(c.write("old", b"y" * (6 << 20)).size, 6 << 20)

    def test_in_one_question(self):
        c = self.sandbox()
        c.memory[:3] = b"abc"
        taken, records = c.ask(files.WRITE_OPEN, "a/f", flags=PARENTS | WITH_DATA | AND_COMMIT, size=3)
        self.assertEqual((taken, c.entries(records)[0].size), (3, 3))
        c.memory[:3] = b"---"
        size, records = c.ask(files.READ_OPEN, "a/f", size=1000)
        self.assertEqual((c.memory[:size], c.entries(records)[0].name), (b"abc", "/home/user/a/f"))


class Watching(Files):
    def test_what_happens_is_told(self):
        c = self.sandbox()
        w = self.connect()
        w.watch("/tmp/d")
        self.inside("open('/tmp/d/f', 'w').write('x')")
        self.assertEqual(w.events_until((WRITTEN, "f")), [(CREATED, "f"), (WRITTEN, "f")])
        self.inside("os.chmod('/tmp/d/f', 0o600)")
        self.inside("os.rename('/tmp/d/f', '/tmp/d/g')")
        self.inside("os.unlink('/tmp/d/g')")
        self.assertEqual(w.events_until((REMOVED, "g")), [(CHANGED, "f"), (RENAMED, "f"), (CREATED, "g"), (REMOVED, "g")])
        c.put("/tmp/d/up", b"1")
        self.assertEqual(w.events_until((WRITTEN, "up")), [(CREATED, "up"), (WRITTEN, "up")])
        c.put("/tmp/d/up", b"2")
        self.assertEqual(w.events_until((WRITTEN, "up")), [(WRITTEN, "up")])
        self.inside("os.mkdir('/tmp/d/s')")
        self.touch("/tmp/d/s/not-told")
        self.inside("os.rename('/tmp/d', '/tmp/e')")
        self.assertEqual(w.events_until((RENAMED, ".")), [(CREATED, "s"), (RENAMED, ".")])

    def test_directories_that_come_and_move(self):
        c = self.sandbox("os.makedirs('/tmp/w/a')")
        w = self.connect()
        w.watch("/tmp/w", recursive=True)
        self.inside("os.makedirs('/tmp/w/a/b/c')")
        self.touch("/tmp/w/a/b/c/f")
        w.events_until((CREATED, "a/b/c/f"))
        self.inside("os.rename('/tmp/w/a/b', '/tmp/w/n')")
        c.put("/tmp/w/n/c/g", b"x")
        self.assertEqual(w.events_until((WRITTEN, "n/c/g")),
                         [(RENAMED, "a/b"), (CREATED, "n"), (CREATED, "n/c/g"), (WRITTEN, "n/c/g")])
        self.inside("os.rename('/tmp/w/n', '/tmp/out')")
        self.touch("/tmp/out/c/h")
        self.inside("os.rename('/tmp/out', '/tmp/w/back')")
        self.assertEqual(sorted(w.events_until((CREATED, "back/c/h"))),
                         sorted([(RENAMED, "n"), (CREATED, "back"), (CREATED, "back/c"), (CREATED, "back/c/f"),
                                 (CREATED, "back/c/g"), (CREATED, "back/c/h")]))
        c.ask(files.REMOVE, "/tmp/w")
        self.assertIn((REMOVED, "."), w.events_until((REMOVED, ".")))

    def test_directories_that_leave_a_deep_tree(self):
        """Each costs a look at what is watched, not at all that is above each of it: the kernel answers nobody meanwhile."""
        if is_sanitized():
            self.skipTest("what it costs is that of a kernel without sanitizers")
        self.sandbox("for k in range(4):\n    os.chdir('/tmp/d')\n    for name in [str(k)] + ['a'] * 1900:\n"
                     "        os.mkdir(name)\n        os.chdir(name)\nos.chdir('/tmp/d')\nos.mkdir('/tmp/o')\n"
                     "for i in range(250): os.mkdir(f'z{i}')")
        w = self.connect()
        w.watch("/tmp/d", recursive=True)
        kernel = descendants(self.process.pid)[0][0]

        def ticks():
            return sum(int(n) for n in stat_fields(kernel)[11:13])
        self.inside("[os.rename(f'z{i}', f'/tmp/o/{i}') for i in range(250)] and 0")
        before = ticks()
        w.events_until((RENAMED, "z249"))
        self.assertLess(ticks() - before, 3 * os.sysconf("SC_CLK_TCK"))  # of the processor; it was more than twice that

    def test_what_can_not_be_watched(self):
        c = self.sandbox()
        self.refused(errno.ENOENT, c.watch, "/tmp/nothing")
        self.refused(errno.ENOTDIR, c.watch, "/etc/passwd")
        self.refused(errno.EBADF, c.ask, files.EVENTS)

    def test_who_does_not_read_is_told_what_he_lost(self):
        self.sandbox()
        w = self.connect()
        w.watch("/tmp/d")
        self.inside("[open(f'/tmp/d/{n % 1000}', 'w').close() or os.unlink(f'/tmp/d/{n % 1000}') for n in range(10000)] and 0")
        found = w.events_until((OVERFLOW, "."))
        self.assertLess(len(found), 17000)
        self.touch("/tmp/d/after")
        w.events_until((CREATED, "after"))

    def test_no_more_directories_than_so_many(self):
        self.sandbox("for n in range(8200): os.mkdir(f'{n}')")
        w = self.connect()
        w.watch("/tmp/d", recursive=True)
        self.assertEqual(w.events(), [(OVERFLOW, ".")])
        self.touch("/tmp/d/0/f")
        w.events_until((CREATED, "0/f"))

    def test_nothing_is_told_but_to_who_asks(self):
        self.sandbox()
        w = self.connect()
        w.watch("/tmp/d")
        self.touch("/tmp/d/f")
        self.assertTrue(files.quiet(w))
        self.assertEqual(w.events(), [(CREATED, "f")])
        w.send(files.EVENTS)
        self.assertTrue(files.quiet(w))
        w.close()
        self.assertEqual(self.inside("open('/tmp/d/g', 'w').close()"), None)


class Connections(Files):
    def test_nonsense_ends_the_connection_only(self):
        self.sandbox()
        good = files.QUESTION.pack(files.STAT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        for bad in (b"x", good + b"x", files.QUESTION.pack(99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                    files.QUESTION.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                    files.QUESTION.pack(1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0),
                    files.QUESTION.pack(1, 0, 0, 0, 0, 0, 0, 0, 0xffffffff, 1, 0),
                    files.QUESTION.pack(1, 0, 0, 0, 0, 0, 0, 0, 0, 4096, 0) + b"y" * 4096,
                    files.QUESTION.pack(1, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0) + b"a\0b", b"z" * 20000):
            with self.connect() as c:
                c.socket.send(bad)
                self.assertEqual(c.socket.recv(100), b"", bad[:60])
        c = self.connect(size=4096)
        self.refused(errno.EINVAL, c.ask, files.READ_OPEN, "/etc/passwd", size=4097)
        self.assertEqual(c.stat("/").name, "/")

    def test_hellos(self):
        self.sandbox()
        path = files.socket_path(self.name, "+files")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700)
        read, write = os.pipe()
        small = os.memfd_create("small")
        large = os.memfd_create("large")
        os.ftruncate(large, (1 << 20) + 1)
        self.addCleanup(lambda: [os.close(fd) for fd in (read, write, small, large)])
        for hello, fds, error in ((b"x", [large], 0), (struct.pack("<II", 9, 0), [large], 0), (struct.pack("<II", 1, 0), [], 0),
                                  (struct.pack("<II", 1, 0), [read], errno.EBADF), (struct.pack("<II", 1, 0), [small], errno.EBADF),
                                  (struct.pack("<II", 1, 0), [large], errno.EBADF)):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.connect(path)
                s.settimeout(LIMIT)
                socket.send_fds(s, [hello], fds)
                answer = s.recv(100)
                self.assertEqual(files.ANSWER.unpack(answer)[1] if answer else 0, error)
                self.assertEqual(s.recv(100), b"")
        silent = [self.connect_silently() for _ in range(200)]
        self.assertEqual(self.connect().stat("/").name, "/")
        self.assertEqual(len(silent), 200)

    def connect_silently(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(s.close)
        s.connect(files.socket_path(self.name, "+files"))  # waits for room, as one with a time limit does not
        s.settimeout(LIMIT)
        return s

    def test_who_says_hello_after_others_have_come_is_heard(self):
        self.sandbox()
        late = [self.connect_silently() for _ in range(100)]
        memory = os.memfd_create("memory")
        self.addCleanup(os.close, memory)
        os.ftruncate(memory, 4096)
        for s in late:
            socket.send_fds(s, [struct.pack("<II", 1, 0)], [memory])
            s.send(files.QUESTION.pack(files.STAT, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"/")
            self.assertEqual(files.ANSWER.unpack_from(s.recv(70000))[:2], (files.STAT, 0))

    def test_no_more_than_so_many(self):
        self.sandbox(size=4096)
        held = [self.connect(size=4096) for _ in range(126)]
        for c in held:
            self.assertEqual(c.stat("/").name, "/")
        last = self.connect(size=4096)
        last.stat("/")
        self.assertEqual(self.connect(size=4096).receive()[1], errno.EUSERS)
        held.pop().close()

        def is_let_in():
            try:
                return self.connect(size=4096).stat("/")
            except OSError:
                return False
        self.assertTrue(wait_until(is_let_in))

    def test_who_reads_no_answer_waits_alone(self):
        c = self.sandbox("for n in range(3000): open(f'{n}', 'w')")
        deaf = self.connect()
        deaf.socket.setblocking(False)
        try:
            while True:
                deaf.send(files.LIST, "/tmp/d", depth=1)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            pass
        self.assertEqual(len(c.list("/tmp/d")), 3001)
        self.process.stdin.close()
        self.assertEqual(self.process.wait(60), 0)


if __name__ == "__main__":
    main(sys.modules[__name__])
