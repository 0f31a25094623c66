#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program in a sandbox that has secrets says over connections to its ports: their values don't come out, and all else
comes as it would without secrets."""
import base64
import errno
import hashlib
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, main, wait_until  # noqa: E402
import port_test  # noqa: E402

VALUE = "ghp_aB3dE5gH7jK9mN1p/3sT5vW7yZ9bC1dE3fG5"
SECRET = ("--allow", "a.example", "--secret", "KEY=env:S@a.example")
OTHER = "sk-live-Zz9yYx8wWv7uUt6sSr5qQp4oO"
HOLD = 0.02  # PORT_SEARCH_HOLD_MS
PIECE = 65536

# Says what it is told to, in pieces of a size, and then what has come of it.
SAY = """
def receive(s, size):
    data = b''
    while len(data) < size:
        more = s.recv(size - len(data))
        if not more: return data
        data += more
    return data
def say(s):
    with s:
        while head := receive(s, 8):
            size, step = struct.unpack('<II', head)
            data = receive(s, size)
            step = step or len(data)
            for i in range(0, len(data), step): s.sendall(data[i:i + step])
listen(8000, say)
listen(8001, echo)
"""


def forms(value=VALUE):
    raw = value.encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):  # what is of it alone, wherever it begins
            yield encode(b"x" * shift + raw)[-(-shift * 4 // 3):(shift + len(raw)) * 4 // 3]
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield urllib.parse.quote(value, safe="").encode()
    yield raw.replace(b"/", b"\\/")


class Searched(port_test.Ports):
    """Of sandboxes that have a secret from the start."""
    CODE = ""

    def setUp(self):
        super().setUp()
        os.environ["S"] = VALUE
        self.addCleanup(os.environ.pop, "S")

    def sandbox(self, code="", *options, **more):
        return super().sandbox(self.CODE + code, *SECRET, *options, **more)

    def receive(self, s, size):
        got = bytearray()
        while len(got) < size:
            more = s.recv(size - len(got))
            self.assertTrue(more, bytes(got[-100:]))
            got += more
        return bytes(got)

    def said(self, s, data, step=0):
        s.sendall(struct.pack("<II", len(data), step) + data)
        return self.receive(s, len(data))

    def to_end(self, s):
        got = b""
        while more := s.recv(PIECE):
            got += more
        return got


class Values(Searched):
    CODE = SAY

    def test_whole_and_in_pieces(self):
        s = self.connect(self.sandbox(), 8000)
        data = b"<" + VALUE.encode() + b">\n" + VALUE.encode() * 2 + b"."
        placeholder = self.inside("os.environ['KEY']").encode()
        for step in (0, 1, 2, 7, len(VALUE)):
            got = self.said(s, data, step)
            self.assertNotIn(VALUE[4:].encode(), got)
            self.assertEqual((got[:1], got[-1:]), (b"<", b"."))
            if step == 0:
                self.assertEqual(got, data.replace(VALUE.encode(), placeholder))

    def test_forms(self):
        s = self.connect(self.sandbox(), 8000)
        for form in forms():
            for step in (0, 1, 5):
                got = self.said(s, b"(" + form + b")", step)
                self.assertNotIn(form[4:-4], got)
                self.assertEqual((got[:1], got[-1:]), (b"(", b")"))

    def test_across_borders_of_reads(self):
        s = self.connect(self.sandbox(), 8000)
        raw = VALUE.encode()
        placeholder = self.inside("os.environ['KEY']").encode()
        for before in range(PIECE - len(raw) - 1, PIECE + 2):
            data = b"." * before + raw + b"," * 100
            self.assertEqual(self.said(s, data), data.replace(raw, placeholder))

    def test_nothing_waits_but_the_beginning_of_a_value(self):
        s = self.connect(self.sandbox(), 8000)
        for text in (b"x", b"g", b"gh", b"ghp"):  # three bytes of it come out at once
            self.assertEqual(self.said(s, text), text)
        begin = VALUE[:10].encode()
        self.assertEqual(self.said(s, begin), begin)  # and all of it at last
        # What has come out isn't taken back, but the rest of the value is none of it.
        got = self.said(s, VALUE[10:].encode())
        self.assertNotIn(VALUE[14:].encode(), got)
        self.assertEqual(self.said(s, b"end"), b"end")

    def test_the_end_lets_out_what_waits(self):
        asker = self.sandbox()
        s = self.connect(asker, 8000)
        data = b"x" + VALUE[:-1].encode()
        s.sendall(struct.pack("<II", len(data), 0) + data)
        s.shutdown(socket.SHUT_WR)
        self.assertEqual(self.to_end(s), data)

    def test_what_goes_in_is_left_as_it_is(self):
        asker = self.sandbox("l = listen(8002)")
        s = self.connect(asker, 8002)
        self.do("s, _ = l.accept()")
        s.sendall(VALUE.encode() * 1000)
        self.assertEqual(self.inside(f"hashlib.sha256(receive(s, {1000 * len(VALUE)})).hexdigest()".replace("hashlib", "__import__('hashlib')")),
                         hashlib.sha256(VALUE.encode() * 1000).hexdigest())

    def test_a_value_is_not_let_out_while_nobody_reads(self):
        """Half of it lies at the end of a piece, and who reads takes his time."""
        asker = self.sandbox()
        s = self.connect(asker, 8000)
        size = 4 << 20
        data = (VALUE.encode() + b"\n") * (size // (len(VALUE) + 1))
        sender = threading.Thread(target=s.sendall, args=(struct.pack("<II", len(data), 0) + data,))
        sender.start()
        got = b""
        while len(got) < len(data):
            got += self.receive(s, min(100_000, len(data) - len(got)))
            if len(got) < 600_000:
                time.sleep(3 * HOLD)
        sender.join()
        self.assertEqual(len(got), len(data))
        self.assertNotIn(VALUE[4:].encode(), got)

    def test_published_and_forwarded_ports(self):
        self.sandbox("", "--publish", "0:8000")
        published = subprocess.run([GLOVEBOX, "port", self.name], capture_output=True, timeout=LIMIT, check=True, text=True).stdout
        port = int(published.partition("127.0.0.1:")[2].split()[0])
        forward = subprocess.Popen([GLOVEBOX, "port", self.name, "0:8000"], stdout=subprocess.PIPE)
        self.addCleanup(forward.wait)
        self.addCleanup(forward.stdout.close)
        self.addCleanup(forward.terminate)
        forwarded = int(forward.stdout.readline().split()[0].rpartition(b":")[2])
        for number in (port, forwarded):
            with socket.create_connection(("127.0.0.1", number), timeout=LIMIT) as s:
                for step in (0, 1):
                    got = self.said(s, b"<" + VALUE.encode() + b">", step)
                    self.assertNotIn(VALUE[4:].encode(), got)
                    self.assertEqual((got[:1], got[-1:]), (b"<", b">"))


class Secrets(port_test.Ports):
    """Of sandboxes that get one while they run."""

    def give(self, value=VALUE, word="KEY=env:S@a.example"):
        return subprocess.Popen([GLOVEBOX, "policy", "secret", self.name, word], env={**os.environ, "S": value},
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def given(self, process):
        self.assertEqual((process.wait(LIMIT), process.stderr.read()), (0, b""))
        process.stderr.close()

    receive, said = Searched.receive, Searched.said

    def is_searched(self, s, value=VALUE):
        got = self.said(s, b"<" + value.encode() + b">")
        self.assertNotIn(value[4:].encode(), got)
        self.assertEqual((got[:1], got[-1:]), (b"<", b">"))

    def test_the_first_one_cuts_who_was_connected_before(self):
        asker = self.sandbox(SAY + "l = listen(8002, backlog=2)", "--allow", "a.example", "--publish", "0:8002")
        pair, (client, server) = self.connect(asker, 8002), port_test.tcp_pair()
        asker.give(8002, server)
        server.close()
        self.do("a, b = l.accept()[0], l.accept()[0]; a.send(b'a'); b.send(b'b')")
        self.assertEqual((pair.recv(1), client.recv(1)), (b"a", b"b"))
        published = subprocess.run([GLOVEBOX, "port", self.name], capture_output=True, timeout=LIMIT, check=True, text=True).stdout
        own = socket.create_connection(("127.0.0.1", int(published.partition("127.0.0.1:")[2].split()[0])), timeout=LIMIT)
        self.do("c = l.accept()[0]; c.send(b'c')")
        self.assertEqual(own.recv(1), b"c")
        with client, own:
            self.given(self.give())
            for name in "abc":
                self.assertEqual(self.inside(f"{name}.recv(1)"), "ECONNRESET")
            for s in (pair, client, own):
                self.assertIn(port_test.Ends.end_of(s), (b"", errno.ECONNRESET))
        self.is_searched(self.connect(asker, 8000))

    def test_the_first_one_refuses_who_waits_for_a_place(self):
        asker = self.sandbox(SAY + "l = listen(8002, backlog=0)", "--allow", "a.example")
        queued = self.connect(asker, 8002)
        number, waiting = asker.begin(8002)
        asker.listeners()
        with waiting:
            self.given(self.give())
            self.refused(errno.EAGAIN, asker.wait, number)
            self.assertIn(port_test.Ends.end_of(queued), (b"", errno.ECONNRESET))
        self.is_searched(self.connect(asker, 8000))

    def test_it_is_not_told_before_the_kernel_has_cut_them(self):
        asker = self.sandbox(SAY, "--allow", "a.example")
        s = self.connect(asker, 8001)
        self.exchange(s)
        kernel = self.kernel()
        os.kill(kernel, signal.SIGSTOP)
        try:
            giving = self.give()
            time.sleep(0.5)
            self.assertIsNone(giving.poll())
        finally:
            os.kill(kernel, signal.SIGCONT)
        self.given(giving)
        self.assertIn(port_test.Ends.end_of(s), (b"", errno.ECONNRESET))
        self.is_searched(self.connect(asker, 8000))

    def test_a_kernel_that_never_says_so(self):
        """Nothing waits for it without end; the secret comes when it does."""
        asker = self.sandbox(SAY, "--allow", "a.example")
        self.exchange(self.connect(asker, 8001))
        kernel = self.kernel()
        os.kill(kernel, signal.SIGSTOP)
        try:
            giving = self.give()
            self.assertNotEqual(giving.wait(LIMIT), 0)
            said = giving.stderr.read()
            giving.stderr.close()
        finally:
            os.kill(kernel, signal.SIGCONT)
        self.assertRegex(said, rb"kernel does not say .*; try again\n")
        self.given(self.give())
        self.is_searched(self.connect(asker, 8000))

    def test_the_next_ones_cut_nobody(self):
        asker = self.sandbox(SAY, "--allow", "a.example")
        self.given(self.give())
        s = self.connect(asker, 8000)
        self.is_searched(s)
        self.given(self.give(OTHER, "KEY=env:S"))
        self.is_searched(s, OTHER)
        self.is_searched(s)
        self.given(self.give("password-of-another", "NEXT=env:S@b.example"))
        self.is_searched(s, "password-of-another")


class Abuses(Searched):
    most = None

    def start(self, *words, **more):
        if self.most:
            more["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (self.most, self.most))
        return super().start(*words, **more)

    def test_a_flood_that_nobody_reads(self):
        asker = self.sandbox("""
def flood(s):
    try:
        while True: s.sendall(b'ghp_aB3dE5gH7jK9' * 4096)
    except OSError: pass
listen(8000, flood, backlog=512)
listen(8001, echo)""")
        held = [self.connect(asker, 8000) for _ in range(100)]
        for s in held:
            s.recv(1)
        fine = self.connect(asker, 8001)
        for i in range(200):
            self.exchange(fine, b"%d" % i)
        done = subprocess.run([GLOVEBOX, "exec", self.name, "--", "echo", "alive"], capture_output=True, timeout=LIMIT, check=False)
        self.expect(done, out=b"alive\n")
        before = self.descriptors(self.process.pid)
        for s in held:
            s.close()
        self.assertTrue(wait_until(lambda: self.descriptors(self.process.pid) <= before - 2 * len(held)))

    def test_floods_that_are_read(self):
        """Others have their turn meanwhile."""
        asker = self.sandbox("""
def flood(s):
    try:
        while True: s.sendall(b'ghp_aB3dE5gH7jK9' * 4096)
    except OSError: pass
listen(8000, flood, backlog=512)
listen(8001, echo)""")
        held = [self.connect(asker, 8000) for _ in range(8)]

        def drain(s):
            try:
                while s.recv(1 << 20):
                    pass
            except OSError:
                pass
        readers = [threading.Thread(target=drain, args=(s,)) for s in held]
        for r in readers:
            r.start()
        fine = self.connect(asker, 8001)
        for i in range(20):
            self.exchange(fine, b"%d" % i)
        for s in held:
            s.shutdown(socket.SHUT_RDWR)
        for r in readers:
            r.join()

    def test_a_client_that_floods(self):
        asker = self.sandbox("l = listen(8000); listen(8001, echo)")
        held = [self.connect(asker, 8000) for _ in range(20)]
        for s in held:
            s.setblocking(False)
            with self.assertRaises(BlockingIOError):
                while True:
                    s.send(b"x" * PIECE)
        self.exchange(self.connect(asker, 8001))

    def test_a_starter_with_few_descriptors(self):
        """Connections take at most half of them."""
        most = 60
        self.most = 4 * most
        asker = self.sandbox("l = listen(8000, backlog=512); listen(8001, echo)")
        held = [self.connect(asker, 8000) for _ in range(most)]
        self.refused(errno.EUSERS, asker.connect, 8000)
        done = subprocess.run([GLOVEBOX, "exec", self.name, "--", "echo", "alive"], capture_output=True, timeout=LIMIT, check=False)
        self.expect(done, out=b"alive\n")
        held.pop().close()
        self.do("[l.accept()[0].close() for i in range(%d)]" % most)
        self.assertTrue(wait_until(lambda: self.connects(asker)))

    def test_downloads_that_are_reset_when_the_program_has_gone(self):
        """More of them than there are places: none is kept."""
        most = 20
        self.most = 4 * most
        asker = self.sandbox("""
import queue
closed = queue.Queue()
def fill(s):
    with s:
        s.setblocking(False)
        while select.select([], [s], [], 0.05)[1]: s.send(bytes(1 << 16))
    closed.put(True)
listen(8000, fill)
listen(8001, echo)""")
        for _ in range(2 * most):
            client, server = port_test.tcp_pair()
            self.assertTrue(wait_until(lambda: self.gives(asker, server)))  # of the last one the place is just being left
            server.close()
            self.assertTrue(self.inside("closed.get()"))
            asker.listeners()
            port_test.cut_off(client)
        self.assertTrue(wait_until(lambda: self.connects(asker)))

    def test_published_ports_when_there_are_too_many(self):
        """Who has no place is told by a reset, as where the kernel has none for him."""
        most = 20
        self.most = 4 * most
        asker = self.sandbox("l = listen(8000, backlog=512)", "--publish", "0:8000")
        held = [self.connect(asker, 8000) for _ in range(most)]
        published = subprocess.run([GLOVEBOX, "port", self.name], capture_output=True, timeout=LIMIT, check=True, text=True).stdout
        port = int(published.partition("127.0.0.1:")[2].split()[0])

        def connect():  # the reset may come before this is over
            with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as s:
                s.recv(1)
        self.refused(errno.ECONNRESET, connect)
        self.assertEqual(len(held), most)

    def gives(self, asker, s):
        try:
            asker.give(8000, s)
        except OSError as e:
            self.assertEqual(e.errno, errno.EUSERS)
            return False
        return True

    def connects(self, asker):
        try:
            self.exchange(self.connect(asker, 8001))
        except OSError as e:
            self.assertEqual(e.errno, errno.EUSERS)
            return False
        return True

    def test_a_killed_asker_leaves_nothing(self):
        self.sandbox("listen(8000, echo, backlog=512)").listeners()
        before = self.descriptors(self.process.pid)
        code = ("import os, sys, port_client\na = port_client.Asker(sys.argv[1])\nheld = [a.connect(8000) for i in range(50)]\n"
                "[s.sendall(b'x' * 100000) for s in held]\nprint('ready', flush=True)\nsys.stdin.read()")
        process = subprocess.Popen([sys.executable, "-c", code, self.name], cwd=os.path.dirname(os.path.abspath(__file__)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        self.assertTrue(wait_until(lambda: self.descriptors(self.process.pid) <= before))


class SearchedConnections(Searched, port_test.Connections):
    def test_resets(self):
        """The end of a pair is no reset for who asked; for the program it is one."""
        asker = self.sandbox("l = listen(8000)")
        s = self.connect(asker, 8000)
        s.sendall(b"unread")
        self.do("c, _ = l.accept(); select.select([c], [], []); c.close()")
        self.assertEqual(s.recv(10), b"")
        s = self.connect(asker, 8000)
        self.assertEqual(self.inside("[c := l.accept()[0], c.send(b'unread')][1]"), 6)
        self.assertEqual(s.recv(1), b"u")
        s.close()
        self.assertEqual(self.inside("c.recv(10)"), "ECONNRESET")


class SearchedEnds(Searched, port_test.Ends):
    test_who_is_served_keeps_it_from_being_idle = None


class SearchedLimits(Searched, port_test.Limits):
    test_a_list_of_very_many = test_connections_to_the_starter = None


class SearchedAbuse(Searched, port_test.Abuse):
    test_who_has_no_right = test_more_than_one_descriptor = test_a_kernel_without_descriptors = None


if __name__ == "__main__":
    main(sys.modules[__name__])
