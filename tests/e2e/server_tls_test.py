#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox serve with a certificate: TLS to clients, on whatever address."""
import os
import signal
import socket
import ssl
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main, wait_until  # noqa: E402
from server_client import Served, Server  # noqa: E402


def openssl(*words):
    subprocess.run(["openssl", *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=True)


def make_certificate(folder, name, key=("ec", "ec_paramgen_curve:P-256"), days="2", names=("DNS:localhost", "IP:127.0.0.1")):
    """(certificate, key): files; signed by itself, and no authority's: some clients take none for a server's."""
    certificate, private = os.path.join(folder, f"{name}.pem"), os.path.join(folder, f"{name}.key")
    openssl("req", "-x509", "-newkey", key[0], *(("-pkeyopt", key[1]) if len(key) > 1 else ()), "-nodes", "-keyout", private, "-out",
            certificate, "-days", days, "-subj", f"/CN={name}", "-addext", "subjectAltName=" + ",".join(names),
            "-addext", "basicConstraints=critical,CA:FALSE")
    os.chmod(private, 0o600)
    return certificate, private


def trusting(certificate):
    context = ssl.create_default_context(cafile=certificate)
    context.set_alpn_protocols(["http/1.1"])
    return context


class Secure(Case):
    def serve(self, *options, listen=None):
        self.certificate, self.key = make_certificate(self.folder, "first")
        self.server = Server(self.folder, "--tls-cert", self.certificate, "--tls-key", self.key, *options)
        self.server.tls = trusting(self.certificate)
        self.addCleanup(self.server.end)
        self.client = self.server.client()

    def shown(self):
        """The certificate that a new connection is shown."""
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as s, context.wrap_socket(s) as secure:
            return ssl.DER_cert_to_PEM_cert(secure.getpeercert(True))

    def handshake(self, prepare):
        context = trusting(self.certificate)
        prepare(context)
        with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as s:
            with context.wrap_socket(s, server_hostname="localhost") as secure:
                return secure.version(), secure.selected_alpn_protocol()


class Life(Secure):
    def test_a_sandbox(self):
        """All that comes and goes, in both directions, in pieces of all sizes, with more waiting than a record holds."""
        self.serve()
        box = self.client.create()
        data = os.urandom(3 << 20)
        self.assertEqual(box.ask("POST", "/files?path=f", data, {"Content-Type": "application/octet-stream"}).status, 200)
        self.assertEqual(box.ask("GET", "/files?path=f").body, data)
        done = box.run("/bin/sh", "-c", "head -c 2000000 /dev/zero | tr '\\0' x; echo end >&2")
        self.assertEqual((len(done.out), done.err), (2000000, b"end\n"))
        stream = box.start("/bin/cat", stdin=True)
        stream.next()
        box.kill()
        with self.assertRaises(Exception):
            while stream.next():
                pass
        stream.close()

    def test_many_requests_in_one_write(self):
        self.serve()
        with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as s:
            with self.server.tls.wrap_socket(s, server_hostname="localhost") as secure:
                secure.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n" * 1000 + b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                said = b""
                while piece := secure.recv(65536):
                    said += piece
        self.assertEqual(said.count(b"HTTP/1.1 200 "), 1001)

    def test_versions_and_protocols(self):
        self.serve()
        self.assertEqual(self.handshake(lambda c: None), ("TLSv1.3", "http/1.1"))
        self.assertEqual(self.handshake(lambda c: setattr(c, "maximum_version", ssl.TLSVersion.TLSv1_2)), ("TLSv1.2", "http/1.1"))
        self.assertEqual(self.handshake(lambda c: c.set_alpn_protocols(["h2", "http/1.1"]))[1], "http/1.1")
        with self.assertRaises(ssl.SSLError):
            self.handshake(lambda c: c.set_alpn_protocols(["h2"]))
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.port}", "-tls1_1", "-cipher",
                               "ALL:@SECLEVEL=0"], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
        self.assertIn(b"alert protocol version", done.stderr)

    def test_others_reach_it(self):
        certificate, key = make_certificate(self.folder, "public")
        process = subprocess.Popen([GLOVEBOX, "serve", "--listen", "0.0.0.0:0", "--state", self.path("public-state"), "--tls-cert",
                                    certificate, "--tls-key", key], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        line = process.stdout.readline()
        process.terminate()
        process.wait(LIMIT)
        process.stdout.close()
        self.assertIn(b"https://127.0.0.1:", line)


class Hostile(Secure):
    def test_what_is_no_handshake(self):
        """Plain requests, noise, halves of messages: each is hung up on, and nobody else is held up."""
        self.serve()
        child = self.server.child()
        waiting = []
        hello = bytes.fromhex("16030100fe010000fa0303") + bytes(100)
        for noise in (b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", os.urandom(5000), b"\x16\x03\x01\xff\xff" + os.urandom(70000), b"\x80\x80\x01",
                      b"\x15\x03\x01\x00\x02\x02\x28", hello + b"\x00" * 200000, b"", hello, hello[:3]):
            s = socket.create_connection(("127.0.0.1", self.server.port), LIMIT)
            waiting.append(s)
            try:
                s.sendall(noise)
            except ConnectionError:
                pass
        self.assertEqual(self.client.ask("GET", "/health").status, 200)
        for s in waiting:
            said = b""
            try:
                while piece := s.recv(1000):  # its time for a handshake is up before LIMIT
                    said += piece
            except ConnectionError:
                pass
            self.assertNotIn(b"HTTP/1.1", said)
            s.close()
        self.assertEqual(self.server.child(), child)

    def test_cut_in_the_middle(self):
        self.serve()
        box = self.client.create()
        for how in ("unwrap", "close"):
            with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as s:
                secure = self.server.tls.wrap_socket(s, server_hostname="localhost", do_handshake_on_connect=True)
                secure.sendall(b"POST /files?path=half HTTP/1.1\r\nHost: a\r\nE2b-Sandbox-Id: " + box.name.encode() +
                               b"\r\nE2b-Sandbox-Port: 49983\r\nX-Access-Token: " + box.token.encode() +
                               b"\r\nContent-Type: application/octet-stream\r\nContent-Length: 100000\r\n\r\n" + b"x" * 5000)
                if how == "unwrap":
                    secure.settimeout(LIMIT)
                    try:
                        secure.unwrap()
                    except (OSError, ssl.SSLError):
                        pass
                secure.close()
        self.assertTrue(wait_until(lambda: box.ask("GET", "/files?path=half").status == 404))


class Change(Secure):
    def test_at_a_hangup(self):
        """A new certificate for new connections; the old ones stay. One that can't be used changes nothing."""
        self.serve()
        with open(self.certificate, encoding="ascii") as f:
            first = f.read()
        self.assertEqual(self.shown(), first)
        box = self.client.create()
        stream = box.start("/bin/cat", stdin=True)
        stream.next()
        other, other_key = make_certificate(self.folder, "second", ("rsa:2048",))
        with open(other, encoding="ascii") as f:
            second = f.read()
        os.rename(other, self.certificate)
        self.server.process.send_signal(signal.SIGHUP)
        self.assertTrue(wait_until(lambda: "not the certificate's" in self.server.said()))
        self.assertEqual(self.shown(), first)
        os.rename(other_key, self.key)
        self.server.process.send_signal(signal.SIGHUP)
        self.assertTrue(wait_until(lambda: self.shown() == second))
        self.client.tls = self.server.tls = trusting(self.certificate)
        box.call("process.Process/SendInput", {"process": {"pid": stream.pid}, "input": {"stdin": "b25lCg=="}})
        stream.read_until(b"one")
        stream.close()
        os.unlink(self.key)
        self.server.process.send_signal(signal.SIGHUP)
        self.assertTrue(wait_until(lambda: f"--tls-key '{self.key}': No such file" in self.server.said()))
        self.assertEqual(self.shown(), second)

    def test_a_failed_server_has_it_again(self):
        self.serve()
        child = self.server.child()
        os.kill(child, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.child() not in (None, child)))
        self.assertEqual(self.client.ask("GET", "/health").status, 200)


class Refused(Case):
    def test_what_can_not_be_used(self):
        good, key = make_certificate(self.folder, "good")
        other, other_key = make_certificate(self.folder, "other")
        weak, weak_key = make_certificate(self.folder, "weak", ("rsa:1024",))
        locked = self.path("locked.key")
        openssl("pkey", "-in", key, "-aes128", "-passout", "pass:x", "-out", locked)
        os.chmod(locked, 0o600)
        shared = self.path("shared.key", open(key, "rb").read())
        os.chmod(shared, 0o644)
        noise, large = self.path("noise", b"x\0y"), self.path("large", b"x" * 70000)
        empty = self.path("empty", b"")
        prose = self.path("prose", b"words")
        for file in (noise, large, empty, good, prose):
            os.chmod(file, 0o600)
        for words, why in (((good, None), "one without the other"), ((None, key), "one without the other"),
                           ((good, other_key), "not the certificate's"), ((good, locked), "without a passphrase"),
                           ((good, shared), "everybody can read it"), ((good, noise), "no PEM"), ((good, large), "no PEM"),
                           ((large, key), "no PEM"), ((empty, key), "no PEM"), ((key, good), "no certificate in it"),
                           ((good, empty), "no PEM"), ((good, prose), "no key in it"), ((weak, weak_key), "too weak"),
                           ((self.path("none"), key), "No such file"),
                           ((self.folder, key), "directory")):
            options = [w for pair in zip(("--tls-cert", "--tls-key"), words) if pair[1] for w in pair]
            with self.subTest(words):
                done = subprocess.run([GLOVEBOX, "serve", "--listen", "0", "--state", self.path("state"), *options],
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn(why, done.stderr.decode())

    def test_a_public_address_without_it(self):
        done = subprocess.run([GLOVEBOX, "serve", "--listen", "0.0.0.0:0", "--state", self.path("state")], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT, check=False)
        self.expect_refused(done, "give --tls-cert and --tls-key")


class Proxied(Served):
    """Behind a proxy: what it, or anybody, says of the client is not believed."""
    OPTIONS = ("--log-file", "-")

    def test_forwarded_fields_are_nothing(self):
        fields = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Host": "49983-iaaaaaaaaaaaaaaaaaaaa.x", "X-Forwarded-Proto": "https",
                  "Forwarded": "for=192.0.2.7", "X-Real-IP": "192.0.2.7"}
        self.assertEqual(self.client.ask("GET", "/sandboxes", fields=fields).json(), [])
        self.assertTrue(wait_until(lambda: '"path":"/sandboxes"' in self.server.said()))
        self.assertNotIn("192.0.2.7", self.server.said())


if __name__ == "__main__":
    main(sys.modules[__name__])
