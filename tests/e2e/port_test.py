#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Connections from outside to ports on which programs in a sandbox listen, as they are asked for over the socket beside its
record; glovebox port is in port_cli_test.py."""
import errno
import hashlib
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, descendants, main, wait_until  # noqa: E402
import port_client as ports  # noqa: E402

ECHO = """
def echo(s):
    with s:
        while data := s.recv(65536): s.sendall(data)
def serve(l, what):
    while True:
        s, _ = l.accept()
        threading.Thread(target=what, args=(s,), daemon=True).start()
def listen(port, what=None, host='127.0.0.1', backlog=128):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    l = socket.socket(family)
    l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    l.bind((host, port))
    l.listen(backlog)
    if what: threading.Thread(target=serve, args=(l, what), daemon=True).start()
    return l
"""


class Ports(Case):
    def sandbox(self, code="", *options, name="", **more):
        """A sandbox that has run Python code and then what it is told; what there is to ask it with."""
        self.name = f"port{name}-{os.getpid()}-{self.id().rpartition('.')[2].removeprefix('test_')}"[:63]
        self.process = self.start("--name", self.name, *options, "--", "python3", "-c",
                                  "import errno, os, socket, struct, sys, threading, time, select\n" + ECHO + code +
                                  "\nprint('ready', flush=True)\nfor line in sys.stdin: exec(line)")
        self.assertEqual(self.process.stdout.readline(), b"ready\n")
        return self.asker(**more)

    def asker(self, name=None):
        asker = ports.Asker(name or self.name)
        self.addCleanup(asker.close)
        return asker

    def connect(self, asker, port, **more):
        s = asker.connect(port, **more)
        self.addCleanup(s.close)
        return s

    def do(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def inside(self, expression):
        """What Python in the sandbox says of an expression; the name of an error where there is one."""
        self.do(f"try: r = repr(({expression}))\\nexcept OSError as e: r = repr(errno.errorcode[e.errno])\\nprint(r, flush=True)"
                .join(("exec(\"\"\"", "\"\"\")")).replace("\\n", "\\n"))
        return eval(self.process.stdout.readline())  # of a test's own sandbox

    def refused(self, number, call, *words, **more):
        with self.assertRaises(OSError) as caught:
            call(*words, **more)
        self.assertEqual(errno.errorcode.get(caught.exception.errno), errno.errorcode[number])

    def exchange(self, s, data=b"hello"):
        s.sendall(data)
        got = b""
        while len(got) < len(data):
            more = s.recv(65536)
            self.assertTrue(more, got)
            got += more
        self.assertEqual(got, data)

    def kernel(self):
        """The process id of the sandbox's kernel."""
        found = [pid for pid, _ in descendants(self.process.pid) if self.command(pid) == "glovebox-kernel"]
        self.assertTrue(found)
        return found[0]

    @staticmethod
    def command(pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                return f.read().strip()
        except OSError:
            return ""

    @staticmethod
    def descriptors(pid):
        return len(os.listdir(f"/proc/{pid}/fd"))


def tcp_pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    client.settimeout(LIMIT)
    return client, server


def cut_off(s):
    """Closes so that the other end is told by a reset."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


class Connections(Ports):
    def test_names_of_both_ends(self):
        asker = self.sandbox("ls = [listen(8000 + i, host=h) for i, h in enumerate(('127.0.0.1', '0.0.0.0', '::1', '::', '127.9.9.9'))]")
        for i, (own, peer) in enumerate((("127.0.0.1",) * 2, ("127.0.0.1",) * 2, ("::1",) * 2, ("::ffff:127.0.0.1",) * 2,
                                         ("127.9.9.9", "127.0.0.1"))):
            s = self.connect(asker, 8000 + i)
            self.do(f"s, a = ls[{i}].accept()")
            self.assertEqual(self.inside("s.getsockname()[:2]"), (own, 8000 + i))
            name = self.inside("s.getpeername()[:2]")
            self.assertEqual(name[0], peer)
            self.assertTrue(32768 <= name[1] <= 60999, name)
            self.assertEqual(self.inside("a[:2]"), name)
            self.assertEqual(self.inside(f"s.family == ls[{i}].family, s.type == socket.SOCK_STREAM"), (True, True))
            s.sendall(b"x")
            self.assertEqual(self.inside("s.recv(10)"), b"x")

    def test_other_ends_differ(self):
        asker = self.sandbox("l = listen(8000)")
        held = [self.connect(asker, 8000) for _ in range(100)]
        self.assertEqual(self.inside("len({l.accept()[1] for i in range(100)})"), len(held))

    def test_what_a_server_sees_of_it(self):
        """As proc, poll and socket options tell of a connection of Linux."""
        asker = self.sandbox("l = listen(8000)")
        s = self.connect(asker, 8000)
        self.do("c, _ = l.accept(); p = select.poll(); p.register(c)")
        self.assertEqual(self.inside("p.poll(0)[0][1]"), select.POLLOUT)
        self.assertRegex(self.inside("[x.split()[1:4] for x in open('/proc/net/tcp').readlines()[1:]]").__repr__(),
                         r"'0100007F:1F40', '0100007F:\w{4}', '01'")
        self.do("c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)")
        self.assertEqual(self.inside("c.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)"), (1, 0))
        s.sendall(b"12345")
        self.assertEqual(self.inside("select.select([c], [], [], 60)[0] == [c] and p.poll(0)[0][1] & select.POLLIN"), select.POLLIN)
        self.assertEqual(self.inside("c.recv(2, socket.MSG_PEEK), c.recv(9)"), (b"12", b"12345"))
        self.assertEqual(self.inside("c.connect(('127.0.0.1', 8000))"), "EISCONN")

    def test_much_both_ways(self):
        asker = self.sandbox("""
import hashlib
def count(s):
    h, n = hashlib.sha256(), 0
    while data := s.recv(1 << 20): h.update(data); n += len(data)
    s.sendall(h.digest() + bytes(range(256)) * (n // 256)); s.close()
listen(8000, count)""")
        for given in ("pair", "tcp"):
            if given == "pair":
                s = self.connect(asker, 8000)
            else:
                s, theirs = tcp_pair()
                asker.give(8000, theirs)
                theirs.close()
            data, total, got = os.urandom(1 << 20), 64, bytearray()
            h = hashlib.sha256()
            for _ in range(total):
                s.sendall(data)
                h.update(data)
            s.shutdown(socket.SHUT_WR)
            while more := s.recv(1 << 20):
                got += more
            s.close()
            self.assertEqual((bytes(got[:32]), len(got)), (h.digest(), 32 + total * len(data)))
            self.assertEqual(got[32:], bytes(range(256)) * (total * len(data) // 256))

    def test_half_close(self):
        asker = self.sandbox("l = listen(8000)")
        s = self.connect(asker, 8000)
        self.do("c, _ = l.accept(); p = select.poll(); p.register(c)")
        s.sendall(b"last")
        s.shutdown(socket.SHUT_WR)
        self.assertEqual(self.inside("c.recv(10), c.recv(10)"), (b"last", b""))
        self.assertEqual(self.inside("c.send(b'answer'), c.shutdown(socket.SHUT_WR)"), (6, None))
        self.assertEqual((s.recv(10), s.recv(10)), (b"answer", b""))
        t = self.connect(asker, 8000)
        self.do("c, _ = l.accept(); c.shutdown(socket.SHUT_WR)")
        self.assertEqual(t.recv(10), b"")
        t.sendall(b"still")
        self.assertEqual(self.inside("c.recv(10)"), b"still")
        self.assertEqual(self.inside("c.send(b'x')"), "EPIPE")

    def test_a_program_that_reads_no_more(self):
        """shutdown(SHUT_RD) tells the other end nothing, as on Linux: what came is read, then the end, and one may go on to write."""
        asker = self.sandbox("l = listen(8000)")
        s = self.connect(asker, 8000)
        self.do("c, _ = l.accept()")
        s.sendall(b"before")
        self.do("select.select([c], [], [])")
        self.assertEqual(self.inside("c.shutdown(socket.SHUT_RD), c.recv(10), c.recv(10)"), (None, b"before", b""))
        self.assertEqual(self.inside("c.send(b'on')"), 2)
        self.assertEqual(s.recv(10), b"on")
        s.sendall(b"after")
        self.assertEqual(self.inside("c.shutdown(socket.SHUT_RDWR)"), None)
        self.assertEqual(s.recv(10), b"")

    def test_resets(self):
        asker = self.sandbox("l = listen(8000)")
        s = self.connect(asker, 8000)
        s.sendall(b"unread")
        self.do("c, _ = l.accept(); c.close()")
        self.refused(errno.ECONNRESET, s.recv, 10)
        s = self.connect(asker, 8000)
        self.assertEqual(self.inside("[c := l.accept()[0], c.send(b'unread')][1]"), 6)
        s.close()
        self.assertEqual(self.inside("c.recv(10)"), "ECONNRESET")

    def test_resets_of_tcp(self):
        asker = self.sandbox("l = listen(8000)")
        client, server = tcp_pair()
        with client, server:
            client.sendall(b"unread")
            asker.give(8000, server)
            server.close()
            self.do("c, _ = l.accept(); select.select([c], [], []); c.close()")
            self.refused(errno.ECONNRESET, client.recv, 10)
        client, server = tcp_pair()
        asker.give(8000, server)
        server.close()
        self.do("c, _ = l.accept()")
        cut_off(client)
        self.assertEqual(self.inside("c.recv(10)"), "ECONNRESET")

    def test_who_is_slow_is_waited_for(self):
        asker = self.sandbox("l = listen(8000)")
        s = self.connect(asker, 8000)
        self.do("c, _ = l.accept(); c.setblocking(False)")
        s.setblocking(False)
        sent = 0
        with self.assertRaises(BlockingIOError):
            while sent < 64 << 20:
                sent += s.send(b"x" * 65536)
        self.assertLess(sent, 16 << 20)
        self.do("got = 0")
        s.settimeout(LIMIT)
        s.shutdown(socket.SHUT_WR)
        self.do("c.setblocking(True)\\nwhile d := c.recv(1 << 20): got += len(d)".join(('exec("', '")')))
        self.assertEqual(self.inside("got"), sent)
        t = self.connect(asker, 8000)
        self.do("c, _ = l.accept(); c.setblocking(False); n = 0")
        self.do("try:\\n  while n < 64 << 20: n += c.send(b'y' * 65536)\\nexcept BlockingIOError: pass".join(('exec("', '")')))
        written = self.inside("n")
        self.assertLess(written, 16 << 20)
        self.do("c.close()")
        got = 0
        while data := t.recv(1 << 20):
            got += len(data)
        self.assertEqual(got, written)

    def test_fork_takes_it_along(self):
        asker = self.sandbox("l = listen(8000)")
        s = self.connect(asker, 8000)
        # All in one line: the child reads no other that is meant for its parent.
        self.do(r"exec('c, _ = l.accept()\nif os.fork() == 0:\n  while d := c.recv(100): c.sendall(d.upper())\n  os._exit(0)\nc.close()')")
        for word in (b"one", b"two"):
            s.sendall(word)
            self.assertEqual(s.recv(10), word.upper())
        s.shutdown(socket.SHUT_WR)
        self.assertEqual(s.recv(10), b"")

    def test_servers_with_loops(self):
        asker = self.sandbox("""
import asyncio
async def handle(r, w):
    while data := await r.read(65536): w.write(data); await w.drain()
    w.close()
async def run():
    s = await asyncio.start_server(handle, '::', 8000, backlog=512)
    ready.set()
    await s.serve_forever()
ready = threading.Event()
threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
ready.wait()""")
        held = [self.connect(asker, 8000) for _ in range(200)]
        for i, s in enumerate(held):
            s.sendall(b"%d" % i * 1000)
        for i, s in enumerate(held):
            s.shutdown(socket.SHUT_WR)
            got = b""
            while data := s.recv(65536):
                got += data
            self.assertEqual(got, b"%d" % i * 1000)


class Refusals(Ports):
    def test_nobody_listens(self):
        asker = self.sandbox("l = listen(8000); b = socket.socket(); b.bind(('127.0.0.1', 8001))\n"
                             "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 8002))")
        for port in (1, 53, 8001, 8002, 8003, 65535):
            self.refused(errno.ECONNREFUSED, asker.connect, port)
        self.do("l.close()")
        self.assertEqual(self.inside("1"), 1)
        self.refused(errno.ECONNREFUSED, asker.connect, 8000)

    def test_a_full_queue(self):
        asker = self.sandbox("l = listen(8000, backlog=1)")
        held = [self.connect(asker, 8000) for _ in range(2)]
        self.refused(errno.ETIMEDOUT, asker.connect, 8000, wait_ms=1)
        self.refused(errno.ETIMEDOUT, asker.connect, 8000, wait_ms=0)
        number, third = asker.begin(8000)
        with third:
            self.assertEqual(self.inside("len([l.accept() for i in range(1)])"), 1)
            asker.wait(number)
            third.sendall(b"third")
            self.assertEqual(self.inside("l.accept()[0].close(), l.accept()[0].recv(10)")[1], b"third")
        self.assertEqual(len(held), 2)

    def test_a_queue_that_grows(self):
        asker = self.sandbox("l = listen(8000, backlog=0)")
        self.connect(asker, 8000)
        begun = [asker.begin(8000) for _ in range(3)]
        self.do("l.listen(10)")
        for number, s in begun:
            asker.wait(number)
            s.close()

    def test_a_listener_that_ends(self):
        asker = self.sandbox("l = listen(8000, backlog=0)")
        queued = self.connect(asker, 8000)
        number, waiting = asker.begin(8000)
        with waiting:
            queued.sendall(b"x")
            self.do("l.close()")
            self.refused(errno.ECONNREFUSED, asker.wait, number)
        self.refused(errno.ECONNRESET, queued.recv, 1)

    def test_who_waits_goes(self):
        asker = self.sandbox("l = listen(8000, backlog=0)")
        self.connect(asker, 8000)
        before = self.descriptors(self.kernel())
        number, waiting = asker.begin(8000)
        waiting.close()
        self.do("c = l.accept()")
        self.refused(errno.ENOTCONN, asker.wait, number)
        self.assertTrue(wait_until(lambda: self.descriptors(self.kernel()) <= before))

    def test_closed_while_it_waits_to_be_accepted(self):
        asker = self.sandbox("l = listen(8000)")
        for data in (b"", b"said before"):
            s = self.connect(asker, 8000)
            s.sendall(data)
            s.close()
            self.assertEqual(self.inside("[c := l.accept()[0], c.recv(100), c.recv(100)][1:]"), [data, b""])
            self.assertEqual(self.inside("c.send(b'x')"), "EPIPE")

    def test_guests_and_others_share_a_queue(self):
        asker = self.sandbox("l = listen(8000, backlog=0); own = socket.create_connection(('127.0.0.1', 8000))")
        number, s = asker.begin(8000)
        with s:
            self.assertEqual(self.inside("l.accept()[0].getpeername() == own.getsockname()"), True)
            asker.wait(number)
            s.sendall(b"x")
            self.assertEqual(self.inside("l.accept()[0].recv(5)"), b"x")


class Limits(Ports):
    def test_connections_at_once(self):
        most = ports.limit("PORTS_CONNECTIONS_MAX")
        asker = self.sandbox("l = listen(8000, backlog=4096)")
        before = self.descriptors(self.kernel())
        held = [self.connect(asker, 8000) for _ in range(most)]
        self.refused(errno.EUSERS, asker.connect, 8000)
        self.refused(errno.EUSERS, self.asker().connect, 8000)
        self.do("l.accept()[0].close()")
        self.assertTrue(wait_until(lambda: self.connects(asker)))
        self.assertEqual(self.inside("len([l.accept() for i in range(%d)])" % (most - 1)), most - 1)
        for s in held:
            s.close()
        self.do("l.close()")
        self.assertTrue(wait_until(lambda: self.descriptors(self.kernel()) <= before))

    def connects(self, asker):
        try:
            self.connect(asker, 8000)
        except OSError as e:
            self.assertEqual(e.errno, errno.EUSERS)
            return False
        return True

    def test_who_waits_counts(self):
        most = ports.limit("PORTS_CONNECTIONS_MAX")
        asker = self.sandbox("l = listen(8000, backlog=0)")
        self.connect(asker, 8000)
        askers = [self.asker() for _ in range(1 + most // ports.limit("PORT_ASKED_MAX", "sandbox/port_messages.h"))]
        begun = []
        for a in askers:
            begun += [a.begin(8000) for _ in range(64)]
            asker.listeners()  # the kernel has read all that was asked before
        waiting = {a.socket: a for a in askers}
        while sum(len(a.answers) for a in askers) < len(begun) - most + 1:
            for ready in select.select(list(waiting), [], [], LIMIT)[0]:
                waiting[ready].receive()
        self.assertEqual({error for a in askers for _, error, _, _ in a.answers.values()}, {errno.EUSERS})
        for _, s in begun:
            s.close()

    def test_thousands_one_after_another(self):
        asker = self.sandbox("listen(8000, echo, backlog=512)")
        self.exchange(self.connect(asker, 8000))
        kernel = self.kernel()
        before = self.descriptors(kernel), self.descriptors(self.process.pid)
        for _ in range(60):
            held = [asker.connect(8000) for _ in range(50)]
            for i, s in enumerate(held):
                self.exchange(s, b"%d" % i)
                s.close()
        self.assertTrue(wait_until(lambda: (self.descriptors(kernel), self.descriptors(self.process.pid)) <= before))

    def test_more_questions_than_are_read(self):
        """Those beyond the limit wait in the socket; none is lost."""
        asker = self.sandbox("l = listen(8000, backlog=0)")
        self.connect(asker, 8000)
        asked = ports.limit("PORT_ASKED_MAX", "sandbox/port_messages.h")
        begun = [asker.begin(8000) for _ in range(asked + 20)]
        late = asker.send(ports.LIST)
        self.do("threading.Thread(target=serve, args=(l, echo), daemon=True).start()")
        asker.wait(late)
        for number, s in begun:
            asker.wait(number)
            self.exchange(s)
            s.close()

    def test_connections_to_the_starter(self):
        asker = self.sandbox("listen(8000, echo)")
        most = ports.limit("PORT_CLIENTS_MAX", "sandbox/port_messages.h")
        for _ in range(most - 1):
            self.asker().listeners()
        with self.assertRaises(OSError):
            self.asker().listeners()
        self.exchange(self.connect(asker, 8000))

    def test_a_list_of_very_many(self):
        most = ports.limit("PORTS_LISTED_MAX")
        asker = self.sandbox(f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000)); ls = [listen(10000 + i) for i in range({most} + 1)]")
        _, is_cut, text = asker.wait(asker.send(ports.LIST))
        self.assertEqual((is_cut, len(text)), (1, most * ports.LISTENER.size))


class Abuse(Ports):
    """What is given is looked at, whoever gives it."""

    def test_descriptors_that_are_no_connections(self):
        asker = self.sandbox("l = listen(8000); u = l")
        folder = tempfile.mkdtemp(dir=self.folder)
        unix_listener = socket.socket(socket.AF_UNIX)
        unix_listener.bind(f"{folder}/s")
        unix_listener.listen()
        tcp_listener = socket.create_server(("127.0.0.1", 0))
        gone, left = socket.socketpair()
        gone.close()
        client, lingers = tcp_pair()
        lingers.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
        reset, broken = tcp_pair()
        cut_off(reset)
        reading, writing = os.pipe()
        kinds = {errno.ENOTSOCK: [os.memfd_create("x"), reading, writing, os.open("/etc/passwd", os.O_RDONLY), os.open(folder, os.O_PATH),
                                  os.open("/dev/null", os.O_RDWR), select.epoll().fileno(), os.pidfd_open(os.getpid())],
                 errno.EPROTOTYPE: [*socket.socketpair(type=socket.SOCK_DGRAM), *socket.socketpair(type=socket.SOCK_SEQPACKET),
                                    socket.socket(socket.AF_INET, socket.SOCK_DGRAM), asker.socket, socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)],
                 errno.ENOTCONN: [unix_listener, tcp_listener, socket.socket(), socket.socket(socket.AF_INET6), socket.socket(socket.AF_UNIX), left, broken],
                 errno.EINVAL: [lingers]}
        kernel = self.kernel()
        before = self.descriptors(kernel), self.descriptors(self.process.pid)
        for number, given in kinds.items():
            for each in given:
                # O_PATH is none of any kind
                expected = errno.EBADF if isinstance(each, int) and os.readlink(f"/proc/self/fd/{each}") == folder else number
                self.refused(expected, asker.give, 8000, each)
        self.refused(errno.EBADF, asker.wait, asker.send(ports.CONNECT, 8000))
        with socket.socketpair()[0] as one:
            self.refused(errno.EINVAL, asker.give, 0, one)
        self.assertTrue(wait_until(lambda: (self.descriptors(kernel), self.descriptors(self.process.pid)) <= before))
        for s in (unix_listener, tcp_listener, left, client, lingers, broken):
            s.close()
        s = self.connect(asker, 8000)
        self.assertEqual(self.inside("l.accept()[0].send(b'fine')"), 4)
        self.assertEqual(s.recv(10), b"fine")

    def test_connecting_for_ever_is_not_connected(self):
        """A connection that is only begun: its listener's queue is full."""
        asker = self.sandbox("l = listen(8000)")
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            full.listen(0)
            begun = []
            for _ in range(8):
                s = socket.socket()
                s.setblocking(False)
                s.connect_ex(full.getsockname())
                begun.append(s)
            self.refused(errno.ENOTCONN, asker.give, 8000, begun[-1])
            for s in begun:
                s.close()

    def test_garbage_ends_the_connection_alone(self):
        asker = self.sandbox("listen(8000, echo)")
        fine = self.connect(asker, 8000)
        for data in (b"x", b"\0" * 24, os.urandom(24), os.urandom(60000), ports.QUESTION.pack(2, ports.LIST, 1, 0, 0, 0),
                     ports.QUESTION.pack(1, 99, 1, 0, 0, 0), ports.QUESTION.pack(1, 0, 1, 0, 0, 0)):
            bad = self.asker()
            bad.socket.send(data)
            with self.assertRaises(ConnectionResetError):
                bad.receive()
        self.exchange(fine)

    def test_more_than_one_descriptor(self):
        """The first counts; nothing is left of the others."""
        asker = self.sandbox("listen(8000, echo)")
        pairs = [socket.socketpair() for _ in range(20)]
        asker.listeners()
        before = self.descriptors(self.process.pid)
        asker.wait(asker.send(ports.CONNECT, 8000, 0, [p[1].fileno() for p in pairs]))
        for p in pairs:
            p[1].close()
        self.exchange(pairs[0][0])
        self.assertEqual(pairs[1][0].recv(1), b"")
        self.assertTrue(wait_until(lambda: self.descriptors(self.process.pid) <= before))
        for p in pairs:
            p[0].close()

    def test_descriptors_in_a_connection_go_nowhere(self):
        """What is sent along with bytes on a connection is thrown away, and the bytes come."""
        asker = self.sandbox("l = listen(8000)")
        s = self.connect(asker, 8000)
        self.do("c, _ = l.accept()")
        kernel = self.kernel()
        before = self.descriptors(kernel)
        reading, writing = os.pipe()
        socket.send_fds(s, [b"with one"], [writing])
        os.close(writing)
        self.assertEqual(self.inside("c.recvmsg(100, 1000)[:2]"), (b"with one", []))
        self.assertEqual(os.read(reading, 1), b"")  # nobody holds it
        self.assertEqual(self.descriptors(kernel), before)
        os.close(reading)

    def test_one_connection_given_twice(self):
        asker = self.sandbox("l = listen(8000)")
        mine, given = socket.socketpair()
        with mine, given:
            asker.give(8000, given)
            asker.give(8000, given)
        self.do("a, b = l.accept()[0], l.accept()[0]")
        self.assertEqual(self.inside("a.close(), b.close()"), (None, None))

    def test_both_ends_of_one(self):
        asker = self.sandbox("l = listen(8000)")
        for s in socket.socketpair():
            asker.give(8000, s)
            s.close()
        self.do("a, b = l.accept()[0], l.accept()[0]; a.send(b'round')")
        self.assertEqual(self.inside("b.recv(10)"), b"round")

    def test_a_connection_of_another_sandbox(self):
        """Whoever may ask for both may join them; each ends its own."""
        one = self.sandbox("l = listen(8000)", name="1")
        first, first_name = self.process, self.name
        two = self.sandbox("l = listen(8000)", name="2")
        mine, given = socket.socketpair()
        with mine, given:
            one.give(8000, given)
            two.give(8000, mine)
        self.do("c, _ = l.accept(); c.send(b'hello')")
        second, self.process = self.process, first
        self.assertEqual(self.inside("[c := l.accept()[0], c.recv(10)][1]"), b"hello")
        subprocess.run([GLOVEBOX, "kill", first_name], check=True, timeout=LIMIT, capture_output=True)
        self.process = second
        self.assertEqual(self.inside("c.recv(10)"), b"")

    def test_a_kernel_without_descriptors(self):
        """What gets lost on the way is told, and nothing is broken by it."""
        asker = self.sandbox("listen(8000, echo)")
        fine = self.connect(asker, 8000)
        self.exchange(fine)
        kernel = self.kernel()
        try:
            before = resource.prlimit(kernel, resource.RLIMIT_NOFILE)
            resource.prlimit(kernel, resource.RLIMIT_NOFILE, (self.descriptors(kernel), before[1]))
        except PermissionError:
            self.skipTest("the limits of the sandbox's kernel can't be set")
        self.refused(errno.EMFILE, asker.connect, 8000)
        self.exchange(fine)
        resource.prlimit(kernel, resource.RLIMIT_NOFILE, before)
        self.exchange(self.connect(asker, 8000))

    def test_who_has_no_right(self):
        if os.getuid() != 0:
            self.skipTest("only root has others to try it as")
        self.sandbox("listen(8000, echo)")
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c",
                               "import socket, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\ns.connect(sys.argv[1])",
                               ports.socket_path(self.name, "+port")], capture_output=True, timeout=LIMIT, check=False)
        self.assertIn(b"PermissionError", done.stderr)

    def test_programs_hold_no_descriptor(self):
        """Nothing comes into a task's own table on the host, whatever it accepts, reads and writes."""
        asker = self.sandbox("l = listen(8000)")
        before = self.held()
        self.connect(asker, 8000).sendall(b"x")
        self.assertEqual(self.inside("[c := l.accept()[0], c.recv(1), c.fileno() > 2][1:]"), [b"x", True])
        self.assertEqual(self.held(), before)
        self.assertFalse([link for links in before.values() for link in links if link.startswith("socket:")])

    def held(self):
        """What the sandbox's programs hold on the host."""
        programs = [pid for pid, _ in descendants(self.process.pid) if self.command(pid) == "python3"]
        self.assertTrue(programs)
        return {pid: [os.readlink(f"/proc/{pid}/fd/{n}") for n in sorted(os.listdir(f"/proc/{pid}/fd"))] for pid in programs}

    def test_a_program_that_closes_at_once(self):
        asker = self.sandbox("listen(8000, lambda s: s.close())")
        for _ in range(500):
            s = asker.connect(8000)
            self.assertEqual(s.recv(1), b"")
            s.close()

    def test_programs_that_come_and_go(self):
        """Listeners open and close while they are asked for: each question has one answer."""
        asker = self.sandbox("exec('''\ndef churn():\n  while True:\n    l = listen(8000, backlog=3)\n    time.sleep(0.001)\n    l.close()\n''')\n"
                             "threading.Thread(target=churn, daemon=True).start()")
        for _ in range(30):
            begun = [asker.begin(8000, wait_ms=5) for _ in range(40)]
            for number, s in begun:
                try:
                    asker.wait(number)
                except OSError as e:
                    self.assertIn(e.errno, (errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EUSERS))
                s.close()
        self.assertEqual(asker.answers, {})


class Ends(Ports):
    def test_a_connection_ends_with_its_asker(self):
        asker = self.sandbox("l = listen(8000, backlog=2)")
        other = self.asker()
        mine, theirs = self.connect(asker, 8000), self.connect(other, 8000)
        self.do("a, b = l.accept()[0], l.accept()[0]")
        self.assertEqual(self.inside("a.send(b'a'), b.send(b'b')"), (1, 1))
        self.assertEqual((mine.recv(1), theirs.recv(1)), (b"a", b"b"))
        asker.close()
        self.assertEqual(self.inside("a.recv(1)"), "ECONNRESET")
        self.assertEqual(mine.recv(1), b"")
        self.assertEqual(self.inside("a.send(b'x')"), "EPIPE")
        theirs.sendall(b"on")
        self.assertEqual(self.inside("b.recv(5)"), b"on")

    def test_who_is_served_keeps_it_from_being_idle(self):
        asker = self.sandbox("listen(8000, echo)", "--idle-timeout", "3")
        s = self.connect(asker, 8000)
        end = time.monotonic() + 6
        while time.monotonic() < end:
            self.exchange(s)
            time.sleep(0.05)
        self.assertIsNone(self.process.poll())
        self.assertEqual(self.process.wait(LIMIT), 124)

    def test_what_waits_ends_with_its_asker(self):
        asker = self.sandbox("l = listen(8000, backlog=0)")
        other = self.asker()
        queued = self.connect(other, 8000)
        _, waiting = asker.begin(8000)
        asker.listeners()
        asker.close()
        with waiting:
            self.assertEqual(waiting.recv(1), b"")
        queued.sendall(b"x")
        self.assertEqual(self.inside("l.accept()[0].recv(1)"), b"x")

    def test_a_sandbox_ends(self):
        for how in ("kill", "exit", "kernel", "starter"):
            with self.subTest(how):
                asker = self.sandbox("l = listen(8000)", name=how)
                s = self.connect(asker, 8000)
                client, server = tcp_pair()
                asker.give(8000, server)
                server.close()
                self.do("c, _ = l.accept(); c.send(b'x')")
                self.assertEqual(s.recv(1), b"x")
                path = ports.socket_path(self.name, "+port")
                if how == "kill":
                    subprocess.run([GLOVEBOX, "kill", self.name], check=True, timeout=LIMIT, capture_output=True)
                elif how == "exit":
                    self.process.stdin.close()
                elif how == "kernel":
                    os.kill(self.kernel(), signal.SIGKILL)
                else:
                    self.process.kill()
                self.assertEqual(s.recv(1), b"")
                self.assertIn(self.end_of(client), (b"", errno.ECONNRESET))
                with self.assertRaises(ConnectionResetError):
                    asker.receive()
                self.process.wait(LIMIT)
                subprocess.run([GLOVEBOX, "ps"], check=True, timeout=LIMIT, capture_output=True)  # sweeps
                self.assertTrue(wait_until(lambda: not os.path.exists(path)))
                client.close()
                self.process.stdin = open(os.devnull, "wb")  # closed again at the end

    @staticmethod
    def end_of(s):
        try:
            return s.recv(1)
        except OSError as e:
            return e.errno


class Listed(Ports):
    def test_who_listens(self):
        asker = self.sandbox("a = listen(8000); b = listen(8001, host='::', backlog=7); c = listen(80, host='0.0.0.0') if os.getuid() == 0 else None\n"
                             "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('', 9000)); n = socket.socket(); n.bind(('', 9001))\n"
                             "e = socket.create_connection(('127.0.0.1', 8000))")
        found = {l.port: l for l in asker.listeners()}
        self.assertEqual(sorted(found), [8000, 8001])
        self.assertEqual(found[8000].address, b"\0" * 10 + b"\xff\xff\x7f\0\0\1")
        self.assertEqual((found[8000].waiting, found[8000].backlog, found[8000].uid), (1, 128, 1000))
        self.assertEqual((found[8001].address, found[8001].v6_only, found[8001].backlog), (b"\0" * 16, 0, 7))
        self.assertEqual(found[8000].program.rstrip(b"\0"), b"python3")
        self.assertEqual(found[8000].pid, self.inside("os.getpid()"))

    def test_whose_maker_has_ended(self):
        asker = self.sandbox("exec('''\nif os.fork() == 0:\n  l = listen(8000)\n  if os.fork() == 0: time.sleep(1000)\n  os._exit(0)\n''')\nos.wait()")
        found = [(l.port, l.program.rstrip(b"\0")) for l in asker.listeners()]
        self.assertEqual(found, [(8000, b"")])


if __name__ == "__main__":
    main(sys.modules[__name__])
