#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox serve against clients, disks and files that mean no good."""
import hashlib
import json
import os
import resource
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from cases import LIMIT, Case, is_sanitized, main, rests, wait_until  # noqa: E402
from server_client import KEY, HalfAsked, Served, Server  # noqa: E402

DATABASE = "server.db"
FIRST_RECORDS = """
CREATE TABLE keys (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, shown TEXT NOT NULL, created_ms INTEGER NOT NULL);
CREATE TABLE sandboxes (id TEXT PRIMARY KEY, key INTEGER NOT NULL REFERENCES keys(id), ending INTEGER NOT NULL DEFAULT 0,
    token TEXT NOT NULL, started_ms INTEGER NOT NULL, deadline_ms INTEGER NOT NULL, template TEXT NOT NULL,
    metadata TEXT NOT NULL, env TEXT NOT NULL, network TEXT, internet INTEGER);
CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, key INTEGER, sandbox TEXT, what TEXT NOT NULL);
PRAGMA user_version = 1;
"""
GONE = "i" + "0" * 20


def read_all(s):
    data = b""
    while piece := s.recv(65536):
        data += piece
    return data


def split(answer):
    """Status and content of the first answer in it."""
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), content


def memory_of(pid):
    """What it holds by itself, in bytes."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("RssAnon"))


class Http(Served):
    def connect(self, data=b""):
        s = socket.create_connection(("127.0.0.1", self.server.port), timeout=LIMIT)
        self.addCleanup(s.close)
        s.sendall(data)
        return s

    def test_no_descriptor_for_who_connects(self):
        pid = self.server.child()
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        free = next(fd for fd in range(soft) if not os.path.lexists(f"/proc/{pid}/fd/{fd}"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, hard))
        for _ in range(3):  # a connection before may still be about to be closed
            s = self.connect(b"GET /health HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        self.assertTrue(rests(pid))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        self.assertLess(split(read_all(s))[0], 500)

    def test_no_descriptor_for_a_sandbox_that_was_made(self):
        """It is not lost: who waits for it gets it when there is one again."""
        pid, body = self.server.child(), json.dumps({"templateID": "base"}).encode()
        with HalfAsked(self.server.port, "POST", "/v2/sandboxes", len(body), {"X-API-Key": KEY, "Content-Type": "application/json"}) as asked:
            soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            free = next(fd for fd in range(soft) if not os.path.lexists(f"/proc/{pid}/fd/{fd}"))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, hard))
            asked.socket.sendall(body)
            self.assertTrue(wait_until(lambda: "can't be reached" in self.server.said()))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
            answer = asked.finish(b"")
        self.assertEqual(answer.status, 201, answer)
        listed = [box["sandboxID"] for box in self.client.ask("GET", "/v2/sandboxes").json()]
        self.assertEqual(listed, [answer.json()["sandboxID"]])
        self.assertEqual(self.server.said().count("can't be reached"), 1)
        self.assertEqual(self.client.ask("DELETE", f"/sandboxes/{listed[0]}").status, 204)

    def test_what_is_no_http(self):
        host = b"Host: a.test\r\n"
        for status, data in (
                (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60)),  # TLS
                (400, b"GET / HTTP/1.1\r\n\r\n"),  # without a host
                (400, b"GET / HTTP/1.1\r\n" + host + host + b"\r\n"),
                (400, b"GET /a b HTTP/1.1\r\n" + host + b"\r\n"),
                (400, b"GET /\x00 HTTP/1.1\r\n" + host + b"\r\n"),
                (400, b"GET / HTTP/1.1\r\n" + host + b" X: folded\r\n\r\n"),
                (400, b"GET / HTTP/1.1\r\n" + host + b"X : blank\r\n\r\n"),
                (400, b"POST /v2/sandboxes HTTP/1.1\r\n" + host + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
                (400, b"POST /v2/sandboxes HTTP/1.1\r\n" + host + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
                (400, b"POST /v2/sandboxes HTTP/1.1\r\n" + host + b"Content-Length: +2\r\n\r\n{}"),
                (400, b"POST /v2/sandboxes HTTP/1.1\r\n" + host + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
                (431, b"GET / HTTP/1.1\r\n" + host + b"X: " + b"x" * 100000 + b"\r\n\r\n"),
                (431, b"GET / HTTP/1.1\r\n" + host + b"X: x\r\n" * 5000 + b"\r\n"),
                (505, b"GET / HTTP/2.0\r\n" + host + b"\r\n")):
            with self.subTest(data[:70]):
                got, content = split(read_all(self.connect(data)))
                self.assertEqual(got, status, content)
                self.assertEqual(json.loads(content)["code"], status)
                self.assertTrue(json.loads(content)["message"])

    def test_bodies_that_are_too_large_are_not_read(self):
        head = (f"POST /v2/sandboxes HTTP/1.1\r\nHost: a.test\r\nX-API-Key: {KEY}\r\n"
                "Content-Type: application/json\r\n").encode()
        for rest in (b"Content-Length: 999999999999\r\n\r\n", b"Expect: 100-continue\r\nContent-Length: 999999\r\n\r\n",
                     b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b"[" * 65536 + b"\r\n" + b"ffffffff\r\n" + b"[" * 200000):
            with self.subTest(rest[:60]):
                self.assertEqual(split(read_all(self.connect(head + rest)))[0], 413)

    def test_bodies_of_many_are_bounded_together(self):
        """Whoever has a sandbox's token can begin many large ones: some are refused, and when he leaves there is room again."""
        box, size = self.client.create(), (4 << 20) - 1
        fields = "".join(f"{k}: {v}\r\n" for k, v in box.fields().items())
        head = f"POST /process.Process/List HTTP/1.1\r\nHost: a.test\r\nContent-Length: {size}\r\n{fields}\r\n".encode()
        sent = [self.connect(head + bytes(size - 1)) for _ in range(80)]
        self.assertEqual(select.select(sent, [], [], LIMIT)[0][0].recv(65536).split()[1], b"503")
        for s in sent:
            s.close()
        self.assertTrue(wait_until(lambda: box.call("process.Process/List", {"a": "b" * 4000000}).status == 200))

    def test_half_closed(self):
        s = self.connect(f"GET /v2/sandboxes HTTP/1.1\r\nHost: a.test\r\nX-API-Key: {KEY}\r\n\r\n".encode())
        s.shutdown(socket.SHUT_WR)
        status, content = split(read_all(s))
        self.assertEqual((status, json.loads(content)), (200, []))

    def test_one_behind_the_other(self):
        one = b"GET /health HTTP/1.1\r\nHost: a.test\r\n\r\n"
        s = self.connect(one * 20 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assertEqual(read_all(s).count(b"HTTP/1.1 200"), 21)

    def test_a_key_is_not_told_by_what_is_wrong(self):
        """Whatever else is wrong with a request, who has no key is told only that."""
        for method, path, body in (("POST", "/v2/sandboxes", b"{"), ("GET", "/sandboxes/" + "i" * 21, None),
                                   ("PUT", "/sandboxes/x/network", b"[]"), ("DELETE", "/sandboxes/..%2f..", None)):
            answer = self.client.ask(method, path, body, key=False)
            self.expect_status(answer, 401, ".")


class Files(Served):
    def test_paths(self):
        """A client's path is the sandbox's, whatever it looks like: nothing of the machine is reached by it."""
        secret = self.path("secret", "of the machine")
        box = self.client.create()
        up = "../" * 12
        self.assertEqual(box.run("/bin/sh", "-c", f"ln -s {secret} /tmp/link; ln -s / /tmp/root").end["status"], "exit status 0")
        for path in (secret, up + secret, f"/proc/1/root{secret}", f"/proc/self/root{secret}", f"/proc/self/cwd/{up}{secret}",
                     "/tmp/link", f"/tmp/root{secret}", f"//{secret}", f"/..{secret}"):
            with self.subTest(path):
                answer = box.ask("GET", "/files?path=" + path.replace("/", "%2F"))
                self.assertIn(answer.status, (400, 403, 404), answer)
                self.assertNotIn(b"of the machine", answer.body)
                self.assertNotEqual(box.call("filesystem.Filesystem/Remove", {"path": path}).status, 500)
        self.assertTrue(os.path.exists(secret))

    def test_paths_that_are_none(self):
        box = self.client.create()
        for query in ("path=%00", "path=a%00b", "path=" + "a/" * 3000, "path=%ff%fe", "path=%zz", "path=a&path=%"):
            for method, body in (("GET", None), ("POST", b"")):
                answer = box.ask(method, f"/files?{query}", body)
                self.assertIn(answer.status, (400, 404, 414), (query[:40], answer))
        for path in ("\0", "a\0b", "x" * 300, "a/" * 3000, 7, []):
            for method in ("Stat", "ListDir", "MakeDir", "Remove"):
                answer = box.call(f"filesystem.Filesystem/{method}", {"path": path})
                self.assertIn(answer.status, (400, 404), (method, str(path)[:40], answer))


class Streams(Served):
    def test_who_does_not_read_holds_the_program_up(self):
        """Nothing of what a program writes is collected for a client that does not read; and nothing is lost."""
        box = self.client.create()
        before = memory_of(self.server.child())
        stream = box.start("/bin/sh", "-c", "i=0; while [ $i -lt 300 ]; do head -c 1000000 /dev/zero; i=$((i+1)); echo $i > /tmp/done; done")

        def written():
            return int(box.ask("GET", "/files?path=/tmp/done").body or 0)
        self.assertTrue(wait_until(lambda: box.ask("GET", "/files?path=/tmp/done").status == 200))
        last = [0, 0]

        def rests():
            last.append(written())
            time.sleep(0.2)
            return last[-1] == last[-2] == last[-3]
        self.assertTrue(wait_until(rests))
        self.assertLess(written(), 100)
        if not is_sanitized():
            self.assertLess(memory_of(self.server.child()) - before, 24 << 20)
        size = 0
        while stream.next() is not None:
            size += len(stream.out)
            stream.out = b""
        self.assertEqual(size, 300 * 1000000)
        stream.close()

    def test_streams_have_a_number(self):
        """The one too many is refused; the others go on."""
        box = self.client.create()
        streams = [box.start("/bin/sh", "-c", "read line; echo $line", stdin=True)]
        streams[0].next()
        for _ in range(1100):
            stream = box.stream("process.Process/Connect", {"process": {"pid": streams[0].pid}})
            streams.append(stream)
            message = stream.next()
            if message is None:
                break
        self.assertIsNotNone(streams[-1].error)
        self.assertEqual(streams[-1].error["code"], "resource_exhausted", (len(streams), streams[-1].error))
        error = box.run("/bin/echo", "one").error
        self.assertEqual(error["code"], "resource_exhausted", error)
        for stream in streams:
            stream.close()
        self.assertTrue(wait_until(lambda: box.run("/bin/echo", "one").out == b"one\n"))


class Crowd(Served):
    FILES = 700
    MORE = {"files": FILES}

    def fill(self, data):
        """More connections than it takes, each with this much of a request."""
        for _ in range(self.FILES):
            s = socket.create_connection(("127.0.0.1", self.server.port), timeout=LIMIT)
            self.addCleanup(s.close)
            s.sendall(data)

    def test_of_idle_ones(self):
        self.fill(b"")
        self.assertEqual(self.client.ask("GET", "/health", key=False).status, 200)
        self.client.create().kill()

    def test_of_slow_ones(self):
        self.fill(b"GET / HTTP/1.1\r\nHost:")
        self.assertEqual(self.client.ask("GET", "/health", key=False).status, 200)
        self.client.create().kill()


class Disk(Case):
    """The folder of its records."""

    def serve(self, **more):
        server = Server(self.folder, **more)
        self.addCleanup(server.end)
        return server

    def test_it_is_full(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a small disk")
        os.mkdir(self.path("state"), 0o700)
        mount = f"mount -t tmpfs -o size=1m,mode=0700 none {self.path('state')} && exec \"$@\""
        server = self.serve(prefix=("unshare", "-m", "sh", "-c", mount, "sh"))
        client = server.client()
        first = client.create(metadata={"a": "b"})
        filler = f"/proc/{server.process.pid}/root{self.path('state')}/filler"
        try:
            with open(filler, "wb", buffering=0) as f:
                while True:
                    f.write(bytes(1024))
        except OSError:
            pass

        def refused():
            answer = client.ask("POST", "/v2/sandboxes", {"templateID": "base", "metadata": {"a": "x" * 15000}})
            if answer.status == 201:
                return False
            self.assertEqual(answer.status, 507, answer)
            self.assertRegex(answer.json()["message"], "disk is full; ")
            return True
        self.assertTrue(wait_until(refused))
        self.assertEqual(first.run("/bin/echo", "one").out, b"one\n")
        before = {b["sandboxID"] for b in client.ask("GET", "/sandboxes").json()}
        os.remove(filler)
        after = client.create().name
        self.assertEqual({b["sandboxID"] for b in client.ask("GET", "/sandboxes").json()}, before | {after})

    def refused(self, server, pattern):
        done = subprocess.run(server.words(), stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
        self.expect_refused(done, pattern)

    def test_records_that_cannot_be_used(self):
        server = self.serve()
        box = server.client().create()
        server.stop(signal.SIGKILL)
        database = os.path.join(server.state, DATABASE)
        kept = self.path("kept")
        shutil.copytree(server.state, kept)

        other = sqlite3.connect(database)
        other.execute("BEGIN EXCLUSIVE")
        self.refused(server, "in use|another")
        other.rollback()
        version = other.execute("PRAGMA user_version").fetchone()[0]
        other.execute(f"PRAGMA user_version = {version + 1}")
        other.close()
        self.refused(server, "newer")

        for name in os.listdir(server.state):
            if name.startswith(DATABASE):
                os.remove(os.path.join(server.state, name))
        with open(database, "wb") as f:
            f.write(b"no database" * 1000)
        self.refused(server, "damaged|not a database|none of")

        shutil.rmtree(server.state)
        shutil.copytree(kept, server.state)
        server.start()
        self.assertEqual(box.run("/bin/echo", "still").out, b"still\n")

    def test_records_of_the_first_version(self):
        """All steps of server/schema.h are taken, and what was there counts."""
        server = self.serve()
        server.stop()
        database = os.path.join(server.state, DATABASE)
        new = sqlite3.connect(database)
        newest = new.execute("PRAGMA user_version").fetchone()[0]
        columns = {t: new.execute(f"SELECT name FROM pragma_table_info('{t}') ORDER BY name").fetchall()
                   for t, in new.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        new.close()
        for name in os.listdir(server.state):
            if name.startswith(DATABASE):
                os.remove(os.path.join(server.state, name))
        other_key = KEY[:-1] + "f"
        old = sqlite3.connect(database)
        old.executescript(FIRST_RECORDS)
        for key in (KEY, other_key):
            old.execute("INSERT INTO keys (digest, shown, created_ms) VALUES (?, ?, 1000)",
                        (hashlib.sha256(key.encode()).digest(), key[:8]))
        old.executemany("INSERT INTO audit (at_ms, key, sandbox, what) VALUES (?, ?, ?, ?)",
                        [(1000, 1, GONE, "created"), (2000, 2, GONE, "killed"), (3000, None, None, "strange")])
        old.execute("INSERT INTO sandboxes VALUES (?, 2, 0, 't', 1000, 2000, 'base', '{}', '{}', NULL, 1)", (GONE,))
        old.commit()
        old.close()
        server.start()
        client = server.client()
        self.assertTrue(wait_until(lambda: "ended" in [d["what"] for d in client.ask("GET", "/audit").json()]))
        deeds = [(d["key"], d["sandboxID"], d["what"]) for d in reversed(client.ask("GET", "/audit").json())]
        self.assertEqual(deeds[:4], [(1, GONE, "created"), (2, GONE, "killed"), (0, "", "strange"), (2, GONE, "ended")])
        keys = client.ask("GET", "/api-keys").json()
        self.assertEqual([(k["id"], k["name"], k["scope"]["manageKeys"]) for k in keys], [("1", "owner", True), ("2", "owner", True)])
        self.assertEqual(server.client(other_key).create().run("/bin/echo", "old").out, b"old\n")
        server.stop()
        new = sqlite3.connect(database)
        self.assertEqual(new.execute("PRAGMA user_version").fetchone()[0], newest)
        self.assertEqual(columns, {t: new.execute(f"SELECT name FROM pragma_table_info('{t}') ORDER BY name").fetchall()
                                   for t, in new.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")})
        self.assertEqual(new.execute("SELECT sum(count) FROM audit_counts").fetchone(),
                         new.execute("SELECT count(*) FROM audit").fetchone())
        new.close()
        server.start()


class Unread(Server):
    """What it says goes into a pipe that is full."""

    def start(self):
        self.reading, full = os.pipe()
        os.set_blocking(full, False)
        try:
            while True:
                os.write(full, b"x" * 4096)
        except BlockingIOError:
            pass
        own, self.errors = self.errors, f"/proc/self/fd/{full}"
        super().start()
        os.close(full)
        self.errors = own
        with open(own, "wb"):
            pass


class Deaf(Case):
    def test_who_does_not_read_what_it_says_holds_nobody_up(self):
        server = Unread(self.folder)
        self.addCleanup(server.end)
        before = server.child()
        os.kill(before, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: server.child() not in (None, before)))
        self.assertEqual(server.client().ask("GET", "/v2/sandboxes").status, 200)
        said = b""
        while b"the server failed" not in said:
            self.assertTrue(select.select([server.reading], [], [], LIMIT)[0], said[-1000:])
            piece = os.read(server.reading, 65536)
            self.assertTrue(piece, said[-1000:])
            said += piece
        os.close(server.reading)
        server.stop()


if __name__ == "__main__":
    main(sys.modules[__name__])
