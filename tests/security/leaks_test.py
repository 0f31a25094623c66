#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a server and its launcher, built with sanitizers, have not given back at a clean end, behind everything that they do; and
whatever else the sanitizers say of them."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from cases import GLOVEBOX, LIMIT, is_sanitized, main, wait_until  # noqa: E402
from server_client import Served  # noqa: E402

NETWORK = {"allowOut": ["a.example"], "denyOut": ["0.0.0.0/0"]}


class Leaks(Served):
    def setUp(self):
        if not is_sanitized():
            self.skipTest("this build has no sanitizers")
        super().setUp()

    def end(self):
        status = self.server.stop()
        said = self.server.said()
        if "LeakSanitizer has encountered a fatal error" in said:
            self.skipTest("the machine lets nobody mount a /proc of his own, in which LeakSanitizer looks")
        self.assertNotRegex(said, "Sanitizer|runtime error")
        self.assertEqual(status, 0, said)

    def test_nothing_was_done(self):
        self.end()

    def test_sandboxes(self):
        box = self.client.create(metadata={"a": "b"}, envVars={"A": "b"}, network=NETWORK)
        self.client.ask("PUT", f"/sandboxes/{box.name}/network", NETWORK)
        self.client.ask("POST", f"/sandboxes/{box.name}/timeout", {"timeout": 100})
        box.run("/bin/sh", "-c", "echo a; echo b >&2", tag="t", envs={"A": "c"}, cwd="/tmp")
        box.run("echo", "x", pty={"size": {"cols": 80, "rows": 24}})
        box.ask("POST", "/files?path=/tmp/f", b"content")
        box.ask("GET", "/files?path=/tmp/f")
        for call, message in (("Stat", {"path": "/tmp/f"}), ("ListDir", {"path": "/tmp"}), ("Move", {"source": "/tmp/f", "destination": "/tmp/g"}),
                              ("Remove", {"path": "/tmp/g"}), ("MakeDir", {"path": "/tmp/d"}), ("CreateWatcher", {"path": "/tmp"})):
            box.call(f"filesystem.Filesystem/{call}", message)
        box.call("process.Process/List")
        for path in (f"/sandboxes/{box.name}", f"/sandboxes/{box.name}/metrics", f"/v2/sandboxes/{box.name}/logs", "/v2/sandboxes", "/metrics",
                     f"/sandboxes/{box.name}/ports/8000/", "/events/sandboxes", "/openapi.json", "/audit", "/nothing"):
            self.client.ask("GET", path)
        stream = box.start("sleep", "600")
        stream.next()
        box.kill()
        stream.close()
        self.assertTrue(wait_until(lambda: not self.client.ask("GET", "/v2/sandboxes").json()))
        self.client.ask("GET", f"/v2/sandboxes/{box.name}/logs")
        self.end()

    def test_what_is_open_at_the_end(self):
        box = self.client.create()
        self.addCleanup(subprocess.run, [GLOVEBOX, "kill", box.name], capture_output=True, timeout=LIMIT, check=False)
        streams = [box.start("sleep", "600") for _ in range(3)]
        for stream in streams:
            stream.next()
        events = self.client.connect()
        events.request("GET", "/events", headers={"X-API-Key": self.client.key})
        events.getresponse()
        self.end()

    def test_keys_and_webhooks(self):
        made = self.client.ask("POST", "/api-keys", {"name": "k", "scope": {"templates": ["base"], "sandboxes": 1}}).json()
        tenant = self.server.client(made["key"])
        tenant.ask("GET", "/v2/sandboxes")
        tenant.ask("POST", "/api-keys", {"name": "x"})
        hook = self.client.ask("POST", "/events/webhooks", {"name": "h", "url": "https://a.example/", "events": ["sandbox.lifecycle.created"],
                                                           "signatureSecret": "s" * 32})
        if hook.status == 201:
            self.client.ask("DELETE", f"/events/webhooks/{hook.json()['id']}")
        self.client.ask("DELETE", f"/api-keys/{made['id']}")
        for body in (b"{", b"[]", b'{"a":1,"a":2}', json.dumps({"templateID": 1}).encode()):
            self.client.ask("POST", "/v2/sandboxes", body)
        self.end()

    def test_a_server_that_is_started_again(self):
        os.kill(self.server.child(), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.child() is not None))
        self.end()


if __name__ == "__main__":
    main(sys.modules[__name__])
