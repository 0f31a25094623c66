#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What breaks servers that were written anew for E2B's SDKs: how bodies are framed, what an answer must have in it and must
not, connections that are kept, and what clients of several years send. Byte for byte, since no SDK sends all of it."""
import gzip
import json
import re
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
from cases import LIMIT, main  # noqa: E402
from server_client import KEY, Served  # noqa: E402


class Wire:
    """One connection, which is kept."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), LIMIT)
        self.buffered = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *pieces, pause=0.0):
        for piece in pieces:
            self.socket.sendall(piece)
            time.sleep(pause)

    def head(self, line, fields):
        self.send("\r\n".join([f"{line} HTTP/1.1", "Host: x", *(f"{k}: {v}" for k, v in fields.items()), "", ""]).encode())

    def fill(self):
        data = self.socket.recv(65536)
        assert data, self.buffered
        self.buffered += data

    def take(self, size):
        while len(self.buffered) < size:
            self.fill()
        taken, self.buffered = self.buffered[:size], self.buffered[size:]
        return taken

    def take_line(self):
        while b"\r\n" not in self.buffered:
            self.fill()
        return self.take(self.buffered.index(b"\r\n") + 2)[:-2]

    def answer(self):
        """(status, fields, body) of the next one."""
        status = int(self.take_line().split()[1])
        fields = {}
        while line := self.take_line():
            name, _, value = line.decode().partition(":")
            fields[name.lower()] = value.strip()
        body = b""
        if fields.get("transfer-encoding") == "chunked":
            while size := int(self.take_line(), 16):
                body += self.take(size)
                self.take_line()
            self.take_line()
        elif status not in (100, 204):
            body = self.take(int(fields["content-length"]))
        return status, fields, body


def chunks(data, size):
    pieces = [data[i:i + size] for i in range(0, len(data), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def form(*parts):
    """multipart/form-data of (the words behind form-data, content)."""
    body = b"".join(b'--b0und\r\nContent-Disposition: form-data; ' + words.encode() + b"\r\n\r\n" + content + b"\r\n"
                    for words, content in parts)
    return body + b"--b0und--\r\n", {"Content-Type": "multipart/form-data; boundary=b0und"}


class Frames(Served):
    API = {"X-API-Key": KEY, "Content-Type": "application/json"}

    def wire(self):
        return Wire(self.server.port)

    def test_bodies_in_chunks_and_a_connection_that_is_kept(self):
        body = json.dumps({"templateID": "base", "metadata": {"a": "b"}}).encode()
        with self.wire() as wire:
            for size in (1, 7, 1000):
                wire.head("POST /v2/sandboxes", {**self.API, "Transfer-Encoding": "chunked"})
                wire.send(chunks(body, size))
                status, _, said = wire.answer()
                self.assertEqual(status, 201, said)
                name = json.loads(said)["sandboxID"]
                wire.head(f"GET /sandboxes/{name}", self.API)
                self.assertEqual(json.loads(wire.answer()[2])["metadata"], {"a": "b"})
                wire.head(f"DELETE /sandboxes/{name}", self.API)
                status, fields, _ = wire.answer()
                self.assertEqual((status, "content-length" in fields, "transfer-encoding" in fields), (204, False, False))
                wire.head(f"DELETE /sandboxes/{name}", self.API)
                status, fields, said = wire.answer()
                self.assertEqual((status, json.loads(said)["code"], fields["content-type"]), (404, 404, "application/json"))

    def test_requests_that_come_in_pieces_and_together(self):
        request = f"GET /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: {KEY}\r\n\r\n".encode()
        with self.wire() as wire:
            wire.send(*(request[i:i + 1] for i in range(len(request))))
            self.assertEqual(wire.answer()[0], 200)
            wire.send(request * 5)
            self.assertEqual([wire.answer()[0] for _ in range(5)], [200] * 5)

    def test_who_asks_whether_to_go_on(self):
        body = b'{"templateID":"base"}'
        with self.wire() as wire:
            wire.head("POST /v2/sandboxes", {**self.API, "Expect": "100-continue", "Content-Length": len(body)})
            self.assertEqual(wire.answer()[0], 100)
            wire.send(body)
            self.assertEqual(wire.answer()[0], 201)

    def test_hundreds_of_connections_that_are_kept(self):
        wires = [self.wire() for _ in range(300)]
        for _ in range(2):
            for wire in wires:
                wire.head("GET /health", {})
            self.assertEqual({wire.answer()[0] for wire in wires}, {200})
        for wire in wires:
            wire.socket.close()

    def test_a_stream_in_pieces_and_laid_out_to_be_read(self):
        box = self.client.create()
        message = json.dumps({"process": {"cmd": "/bin/echo", "args": ["ü"], "unknown": 1}, "later": {}}, indent=4).encode()
        body = struct.pack(">BI", 0, len(message)) + message
        for framing in ("chunked", "length"):
            with self.wire() as wire:
                fields = {**box.fields(), "Content-Type": "application/connect+json", "connect-accept-encoding": "identity",
                          "connect-content-encoding": "identity"}
                fields.update({"Transfer-Encoding": "chunked"} if framing == "chunked" else {"Content-Length": len(body)})
                wire.head("POST /process.Process/Start", fields)
                wire.send(*([chunks(body, 3)] if framing == "chunked" else [body[:3], body[3:50], body[50:]]), pause=0.01)
                status, fields, said = wire.answer()
                self.assertEqual((status, fields["content-type"]), (200, "application/connect+json"))
                found = []
                while said:
                    flags, size = struct.unpack(">BI", said[:5])
                    found.append((flags, json.loads(said[5:5 + size])))
                    said = said[5 + size:]
                self.assertEqual([f for f, _ in found][-1:] + [f for f, _ in found][:-1], [2] + [0] * (len(found) - 1))
                self.assertEqual((list(found[0][1]["event"]), found[-1][1]), (["start"], {}))
                self.assertEqual(found[-2][1]["event"]["end"]["exited"], True)


class Shapes(Served):
    def test_of_a_sandbox(self):
        made = self.client.ask("POST", "/sandboxes", {"templateID": "base"}).json()
        self.assertRegex(made["envdVersion"], r"\A\d+\.\d+\.\d+\Z")
        self.assertEqual((type(made["envdAccessToken"]), type(made["clientID"]), made["templateID"]), (str, str, "base"))
        self.assertNotIn("alias", made)
        detail = self.client.ask("GET", f"/sandboxes/{made['sandboxID']}").json()
        for name, kind in (("templateID", str), ("sandboxID", str), ("clientID", str), ("startedAt", str), ("endAt", str),
                           ("cpuCount", int), ("memoryMB", int), ("diskSizeMB", int), ("state", str), ("envdVersion", str)):
            self.assertIsInstance(detail[name], kind, name)
        for name in ("startedAt", "endAt"):
            self.assertRegex(detail[name], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z\Z")

    def test_of_a_call(self):
        box = self.client.create()
        good = box.call("filesystem.Filesystem/Remove", {"path": "none"})
        self.assertEqual((good.status, good.json(), good.fields["Content-Type"]), (200, {}, "application/json"))
        bad = box.call("filesystem.Filesystem/Stat", {"path": "none", "unknown": [1]})
        self.assertEqual((bad.status, bad.json()["code"], bad.fields["Content-Type"]), (404, "not_found", "application/json"))

    def test_connect_needs_no_body(self):
        box = self.client.create()
        for body in (None, {}, {"memory": True}):
            self.assertEqual(self.client.ask("POST", f"/v2/sandboxes/{box.name}/connect", body).status, 200)

    def test_names_in_a_path_are_decoded_behind_its_parts(self):
        self.expect_status(self.client.ask("DELETE", "/templates/team%2Fname%3Av1"), 501, "not offered")
        self.expect_status(self.client.ask("GET", "/sandboxes/a%2Fmetrics"), 400, ".")

    def test_pages_of_other_origins_may_read(self):
        asked = self.client.ask("OPTIONS", "/v2/sandboxes", key=False, fields={
            "Origin": "https://example.com", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-api-key,content-type"})
        self.assertEqual((asked.status, asked.fields["Access-Control-Allow-Origin"]), (204, "*"))
        answer = self.client.ask("GET", "/v2/sandboxes", fields={"Origin": "https://example.com"})
        self.assertEqual(answer.fields["Access-Control-Expose-Headers"], "*")


class Access(Served):
    def test_a_token_alone_says_whose_port_is_meant(self):
        """As JavaScript's SDK did before 2.16."""
        box, other = self.client.create(), self.client.create()
        box.ask("POST", "/files?path=f", b"mine", {"Content-Type": "application/octet-stream"})
        token = {"X-Access-Token": box.token}
        self.assertEqual(self.client.ask("GET", "/health", key=False, fields=token).status, 204)
        self.assertEqual(self.client.ask("GET", "/files?path=f", key=False, fields=token).body, b"mine")
        token = {"X-Access-Token": other.token}
        self.assertEqual(self.client.ask("GET", "/files?path=f", key=False, fields=token).status, 404)
        self.assertEqual(self.client.ask("GET", "/health", key=False).status, 200)

    def test_fields_are_known_in_any_case(self):
        box = self.client.create()
        fields = {"e2B-sAndbox-iD": box.name, "E2B-SANDBOX-PORT": "49983", "x-aCCess-token": box.token}
        self.assertEqual(self.client.ask("GET", "/envs", key=False, fields=fields).status, 200)

    def test_another_sandbox_s_token(self):
        box, other = self.client.create(), self.client.create()
        for token in ({"X-Access-Token": other.token}, {"X-Access-Token": ""}, {}):
            fields = {"E2b-Sandbox-Id": box.name, "E2b-Sandbox-Port": "49983", **token}
            for path, kind in (("/process.Process/List", "application/json"), ("/process.Process/Start", "application/connect+json")):
                answer = self.client.ask("POST", path, b"{}", {**fields, "Content-Type": kind}, key=False)
                self.expect_status(answer, 401, ".")


class Uploads(Served):
    def setUp(self):
        super().setUp()
        self.box = self.client.create()

    def read(self, path):
        return self.box.ask("GET", f"/files?path={path}").body

    def test_of_forms(self):
        body, fields = form(('name="file"', b"no name"))
        self.assertEqual(self.box.ask("POST", "/files?path=a", body, fields).json(),
                         [{"path": "/home/user/a", "name": "a", "type": "file"}])
        body, fields = form(('name="file"; filename="deep/er/ü.txt"', b"one"), ('name="other"; filename="x"', b"not taken"),
                            ('name="file"; filename="/tmp/b"', b"two"))
        self.assertEqual([f["path"] for f in self.box.ask("POST", "/files", body, fields).json()],
                         ["/home/user/deep/er/ü.txt", "/tmp/b"])
        self.assertEqual((self.read("a"), self.read("deep/er/%C3%BC.txt"), self.read("/tmp/b")), (b"no name", b"one", b"two"))
        body, fields = form(('name="file"; filename="same"', b"1"), ('name="file"; filename="same"', b"2"))
        self.expect_status(self.box.ask("POST", "/files", body, fields), 400, "same")

    def test_packed_and_in_chunks(self):
        content = b"packed " * 200000
        with Wire(self.server.port) as wire:
            wire.head("POST /files?path=z", {**self.box.fields(), "Content-Type": "application/octet-stream",
                                             "Content-Encoding": "gzip", "Transfer-Encoding": "chunked"})
            wire.send(chunks(gzip.compress(content), 1000))
            self.assertEqual(wire.answer()[0], 200)
        self.assertEqual(self.read("z"), content)

    def test_of_what_is_no_such_thing(self):
        for body, fields in ((b"plain", {"Content-Type": "text/plain"}), (b"--x\r\n", {"Content-Type": "multipart/form-data"}),
                             (b"not packed", {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}),
                             (form(('name="file"', b"x"))[0][:-9], {"Content-Type": "multipart/form-data; boundary=b0und"})):
            with self.subTest(fields):
                self.expect_status(self.box.ask("POST", "/files?path=no", body, fields), 400, ".")
        self.assertEqual(self.box.ask("GET", "/files?path=no").status, 404)
        names = [e["name"] for e in self.box.call("filesystem.Filesystem/ListDir", {"path": "."}).json().get("entries", [])]
        self.assertFalse([n for n in names if re.match("no", n)], names)


if __name__ == "__main__":
    main(sys.modules[__name__])
