#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""server/openapi.json: it is what the server's tables say, and what a run answers."""
import glob
import json
import os
import re
import sys

import jsonschema

sys.dont_write_bytecode = True
from cases import ROOT, Case, main, wait_until  # noqa: E402
from interpreter_calls import PORT  # noqa: E402
from server_client import Served  # noqa: E402

ROW = re.compile(r'^\s+\{(?:"([A-Z]+)"|NULL), "(/[^"]*)", (&\w+|NULL|ENVD_\w+)', re.M)
METHODS = ("get", "put", "post", "patch", "delete")

with open(os.path.join(ROOT, "server/openapi.json"), encoding="utf-8") as file:
    DOCUMENT = json.load(file)


CHECKER = jsonschema.FormatChecker()


@CHECKER.checks("date-time")
def is_time(value):
    return not isinstance(value, str) or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value) is not None


def follow(reference):
    at = DOCUMENT
    for name in reference.removeprefix("#/").split("/"):
        at = at[name]
    return at


def whole(part):
    return follow(part["$ref"]) if "$ref" in part else part


def operations():
    return {(method.upper(), path): item[method] for path, item in DOCUMENT["paths"].items() for method in METHODS if method in item}


def is_offered(operation):
    return operation["tags"] != ["not offered"]


def rows():
    """(method or None, path, is_offered) of the tables in the sources."""
    for name in glob.glob(os.path.join(ROOT, "server/*.c")):
        with open(name, encoding="utf-8") as f:
            for method, path, handler in ROW.findall(f.read()):
                yield method or None, path, handler != "NULL"


def references(part):
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


class Document(Case):
    def test_names_what_there_is(self):
        for reference in references(DOCUMENT):
            self.assertTrue(follow(reference), reference)
        names = [o["operationId"] for o in operations().values()]
        self.assertEqual(len(names), len(set(names)))
        tags = {tag["name"] for tag in DOCUMENT["tags"]}
        for (method, path), operation in operations().items():
            self.assertLessEqual(set(operation["tags"]), tags, path)
            used = {name for way in operation["security"] for name in way}
            self.assertLessEqual(used, set(DOCUMENT["components"]["securitySchemes"]), path)
            self.assertTrue(operation["responses"], (method, path))

    def test_schemas_are_some(self):
        for schema in DOCUMENT["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_is_the_tables(self):
        """Each row of a table is an operation, and each operation a row."""
        told, found = {}, dict(rows_by_path())
        for (method, path), operation in operations().items():
            told[method, re.sub(r"\{\w+\}", "*", path)] = is_offered(operation)
        told.update({(None, path): False for path in DOCUMENT["x-not-offered"]})
        self.assertGreater(len(found), 40)
        self.assertEqual(told, found)


def rows_by_path():
    """/health is one of the control plane and one of sandboxes."""
    return {(method, path): offered for method, path, offered in rows()}


class Answers(Served):
    """Of each operation that is offered a call, whose answer is what the document says."""

    def setUp(self):
        super().setUp()
        self.called = set()

    def check(self, method, path, answer, status, messages=None):
        """answer.status is `status`, described for this operation, and so is its content."""
        operation = operations()[method, path]
        self.assertEqual(answer.status, status, (method, path, answer))
        responses = operation["responses"]
        self.assertTrue(str(status) in responses or (status >= 400 and "default" in responses), (method, path, status))
        if is_offered(operation) and (status < 300 or not any(code.startswith("2") for code in responses)):
            self.called.add((method, path))
        content = whole(responses.get(str(status), responses.get("default"))).get("content")
        if content is None:
            self.assertEqual(answer.body, b"", (method, path))
            return answer
        kind = next((v for k, v in answer.fields.items() if k.lower() == "content-type"), "").split(";")[0]
        self.assertIn(kind, content, (method, path))
        if "json" in kind:
            validator = jsonschema.Draft202012Validator(
                {**content[kind]["schema"], "components": DOCUMENT["components"]}, format_checker=CHECKER)
            for value in [answer.json()] if messages is None else messages:
                validator.validate(value)
        return answer

    def control(self, method, path, status, body=None, query="", client=None, **ids):
        client = client or self.client
        return self.check(method, path, client.ask(method, path.format(**ids) + query, body), status)

    def call(self, method, message=None, status=200):
        path = f"/{method}"
        return self.check("POST", path, self.box.call(method, message), status)

    def stream(self, method, message, until):
        """Reads until a message fulfils `until`, or to the end."""
        stream = self.box.stream(method, message)
        messages = []
        while (got := stream.next()) is not None:
            messages.append(got)
            if until and until(got):
                break
        stream.close()
        stream.body = b""
        self.assertTrue(messages)
        self.check("POST", f"/{method}", stream, 200, messages)
        return messages

    def of_the_server(self):
        self.assertEqual(self.control("GET", "/openapi.json", 200, client=self.server.client(None)).json(), DOCUMENT)
        self.control("GET", "/health", 200, client=self.server.client(None))
        self.control("GET", "/metrics", 200)
        self.control("GET", "/sandboxes", 401, client=self.server.client(None))

    def of_sandboxes(self):
        wish = {"templateID": "base", "metadata": {"a": "b"}, "envVars": {"A": "b"}, "network": {"allowOut": ["192.0.2.2"]}}
        jsonschema.validate(wish, {**DOCUMENT["components"]["schemas"]["NewSandbox"], "components": DOCUMENT["components"]})
        for path in ("/sandboxes", "/v2/sandboxes"):
            made = self.control("POST", path, 201, wish).json()
            self.control("POST", path, 400, {"templateID": 1})
            self.control("POST", path, 404, {"templateID": "nosuch"})
            self.assertEqual(len(self.control("GET", path, 200).json()), 1)
            one = {"sandboxID": made["sandboxID"]}
            self.control("GET", "/sandboxes/{sandboxID}", 200, **one)
            self.control("POST", "/sandboxes/{sandboxID}/timeout", 204, {"timeout": 300}, **one)
            self.control("POST", "/sandboxes/{sandboxID}/timeout", 400, {"timeout": -1}, **one)
            self.control("POST", "/sandboxes/{sandboxID}/refreshes", 204, {"duration": 20}, **one)
            self.control("POST", "/sandboxes/{sandboxID}/connect", 200, {"timeout": 20}, **one)
            self.control("POST", "/v2/sandboxes/{sandboxID}/connect", 200, **one)
            self.control("POST", "/sandboxes/{sandboxID}/resume", 409, **one)
            self.assertTrue(wait_until(lambda: self.control("GET", "/sandboxes/{sandboxID}/metrics", 200, **one).json()))
            last = self.control("GET", "/sandboxes/metrics", 200, query=f"?sandbox_ids={made['sandboxID']},i{'0' * 20}")
            self.assertEqual(list(last.json()["sandboxes"]), [made["sandboxID"]])
            self.control("GET", "/sandboxes/metrics", 400)
            self.control("PUT", "/sandboxes/{sandboxID}/network", 204, {"allowOut": ["192.0.2.1"]}, **one)
            self.control("PUT", "/sandboxes/{sandboxID}/network", 400, {"denyOut": ["a.b"]}, **one)
            self.control("DELETE", "/sandboxes/{sandboxID}", 204, **one)
            self.control("GET", "/sandboxes/{sandboxID}", 404, **one)
            self.control("GET", "/sandboxes/{sandboxID}", 400, sandboxID="A")

    def of_events(self):
        box = self.client.create(metadata={"a": "b"})
        self.client.ask("POST", f"/sandboxes/{box.name}/timeout", {"timeout": 100})
        box.kill()
        for path in ("/events/sandboxes", "/events/sandboxes/{sandboxID}"):
            self.assertTrue(wait_until(lambda p=path: self.control("GET", p, 200, sandboxID=box.name).json()[0]["eventLabel"] == "killed"))
            self.control("GET", path, 400, query="?limit=0", sandboxID=box.name)
        for path in ("/sandboxes/{sandboxID}/logs", "/v2/sandboxes/{sandboxID}/logs"):
            self.assertEqual(len(self.control("GET", path, 200, sandboxID=box.name).json()["logs"]), 3)
            self.control("GET", path, 404, sandboxID="i" + "0" * 20)
        connection = self.client.connect()
        connection.request("GET", "/events?after=0", headers={"X-API-Key": self.client.key})
        answer = connection.getresponse()
        answer.fields, answer.body = dict(answer.getheaders()), b""
        self.check("GET", "/events", answer, 200)
        connection.close()

    def of_webhooks(self):
        wish = {"name": "n", "url": "https://example.com/", "events": ["sandbox.lifecycle.killed"], "signatureSecret": "s", "enabled": False}
        hook = self.control("POST", "/events/webhooks", 201, wish).json()["id"]
        self.control("POST", "/events/webhooks", 400, {"name": "n"})
        self.assertEqual(len(self.control("GET", "/events/webhooks", 200).json()), 1)
        self.control("GET", "/events/webhooks/{webhookID}", 200, webhookID=hook)
        self.control("PATCH", "/events/webhooks/{webhookID}", 200, {"name": "m"}, webhookID=hook)
        self.control("DELETE", "/events/webhooks/{webhookID}", 200, webhookID=hook)
        self.control("GET", "/events/webhooks/{webhookID}", 404, webhookID=hook)

    def of_keys(self):
        key = self.control("POST", "/api-keys", 201, {"name": "n", "scope": {"sandboxes": 1, "egress": "none", "templates": ["base"],
                                                                            "expiresAt": "2999-01-01T00:00:00Z"}}).json()
        self.control("POST", "/api-keys", 400, {"name": ""})
        self.control("GET", "/api-keys", 200)
        self.control("GET", "/api-keys", 403, client=self.server.client(key["key"]))
        self.control("PATCH", "/api-keys/{apiKeyID}", 204, {"name": "m"}, apiKeyID=key["id"])
        self.control("DELETE", "/api-keys/{apiKeyID}", 204, apiKeyID=key["id"])
        self.control("DELETE", "/api-keys/{apiKeyID}", 404, apiKeyID=key["id"])
        self.assertTrue(self.control("GET", "/audit", 200).json())

    def of_files(self):
        self.check("GET", "/health", self.box.ask("GET", "/health"), 204)
        self.check("GET", "/envs", self.box.ask("GET", "/envs"), 200)
        self.check("POST", "/files", self.box.ask("POST", "/files?path=a/f", b"data", {"Content-Type": "application/octet-stream"}), 200)
        self.check("GET", "/files", self.box.ask("GET", "/files?path=a/f"), 200)
        self.check("GET", "/files", self.box.ask("GET", "/files?path=a/none"), 404)
        self.check("GET", "/files", self.box.client.ask("GET", "/files?path=a/f&signature=v1_x", key=False), 401)
        service = "filesystem.Filesystem/"
        self.call(service + "Stat", {"path": "a/f"})
        self.call(service + "Stat", {"path": "a/none"}, 404)
        self.call(service + "MakeDir", {"path": "d"})
        self.call(service + "MakeDir", {"path": "d"}, 409)
        watcher = self.call(service + "CreateWatcher", {"path": "d", "recursive": True}).json()["watcherId"]
        self.call(service + "Move", {"source": "a/f", "destination": "d/f"})
        self.assertEqual(len(self.call(service + "ListDir", {"path": "d"}).json()["entries"]), 1)
        self.call(service + "GetWatcherEvents", {"watcherId": watcher})
        self.call(service + "RemoveWatcher", {"watcherId": watcher})

        def begin(message):
            if "start" in message:
                self.call(service + "Remove", {"path": "d/f"})
            return "filesystem" in message
        self.stream(service + "WatchDir", {"path": "d"}, begin)

    def of_processes(self):
        service = "process.Process/"
        self.stream(service + "Start", {"process": {"cmd": "/bin/sh", "args": ["-c", "echo a; echo b >&2; exit 3"]}, "stdin": False}, None)
        cat = self.box.start("/bin/cat", stdin=True, tag="it")
        cat.next()
        one = {"process": {"pid": cat.pid}}
        self.assertEqual(len(self.call(service + "List").json()["processes"]), 1)
        self.call(service + "SendInput", {**one, "input": {"stdin": "YQ=="}})
        self.call(service + "CloseStdin", one)
        self.call(service + "CloseStdin", {"process": {"pid": 4000000}}, 404)
        cat.finish()
        terminal = self.box.start("/bin/sh", pty={"size": {"cols": 80, "rows": 24}})
        terminal.next()
        one = {"process": {"pid": terminal.pid}}
        self.call(service + "Update", {**one, "pty": {"size": {"cols": 90, "rows": 20}}})
        self.stream(service + "Connect", one, lambda message: "start" in message["event"])
        self.call(service + "SendSignal", {**one, "signal": "SIGNAL_SIGKILL"})
        terminal.finish()

    def code(self, method, path, status, body=None, **ids):
        return self.check(method, path, self.box.ask(method, path.format(**ids), body, self.box.fields(PORT)), status)

    def of_code(self):
        self.assertEqual(self.box.ask("GET", "/health", fields=self.box.fields(PORT)).json(), "OK")
        answer = self.box.ask("POST", "/execute", {"code": "echo a; echo b >&2; (exit 3)", "language": "bash"}, self.box.fields(PORT))
        self.check("POST", "/execute", answer, 200, [json.loads(line) for line in answer.body.splitlines()])
        self.code("POST", "/execute", 400, {"code": 1})
        one = {"contextID": self.code("POST", "/contexts", 200, {"language": "bash"}).json()["id"]}
        self.code("POST", "/contexts", 400, {"language": "cobol"})
        self.assertEqual(len(self.code("GET", "/contexts", 200).json()), 4)
        self.code("POST", "/contexts/{contextID}/restart", 200, **one)
        self.code("DELETE", "/contexts/{contextID}", 200, **one)
        self.code("DELETE", "/contexts/{contextID}", 404, **one)

    def what_is_not(self):
        with open(os.path.join(ROOT, "docs/api.md"), encoding="utf-8") as f:
            listed = re.search(r"^Not offered yet, [^.]*\.", f.read(), re.M)[0]
        for path in [path for _, path in (key for key, o in operations().items() if not is_offered(o))] + DOCUMENT["x-not-offered"]:
            self.assertIn(re.sub(r"^volumecontent$", "volumes", path.rpartition("/")[2]), listed, path)
        for (method, path), operation in operations().items():
            if not is_offered(operation):
                answer = self.control(method, path, 501, {} if method in ("POST", "PUT") else None, sandboxID=self.box.name)
                self.assertRegex(answer.json()["message"], r"\A[^\n]+[a-z0-9)]\Z")
        for path in DOCUMENT["x-not-offered"]:
            for below in (path, path + "/a"):
                self.assertEqual(self.client.ask("GET", below).status, 501)

    def test_are_as_described(self):
        self.of_the_server()
        self.of_sandboxes()
        self.of_events()
        self.of_webhooks()
        self.of_keys()
        self.box = self.client.create(envVars={"A": "b"})
        self.of_files()
        self.of_processes()
        self.of_code()
        self.what_is_not()
        self.assertTrue(self.box.kill().status == 204)
        self.check("GET", "/health", self.box.ask("GET", "/health"), 502)
        self.assertEqual({key for key, operation in operations().items() if is_offered(operation)} - self.called, set())


if __name__ == "__main__":
    main(sys.modules[__name__])
