#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Port 49983 of a sandbox, byte for byte: streams with a time of their own, slow readers, messages that are none."""
import contextlib
import json
import os
import socket
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
from cases import LIMIT, main, wait_until  # noqa: E402
from server_client import HalfAsked, Served  # noqa: E402

DEADLINE = "deadline_exceeded"


class Deadlines(Served):
    """Connect-Timeout-Ms: whoever asked is told, and what he looked at goes on."""

    def setUp(self):
        super().setUp()
        self.box = self.client.create()

    def test_of_a_connection_to_a_program(self):
        program = self.box.start("/bin/sleep", "1000")
        program.next()
        seen = self.box.stream("process.Process/Connect", {"process": {"pid": program.pid}},
                               {"Connect-Timeout-Ms": "200"}).finish()
        self.assertEqual((seen.pid, seen.error["code"]), (program.pid, DEADLINE))
        self.assertEqual(self.box.run("/bin/kill", "-0", str(program.pid)).end.get("exitCode", 0), 0)
        program.close()

    def test_of_a_watch(self):
        watch = self.box.stream("filesystem.Filesystem/WatchDir", {"path": "/home/user"}, {"Connect-Timeout-Ms": "200"})
        self.assertEqual(watch.next(), {"start": {}})
        self.assertEqual(watch.finish().error["code"], DEADLINE)

    def test_of_a_program_kills_it(self):
        program = self.box.start("/bin/sleep", "1000", fields={"Connect-Timeout-Ms": "300.0"}).finish()
        self.assertEqual(program.error["code"], DEADLINE)
        self.assertTrue(wait_until(lambda: self.box.run("/bin/kill", "-0", str(program.pid)).end.get("exitCode", 0) != 0))

    def test_one_that_is_no_number(self):
        for value in ("", "-1", "1.", ".5", "1.5s", "1..5", "1s", "0x10", "12345678901", "9" * 40):
            with self.subTest(value):
                for method, message in (("process.Process/Start", {"process": {"cmd": "/bin/true"}}),
                                        ("process.Process/Connect", {"process": {"pid": 1}}),
                                        ("filesystem.Filesystem/WatchDir", {"path": "/"})):
                    said = self.box.stream(method, message, {"Connect-Timeout-Ms": value}).finish()
                    self.assertEqual((said.status, said.error["code"]), (200, "invalid_argument"), method)


class Silence(Served):
    def test_is_broken_as_often_as_wished(self):
        box = self.client.create()
        program = box.start("/bin/sleep", "1000")
        program.next()
        self.addCleanup(program.close)
        for method, message in (("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["1000"]}}),
                                ("process.Process/Connect", {"process": {"pid": program.pid}}),
                                ("filesystem.Filesystem/WatchDir", {"path": "/"})):
            with self.subTest(method):
                stream = box.stream(method, message, {"Keepalive-Ping-Interval": "1"})
                said = [stream.next() for _ in range(3)]
                self.assertIn("start", json.dumps(said[0]))
                self.assertEqual([json.dumps(m) for m in said[1:]].count(json.dumps(said[1])), 2)
                self.assertIn("keepalive", json.dumps(said[1]))
                stream.close()


class Slow(Served):
    def test_a_reader_gets_all_of_a_big_file(self):
        """More than what a connection may hold, to one who always leaves some of it lying."""
        box = self.client.create()
        content = os.urandom(1 << 20) * 24
        self.expect_status(box.ask("POST", "/files?path=big", content, {"Content-Type": "application/octet-stream"}), 200)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
            s.settimeout(LIMIT)
            s.connect(("127.0.0.1", self.server.port))
            fields = "".join(f"{k}: {v}\r\n" for k, v in box.fields().items())
            s.sendall(f"GET /files?path=big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}\r\n".encode())
            pieces = []
            while not pieces or pieces[-1]:
                pieces.append(s.recv(16384))
                time.sleep(0.002)
        got = b"".join(pieces)
        head, _, body = got.partition(b"\r\n\r\n")
        self.assertIn(b" 200 ", head.splitlines()[0])
        self.assertEqual((len(body), body == content), (len(content), True))

    def test_the_head_of_a_file(self):
        box = self.client.create()
        self.expect_status(box.ask("POST", "/files?path=f", b"x" * 300000, {"Content-Type": "application/octet-stream"}), 200)
        answer = box.ask("HEAD", "/files?path=f")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual({k.lower(): v for k, v in answer.fields.items()}["content-length"], "300000")


class Asked(Served):
    """As SDKs of a year ago ask."""

    def test_for_the_control_plane_with_a_sandbox_named_in_fields(self):
        box = self.client.create()
        answer = self.client.ask("POST", f"/sandboxes/{box.name}/connect", {"timeout": 5}, box.fields())
        self.expect_status(answer, 200)
        self.assertEqual(answer.json()["sandboxID"], box.name)
        fields = {**box.fields(port=8000)}
        self.assertEqual(self.client.ask("POST", f"/sandboxes/{box.name}/connect", {"timeout": 5}, fields).status, 403)
        answer = self.client.ask("POST", f"/sandboxes/{box.name}/connect", {"timeout": 5}, box.fields(), key=False)
        self.expect_status(answer, 401)
        fields = {**box.fields(), "Host": f"49983-{box.name}.example.com"}
        self.expect_status(self.client.ask("POST", f"/sandboxes/{box.name}/connect", {"timeout": 5}, fields), 400, "Host")

    def test_for_metrics_with_milliseconds(self):
        box, now = self.client.create(), int(time.time())

        def count(start, end):
            return len(self.client.ask("GET", f"/sandboxes/{box.name}/metrics?start={start}&end={end}").json())
        self.assertTrue(wait_until(lambda: count(now - 60, now + 60)))
        self.assertGreater(count((now - 60) * 1000, (now + 60) * 1000), 0)
        self.assertEqual(count((now - 120) * 1000, (now - 60) * 1000), 0)
        for wrong in ("-1", "1.5", "1e3", "9" * 15):
            self.expect_status(self.client.ask("GET", f"/sandboxes/{box.name}/metrics?start={wrong}"), 400, "start, end")

    def test_for_what_is_not_offered_of_what_is_not_there(self):
        other = self.client.ask("POST", "/api-keys", {"name": "k", "scope": {}}).json()["key"]
        box = self.client.create()
        for path in ("pause", "fork", "snapshots"):
            self.expect_status(self.client.ask("POST", f"/sandboxes/{box.name}/{path}", {}), 501, "not offered")
            self.expect_status(self.server.client(other).ask("POST", f"/sandboxes/{box.name}/{path}", {}), 404, box.name)
            self.expect_status(self.client.ask("POST", f"/sandboxes/nosuch/{path}", {}), 404, "nosuch")


class Ends(Served):
    def test_of_a_sandbox_reset_its_streams(self):
        """An end without the last chunk is taken for a fault of the protocol by some clients; a reset is not."""
        box = self.client.create()
        body = json.dumps({"process": {"cmd": "/bin/sleep", "args": ["1000"]}}).encode()
        fields = "".join(f"{k}: {v}\r\n" for k, v in box.fields().items())
        with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as s:
            s.sendall((f"POST /process.Process/Start HTTP/1.1\r\nHost: x\r\n{fields}Content-Type: application/connect+json\r\n"
                       f"Content-Length: {len(body) + 5}\r\n\r\n").encode() + struct.pack(">BI", 0, len(body)) + body)
            while b"start" not in s.recv(65536):
                pass
            box.kill()
            with self.assertRaises(ConnectionResetError):
                while s.recv(65536):
                    pass

    def test_while_a_request_is_under_way(self):
        """Whose sandbox was looked up for its head, and is gone when its body is whole."""
        message = json.dumps({"process": {"cmd": "/bin/true"}}).encode()
        asked = [(49983, "/process.Process/Start", {"Content-Type": "application/connect+json"},
                  b"\0" + struct.pack(">I", len(message)) + message),
                 (49983, "/process.Process/List", {}, b"{}"),
                 (49983, "/filesystem.Filesystem/Stat", {}, b'{"path":"/"}'),
                 (49983, "/filesystem.Filesystem/CreateWatcher", {}, b'{"path":"/tmp"}'),
                 (49983, "/files?path=a", {"Content-Type": "application/octet-stream"}, b"abc"),
                 (49999, "/execute", {}, b'{"code":"1"}'),
                 (49999, "/contexts", {}, b"{}")]
        box = self.client.create()
        with contextlib.ExitStack() as stack:
            halves = [(path, body, stack.enter_context(HalfAsked(self.server.port, "POST", path, len(body),
                                                                {**box.fields(port), **fields})))
                      for port, path, fields, body in asked]
            box.kill()
            self.assertTrue(wait_until(lambda: b"lifecycle.killed" in self.client.ask("GET", f"/events/sandboxes/{box.name}").body))
            for path, body, half in halves:
                with self.subTest(path):
                    answer = half.finish(body)
                    self.assertEqual((answer.status, answer.json()["message"]), (502, "The sandbox was not found"))

    def test_of_a_body_that_is_too_much_are_seen(self):
        """Whoever goes on sending gets the answer, and no reset in place of it."""
        box = self.client.create()
        answer = box.ask("POST", "/filesystem.Filesystem/Stat", b'"' + b"x" * (30 << 20))
        self.assertEqual(answer.status, 413)


class Terminals(Served):
    def test_are_terminals_for_all_who_are_connected(self):
        box = self.client.create()
        first = box.start("/bin/sh", "-i", pty={"size": {"cols": 80, "rows": 24}}, stdin=None)
        first.next()
        second = box.stream("process.Process/Connect", {"process": {"pid": first.pid}})
        second.next()
        box.call("process.Process/SendInput", {"process": {"pid": first.pid}, "input": {"pty": "ZWNobyAkKCgxKzEpKTsgZXhpdAo="}})
        second.finish()
        self.assertIn(b"2\r\n", second.pty)  # the prompt may stand before it
        self.assertEqual(second.out, b"")
        first.close()

    def test_and_programs_that_are_not_there_are_named(self):
        box = self.client.create()
        for which, name in (({"pid": 99999}, "process with pid 99999 not found"), ({"tag": "t"}, "process with tag t not found")):
            said = box.stream("process.Process/Connect", {"process": which}).finish()
            self.assertEqual(said.error, {"code": "not_found", "message": name})
            answer = box.call("process.Process/SendSignal", {"process": which, "signal": "SIGNAL_SIGKILL"})
            self.assertEqual((answer.status, answer.json()), (404, {"code": "not_found", "message": name}))

    def test_and_users_that_are_not_there(self):
        said = self.client.create().run("/bin/true", user="nobodyhere")
        self.assertEqual(said.error["code"], "unauthenticated")


class Watchers(Served):
    def test_tell_what_an_entry_is(self):
        box = self.client.create()
        name = box.call("filesystem.Filesystem/CreateWatcher", {"path": "/home/user", "includeEntry": True}).json()["watcherId"]
        box.run("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo $i > /home/user/f$i; done; rm /home/user/f1")
        events = []

        def found(kind, path):
            return [e for e in events if e["type"] == f"EVENT_TYPE_{kind}" and e["name"] == path]

        def asked():
            answer = box.call("filesystem.Filesystem/GetWatcherEvents", {"watcherId": name})
            events.extend(answer.json()["events"])
            return found("REMOVE", "f1")
        self.assertTrue(wait_until(asked))
        self.assertEqual([e["entry"]["path"] for e in found("WRITE", "f9")][:1], ["/home/user/f9"])
        self.assertEqual([e["name"] for e in events if e["type"] == "EVENT_TYPE_CREATE"], [f"f{i}" for i in range(1, 10)])
        self.assertNotIn("entry", found("REMOVE", "f1")[0])

    def test_tell_whoever_asks_what_happened_before(self):
        """No waiting, no second question."""
        box = self.client.create()
        for wants_entry in (False, True):
            name = box.call("filesystem.Filesystem/CreateWatcher", {"path": "/tmp", "includeEntry": wants_entry}).json()["watcherId"]
            for i in range(50):
                path = f"f{i}-{wants_entry}"
                box.ask("POST", f"/files?path=/tmp/{path}", b"x", {"Content-Type": "application/octet-stream"})
                events = box.call("filesystem.Filesystem/GetWatcherEvents", {"watcherId": name}).json()["events"]
                self.assertEqual({e["name"] for e in events}, {path}, i)
                self.assertEqual([("entry" in e) for e in events], [wants_entry] * len(events))

    def test_are_bounded_in_each_sandbox(self):
        box, other = self.client.create(), self.client.create()
        made = [box.call("filesystem.Filesystem/CreateWatcher", {"path": "/tmp"}).status for _ in range(33)]
        self.assertEqual(made, [200] * 32 + [429])
        self.assertEqual(other.call("filesystem.Filesystem/CreateWatcher", {"path": "/tmp"}).status, 200)

    def test_many_who_ask_at_once(self):
        """Each is answered, nothing is told twice, and one who leaves takes nothing along."""
        box = self.client.create()
        name = box.call("filesystem.Filesystem/CreateWatcher", {"path": "/tmp", "includeEntry": True}).json()["watcherId"]
        seen, done = [], threading.Event()

        def ask():
            while not done.is_set():
                answer = box.call("filesystem.Filesystem/GetWatcherEvents", {"watcherId": name})
                seen.extend(e["name"] for e in answer.json()["events"] if e["type"] == "EVENT_TYPE_CREATE")
        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        box.run("/bin/sh", "-c", "for i in $(seq 200); do : > /tmp/n$i; done")
        self.assertTrue(wait_until(lambda: len(seen) >= 200), len(seen))
        done.set()
        for asker in askers:
            asker.join()
        self.assertEqual(sorted(seen), sorted(f"n{i}" for i in range(1, 201)))


class Messages(Served):
    """What is no message, or one of another kind."""

    def setUp(self):
        super().setUp()
        self.box = self.client.create()

    def raw(self, method, body, fields=()):
        """What a stream whose request has this body ends with, when it has not begun."""
        answer = self.box.ask("POST", f"/{method}", body, {"Content-Type": "application/connect+json", **dict(fields)})
        self.assertEqual((answer.status, answer.fields["Content-Type"]), (200, "application/connect+json"))
        flags, size = struct.unpack(">BI", answer.body[:5])
        self.assertEqual((flags, size), (2, len(answer.body) - 5))
        return json.loads(answer.body[5:])

    def test_streams_that_begin_with_none(self):
        good = json.dumps({"process": {"cmd": "/bin/true"}}).encode()

        def frame(text, flags=0, size=None):
            return struct.pack(">BI", flags, len(text) if size is None else size) + text
        none = [b"", b"\0\0\0", good, frame(good, 1), frame(good, 2), frame(good, size=len(good) + 1),
                frame(good, size=len(good) - 1), frame(good, size=0xffffffff), frame(good) + frame(good), frame(b"[]"),
                frame(b"{"), frame(b"\xff\xfe"), frame(b'{"process":{"cmd":1},"path":1}'), frame(b"[" * 4000)]
        for method in ("process.Process/Start", "process.Process/Connect", "filesystem.Filesystem/WatchDir"):
            for body in none:
                with self.subTest(f"{method} {body[:20]}"):
                    self.assertRegex(self.raw(method, body)["error"]["code"], "invalid_argument|unimplemented")

    def test_calls_that_are_none(self):
        for body in (b"[]", b"{", b'{"path":1}', b'{"path":"a","path":"b"}', b"\0\0\0\0\2{}", b'{"path":"a\\u0000b"}'):
            with self.subTest(body):
                answer = self.box.ask("POST", "/filesystem.Filesystem/Stat", body, {"Content-Type": "application/json"})
                self.assertEqual((answer.status, answer.json()["code"]), (400, "invalid_argument"))

    def test_a_folder_that_is_none(self):
        self.box.run("/bin/touch", "/home/user/f")
        for path, code in (("/nosuch", "not_found"), ("/home/user/f", "invalid_argument")):
            with self.subTest(path):
                watch = self.box.stream("filesystem.Filesystem/WatchDir", {"path": path})
                self.assertEqual((watch.status, watch.next(), watch.error["code"]), (200, None, code))
                watch.close()
                answer = self.box.call("filesystem.Filesystem/CreateWatcher", {"path": path})
                self.assertEqual(answer.json()["code"], code)


if __name__ == "__main__":
    main(sys.modules[__name__])
