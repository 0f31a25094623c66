#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What E2B's SDKs rely on and say nowhere: statuses and errors of the control plane, lists, times, users, paths, signatures. Byte for
byte, since an SDK shows its user only what it made of it. server_rows.py numbers what is shown."""
import base64
import calendar
import hashlib
import json
import os
import re
import sys
import time
from urllib.parse import quote

sys.dont_write_bytecode = True
from cases import ROOT, main, wait_until  # noqa: E402
from server_client import KEY, Served  # noqa: E402

NOBODY = "i" + "0" * 20  # a sandbox that is not there
PLAIN = {"Content-Type": "application/octet-stream"}


def operations():
    """(method, path) of the control plane, as described."""
    with open(os.path.join(ROOT, "server/openapi.json"), encoding="utf-8") as f:
        described = json.load(f)
    envd = ("/files", "/envs", "/process.", "/filesystem.", "/execute", "/contexts")
    return [(method.upper(), path) for path, item in described["paths"].items() for method in item
            if method in ("get", "post", "put", "patch", "delete") and not path.startswith(envd)]


def seconds(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


class Statuses(Served):
    def test_of_what_is_done(self):
        made = [self.client.ask("POST", path, {"templateID": "base", "network": {"allowOut": ["192.0.2.1"]}})
                for path in ("/sandboxes", "/v2/sandboxes")]
        self.assertEqual([m.status for m in made], [201, 201])
        name = made[0].json()["sandboxID"]
        for method, path, body, status in (
                ("GET", "/sandboxes", None, 200), ("GET", "/v2/sandboxes", None, 200), ("GET", f"/sandboxes/{name}", None, 200),
                ("POST", f"/sandboxes/{name}/timeout", {"timeout": 200}, 204), ("POST", f"/sandboxes/{name}/refreshes", {"duration": 20}, 204),
                ("POST", f"/sandboxes/{name}/connect", {"timeout": 20}, 200), ("POST", f"/v2/sandboxes/{name}/connect", None, 200),
                ("PUT", f"/sandboxes/{name}/network", {"allowOut": ["192.0.2.2"]}, 204), ("GET", f"/sandboxes/{name}/metrics", None, 200),
                ("GET", f"/sandboxes/{name}/logs", None, 200), ("DELETE", f"/sandboxes/{name}", None, 204)):
            with self.subTest(path):
                answer = self.client.ask(method, path, body)
                self.assertEqual(answer.status, status, answer)
                if status == 204:
                    self.assertEqual((answer.body, {"Content-Length", "Transfer-Encoding"} & set(answer.fields)), (b"", set()))
                else:
                    self.assertEqual(answer.fields["Content-Type"], "application/json")

    def expect_error(self, answer, *statuses):
        self.assertIn(answer.status, statuses, answer)
        self.assertEqual(answer.fields["Content-Type"], "application/json")
        said = answer.json()
        self.assertEqual((said["code"], type(said["code"])), (answer.status, int))
        self.assertRegex(said["message"], r"\A[^\n]+\Z")
        return said["message"]

    def test_of_what_is_not(self):
        """Each error of each operation is an object with the status as a number."""
        known = self.client.create().name
        for method, path in operations():
            filled = re.sub(r"{\w+}", NOBODY, path)
            with self.subTest(f"{method} {path}"):
                if path not in ("/health", "/openapi.json"):
                    for fields in ({}, {"X-API-Key": "e2b_" + "0" * 40}):
                        self.expect_error(self.client.ask(method, filled, fields=fields, key=False), 401)
                self.expect_error(self.client.ask("LINK", filled), 405, 501)
                if "{sandboxID}" in path and path != "/events/sandboxes/{sandboxID}":
                    body = {} if method in ("POST", "PUT") else None
                    self.assertIn(NOBODY, self.expect_error(self.client.ask(method, filled, body), 404))
                    self.expect_error(self.client.ask(method, path.replace("{sandboxID}", "A%20B"), body), 400)
                if method in ("POST", "PUT", "PATCH"):
                    for body in (b"{", b"[]", b"\xff", b'{"a":' * 1000):
                        self.expect_error(self.client.ask(method, path.replace("{sandboxID}", known), body), 400, 404, 409, 501)
        self.expect_error(self.client.ask("GET", "/nosuch"), 404)
        self.expect_error(self.client.ask("GET", f"/sandboxes/{known}/nosuch"), 404)

    def test_of_one_that_is_gone(self):
        """By these a client tells it from one that it may not see, and from a server that fails."""
        box = self.client.create()
        self.assertEqual(box.kill().status, 204)
        self.assertIn(box.name, self.expect_error(box.kill(), 404))
        for name in ("nonexistingsandbox", f"{box.name}-6532622b"):
            self.expect_error(self.client.ask("DELETE", f"/sandboxes/{name}"), 404)


class Builds(Served):
    def test_are_refused_before_anybody_waits(self):
        """Whoever could begin one would ask after it until a page of its log is empty."""
        for method, path, body in (("POST", "/v3/templates", {"name": "mine"}), ("POST", "/v2/templates/t/builds/b", {"steps": []}),
                                   ("GET", "/templates/t/builds/b/status?logsOffset=0&limit=100", None),
                                   ("GET", "/templates/t/files/" + "0" * 64, None), ("GET", "/templates/aliases/base", None),
                                   ("POST", "/templates/tags", {"target": "a:b", "tags": ["c"]}),
                                   ("DELETE", "/templates/tags", {"name": "a", "tags": ["b"]}), ("GET", "/templates/t/tags", None)):
            self.expect_status(self.client.ask(method, path, body), 501, "not offered yet; ")


class Lifetimes(Served):
    def end(self, name):
        return self.client.ask("GET", f"/sandboxes/{name}").json()

    def lasts(self, path, **body):
        made = self.client.ask("POST", path, {"templateID": "base", **body}).json()
        detail = self.end(made["sandboxID"])
        return seconds(detail["endAt"]) - seconds(detail["startedAt"])

    def test_when_none_was_given(self):
        self.assertAlmostEqual(self.lasts("/v2/sandboxes"), 300, delta=10)
        self.assertAlmostEqual(self.lasts("/sandboxes"), 15, delta=10)
        self.assertAlmostEqual(self.lasts("/sandboxes", timeout=300, secure=True), 300, delta=10)

    def test_it_is_kept_also_when_it_was_shortened(self):
        long, short = self.client.create(timeout=300), self.client.create(timeout=300)
        self.expect_status(self.client.ask("POST", f"/sandboxes/{short.name}/timeout", {"timeout": 8}), 204)
        self.assertLess(seconds(self.end(short.name)["endAt"]), time.time() + 20)
        self.assertTrue(wait_until(lambda: short.ask("GET", "/health").status == 502))
        self.expect_status(self.client.ask("GET", f"/sandboxes/{short.name}"), 404, short.name)
        self.assertEqual(long.ask("GET", "/health").status, 204)

    def test_one_that_was_short_is_lengthened(self):
        first, second = self.client.create(timeout=8), self.client.create(timeout=8)
        self.expect_status(self.client.ask("POST", f"/sandboxes/{first.name}/timeout", {"timeout": 300}), 204)
        self.assertTrue(wait_until(lambda: second.ask("GET", "/health").status == 502))
        self.assertEqual(first.ask("GET", "/health").status, 204)

    def test_a_refresh_only_extends(self):
        box = self.client.create(timeout=300)
        before = self.end(box.name)["endAt"]
        for body in ({"duration": 20}, {}):
            self.expect_status(self.client.ask("POST", f"/sandboxes/{box.name}/refreshes", body), 204)
        self.assertEqual(self.end(box.name)["endAt"], before)
        self.expect_status(self.client.ask("POST", f"/sandboxes/{box.name}/refreshes", {"duration": 3600}), 204)
        self.assertGreater(self.end(box.name)["endAt"], before)

    def test_connecting_is_answered_with_the_same_handle(self):
        """Credentials that a client holds already go on being good; and one that runs is not resumed."""
        made = self.client.ask("POST", "/v2/sandboxes", {"templateID": "base"}).json()
        path = f"/sandboxes/{made['sandboxID']}"
        for route in (path, "/v2" + path):
            self.assertEqual(self.client.ask("POST", f"{route}/connect", {"timeout": 9}).json(), made)
        self.expect_status(self.client.ask("POST", f"{path}/resume", {"timeout": 9, "autoPause": False}), 409, "running")


class Lists(Served):
    def names(self, query=""):
        answer = self.client.ask("GET", f"/v2/sandboxes{query}")
        self.assertEqual(answer.status, 200, answer)
        self.assertIsInstance(answer.json(), list)
        return [b["sandboxID"] for b in answer.json()], {k.lower(): v for k, v in answer.fields.items()}.get("x-next-token")

    def test_have_an_order_filters_and_pages(self):
        first, second = self.client.create(metadata={"a b": "c&d", "n": "1"}), self.client.create(metadata={"a b": "c&d", "n": "2"})
        other = self.client.ask("POST", "/v2/sandboxes", {"templateID": "code-interpreter-v1"}).json()["sandboxID"]
        falling = [other, second.name, first.name]
        self.assertEqual(self.names(), (falling, None))
        self.assertEqual(self.names("?order=desc"), (falling, None))
        self.assertEqual(self.names("?order=asc"), (falling[::-1], None))
        self.assertEqual(self.names("?state=running,paused"), (falling, None))
        self.assertEqual(self.names("?state=running"), (falling, None))
        self.assertEqual(self.names("?state=paused"), ([], None))
        self.assertEqual(self.names("?template=code-interpreter-v1"), ([other], None))
        marked = "metadata=a%252520b%3Dc%252526d"
        self.assertEqual(self.names(f"?{marked}")[0], falling[1:])
        self.assertEqual(self.names(f"?{marked}%26n%3D1")[0], [first.name])
        self.assertEqual(self.names(f"?{marked}%26n%3D3")[0], [])
        started = self.client.ask("GET", f"/sandboxes/{second.name}").json()["startedAt"]
        self.assertEqual(self.names(f"?startedAfter={quote(started)}")[0], falling[:2])
        for order, expected in (("asc", falling[::-1]), ("desc", falling)):
            page, token = self.names(f"?limit=2&order={order}")
            self.assertEqual(page, expected[:2])
            self.assertEqual(self.names(f"?limit=2&order={order}&nextToken={token}"), (expected[2:], None))
        self.assertEqual(self.names("?limit=3"), (falling, None))  # a page that ends with the last one is the last
        self.assertEqual([b["sandboxID"] for b in self.client.ask("GET", "/sandboxes").json()], falling)
        for wrong in ("limit=0", "limit=101", "limit=x", "order=up", "nextToken=x", "startedAfter=now", "metadata=%25"):
            self.expect_status(self.client.ask("GET", f"/v2/sandboxes?{wrong}"), 400, wrong.partition("=")[0])

    def test_have_all_that_is_needed_to_show_them(self):
        """What is missing there is a KeyError of Python's SDK."""
        name = self.client.create(metadata={"a": "b"}).name
        listed = self.client.ask("GET", "/v2/sandboxes").json()[0]
        detail = self.client.ask("GET", f"/sandboxes/{name}").json()
        for entry in (listed, detail):
            self.assertEqual([type(entry[n]) for n in ("templateID", "sandboxID", "clientID", "startedAt", "endAt", "envdVersion")], [str] * 6)
            self.assertEqual([type(entry[n]) for n in ("cpuCount", "memoryMB", "diskSizeMB")], [int] * 3)
            self.assertEqual((entry["state"], entry["metadata"], entry["volumeMounts"]), ("running", {"a": "b"}, []))
            self.assertNotIn("alias", entry)
        self.assertEqual((detail["lifecycle"], type(detail["envdAccessToken"])), ({"autoResume": False, "onTimeout": "kill"}, str))
        self.assertEqual((detail["domain"], detail["allowInternetAccess"]), (None, None))
        path = f"/sandboxes/{name}/metrics"
        self.assertTrue(wait_until(lambda: self.client.ask("GET", path).json()))
        sample = self.client.ask("GET", path).json()[0]
        self.assertEqual([type(sample[n]) for n in ("timestampUnix", "cpuCount", "memUsed", "memTotal", "memCache", "diskUsed", "diskTotal")],
                         [int] * 7)
        self.assertIsInstance(sample["cpuUsedPct"], (int, float))
        self.assertEqual(seconds(sample["timestamp"]), sample["timestampUnix"])

    def test_what_this_machine_does_not_need_is_not_asked_for(self):
        """Fields of any version, and none of those that some leave out; names are exact."""
        for body in ({}, {"timeout": 60, "secure": True, "allow_internet_access": True, "autoPause": False, "sidecars": [], "x": {"y": 1}}):
            made = self.client.ask("POST", "/v2/sandboxes", {"templateID": "base", **body})
            self.assertEqual(made.status, 201, made)
            self.assertGreaterEqual(tuple(int(n) for n in made.json()["envdVersion"].split(".")), (0, 6, 4))
            self.assertRegex(made.json()["envdAccessToken"], r"\A\S{20,}\Z")
        self.expect_status(self.client.ask("POST", "/v2/sandboxes", {"templateid": "base"}), 400, "templateID")


class Users(Served):
    def setUp(self):
        super().setUp()
        self.box = self.client.create()

    def said(self, authorization=None):
        fields = {"Authorization": authorization} if authorization else {}
        done = self.box.run("/bin/sh", "-c", "id -un; pwd; echo $HOME $USER $LOGNAME; > /tmp/by-$USER", fields=fields)
        return done.out.decode().split(), done.error

    def test_of_programs(self):
        self.assertEqual(self.said(), (["user", "/home/user", "/home/user", "user", "user"], None))
        for name, home in (("user", "/home/user"), ("root", "/root")):
            for words in (f"{name}:", f"{name}:and a password"):
                self.assertEqual(self.said("Basic " + base64.b64encode(words.encode()).decode()), ([name, home, home, name, name], None))
        self.assertEqual(self.said("Basic " + base64.b64encode(b"daemon:").decode())[0][0], "daemon")
        for wrong in ("nosuch:", ":", "root"):
            words, error = self.said("Basic " + base64.b64encode(wrong.encode()).decode())
            self.assertEqual(words, [])
            self.assertRegex(error["code"], "unauthenticated|invalid_argument", wrong)

    def test_of_files(self):
        for name, owner, path in ((None, "user", "/home/user/f"), ("user", "user", "/home/user/f"), ("root", "root", "/root/f")):
            query = f"&username={name}" if name else ""
            self.assertEqual(self.box.ask("POST", f"/files?path=f{query}", b"x", PLAIN).json()[0]["path"], path)
            self.assertEqual(self.box.ask("GET", f"/files?path=f{query}").body, b"x")
            basic = {"Authorization": "Basic " + base64.b64encode(f"{name or 'user'}:".encode()).decode()}
            entry = self.box.call("filesystem.Filesystem/Stat", {"path": "f"}, fields=basic).json()["entry"]
            self.assertEqual((entry["path"], entry["owner"]), (path, owner))
        self.expect_status(self.box.ask("GET", "/files?path=f&username=nosuch"), 401, "nosuch")
        self.expect_status(self.box.ask("POST", "/files?path=f&username=nosuch", b"", PLAIN), 401, "nosuch")
        basic = {"Authorization": "Basic " + base64.b64encode(b"nosuch:").decode()}
        answer = self.box.call("filesystem.Filesystem/Stat", {"path": "f"}, fields=basic)
        self.assertEqual((answer.status, answer.json()["code"]), (401, "unauthenticated"))


class Paths(Served):
    def setUp(self):
        super().setUp()
        self.box = self.client.create()

    def test_lead_to_the_same_by_both_ways(self):
        for path, whole in (("a", "/home/user/a"), ("~/b", "/home/user/b"), ("deep/er/c", "/home/user/deep/er/c"), ("./d", "/home/user/d"),
                            ("/tmp/up/e", "/tmp/up/e"), ("deep/../f", "/home/user/f"), ("~x", "/home/user/~x")):
            with self.subTest(path):
                self.assertEqual(self.box.ask("POST", f"/files?path={quote(path, safe='')}", path.encode(), PLAIN).json()[0]["path"], whole)
                self.assertEqual(self.box.ask("GET", f"/files?path={quote(whole, safe='')}").body, path.encode())
                entry = self.box.call("filesystem.Filesystem/Stat", {"path": path}).json()["entry"]
                self.assertEqual((entry["path"], entry["name"]), (whole, whole.rpartition("/")[2]))
        for path in ("", "~", "."):
            self.assertEqual(self.box.call("filesystem.Filesystem/Stat", {"path": path}).json()["entry"]["path"], "/home/user", path)

    def test_have_their_folders_made_for_their_user(self):
        self.box.ask("POST", "/files?path=one/two/f", b"x", PLAIN)
        self.box.call("filesystem.Filesystem/MakeDir", {"path": "three/four"})
        self.box.call("filesystem.Filesystem/Move", {"source": "one/two/f", "destination": "five/six/f"})
        self.box.ask("POST", "/files?path=/tmp/seven/f&username=root", b"x", PLAIN)
        made = ("one", "one/two", "three", "three/four", "five", "five/six", "five/six/f", "/tmp/seven", "/tmp/seven/f")
        said = self.box.run("/usr/bin/stat", "-c", "%a %U %G", *made, cwd="/home/user").out.decode().split("\n")
        self.assertEqual(said[:-1], ["755 user user"] * 6 + ["644 user user", "755 root root", "644 root root"])


class Signatures(Served):
    def setUp(self):
        super().setUp()
        self.box = self.client.create()
        self.box.ask("POST", "/files?path=f", b"signed", PLAIN)

    def sign(self, path, operation="read", user="", expires=None, token=None):
        text = ":".join([path, operation, user, token or self.box.token] + ([str(expires)] if expires is not None else []))
        signature = "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        query = f"path={quote(path, safe='')}&signature={quote(signature, safe='')}"
        return query + (f"&username={user}" if user else "") + (f"&signature_expiration={expires}" if expires is not None else "")

    def ask(self, query, method="GET", by=None, **fields):
        """Without credentials, to a sandbox by its name or to whoever has signed."""
        named = {"E2b-Sandbox-Id": by, "E2b-Sandbox-Port": "49983"} if by else {}
        body = b"sent" if method == "POST" else None
        return self.client.ask(method, f"/files?{query}", body, {**named, **(PLAIN if body else {}), **fields}, key=False)

    def test_open_what_was_signed(self):
        soon = int(time.time()) + 600
        for by in (None, self.box.name):
            for query in (self.sign("f"), self.sign("f", expires=soon), self.sign("/home/user/f"), self.sign("/home/user/f", user="root"),
                          self.sign("~/f", user="user", expires=soon)):
                self.assertEqual((self.ask(query, by=by).status, self.ask(query, by=by).body), (200, b"signed"), query)
            for path in ("g", "a+b &ü%41=?#", "x" * 40):
                self.assertEqual(self.ask(self.sign(path, "write"), "POST", by).status, 200, path)
                self.assertEqual(self.ask(self.sign(path), by=by).body, b"sent", path)

    def test_open_nothing_else(self):
        other, soon = self.client.create(), int(time.time()) + 600
        name = self.box.name
        for query, method in ((self.sign("f").replace("path=f", "path=~%2Ff"), "GET"), (self.sign("f") + "&username=root", "GET"),
                              (self.sign("f", user="root").replace("username=root", "username=user"), "GET"),
                              (self.sign("f", "write"), "GET"), (self.sign("f"), "POST"), (self.sign("f", token=other.token), "GET"),
                              (self.sign("f") + f"&signature_expiration={soon}", "GET"), (self.sign("f", expires=soon) + "1", "GET"),
                              (self.sign("f", expires=soon).partition("&signature_exp")[0], "GET")):
            with self.subTest(query):
                self.assertEqual(self.expect_status(self.ask(query, method, name), 401, ".").json()["message"], "invalid signature")
                self.assertNotEqual(self.ask(query, method).status, 200)
        self.assertEqual(self.ask("path=f", by=name).json()["message"], "missing signature query parameter")
        late = self.ask(self.sign("f", expires=1700000000), by=name)
        self.assertEqual((late.status, late.body), (401, b'{"code":401,"message":"signature is already expired"}'))
        mixed = self.ask(self.sign("f"), by=name, **{"X-Access-Token": other.token})
        self.assertEqual((mixed.status, mixed.json()["message"]), (401, "access token present in header but does not match"))
        for path in ("/envs", "/process.Process/List"):
            answer = self.client.ask("POST" if "List" in path else "GET", f"{path}?{self.sign('f')}", b"{}" if "List" in path else None,
                                     {"E2b-Sandbox-Id": name, "E2b-Sandbox-Port": "49983", "Content-Type": "application/json"}, key=False)
            self.expect_status(answer, 401, "unauthorized access")
        self.assertEqual(self.box.ask("GET", "/files?path=f").body, b"signed")

    def test_are_for_whom_they_were_made(self):
        """A user beside what is signed, whose home a path would be in, and whose a file would be, is none."""
        root = {"Authorization": "Basic " + base64.b64encode(b"root:").decode()}
        self.box.ask("POST", "/files?path=/root/f", b"root's", PLAIN)
        for by in (None, self.box.name):
            for query in (self.sign("f"), self.sign("~/f", user="user")):
                self.assertEqual(self.ask(query, by=by, **root).body, b"signed", query)
            self.assertEqual(self.ask(self.sign("g", "write"), "POST", by, **root).status, 200)
            self.assertEqual(self.ask(self.sign("f", user="root"), by=by).body, b"root's")
        self.assertEqual(self.box.ask("GET", "/files?path=f", fields=root).body, b"root's")  # who has the token says so
        self.assertEqual(self.box.run("/usr/bin/stat", "-c", "%U", "/home/user/g").out, b"user\n")

    def test_what_needs_none(self):
        fields = {"E2b-Sandbox-Id": self.box.name, "E2b-Sandbox-Port": "49983"}
        self.assertEqual(self.client.ask("GET", "/health", fields=fields, key=False).status, 204)
        for path in ("/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"):
            self.expect_status(self.box.ask("POST", path, {}), 404, ".")
        own = {"X-API-Key": KEY}  # says who made it, and is not what its port asks for
        self.expect_status(self.client.ask("GET", "/envs", fields={**fields, **own}, key=False), 401, ".")
        asked = self.client.ask("OPTIONS", "/files?path=f", key=False, fields={
            **fields, "Origin": "https://example.com", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-access-token,e2b-sandbox-id,e2b-sandbox-port,content-type"})
        self.assertEqual((asked.status, asked.fields["Access-Control-Allow-Origin"]), (204, "*"))
        answer = self.client.ask("GET", "/health", fields={**fields, "Origin": "https://example.com"}, key=False)
        self.assertEqual(answer.fields["Access-Control-Allow-Origin"], "*")


if __name__ == "__main__":
    main(sys.modules[__name__])
