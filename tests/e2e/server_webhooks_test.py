#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Webhooks of glovebox serve: signed, tried again, and never to where they must not go."""
import base64
import hashlib
import http.server
import json
import os
import queue
import signal
import socket
import sqlite3
import ssl
import sys
import threading

sys.dont_write_bytecode = True
from cases import LIMIT, descendants, is_alive, main, wait_until  # noqa: E402
from server_client import Served, Server  # noqa: E402
from server_tls_test import make_certificate  # noqa: E402

DATABASE = "server.db"
ALL = ["sandbox.lifecycle.created", "sandbox.lifecycle.updated", "sandbox.lifecycle.killed"]


class Receiver:
    """A server on loopback that notes what is posted, and answers with what it was told to."""

    def __init__(self, statuses=(), certificate=None):
        self.got, statuses = queue.Queue(), list(statuses)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                content = self.rfile.read(int(self.headers["Content-Length"]))
                status = statuses.pop(0) if statuses else 200
                receiver.got.put((self.path, {k.lower(): v for k, v in self.headers.items()}, content))
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self):
        return self.got.get(timeout=LIMIT)

    def end(self):
        self.server.shutdown()
        self.server.server_close()


def read_words(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


class Hooks(Served):
    OPTIONS = ("--webhook-network", "127.0.0.0/8", "--webhook-network", "::1")

    def receive(self, *statuses, certificate=None):
        receiver = Receiver(statuses, certificate)
        self.addCleanup(receiver.end)
        return receiver

    def make(self, url, client=None, **more):
        answer = (client or self.client).ask("POST", "/events/webhooks", {"name": "n", "url": url, "events": ALL, "signatureSecret": "s3cret",
                                                                         **more})
        self.expect_status(answer, 201)
        return answer.json()

    def look(self, hook, client=None):
        return (client or self.client).ask("GET", f"/events/webhooks/{hook['id']}").json()

    def result(self, hook):
        last = self.look(hook)["lastDelivery"]
        return last and last["result"]


class Delivery(Hooks):
    def test_each_event_signed(self):
        receiver = self.receive()
        hook = self.make(f"http://127.0.0.1:{receiver.port}/hook?x=y")
        box = self.client.create(metadata={"a": "\u00fc"})
        path, fields, content = receiver.next()
        self.assertEqual(path, "/hook?x=y")
        digest = hashlib.sha256(b"s3cret" + content).digest()
        self.assertEqual(fields["e2b-signature"], base64.b64encode(digest).decode().rstrip("="))
        self.assertEqual((fields["e2b-signature-version"], fields["e2b-webhook-id"]), ("v1", hook["id"]))
        self.assertEqual((fields["content-type"], fields["host"]), ("application/json", f"127.0.0.1:{receiver.port}"))
        event = json.loads(content)
        self.assertEqual((event["type"], event["sandbox_id"], event["version"]), ("sandbox.lifecycle.created", box.name, "v2"))
        self.assertEqual(event["event_data"], {"sandbox_metadata": {"a": "\u00fc"}})
        told = self.client.ask("GET", f"/events/sandboxes/{box.name}").json()[0]
        self.assertEqual((event["id"], event["timestamp"]), (told["id"], told["timestamp"]))
        box.kill()
        _, again, content = receiver.next()
        self.assertEqual(json.loads(content)["event_data"]["cause"], "request")
        self.assertNotEqual(again["e2b-delivery-id"], fields["e2b-delivery-id"])
        self.assertTrue(wait_until(lambda: self.result(hook) == "200"))

    def test_only_what_was_asked_for(self):
        receiver, off = self.receive(), self.receive()
        self.make(f"http://127.0.0.1:{receiver.port}/", events=["sandbox.lifecycle.killed"])
        disabled = self.make(f"http://127.0.0.1:{off.port}/", enabled=False)
        self.client.create().kill()
        self.assertEqual(json.loads(receiver.next()[2])["event_label"], "killed")
        self.assertTrue(off.got.empty())
        self.assertEqual(self.client.ask("PATCH", f"/events/webhooks/{disabled['id']}", {"enabled": True}).status, 200)
        box = self.client.create()
        self.assertEqual(json.loads(off.next()[2])["sandbox_id"], box.name)

    def test_again_until_it_is_taken(self):
        """With the same content, after a while; in the meantime it waits in the records, also when the server is killed."""
        receiver = self.receive(500)
        hook = self.make(f"http://127.0.0.1:{receiver.port}/", events=["sandbox.lifecycle.created"])
        self.client.create()
        first = receiver.next()
        self.assertTrue(wait_until(lambda: self.result(hook) == "500"))
        self.server.stop(signal.SIGKILL)
        self.server.start()
        second = receiver.next()
        self.assertEqual(first[2], second[2])
        self.assertEqual(first[1]["e2b-signature"], second[1]["e2b-signature"])
        self.assertTrue(wait_until(lambda: self.result(hook) == "200"))
        self.assertTrue(receiver.got.empty())

    def test_a_redirection_is_not_followed(self):
        receiver = self.receive(302)
        hook = self.make(f"http://127.0.0.1:{receiver.port}/", events=["sandbox.lifecycle.created"])
        self.client.create()
        self.assertEqual(receiver.next()[0], "/")
        self.assertTrue(wait_until(lambda: self.result(hook) == "302"))

    def test_tls(self):
        """Verified: who is not who the URL says gets nothing."""
        certificate, key = make_certificate(self.folder, "receiver")
        receiver = self.receive(certificate=(certificate, key))
        hook = self.make(f"https://127.0.0.1:{receiver.port}/")
        self.client.create()
        self.assertTrue(wait_until(lambda: "certificate" in (self.result(hook) or "")), self.look(hook))
        self.assertTrue(receiver.got.empty())
        self.server.stop()
        os.environ["SSL_CERT_FILE"] = certificate
        self.addCleanup(os.environ.pop, "SSL_CERT_FILE", None)
        self.server.start()
        self.assertTrue(receiver.next()[2])


class Hostile(Hooks):
    def test_receivers_that_mean_no_good(self):
        """Noise, endless heads, silence, hanging up: each is a failed delivery, and nobody waits for it."""
        child = self.server.child()

        def answer(how):
            def run():
                s, _ = listener.accept()
                with s:
                    try:
                        s.recv(65536)
                        if how == "noise":
                            s.sendall(os.urandom(10000))
                        elif how == "endless":
                            for _ in range(10000):
                                s.sendall(b"HTTP/1.1 200 OK\r\n" if _ == 0 else b"A: " + b"b" * 100 + b"\r\n")
                        elif how == "interim":
                            for _ in range(10000):
                                s.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                    except OSError:
                        pass
            listener = socket.create_server(("127.0.0.1", 0))
            self.addCleanup(listener.close)
            threading.Thread(target=run, daemon=True).start()
            return listener.getsockname()[1]
        hooks = [self.make(f"http://127.0.0.1:{answer(how)}/") for how in ("noise", "endless", "interim", "nothing")]
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.make(f"http://127.0.0.1:{silent.getsockname()[1]}/")
        receiver = self.receive()
        self.make(f"http://127.0.0.1:{receiver.port}/")
        box = self.client.create()
        self.assertEqual(json.loads(receiver.next()[2])["sandbox_id"], box.name)
        for hook in hooks:
            self.assertTrue(wait_until(lambda h=hook: self.result(h)), hook)
            self.assertFalse(self.result(hook).startswith("2"), self.result(hook))
        self.assertEqual(box.run("/bin/true").end["status"], "exit status 0")
        self.assertEqual(self.server.child(), child)

    def test_what_is_removed_while_it_is_delivered(self):
        child = self.server.child()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.settimeout(LIMIT)
            hook = self.make(f"http://127.0.0.1:{silent.getsockname()[1]}/")
            self.client.create()
            connection, _ = silent.accept()
            with connection:
                self.assertEqual(self.client.ask("DELETE", f"/events/webhooks/{hook['id']}").status, 200)
                connection.sendall(b"HTTP/1.1 500 Sorry\r\n\r\n")
        receiver = self.receive()
        self.make(f"http://127.0.0.1:{receiver.port}/")
        box = self.client.create()
        self.assertEqual(json.loads(receiver.next()[2])["sandbox_id"], box.name)
        self.assertEqual(self.server.child(), child)

    def test_nothing_is_left_when_the_server_ends(self):
        for sig in (signal.SIGTERM, signal.SIGKILL):
            with socket.create_server(("127.0.0.1", 0)) as silent:
                silent.settimeout(LIMIT)
                hook = self.make(f"http://127.0.0.1:{silent.getsockname()[1]}/")
                self.client.create()
                connection, _ = silent.accept()
                with connection:
                    below = [p for p in descendants(self.server.process.pid) if b"glovebox-courier" in read_words(p[0])]
                    self.assertEqual(len(below), 1)
                    self.server.stop(sig)
                    self.assertTrue(wait_until(lambda p=below[0]: not is_alive(p)))
                    self.server.start()
                    self.client.ask("DELETE", f"/events/webhooks/{hook['id']}")

    def test_what_is_no_webhook(self):
        good = {"name": "n", "url": "https://example.com/", "events": ALL, "signatureSecret": "s"}
        for change in ({"url": "ftp://example.com/"}, {"url": "http://user@example.com/"}, {"url": "http://"}, {"url": "http://a b/"},
                       {"url": "http://a/\r\nX: y"}, {"url": "http://a/#b"}, {"url": "https://" + "a" * 3000}, {"url": "file:///etc/passwd"},
                       {"url": "http://a:0/"}, {"url": "http://a:99999/"}, {"url": 1}, {"url": None}, {"events": []}, {"events": ["x"]},
                       {"events": "sandbox.lifecycle.created"}, {"events": None}, {"name": ""}, {"name": "x" * 200},
                       {"signatureSecret": ""}, {"signatureSecret": None}, {"signatureSecret": "a\0b"}, {"enabled": 1}):
            with self.subTest(change):
                self.expect_status(self.client.ask("POST", "/events/webhooks", {**good, **change}), 400, ".")
        self.assertEqual(self.client.ask("GET", "/events/webhooks").json(), [])
        for _ in range(16):
            self.make("https://example.com/", enabled=False)
        self.expect_status(self.client.ask("POST", "/events/webhooks", good), 429, "too many webhooks")
        self.expect_status(self.client.ask("GET", "/events/webhooks/none"), 404)

    def test_tenants(self):
        """See, hear and lose their own."""
        receiver = self.receive()
        key = self.client.ask("POST", "/api-keys", {"name": "n"}).json()
        other = self.client.ask("POST", "/api-keys", {"name": "o", "scope": {"readOnly": True}}).json()
        tenant, reader = self.server.client(key["key"]), self.server.client(other["key"])
        own = self.make("https://example.com/", enabled=False)
        hook = self.make(f"http://127.0.0.1:{receiver.port}/", tenant)
        self.assertNotIn("s3cret", str(self.client.ask("GET", "/events/webhooks").body))
        self.assertEqual([h["id"] for h in tenant.ask("GET", "/events/webhooks").json()], [hook["id"]])
        for method in ("GET", "PATCH", "DELETE"):
            self.expect_status(tenant.ask(method, f"/events/webhooks/{own['id']}", {} if method == "PATCH" else None), 404)
        self.expect_status(reader.ask("POST", "/events/webhooks", {}), 403)
        self.client.create()
        box = tenant.create()
        self.assertEqual(json.loads(receiver.next()[2])["sandbox_id"], box.name)
        self.expect_status(self.client.ask("DELETE", f"/api-keys/{key['id']}"), 204)
        self.assertEqual([h["id"] for h in self.client.ask("GET", "/events/webhooks").json()], [own["id"]])
        self.assertEqual(self.client.ask("DELETE", f"/events/webhooks/{own['id']}").status, 200)
        self.assertEqual(self.client.ask("GET", "/events/webhooks").json(), [])
        self.assertTrue(receiver.got.empty())


class Turns(Hooks):
    def silent(self):
        """The port of one that takes connections and says nothing; and those it has taken."""
        listener, taken = socket.create_server(("127.0.0.1", 0)), queue.Queue()
        self.addCleanup(listener.close)

        def take():
            try:
                while True:
                    taken.put(listener.accept()[0])
            except OSError:
                pass
        threading.Thread(target=take, daemon=True).start()
        return listener.getsockname()[1], taken

    def tenant(self, name):
        key = self.client.ask("POST", "/api-keys", {"name": name}).json()
        return self.server.client(key["key"])

    def test_no_tenant_waits_for_the_receivers_of_another(self):
        """One has many that never answer, each with more to be told; the other is told when the first of them is given up."""
        port, taken = self.silent()
        slow, other = self.tenant("slow"), self.tenant("other")
        for _ in range(8):
            self.make(f"http://127.0.0.1:{port}/", slow)
        receiver = self.receive()
        self.make(f"http://127.0.0.1:{receiver.port}/", other, events=["sandbox.lifecycle.created"])
        slow.create().kill()
        first = [taken.get(timeout=LIMIT) for _ in range(3)]
        box = other.create()
        # Three are under way and are all that may be. One ends, and it is the other's turn.
        first[0].close()
        self.assertEqual(json.loads(receiver.next()[2])["sandbox_id"], box.name)
        self.assertTrue(taken.empty())
        for connection in first:
            connection.close()

    def test_what_waits_is_not_sent_for_a_key_that_has_expired(self):
        receiver, own = self.receive(500), self.receive()
        key = self.client.ask("POST", "/api-keys", {"name": "n"}).json()
        tenant = self.server.client(key["key"])
        hook = self.make(f"http://127.0.0.1:{receiver.port}/", tenant, events=["sandbox.lifecycle.created"])
        self.make(f"http://127.0.0.1:{own.port}/", events=["sandbox.lifecycle.created"])
        tenant.create()
        self.assertTrue(wait_until(lambda: self.result(hook) == "500"))
        receiver.next()
        own.next()
        self.server.stop()
        records = sqlite3.connect(os.path.join(self.server.state, DATABASE))
        records.execute("UPDATE keys SET scope = '{\"expiresAt\":\"2020-01-01T00:00:00Z\"}' WHERE id = ?", (int(key["id"]),))
        records.execute("UPDATE deliveries SET due_ms = 0")
        records.commit()
        records.close()
        self.server.start()
        self.expect_status(tenant.ask("GET", "/v2/sandboxes"), 401)
        self.client.create()
        own.next()
        self.assertTrue(receiver.got.empty())

    def test_how_it_went_cannot_be_noted(self):
        """It comes again, and not at once."""
        if os.geteuid() != 0:
            self.skipTest("only root can make a small disk")
        os.makedirs(self.path("small/state"), 0o700)
        state = self.path("small/state")
        mount = f"mount -t tmpfs -o size=1m,mode=0700 none {state} && exec \"$@\""
        server = Server(self.path("small"), *self.OPTIONS, prefix=("unshare", "-m", "sh", "-c", mount, "sh"))
        self.addCleanup(server.end)
        port, taken = self.silent()
        self.make(f"http://127.0.0.1:{port}/", server.client(), events=["sandbox.lifecycle.created"])
        server.client().create()
        filler = f"/proc/{server.process.pid}/root{state}/filler"

        def answer():
            try:
                with open(filler, "ab", buffering=0) as f:
                    while True:
                        f.write(bytes(256))
            except OSError:
                pass
            taken.get(timeout=LIMIT).sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        answer()
        self.assertTrue(wait_until(lambda: "can't be noted" in server.said()), server.said())
        self.assertTrue(taken.empty())
        os.remove(filler)


class Floor(Hooks):
    """Without the operator's word: only where everybody may go."""
    OPTIONS = ()

    def test_private_addresses(self):
        receiver = self.receive()
        hooks = [self.make(f"http://{host}:{receiver.port}/") for host in
                 ("127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.0.0.1", "192.168.0.1", "[fe80::1]", "[fd00::1]",
                  "100.64.0.1", "[64:ff9b::7f00:1]")]
        self.client.create()
        for hook in hooks:
            self.assertTrue(wait_until(lambda h=hook: self.result(h)), hook["url"])
            self.assertRegex(self.result(hook), "not public", hook["url"])
        self.assertTrue(receiver.got.empty())

    def test_names_of_this_machine_are_none(self):
        hook = self.make("http://localhost:1/")
        mail = self.make("http://192.0.2.1:25/")
        self.client.create()
        self.assertTrue(wait_until(lambda: self.result(hook)))
        self.assertRegex(self.result(hook), "no such name|not public")
        self.assertTrue(wait_until(lambda: self.result(mail)))
        self.assertRegex(self.result(mail), "port 25")


if __name__ == "__main__":
    main(sys.modules[__name__])
