#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libglovebox: installed in a prefix of its own, with the programs of examples/ built against it; and each of its
functions, called through ctypes."""
import ctypes as c
import errno
import json
import os
import re
import signal
import select
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, ROOT, Case, is_sanitized, main, wait_until  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(os.path.realpath(GLOVEBOX)))
LIBRARY = os.path.join(BUILD, "library/libglovebox.so")
# What is installed is a build without sanitizers: this one, or the one that PLAIN_BUILD names.
PLAIN = os.path.abspath(os.environ["PLAIN_BUILD"]) if os.environ.get("PLAIN_BUILD") else BUILD
COMPILER = shutil.which(os.environ.get("CC", "cc"))
STARTED, FAILED, OUTPUT, INPUT, ENDED = range(1, 6)
NAME, COMMAND, EGRESS = range(3)
STATE, CAUSE, WORDS = range(3, 6)
ENDED_MS, STATUS, WALL_NS = range(13, 16)
KERNEL_PID, STARTER_PID, CREATED_MS, MEMORY_BYTES, PEAK, PROCESSES, THREADS, CPU_NS, MEMORY_LIMIT = range(9)
DISK_BYTES = 16


class Logged(c.Structure):
    _fields_ = [("time_ms", c.c_int64), ("pid", c.c_int64), ("stream", c.c_int), ("offset", c.c_uint64),
                ("tag", c.c_char_p), ("data", c.c_void_p), ("size", c.c_size_t)]


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 2048)]


class End(c.Structure):
    _fields_ = [("status", c.c_int), ("cause", c.c_char * 32), ("words", c.c_char * 512), ("reserved", c.c_char * 8)]


class Event(c.Structure):
    _fields_ = [("type", c.c_int), ("stream", c.c_int), ("pid", c.c_int64), ("offset", c.c_uint64), ("data", c.c_void_p),
                ("size", c.c_size_t), ("status", c.c_int), ("signal", c.c_int), ("was_timed_out", c.c_int),
                ("was_out_of_memory", c.c_int)]

    def bytes(self):
        return c.string_at(self.data, self.size)


class Change(c.Structure):
    _fields_ = [("type", c.c_int), ("name", c.c_char_p)]


class Listener(c.Structure):
    _fields_ = [("address", c.c_char_p), ("program", c.c_char_p), ("pid", c.c_int64), ("uid", c.c_int64), ("port", c.c_uint16)]


class Policy(c.Structure):
    _fields_ = [("json", c.c_char_p), ("size", c.c_size_t), ("phase", c.c_char_p), ("generation", c.c_uint64),
                ("reserved", c.c_uint64 * 4)]


class File(c.Structure):
    _fields_ = [("path", c.c_char_p), ("target", c.c_char_p), ("owner", c.c_char_p), ("group", c.c_char_p),
                ("mode", c.c_uint32), ("target_mode", c.c_uint32), ("uid", c.c_uint32), ("gid", c.c_uint32),
                ("size_bytes", c.c_int64), ("mtime_s", c.c_int64), ("mtime_ns", c.c_uint32)]


def load():
    lib = c.CDLL(LIBRARY)
    for name in ("version", "info_text", "egress_sandbox"):
        getattr(lib, f"glovebox_{name}").restype = c.c_char_p
    for name in ("options_new", "command_new", "list_get"):
        getattr(lib, f"glovebox_{name}").restype = c.c_void_p
    for name in ("info_number", "list_count", "exec_write", "files_read", "files_write"):
        getattr(lib, f"glovebox_{name}").restype = c.c_int64
    return lib


class Api(Case):
    """Each call by its name without the prefix; a failure is an OSError of its code and sentence."""

    def setUp(self):
        super().setUp()
        self.lib = load()
        self.name = f"api-{os.getpid()}-{self.id().rpartition('.')[2].removeprefix('test_')}"[:63].replace("_", "-")

    def call(self, function, *arguments):
        error = Error(0, b"untouched")
        result = getattr(self.lib, f"glovebox_{function}")(*arguments, c.byref(error))
        if result < 0:
            self.assertEqual(error.code, result)
            self.assertRegex(error.text.decode(), r"\A[^\n]+\Z")
            raise OSError(-result, error.text.decode())
        self.assertEqual(error.text, b"untouched")
        return result

    def refused(self, code, pattern, function, *arguments):
        with self.assertRaises(OSError) as caught:
            self.call(function, *arguments)
        self.assertEqual(caught.exception.errno, code, caught.exception)
        self.assertRegex(caught.exception.strerror, pattern)

    def object(self, function, *arguments, free=None):
        """What comes out of a function that has `**ret` in front of the error."""
        out = c.c_void_p()
        self.call(function, *arguments, c.byref(out))
        if free:
            self.addCleanup(getattr(self.lib, f"glovebox_{free}"), out)
        return out

    def options(self, *pairs):
        o = c.c_void_p(self.lib.glovebox_options_new())
        self.addCleanup(self.lib.glovebox_options_free, o)
        for name, value in pairs:
            self.call("options_set", o, name.encode(), value.encode() if value is not None else None)
        return o

    def create(self, *pairs):
        name = c.create_string_buffer(64)
        self.call("create", self.options(("name", self.name), *pairs), name)
        self.addCleanup(self.lib.glovebox_kill, name.value, None)
        self.assertEqual(name.value.decode(), self.name)
        return name.value

    def command(self, *words):
        command = c.c_void_p(self.lib.glovebox_command_new(words[0].encode()))
        self.addCleanup(self.lib.glovebox_command_free, command)
        for word in words[1:]:
            self.lib.glovebox_command_add_argument(command, word.encode())
        return command

    def exec(self, name, *words, prepare=None):
        command = self.command(*words)
        if prepare:
            prepare(command)
        return self.object("exec", name, command, free="exec_free")

    def next(self, x, timeout_ms=LIMIT * 1000):
        event = Event()
        self.call("exec_next", x, timeout_ms, c.byref(event))
        return event

    def collect(self, x):
        """(standard output, standard error, last event)"""
        streams = {1: b"", 2: b""}
        while True:
            event = self.next(x)
            if event.type == OUTPUT:
                streams[event.stream] += event.bytes()
            elif event.type in (FAILED, ENDED):
                return streams[1], streams[2], event

    def run_in(self, name, *words):
        return self.collect(self.exec(name, *words))


class Installed(Case):
    def setUp(self):
        super().setUp()
        if not COMPILER or (is_sanitized() and PLAIN == BUILD):
            self.skipTest("a sanitized build is not installed" if COMPILER else "no C compiler")
        subprocess.run(["meson", "install", "-C", PLAIN, "--no-rebuild", "--quiet", "--destdir", self.folder], check=True,
                       capture_output=True)
        pc = subprocess.run(["find", self.folder, "-name", "glovebox.pc"], check=True, capture_output=True, text=True).stdout
        self.pc_folder = os.path.dirname(pc.strip())
        self.library_folder = os.path.dirname(self.pc_folder)
        self.prefix = self.library_folder[:self.library_folder.index("/lib")]

    def pkg_config(self, *words):
        done = subprocess.run(["pkg-config", f"--define-variable=prefix={self.prefix}", *words, "glovebox"], check=True,
                              capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_PATH": self.pc_folder})
        return done.stdout.split()

    def build(self, name, *libraries):
        out = self.path(name)
        subprocess.run([COMPILER, "-Wall", "-Wextra", "-Werror", "-o", out, os.path.join(ROOT, "examples", f"{name}.c"),
                        *self.pkg_config("--cflags"), *libraries], check=True)
        return out

    def run_example(self, program, env=None):
        return subprocess.run([program], capture_output=True, timeout=LIMIT, check=False,
                              env={**os.environ, "LD_LIBRARY_PATH": self.library_folder, **(env or {})})

    def test_what_is_there(self):
        for path in ("bin/glovebox", "libexec/glovebox/glovebox-kernel", "libexec/glovebox/glovebox-gateway",
                     "include/glovebox.h", *(f"share/man/man{page[-1]}/{page}" for page in os.listdir(os.path.join(ROOT, "man"))
                                             if page[-1].isdigit())):
            self.assertTrue(os.path.exists(os.path.join(self.prefix, path)), path)
        self.assertEqual(self.pkg_config("--modversion")[0], load().glovebox_version().decode())

    def test_only_own_names(self):
        for words in (["-D", os.path.join(self.library_folder, "libglovebox.so")],
                      ["-g", os.path.join(self.library_folder, "libglovebox.a")]):
            text = subprocess.run(["nm", "--defined-only", *words], check=True, capture_output=True, text=True).stdout
            names = {line.split()[2].partition("@")[0] for line in text.splitlines() if len(line.split()) == 3}
            self.assertIn("glovebox_create", names)
            self.assertEqual({n for n in names if not re.match("glovebox_|GLOVEBOX_", n)}, set())

    def test_header_alone(self):
        """It needs no other, is C++ too, and all that it declares is there."""
        program = self.path("all.c", "#include <glovebox.h>\nint main(void) { return 0; }\n")
        with open(os.path.join(self.prefix, "include/glovebox.h"), encoding="utf-8") as f:
            declared = set(re.findall(r"\b(glovebox_\w+)\(", re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)))
        subprocess.run([COMPILER, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", program,
                        *self.pkg_config("--cflags")], check=True)
        lib = load()
        self.assertGreater(len(declared), 50)
        self.assertEqual({n for n in declared if not hasattr(lib, n)}, set())
        with open(os.path.join(ROOT, "man/glovebox.3"), encoding="utf-8") as f:
            documented = set(re.findall(r"^\.BR (glovebox_\w+) \(\)", f.read(), re.M))
        self.assertEqual(declared, documented)

    def test_run(self):
        self.expect(self.run_example(self.build("run", *self.pkg_config("--libs"))), 0, b"45\n", b"")

    def test_stream(self):
        done = self.run_example(self.build("stream", *self.pkg_config("--libs")))
        self.expect(done, err=b"")
        lines = done.stdout.decode().splitlines()
        self.assertEqual(sorted(lines[:6]), sorted(f"{p}: {n}" for p in ("first", "second") for n in ("one", "two", "three")))
        self.assertEqual(sorted(lines[6:8]), ["first", "second"])
        self.assertEqual(lines[8:], ["killed"])

    def test_static(self):
        program = self.build("run", os.path.join(self.library_folder, "libglovebox.a"))
        self.assertNotIn(b"libglovebox", subprocess.run(["ldd", program], capture_output=True, check=False).stdout)
        glovebox = os.path.join(self.prefix, "bin/glovebox")
        self.expect(self.run_example(program, {"GLOVEBOX_PROGRAM": glovebox}), 0, b"45\n", b"")

    def test_glovebox_is_missing(self):
        program = self.build("run", *self.pkg_config("--libs"))
        done = self.run_example(program, {"GLOVEBOX_PROGRAM": "/nowhere/glovebox"})
        self.expect(done, 125, b"", b"run: GLOVEBOX_PROGRAM: /nowhere/glovebox can't be executed; correct it, or take it out\n")


class Create(Api):
    def test_options_count(self):
        name = self.create(("memory", "64M"), ("env", "A=b=c"), ("env", "NEW=1\n2"), ("pids", "17"))
        out, err, event = self.run_in(name, "sh", "-c", "echo $A; echo \"$NEW\"")
        self.assertEqual((out, err, event.status), (b"b=c\n1\n2\n", b"", 0))
        info = self.object("inspect", name, free="info_free")
        number = self.lib.glovebox_info_number
        self.assertEqual(number(info, MEMORY_LIMIT), 64 << 20)
        self.assertEqual(number(info, MEMORY_LIMIT + 2), 17)
        self.assertEqual(number(info, 1000), -1)
        self.assertEqual(self.lib.glovebox_info_text(info, 1000), b"")
        self.assertGreater(number(info, KERNEL_PID), 1)
        self.assertLess(abs(number(info, CREATED_MS) - time.time() * 1000), 60000)

    def test_events(self):
        events = self.object("events_open", free="events_free")
        out = c.c_char_p()
        name = self.create()
        self.run_in(name, "sh", "-c", "exit 3")
        self.call("kill", name)
        seen = []
        while not seen or seen[-1]["type"] != "end":
            self.call("events_next", events, LIMIT * 1000, c.byref(out))
            event = json.loads(out.value)
            if event["sandbox"] == name.decode():
                seen.append(event)
        self.assertEqual([e["type"] for e in seen], ["start", "exec-start", "exec-end", "end"])
        self.assertEqual((seen[2]["status"], seen[3]["cause"]), (3, "killed"))
        self.assertGreaterEqual(self.lib.glovebox_events_fd(events), 0)
        with self.assertRaisesRegex(BlockingIOError, "nothing has happened"):
            while True:  # others' sandboxes have events too
                self.call("events_next", events, 0, c.byref(out))

    def test_logs(self):
        name = self.create()
        command = self.command("sh", "-c", "echo out; echo err >&2; exec sleep 600")
        self.lib.glovebox_command_set_tag(command, b"web")
        self.lib.glovebox_command_set_logged(command, 1)
        x = self.object("exec", name, command, free="exec_free")
        self.next(x)
        logs = self.object("logs_open", name, 1, free="logs_free")
        one, got = Logged(), {1: b"", 2: b""}
        while got != {1: b"out\n", 2: b"err\n"}:
            self.call("logs_next", logs, LIMIT * 1000, c.byref(one))
            self.assertEqual((one.tag, one.pid), (b"web", 2))
            self.assertLess(abs(one.time_ms - time.time() * 1000), 60000)
            got[one.stream] += c.string_at(one.data, one.size)
        self.refused(errno.EAGAIN, "nothing was written", "logs_next", logs, 0, c.byref(one))
        self.call("kill", name)
        self.refused(errno.EPIPE, "that was all", "logs_next", logs, LIMIT * 1000, c.byref(one))
        self.lib.glovebox_wait(name, -1, c.byref(c.create_string_buffer(4096)), None)
        behind = self.object("logs_open", name, 1, free="logs_free")
        self.assertEqual(self.lib.glovebox_logs_fd(behind), -1)
        self.call("logs_next", behind, 0, c.byref(one))
        self.assertEqual(c.string_at(one.data, one.size)[:3] in (b"out", b"err"), True)
        self.refused(errno.ENOENT, "nothing is known", "logs_open", b"no-such-box", 0, c.byref(c.c_void_p()))

    def test_logs_of_a_terminal(self):
        """In whatever order it is said."""
        name = self.create()
        for tag, order in ((b"one", ("logged", "terminal")), (b"two", ("terminal", "logged"))):
            command = self.command("echo", tag.decode())
            self.lib.glovebox_command_set_tag(command, tag)
            for what in order:
                getattr(self.lib, f"glovebox_command_set_{what}")(command, *((1,) if what == "logged" else (24, 80)))
            self.collect(self.object("exec", name, command, free="exec_free"))
            logs, one = self.object("logs_open", name, 0, free="logs_free"), Logged()
            self.call("logs_next", logs, 0, c.byref(one))
            while one.tag != tag:
                self.call("logs_next", logs, 0, c.byref(one))
            self.assertEqual(c.string_at(one.data, one.size), tag + b"\r\n")

    def test_labels(self):
        name = self.create(("label", "team=blue"), ("label", "job"))
        get = self.lib.glovebox_info_label
        get.restype = c.c_char_p
        for ended in (False, True):
            info = self.object("inspect", name, free="info_free")
            self.assertEqual([get(info, key) for key in (b"team", b"job", b"te", b"teams", b"", b"blue")],
                             [b"blue", b"", None, None, None, None])
            if not ended:
                self.call("kill", name)
                self.lib.glovebox_wait(name, -1, c.byref(c.create_string_buffer(4096)), None)

    def test_what_its_kernel_counts(self):
        name = self.create()
        self.run_in(name, "sh", "-c", "head -c 1000000 /dev/zero >/tmp/x")
        info = self.object("inspect", name, free="info_free")
        number = self.lib.glovebox_info_number
        self.assertGreaterEqual(number(info, DISK_BYTES), 1000000)
        self.assertGreater(number(info, DISK_BYTES + 1), 0)
        self.assertEqual([number(info, DISK_BYTES + i) for i in (2, 3)], [0, 0])
        self.assertGreaterEqual(number(info, DISK_BYTES + 4), 1000000)
        os.kill(number(info, KERNEL_PID), signal.SIGSTOP)
        try:
            stopped = self.object("inspect", name, free="info_free")
            self.assertEqual([number(stopped, DISK_BYTES + i) for i in range(5)], [-1] * 5)
        finally:
            os.kill(number(info, KERNEL_PID), signal.SIGCONT)

    def test_refused(self):
        out = c.create_string_buffer(b"as it was", 64)
        for pairs, code, pattern in ((("memory", "5X"), errno.EINVAL, r"\A--memory 5X: .*; "),
                                     (("memory", None), errno.EINVAL, r"\A--memory: its value is missing; "),
                                     (("memroy", "1G"), errno.EINVAL, r"did you mean --memory\?"),
                                     (("help", None), errno.EINVAL, r"\A--help: is for people; "),
                                     (("tty", None), errno.EINVAL, r"\A--tty: is for a command; "),
                                     (("speculation-barriers", "1"), errno.EINVAL, "takes no value"),
                                     (("image", self.path("none")), errno.ENOENT, "no such directory")):
            with self.subTest(pairs[0]):
                self.refused(code, pattern, "create", self.options(("name", self.name), pairs, ("pids", "9")), out)
        self.assertEqual(out.value, b"as it was")
        o = self.options()
        for name in (b"", b"--memory", b"a=b", b"a b", b"a" * 65, b"-"):
            self.refused(errno.EINVAL, "no option is called so; ", "options_set", o, name, b"1")
        self.refused(errno.E2BIG, "pass large data in a file", "options_set", o, b"env", b"A=" + b"x" * (8 << 20))

    def test_name_is_used(self):
        name = self.create()
        self.refused(errno.EEXIST, f"{self.name}: .*; ", "create", self.options(("name", self.name)), c.create_string_buffer(64))
        self.assertEqual(self.run_in(name, "echo", "still")[0], b"still\n")

    def test_in_two_steps(self):
        creation = self.object("create_begin", self.options(("name", self.name)))
        fd = self.lib.glovebox_creation_fd(creation)
        self.assertTrue(select.select([fd], [], [], LIMIT)[0])
        name = c.create_string_buffer(64)
        while True:
            try:
                self.call("create_end", creation, name, 0)
                break
            except OSError as e:
                self.assertEqual(e.errno, errno.EAGAIN)
                select.select([fd], [], [], LIMIT)
        self.addCleanup(self.lib.glovebox_kill, name.value, None)
        self.assertEqual(self.run_in(name.value, "echo", "hi")[0], b"hi\n")

    def test_from_many_threads(self):
        """What other threads hold at that moment is nobody's problem; and who made it may end."""
        names, failures = [], []

        def make(i):
            try:
                name = c.create_string_buffer(64)
                self.call("create", self.options(("name", f"{self.name}-{i}"), ("sandboxes", "1000")), name)
                names.append(name.value)
                failures.extend(x for x in [self.run_in(name.value, "echo", str(i))[0]] if x != f"{i}\n".encode())
            except Exception as e:  # pylint: disable=broad-except
                failures.append(e)
        threads = [threading.Thread(target=make, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for name in names:
            self.call("kill", name)
        self.assertEqual(failures, [])
        self.assertEqual(len(names), 4)

    def test_keeps_nothing_of_the_caller(self):
        """Not its descriptors, nor what it ignores or blocks."""
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        name = self.create()
        os.close(writing)
        self.assertTrue(select.select([reading], [], [], LIMIT)[0], "somebody else holds the pipe")
        os.close(reading)
        info = self.object("inspect", name, free="info_free")
        starter = self.lib.glovebox_info_number(info, STARTER_PID)
        with open(f"/proc/{starter}/cmdline", "rb") as f:
            self.assertTrue(f.read().split(b"\0")[0].endswith(b"glovebox"))


class Life(Api):
    def wait(self, name, timeout_ms=LIMIT * 1000):
        end = End()
        self.call("wait", name, timeout_ms, c.byref(end))
        return end.status, end.cause.decode(), end.words.decode()

    def test_watch_and_stop(self):
        name = self.create()
        watch = self.object("watch", name, free="watch_free")
        end = End()
        self.refused(errno.EAGAIN, "has not ended; ", "watch_wait", watch, 0, c.byref(end))
        self.call("stop", name)
        self.assertTrue(select.select([self.lib.glovebox_watch_fd(watch)], [], [], LIMIT)[0])
        for _ in range(2):
            self.call("watch_wait", watch, LIMIT * 1000, c.byref(end))
            self.assertEqual((end.status, end.cause), (143, b"killed"))
            self.assertRegex(end.words.decode(), r"ended by SIGTERM .* from python")

    def test_lifetime(self):
        name = self.create(("lifetime", "1h"))
        self.refused(errno.EINVAL, "not negative; ", "set_lifetime", name, c.c_int64(-1))
        self.refused(errno.EINVAL, "not negative; ", "set_lifetime", name, c.c_int64(-2**63))
        watch = self.object("watch", name, free="watch_free")
        self.call("set_lifetime", name, c.c_int64(1))
        end = End()
        self.call("watch_wait", watch, LIMIT * 1000, c.byref(end))
        self.assertEqual((end.status, end.cause), (124, b"lifetime"))

    def test_nobody_of_that_name(self):
        for function, *more in (("stop",), ("kill",), ("set_lifetime", c.c_int64(0)), ("inspect", c.byref(c.c_void_p())),
                                ("watch", c.byref(c.c_void_p())), ("wait", 0, c.byref(End())), ("forget",)):
            for name in (self.name, "", "..", "a/b", "." + self.name, "x" * 5000):
                self.refused(errno.ENOENT, "no sandbox of this name|nothing is known of a sandbox of this name",
                             function, name.encode(), *more)

    def test_list(self):
        name = self.create()
        self.assertIn((name, b"running"), self.list(0))
        self.assertIn((name, b"running"), self.list(1))
        self.call("kill", name)
        self.wait(name)
        self.assertNotIn(name, [n for n, _ in self.list(0)])
        self.assertIn((name, b"ended"), self.list(1))

    def list(self, flags):
        listing = self.object("list", flags, free="list_free")
        count = self.lib.glovebox_list_count(listing)
        self.assertIsNone(self.lib.glovebox_list_get(listing, c.c_size_t(count)))
        infos = [c.c_void_p(self.lib.glovebox_list_get(listing, c.c_size_t(i))) for i in range(count)]
        return [(self.lib.glovebox_info_text(i, NAME), self.lib.glovebox_info_text(i, STATE)) for i in infos]

    def test_what_is_known_behind_the_end(self):
        name = self.create()
        self.refused(errno.EBUSY, "it is running; ", "forget", name)
        self.call("kill", name)
        self.assertEqual(self.wait(name)[:2], (143, "killed"))
        self.assertEqual(self.wait(name)[:2], (143, "killed"))
        info = self.object("inspect", name, free="info_free")
        self.assertEqual(self.lib.glovebox_info_text(info, CAUSE), b"killed")
        self.assertRegex(self.lib.glovebox_info_text(info, WORDS), b"ended by SIGTERM")
        self.assertEqual(self.lib.glovebox_info_number(info, STATUS), 143)
        self.assertLess(abs(self.lib.glovebox_info_number(info, ENDED_MS) - time.time() * 1000), 60000)
        self.assertGreater(self.lib.glovebox_info_number(info, WALL_NS), 0)
        self.assertEqual(self.lib.glovebox_info_number(info, KERNEL_PID), -1)
        self.call("forget", name)
        self.refused(errno.ENOENT, "nothing is known", "inspect", name, c.byref(c.c_void_p()))

    def test_starter_is_killed(self):
        name = self.create()
        watch = self.object("watch", name, free="watch_free")
        info = self.object("inspect", name, free="info_free")
        os.kill(self.lib.glovebox_info_number(info, STARTER_PID), 9)
        end = End()
        self.call("watch_wait", watch, LIMIT * 1000, c.byref(end))
        self.assertEqual((end.status, end.cause), (125, b"host-failure"))
        self.assertRegex(end.words, b"its starter, process [0-9]+, was killed")

    def test_starter_of_a_forgotten_one_is_killed(self):
        name = self.create(("rm", None))
        watch = self.object("watch", name, free="watch_free")
        info = self.object("inspect", name, free="info_free")
        os.kill(self.lib.glovebox_info_number(info, STARTER_PID), 9)
        self.refused(errno.EPIPE, "nothing was kept of it", "watch_wait", watch, LIMIT * 1000, c.byref(End()))
        self.refused(errno.ENOENT, "nothing is known", "wait", name, 0, c.byref(End()))


class Exec(Api):
    def test_streams_and_end(self):
        out, err, event = self.run_in(self.create(), "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((out, err, event.type, event.status, event.signal), (b"out\n", b"err\n", ENDED, 3, 0))
        self.assertEqual(event.offset, 8)

    def test_can_not_start(self):
        out, _, event = self.run_in(self.create(), "no-such-program")
        self.assertEqual((out, event.type, event.status), (b"", FAILED, 127))
        self.assertRegex(event.bytes().decode(), "no-such-program")

    def test_all_is_told_once(self):
        x = self.exec(self.create(), "true")
        self.collect(x)
        self.refused(errno.EPIPE, "all is told", "exec_next", x, 0, c.byref(Event()))
        self.refused(errno.EPIPE, "has ended", "exec_signal", x, 15)

    def test_input_back_pressure(self):
        """4 MiB in and out again; no piece is lost, and none is taken while one is under way."""
        x = self.exec(self.create(), "cat", prepare=lambda command: self.lib.glovebox_command_set_input(command, 1))
        self.refused(errno.EBUSY, "has not started yet", "exec_write", x, b"x", c.c_size_t(1))
        data = os.urandom(4 << 20)
        sent, got, is_ended, refusals = 0, bytearray(), False, 0
        while True:
            event = self.next(x)
            if event.type == OUTPUT:
                got += event.bytes()
            if event.type == ENDED:
                break
            if event.type in (STARTED, INPUT) and sent < len(data):
                n = self.call("exec_write", x, data[sent:], c.c_size_t(len(data) - sent))
                self.assertTrue(0 < n <= 32768)
                sent += n
                try:
                    self.call("exec_write", x, b"more", c.c_size_t(4))
                except OSError as e:
                    self.assertEqual(e.errno, errno.EAGAIN)
                    refusals += 1
            elif event.type == INPUT and not is_ended:
                self.call("exec_end_input", x)
                is_ended = True
        self.assertEqual((bytes(got) == data, event.status), (True, 0))
        self.assertEqual(refusals, -(-len(data) // 32768))
        self.refused(errno.EPIPE, "input", "exec_write", x, b"x", c.c_size_t(1))

    def test_attach_from_an_offset(self):
        name = self.create()
        x = self.exec(name, "sh", "-c", "printf 0123456789; read -r line; echo $line",
                      prepare=lambda command: (self.lib.glovebox_command_set_tag(command, b"web"),
                                               self.lib.glovebox_command_set_input(command, 1)))
        self.assertEqual(self.next(x).type, STARTED)
        self.assertEqual(self.next(x).bytes(), b"0123456789")
        again = self.object("attach", name, c.c_int64(0), b"web", c.c_uint64(4), free="exec_free")
        started = self.next(again)
        self.assertEqual((started.type, started.offset), (STARTED, 4))
        output = self.next(again)
        self.assertEqual((output.offset, output.bytes()), (4, b"456789"))
        self.call("exec_write", again, b"on\n", c.c_size_t(3))
        self.assertEqual(self.collect(again)[0], b"on\n")
        self.assertEqual(self.collect(x)[0], b"on\n")
        late = self.object("attach", name, c.c_int64(started.pid), None, c.c_uint64(0), free="exec_free")
        self.assertEqual(self.collect(late)[0], b"0123456789on\n")
        nobody = self.object("attach", name, c.c_int64(0), b"nobody", c.c_uint64(0), free="exec_free")
        self.assertEqual(self.next(nobody).type, FAILED)
        self.refused(errno.EINVAL, "give its process id", "attach", name, c.c_int64(0), b"", c.c_uint64(0), c.byref(c.c_void_p()))

    def test_terminal_resize_signal(self):
        x = self.exec(self.create(), "sh", "-c", "stty size; trap 'stty size; exit 7' WINCH; echo ready; while :; do sleep 0.05; done",
                      prepare=lambda command: self.lib.glovebox_command_set_terminal(command, 30, 90))
        got = b""
        while b"ready" not in got:
            event = self.next(x)
            got += event.bytes() if event.type == OUTPUT else b""
        self.assertEqual(got, b"30 90\r\nready\r\n")
        self.call("exec_resize", x, 40, 100)
        out, _, event = self.collect(x)
        self.assertEqual((out, event.status), (b"40 100\r\n", 7))

    def test_signal_and_timeout(self):
        name = self.create()
        x = self.exec(name, "sleep", "600")
        self.next(x)
        for wrong in (0, -1, 65):
            self.refused(errno.EINVAL, "no such signal; ", "exec_signal", x, wrong)
        self.call("exec_signal", x, 2)
        event = self.collect(x)[2]
        self.assertEqual((event.status, event.signal, event.was_timed_out), (130, 2, 0))
        x = self.exec(name, "sleep", "600", prepare=lambda command: self.lib.glovebox_command_set_timeout(
            command, c.c_int64(50), c.c_int64(0)))
        event = self.collect(x)[2]
        self.assertEqual((event.status, event.signal, event.was_timed_out), (124, 9, 1))

    def test_nobody_reads_it_any_more(self):
        x = self.exec(self.create(), "yes")
        self.next(x)
        self.refused(errno.EINVAL, "no such stream; ", "exec_end_output", x, 3)
        self.call("exec_end_output", x, 1)
        self.assertEqual(self.collect(x)[2].signal, 13)

    def test_sandbox_is_killed(self):
        name = self.create()
        x = self.exec(name, "sleep", "600")
        self.next(x)
        info = self.object("inspect", name, free="info_free")
        os.kill(self.lib.glovebox_info_number(info, STARTER_PID), 9)
        self.refused(errno.EPIPE, "the sandbox has ended", "exec_next", x, LIMIT * 1000, c.byref(Event()))

    def test_environment_user_workdir(self):
        def prepare(command):
            self.lib.glovebox_command_set_env(command, b"K", b"v")
            self.lib.glovebox_command_set_user(command, b"root")
            self.lib.glovebox_command_set_workdir(command, b"/usr")
        out, _, _ = self.collect(self.exec(self.create(), "sh", "-c", "echo $K $(id -u) $PWD", prepare=prepare))
        self.assertEqual(out, b"v 0 /usr\n")
        for wrong in (b"", b"A=B"):
            with self.assertRaisesRegex(OSError, "name of an environment variable"):
                self.exec("any", "true", prepare=lambda command: self.lib.glovebox_command_set_env(command, wrong, b"v"))


class Files(Api):
    def open(self, name, user=None):
        return self.object("files_open", name, user, free="files_close")

    def write(self, f, path, data, mode=0o644):
        self.call("files_write_open", f, path, mode)
        at = 0
        while at < len(data):
            at += self.call("files_write", f, data[at:], c.c_size_t(len(data) - at), c.c_int64(at))
        self.call("files_commit", f)

    def read(self, f, path):
        size = c.c_int64()
        self.call("files_read_open", f, path, c.byref(size))
        data, buffer = b"", c.create_string_buffer(1 << 20)
        while True:
            n = self.call("files_read", f, buffer, c.c_size_t(len(buffer)), c.c_int64(len(data)))
            data += buffer.raw[:n]
            if n == 0:
                self.assertEqual(size.value, len(data))
                return data

    def list(self, f, path, depth):
        files, count = c.POINTER(File)(), c.c_size_t()
        self.call("files_list", f, path, depth, c.byref(files), c.byref(count))
        return [(files[i].path, files[i].size_bytes) for i in range(count.value)]

    def test_there_and_back(self):
        name = self.create()
        f = self.open(name)
        data = os.urandom((3 << 20) + 17)
        self.write(f, b"/tmp/a/b/big", data, 0o600)
        self.assertEqual(self.read(f, b"/tmp/a/b/big"), data)
        st = File()
        self.call("files_stat", f, b"/tmp/a/b/big", c.byref(st))
        self.assertEqual((st.path, st.size_bytes, st.mode, st.owner), (b"/tmp/a/b/big", len(data), 0o100600, b"user"))
        self.call("files_make_directory", f, b"/tmp/a/new/deep", 0o700, 1)
        self.refused(errno.EEXIST, "/tmp/a/new: .*; ", "files_make_directory", f, b"/tmp/a/new", 0o700, 0)
        self.call("files_move", f, b"/tmp/a/b/big", b"/tmp/a/small")
        self.assertEqual(self.list(f, b"/tmp/a", 3), [(b"/tmp/a/b", 4096), (b"/tmp/a/new", 4096), (b"/tmp/a/new/deep", 4096),
                                                      (b"/tmp/a/small", len(data))])
        self.assertEqual(self.list(f, b"/tmp/a/b", 1), [])
        self.call("files_remove", f, b"/tmp/a")
        self.call("files_remove", f, b"/tmp/a")
        self.refused(errno.ENOENT, r"\A/tmp/a: No such file", "files_stat", f, b"/tmp/a", c.byref(st))
        self.assertEqual(self.run_in(name, "ls", "/tmp")[0], b"")

    def test_of_a_sandbox_with_a_secret(self):
        value = b"ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
        os.environ["LIBRARY_TEST"] = value.decode()
        self.addCleanup(os.environ.pop, "LIBRARY_TEST")
        name = self.create(("allow", "a.example"), ("secret", "KEY=env:LIBRARY_TEST@a.example"))
        placeholder = self.run_in(name, "printenv", "KEY")[0].strip()
        f = self.open(name)
        data = b"." * ((1 << 20) - 20) + value + b"," * (1 << 20) + value
        self.write(f, b"/tmp/d/" + value, data)
        self.assertEqual(self.run_in(name, "sh", "-c", "grep -o 3dE5gH7jK9mN1p /tmp/d/* | wc -l")[0], b"2\n")
        self.assertTrue(self.read(f, b"/tmp/d/" + value) == data.replace(value, placeholder))
        part = c.create_string_buffer(100)
        self.assertEqual(self.call("files_read", f, part, c.c_size_t(5), c.c_int64((1 << 20) - 18)), 5)
        self.assertEqual(part.raw[:5], placeholder[2:7])
        self.refused(errno.EINVAL, "no offset is negative", "files_read", f, part, c.c_size_t(5), c.c_int64(-1))
        self.assertEqual(self.call("files_read", f, part, c.c_size_t(5), c.c_int64(0)), 5)
        self.assertEqual(self.list(f, b"/tmp/d", 1), [(b"/tmp/d/" + placeholder, len(data))])

    def test_rights_of_the_user(self):
        name = self.create()
        f, root = self.open(name), self.open(name, b"root")
        self.write(root, b"/root/x", b"secret")
        self.refused(errno.EACCES, "Permission denied", "files_read_open", f, b"/root/x", None)
        self.assertEqual(self.read(root, b"/root/x"), b"secret")
        self.refused(errno.ESRCH, "no user nobody-at-all", "files_stat", self.open(name, b"nobody-at-all"), b"/", c.byref(File()))

    def test_without_waiting(self):
        f = self.open(self.create())
        self.lib.glovebox_files_set_timeout(f, 0)
        tries = 0

        def until_done(function, *arguments):
            nonlocal tries
            while True:
                try:
                    return self.call(function, f, *arguments)
                except OSError as e:
                    if e.errno != errno.EAGAIN:
                        raise
                    tries += 1
                    if function == "files_stat":
                        self.refused(errno.EBUSY, "another call", "files_remove", f, b"/tmp/x")
                        self.refused(errno.EBUSY, "another call", "files_stat", f, b"/tmp/x/8", c.byref(File()))
                    if function == "files_list":
                        self.refused(errno.EBUSY, "another call", "files_list", f, b"/", 9, *arguments[2:])
                    self.assertTrue(select.select([self.lib.glovebox_files_fd(f)], [], [], LIMIT)[0])
        for i in range(200):
            until_done("files_write_open", f"/tmp/x/{i}".encode(), 0o644)
            until_done("files_write", b"abc", c.c_size_t(3), c.c_int64(0))
            until_done("files_commit")
        for _ in range(20):
            st = File()
            until_done("files_stat", b"/tmp/x/7", c.byref(st))
            self.assertEqual(st.path, b"/tmp/x/7")
        files, count = c.POINTER(File)(), c.c_size_t()
        until_done("files_list", b"/tmp", 9, c.byref(files), c.byref(count))
        self.assertEqual(count.value, 201)
        self.assertGreater(tries, 0)

    def test_bad_paths(self):
        f = self.open(self.create())
        self.refused(errno.ENAMETOOLONG, "too long; ", "files_stat", f, b"/" + b"x" * 5000, c.byref(File()))
        self.refused(errno.ENAMETOOLONG, "too long", "files_stat", f, b"/" + b"x" * 300, c.byref(File()))
        self.refused(errno.EISDIR, "/tmp: ", "files_read_open", f, b"/tmp", None)
        self.refused(errno.EBADF, "Bad file descriptor", "files_read", f, c.create_string_buffer(8), c.c_size_t(8), c.c_int64(0))
        self.assertEqual(self.list(f, b"/tmp", 1), [])

    def test_not_committed_is_gone(self):
        f = self.open(self.create())
        self.call("files_write_open", f, b"/tmp/half", 0o644)
        self.call("files_write", f, b"abc", c.c_size_t(3), c.c_int64(0))
        self.assertEqual(self.list(f, b"/tmp", 1), [])
        self.refused(errno.EBADF, "Bad file", "files_commit", f)

    def changes(self, f):
        found, count = c.POINTER(Change)(), c.c_size_t()
        self.call("files_changes", f, c.byref(found), c.byref(count))
        self.assertGreater(count.value, 0)
        return [(found[i].type, found[i].name) for i in range(count.value)]

    def test_what_happens_is_told(self):
        name = self.create()
        self.run_in(name, "mkdir", "/tmp/w", "/tmp/w/deep")
        f, flat = self.open(name), self.open(name)
        self.refused(errno.ENOENT, "/tmp/nosuch: ", "files_watch", f, b"/tmp/nosuch", 0)
        self.call("files_watch", f, b"/tmp/w", 1)
        self.call("files_watch", flat, b"/tmp/w", 0)
        self.lib.glovebox_files_set_timeout(f, 0)
        self.refused(errno.EAGAIN, "no answer yet", "files_changes", f, c.byref(c.POINTER(Change)()), c.byref(c.c_size_t()))
        self.refused(errno.EBUSY, "another call", "files_stat", f, b"/", c.byref(File()))
        self.lib.glovebox_files_set_timeout(f, -1)
        self.run_in(name, "sh", "-c", "echo x > /tmp/w/deep/a; mkdir /tmp/w/new; sleep 0; echo y > /tmp/w/new/b; chmod 600 /tmp/w/deep/a; "
                                      "mv /tmp/w/deep/a /tmp/w/c; rm /tmp/w/c")
        seen = []
        while (3, b"c") not in seen:
            seen += self.changes(f)
        for change in ((1, b"deep/a"), (2, b"deep/a"), (1, b"new"), (5, b"deep/a"), (4, b"deep/a"), (1, b"c")):
            self.assertIn(change, seen)
        above = []
        while (3, b"c") not in above:
            above += self.changes(flat)
        self.assertNotIn(b"deep/a", [n for _, n in above])
        self.call("files_stat", f, b"/tmp/w", c.byref(File()))
        self.refused(errno.EBADF, "; ", "files_changes", f, c.byref(c.POINTER(Change)()), c.byref(c.c_size_t()))

    def test_sandbox_has_ended(self):
        name = self.create()
        f = self.open(name)
        self.call("kill", name)
        self.assertTrue(wait_until(lambda: self.ended(f)))
        self.refused(errno.ECONNRESET, "it has ended; ", "files_stat", f, b"/", c.byref(File()))

    def ended(self, f):
        try:
            self.call("files_stat", f, b"/", c.byref(File()))
            return False
        except OSError as e:
            return e.errno == errno.ECONNRESET


class Ports(Api):
    SERVER = ("import socket, sys; s = socket.create_server(('127.0.0.1', 8000)); print('ready', flush=True)\n"
              "while True:\n c, _ = s.accept(); c.sendall(c.recv(100).upper()); c.close()")

    def listeners(self, p):
        found, count = c.POINTER(Listener)(), c.c_size_t()
        self.call("ports_list", p, 10000, c.byref(found), c.byref(count))
        return [(found[i].address, found[i].port, found[i].uid, found[i].program) for i in range(count.value)]

    def test_connections(self):
        name = self.create()
        p = self.object("ports_open", name, free="ports_close")
        self.assertEqual(self.listeners(p), [])
        self.refused(errno.ECONNREFUSED, "nothing listens there; ", "ports_connect", p, 8000, 1000)
        program = self.exec(name, "python3", "-c", self.SERVER)
        self.assertEqual((self.next(program).type, self.next(program).bytes()), (STARTED, b"ready\n"))
        self.assertEqual(self.listeners(p), [(b"127.0.0.1", 8000, 1000, b"python3")])
        for _ in range(3):
            with socket.socket(fileno=self.call("ports_connect", p, 8000, -1)) as s:
                s.settimeout(LIMIT)
                s.sendall(b"hello")
                self.assertEqual(s.recv(100), b"HELLO")
                self.assertEqual(s.recv(100), b"")
        self.refused(errno.EINVAL, "Invalid argument; ", "ports_connect", p, 0, 1000)
        self.call("kill", name)
        self.assertTrue(wait_until(lambda: self.ended(p)))

    def ended(self, p):
        try:
            self.listeners(p)
            return False
        except OSError as e:
            return e.errno in (errno.ECONNRESET, errno.EPIPE)

    def test_a_sandbox_that_is_none(self):
        self.refused(errno.ENOENT, "; ", "ports_open", b"nosuch", c.byref(c.c_void_p()))


class Network(Api):
    """Nothing is reached here: what is asked for is decided, and that is told."""
    FOLLOW = 1

    @staticmethod
    def document(*names, **more):
        rules = [{"id": f"r{i}", "action": "allow", "to": {"domain": [name]}} for i, name in enumerate(names)]
        return json.dumps({"version": 1, "default": "deny", "rules": rules, **more}).encode()

    def create_with(self, document):
        return self.create(("policy", self.path("policy.json", document.decode())))

    def set(self, name, json=None, phase=None, generation=0):
        now = c.c_uint64(77)
        policy = Policy(json, len(json) if json is not None else 0, phase, generation)
        try:
            self.call("policy_set", name, c.byref(policy), c.byref(now))
        except OSError:
            self.assertEqual(now.value, 77)
            raise
        return now.value

    def refused_policy(self, code, pattern, name, **what):
        with self.assertRaises(OSError) as caught:
            self.set(name, **what)
        self.assertEqual(caught.exception.errno, code, caught.exception)
        self.assertRegex(caught.exception.strerror, pattern)

    def open(self, name, flags=0):
        return self.object("egress_open", name, flags, free="egress_free")

    def next_line(self, x, timeout_ms=LIMIT * 1000):
        line = c.c_char_p()
        self.call("egress_next", x, timeout_ms, c.byref(line))
        return json.loads(line.value)

    def rest(self, x, code=errno.EPIPE):
        """What is there, up to that end of it."""
        lines = []
        while True:
            try:
                lines.append(self.next_line(x, 0))
            except OSError as e:
                self.assertEqual(e.errno, code, e)
                return lines

    def look_up(self, name, *hosts):
        code = ("import socket, sys\nfor host in sys.argv[1:]:\n try: socket.getaddrinfo(host, 80, socket.AF_INET)\n"
                " except socket.gaierror: pass")
        self.assertEqual(self.run_in(name, "python3", "-c", code, *hosts)[1], b"")

    def test_policy_is_replaced(self):
        name = self.create_with(self.document())
        self.look_up(name, "one.test")
        self.assertEqual(self.set(name, self.document("*.two.test")), 2)
        self.look_up(name, "three.test")
        self.refused_policy(errno.ESTALE, rf"\Apolicy: {self.name}: generation 2 is in force, not 1; ", name,
                            json=self.document(), generation=1)
        self.assertEqual(self.set(name, self.document(), generation=2), 3)
        self.assertEqual([(d["event"], d.get("name"), d["decision"]) for d in self.rest(self.open(name))],
                         [("dns", "one.test", "deny"), ("update", None, "allow"), ("dns", "three.test", "deny"),
                          ("update", None, "deny"), ("update", None, "allow")])
        as_printed = subprocess.run([GLOVEBOX, "egress", "--json", name.decode()], capture_output=True, check=True).stdout
        self.assertEqual([json.loads(line) for line in as_printed.splitlines()], self.rest(self.open(name)))

    def test_phase(self):
        name = self.create_with(self.document(phases=["install", "run"]))
        self.assertEqual(self.set(name, phase=b"run"), 2)
        for phase in (b"none", b"x" * 40, b"y" * 100000):
            self.refused_policy(errno.EINVAL, rf"\Apolicy: {self.name}: .*phase.*; ", name, phase=phase)
        self.refused_policy(errno.EINVAL, "neither a document nor a phase; ", name)
        self.refused_policy(errno.EINVAL, "neither a document nor a phase; ", name, phase=b"")
        self.assertEqual(self.set(name, self.document(phases=["run"]), phase=b"run"), 3)

    def test_bad_documents(self):
        """Each is refused with its place, and what was in force stays so."""
        name = self.create_with(self.document())
        for text, code, pattern in (
                (b"", errno.EINVAL, r"line 1, column \d+: "), (b"\0", errno.EINVAL, r"line 1, column \d+: "),
                (b'{"version": 1,\n "default": }', errno.EINVAL, r"line 2, column \d+: "),
                (b'{"version": 1,\n\n  "rules": 7}', errno.EINVAL, r"line 3, column \d+: "),
                (b'{"version": 1, "default": "deny", "rules": []}\0', errno.EINVAL, r"line \d+, column \d+: "),
                (b"[" * 200000, errno.EINVAL, r"line 1, column \d+: "), (b"\x1b[2J\xff\n", errno.EINVAL, r"line 1, column \d+: "),
                (self.document(upstream={"type": "http", "address": "127.0.0.1:3128"}), errno.EOPNOTSUPP, "can't be changed while the sandbox runs; "),
                (b" " * (256 * 1024 + 1), errno.E2BIG, "has more than 262144 bytes; ")):
            self.refused_policy(code, rf"\Apolicy: {self.name}: .*{pattern}", name, json=text)
        one = Policy(self.document(), len(self.document()), reserved=(0, 0, 0, 1))
        self.refused(errno.EINVAL, "reserved is not 0; ", "policy_set", name, c.byref(one), c.byref(c.c_uint64()))
        self.assertEqual(self.set(name, self.document()), 2)

    def test_without_a_policy(self):
        """It has nobody to give one to; what it was denied is there all the same."""
        name = self.create()
        self.refused_policy(errno.ENOTCONN, "started without a network policy, .*; ", name, json=self.document())
        self.look_up(name, "one.test")
        self.assertEqual([(d["name"], d["reason"]) for d in self.rest(self.open(name))], [("one.test", "no_policy")])

    def test_gone(self):
        name = self.create_with(self.document())
        self.look_up(name, "one.test")
        follower = self.open(name, self.FOLLOW)
        self.assertEqual(self.next_line(follower)["name"], "one.test")
        self.call("kill", name)
        with self.assertRaises(OSError) as caught:
            while True:
                self.next_line(follower)
        self.assertEqual(caught.exception.errno, errno.EPIPE, caught.exception)
        self.call("wait", name, -1, c.byref(End()))
        self.refused_policy(errno.ENOENT, "no sandbox of this name is running; ", name, json=self.document())
        self.assertEqual(self.rest(self.open(name))[0]["name"], "one.test")
        for other in (b"nosuch", b"", b"../x", b"x" * 100):
            self.refused_policy(errno.ENOENT, "; ", other, json=self.document())
            self.refused(errno.ENOENT, "; ", "egress_open", other, 0, c.byref(c.c_void_p()))

    def test_follow(self):
        name = self.create_with(self.document())
        follower = self.open(name, self.FOLLOW)
        self.assertEqual(self.lib.glovebox_egress_sandbox(follower), name)
        self.assertEqual(self.rest(follower, errno.EAGAIN), [])
        self.assertEqual(self.lib.glovebox_egress_fd(self.open(name)), -1)
        ready = self.lib.glovebox_egress_fd(follower)
        self.look_up(name, "one.test")
        lines = []
        while not lines:  # another sandbox's may have made it readable
            self.assertEqual(select.select([ready], [], [], LIMIT)[0], [ready])
            lines = self.rest(follower, errno.EAGAIN)
        self.assertEqual(lines[0]["name"], "one.test")
        later = threading.Thread(target=lambda: self.look_up(name, "two.test"))
        later.start()
        while self.next_line(follower)["name"] != "two.test":
            pass
        later.join()

    def test_starter_is_killed(self):
        name = self.create_with(self.document())
        follower = self.open(name, self.FOLLOW)
        info = self.object("inspect", name, free="info_free")
        os.kill(self.lib.glovebox_info_number(info, STARTER_PID), signal.SIGKILL)
        self.refused(errno.EPIPE, "that was all; ", "egress_next", follower, LIMIT * 1000, c.byref(c.c_char_p()))

    def test_lines_that_are_none(self):
        """Of a record that somebody cut or wrote into, what is no line is passed by."""
        name = self.create_with(self.document())
        self.look_up(name, "one.test")
        folder = "/run/glovebox/egress" if os.geteuid() == 0 else os.path.join(
            os.environ.get("XDG_RUNTIME_DIR") and os.environ["XDG_RUNTIME_DIR"] + "/glovebox" or f"/tmp/glovebox-{os.getuid()}",
            "egress")
        path, = [os.path.join(folder, file) for file in os.listdir(folder) if file.endswith("." + self.name)]
        with open(path, "ab") as f:
            f.write(b'\n{"a": 1\n{\0}\nx\n{' + b"y" * 100000 + b'}\n{"good": 1}\n{"cut')
        self.assertEqual(self.rest(self.open(name))[-1], {"good": 1})


def begin_with_sanitizer():
    """A library that is made with ASan needs its run-time before all else in the process, which so begins anew, and is the only one that does.
    What the interpreter doesn't give back is no concern of these tests."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        if "libasan" in f.read():
            del os.environ["LD_PRELOAD"]
            return
    runtime = re.search(r"/\S*libasan\S*", subprocess.run(["ldd", LIBRARY], capture_output=True, text=True, check=True).stdout)[0]
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0",
                                                            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"})


if __name__ == "__main__":
    if is_sanitized():
        begin_with_sanitizer()
    main(sys.modules[__name__])
