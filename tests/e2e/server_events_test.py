#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What has happened to sandboxes: /events, /events/sandboxes and logs."""
import json
import os
import signal
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, main, wait_until  # noqa: E402
from server_client import Served  # noqa: E402

DATABASE = "server.db"


class Events(Served):
    def events(self, query="", client=None, of=None):
        answer = (client or self.client).ask("GET", "/events/sandboxes" + (f"/{of}" if of else "") + query)
        self.expect_status(answer, 200)
        return answer.json()

    def labels(self, of, client=None):
        return [e["eventLabel"] for e in self.events("?orderAsc=true&limit=100", client, of)]

    def last(self, of):
        return self.events(of=of)[0]


class History(Events):
    def test_a_life(self):
        box = self.client.create(metadata={"who": "me"})
        self.assertEqual(self.labels(box.name), ["created"])
        self.client.ask("POST", f"/sandboxes/{box.name}/timeout", {"timeout": 100})
        box.kill()
        self.assertTrue(wait_until(lambda: self.labels(box.name) == ["created", "updated", "killed"]))
        created, updated, killed = self.events("?orderAsc=true", of=box.name)
        self.assertEqual(created["eventData"], {"sandbox_metadata": {"who": "me"}})
        self.assertRegex(updated["eventData"]["set_timeout"], r"\A\d{4}-")
        self.assertEqual((killed["type"], killed["eventData"]["cause"]), ("sandbox.lifecycle.killed", "request"))
        self.assertEqual(killed["eventData"]["sandbox_metadata"], {"who": "me"})
        self.assertGreaterEqual(killed["eventData"]["execution"]["execution_time"], 0)
        self.assertEqual(len({created["id"], updated["id"], killed["id"]}), 3)

    def test_causes(self):
        times, dead, crashed = [self.client.create() for _ in range(3)]
        self.client.ask("POST", f"/sandboxes/{times.name}/timeout", {"timeout": 0})
        subprocess.run([GLOVEBOX, "kill", dead.name], capture_output=True, timeout=LIMIT, check=True)
        keeper = next(s for s in json.loads(subprocess.run([GLOVEBOX, "ps", "--json"], capture_output=True, timeout=LIMIT,
                                                           check=True).stdout) if s["name"] == crashed.name)
        os.kill(keeper["pid"], signal.SIGKILL)
        for box, cause in ((times, "timeout"), (dead, "killed"), (crashed, "host-failure|lost")):
            self.assertTrue(wait_until(lambda b=box: self.last(b.name)["eventLabel"] == "killed"), box.name)
            self.assertRegex(self.last(box.name)["eventData"]["cause"], rf"\A({cause})\Z")
        self.assertTrue(self.last(dead.name)["eventData"]["reason"])

    def test_pages(self):
        names = [self.client.create().name for _ in range(3)]
        seen = [self.events(f"?limit=1&offset={i}&types=sandbox.lifecycle.created")[0]["sandboxId"] for i in range(3)]
        self.assertEqual(seen, names[::-1])
        self.assertEqual(self.events("?offset=3"), [])
        self.assertEqual(self.events("?types=sandbox.lifecycle.paused"), [])
        self.assertEqual(len(self.events("?types=sandbox.lifecycle.killed&types=sandbox.lifecycle.created")), 3)
        self.assertEqual(len(self.events("?types=sandbox.lifecycle.killed,sandbox.lifecycle.created")), 3)
        for query in ("limit=0", "limit=101", "limit=x", "offset=-1", "orderAsc=1", "types=a", "types=%", "types=sandbox.lifecycle.created'--"):
            self.expect_status(self.client.ask("GET", f"/events/sandboxes?{query}"), 400, ".")
        self.expect_status(self.client.ask("GET", "/events/sandboxes/A%27"), 400, "invalid sandbox ID")

    def test_a_tenant_sees_its_own(self):
        keys = [self.client.ask("POST", "/api-keys", {"name": n}).json() for n in "ab"]
        tenants = [self.server.client(k["key"]) for k in keys]
        boxes = [t.create() for t in tenants]
        for tenant, own, other in ((tenants[0], *boxes), (tenants[1], *boxes[::-1])):
            self.assertEqual([e["sandboxId"] for e in self.events(client=tenant)], [own.name])
            self.assertEqual(self.events(client=tenant, of=other.name), [])
            self.expect_status(tenant.ask("GET", f"/sandboxes/{other.name}/logs"), 404)
        self.assertEqual(len(self.events()), 2)
        self.expect_status(self.client.ask("DELETE", f"/api-keys/{keys[0]['id']}"), 204)
        self.assertEqual(len(self.events()), 2)
        self.expect_status(tenants[0].ask("GET", "/events/sandboxes"), 401)

    def test_survives(self):
        """Of a sandbox that ended while no server lived it is told afterwards, once."""
        box, living = self.client.create(), self.client.create()
        self.server.stop(signal.SIGKILL)
        subprocess.run([GLOVEBOX, "kill", box.name], capture_output=True, timeout=LIMIT, check=True)
        self.server.start()
        self.assertTrue(wait_until(lambda: self.labels(box.name) == ["created", "killed"]))
        self.server.stop()
        self.server.start()
        self.assertEqual(self.labels(box.name), ["created", "killed"])
        self.assertEqual(self.labels(living.name), ["created"])

    def test_the_cause_survives(self):
        box = self.client.create()
        box.kill()
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.assertTrue(wait_until(lambda: self.labels(box.name) == ["created", "killed"]))
        self.assertEqual(self.last(box.name)["eventData"]["cause"], "request")

    def rows(self, sql, *values):
        """Of the records, which the server has for itself while it runs."""
        records = sqlite3.connect(os.path.join(self.server.state, DATABASE))
        try:
            found = records.execute(sql, values).fetchall()
            records.commit()
            return found
        finally:
            records.close()

    def test_a_tenant_does_not_push_out_others(self):
        quiet, loud = [self.client.ask("POST", "/api-keys", {"name": n, "scope": {"manageKeys": True}}).json() for n in "ab"]
        below = self.server.client(loud["key"]).ask("POST", "/api-keys", {"name": "c"}).json()
        box = self.server.client(quiet["key"]).create()
        other = self.server.client(below["key"]).create()
        self.server.stop()
        for of, name in ((quiet["id"], box.name), (loud["id"], "iloud")):
            have = self.rows("SELECT count FROM event_counts WHERE tenant = ?", of)[0][0]
            self.rows("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO events (uuid, at_ms, key, "
                      "sandbox, type, template, data, tenant) SELECT i, 1, ?, ?, 2, 'base', '{}', ? FROM n",
                      {quiet["id"]: 100, loud["id"]: 19900}[of] - have, of, name, of)
        self.server.start()
        for _ in range(50):
            self.expect_status(self.server.client(below["key"]).ask("POST", f"/sandboxes/{other.name}/timeout", {"timeout": 100}), 204)
        self.server.stop()
        counts = dict(self.rows("SELECT tenant, count FROM event_counts"))
        self.assertEqual(counts, dict(self.rows("SELECT tenant, count(*) FROM events GROUP BY tenant")))
        self.assertEqual((counts[int(quiet["id"])], counts[int(loud["id"])]), (100, 19900))
        self.assertEqual(self.rows("SELECT count(*) FROM events WHERE sandbox = ?", other.name)[0][0], 50)
        self.server.start()
        self.assertEqual(self.labels(box.name)[:2], ["created", "updated"])
        # What a revoked key did is its maker's, and counts for him.
        self.expect_status(self.client.ask("DELETE", f"/api-keys/{loud['id']}"), 204)
        self.server.stop()
        counts = {t: n for t, n in self.rows("SELECT tenant, count FROM event_counts") if n}
        self.assertEqual(counts, dict(self.rows("SELECT tenant, count(*) FROM events GROUP BY tenant")))
        self.assertEqual(counts[int(quiet["id"])], 100)
        self.assertNotIn(int(loud["id"]), counts)
        self.server.start()

    def test_events_that_were_there_before_there_were_tenants(self):
        owner = self.client.ask("GET", "/api-keys").json()[0]["id"]
        tenant = self.client.ask("POST", "/api-keys", {"name": "t", "scope": {"manageKeys": True}}).json()
        below = self.server.client(tenant["key"]).ask("POST", "/api-keys", {"name": "b"}).json()
        for key in (None, tenant["key"], below["key"]):
            (self.server.client(key) if key else self.client).create()
        self.server.stop()
        for sql in ("DROP TRIGGER events_are_more", "DROP TRIGGER events_are_fewer", "DROP TRIGGER events_are_inherited", "DROP TABLE event_counts",
                    "DROP INDEX events_by_tenant", "ALTER TABLE events DROP COLUMN tenant",
                    "DROP TRIGGER audit_is_more", "DROP TRIGGER audit_is_less", "DROP TABLE audit_counts", "DROP INDEX audit_by_tenant",
                    "ALTER TABLE audit DROP COLUMN tenant"):
            self.rows(sql)
        version = self.rows("PRAGMA user_version")[0][0]
        self.rows(f"PRAGMA user_version = {version - 2}")
        self.server.start()
        self.server.stop()
        self.assertEqual(sorted(self.rows("SELECT tenant, count FROM event_counts")), [(int(owner), 1), (int(tenant["id"]), 2)])
        self.server.start()


class Logs(Events):
    def test_lines(self):
        box = self.client.create()
        self.client.ask("POST", f"/sandboxes/{box.name}/timeout", {"timeout": 100})
        path = f"/v2/sandboxes/{box.name}/logs"
        said = self.client.ask("GET", path).json()
        self.assertEqual([line["message"] for line in said["logs"]][0], "sandbox created")
        self.assertRegex(said["logEntries"][1]["message"], r"\Asandbox updated: set_timeout \d{4}-")
        self.assertEqual([line["message"] for line in self.client.ask("GET", path + "?search=created").json()["logs"]], ["sandbox created"])
        self.assertEqual(len(self.client.ask("GET", path + "?limit=1&direction=backward").json()["logs"]), 1)
        self.assertRegex(self.client.ask("GET", path + "?limit=1&direction=backward").json()["logs"][0]["message"], "updated")
        subprocess.run([GLOVEBOX, "kill", box.name], capture_output=True, timeout=LIMIT, check=True)
        self.assertTrue(wait_until(lambda: len(self.client.ask("GET", path + "?level=warn").json()["logs"]) == 1))
        for query in ("limit=1001", "cursor=x", "start=-1", "direction=up", "level=loud", "search=%0"):
            self.expect_status(self.client.ask("GET", f"{path}?{query}"), 400, ".")
        self.expect_status(self.client.ask("GET", f"/sandboxes/i{'0' * 20}/logs"), 404)


class Stream(Events):
    def listen(self, query="", client=None, fields=()):
        client = client or self.client
        connection = client.connect()
        connection.request("GET", "/events" + query, headers={"X-API-Key": client.key, **dict(fields)})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.getheader("Content-Type")), (200, "text/event-stream"))
        self.addCleanup(connection.close)
        self.addCleanup(answer.close)
        self.assertEqual(answer.readline() + answer.readline(), b":\n\n")
        return answer

    def next(self, stream):
        """(number, name, event)"""
        fields = {}
        while True:
            line = stream.readline().decode()
            self.assertTrue(line, "the stream has ended")
            if line == "\n" and fields:
                return int(fields["id"]), fields["event"], json.loads(fields["data"])
            if line.strip() and line[0] != ":":
                name, _, value = line.rstrip("\n").partition(": ")
                fields[name] = value

    def test_as_it_happens(self):
        stream = self.listen()
        box = self.client.create()
        number, name, event = self.next(stream)
        self.assertEqual((name, event["sandboxId"]), ("sandbox.lifecycle.created", box.name))
        box.kill()
        self.assertEqual(self.next(stream)[1], "sandbox.lifecycle.killed")
        again = self.listen(fields={"Last-Event-ID": str(number)})
        self.assertEqual(self.next(again)[1], "sandbox.lifecycle.killed")
        again = self.listen("?after=0&types=sandbox.lifecycle.killed")
        self.assertEqual(self.next(again)[1:], self.next(self.listen(f"?after={number}"))[1:])

    def test_what_is_wrong(self):
        for query in ("after=x", "after=-1", "types=no"):
            self.expect_status(self.client.ask("GET", f"/events?{query}"), 400, ".")

    def test_a_tenant_hears_its_own_until_its_key_is_revoked(self):
        key = self.client.ask("POST", "/api-keys", {"name": "n"}).json()
        tenant = self.server.client(key["key"])
        stream = self.listen(client=tenant)
        self.client.create()
        own = tenant.create()
        self.assertEqual(self.next(stream)[2]["sandboxId"], own.name)
        self.client.ask("DELETE", f"/api-keys/{key['id']}")
        self.client.create()
        self.assertEqual(stream.read(), b"")

    def test_there_are_only_so_many(self):
        streams = [self.listen() for _ in range(16)]  # of one tenant
        self.expect_status(self.client.ask("GET", "/events"), 429, "too many streams")
        self.assertEqual(len(streams), 16)


if __name__ == "__main__":
    main(sys.modules[__name__])
