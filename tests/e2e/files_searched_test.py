#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of a running sandbox that has secrets: no value of them comes back, and all else is as without."""
import base64
import errno
import fcntl
import os
import socket
import struct
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, main  # noqa: E402
import files_client as files  # noqa: E402
import files_test  # noqa: E402
from files_client import AND_COMMIT, CREATED, PARENTS, READ, READ_OPEN, WITH_DATA  # noqa: E402

VALUE = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
WORDS = "correct horse/battery&staple"
OPTIONS = ("--allow", "a.example", "--secret", "KEY=env:S@a.example", "--secret", "OTHER=env:W@a.example")


class Searched(files_test.Files):
    """What the cases of files_test.py ask, they ask of a sandbox with a secret."""
    def sandbox(self, code="", *options, **more):
        self.env = {**os.environ, "S": VALUE, "W": WORDS}
        return super().sandbox(code, *OPTIONS, *options, **more)

    def start(self, *words, **more):
        return super().start(*words, **{"env": self.env, **more})


class Names(Searched, files_test.Names):
    pass


class Content(Searched, files_test.Content):
    pass


class Connections(Searched, files_test.Connections):
    pass


class Values(Searched):
    def sandbox(self, code="", *options, **more):
        c = super().sandbox(code, *options, **more)
        self.placeholder = self.inside("os.environ['KEY']").encode()
        self.assertEqual(len(self.placeholder), len(VALUE))
        return c

    def put(self, path, *parts):
        """A file of the parts, each as Python has it."""
        self.inside(f"open({path!r}, 'wb').write({b''.join(parts)!r})")

    def read(self, c, offset, size):
        got, _ = c.ask(READ, offset=offset, size=size)
        return c.memory[:got]

    def test_in_all_forms(self):
        c = self.sandbox()
        value, words = VALUE.encode(), WORDS.encode()
        other = self.inside("os.environ['OTHER']").encode()
        quoted = (urllib.parse.quote(words, safe="").encode(), urllib.parse.quote_plus(words).encode())
        forms = [value, value.hex().encode(), words, words.hex().upper().encode(), *quoted]
        whole = [base64.b64encode(b"y" * n + v) for v in (value, words) for n in range(3)]
        forms += [text[4:-4] for text in whole]
        content = b"\n".join(b"<" + text + b">" for text in forms[:6] + whole)
        self.put("f", content)
        text = c.read("/tmp/d/f")
        self.assertEqual(len(text), len(content))
        for form in forms:
            self.assertNotIn(form, text)
        for told in (self.placeholder, self.placeholder.hex().encode(), other):
            self.assertIn(b"<" + told + b">", text)

    def test_wherever_it_lies(self):
        """Across the ends of pieces, of what the client reads at once, of the file, of holes; and with a memory of any size."""
        c = self.sandbox()
        value, edges = VALUE.encode(), (0, 4096, 1 << 16, 1 << 17, 1 << 20, (1 << 20) + (1 << 16))
        for shift in (0, 1, 20, 39, 40):
            content = bytearray(b"." * ((1 << 20) + (1 << 17)))
            for at in edges:
                at = max(0, at - shift)
                content[at:at + 40] = value
            content += value
            c.put("/tmp/d/f", content[:1 << 20])
            self.inside(f"open('/tmp/d/f', 'ab').write({bytes(content[1 << 20:])!r})")
            self.assertTrue(self.inside(f"open('/tmp/d/f', 'rb').read().count({value!r})") == len(edges) + 1)
            wanted = bytes(content).replace(value, self.placeholder)
            for size in (1 << 20, 65536 + 4096, 4096):
                with self.connect(size=size) as other:
                    self.assertTrue(other.read("/tmp/d/f") == wanted, (shift, size))

    def test_in_parts(self):
        c = self.sandbox()
        self.put("f", b"ab", VALUE.encode(), b"cd", VALUE.encode())
        whole = b"ab" + self.placeholder + b"cd" + self.placeholder
        c.ask(READ_OPEN, "/tmp/d/f")
        for offset in range(len(whole) + 2):
            for size in (1, 3, 39, 40, 41, 200):
                self.assertEqual(self.read(c, offset, size), whole[offset:offset + size], (offset, size))
        for offset in (1 << 40, (1 << 63) - 1):
            self.assertEqual(self.read(c, offset, 4096), b"")
        self.assertEqual(self.read(c, 0, 0), b"")

    def test_what_overlaps_without_end(self):
        self.env = {**os.environ, "S": "aaaaaaaaa", "W": WORDS}
        self.name = f"files-{os.getpid()}-overlaps"
        process = self.start("--name", self.name, *OPTIONS, "--", "python3", "-c",
                             "import os\nos.mkdir('/tmp/d')\nopen('/tmp/d/f', 'w').write('a' * (3 << 20))\n"
                             "print('ready', flush=True)\ninput()")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        c = self.connect()
        text = c.read("/tmp/d/f")
        self.assertEqual(len(text), 3 << 20)
        self.assertNotIn(b"aaaaaaaaa", text)
        for offset in (0, 5, 1 << 20, (3 << 20) - 3):
            self.assertNotIn(b"aa", self.read(c, offset, 2))

    def test_in_names(self):
        c = self.sandbox(f"""
name = 'x{VALUE}'
os.makedirs(name + '/y')
os.symlink('/tmp/d/' + name, 'link')
os.setxattr(name, 'user.e2b.word', {VALUE.encode()!r})
""")
        shown = "x" + self.placeholder.decode()
        listed = {entry.name: entry for entry in c.list("/tmp/d", depth=3)}
        self.assertEqual(set(listed), {"/tmp/d", shown, "y", "link"})
        self.assertEqual(listed["link"].target, "/tmp/d/" + shown)
        self.assertEqual(listed[shown].metadata, {b"word": self.placeholder})
        self.assertEqual(c.stat(f"/tmp/d/x{VALUE}/y").name, f"/tmp/d/{shown}/y")
        self.assertEqual(c.put(f"/tmp/d/x{VALUE}/z", b"q").name, f"/tmp/d/{shown}/z")
        self.refused(errno.ENOENT, c.stat, "/tmp/d/" + shown)
        c.watch("/tmp/d", recursive=True)
        self.touch(f"/tmp/d/{VALUE}")
        self.assertIn((CREATED, self.placeholder.decode()), c.events_until((CREATED, self.placeholder.decode())))

    def test_a_new_value(self):
        """Is searched for over connections that are there already, and the old one still is; however long the new one is."""
        c = self.sandbox()
        later = "glpat-" + "0123456789abcdef" * 500
        content = b"<" + later.encode() + b"|" + VALUE.encode() + b">"
        c.write("/tmp/d/f", content)
        self.assertIn(later.encode(), c.read("/tmp/d/f"))
        done = subprocess.run([GLOVEBOX, "policy", "secret", self.name, "KEY=env:NEXT"], env={**os.environ, "NEXT": later},
                              capture_output=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = c.read("/tmp/d/f")
        self.assertEqual(len(text), len(content))
        self.assertTrue(text.startswith(b"<" + self.placeholder))
        self.assertTrue(text.endswith(b"|" + self.placeholder + b">"))
        self.assertNotIn(b"0123456789abcdef", text)
        for offset in (1, 500, 4000, len(later) - 100):
            self.assertEqual(self.read(c, offset, 100), text[offset:offset + 100])

    def test_what_goes_in_is_as_it_is(self):
        c = self.sandbox()
        value = VALUE.encode()
        c.write("/tmp/d/f", value * 60000)
        self.assertTrue(self.inside(f"open('/tmp/d/f', 'rb').read() == {value!r} * 60000"))
        self.assertTrue(c.read("/tmp/d/f") == self.placeholder * 60000)
        c.ask(files.WRITE_OPEN, "/tmp/d/g", flags=PARENTS | WITH_DATA | AND_COMMIT, size=0)
        self.assertEqual(c.read("/tmp/d/g"), b"")

    def test_memory_that_is_none(self):
        self.sandbox()
        appended = os.memfd_create("appended")
        self.addCleanup(os.close, appended)
        os.ftruncate(appended, 1 << 20)
        fcntl.fcntl(appended, fcntl.F_SETFL, os.O_APPEND)
        with open(self.path("file"), "w+b") as f, open("/dev/zero", "r+b", buffering=0) as zero:
            f.truncate(1 << 20)
            # A file of a tmpfs is as good as one of memfd_create(2).
            in_memory = subprocess.run(["stat", "-f", "-c", "%T", f.name], capture_output=True, check=True).stdout == b"tmpfs\n"
            for memory in (zero.fileno(), appended) + (() if in_memory else (f.fileno(),)):
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                    s.connect(files.socket_path(self.name, "+files"))
                    s.settimeout(LIMIT)
                    socket.send_fds(s, [struct.pack("<II", 1, 0)], [memory])
                    self.assertEqual(files.ANSWER.unpack(s.recv(100))[:2], (0, errno.EBADF))
                    self.assertEqual(s.recv(100), b"")
        memory = os.memfd_create("shrinks")
        self.addCleanup(os.close, memory)
        os.ftruncate(memory, 4096)
        question = files.QUESTION.pack(files.WRITE_OPEN, PARENTS | WITH_DATA, 0, 0, 0, 4096, 0, 0, 0, 8, 0) + b"/tmp/d/g"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(files.socket_path(self.name, "+files"))
            s.settimeout(LIMIT)
            socket.send_fds(s, [struct.pack("<II", 1, 0)], [memory])
            s.send(question)
            self.assertEqual(files.ANSWER.unpack(s.recv(100))[:3], (files.WRITE_OPEN, 0, 4096))
            os.ftruncate(memory, 0)
            s.send(question)
            self.assertEqual(s.recv(100), b"")
        self.assertEqual(self.connect().stat("/").name, "/")

    def test_many_who_go_in_the_middle(self):
        """Of a question, of a piece: nothing is left of them, and the others are answered."""
        c = self.sandbox("open('f', 'wb').write(bytes(1 << 20))")
        for _ in range(3):
            many = [self.connect() for _ in range(60)]
            for one in many:
                one.send(READ_OPEN, "/tmp/d/f", size=1 << 20)
            self.assertEqual(c.stat("/").name, "/")
            for one in many:
                one.close()
        self.assertEqual(len(c.read("/tmp/d/f")), 1 << 20)

    def test_starter_is_gone(self):
        c = self.sandbox()
        self.put("f", VALUE.encode())
        self.process.kill()
        self.process.wait(LIMIT)
        self.assertRaises(OSError, c.ask, READ_OPEN, "/tmp/d/f", size=100)


if __name__ == "__main__":
    main(sys.modules[__name__])
