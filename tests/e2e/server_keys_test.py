#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""API keys of glovebox serve: what is made with one is seen with it and with those above it; scopes only narrow."""
import itertools
import os
import signal
import sqlite3
import sys
import time

sys.dont_write_bytecode = True
from cases import main, wait_until  # noqa: E402
from server_client import HalfAsked, Served, Server  # noqa: E402


class Keyed(Served):
    def make(self, client=None, status=201, name="k", **scope):
        answer = (client or self.client).ask("POST", "/api-keys", {"name": name, "scope": scope})
        self.expect_status(answer, status)
        return self.server.client(answer.json()["key"]) if status == 201 else answer

    def names(self, client):
        return {b["sandboxID"] for b in client.ask("GET", "/v2/sandboxes").json()}

    def id_of(self, name):
        return next(k["id"] for k in self.client.ask("GET", "/api-keys").json() if k["name"] == name)


class Keys(Keyed):
    def test_tenants_do_not_see_each_other(self):
        one, two = self.make(name="one"), self.make(name="two")
        first, second = one.create(), two.create()
        self.assertEqual((self.names(one), self.names(two)), ({first.name}, {second.name}))
        self.assertEqual(self.names(self.client), {first.name, second.name})
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/timeout"), ("POST", "/connect"), ("POST", "/refreshes"),
                             ("GET", "/metrics"), ("PUT", "/network")):
            answer = two.ask(method, f"/sandboxes/{first.name}{path}", {"timeout": 9} if method in ("POST", "PUT") else None)
            self.expect_status(answer, 404, "doesn't exist")
        answer = first.ask("POST", "/process.Process/List", {}, {"X-Access-Token": second.token})
        self.expect_status(answer, 401)
        self.assertEqual(first.run("/bin/echo", "here").out, b"here\n")

    def test_scopes_only_narrow(self):
        maker = self.make(manageKeys=True, sandboxes=2, timeout=100, egress="named", templates=["base"],
                          expiresAt="2099-01-01T00:00:00Z")
        wider = [{"sandboxes": 3}, {"timeout": 101}, {"egress": "any"}, {"templates": ["code-interpreter-v1"]},
                 {"expiresAt": "2099-01-01T00:00:01Z"}, {"sandboxes": 0}, {"sandboxes": -1}, {"sandboxes": "1"}, {"sandboxs": 1},
                 {"templates": []}, {"egress": "all"}, {"expiresAt": "soon"}, {"readOnly": 1}]
        for scope in wider:
            with self.subTest(scope):
                self.expect_status(self.make(maker, 400, **scope), 400, "scope")
        below = self.make(maker)
        self.expect_status(self.make(below, 403), 403, "may not make")
        made = below.ask("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 101})
        self.expect_status(made, 400, "at most 100 seconds")
        self.expect_status(below.ask("POST", "/v2/sandboxes", {"templateID": "code-interpreter-v1"}), 403, "not for this key")

    def test_public_ports(self):
        self.server.options = ("--default-ports", "public")
        self.server.stop()
        self.server.start()
        maker = self.make(name="maker", manageKeys=True)
        self.assertIsNone(maker.create().traffic)
        private = self.make(maker, name="private", manageKeys=True, publicPorts=False)
        for wider in (True, 1, "no"):
            self.expect_status(self.make(private, 400, publicPorts=wider), 400, "scope")
        for client in (private, self.make(private), self.make(private, publicPorts=False)):
            refused = client.ask("POST", "/v2/sandboxes", {"templateID": "base", "network": {"allowPublicTraffic": True}})
            self.expect_status(refused, 403, "allowPublicTraffic: not with this key")
            self.assertEqual(self.names(client), set())
            for network in ({}, {"allowPublicTraffic": False}, {"allowPublicTraffic": None}):
                box = client.create(network=network)
                self.assertRegex(box.traffic, r"\A[A-Za-z0-9]{32}\Z")
                path = f"/sandboxes/{box.name}/ports/8000/"
                self.expect_status(client.ask("GET", path, key=False), 403, "traffic")
                client.ask("PUT", f"/sandboxes/{box.name}/network", {"allowPublicTraffic": True})
                self.expect_status(client.ask("GET", path, key=False), 403, "traffic")
                box.kill()
            self.assertTrue(wait_until(lambda c=client: self.names(c) == set()))
        scopes = {k["name"]: k["scope"]["publicPorts"] for k in self.client.ask("GET", "/api-keys").json()}
        self.assertEqual((scopes["maker"], scopes["private"]), (True, False))
        self.server.stop(signal.SIGKILL)
        self.server.start()
        refused = private.ask("POST", "/v2/sandboxes", {"templateID": "base", "network": {"allowPublicTraffic": True}})
        self.expect_status(refused, 403, "not with this key")

    def test_streams_of_events_are_shared(self):
        one, two = self.make(name="one"), self.make(name="two")
        statuses = []
        for client in (*[one] * 17, two):
            connection = client.connect()
            self.addCleanup(connection.close)
            connection.request("GET", "/events", headers={"X-API-Key": client.key})
            statuses.append(connection.getresponse().status)
        self.assertEqual(statuses, [200] * 16 + [429, 200])

    def test_limits_count_with_those_below(self):
        maker = self.make(manageKeys=True, sandboxes=2)
        below, other = self.make(maker), self.make(maker, sandboxes=1)
        box = below.create()
        other.create()
        for client in (maker, below, other):
            self.expect_status(client.ask("POST", "/v2/sandboxes", {"templateID": "base"}), 429, "as many sandboxes")
        box.kill()
        self.expect_status(other.ask("POST", "/v2/sandboxes", {"templateID": "base"}), 429)
        below.create()

    def test_names_begin_as_the_key_says(self):
        maker = self.make(manageKeys=True, namePrefix="ab")
        for wider in ("", "a", "b", "ba", "AB", "ab-", "abcdefghi", 1):
            with self.subTest(wider):
                self.expect_status(self.make(maker, 400, namePrefix=wider), 400, "scope.namePrefix")
        for client, pattern in ((maker, r"\Aiab[a-z0-9]{18}\Z"), (self.make(maker), r"\Aiab[a-z0-9]{18}\Z"),
                                (self.make(maker, namePrefix="abcdefgh"), r"\Aiabcdefgh[a-z0-9]{12}\Z")):
            box = client.create()
            self.assertRegex(box.name, pattern)
            self.assertEqual(box.run("/bin/echo", "here").out, b"here\n")
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.assertRegex(maker.create().name, r"\Aiab")

    def test_a_rate(self):
        client = self.make(sandboxesPerMinute=2)
        answers = [client.ask("POST", "/v2/sandboxes", {"templateID": "base"}).status for _ in range(5)]
        self.assertLessEqual(answers.count(201), 4)  # a minute may begin between
        self.assertIn(429, answers)

    def test_a_timeout_that_is_not_given_is_within(self):
        client = self.make(timeout=50)
        box = client.create()
        self.expect_status(client.ask("POST", f"/sandboxes/{box.name}/timeout", {"timeout": 51}), 400)
        self.expect_status(client.ask("POST", f"/sandboxes/{box.name}/connect", {"timeout": 51}), 400)
        self.expect_status(client.ask("POST", f"/sandboxes/{box.name}/timeout", {"timeout": 50}), 204)
        self.expect_status(client.ask("POST", f"/v2/sandboxes/{box.name}/connect"), 200)
        brief = self.make(timeout=10)
        box = brief.create()
        for path, body in (("connect", None), ("refreshes", None), ("refreshes", {"duration": 3})):
            self.assertIn(brief.ask("POST", f"/sandboxes/{box.name}/{path}", body).status, (200, 204), path)

    def test_memory_of_each(self):
        client = self.make(memoryMB=300, cpusThousandths=500)
        box = client.create()
        path = f"/sandboxes/{box.name}/metrics"
        self.assertTrue(wait_until(lambda: client.ask("GET", path).json()))
        self.assertEqual(client.ask("GET", path).json()[0]["memTotal"], 300 << 20)
        detail = client.ask("GET", f"/sandboxes/{box.name}").json()
        self.assertEqual((detail["memoryMB"], detail["cpuCount"]), (300, 1))

    def test_egress(self):
        none, named = self.make(egress="none"), self.make(egress="named")
        all_else = {"denyOut": ["0.0.0.0/0"]}

        def wish(client, **network):
            return client.ask("POST", "/v2/sandboxes", {"templateID": "base", "network": network}).status
        self.assertEqual(wish(none, allowOut=["example.com"], **all_else), 403)
        self.assertEqual(wish(named, allowOut=["192.0.2.1"], **all_else), 403)
        self.assertEqual(wish(named, allowOut=["example.com"], **all_else), 201)
        self.assertEqual(none.ask("POST", "/sandboxes", {"templateID": "base", "allow_internet_access": True}).status, 201)

    def test_read_only(self):
        box = self.client.create()
        client = self.make(name="looks", readOnly=True)
        self.assertEqual(self.names(client), set())
        maker = self.make(manageKeys=True)
        own = maker.create()
        for method, path in (("POST", "/v2/sandboxes"), ("DELETE", f"/sandboxes/{own.name}"), ("POST", "/api-keys")):
            self.expect_status(client.ask(method, path, {} if method == "POST" else None), 403, "may only look")
        self.assertIn("envdAccessToken", self.client.ask("GET", f"/sandboxes/{box.name}").json())
        self.assertNotIn(box.token.encode(), client.ask("GET", f"/sandboxes/{box.name}").body)

    def test_expiry(self):
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 8))
        client = self.make(expiresAt=soon)
        self.expect_status(client.ask("GET", "/v2/sandboxes"), 200)
        self.assertTrue(wait_until(lambda: client.ask("GET", "/v2/sandboxes").status == 401))
        self.expect_status(client.ask("GET", "/v2/sandboxes"), 401, "Invalid API key")

    def test_revoked_with_all_below(self):
        maker = self.make(name="maker", manageKeys=True)
        below = self.make(maker, name="below")
        box = below.create()
        self.expect_status(maker.ask("DELETE", f"/api-keys/{self.id_of('maker')}"), 400, "doesn't revoke itself")
        self.expect_status(below.ask("DELETE", f"/api-keys/{self.id_of('maker')}"), 403)
        self.expect_status(self.client.ask("DELETE", f"/api-keys/{self.id_of('maker')}"), 204)
        for client in (maker, below):
            self.expect_status(client.ask("GET", "/v2/sandboxes"), 401)
        self.assertEqual(self.names(self.client), {box.name})
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.expect_status(below.ask("GET", "/v2/sandboxes"), 401)
        self.assertEqual(self.names(self.client), {box.name})

    def test_revoked_while_it_asks(self):
        """Between the head of a request, which its key was looked up for, and the end of its body."""
        client = self.make(name="gone")
        body = b'{"templateID":"base"}'
        with HalfAsked(self.server.port, "POST", "/v2/sandboxes", len(body), {"X-API-Key": client.key}) as slow:
            self.expect_status(self.client.ask("DELETE", f"/api-keys/{self.id_of('gone')}"), 204)
            self.assertEqual(slow.finish(body).status, 401)
        self.assertEqual(self.names(self.client), set())

    def test_numbers_are_given_once(self):
        """What was done with a key that is no more is not told to who gets the next one."""
        for gap in ("running", "stopped"):
            with self.subTest(gap):
                first = self.make(name="first", manageKeys=True)
                box = first.create()
                number = self.id_of("first")
                self.expect_status(self.client.ask("DELETE", f"/api-keys/{number}"), 204)
                if gap == "stopped":
                    self.server.stop()
                    self.server.start()
                second = self.make(name="second", manageKeys=True)
                self.assertGreater(int(self.id_of("second")), int(number))
                self.assertNotIn(box.name.encode(), second.ask("GET", "/audit").body)
                self.assertIn(box.name.encode(), self.client.ask("GET", "/audit").body)
                self.expect_status(self.client.ask("DELETE", f"/api-keys/{self.id_of('second')}"), 204)

    def test_they_survive(self):
        client = self.make(name="kept", sandboxes=1, egress="none", readOnly=False)
        client.create()
        before = self.client.ask("GET", "/api-keys").json()
        self.server.stop(signal.SIGKILL)
        self.server.start()
        after = self.client.ask("GET", "/api-keys").json()
        self.assertEqual([k["scope"] for k in after], [k["scope"] for k in before])
        self.expect_status(client.ask("POST", "/v2/sandboxes", {"templateID": "base"}), 429)

    def test_names_and_audit(self):
        client = self.make(name="first")
        number = self.id_of("first")
        self.expect_status(self.client.ask("PATCH", f"/api-keys/{number}", {"name": "second"}), 204)
        self.assertEqual(self.id_of("second"), number)
        self.expect_status(self.client.ask("PATCH", f"/api-keys/{number}", {"name": ""}), 400)
        self.expect_status(self.client.ask("PATCH", "/api-keys/99999", {"name": "x"}), 404)
        self.expect_status(self.client.ask("DELETE", "/api-keys/..%2f", None), 404)
        box = client.create()
        box.kill()
        deeds = [(d["what"], d["sandboxID"]) for d in self.client.ask("GET", "/audit").json()]
        self.assertIn(("made an API key", ""), deeds)
        self.assertIn(("created", box.name), deeds)
        self.assertIn(("killed", box.name), deeds)
        self.expect_status(client.ask("GET", "/audit"), 403)
        self.assertNotIn(client.key.encode(), self.client.ask("GET", "/api-keys").body)

    def test_what_others_do_hides_nothing(self):
        client = self.make(name="quiet", manageKeys=True)
        box = client.create()
        self.server.stop()
        records = sqlite3.connect(os.path.join(self.server.state, "server.db"))
        records.executemany("INSERT INTO audit (at_ms, key, sandbox, what) VALUES (0, 1, 'other', 'ended')", [()] * 20000)
        records.commit()
        records.close()
        self.server.start()
        self.assertEqual([d["sandboxID"] for d in client.ask("GET", "/audit").json()], [box.name])

    def test_who_does_much_drives_out_his_own(self):
        """The audit log is full, of the one tenant but for one line of the other's."""
        quiet, busy = self.make(name="quiet", manageKeys=True), self.make(name="busy", manageKeys=True)
        box = quiet.create()
        number = int(self.id_of("busy"))
        self.server.stop()
        records = sqlite3.connect(os.path.join(self.server.state, "server.db"))
        records.executemany("INSERT INTO audit (at_ms, key, sandbox, what, tenant) VALUES (0, ?, 'other', 'ended', ?)",
                            [(number, number)] * 100000)
        records.commit()
        records.close()
        self.server.start()
        for _ in range(20):
            self.make(busy, name="more")
        self.assertIn(box.name, [d["sandboxID"] for d in quiet.ask("GET", "/audit").json()])
        self.server.stop()
        records = sqlite3.connect(os.path.join(self.server.state, "server.db"))
        rows, = records.execute("SELECT count(*) FROM audit").fetchone()
        counted, = records.execute("SELECT sum(count) FROM audit_counts").fetchone()
        records.close()
        self.assertEqual(rows, counted)
        self.assertLess(rows, 100020)
        self.server.start()

    def test_a_tenant_has_its_share_of_keys(self):
        hungry, other = self.make(name="hungry", manageKeys=True), self.make(name="other", manageKeys=True)
        below = self.make(hungry, manageKeys=True)
        for i in range(126):
            self.make(below if i % 2 else hungry)
        for client in (hungry, below):
            self.expect_status(self.make(client, 429), 429, "128 keys of this tenant")
        self.make(other)
        self.make(self.client)
        self.expect_status(self.client.ask("DELETE", f"/api-keys/{self.id_of('hungry')}"), 204)
        self.expect_status(below.ask("GET", "/api-keys"), 401)

    def test_no_key_is_kept(self):
        client = self.make(name="secret")
        self.server.stop()
        for name in ("server.db", "server.db-wal"):
            try:
                with open(f"{self.server.state}/{name}", "rb") as f:
                    self.assertNotIn(client.key[4:].encode(), f.read())
            except FileNotFoundError:
                pass
        self.server.start()


class Full(Keyed):
    """The disk of the records: what can't be recorded has not happened."""
    OPTIONS = ("--webhook-network", "127.0.0.0/8")

    def begin(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a small disk")
        os.mkdir(self.path("state"), 0o700)
        mount = f"mount -t tmpfs -o size=1m,mode=0700 none {self.path('state')} && exec \"$@\""
        return Server(self.folder, *self.OPTIONS, prefix=("unshare", "-m", "sh", "-c", mount, "sh"))

    def fill(self):
        """Until the database has used up the room that it has by itself."""
        self.filler = f"/proc/{self.server.process.pid}/root{self.path('state')}/filler"
        try:
            with open(self.filler, "wb", buffering=0) as f:
                while True:
                    f.write(bytes(1024))
        except OSError:
            pass
        path = f"/api-keys/{self.id_of('other')}"
        names = itertools.cycle(("one", "two"))  # what stays as it is needs no room
        self.assertTrue(wait_until(lambda: self.client.ask("PATCH", path, {"name": next(names)}).status == 507))

    def test_a_key_is_revoked_whole_or_not(self):
        maker, _ = self.make(name="maker", manageKeys=True), self.make(name="other")
        below = self.make(maker, name="below")
        box = below.create()
        hook = {"name": "n", "url": "http://127.0.0.1:1/", "events": ["sandbox.lifecycle.killed"], "signatureSecret": "s"}
        self.expect_status(below.ask("POST", "/events/webhooks", hook), 201)
        port = f"/sandboxes/{box.name}/ports/8000/"
        token = {"e2b-traffic-access-token": box.traffic}
        self.fill()
        self.expect_status(self.client.ask("DELETE", f"/api-keys/{self.id_of('maker')}"), 507, "disk is full; nothing has changed")
        self.assertEqual(self.names(below), {box.name})
        self.assertEqual(len(below.ask("GET", "/events/webhooks").json()), 1)
        self.assertNotEqual(self.client.ask("GET", port, None, token, key=False).status, 403)
        os.remove(self.filler)
        self.expect_status(self.client.ask("DELETE", f"/api-keys/{self.id_of('maker')}"), 204)
        self.expect_status(below.ask("GET", "/v2/sandboxes"), 401)
        self.assertEqual((self.names(self.client), self.client.ask("GET", "/events/webhooks").json()), ({box.name}, []))
        self.expect_status(self.client.ask("GET", port, None, token, key=False), 403, "not the sandbox's traffic token")


if __name__ == "__main__":
    main(sys.modules[__name__])
