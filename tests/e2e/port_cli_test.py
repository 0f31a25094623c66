#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox port and --publish, with real servers in the sandbox."""
import base64
import concurrent.futures
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main, wait_until  # noqa: E402
import port_client as ports  # noqa: E402

SERVER = """
import hashlib, base64, http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *words): pass
    def answer(self, data):
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self):
        if self.headers.get('Upgrade') == 'websocket': return self.upgrade()
        if self.path == '/events': return self.events()
        if self.path.startswith('/bytes/'): return self.answer(b'x' * int(self.path[7:]))
        self.answer(f'{self.client_address[0]} {self.path}'.encode())
    def do_POST(self):
        h, left = hashlib.sha256(), int(self.headers['Content-Length'])
        while left: left -= len(data := self.rfile.read(min(left, 1 << 20))); h.update(data)
        self.answer(h.hexdigest().encode())
    def events(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Connection', 'close')
        self.end_headers()
        for i in range(3):
            self.wfile.write(f'data: {i}\\n\\n'.encode())
            self.wfile.flush()
            if sys.stdin.readline() != 'next\\n': break
        self.close_connection = True
    def upgrade(self):
        key = self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
        self.send_response(101)
        self.send_header('Upgrade', 'websocket')
        self.send_header('Connection', 'Upgrade')
        self.send_header('Sec-WebSocket-Accept', base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8: break
            size = head[1] & 127
            if size == 126: size = int.from_bytes(self.rfile.read(2), 'big')
            mask, data = self.rfile.read(4), self.rfile.read(size)
            data = bytes(c ^ mask[i % 4] for i, c in enumerate(data))
            self.wfile.write(bytes([0x81, len(data)]) if len(data) < 126 else bytes([0x81, 126]) + len(data).to_bytes(2, 'big'))
            self.wfile.write(data)
        self.close_connection = True
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True
    # Of connections that are reset. A thread that waits for somebody to read its words keeps its connection.
    def handle_error(self, *words): pass
"""


def glovebox(*words, **more):
    return subprocess.run([GLOVEBOX, *words], capture_output=True, timeout=LIMIT, check=False, **more)


class Forwarded(Case):
    def serve(self, *options, code="Server(('127.0.0.1', 8000), Handler)", name=""):
        """A sandbox with a server in it, which listens when this returns."""
        self.name = f"fwd{name}-{os.getpid()}-{self.id().rpartition('.')[2].removeprefix('test_')}"[:63]
        self.process = self.start("--name", self.name, *options, "--", "python3", "-c",
                                  SERVER + f"s = {code}\nprint('ready', flush=True)\ns.serve_forever()")
        self.assertEqual(self.process.stdout.readline(), b"ready\n")

    def forward(self, *words, name=None):
        """glovebox port with these, and the ports of this machine."""
        flags = [w for w in words if w.startswith("--")]
        words = [w for w in words if w not in flags]
        p = subprocess.Popen([GLOVEBOX, "port", *flags, name or self.name, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def end():
            p.kill()
            p.wait()
            p.stdout.close()
            p.stderr.close()
        self.addCleanup(end)
        return p, [int(re.fullmatch(rb".*:(\d+) -> \d+\n", p.stdout.readline())[1]) for _ in words]

    def get(self, port, path="/", host="127.0.0.1"):
        c = http.client.HTTPConnection(host, port, timeout=LIMIT)
        try:
            c.request("GET", path)
            return c.getresponse().read()
        finally:
            c.close()

    @staticmethod
    def first(port, question=b""):
        """A connection, and what comes first of it: nothing, if it is reset."""
        s = None
        try:
            s = socket.create_connection(("127.0.0.1", port), LIMIT)
            s.sendall(question)
            return s, s.recv(1)
        except ConnectionResetError:
            return s, b""

    def comes(self, port):
        s, first = self.first(port, b"GET / HTTP/1.0\r\n\r\n")
        if s:
            s.close()
        return first == b"H"


class Forward(Forwarded):
    def test_http(self):
        self.serve()
        p, (port,) = self.forward("0:8000")
        self.assertEqual(self.get(port, "/x"), b"127.0.0.1 /x")
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        for i in range(3):  # on one connection
            c.request("GET", f"/{i}")
            self.assertEqual(c.getresponse().read(), f"127.0.0.1 /{i}".encode())
        body = os.urandom(8 << 20)
        c.request("POST", "/", body)
        self.assertEqual(c.getresponse().read(), hashlib.sha256(body).hexdigest().encode())
        c.request("GET", f"/bytes/{16 << 20}")
        self.assertEqual(len(c.getresponse().read()), 16 << 20)
        c.close()
        p.send_signal(signal.SIGINT)
        self.assertEqual((p.wait(LIMIT), p.stderr.read()), (0, b""))

    def test_the_servers_that_people_start(self):
        self.name = f"fwd-{os.getpid()}-servers"
        python = self.start("--name", self.name, "--", "sh", "-c", "echo hello >f; exec python3 -u -m http.server 8000 2>&1")
        self.assertIn(b"Serving HTTP on 0.0.0.0", python.stdout.readline())
        _, (port,) = self.forward("0:8000")
        self.assertEqual(self.get(port, "/f"), b"hello\n")

    def test_node(self):
        if not shutil.which("node"):
            self.skipTest("no node here")
        self.name = f"fwd-{os.getpid()}-node"
        script = ("const s = require('http').createServer((q, r) => { r.write('one '); setImmediate(() => r.end(q.socket.remoteAddress)) });"
                  "s.on('upgrade', (q, c) => { c.write('HTTP/1.1 101 Switching\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n'); c.pipe(c) });"
                  "s.listen(3000, () => console.log('ready'))")
        node = self.start("--name", self.name, "--", "node", "-e", script)
        self.assertEqual(node.stdout.readline(), b"ready\n")
        _, (port,) = self.forward("0:3000")
        self.assertEqual(self.get(port), b"one ::ffff:127.0.0.1")
        with socket.create_connection(("127.0.0.1", port), LIMIT) as s, s.makefile("rb") as lines:
            s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            while lines.readline() != b"\r\n":
                pass
            for word in (b"a", b"b" * 100000):
                s.sendall(word)
                self.assertEqual(lines.read(len(word)), word)
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(lines.read(), b"")

    def test_websocket(self):
        self.serve()
        _, (port,) = self.forward("0:8000")
        with socket.create_connection(("127.0.0.1", port), LIMIT) as s, s.makefile("rb") as f:
            key = base64.b64encode(os.urandom(16)).decode()
            s.sendall(f"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
            self.assertIn(b" 101 ", f.readline())
            while f.readline() != b"\r\n":
                pass
            for text in (b"hello", b"y" * 5000):
                size = bytes([0x80 | len(text)]) if len(text) < 126 else bytes([0x80 | 126]) + len(text).to_bytes(2, "big")
                s.sendall(b"\x81" + size + b"\0\0\0\0" + text)
                head = f.read(2)
                got = head[1] if head[1] < 126 else int.from_bytes(f.read(2), "big")
                self.assertEqual(f.read(got), text)
            s.sendall(b"\x88\x80\0\0\0\0")
            self.assertEqual(f.read(), b"")

    def test_events_come_as_they_are_written(self):
        self.serve()
        _, (port,) = self.forward("0:8000")
        with socket.create_connection(("127.0.0.1", port), LIMIT) as s, s.makefile("rb") as f:
            s.sendall(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            while f.readline() != b"\r\n":
                pass
            for i in range(3):  # the next one is written only when we have this one
                self.assertEqual((f.readline(), f.readline()), (b"data: %d\n" % i, b"\n"))
                self.process.stdin.write(b"next\n")
                self.process.stdin.flush()
            self.assertEqual(f.read(), b"")

    def test_many_at_once(self):
        self.serve()
        _, (port,) = self.forward("0:8000")
        held = [socket.create_connection(("127.0.0.1", port), LIMIT) for _ in range(300)]
        for i, s in enumerate(held):
            s.sendall(f"GET /{i} HTTP/1.0\r\n\r\n".encode())
        for i, s in enumerate(held):
            with s, s.makefile("rb") as f:
                self.assertTrue(f.read().endswith(f"127.0.0.1 /{i}".encode()))
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            got = list(pool.map(lambda i: self.get(port, f"/{i}"), range(1000)))
        self.assertEqual(got, [f"127.0.0.1 /{i}".encode() for i in range(1000)])

    def test_more_than_there_may_be(self):
        """The rest is reset, and those who are there stay."""
        most = ports.limit("PORTS_CONNECTIONS_MAX")
        self.serve("--pids", "2000")
        p, (port,) = self.forward("0:8000")
        held = [self.first(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(most + 50)]
        self.assertEqual([first for _, first in held], [b"H"] * most + [b""] * 50)
        self.assertRegex(p.stderr.readline(), rb"as many connections as it may have")
        for s, _ in held:
            if s:
                s.close()
        self.assertTrue(wait_until(lambda: self.comes(port)))

    def test_several_ports_and_families(self):
        self.serve("--env", "X=1", code="Server(('127.0.0.1', 8000), Handler)")
        free = socket.create_server(("127.0.0.1", 0))
        own = free.getsockname()[1]
        free.close()
        p, found = self.forward("0:8000", "[::1]:0:8000", f"localhost:{own}:8000", "127.0.0.2:0:8000")
        self.assertEqual(found[2], own)
        for host, port in zip(("127.0.0.1", "::1", "127.0.0.1", "127.0.0.2"), found):
            self.assertEqual(self.get(port, host=host), b"127.0.0.1 /")
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(LIMIT), 0)

    def test_a_port_alone(self):
        free = socket.create_server(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        self.serve(code=f"Server(('0.0.0.0', {port}), Handler)")
        _, found = self.forward(str(port))
        self.assertEqual(found, [port])
        self.assertEqual(self.get(port), b"127.0.0.1 /")

    def test_connections_end_with_the_command(self):
        for number in (signal.SIGINT, signal.SIGKILL):
            self.serve(name=int(number))
            p, (port,) = self.forward("0:8000")
            with socket.create_connection(("127.0.0.1", port), LIMIT) as s:
                s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(s.recv(1), b"H")
                p.send_signal(number)
                p.wait(LIMIT)
                try:
                    while s.recv(1000):
                        pass
                except ConnectionResetError:
                    pass
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), LIMIT)
            self.process.kill()
            self.process.wait()

    def test_a_sandbox_that_ends(self):
        self.serve()
        p, (port,) = self.forward("0:8000")
        self.assertEqual(self.get(port), b"127.0.0.1 /")
        self.expect(glovebox("kill", self.name))
        self.assertEqual(p.wait(LIMIT), 125)
        self.assertRegex(p.stderr.read(), rb"\Aglovebox: port: the sandbox fwd-\S+ has ended\n\Z")

    def test_nothing_listens(self):
        self.serve()
        p, (port, other) = self.forward("0:8001", "0:8000")
        for _ in range(3):
            self.assertFalse(self.comes(port))
        self.assertEqual(p.stderr.readline(), b"glovebox: port: a connection was refused: nothing listens there\n")
        self.assertEqual(self.get(other), b"127.0.0.1 /")
        self.assertFalse(self.comes(port))
        p.send_signal(signal.SIGINT)
        p.wait(LIMIT)
        self.assertEqual(p.stderr.read(), b"glovebox: port: a connection was refused: nothing listens there\n")


class Refused(Forwarded):
    def test_ports_that_cannot_be_had(self):
        self.serve()
        with socket.create_server(("127.0.0.1", 0)) as busy:
            number = busy.getsockname()[1]
            self.expect_refused(glovebox("port", self.name, f"{number}:8000"), rf"127\.0\.0\.1:{number}: the port is in use")
            self.expect_refused(glovebox("port", self.name, "0:8000", f"{number}:8000"), "in use")
        self.expect_refused(glovebox("port", self.name, "192.0.2.1:8080:8000", "--public"), "no address of this machine")
        self.expect_refused(glovebox("port", "--public", self.name, "192.0.2.1:8080:8000"), "no address of this machine")
        for address in ("0.0.0.0", "[::]", "192.0.2.1", "[2001:db8::1]"):
            self.expect_refused(glovebox("port", self.name, f"{address}:8080:8000"), "others than this machine could connect; say --public")
        self.expect_refused(glovebox("port", "no-such-box", "0:8000"), "no sandbox of this name")

    def test_public_when_it_is_said(self):
        self.serve()
        p, (port, six) = self.forward("--public", "0.0.0.0:0:8000", "[::]:0:8000")
        self.assertEqual(self.get(port), b"127.0.0.1 /")
        self.assertEqual(self.get(six, host="::1"), b"127.0.0.1 /")
        with self.assertRaises(ConnectionRefusedError):  # :: is not 0.0.0.0 too
            socket.create_connection(("127.0.0.1", six), LIMIT)
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(LIMIT), 0)

    def test_low_ports_are_for_the_privileged(self):
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as f:
            if int(f.read()) <= 80:
                self.skipTest("everybody may have low ports here")
        words = [GLOVEBOX, "port", "box", "80:8000"]
        if os.getuid() == 0:
            words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", *words]
        self.expect_refused(subprocess.run(words, capture_output=True, timeout=LIMIT, check=False),
                            r"127\.0\.0\.1:80: the machine does not give you ports this low; take one above 1023")

    def test_what_is_no_port(self):
        for text in ("", ":", "x", "80x", "8000:", ":8000", "65536", "0", "8080:0", "-1", "+80", " 80", "1:2:3:4", "300.1.1.1:8080:80",
                     "::1:8080:80", "[::1:8080:80", "[]:8080:80", "[127.0.0.1]:8080:80", "[::ffff:127.0.0.1]:8080:80", ":8080:80", "host:80:80",
                     "8080/tcp:80", "080000:80", "8080:80/udp", "1" * 5000):
            if text.startswith("-"):
                continue
            with self.subTest(text[:40]):
                self.expect_refused(glovebox("port", "box", text), "is no port to forward; write")
                self.expect_refused(glovebox("run", "--publish", text, "--", "true"), "is no port to forward; write")

    def test_words(self):
        for words, pattern in (((), "give the name of a sandbox"), (("--json", "box", "0:80"), "--json is for the list"),
                               (("--public", "box"), "--public is for a port"), (("--nothing",), "no such option"),
                               (("no-such-box",), "no sandbox of this name"), (("box", *["0:1"] * 65), "more than 64 ports")):
            self.expect_refused(glovebox("port", *words), pattern)


class Published(Forwarded):
    def port(self):
        done = glovebox("port", "--json", self.name)
        self.expect(done)
        return json.loads(done.stdout)["published"][0]["port"]

    def test_run(self):
        self.serve("-p", "0:8000")
        port = self.port()
        self.assertEqual(self.get(port, "/p"), b"127.0.0.1 /p")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertEqual(set(pool.map(lambda i: self.get(port), range(300))), {b"127.0.0.1 /"})
        self.process.kill()
        self.process.wait()
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), LIMIT)

    def test_create(self):
        done = glovebox("create", "--publish", "[::1]:0:8000", "--publish", "127.0.0.1:0:8000")
        self.expect(done)
        self.name = done.stdout.decode().strip()
        self.addCleanup(glovebox, "kill", self.name)
        self.expect(glovebox("exec", self.name, "--", "python3", "-c",
                             SERVER + "import os, socket\nServer.address_family = socket.AF_INET6\ns = Server(('::', 8000), Handler)\nif os.fork() == 0:\n  os.setsid()\n  os.close(1); os.close(2)\n"
                             "  s.serve_forever()"))
        listed = json.loads(glovebox("port", "--json", self.name).stdout)
        self.assertEqual([p["address"] for p in listed["published"]], ["::1", "127.0.0.1"])
        for p in listed["published"]:
            self.assertEqual(self.get(p["port"], host=p["address"]), b"::ffff:127.0.0.1 /")
        self.expect(glovebox("stop", self.name))
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", listed["published"][1]["port"]), LIMIT)

    def test_nothing_listens(self):
        self.serve("-p", "0:8001")
        port = self.port()
        for _ in range(200):
            self.assertFalse(self.comes(port))

    def test_a_program_that_accepts_nothing(self):
        """Its queue fills, those behind it wait, and nobody else is held up."""
        self.name = f"fwd-{os.getpid()}-deaf"
        self.process = self.start("--name", self.name, "-p", "0:8000", "--", "python3", "-c",
                                  "import socket, sys\nl = socket.socket(); l.bind(('127.0.0.1', 8000)); l.listen(1); print('ready', flush=True)\n"
                                  "sys.stdin.readline()\nwhile True: l.accept()[0].send(b'x')")
        self.assertEqual(self.process.stdout.readline(), b"ready\n")
        port = self.port()
        held = [socket.create_connection(("127.0.0.1", port), LIMIT) for _ in range(200)]
        self.expect(glovebox("port", self.name))
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        for s in held:
            with s:
                self.assertEqual(s.recv(1), b"x")

    def test_what_cannot_be_published_stops_the_start(self):
        with socket.create_server(("127.0.0.1", 0)) as busy:
            number = busy.getsockname()[1]
            for verb in (("run", "--name", "never-box"), ("create", "--name", "never-box")):
                words = ["--", "true"] if verb[0] == "run" else []
                self.expect_refused(glovebox(*verb, "-p", f"{number}:80", *words), rf"--publish: 127\.0\.0\.1:{number}: the port is in use")
        self.expect_refused(glovebox("run", "-p", "0.0.0.0:0:80", "--", "true"), "say --public")
        self.expect_refused(glovebox("run", *["-p", "0:80"] * 65, "--", "true"), "more than 64")
        self.assertNotIn(b"never-box", glovebox("ps").stdout)
        self.expect(glovebox("run", "--public", "-p", "0.0.0.0:0:80", "--", "true"))


class Listed(Forwarded):
    def test_table(self):
        self.serve("-p", "0:8000")
        done = glovebox("port", self.name)
        self.expect(done)
        self.assertRegex(done.stdout.decode(), r"\A PORT  ADDRESS +PROGRAM +PID +USER +WAITING\n 8000  127\.0\.0\.1 +python3 +\d+ +1000 +0\n"
                                               r"published: 127\.0\.0\.1:\d+ -> 8000\n\Z")

    def test_json(self):
        self.serve(code="Server(('0.0.0.0', 8000), Handler)")
        done = glovebox("port", "--json", self.name)
        self.expect(done)
        listed = json.loads(done.stdout)
        self.assertEqual((listed["is_cut"], listed["published"]), (False, []))
        (one,) = listed["listening"]
        self.assertIsInstance(one.pop("pid"), int)
        self.assertEqual(one, {"port": 8000, "address": "0.0.0.0", "program": "python3", "uid": 1000, "waiting": 0, "backlog": 512})

    def test_nothing(self):
        self.name = f"fwd-{os.getpid()}-nothing"
        process = self.start("--name", self.name, "--", "sh", "-c", "echo ready; read x")
        process.stdout.readline()
        self.expect(glovebox("port", self.name), out=b"nothing listens\n")

    def test_names_are_strangers(self):
        self.name = f"fwd-{os.getpid()}-names"
        process = self.start("--name", self.name, "--", "python3", "-c",
                             "import socket, sys\nopen('/proc/self/comm', 'wb').write(b'\\x1b]0;x\\x07\\n')\nl = socket.create_server(('', 8000))\n"
                             "print('ready', flush=True)\nsys.stdin.read()")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        text = glovebox("port", self.name).stdout
        self.assertIn(rb"\x1b]0;x\x07\n", text)
        self.assertFalse(set(text) - set(range(32, 127)) - {10})
        self.assertIn(r"\x1b]0;x", json.loads(glovebox("port", "--json", self.name).stdout)["listening"][0]["program"])


if __name__ == "__main__":
    main(sys.modules[__name__])
