#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox serve: its start and end, the control plane, and that nothing is lost when it is killed."""
import collections
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPException

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, is_alive, main, wait_until  # noqa: E402
from server_client import KEY, Cut, Server, Served  # noqa: E402


def glovebox(*words, **more):
    return subprocess.run([GLOVEBOX, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, **more)


def listed():
    return {s["name"] for s in json.loads(glovebox("ps", "--json").stdout)}


class Start(Case):
    def test_makes_a_key_once_and_says_what_to_paste(self):
        words = [GLOVEBOX, "serve", "--listen", "0", "--state", self.path("state")]
        for is_first in (True, False):
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            said = b""
            while b"agent.py" not in said:
                line = process.stdout.readline()
                self.assertTrue(line, process.stderr.read() if process.poll() is not None else said)
                said += line
            process.terminate()
            self.assertEqual(process.wait(LIMIT), 0)
            process.stdout.close()
            process.stderr.close()
            self.assertRegex(said, rb"E2B_API_KEY=e2b_[0-9a-f]{40} " if is_first else rb"E2B_API_KEY=\.\.\.")
            with open(self.path("agent.py"), "w", encoding="utf-8") as f:
                f.write("import os; print(os.environ['E2B_API_URL'], os.environ['E2B_SANDBOX_URL'], os.environ['E2B_API_KEY'])")
            lines = said.partition(b"\n\n")[2].decode()
            pasted = subprocess.run(["bash", "-c", lines], cwd=self.folder, capture_output=True, timeout=LIMIT, check=True)
            self.assertRegex(pasted.stdout, rb"\A(http://127\.0\.0\.1:\d+) \1 (e2b_[0-9a-f]{40}|\.\.\.)\n\Z")

    def test_says_where_it_is(self):
        """Also when the port was not chosen, and where all addresses are meant."""
        for listen, said in (("0", "127.0.0.1"), ("127.0.0.2:0", "127.0.0.2"), ("[::1]:0", "[::1]"), ("0.0.0.0:0", "127.0.0.1"),
                             ("[::]:0", "127.0.0.1")):
            with self.subTest(listen):
                words = [GLOVEBOX, "serve", "--listen", listen, "--state", self.path("state"), "--allow-plain-http"]
                with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                    line = process.stdout.readline().decode()
                    found = re.fullmatch(r"glovebox serves on http://(.*):(\d+)\n", line)
                    self.assertEqual(found and found[1], said, line)
                    with socket.create_connection((said.strip("[]"), int(found[2])), LIMIT) as s:
                        s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                        self.assertIn(b" 200 ", s.recv(4096))
                    process.terminate()

    def test_refuses_what_is_wrong(self):
        private, shared = self.path("private"), self.path("shared")
        os.mkdir(private, 0o700)
        os.mkdir(shared, 0o755)
        wrong = [
            (["--listen", "localhost:1"], "not an address"),
            (["--listen", "127.0.0.1:99999"], "not an address"),
            (["--listen", "0.0.0.0:0", "--state", private], "other machines reach that"),
            (["--listen", "[::]:0", "--state", private], "other machines reach that"),
            (["--listen", "0", "--state", shared], "others can reach into it"),
            (["--listen", "0", "--state", self.path("file", "")], "give a folder"),
            (["--api-key-file", self.path("key", "e2b_short")], "no key in it"),
            (["--api-key-file", self.path("none")], "No such file"),
            (["--default-egress", "some"], "neither allow nor deny"),
            (["--domain", "A B"], "not a name"),
            (["--port", "80"], "--listen"),
            (["true"], "starts no command"),
        ]
        for words, why in wrong:
            with self.subTest(words):
                self.expect_refused(glovebox("serve", *words), why)

    def test_a_state_folder_has_one_server(self):
        server = Server(self.folder)
        self.addCleanup(server.end)
        done = glovebox("serve", "--listen", "0", "--state", server.state)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"another glovebox serve uses this state folder", done.stderr)

    def test_a_port_has_one_server(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = str(s.getsockname()[1])
            self.expect_refused(glovebox("serve", "--listen", port, "--state", self.path("state")), "Address already in use")


# Runs the words behind it where landlock_create_ruleset(2), 444, is ENOSYS, as on a machine without Landlock.
WITHOUT_LANDLOCK = """
import ctypes, os, struct, sys
rows = (0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(program)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


class WithoutLandlock(Case):
    PREFIX = ("python3", "-c", WITHOUT_LANDLOCK)

    def test_it_does_not_start(self):
        with self.assertRaisesRegex(AssertionError, "landlock: .*; see glovebox doctor"):
            Server(self.folder, prefix=self.PREFIX)


class Jail(Served):
    def test_what_it_gave_up(self):
        """As its kernel tells it; a look from outside, where there is a right to it."""
        pid = self.server.child()
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        self.assertEqual(status["NoNewPrivs"], "1")
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        if b"-fsanitize" not in subprocess.run(["/usr/bin/strings", "-n", "10", GLOVEBOX], capture_output=True,
                                               check=False).stdout and "b_sanitize" not in os.environ:
            self.assertIn(status["Seccomp"], ("2", "0"))
        own = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("net", "pid", "mnt", "ipc", "uts", "user")}
        for name, namespace in own.items():
            if os.access(f"/proc/{pid}/ns/{name}", os.R_OK):
                self.assertNotEqual(os.readlink(f"/proc/{pid}/ns/{name}"), namespace, name)

    def test_a_failed_server_is_started_again(self):
        box = self.client.create()
        first = self.server.child()
        os.kill(first, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.child() not in (None, first)))
        self.assertEqual(box.run("/bin/echo", "here").out, b"here\n")
        self.assertIn("it is started again", self.server.said())


class Control(Served):
    def test_keys(self):
        for key, why in ((None, "missing"), ("e2b_" + "0" * 40, "Invalid"), ("x", "Invalid"), (KEY[:-1], "Invalid")):
            answer = self.client.ask("GET", "/v2/sandboxes", key=False, fields={"X-API-Key": key} if key else {})
            self.expect_status(answer, 401, why)
        self.expect_status(self.client.ask("GET", "/health", key=False), 200)

    def test_life(self):
        made = self.client.ask("POST", "/v2/sandboxes", {"templateID": "base", "metadata": {"a": "b"}})
        self.expect_status(made, 201)
        name = made.json()["sandboxID"]
        self.assertRegex(name, r"\Ai[a-z0-9]{20}\Z")
        self.assertIn(name, listed())
        detail = self.client.ask("GET", f"/sandboxes/{name}").json()
        self.assertEqual((detail["state"], detail["metadata"]), ("running", {"a": "b"}))
        self.assertEqual([b["sandboxID"] for b in self.client.ask("GET", "/v2/sandboxes").json()], [name])
        self.assertEqual([b["sandboxID"] for b in self.client.ask("GET", "/sandboxes").json()], [name])
        self.expect_status(self.client.ask("DELETE", f"/sandboxes/{name}"), 204)
        self.expect_status(self.client.ask("DELETE", f"/sandboxes/{name}"), 404, name)
        self.assertTrue(wait_until(lambda: name not in listed()))

    def test_old_route_of_create(self):
        made = self.client.ask("POST", "/sandboxes", {"templateID": "base", "timeout": 300, "secure": True,
                                                      "allow_internet_access": True, "unknown": [1]})
        self.expect_status(made, 201)

    def test_refuses_bad_bodies(self):
        bad = [(b"", 400), (b"[]", 400), (b"{", 400), (b'{"templateID":1}', 400), (b'{"templateID":"base","timeout":0}', 400),
               (b'{"templateID":"base","timeout":-5}', 400), (b'{"templateID":"base","timeout":"9"}', 400),
               (b'{"templateID":"base","metadata":{"a":1}}', 400), (b'{"templateID":"base","envVars":{"A=B":"c"}}', 400),
               (b'{"templateID":"base","metadata":[]}', 400), (b'{"templateID":"nosuch"}', 404),
               (b'{"templateID":"base","templateID":"base"}', 400), (b"\xff", 400), (b"[" * 100000, 400),
               (b'{"a":"' + b"x" * 300000 + b'"}', 413),
               (b'{"templateID":"base","network":{"allowOut":["example.com"]}}', 400),
               (b'{"templateID":"base","network":{"denyOut":["example.com"]}}', 400)]
        for body, status in bad:
            with self.subTest(body[:60]):
                answer = self.client.ask("POST", "/v2/sandboxes", body, {"Content-Type": "application/json"})
                self.expect_status(answer, status, ".")
        self.assertEqual(self.client.ask("GET", "/v2/sandboxes").json(), [])

    def test_what_is_not_offered_says_so(self):
        name = self.client.create().name
        for method, path in (("POST", f"/sandboxes/{name}/pause"), ("POST", f"/sandboxes/{name}/fork"), ("POST", f"/sandboxes/{name}/snapshots"),
                             ("GET", "/snapshots"), ("POST", "/v3/templates"), ("GET", "/volumes"), ("GET", "/secrets")):
            with self.subTest(path):
                self.expect_status(self.client.ask(method, path, {} if method == "POST" else None), 501, "not offered yet;")

    def test_its_time_is_kept(self):
        box = self.client.create(timeout=300)
        began = time.monotonic()
        self.expect_status(self.client.ask("POST", f"/sandboxes/{box.name}/timeout", {"timeout": 1}), 204)
        self.assertTrue(wait_until(lambda: box.ask("GET", "/health").status == 502))
        self.assertGreater(time.monotonic() - began, 0.8)
        self.assertTrue(wait_until(lambda: box.name not in listed()))

    def test_connect_only_extends(self):
        box = self.client.create(timeout=300)

        def end():
            return self.client.ask("GET", f"/sandboxes/{box.name}").json()["endAt"]
        before = end()
        self.expect_status(self.client.ask("POST", f"/sandboxes/{box.name}/connect", {"timeout": 5}), 200)
        self.expect_status(self.client.ask("POST", f"/v2/sandboxes/{box.name}/connect", {"timeout": 5}), 200)
        self.assertEqual(end(), before)
        self.expect_status(self.client.ask("POST", f"/v2/sandboxes/{box.name}/connect", {"timeout": 4000}), 200)
        self.assertGreater(end(), before)

    def test_pages(self):
        names = [self.client.create(metadata={"n": str(i), "a b": "c&d"}).name for i in range(3)]
        found, token = [], ""
        while token is not None:
            answer = self.client.ask("GET", f"/v2/sandboxes?limit=1&metadata=a%252520b%3Dc%252526d&nextToken={token}")
            found += [b["sandboxID"] for b in answer.json()]
            token = answer.fields.get("x-next-token") or answer.fields.get("X-Next-Token")
        self.assertEqual(sorted(found), sorted(names))
        self.assertEqual(self.client.ask("GET", "/v2/sandboxes?metadata=n%3D7").json(), [])

    def test_metrics(self):
        box = self.client.create()
        path = f"/sandboxes/{box.name}/metrics"
        self.assertTrue(wait_until(lambda: self.client.ask("GET", path).json()))
        sample = self.client.ask("GET", path).json()[0]
        self.assertEqual((sample["memTotal"], sample["diskTotal"], sample["cpuCount"]), (2 << 30, 10 << 30, 2))
        self.assertGreater(sample["memUsed"], 0)
        box.start("/bin/sh", "-c", "head -c 30000000 /dev/zero >/tmp/x; while :; do :; done").next()
        self.assertTrue(wait_until(lambda: self.client.ask("GET", path).json()[-1]["cpuUsedPct"] > 1))
        self.assertTrue(wait_until(lambda: 30000000 <= self.client.ask("GET", path).json()[-1]["diskUsed"] < 31000000))
        with stopped(box_kernel(box)):
            count = len(self.client.ask("GET", path).json())
            self.assertTrue(wait_until(lambda: len(self.client.ask("GET", path).json()) > count))
            last = self.client.ask("GET", path).json()[-1]
        self.assertEqual(last["cpuUsedPct"], 0)
        self.assertGreaterEqual(last["diskUsed"], 30000000)
        self.assertEqual(self.client.ask("GET", f"/sandboxes/{box.name}/metrics?start=1&end=2").json(), [])


def box_kernel(box):
    """The process that is the kernel of its sandbox."""
    return json.loads(subprocess.run([GLOVEBOX, "inspect", "--json", box.name], capture_output=True, check=True).stdout)["pid"]


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Killed(Served):
    MEMORY = (512 << 20) + os.getpid() * 4096  # by which its sandboxes are told from others'
    OPTIONS = ("--memory", str(MEMORY))

    def own(self):
        return {s["name"] for s in json.loads(glovebox("ps", "--json").stdout)
                if s["limits"]["memory_bytes"] == self.MEMORY}

    def test_sandboxes_outlive_it(self):
        """SIGKILL to launcher and server, while creations are under way: nothing that a client was told of is lost."""
        boxes = [self.client.create(metadata={"i": str(i)}) for i in range(3)]
        stream = boxes[0].start("/bin/sh", "-c", "echo one; sleep 1000")
        stream.read_until(b"one")
        self.server.stop(signal.SIGKILL)
        with self.assertRaises(Cut):
            stream.next()
        stream.close()
        for box in boxes:
            self.assertIn(box.name, listed())
        self.server.start()
        found = {b["sandboxID"]: b["metadata"] for b in self.client.ask("GET", "/v2/sandboxes").json()}
        self.assertEqual(found, {box.name: {"i": str(i)} for i, box in enumerate(boxes)})
        self.assertEqual(boxes[1].run("/bin/echo", "still").out, b"still\n")
        running = boxes[0].call("process.Process/List").json()["processes"]
        self.assertEqual([p["pid"] for p in running], [stream.pid])

    def test_again_and_again_under_load(self):
        """Launcher or server are killed while sandboxes are made and ended: what clients were told is so, and of what
        they were not told nothing is lost either."""
        known, asked, ended, done = set(), set(), set(), threading.Event()

        def work(number):
            chance = random.Random(number)
            while not done.is_set():
                try:
                    box = self.client.create(timeout=300)
                    known.add(box.name)
                    box.run("/bin/true")
                    if chance.random() < 0.7:
                        asked.add(box.name)
                        if box.kill().status in (204, 404):
                            ended.add(box.name)
                except (OSError, HTTPException, AssertionError, Cut):
                    time.sleep(0.02)
        workers = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for worker in workers:
            worker.start()
        for kill in (self.server.stop, self.kill_child, self.server.stop):
            before = len(ended)
            wait_until(lambda at=before: len(ended) > at + 3)
            kill(signal.SIGKILL)
            if kill == self.server.stop:
                self.server.start()
        done.set()
        for worker in workers:
            worker.join()

        def found():
            return {b["sandboxID"] for b in self.client.ask("GET", "/sandboxes").json()}
        self.assertTrue(wait_until(lambda: found() == self.own()), (found(), self.own()))
        # Who got no answer to a kill was not told whether it came to that.
        self.assertEqual(known - asked - found(), set())
        self.assertEqual(found() & ended, set())
        told = collections.Counter((e["sandboxId"], e["eventLabel"]) for e in self.events())
        self.assertEqual({told[name, "created"] for name in known}, {1})
        self.assertEqual({told[name, "killed"] for name in ended}, {1})
        self.assertEqual({told[name, "killed"] for name in found()}, {0})
        self.assertEqual({count for count in told.values()}, {1})

    def events(self):
        """All of them; of those that end just now the end is told at once."""
        events = []
        while page := self.client.ask("GET", f"/events/sandboxes?orderAsc=true&limit=100&offset={len(events)}").json():
            events += page
        return events

    def kill_child(self, sig):
        child = self.server.child()
        if child:
            os.kill(child, sig)

    def test_what_ended_meanwhile_is_forgotten(self):
        box = self.client.create()
        self.server.stop(signal.SIGKILL)
        glovebox("kill", box.name)
        self.server.start()
        self.assertEqual(self.client.ask("GET", "/v2/sandboxes").json(), [])
        self.assertEqual(box.ask("GET", "/health").status, 502)

    def test_a_dead_sandbox_is_told(self):
        box = self.client.create()
        stream = box.start("/bin/sleep", "1000")
        stream.next()
        keeper = next(s for s in json.loads(glovebox("ps", "--json").stdout) if s["name"] == box.name)
        process = (keeper["pid"], None)
        os.kill(process[0], signal.SIGKILL)
        with self.assertRaises(Cut):
            stream.next()
        self.assertTrue(wait_until(lambda: box.ask("GET", "/health").status == 502))
        self.assertFalse(is_alive(process))


if __name__ == "__main__":
    main(sys.modules[__name__])
