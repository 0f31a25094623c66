#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GET /metrics of glovebox serve: that it is what Prometheus reads, and that it counts."""
import os
import re
import signal
import socket
import sys

sys.dont_write_bytecode = True
from cases import LIMIT, main, wait_until  # noqa: E402
from server_client import KEY, Served  # noqa: E402

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)+)\}})? (\S+)\Z')


def parse(text):
    """{(name, labels): value} and {family: type}; an AssertionError for what the format does not allow."""
    assert text.endswith("\n"), text[-50:]
    samples, types, helps, done = {}, {}, set(), set()
    family = None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helps, line
            helps.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helps and name not in types and kind in ("counter", "gauge", "histogram"), line
            done.add(family)
            types[name], family = kind, name
        else:
            found = SAMPLE.match(line)
            assert found, line
            name, labels, value = found.groups()
            own = re.sub(r"_(bucket|sum|count)\Z", "", name) if types[family] == "histogram" else name
            assert own == family and family not in done, line
            key = (name, tuple(sorted(re.findall(r'([a-z_]+)="([^"]*)"', labels or ""))))
            assert key not in samples, line
            samples[key] = float(value)
    return samples, types


class Metrics(Served):
    def read(self):
        answer = self.client.ask("GET", "/metrics")
        self.assertEqual((answer.status, answer.fields["Content-Type"]), (200, "text/plain; version=0.0.4"))
        return parse(answer.body.decode("ascii"))

    def value(self, name, **labels):
        return self.read()[0].get((name, tuple(sorted(labels.items()))), 0)

    def test_format(self):
        self.client.create().run("/bin/true")
        self.client.ask("GET", '/a"b\\c')
        samples, types = self.read()
        for name, kind in types.items():
            if kind == "counter":
                self.assertTrue(name.endswith("_total"), name)
            if kind == "histogram":
                buckets = [(float(dict(labels)["le"]), value) for (n, labels), value in samples.items() if n == name + "_bucket"]
                self.assertEqual(buckets, sorted(buckets), name)
                self.assertEqual(buckets[-1], (float("inf"), samples[name + "_count", ()]))
        for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds"):
            self.assertGreater(samples[name, ()], 0, name)
        self.assertGreater(samples["glovebox_database_bytes", (("file", "records"),)], 0)
        self.assertEqual(samples["glovebox_server_starts_total", ()], 1)
        self.assertNotIn('a"b', self.client.ask("GET", "/metrics").body.decode())

    def test_requests(self):
        labels = {"method": "GET", "route": "/sandboxes/*", "status": "404"}
        before, times = self.value("glovebox_requests_total", **labels), self.value("glovebox_request_seconds_count")
        for _ in range(3):
            self.client.ask("GET", "/sandboxes/i" + "0" * 20)
        self.assertEqual(self.value("glovebox_requests_total", **labels), before + 3)
        self.assertGreaterEqual(self.value("glovebox_request_seconds_count"), times + 3)
        self.client.ask("NONSENSE", "/nowhere")
        self.assertEqual(self.value("glovebox_requests_total", method="other", route="other", status="404"), 1)
        with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as s:
            s.sendall(b"nothing\r\n\r\n")
            s.recv(1000)
        self.assertTrue(wait_until(lambda: self.value("glovebox_requests_total", method="other", route="other", status="400") == 1))

    def test_sandboxes(self):
        boxes = [self.client.create() for _ in range(2)]
        self.assertEqual(self.value("glovebox_sandboxes", state="running"), 2)
        self.assertEqual(self.value("glovebox_sandbox_start_seconds_count"), 2)
        stream = boxes[0].start("/bin/cat", stdin=True)
        stream.next()
        self.assertEqual(self.value("glovebox_streams"), 1)
        stream.close()
        self.assertTrue(wait_until(lambda: self.value("glovebox_streams") == 0))
        boxes[0].kill()
        self.client.ask("POST", f"/sandboxes/{boxes[1].name}/timeout", {"timeout": 0})
        for cause in ("request", "timeout"):
            self.assertTrue(wait_until(lambda c=cause: self.value("glovebox_sandbox_ends_total", cause=c) == 1), cause)
        self.assertEqual(self.value("glovebox_sandboxes", state="running"), 0)
        key = self.client.ask("POST", "/api-keys", {"name": "n", "scope": {"sandboxesPerMinute": 1}}).json()["key"]
        tenant = self.server.client(key)
        statuses = [tenant.ask("POST", "/v2/sandboxes", {"templateID": "base"}).status for _ in range(3)]
        self.assertEqual(self.value("glovebox_sandbox_failures_total", cause="limit"), statuses.count(429))
        self.assertGreater(statuses.count(429), 0)

    def test_restarts(self):
        child = self.server.child()
        os.kill(child, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.child() not in (None, child)))
        self.assertEqual(self.value("glovebox_server_starts_total"), 2)

    def test_who_may_see(self):
        """An owner, with his key as clients or as Prometheus sends it; what tenants do is not each other's business."""
        self.expect_status(self.client.ask("GET", "/metrics", key=False), 401)
        self.assertEqual(self.client.ask("GET", "/metrics", key=False, fields={"Authorization": f"Bearer {KEY}"}).status, 200)
        key = self.client.ask("POST", "/api-keys", {"name": "n"}).json()["key"]
        self.expect_status(self.server.client(key).ask("GET", "/metrics"), 403, "may not see what others do")


if __name__ == "__main__":
    main(sys.modules[__name__])
