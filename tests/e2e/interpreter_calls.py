# SPDX-License-Identifier: Apache-2.0
"""Port 49999 of a sandbox for the tests: cells, line by line, and contexts."""
import http.client
import json

from cases import LIMIT

PORT = 49999


class Cell:
    """An answer of /execute: its events as they come."""

    def __init__(self, box, code, timeout=LIMIT, fields=(), **more):
        self.connection = http.client.HTTPConnection("127.0.0.1", box.client.port, timeout=timeout)
        body = {"code": code, **more}
        self.connection.request("POST", "/execute", json.dumps(body),
                                {**box.fields(PORT), "Content-Type": "application/json", **dict(fields)})
        self.events = []
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.refusal = self.answer.read().decode() if self.status != 200 else None

    def next(self):
        """The next event but keepalives, or None behind the last one."""
        while line := self.answer.readline():
            event = json.loads(line)
            if event["type"] != "keepalive":
                self.events.append(event)
                return event
        return None

    def until(self, condition):
        while not condition(self):
            if self.next() is None:
                raise AssertionError(f"it ended: {self.events}")
        return self

    def finish(self):
        while self.next() is not None:
            pass
        self.close()
        return self

    def close(self):
        self.answer.close()
        self.connection.close()

    def of(self, kind):
        return [e for e in self.events if e["type"] == kind]

    @property
    def out(self):
        return "".join(e["text"] for e in self.of("stdout"))

    @property
    def err(self):
        return "".join(e["text"] for e in self.of("stderr"))

    @property
    def error(self):
        return next(iter(self.of("error")), None)

    @property
    def text(self):
        """Of the main result."""
        return next((r.get("text") for r in self.of("result") if r["is_main_result"]), None)

    @property
    def count(self):
        return self.of("number_of_executions")[0]["execution_count"]

    @property
    def is_whole(self):
        return bool(self.events) and self.events[-1]["type"] == "end_of_execution"


def run_cell(box, code, **more):
    return Cell(box, code, **more).finish()


def ask(box, method, path, body=None, fields=()):
    """With the token for ports and without the sandbox's, as SDKs do."""
    own = {k: v for k, v in box.fields(PORT).items() if k != "X-Access-Token"}
    if box.traffic:
        own["E2B-Traffic-Access-Token"] = box.traffic
    return box.client.ask(method, path, body, {**own, **dict(fields)}, key=False)


def make_context(box, **body):
    answer = ask(box, "POST", "/contexts", body)
    if answer.status != 200:
        raise AssertionError(answer)
    return answer.json()["id"]
