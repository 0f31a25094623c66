#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The access log of glovebox serve: a line for each request, of which nothing is a secret."""
import json
import os
import re
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main, wait_until  # noqa: E402
from server_client import KEY, Served, Server, free_port  # noqa: E402


def read_lines(path):
    with open(path, "rb") as f:
        return f.read().decode("ascii").splitlines()


class Logged(Case):
    """A case with a server that logs to self.log."""

    def serve(self, *options):
        self.log = self.path("access.log")
        self.server = Server(self.folder, "--log-file", self.log, *options)
        self.addCleanup(self.server.end)
        self.client = self.server.client()

    def entries(self):
        return [json.loads(line) for line in read_lines(self.log)]

    def wait_for(self, **wanted):
        """The first entry with these members."""
        def find():
            return next((e for e in self.entries() if wanted.items() <= e.items()), None)
        self.assertTrue(wait_until(find), (wanted, self.entries()))
        return find()


class Access(Logged):
    def test_a_line_for_each_request(self):
        self.serve()
        box = self.client.create()
        made = self.wait_for(method="POST", path="/v2/sandboxes")
        self.assertEqual(set(made), {"time", "level", "request", "client", "key", "keyName", "sandbox", "method", "path", "status", "bytes",
                                     "ms", "cut"})
        self.assertEqual((made["status"], made["keyName"], made["sandbox"], made["cut"]), (201, "owner", None, False))
        self.assertRegex(made["time"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
        self.assertRegex(made["client"], r"\A127\.0\.0\.1:\d+\Z")
        self.assertGreater(made["ms"], 0)
        answer = box.ask("GET", "/files?path=/etc/hostname&username=user")
        read = self.wait_for(path="/files")
        self.assertEqual((read["sandbox"], read["key"], read["status"]), (box.name, None, 200))
        self.assertGreater(read["bytes"], len(answer.body))
        self.assertEqual(read["request"], answer.fields["X-Request-Id"])
        self.client.ask("GET", "/nosuch")
        self.wait_for(path="/nosuch", status=404, key=made["key"], level="warn")
        self.assertEqual((made["level"], read["level"]), ("info", "info"))
        numbers = [e["request"] for e in self.entries()]
        self.assertEqual(len(numbers), len(set(numbers)))

    def test_has_no_secrets(self):
        """Neither keys, tokens nor signatures, wherever they were put; nor what is done with files."""
        self.serve()
        box = self.client.create()
        key = self.client.ask("POST", "/api-keys", {"name": "n"}).json()["key"]
        self.server.client(key).ask("GET", "/sandboxes")
        self.client.ask("GET", f"/files?path=/private&signature=v1_{'S' * 43}", key=False)
        self.client.ask("GET", f"/{KEY}/{key}?{KEY}", key=False, fields={"X-API-Key": KEY + "0"})
        box.ask("GET", f"/files?path=/private/{box.token}", fields={"Authorization": "Basic c2VjcmV0Og=="})
        self.wait_for(keyName="n", path="/sandboxes")
        self.wait_for(path="/files", sandbox=box.name)
        text = "\n".join(read_lines(self.log))
        for secret in (KEY[4:], key[4:], box.token, "SSSS", "private", "c2VjcmV0Og"):
            self.assertNotIn(secret, text)

    def test_hostile_text_stays_in_its_line(self):
        self.serve()
        name = 'a"\n\x1b[31m\x7f\u009b\u202e{"status":1}'
        key = self.client.ask("POST", "/api-keys", {"name": name}).json()["key"]
        self.server.client(key).ask("GET", '/a"b\\%0a%1b')
        found = self.wait_for(path='/a"b\\%0a%1b')
        self.assertEqual(found["keyName"], name)
        self.client.ask("GET", "/" + "x" * 5000)
        self.assertTrue(wait_until(lambda: any(e.get("path", "").endswith("x...") for e in self.entries())))
        for line in read_lines(self.log):
            self.assertLessEqual(len(line), 4096)
            self.assertRegex(line, r"\A[ -~]+\Z")

    def test_what_is_no_request_has_a_line(self):
        self.serve()
        with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as s:
            s.sendall(b"\x16\x03\x01 nothing\r\n\r\n")
            s.recv(100)
        self.wait_for(method="", path="", status=400)

    def test_what_was_cut_says_so(self):
        self.serve()
        box = self.client.create()
        stream = box.start("/bin/sleep", "1000")
        stream.next()
        box.kill()
        self.wait_for(path="/process.Process/Start", status=200, cut=True)
        stream.close()

    def test_text(self):
        self.serve("--log-format", "text")
        self.client.ask("GET", "/sandboxes")
        self.assertTrue(wait_until(lambda: read_lines(self.log)))
        self.assertRegex(read_lines(self.log)[0],
                         r'\A\S+Z info 127\.0\.0\.1:\d+ \w+-\w+ "owner" - "GET" "/sandboxes" 200 \d+ [\d.]+ms\Z')

    def test_goes_on_after_a_restart_and_after_a_rotation(self):
        self.serve()
        self.client.ask("GET", "/first")
        self.wait_for(path="/first")
        child = self.server.child()
        os.kill(child, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.child() not in (None, child)))
        self.client.ask("GET", "/second")
        self.wait_for(path="/second")
        os.rename(self.log, self.log + ".1")
        self.server.process.send_signal(signal.SIGHUP)
        self.assertTrue(wait_until(lambda: os.path.exists(self.log)))
        self.assertTrue(wait_until(lambda: self.client.ask("GET", "/third").status == 404 and "/third" in str(self.entries())))
        self.assertIn("/second", "\n".join(read_lines(self.log + ".1")))
        self.assertEqual(os.stat(self.log).st_mode & 0o777, 0o600)

    def test_a_hangup_ends_who_logs_nowhere(self):
        server = Server(self.folder)
        self.addCleanup(server.end)
        self.assertEqual(server.stop(signal.SIGHUP), 0)

    def test_what_can_not_be_logged_to(self):
        os.symlink("elsewhere", self.path("link"))
        state = self.path("state")
        for words, why in ((["--log-file", self.path("none/log")], "No such file"), (["--log-file", self.path("link")], "symbolic"),
                           (["--log-file", self.folder], "directory"), (["--log-format", "xml"], "neither text nor json")):
            done = subprocess.run([GLOVEBOX, "serve", "--listen", "0", "--state", state, *words], stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=LIMIT, check=False)
            self.expect_refused(done, why)


class Slow(Case):
    def test_a_reader_that_does_not_read_holds_nothing_up(self):
        """What does not fit is lost, and counted when there is room again."""
        key_file = self.path("key", KEY)
        port = free_port()
        reading, writing = os.pipe()
        process = subprocess.Popen([GLOVEBOX, "serve", "--listen", str(port), "--state", self.path("state"), "--api-key-file", key_file,
                                    "--log-file", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writing)
        os.close(writing)
        try:
            while b"API_KEY" not in process.stdout.readline():
                pass
            count = 1500
            with socket.create_connection(("127.0.0.1", port), LIMIT) as s, s.makefile("rb") as answers:
                for _ in range(count):
                    s.sendall(b"GET /" + b"y" * 600 + b" HTTP/1.1\r\nHost: a\r\nX-API-Key: " + KEY.encode() + b"\r\n\r\n")
                    self.assertIn(b" 404 ", answers.readline())
                    size = 0
                    while (line := answers.readline()) != b"\r\n":
                        if line.lower().startswith(b"content-length:"):
                            size = int(line.split(b":")[1])
                    answers.read(size)
            os.set_blocking(reading, False)
            said = bytearray()

            def read():
                try:
                    said.extend(os.read(reading, 1 << 20))
                except BlockingIOError:
                    pass
                return re.search(rb'"lost":(\d+)', said)
            self.assertTrue(wait_until(read))
            lost = int(read()[1])
            lines = [json.loads(line) for line in bytes(said).split(b"\n") if line]
            self.assertGreater(lost, 0)
            self.assertEqual(lost + sum("method" in line for line in lines), count)
        finally:
            process.terminate()
            process.wait(LIMIT)
            process.stdout.close()
            os.close(reading)


class Full(Served):
    """A disk that is full takes no lines; the server serves."""
    OPTIONS = ("--log-file", "/dev/full")

    def test_is_said_once(self):
        for _ in range(5):
            self.assertEqual(self.client.ask("GET", "/sandboxes").status, 200)
        self.assertTrue(wait_until(lambda: "the log can't be written" in self.server.said()))
        self.client.ask("GET", "/sandboxes")
        self.assertEqual(self.server.said().count("the log can't be written"), 1)


if __name__ == "__main__":
    main(sys.modules[__name__])
