# SPDX-License-Identifier: Apache-2.0
"""glovebox serve for the tests: a server of one's own, and a client that says what it is told to, byte for byte."""
import base64
import http.client
import json
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess

from cases import GLOVEBOX, LIMIT, Case, is_sanitized, wait_until

KEY = "e2b_" + "0123456789abcdef" * 2 + "01234567"


ours = []  # until this program ends


def free_port():
    """One that no other test takes, nor the machine for a connection of somebody's, also while nobody listens there."""
    for port in random.sample(range(20000, 30000), 10000):
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(f"\0glovebox-test-port-{port}")
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            lock.close()
            continue
        ours.append(lock)
        return port
    raise AssertionError("no port is free")


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class HalfAsked:
    """A request whose head has come, and is being looked at, and whose body has not."""

    def __init__(self, port, method, path, size, fields):
        self.socket = socket.create_connection(("127.0.0.1", port), LIMIT)
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n"
                            f"Expect: 100-continue\r\n{head}\r\n".encode())
        said = self.socket.recv(4096)
        if not said.startswith(b"HTTP/1.1 100 "):
            raise AssertionError(f"no 100: {said}")

    def finish(self, body):
        self.socket.sendall(body)
        answer = http.client.HTTPResponse(self.socket)
        answer.begin()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Client:
    """One request after another, each over a connection of its own. tls: an SSLContext, or None."""

    def __init__(self, port, key=KEY, tls=None):
        self.port, self.key, self.tls = port, key, tls

    def connect(self, timeout=LIMIT):
        if self.tls:
            return http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, fields=(), key=True, timeout=LIMIT):
        fields = dict(fields)
        if key and self.key:
            fields.setdefault("X-API-Key", self.key)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def create(self, **body):
        answer = self.ask("POST", "/v2/sandboxes", {"templateID": "base", **body})
        if answer.status != 201:
            raise AssertionError(f"create: {answer}")
        made = answer.json()
        return Box(self, made["sandboxID"], made["envdAccessToken"], made["trafficAccessToken"])


class Box:
    """Port 49983 of a sandbox. traffic: the token of its others; None: they are public."""

    def __init__(self, client, name, token, traffic=None):
        self.client, self.name, self.token, self.traffic = client, name, token, traffic

    def fields(self, port=49983):
        return {"E2b-Sandbox-Id": self.name, "E2b-Sandbox-Port": str(port), "X-Access-Token": self.token}

    def ask(self, method, path, body=None, fields=(), **more):
        return self.client.ask(method, path, body, {**self.fields(), **dict(fields)}, key=False, **more)

    def call(self, method, message=None, **more):
        return self.ask("POST", f"/{method}", message if message is not None else {}, **more)

    def stream(self, method, message, fields=(), timeout=LIMIT):
        return Stream(self, method, message, dict(fields), timeout)

    def start(self, *words, fields=(), timeout=LIMIT, stdin=False, user=None, **more):
        process = {k: more.pop(k) for k in ("cwd", "envs") if k in more}
        message = {"process": {"cmd": words[0], "args": list(words[1:]), **process}, **more}
        if stdin is not None:
            message["stdin"] = stdin
        fields = dict(fields)
        if user:
            fields["Authorization"] = "Basic " + base64.b64encode(f"{user}:".encode()).decode()
        return self.stream("process.Process/Start", message, fields, timeout)

    def run(self, *words, **more):
        return self.start(*words, **more).finish()

    def kill(self):
        return self.client.ask("DELETE", f"/sandboxes/{self.name}")


class Cut(Exception):
    """The stream has ended without its last frame."""


class Stream:
    """A stream of Connect, message by message."""

    def __init__(self, box, method, message, fields, timeout):
        body = json.dumps(message).encode()
        self.connection = box.client.connect(timeout)
        self.connection.request("POST", f"/{method}", b"\0" + struct.pack(">I", len(body)) + body,
                                {**box.fields(), "Content-Type": "application/connect+json", **fields})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.fields = dict(self.answer.getheaders())
        self.out, self.err, self.pty = b"", b"", b""
        self.pid = self.end = self.error = None

    def close(self):
        self.answer.close()
        self.connection.close()

    def next(self):
        """The next message, or None behind the last frame, whose error is then in self.error."""
        try:
            head = self.answer.read(5)
            if len(head) < 5:
                raise Cut
            flags, size = struct.unpack(">BI", head)
            text = self.answer.read(size)
        except (http.client.IncompleteRead, ConnectionError) as e:
            raise Cut from e
        message = json.loads(text)
        if flags & 2:
            self.error = message.get("error")
            return None
        event = message.get("event", {})
        if "start" in event:
            self.pid = event["start"]["pid"]
        for name, data in event.get("data", {}).items():
            attribute = {"stdout": "out", "stderr": "err", "pty": "pty"}[name]
            setattr(self, attribute, getattr(self, attribute) + base64.b64decode(data))
        if "end" in event:
            self.end = event["end"]
        return message

    def finish(self):
        try:
            while self.next() is not None:
                pass
        finally:
            self.close()
        return self

    def read_until(self, pattern, where="out"):
        while not re.search(pattern, getattr(self, where)):
            if self.next() is None:
                raise AssertionError(f"ended without {pattern}: {getattr(self, where)!r} {self.error}")
        return getattr(self, where)


class Server:
    """glovebox serve, until end(); start() again begins a new one with the same state and port."""

    tls = None  # an SSLContext for its clients

    def __init__(self, folder, *options, prefix=(), files=None, port=None):
        """prefix: words in front of glovebox; files: how many descriptors it may have; port: any, if none is given."""
        self.state, self.port, self.options = os.path.join(folder, "state"), port or free_port(), options
        self.prefix, self.files = prefix, files
        self.key_file = os.path.join(folder, "key")
        with open(self.key_file, "w", encoding="utf-8") as f:
            f.write(KEY + "\n")
        self.process = None
        self.errors = os.path.join(folder, "serve.err")
        self.start()

    def words(self):
        return [*self.prefix, GLOVEBOX, "serve", "--listen", str(self.port), "--state", self.state, "--api-key-file",
                self.key_file, *self.options]

    def start(self):
        def limit():
            if self.files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (self.files, self.files))
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=errors, preexec_fn=limit)
        line = self.process.stdout.readline()
        if b"serves on" not in line:
            self.process.wait()
            raise AssertionError(f"serve did not start: {self.said()}")
        while b"API_KEY" not in line:
            line = self.process.stdout.readline()

    def said(self):
        with open(self.errors, encoding="utf-8", errors="replace") as f:
            return f.read()

    def child(self):
        """The process id of the jailed server."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as f:
            for pid in f.read().split():
                with open(f"/proc/{pid}/cmdline", "rb") as line:
                    if line.read().startswith(b"glovebox-server"):
                        return int(pid)
        return None

    def client(self, key=KEY):
        return Client(self.port, key, self.tls)

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        self.process.wait(LIMIT)
        self.process.stdout.close()
        return self.process.returncode

    def end(self):
        """Ends its sandboxes too."""
        try:
            client = self.client()
            for box in client.ask("GET", "/v2/sandboxes?limit=100").json():
                client.ask("DELETE", f"/sandboxes/{box['sandboxID']}")
            wait_until(lambda: not client.ask("GET", "/v2/sandboxes").json())
        except OSError:
            pass
        if self.process.poll() is None:
            self.stop()
        self.expect_no_report()

    def expect_no_report(self):
        """Of a server that is made with sanitizers: an answer was right perhaps, and what was done for it not."""
        report = re.search(r".*(runtime error|Sanitizer: )[\s\S]*", self.said())
        if report:
            raise AssertionError(f"a sanitizer says: {report[0][:4000]}")


class Served(Case):
    """A case with a server."""
    OPTIONS = ()
    MORE = {}

    def begin(self):
        return Server(self.folder, *self.OPTIONS, **self.MORE)

    def setUp(self):
        super().setUp()
        self.server = self.begin()
        self.addCleanup(self.server.end)
        self.client = self.server.client()

    def memory(self):
        """Of the server; 0 when that says nothing."""
        if is_sanitized():
            return 0
        with open(f"/proc/{self.server.child()}/status", encoding="utf-8") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) * 1024

    def expect_status(self, answer, status, message=None):
        """A JSON error, or an answer that is none."""
        self.assertEqual(answer.status, status, answer)
        if message is not None:
            said = answer.json()
            self.assertEqual(said["code"], status)
            self.assertRegex(said["message"], message)
        return answer
