#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network fields of the control plane: what a sandbox reaches, and that it changes under way. What left is asserted at
the other end."""
import json
import os
import re
import select
import signal
import sys

sys.dont_write_bytecode = True
import egress_test  # noqa: E402
from cases import main, wait_until  # noqa: E402
from egress_test import NOTHING, PROLOGUE, network  # noqa: E402
from internet import GOOD, OTHER  # noqa: E402
from exec_test import runtime_folder  # noqa: E402
from server_client import Served, Server  # noqa: E402

ALL = ["0.0.0.0/0"]
HTTP = PROLOGUE + """
import urllib.request
def get(url):
    with urllib.request.urlopen(url, timeout=20) as r:
        return r.read().decode()
"""


class Networked(Served):
    def setUp(self):
        if not egress_test.CAN_RUN:
            self.skipTest("needs root, ip(8) and veth, for network namespaces")
        self.net = network()
        super().setUp()
        self.before = self.net.counts()

    def came_in(self):
        now = self.net.counts()
        return {key: now[key][len(self.before[key]):] if isinstance(now[key], list) else now[key] - self.before[key]
                for key in now}

    def said(self, box, code):
        done = box.run("/usr/bin/python3", "-c", HTTP + f"print({code})")
        self.assertEqual(done.end and done.end["exitCode"], 0, (done.err, done.error))
        return done.out.decode().strip()

    def change(self, box, status=204, **network):
        return self.expect_status(self.client.ask("PUT", f"/sandboxes/{box.name}/network", network), status)


class Network(Networked):
    def test_nothing_unless_it_is_named(self):
        for wish in ({}, {"allow_internet_access": True}, {"network": {"denyOut": ALL}}):
            box = self.client.create(**wish)
            self.assertEqual(self.said(box, f"(became('{GOOD}'), by_name('api.good.test'))"), "('ENETUNREACH', 'NONAME')")
        self.assertEqual(self.came_in(), NOTHING)

    def test_names_and_addresses(self):
        box = self.client.create(network={"allowOut": ["api.good.test", OTHER], "denyOut": ALL})
        self.assertEqual(self.said(box, f"(by_name('api.good.test'), became('{OTHER}'), by_name('evil.test'))"),
                         "('ok', 'ok', 'NONAME')")

    def test_headers_of_rules(self):
        """The server has the field; neither the sandbox's environment nor what is told of it does."""
        box = self.client.create(network={
            "allowOut": ["api.good.test"], "denyOut": ALL,
            "rules": {"api.good.test": [{"transform": {"headers": {"Authorization": "Bearer one-two-three"}}}],
                      "evil.test": [{"transform": {"headers": {"X": "y"}}}]}})
        self.said(box, "get('http://api.good.test/x')")
        self.assertEqual(self.came_in()["authorizations"], ["Bearer one-two-three"])
        self.assertEqual(self.said(box, "by_name('evil.test')"), "NONAME")
        detail = self.client.ask("GET", f"/sandboxes/{box.name}")
        self.assertNotIn(b"one-two-three", detail.body)
        self.assertIn("Authorization", str(detail.json()["network"]["rules"]))
        self.assertNotIn(b"one-two-three", box.run("/bin/sh", "-c", "env; cat /proc/*/environ").out)
        self.server.stop()
        for name in ("server.db", "server.db-wal"):
            try:
                with open(f"{self.server.state}/{name}", "rb") as f:
                    self.assertNotIn(b"one-two-three", f.read())
            except FileNotFoundError:
                pass
        self.server.start()

    def test_it_changes_under_way(self):
        box = self.client.create(network={"allowOut": ["api.good.test"], "denyOut": ALL})
        stream = box.start("/usr/bin/python3", "-u", "-c", HTTP + "s = tcp(look('api.good.test')[0])\nprint('open')\n"
                           "try:\n  print('end', s.recv(10))\nexcept OSError as e:\n  print('end', e)")
        stream.read_until(b"open")
        self.change(box, allowOut=[OTHER], denyOut=ALL)
        self.assertIn(b"end", stream.finish().out)
        self.assertEqual(self.said(box, f"(by_name('api.good.test'), became('{OTHER}'))"), "('NONAME', 'ok')")
        self.change(box)
        self.assertNotEqual(self.said(box, f"became('{OTHER}')"), "ok")
        self.assertEqual(self.client.ask("GET", f"/sandboxes/{box.name}").json()["network"], {})

    def test_what_is_wrong_changes_nothing(self):
        box = self.client.create(network={"allowOut": ["api.good.test"], "denyOut": ALL})
        for wrong, status in (({"allowOut": "api.good.test"}, 400), ({"denyOut": ["evil.test"]}, 400), ({"allowOut": ["a.test"]}, 400),
                              ({"rules": {"h": []}}, 400), ({"rules": {"h": [{"transform": {"headers": {"a": "${secret.X}"}}}]}}, 400),
                              ({"egressProxy": {"address": "x"}}, 403), ({"allow_internet_access": 1}, 400), ({"denyout": ALL}, 400),
                              ({"httpsPorts": [443]}, 400)):
            self.change(box, status, **wrong)
        self.assertEqual(self.said(box, "by_name('api.good.test')"), "ok")

    def test_members_that_are_not_offered(self):
        for network, status in (({"denyout": ALL}, 400), ({"allow_internet_access": False}, 400), ({"httpsPorts": None, "denyOut": ALL}, 201)):
            answer = self.client.ask("POST", "/v2/sandboxes", {"templateID": "base", "network": network})
            self.assertEqual(answer.status, status, (network, answer.body))
            if status == 400:
                self.assertIn("is not offered here", answer.json()["message"])

    def test_one_without_a_network_gets_none(self):
        box = self.client.create()
        self.change(box, 409, allowOut=[OTHER], denyOut=ALL)
        self.assertNotEqual(self.said(box, f"became('{OTHER}')"), "ok")
        for _ in range(2):
            self.assertNotIn("network", self.client.ask("GET", f"/sandboxes/{box.name}").json())
            self.server.stop(signal.SIGKILL)
            self.server.start()

    def test_what_could_not_be_set_is_not_recorded(self):
        box = self.client.create(network={"allowOut": ["api.good.test"], "denyOut": ALL})
        starter = self.starter(box)
        with open(f"/proc/{starter}/task/{starter}/children", encoding="utf-8") as f:
            gateway = next(pid for pid in map(int, f.read().split()) if open(f"/proc/{pid}/comm", encoding="utf-8").read().startswith("glovebox-gate"))
        os.kill(gateway, signal.SIGKILL)
        self.expect_status(self.change(box, 500, allowOut=[OTHER], denyOut=ALL), 500, ".")
        for _ in range(2):
            self.assertEqual(self.client.ask("GET", f"/sandboxes/{box.name}").json()["network"]["allowOut"], ["api.good.test"])
            self.server.stop(signal.SIGKILL)
            self.server.start()

    def test_many_at_once_are_set_in_their_order(self):
        """What is told last, what is recorded and what is in force are the same."""
        box = self.client.create(network={"allowOut": ["api.good.test"], "denyOut": ALL})
        connections = []
        for i in range(8):
            connection = self.client.connect()
            connection.request("PUT", f"/sandboxes/{box.name}/network", json.dumps({"allowOut": [OTHER] if i % 2 else ["api.good.test"], "denyOut": ALL}),
                               {"X-API-Key": self.client.key, "Content-Type": "application/json"})
            connections.append(connection)
        statuses = [c.getresponse().status for c in connections]
        self.assertEqual(set(statuses) - {204, 429}, set())
        self.assertIn(204, statuses)
        for _ in range(2):
            told = self.client.ask("GET", f"/sandboxes/{box.name}").json()["network"]["allowOut"]
            self.assertEqual(self.said(box, "by_name('api.good.test')"), "NONAME" if told == [OTHER] else "ok")
            self.server.stop(signal.SIGKILL)
            self.server.start()

    def test_only_so_many_wait(self):
        box = self.client.create(network={"allowOut": ["api.good.test"], "denyOut": ALL})
        starter = self.starter(box)
        os.kill(starter, signal.SIGSTOP)
        self.addCleanup(os.kill, starter, signal.SIGCONT)
        connections = [self.client.connect() for _ in range(12)]
        for connection in connections:
            connection.request("PUT", f"/sandboxes/{box.name}/network", "{}", {"X-API-Key": self.client.key, "Content-Type": "application/json"})
        self.assertTrue(wait_until(lambda: len(self.readable(connections)) == 4))
        refused = self.readable(connections)
        self.assertEqual({c.getresponse().status for c in refused}, {429})
        os.kill(starter, signal.SIGCONT)
        self.assertEqual({c.getresponse().status for c in connections if c not in refused}, {204})

    def starter(self, box):
        with open(f"{runtime_folder()}/sandboxes/{box.name}", encoding="utf-8") as f:
            return int(re.search(r"^starter=(\d+)$", f.read(), re.M).group(1))

    def readable(self, connections):
        ready, _, _ = select.select([c.sock for c in connections], [], [], 0)
        return [c for c in connections if c.sock in ready]


class Full(Networked):
    """The disk of the records."""

    def begin(self):
        os.mkdir(self.path("state"), 0o700)
        mount = f"mount -t tmpfs -o size=1m,mode=0700 none {self.path('state')} && exec \"$@\""
        return Server(self.folder, prefix=("unshare", "-m", "sh", "-c", mount, "sh"))

    def test_what_cannot_be_recorded_is_not_set(self):
        box = self.client.create(network={"allowOut": ["api.good.test"], "denyOut": ALL})
        filler = f"/proc/{self.server.process.pid}/root{self.path('state')}/filler"
        try:
            with open(filler, "wb", buffering=0) as f:
                while True:
                    f.write(bytes(1024))
        except OSError:
            pass
        padding = [f"{'x' * 50}{i}.example" for i in range(200)]
        told = None
        for i in range(1000):  # until the database has used up the room that it has by itself
            wish = [OTHER] if i % 2 else ["api.good.test"]
            answer = self.client.ask("PUT", f"/sandboxes/{box.name}/network", {"allowOut": wish + padding, "denyOut": ALL})
            if answer.status != 204:
                break
            told = wish
        self.expect_status(answer, 507, "disk is full; nothing has changed")
        now = self.client.ask("GET", f"/sandboxes/{box.name}").json()["network"]["allowOut"]
        self.assertEqual(now[0], told[0] if told else "api.good.test")
        self.assertEqual(self.said(box, "by_name('api.good.test')"), "NONAME" if now[0] == OTHER else "ok")
        os.remove(filler)
        self.change(box, allowOut=[OTHER], denyOut=ALL)
        self.assertEqual(self.said(box, f"(by_name('api.good.test'), became('{OTHER}'))"), "('NONAME', 'ok')")


class Allowed(Networked):
    OPTIONS = ("--default-egress", "allow")

    def test_the_default(self):
        box = self.client.create()
        self.assertEqual(self.said(box, f"(by_name('api.good.test'), became('{OTHER}'), became('127.0.0.1', {self.server.port}))"),
                         "('ok', 'ok', 'ECONNREFUSED')")
        closed = self.client.create(allow_internet_access=False)
        self.assertEqual(self.said(closed, f"became('{OTHER}')"), "ENETUNREACH")
        part = self.client.create(network={"denyOut": [f"{OTHER}/32"]})
        self.assertEqual(self.said(part, f"(by_name('api.good.test'), became('{OTHER}') == 'ok')"), "('ok', False)")


if __name__ == "__main__":
    main(sys.modules[__name__])
