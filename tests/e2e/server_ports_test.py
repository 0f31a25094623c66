#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ports of sandboxes through glovebox serve: HTTP and what it changes to, by host name, by fields and by path; who is let in; and
what a client or a program sends that is wrong."""
import base64
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, descendants, main, wait_until  # noqa: E402
from server_client import Client, Served, Server  # noqa: E402
from server_tls_test import make_certificate, trusting  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PUBLIC = {"network": {"allowPublicTraffic": True}}
TOKEN = "e2b-traffic-access-token"


class Raw:
    """A connection on which bytes are said as they are."""

    def __init__(self, port, size=0):
        self.socket = socket.socket()
        if size:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        self.socket.settimeout(LIMIT)
        self.socket.connect(("127.0.0.1", port))
        self.kept = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)
        return self

    def end(self):
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def more(self):
        data = self.socket.recv(65536)
        self.kept += data
        return data

    def until(self, mark):
        while mark not in self.kept:
            if not self.more():
                raise AssertionError(f"ended before {mark!r}: {self.kept!r}")
        data, mark, self.kept = self.kept.partition(mark)
        return data + mark

    def exact(self, size):
        while len(self.kept) < size:
            if not self.more():
                raise AssertionError(f"ended before {size} bytes: {self.kept!r}")
        data, self.kept = self.kept[:size], self.kept[size:]
        return data

    def rest(self):
        """All that comes; and whether it ended in order."""
        try:
            while self.more():
                pass
        except ConnectionResetError:
            return self.kept, False
        return self.kept, True

    def answer(self):
        """Status, fields, body of an answer with a length."""
        head = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        return int(head[0].split(" ")[1]), fields, self.exact(int(fields.get("content-length", 0)))


class Ports(Served):
    def setUp(self):
        super().setUp()
        self.box = self.create(**PUBLIC)
        self.listen()

    def create(self, client=None, **body):
        return (client or self.client).create(**body)

    def listen(self, box=None, port=8000):
        """Starts the program that answers there."""
        box = box or self.box
        with open(os.path.join(HERE, "server_ports_guest.py"), "rb") as f:
            written = box.ask("POST", "/files?path=/tmp/guest.py", f.read(), {"Content-Type": "application/octet-stream"})
        self.assertEqual(written.status, 200, written)
        stream = box.start("python3", "/tmp/guest.py", str(port), stdin=None)
        self.addCleanup(stream.close)
        stream.read_until(b"listens")
        return stream

    def host(self, box=None, port=8000):
        return f"{port}-{(box or self.box).name}.localhost:{self.server.port}"

    def ask(self, path="/head", method="GET", body=None, fields=(), box=None, port=8000, key=False):
        return self.client.ask(method, path, body, {"Host": self.host(box, port), **dict(fields)}, key=key)

    def raw(self, *args, size=0, **more):
        return self.say(Raw(self.server.port, size), *args, **more)

    def say(self, raw, path="/head", method="GET", fields="", body=b""):
        self.addCleanup(raw.socket.close)
        return raw.send(f"{method} {path} HTTP/1.1\r\nHost: {self.host()}\r\n{fields}\r\n").send(body)

    def head_of(self, *args, **more):
        """What the program was asked."""
        lines = self.ask(*args, **more).body.decode("latin-1").split("\r\n")
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            fields.setdefault(name.lower(), []).append(value)
        return lines[0], fields

    def states(self):
        return self.ask("/states").json()

    def refused(self, answer, status, message, box=None, port=8000):
        """As E2B's gateway says it."""
        self.assertEqual(answer.status, status, answer)
        expected = {"sandboxId": (box or self.box).name, "message": message, "code": status}
        self.assertEqual(answer.json(), {**expected, "port": port} if port else expected)

    def kernel(self):
        """The process id of the sandbox's kernel."""
        listed = json.loads(subprocess.run([GLOVEBOX, "ps", "--json"], capture_output=True, timeout=LIMIT, check=True).stdout)
        starter = next(s["starter_pid"] for s in listed if s["name"] == self.box.name)
        for pid, _ in descendants(starter):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                if f.read() == "glovebox-kernel\n":
                    return pid
        raise AssertionError("it has no kernel")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.child()}/fd"))


class Ways(Ports):
    def test_by_host_by_fields_by_path(self):
        by_fields = {"E2b-Sandbox-Id": self.box.name, "E2b-Sandbox-Port": "8000"}
        path = f"/sandboxes/{self.box.name}/ports/8000"
        for target, fields, seen in (("/a/b?c=d", {"Host": self.host()}, "/a/b?c=d"), ("/a/b?c=d", by_fields, "/a/b?c=d"),
                                     (f"{path}/a/b?c=d", {}, "/a/b?c=d"), (f"{path}", {}, "/"), (f"{path}?c", {}, "/?c"),
                                     (f"{path}//x/../%2e", {}, "//x/../%2e"),
                                     ("/sandboxes/x/ports/1/a", {"Host": self.host()}, "/sandboxes/x/ports/1/a")):
            with self.subTest(target, fields=fields):
                answer = self.client.ask("GET", target, None, fields, key=False)
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.body.split(b"\r\n")[0].decode(), f"GET {seen} HTTP/1.1")

    def test_which_of_them(self):
        other = self.create(**PUBLIC)
        by_fields = {"E2b-Sandbox-Id": self.box.name, "E2b-Sandbox-Port": "8000"}
        self.assertEqual(self.client.ask("GET", "/head", None, {**by_fields, "Host": self.host()}, key=False).status, 200)
        for host in (self.host(other), self.host(port=8001)):
            self.expect_status(self.client.ask("GET", "/head", None, {**by_fields, "Host": host}, key=False), 400, "Host")
        for field in by_fields:
            self.expect_status(self.client.ask("GET", "/head", None, {field: by_fields[field]}, key=False), 400, "together")
        for path in ("ports/0", "ports/65536", "ports/08000", "ports/x", "ports/", "ports//", "ports/8000x"):
            self.expect_status(self.client.ask("GET", f"/sandboxes/{self.box.name}/{path}", key=False), 400, "no sandbox's port")
        self.expect_status(self.client.ask("GET", "/sandboxes/A/ports/80", key=False), 400)
        # What the server answers itself has its own ways.
        for port in (49983, 49999):
            self.expect_status(self.client.ask("GET", f"/sandboxes/{self.box.name}/ports/{port}/health", key=False), 400, "not by path")

    def test_nobody_there(self):
        self.refused(self.ask(port=8001), 502, "The sandbox is running but port is not open", port=8001)
        unknown = {"Host": f"8000-{'i' + 'a' * 20}.localhost"}
        answer = self.client.ask("GET", "/", None, unknown, key=False)
        self.assertEqual((answer.status, answer.json()),
                         (502, {"sandboxId": "i" + "a" * 20, "message": "The sandbox was not found", "code": 502}))
        self.box.kill()
        self.refused(self.ask(), 502, "The sandbox was not found", port=None)

    def test_methods(self):
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "X-MINE"):
            self.assertEqual(self.ask("/x", method).body.split(b"\r\n")[0].decode(), f"{method} /x HTTP/1.1")
        answer = self.ask("/head", "HEAD")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertGreater(int(answer.fields["Content-Length"]), 10)
        self.assertEqual(self.raw("*", "OPTIONS").answer()[2].split(b"\r\n")[0], b"OPTIONS * HTTP/1.1")
        with Raw(self.server.port) as raw:
            self.assertEqual(raw.send(f"CONNECT {self.host()} HTTP/1.1\r\nHost: {self.host()}\r\n\r\n").answer()[0], 405)
        with Raw(self.server.port) as raw:
            raw.send(f"GET http://{self.host()}/absolute HTTP/1.1\r\nHost: {self.host()}\r\n\r\n")
            self.assertEqual(raw.answer()[2].split(b"\r\n")[0], b"GET /absolute HTTP/1.1")


class Fields(Ports):
    def test_what_the_program_is_told(self):
        lies = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "https", "X_Forwarded_For": "6.6.6.6",
                "Forwarded": "for=6.6.6.6", "X-Real-IP": "6.6.6.6", "X-Forwarded-Prefix": "/evil", "x-forwarded-anything": "evil",
                "Proxy": "http://evil", "X-Forwarded_Host": "evil"}
        line, fields = self.head_of("/a", fields={**lies, "X-Mine": "kept", "X_Mine": "kept", "Cookie": "a=b", "Via": "1.1 before"})
        self.assertEqual(line, "GET /a HTTP/1.1")
        host = self.host()
        for name, value in (("host", host), ("x-forwarded-for", "127.0.0.1"), ("x-forwarded-host", host), ("x-forwarded-proto", "http"),
                            ("forwarded", f'for=127.0.0.1;host="{host}";proto=http'), ("x-mine", "kept"), ("x_mine", "kept"),
                            ("cookie", "a=b")):
            self.assertEqual(fields[name], [value])
        self.assertEqual(fields["via"], ["1.1 before", "1.1 glovebox"])
        self.assertEqual(fields["connection"], ["close"])
        self.assertNotIn("evil", str(fields))
        self.assertNotIn("6.6.6.6", str(fields))

    def test_what_it_is_not_told(self):
        own = {"X-API-Key": self.client.key, "X-Access-Token": self.box.token, TOKEN: "some", "E2b-Sandbox-Id": self.box.name,
               "E2b-Sandbox-Port": "8000", "E2B_Traffic_Access_Token": "other", "Connection": "X-Hop, keep-alive", "X-Hop": "1",
               "Keep-Alive": "3", "TE": "trailers", "Proxy-Authorization": "Basic x", "Transfer_Encoding": "chunked",
               "Content_Length": "7"}
        fields = self.head_of(fields=own)[1]
        self.assertEqual(sorted(fields), sorted({"host", "accept-encoding", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
                                                 "forwarded", "via", "connection"}))
        for value in (f"Bearer {self.client.key}", f"bearer  {self.client.key}"):
            self.assertNotIn("authorization", self.head_of(fields={"Authorization": value})[1])
        # A program's own are not the server's.
        fields = self.head_of(fields={"X-API-Key": "mine", "X-Access-Token": "mine", "Authorization": "Bearer mine"})[1]
        self.assertEqual((fields["x-api-key"], fields["x-access-token"], fields["authorization"]), (["mine"], ["mine"], ["Bearer mine"]))

    def test_by_path_there_are_no_cookies_and_no_rights(self):
        prefix = f"/sandboxes/{self.box.name}/ports/8000"
        answer = self.client.ask("GET", f"{prefix}/a", None, {"Cookie": "a=b"}, key=False)
        self.assertNotIn(b"ookie", answer.body)
        self.assertIn(f"X-Forwarded-Prefix: {prefix}".encode(), answer.body)
        answer = self.client.ask("GET", f"{prefix}/hop", key=False)
        self.assertNotIn("Set-Cookie", answer.fields)
        self.assertEqual(sorted(self.client.ask("GET", f"{prefix}/origin", key=False).fields), ["Content-Length", "Content-Security-Policy", "X-Kept"])
        self.assertIn("Clear-Site-Data", self.ask("/origin").fields)
        self.assertRegex(answer.fields["Content-Security-Policy"], "^sandbox ")
        self.assertNotIn("allow-same-origin", answer.fields["Content-Security-Policy"])

    def leads(self, to, folder="/d", host=None, box=None):
        """Where a client that asked by path is led to, who is given the same in both fields."""
        box = box or self.box
        query = base64.urlsafe_b64encode(to.encode("latin-1")).decode()
        answer = self.client.ask("GET", f"/sandboxes/{box.name}/ports/8000{folder}/lead?{query}", None, {"Host": host} if host else {}, key=False)
        self.assertEqual(answer.status, 302, answer)
        self.assertEqual(answer.fields["Location"], answer.fields["Content-Location"])
        return answer.fields["Location"]

    def test_by_path_it_leads_to_itself(self):
        prefix, own = f"/sandboxes/{self.box.name}/ports/8000", f"127.0.0.1:{self.server.port}"
        for to, path in (("/", "/"), ("/login", "/login"), ("/a/b?c=/d#/e", "/a/b?c=/d#/e"), ("login", "/d/login"), ("e/", "/d/e/"), ("./", "/d/"),
                         ("../up", "/up"), (f"http://{own}/x", "/x"), (f"http://{own}", "/"), (f"http://{own}?q", "/?q"), (f"https://{own}/x", "/x"),
                         (f"//{own}/x", "/x"), ("http://localhost:8000/x", "/x"), ("http://127.0.0.1:8000/x", "/x"), (f"HTTP://{own}/X", "/X"),
                         (f"{prefix}/x", "/x"), (prefix, ""), (f"{prefix}?q", "?q"), (f"http://{own}{prefix}/x", "/x"), (f"{prefix}9/x", f"{prefix}9/x"),
                         ("/a//b", "/a//b"), ("/%2f..%2f", "/%2f..%2f"), ("/...", "/..."), ("/caf\xe9", "/caf\xe9")):
            with self.subTest(to):
                self.assertEqual(self.leads(to), prefix + path)
        self.assertEqual(self.leads("x", folder=""), f"{prefix}/x")
        for to in ("?q", "#f", "https://a.example/x", "//a.example/x", "http://localhost:8001/x", f"http://user@{own}/x", "mailto:a@a.example", "data:,x",
                   "http://[::1]:8000/", "http://localhost:8000@a.example/"):
            with self.subTest(to):
                self.assertEqual(self.leads(to), to)
        self.assertEqual(self.leads("https://my.example/x", host="my.example"), f"{prefix}/x")
        # By host name it is as the program says.
        self.assertEqual(self.ask("/lead?" + base64.urlsafe_b64encode(b"/login").decode()).fields["Location"], "/login")
        box = self.create(network={"allowPublicTraffic": True, "maskRequestHost": "app.internal:${PORT}"})
        self.listen(box)
        self.assertEqual(self.leads("http://app.internal:8000/x", box=box), f"/sandboxes/{box.name}/ports/8000/x")

    def test_by_path_it_leads_nobody_to_the_api(self):
        """A client that asks the API with its key sends it again to wherever it is led on the same server."""
        prefix, own = f"/sandboxes/{self.box.name}/ports/8000", f"127.0.0.1:{self.server.port}"
        up = ("..", ".%2e", "%2E.", "%2e%2E", ".\t.", "..\t")
        for dots in up:
            for to in (f"/{dots}/{dots}/x", f"/a/{dots}/{dots}/{dots}/{dots}/{dots}/x", f"{dots}/{dots}/{dots}/{dots}/x", f"\\{dots}\\{dots}\\x",
                       f"/a\\{dots}\\{dots}/x", f"http:{dots}/{dots}/{dots}/{dots}/x", f"http:/{dots}/{dots}/x", f"https:\\{dots}/x",
                       f"http://{own}/{dots}/{dots}/x", f"//{own}\\{dots}\\x", f"{prefix}/{dots}/{dots}/{dots}/{dots}/{dots}/x", f"/./{dots}/x"):
                with self.subTest(to):
                    self.assertEqual(self.leads(to), f"{prefix}/x")
        for to in ("/..", "..", "../../../..", "/a/..", "\t/", f"http:\t//{own}/", "ht\ttp:/"):
            with self.subTest(to):
                self.assertEqual(self.leads(to), f"{prefix}/")
        for to, path in ((f"/sandboxes/{self.box.name}", f"/sandboxes/{self.box.name}"), ("/sandboxes", "/sandboxes"), ("/.//a.example", "//a.example"),
                         (f"{prefix}x/../../../y", "/sandboxes/y")):
            with self.subTest(to):
                self.assertEqual(self.leads(to), prefix + path)
        self.assertEqual(len(self.leads("/" + "a" * 5000)), len(prefix) + 5001)

    def test_what_a_program_says_of_the_path(self):
        prefix = f"/sandboxes/{self.box.name}/ports/8000"
        answer = self.client.ask("GET", f"{prefix}/x-forwarded", key=False)
        self.assertEqual((answer.status, answer.fields["Location"]), (302, f"{prefix}/a"))
        answer = self.client.ask("GET", f"{prefix}/three-locations", key=False)
        self.expect_status(answer, 502)
        for path in ("split", f"lead?{base64.urlsafe_b64encode(bytes([0x2f, 0x0d, 0x41])).decode()}"):
            answer = self.client.ask("GET", f"{prefix}/{path}", key=False)
            self.assertEqual((answer.status, "Set-Cookie" in answer.fields), (502, False))
        answer = self.client.ask("GET", f"{prefix}/lead?{base64.urlsafe_b64encode(b'/a' + b'..' + bytes([13, 10]) + b'X-Injected: 1').decode()}", key=False)
        self.assertEqual(answer.fields["Location"], f"{prefix}/a..")
        line, fields = self.head_of("/a", fields={"X-Forwarded-Prefix": "/evil"})
        self.assertNotIn("x-forwarded-prefix", fields)
        self.assertEqual(line, "GET /a HTTP/1.1")

    def test_what_the_client_is_told(self):
        answer = self.ask("/hop")
        self.assertEqual({name: value for name, value in answer.fields.items() if name != "Content-Length"},
                         {"X-Kept": "yes", "Set-Cookie": "a=b"})
        self.assertEqual(answer.body, b"ok")

    def test_a_host_of_its_own(self):
        box = self.create(network={"allowPublicTraffic": True, "maskRequestHost": "app.internal:${PORT}"})
        self.listen(box)
        fields = self.head_of(box=box)[1]
        self.assertEqual((fields["host"], fields["x-forwarded-host"]), (["app.internal:8000"], [self.host(box)]))
        detail = self.client.ask("GET", f"/sandboxes/{box.name}").json()
        self.assertEqual(detail["network"]["maskRequestHost"], "app.internal:${PORT}")
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.assertEqual(self.head_of(box=box)[1]["host"], ["app.internal:8000"])
        for wrong in ("", "a b", "a\r\nX: y", "a:${PORT}${PORT}", "${PORT", "a:99999", "http://a", "a/b", "x" * 300, 7):
            answer = self.client.ask("POST", "/v2/sandboxes", {"templateID": "base", "network": {"maskRequestHost": wrong}})
            self.expect_status(answer, 400, "maskRequestHost")

    def test_old_clients(self):
        with Raw(self.server.port) as raw:
            raw.send(f"GET /a HTTP/1.0\r\nE2b-Sandbox-Id: {self.box.name}\r\nE2b-Sandbox-Port: 8000\r\nExpect: 100-continue\r\n\r\n")
            said, in_order = raw.rest()
            self.assertTrue(in_order)
            self.assertTrue(said.startswith(b"HTTP/1.1 200 OK\r\n"))
            self.assertIn(b"Host: localhost:8000", said)
            self.assertNotIn(b"Expect", said)
        with Raw(self.server.port) as raw:
            said, _ = raw.send(f"GET /chunks HTTP/1.0\r\nHost: {self.host()}\r\n\r\n").rest()
            head, _, body = said.partition(b"\r\n\r\n")
            self.assertNotIn(b"chunked", head)
            self.assertEqual(body, b"first" + b"second" * 3000)
        with Raw(self.server.port) as raw:
            said, _ = raw.send(f"GET /interim HTTP/1.0\r\nHost: {self.host()}\r\n\r\n").rest()
            self.assertTrue(said.startswith(b"HTTP/1.1 200 OK\r\n"))


class Bodies(Ports):
    def test_large_ones_both_ways(self):
        size, piece = 100 << 20, os.urandom(1 << 20)
        digest = hashlib.sha256()
        for how in ("Content-Length", "chunked"):
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=LIMIT)
            connection.putrequest("POST", "/sink", skip_host=True)
            connection.putheader("Host", self.host())
            connection.putheader(*(("Content-Length", str(size)) if how != "chunked" else ("Transfer-Encoding", "chunked")))
            connection.endheaders()
            digest = hashlib.sha256()
            for _ in range(size >> 20):
                digest.update(piece)
                connection.send(piece if how != "chunked" else b"%x\r\n%s\r\n" % (len(piece), piece))
            if how == "chunked":
                connection.send(b"0\r\nX-Sum: 7\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n")
            said = json.loads(connection.getresponse().read())
            connection.close()
            self.assertEqual((said["size"], said["digest"]), (size, digest.hexdigest()))
            self.assertEqual(said["trailers"], [] if how != "chunked" else ["X-Sum: 7"])
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=LIMIT)
        connection.request("GET", f"/source?{size}", headers={"Host": self.host()})
        answer, got, expected = connection.getresponse(), hashlib.sha256(), hashlib.sha256()
        while data := answer.read(1 << 20):
            got.update(data)
        for _ in range(size >> 16):
            expected.update(bytes(range(256)) * 256)
        self.assertEqual(got.hexdigest(), expected.hexdigest())
        connection.close()
        self.assertLess(self.memory(), 48 << 20)

    def test_a_slow_reader_holds_the_program_up(self):
        size = 200 << 20
        raw = self.raw(f"/source?{size}", size=65536)
        raw.until(b"\r\n\r\n")
        sent = []
        # The program has stopped when nothing more goes out; what is on the way is bounded.
        self.assertTrue(wait_until(lambda: sent.append(self.states()["sent"]) or len(sent) > 20 and sent[-1] == sent[-20]))
        self.assertLess(sent[-1], 32 << 20)
        self.assertLess(self.memory(), 32 << 20)
        got = len(raw.kept)
        while data := raw.socket.recv(1 << 20):
            got += len(data)
            if got == size:
                break
        self.assertEqual(got, size)

    def test_a_program_that_takes_nothing_holds_the_client_up(self):
        raw = self.raw("/take-nothing", "POST", f"Content-Length: {1 << 30}\r\n")
        raw.socket.setblocking(False)
        sent = []

        def push():
            try:
                while True:
                    sent.append(raw.socket.send(bytes(1 << 20)))
            except BlockingIOError:
                sent.append(0)
            return len(sent) > 20 and not any(sent[-20:])
        self.assertTrue(wait_until(push))
        self.assertLess(sum(sent), 32 << 20)
        self.assertLess(self.memory(), 32 << 20)
        self.ask("/go", "POST")
        raw.socket.settimeout(LIMIT)
        said, _ = raw.rest()
        self.assertIn(b"without an answer", said)

    def test_both_ways_at_once(self):
        raw = self.raw("/duplex", "POST", "Transfer-Encoding: chunked\r\n")
        raw.until(b"\r\n\r\n")
        for word in (b"first", b"x" * 70000, b"last"):
            raw.send(b"%x\r\n%s\r\n" % (len(word), word))
            got = b""
            while len(got) < len(word):
                got += raw.exact(int(raw.until(b"\r\n"), 16))
                raw.until(b"\r\n")
            self.assertEqual(got, word)
        raw.send(b"0\r\n\r\n")
        self.assertEqual(raw.exact(5), b"0\r\n\r\n")
        # The connection is good for another request.
        self.assertEqual(raw.send(f"GET /a HTTP/1.1\r\nHost: {self.host()}\r\n\r\n").answer()[0], 200)

    def test_events_come_as_they_are_sent(self):
        raw = self.raw("/events")
        head = raw.until(b"\r\n\r\n")
        self.assertIn(b"text/event-stream", head)
        for n in range(3):
            raw.until(f"data: {n}\n\n".encode())
            self.assertEqual(self.ask("/go", "POST").body, b"went")
        self.assertEqual(raw.until(b"0\r\n\r\n")[-5:], b"0\r\n\r\n")

    def test_chunks_and_trailers(self):
        raw = self.raw("/chunks")
        self.assertIn(b"Transfer-Encoding: chunked", raw.until(b"\r\n\r\n"))
        body = raw.until(b"0\r\nX-Sum: 42\r\n\r\n")
        self.assertNotIn(b"extension", body)

    def test_before_the_answer(self):
        raw = self.raw("/interim")
        self.assertEqual(raw.until(b"\r\n\r\n"), b"HTTP/1.1 102 Processing\r\n\r\n")
        self.assertEqual(raw.until(b"\r\n\r\n"), b"HTTP/1.1 103 Early Hints\r\n\r\n")
        self.assertEqual(raw.answer()[2], b"done")

    def test_continue_is_the_programs_to_say(self):
        raw = self.raw("/continue", "POST", "Expect: 100-continue\r\nContent-Length: 5\r\n")
        self.assertEqual(raw.until(b"\r\n\r\n"), b"HTTP/1.1 100 Continue\r\n\r\n")
        self.assertEqual(json.loads(raw.send(b"hello").answer()[2])["size"], 5)
        raw = self.raw("/continue?no", "POST", "Expect: 100-continue\r\nContent-Length: 5\r\n")
        self.assertEqual(raw.answer()[0], 417)

    def test_an_answer_before_the_end_of_the_request(self):
        raw = self.raw("/early", "POST", f"Content-Length: {64 << 20}\r\n", b"x" * 100000)
        self.assertEqual(raw.answer()[0], 413)
        self.assertEqual(raw.rest()[0], b"")

    def test_one_after_another(self):
        raw = Raw(self.server.port)
        self.addCleanup(raw.socket.close)
        request = f"POST /sink HTTP/1.1\r\nHost: {self.host()}\r\nContent-Length: 3\r\n\r\nabc"
        raw.send(request * 5)
        for _ in range(5):
            self.assertEqual(json.loads(raw.answer()[2])["size"], 3)
        raw.send(f"GET /no-content HTTP/1.1\r\nHost: {self.host()}\r\n\r\n")
        self.assertEqual(raw.answer()[0], 204)
        raw.send(f"GET /not-modified HTTP/1.1\r\nHost: {self.host()}\r\n\r\n")
        self.assertIn(b"304", raw.until(b"\r\n\r\n"))
        raw.send(f"HEAD /chunks HTTP/1.1\r\nHost: {self.host()}\r\n\r\n")
        raw.until(b"\r\n\r\n")
        raw.send(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        self.assertEqual(raw.answer()[2], b'{"status":"ok"}')


class Ends(Ports):
    def test_of_a_client_that_has_sent_all(self):
        raw = self.raw("/late").end()
        self.assertEqual(raw.answer()[2], b"after the end")
        raw = self.raw("/sink", "POST", "Content-Length: 3\r\n", b"abc").end()
        self.assertEqual(json.loads(raw.answer()[2])["size"], 3)
        # In the middle of its request it is none.
        raw = self.raw("/sink", "POST", "Content-Length: 3\r\n", b"ab").end()
        self.assertEqual(raw.rest()[0], b"")

    def test_of_a_client_that_goes(self):
        for path in ("/hang", "/upgrade"):
            raw = self.raw(path, fields="Connection: upgrade\r\nUpgrade: websocket\r\n" if path == "/upgrade" else "")
            before = self.descriptors()
            if path == "/upgrade":
                raw.until(b"\r\n\r\n")
            else:
                self.assertTrue(wait_until(lambda: self.states()["ended"] == "waits"))
            raw.socket.close()
            self.assertTrue(wait_until(lambda: self.states()["threads"] == 2))
            self.assertTrue(wait_until(lambda: self.descriptors() < before + 1))

    def test_of_a_program_that_goes(self):
        for path, message in (("/silent", "The program ended the connection without an answer"), ("/garbage", "The program's answer is not HTTP"),
                              ("/two-lengths", "The program's answer is not HTTP"), ("/length-and-coding", "The program's answer is not HTTP"),
                              ("/gzip-coding", "The program's answer is not HTTP"), ("/bare-line-end", "The program's answer is not HTTP"),
                              ("/folded", "The program's answer is not HTTP"), ("/unasked-switch", "The program's answer is not HTTP"),
                              ("/many-interim", None), ("/huge-head", "The program's answer is not HTTP")):
            with self.subTest(path):
                if message:
                    self.refused(self.ask(path), 502, message)
                else:
                    raw = self.raw(path)
                    self.assertIn(b"HTTP/1.1 502", raw.until(b"not HTTP"))

    def test_of_an_answer_that_is_not_whole(self):
        for path in ("/short", "/short-chunk", "/bad-trailer"):
            raw = self.raw(path)
            said, _ = raw.rest()
            self.assertIn(b"short", said)
            self.assertFalse(said.endswith(b"0\r\n\r\n"))
        with Raw(self.server.port) as raw:
            # For who knows no chunks only a reset tells.
            self.assertFalse(raw.send(f"GET /short-chunk HTTP/1.0\r\nHost: {self.host()}\r\n\r\n").rest()[1])
        raw = self.raw("/old")
        said = raw.until(b"0\r\n\r\n")
        self.assertIn(b"Transfer-Encoding: chunked", said)
        self.assertIn(b"old as that", said)

    def test_what_follows_an_answer_is_none(self):
        raw = self.raw("/two-answers")
        self.assertEqual(raw.answer()[2], b"ok")
        self.assertEqual(raw.send(f"GET /a HTTP/1.1\r\nHost: {self.host()}\r\n\r\n").answer()[2].split(b"\r\n")[0], b"GET /a HTTP/1.1")

    def test_of_the_sandbox(self):
        waits, tunnel = self.raw("/hang"), self.raw("/upgrade", fields="Connection: upgrade\r\nUpgrade: websocket\r\n")
        tunnel.until(b"\r\n\r\n")
        stream = self.raw("/events")
        stream.until(b"data: 0")
        self.assertTrue(wait_until(lambda: self.states()["ended"] == "waits"))
        self.box.kill()
        for raw in (waits, tunnel, stream):
            self.assertNotIn(b"0\r\n\r\n", raw.rest()[0])

    def test_of_a_kernel_that_is_killed(self):
        raw = self.raw("/hang")
        self.assertTrue(wait_until(lambda: self.states()["ended"] == "waits"))
        os.kill(self.kernel(), signal.SIGKILL)
        self.assertIn(raw.more()[:12], (b"", b"HTTP/1.1 502"))

        def is_gone():
            try:
                return self.ask().status == 502
            except (OSError, http.client.HTTPException):
                return False
        self.assertTrue(wait_until(is_gone))


class Tunnels(Ports):
    ASK = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

    def open(self, query=""):
        raw = self.raw(f"/upgrade{query}", fields=self.ASK)
        head = raw.until(b"\r\n\r\n").decode()
        self.assertTrue(head.startswith("HTTP/1.1 101 "), head)
        return raw, head

    def test_a_websocket(self):
        raw, head = self.open()
        self.assertIn("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", head)
        self.assertRegex(head, r"(?i)\r\nconnection: upgrade\r\nupgrade: websocket\r\n")
        for payload in (b"hello", os.urandom(100000)):
            mask = os.urandom(4)
            masked = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
            size = bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0x80 | 127]) + len(payload).to_bytes(8, "big")
            frame = b"\x82" + size + mask + masked
            raw.send(frame)
            self.assertEqual(raw.exact(len(frame)), frame)

    def test_bytes_that_come_with_the_heads(self):
        raw = self.raw("/upgrade?early", fields=self.ASK, body=b"at once")
        raw.until(b"\r\n\r\n")
        self.assertEqual(raw.exact(12), b"earlyat once")
        raw = self.raw("/upgrade?count", fields=self.ASK, body=b"x" * 100000).end()
        raw.until(b"\r\n\r\n")
        self.assertEqual(raw.rest(), (b"100000 bytes", True))

    def test_each_way_ends_by_itself(self):
        raw, _ = self.open("?count")
        raw.send(b"x" * 1000000).end()
        self.assertEqual(raw.rest(), (b"1000000 bytes", True))
        raw, _ = self.open("?half")
        self.assertEqual(raw.rest(), (b"said", True))
        raw.send(b"heard").end()
        self.assertTrue(wait_until(lambda: self.states()["ended"] == "heard"))
        raw, _ = self.open("?leave")
        self.assertEqual(raw.rest(), (b"bye", True))

    def test_much_through_one(self):
        raw, _ = self.open()
        size, sent = 20 << 20, hashlib.sha256()
        piece = os.urandom(1 << 16)

        def push():
            for _ in range(size >> 16):
                raw.send(piece)
        pusher = threading.Thread(target=push)
        pusher.start()
        got = hashlib.sha256()
        for _ in range(size >> 16):
            got.update(raw.exact(1 << 16))
            sent.update(piece)
        pusher.join()
        self.assertEqual(got.hexdigest(), sent.hexdigest())

    def test_what_is_none(self):
        # With content it is not asked for; h2c never is.
        _, fields = self.head_of("/a", "POST", b"abc", {"Connection": "upgrade", "Upgrade": "websocket"})
        self.assertNotIn("upgrade", fields)
        _, fields = self.head_of("/a", fields={"Connection": "upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "x"})
        self.assertEqual((fields.get("upgrade"), fields.get("http2-settings")), (None, None))
        _, fields = self.head_of("/a", fields={"Upgrade": "websocket"})
        self.assertNotIn("upgrade", fields)
        # A program that doesn't want to answers as to any request.
        raw = self.raw("/head", fields=self.ASK)
        self.assertEqual(raw.answer()[0], 200)
        self.assertEqual(raw.send(f"GET /a HTTP/1.1\r\nHost: {self.host()}\r\n\r\n").answer()[0], 200)


class Smuggling(Ports):
    def test_two_requests_are_never_seen_where_one_is(self):
        inner = f"GET /smuggled HTTP/1.1\r\nHost: {self.host()}\r\n\r\n"
        for fields, body in ((f"Content-Length: 0\r\nContent-Length: {len(inner)}\r\n", inner),
                             (f"Content-Length: {len(inner)}\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner),
                             ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n" + inner),
                             ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n" + inner),
                             ("Transfer-Encoding:\tchunked, chunked\r\n", "0\r\n\r\n" + inner),
                             ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n" + inner),
                             ("X: y\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner),
                             ("X: y\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner),
                             (f"Content-Length: +{len(inner)}\r\n", inner), (f"Content-Length: {len(inner)}, {len(inner)}\r\n", inner),
                             ("Content-Length: 0x10\r\n", inner), ("Host: other\r\n", inner),
                             ("Transfer-Encoding: chunked\r\n", "0\n\n" + inner), ("Transfer-Encoding: chunked\r\n", "00000000000000000\r\n\r\n" + inner),
                             ("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n0\r\n\r\n" + inner)):
            with self.subTest(fields=fields, body=body[:20]):
                raw = self.raw("/sink", "POST", fields, body.encode())
                said, _ = raw.rest()
                self.assertRegex(said[:13], rb"HTTP/1.1 (400|501|421) ")
                self.assertEqual(said.count(b"HTTP/1.1 "), 1)
                self.assertNotIn(b"/smuggled", said)

    def test_what_is_only_spelled_like_it(self):
        inner = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
        fields = f"Transfer_Encoding: chunked\r\nContent-Length: {len(inner)}\r\n"
        raw = self.raw("/sink", "POST", fields, inner)
        self.assertEqual(json.loads(raw.answer()[2])["size"], len(inner))

    def test_a_body_that_is_wrong_later(self):
        raw = self.raw("/sink", "POST", "Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\nzz\r\n")
        said, _ = raw.rest()
        self.assertEqual(said[:12], b"HTTP/1.1 400")
        raw = self.raw("/duplex", "POST", "Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n")
        raw.until(b"hello\r\n")
        said, _ = raw.send(b"zz\r\n").rest()
        self.assertEqual(said, b"")


class Private(Ports):
    def setUp(self):
        super().setUp()
        self.own = self.create()
        self.listen(self.own)

    def test_by_default(self):
        self.assertRegex(self.own.traffic, "^[A-Za-z0-9]{32}$")
        self.assertIsNone(self.box.traffic)
        other = self.create(network={"allowPublicTraffic": False})
        asks = ({}, {TOKEN: ""}, {TOKEN: "x"}, {TOKEN: other.traffic}, {TOKEN: self.own.token}, {TOKEN: self.own.traffic[:-1]},
                {TOKEN: self.own.traffic + "x"}, {"X-API-Key": self.client.key}, {"X-Access-Token": self.own.token},
                {"Authorization": f"Bearer {self.own.traffic}"})
        by_fields = {"E2b-Sandbox-Id": self.own.name, "E2b-Sandbox-Port": "8000"}
        for fields in asks:
            self.expect_status(self.ask(box=self.own, fields=fields), 403, "trafficAccessToken")
            self.expect_status(self.client.ask("GET", "/head", None, {**by_fields, **fields}, key=False), 403)
            self.expect_status(self.client.ask("GET", f"/sandboxes/{self.own.name}/ports/8000/", None, fields, key=False), 403)
        answer = self.ask(box=self.own, fields={TOKEN: self.own.traffic})
        self.assertEqual(answer.status, 200, answer)
        self.assertNotIn(self.own.traffic.encode(), answer.body)
        self.assertNotIn(b"traffic", answer.body.lower())
        # Port 49983 has a token of its own.
        self.assertEqual(self.own.ask("GET", "/health").status, 204)

    def test_the_interpreters_port(self):
        for box, fields, status in ((self.own, {}, 403), (self.own, {TOKEN: "x"}, 403), (self.own, {TOKEN: self.own.traffic}, 200),
                                    (self.own, {"X-Access-Token": self.own.token}, 200), (self.box, {}, 200)):
            answer = self.ask("/contexts", box=box, port=49999, fields=fields)
            self.assertEqual(answer.status, status, (fields, answer))

    def test_whether_there_is_a_port_is_not_told(self):
        self.expect_status(self.ask(box=self.own, port=1234), 403)

    def test_it_is_the_same_later(self):
        handle = self.client.ask("POST", f"/v2/sandboxes/{self.own.name}/connect", {}).json()
        self.assertEqual(handle["trafficAccessToken"], self.own.traffic)
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.assertEqual(self.ask(box=self.own, fields={TOKEN: self.own.traffic}).status, 200)
        self.expect_status(self.ask(box=self.own), 403)
        self.assertEqual(self.ask().status, 200)
        self.assertEqual(self.client.ask("PUT", f"/sandboxes/{self.box.name}/network", {"allowPublicTraffic": False}).status // 100, 4)

    def test_wrong_wishes(self):
        for wrong in ("yes", 1, [], {}):
            answer = self.client.ask("POST", "/v2/sandboxes", {"templateID": "base", "network": {"allowPublicTraffic": wrong}})
            self.expect_status(answer, 400, "allowPublicTraffic")

    def test_a_page_may_ask_whether_it_may_send_the_token(self):
        fields = {"Origin": "http://x", "Access-Control-Request-Method": "GET"}
        answer = self.ask("/x", "OPTIONS", box=self.own, fields={**fields, "Access-Control-Request-Headers": "a, " + TOKEN})
        self.assertEqual(answer.status, 204, answer)
        self.expect_status(self.ask("/x", "OPTIONS", box=self.own, fields=fields), 403)

    def test_a_key_that_is_revoked(self):
        answer = self.client.ask("POST", "/api-keys", {"name": "tenant", "scope": {}})
        self.assertEqual(answer.status, 201, answer)
        tenant = Client(self.server.port, answer.json()["key"])
        private, public = self.create(tenant), self.create(tenant, **PUBLIC)
        self.listen(private)
        self.listen(public)
        raws = []
        for box, more in ((private, f"{TOKEN}: {private.traffic}\r\n"), (public, "")):
            raw = Raw(self.server.port)
            self.addCleanup(raw.socket.close)
            raw.send(f"GET /upgrade HTTP/1.1\r\nHost: {self.host(box)}\r\n{Tunnels.ASK}{more}\r\n").until(b"\r\n\r\n")
            raws.append(raw)
        self.expect_status(self.client.ask("DELETE", f"/api-keys/{answer.json()['id']}"), 204)
        for raw in raws:
            self.assertEqual(raw.rest()[0], b"")
        self.expect_status(self.ask(box=private, fields={TOKEN: private.traffic}), 403)
        handle = self.client.ask("POST", f"/v2/sandboxes/{private.name}/connect", {}).json()
        self.assertNotEqual(handle["trafficAccessToken"], private.traffic)
        self.assertEqual(self.ask(box=private, fields={TOKEN: handle["trafficAccessToken"]}).status, 200)


class Open(Ports):
    OPTIONS = ("--default-ports", "public")

    def test_a_server_that_says_so(self):
        box = self.create()
        self.assertIsNone(box.traffic)
        self.listen(box)
        self.assertEqual(self.ask(box=box).status, 200)
        box = self.create(network={"allowPublicTraffic": False})
        self.expect_status(self.ask(box=box), 403)


class Secure(Ports):
    """With TLS that ends at the server."""

    def begin(self):
        certificate, key = make_certificate(self.folder, "first")
        server = Server(self.folder, "--tls-cert", certificate, "--tls-key", key)
        server.tls = trusting(certificate)
        return server

    def raw(self, *args, **more):
        raw = Raw(self.server.port)
        raw.socket = self.server.tls.wrap_socket(raw.socket, server_hostname="localhost")
        return self.say(raw, *args, **more)

    def test_what_the_program_is_told(self):
        fields = self.head_of()[1]
        self.assertEqual(fields["x-forwarded-proto"], ["https"])
        self.assertTrue(fields["forwarded"][0].endswith(";proto=https"))

    def test_bodies_and_tunnels(self):
        raw = self.raw("/source?5000000")
        self.assertEqual(len(raw.answer()[2]), 5000000)
        raw = self.raw("/upgrade?early", fields=Tunnels.ASK, body=b"at once")
        raw.until(b"\r\n\r\n")
        self.assertEqual(raw.exact(12), b"earlyat once")
        for size in (1, 100, 16384, 50000) * 10:  # in one thread: OpenSSL's connections are one's alone
            sent = os.urandom(size)
            self.assertEqual(raw.send(sent).exact(size), sent)
        self.box.kill()
        self.assertEqual(raw.rest()[0], b"")


class Many(Ports):
    MOST = 256

    def test_of_one_sandbox(self):
        raws = [self.raw("/hang") for _ in range(self.MOST - 1)]
        # One place is left, in which this is asked.
        self.assertTrue(wait_until(lambda: self.states()["threads"] == self.MOST + 1))
        raws.append(self.raw("/hang"))
        self.assertTrue(wait_until(lambda: self.ask("/states").status == 429))
        self.refused(self.ask("/head"), 429, "Too many connections to ports of this sandbox; end some and try again")
        # Others have their own.
        other = self.create(**PUBLIC)
        self.listen(other)
        self.assertEqual(self.ask(box=other).status, 200)
        for raw in raws:
            raw.socket.close()
        self.assertTrue(wait_until(lambda: self.ask("/states").status == 200))
        self.assertTrue(wait_until(lambda: self.states()["threads"] == 2))

    def test_asked_at_once(self):
        """More than the sandbox's starter reads at once, of a program whose queue is short."""
        def ask_some():
            for _ in range(10):
                statuses.append(self.ask("/head").status)
        statuses = []
        threads = [threading.Thread(target=ask_some) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(statuses), {200})
        self.assertEqual(len(statuses), 1000)

    def test_nothing_is_left(self):
        self.ask()
        before = self.descriptors()
        for path in ("/head", "/silent", "/short", "/garbage", "/early"):
            for _ in range(20):
                try:
                    self.ask(path)
                except (http.client.HTTPException, OSError):
                    pass
        for _ in range(20):
            self.ask(port=1)
        self.assertTrue(wait_until(lambda: self.descriptors() <= before))
        self.assertTrue(wait_until(lambda: self.states()["threads"] == 2))


if __name__ == "__main__":
    main(sys.modules[__name__])
