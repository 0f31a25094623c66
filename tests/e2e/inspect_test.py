#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a connection says of itself is looked at: the name in a TLS hello, requests; and TLS that ends in the gateway."""
import base64
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import egress_test  # noqa: E402
from cases import GLOVEBOX, main  # noqa: E402
from egress_test import cidr, domain  # noqa: E402
from internet import EVIL, GOOD, HUGE_PARTS, OTHER  # noqa: E402

CLIENT = r"""
import http.client, ssl
def trusting():
    return ssl.create_default_context()
def greet(address, name, port=443, context=None):
    # what becomes of a TLS connection to an address that names a host in its hello; None: none
    c = context or ssl.create_default_context()  # takes long: one that says nothing for a while is judged by that
    s = tcp(address, port)
    if isinstance(s, str):
        return s
    if name is None:
        c.check_hostname = False
    try:
        with c.wrap_socket(s, server_hostname=name) as t:
            t.sendall(b"GET /hello HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (name or "none").encode())
            data = b""
            while piece := t.recv(65536):
                data += piece
            return data.split(b"\r\n\r\n", 1)[1].decode().strip()
    except ssl.SSLError as e:
        return e.reason
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
def fetch(host, path="/", method="GET", headers={}, port=443, body=None, secure=True):
    c = (http.client.HTTPSConnection if secure else http.client.HTTPConnection)(host, port, timeout=30)
    try:
        c.request(method, path, body, headers)
        r = c.getresponse()
        return [r.status, r.read().decode()]
    except ssl.SSLError as e:
        return e.reason
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
"""


class Inspect(egress_test.Egress):
    def setUp(self):
        super().setUp()
        net = egress_test.network()
        if not hasattr(net, "is_trusted"):
            net.is_trusted = True
            with open("/etc/ssl/certs/ca-certificates.crt", encoding="utf-8") as f:
                net.show(net.folder, "roots.pem", "/etc/ssl/certs/ca-certificates.crt", f.read() + net.root)

    def python(self, code, *options, **rest):
        return super().python(CLIENT + (code if "print" in code else f"print(json.dumps({code}))"), *options, **rest)


class Hello(Inspect):
    """TLS passes through; the name in its hello counts. A connection without a name is waited for, however slow we are."""
    RULES = domain("good.test", "*.good.test"),
    LONG = {"nameless_wait_ms": 10000}

    def test_a1_a2_a10_the_hello_says_where_to(self):
        found = self.python(f"[greet('{EVIL}', 'api.good.test'), look('api.good.test'), greet('{GOOD}', 'api.good.test'), "
                            f"greet('{GOOD}', 'evil.test'), greet('{EVIL}', 'evil.test'), greet('{EVIL}', None)]",
                            *self.policy(*self.RULES, limits=self.LONG))
        denied = "TLSV1_ALERT_ACCESS_DENIED"
        self.assertEqual(found, [f"{GOOD} /hello", [GOOD], f"{GOOD} /hello", denied, denied, denied])
        self.expect_connections([f"{GOOD}:443"] * 3)
        self.assertEqual(len(self.came_in()["requests"]), 2)
        reasons = [d["reason"] for d in self.decisions("connect") if d["decision"] == "deny"]
        self.assertEqual(reasons, ["name_conflict", "default", "default"])

    def test_a_name_that_is_denied_is_so_at_any_address(self):
        """Though nobody has asked the resolver for it, and the address is allowed."""
        rules = ({"id": "never", "action": "deny", "to": {"domain": ["evil.test"]}}, cidr(GOOD, ports=[80, 443]))
        code = f"""
s = tcp("{GOOD}")
s.sendall(b"GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n")
print(json.dumps([greet("{GOOD}", "api.good.test"), greet("{GOOD}", "evil.test"), s.recv(12)[9:].decode()]))
"""
        found = self.python(code, *self.policy(*rules, limits=self.LONG))
        self.assertEqual(found, [f"{GOOD} /hello", "TLSV1_ALERT_ACCESS_DENIED", "403"])
        self.assertEqual([(r[1], r[2]) for r in self.came_in()["requests"]], [("api.good.test", "/hello")])

    def test_c14_a_hello_in_many_pieces(self):
        code = f"""
c = ssl.create_default_context()
i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
t = c.wrap_bio(i, o, server_hostname="api.good.test")
try:
    t.do_handshake()
except ssl.SSLWantReadError:
    pass
s = tcp("{EVIL}", 443)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for byte in o.read():
    s.send(bytes([byte]))
while True:
    i.write(s.recv(65536))
    try:
        t.do_handshake()
        break
    except ssl.SSLWantReadError:
        pass
s.sendall(o.read())
print(json.dumps(t.version()))
"""
        self.assertEqual(self.python(code, *self.policy(*self.RULES, limits=self.LONG)), "TLSv1.3")
        self.expect_connections([f"{GOOD}:443"])

    def test_c5_c6_each_request_in_the_clear_is_judged(self):
        code = """
look("api.good.test")
s = socket.create_connection(("api.good.test", 80), 30)
s.sendall(b"GET /one HTTP/1.1\\r\\nHost: api.good.test\\r\\n\\r\\nGET /two HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n")
data = b""
while piece := s.recv(65536):
    data += piece
print(json.dumps([part[:3].decode() for part in data.split(b"HTTP/1.1 ")[1:]]))
"""
        self.assertEqual(self.python(code), ["200", "421"])
        self.assertEqual(self.came_in()["requests"], [["GET", "api.good.test", "/one"]])


class Terminated(Inspect):
    RULES = (domain("api.good.test", ports=[443], http={"method": ["GET"], "path": {"prefix": "/v1/"}}),
             domain("other.good.test", tls="terminate"))

    def test_requests_are_judged(self):
        found = self.python("[fetch('api.good.test', '/v1/a'), fetch('api.good.test', '/v2/a'), "
                            "fetch('api.good.test', '/v1/a', 'POST'), fetch('other.good.test', '/x')]",
                            *self.policy(*self.RULES))
        self.assertEqual(found[0], [200, f"{GOOD} /v1/a\n"])
        self.assertEqual([found[1][0], found[2][0]], [403, 403])
        self.assertEqual(json.loads(found[1][1])["reason"], "default")
        self.assertEqual(found[3], [200, f"{OTHER} /x\n"])
        self.assertEqual([r[2] for r in self.came_in()["requests"]], ["/v1/a", "/x"])
        self.assertEqual([(d["path"], d["decision"], d["status"]) for d in self.decisions("request")],
                         [("/v1/a", "allow", 200), ("/v2/a", "deny", 403), ("/v1/a", "deny", 403), ("/x", "allow", 200)])

    def test_a_machine_without_roots(self):
        """It takes none to let TLS through, or to end it nowhere."""
        nothing = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null /etc/ssl/certs/ca-certificates.crt && exec "$@"', "sh"]
        for options, status in ((("--allow", "api.good.test"), 0), (self.policy(*self.RULES), 125)):
            done = subprocess.run([*nothing, GLOVEBOX, "run", *options, "--", "true"], capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(b"install ca-certificates", done.stderr)

    def test_what_the_log_is_to_have(self):
        for level, events in (("decisions", {"dns", "connect", "request"}), ("flows", {"dns", "connect", "request", "close"}),
                              ("requests", {"dns", "connect", "request", "close"})):
            with self.subTest(level):
                self.log = self.path(level)
                self.python("[fetch('api.good.test', '/v1/a?q'), fetch('api.good.test', '/v2/a')]",
                            *self.policy(*self.RULES, log={"level": level}))
                self.assertEqual({d["event"] for d in self.decisions()}, events)
                self.assertEqual([d["path"] for d in self.decisions("request")],
                                 ["/v1/a", "/v2/a"] if level == "requests" else ["/v2/a"])

    def test_c1_c3_c11_authority_and_hello_agree(self):
        found = self.python("[fetch('api.good.test', '/v1/a', headers={'Host': h})[0] for h in "
                            "('evil.test', 'other.good.test', 'api.good.test:8443', 'api.good.test:443', 'API.good.test.')]",
                            *self.policy(*self.RULES))
        self.assertEqual(found, [421, 421, 421, 200, 200])

    def test_c21_servers_that_are_not_who_they_should_be(self):
        found = self.python("[fetch('api.good.test', '/', port=p) for p in (8443, 8444, 8445, 8446)]",
                            *self.policy(domain("api.good.test", http={"method": ["GET"]})))
        self.assertEqual([f[0] for f in found], [502] * 4)
        for answer, word in zip(found, ("certificate", "expired", "self", "Connection refused")):
            self.assertIn(word, answer[1])
        self.assertEqual(self.came_in()["requests"], [])

    def test_c19_a_server_that_wants_to_know_who_asks(self):
        """With a certificate of the program's where TLS passes through; the gateway has none to show."""
        code = """
c = ssl.create_default_context()
c.load_cert_chain("/tls/other.pem", "/tls/key.pem")
print(json.dumps(greet("%s", "api.good.test", 8447, c)))
""" % GOOD
        mount = "--mount", f"{egress_test.network().folder}:/tls:ro"
        self.assertIn("/hello", self.python(code, *self.policy(domain("api.good.test", tls="passthrough")), *mount))
        requests = self.came_in()["requests"]
        self.assertEqual(len(requests), 1)
        found = self.python("fetch('api.good.test', '/', port=8447)", *self.policy(domain("api.good.test", tls="terminate")))
        self.assertEqual((found[0], json.loads(found[1])["reason"]), (502, "upstream_tls"))
        self.assertEqual(self.came_in()["requests"], requests)

    def test_g19_each_connection_has_one_of_its_own(self):
        """Two of a program, then one of another sandbox; requests on one of them share it."""
        code = """
a, b = (http.client.HTTPSConnection("api.good.test", timeout=30) for _ in range(2))
for c in (a, b, a, b):
    c.request("GET", "/")
    c.getresponse().read()
print(json.dumps("over"))
"""
        for _ in range(2):
            self.python(code, *self.policy(domain("api.good.test", tls="terminate")))
        self.assertEqual(len(self.came_in()["requests"]), 8)
        self.expect_connections([f"{GOOD}:443"] * 4)

    def test_much_both_ways(self):
        code = """
c = http.client.HTTPSConnection("other.good.test", timeout=30)
c.request("GET", "/big")
body = c.getresponse().read()
c.request("POST", "/", body)
print(json.dumps([len(body), c.getresponse().read().decode() == f"{sum(body)}\\n"]))
"""
        self.assertEqual(self.python(code, *self.policy(*self.RULES)), [len(egress_test.BIG), True])

    def test_the_end_of_the_handshake_and_a_request_in_one_packet(self):
        code = """
look("other.good.test")
i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
t = ssl.create_default_context().wrap_bio(i, o, server_hostname="other.good.test")
s = tcp(look("other.good.test")[0], 443)
while True:
    try:
        t.do_handshake()
        break
    except ssl.SSLWantReadError:
        s.sendall(o.read())
        i.write(s.recv(65536))
t.write(b"GET /at-once HTTP/1.1\\r\\nHost: other.good.test\\r\\nConnection: close\\r\\n\\r\\n")
s.sendall(o.read())
data = b""
while not data.endswith(b"/at-once\\n"):
    i.write(s.recv(65536))
    try:
        data += t.read(65536)
    except ssl.SSLWantReadError:
        pass
print(json.dumps(data[9:12].decode()))
"""
        self.assertEqual(self.python(code, *self.policy(*self.RULES)), "200")

    def test_content_of_any_size_goes_through_a_gateway_of_64_mib(self):
        code = """
piece = bytes(range(256)) * 4096
c = http.client.HTTPSConnection("other.good.test", timeout=60)
c.request("GET", "/huge")
answer = c.getresponse()
size = sum(len(data) for data in iter(lambda: answer.read(1 << 20), b""))
c.request("POST", "/", (piece for _ in range(80)), {"Content-Length": str(80 * len(piece))})
print(json.dumps([size, c.getresponse().read().decode() == f"{80 * sum(piece)}\\n"]))
"""
        self.assertEqual(self.python(code, *self.policy(*self.RULES)), [len(egress_test.BIG) * HUGE_PARTS, True])

    def test_a_reader_is_woken_by_the_end_of_reading(self):
        code = """
import threading
look("other.good.test")
s = socket.create_connection(("other.good.test", 443))
s.sendall(b"\\x16\\x03\\x01")  # the gateway waits for more
ends = []
reader = threading.Thread(target=lambda: ends.append(s.recv(100)))
reader.start()
time.sleep(0.3)
s.shutdown(socket.SHUT_RD)
reader.join(20)
p = select.poll()
p.register(s, select.POLLIN)
print(json.dumps([reader.is_alive(), [e.decode() for e in ends], s.recv(10).decode(), p.poll(0)[0][1] & 1]), flush=True)
os._exit(0)
"""
        self.assertEqual(self.python(code, *self.policy(*self.RULES)), [False, [""], "", 1])

    def test_transforms(self):
        rule = domain("api.good.test", transforms=[{"set_headers": {"x-added": "1", "authorization": "Bearer z"},
                                                    "remove_headers": ["x-gone"]}])
        found = self.python("fetch('api.good.test', '/echo', headers={'Authorization': 'mine', 'X-Gone': '1', 'X-Kept': '2'})",
                            *self.policy(rule))
        headers = {name.lower(): value for name, value in json.loads(found[1])["headers"]}
        self.assertEqual((headers["x-added"], headers["authorization"], headers["x-kept"], "x-gone" in headers),
                         ("1", "Bearer z", "2", False))

    def test_addresses_are_not_terminated(self):
        found = self.python(f"greet('{GOOD}', 'api.good.test')", *self.policy(cidr(f"{GOOD}/32")))
        self.assertEqual(found, f"{GOOD} /hello")


class Secrets(Inspect):
    VALUE = "sk-live-4f1d2c3b4a5968778695a4b3c2d1e0f"

    def setUp(self):
        super().setUp()
        os.environ["TEST_KEY"] = self.VALUE
        self.addCleanup(os.environ.pop, "TEST_KEY")

    def test_the_server_gets_it_and_the_sandbox_never_does(self):
        code = """
k = os.environ["K"]
print(json.dumps([k, fetch("api.test", "/echo", headers={"Authorization": f"Bearer {k}"}),
                  fetch("api.test", "/echo", headers={"X-Other": "1"})[0]]))
"""
        placeholder, echo, other = self.python(code, "--allow", "api.test", "--secret", "K=env:TEST_KEY@api.test")
        self.assertNotEqual(placeholder, self.VALUE)
        self.assertEqual(echo[0], 200)
        self.assertIn(placeholder, echo[1])
        self.assertNotIn(self.VALUE, echo[1])
        self.assertEqual(other, 200)
        self.assertEqual([r[2] for r in self.came_in()["requests"]], ["/echo", "/echo"])
        self.assertEqual(self.came_in()["authorizations"], [f"Bearer {self.VALUE}"])
        self.assertEqual([d.get("secrets") for d in self.decisions("request")], [["K"], None])
        with open(self.log, encoding="utf-8") as f:
            self.assertNotIn(self.VALUE, f.read())

    def test_g6_g8_what_the_policy_adds_by_itself(self):
        """Nothing of it is inside, also where the server says what it got."""
        rule = domain("api.test", transforms=[{"set_basic": "me:${secret.K}", "set_query": {"key": "${secret.K}"}}])
        found = self.python("fetch('api.test', '/echo?key=mine&a=1', headers={'Authorization': 'mine'})", *self.policy(
            rule, secrets={"K": {"source": {"env": "TEST_KEY"}, "allow": {"hosts": ["api.test"]}}}))
        credentials = base64.b64encode(f"me:{self.VALUE}".encode()).decode()
        self.assertEqual(self.came_in()["authorizations"], [f"Basic {credentials}"])
        self.assertEqual([r[2] for r in self.came_in()["requests"]], [f"/echo?a=1&key={self.VALUE}"])
        self.assertEqual(found[0], 200)
        self.assertIn("/echo?a=1&key=", found[1])
        self.assertNotIn(self.VALUE, found[1])
        self.assertNotIn(credentials, found[1])
        with open(self.log, encoding="utf-8") as f:
            self.assertNotIn(self.VALUE, f.read())

    def test_g3_it_goes_nowhere_else(self):
        code = """
k = os.environ["K"]
print(json.dumps([fetch(h, "/echo", headers={"Authorization": f"Bearer {k}"}) for h in ("api.good.test", "api.test")]))
"""
        elsewhere, there = self.python(code, *self.policy(
            domain("api.good.test", "api.test", tls="terminate"),
            secrets={"K": {"source": {"env": "TEST_KEY"}, "env": ["K"], "allow": {"hosts": ["api.test"]}}}))
        self.assertEqual((elsewhere[0], json.loads(elsewhere[1])["reason"], there[0]), (403, "secret_violation", 200))
        self.assertEqual(self.came_in()["authorizations"], [f"Bearer {self.VALUE}"])


if __name__ == "__main__":
    main(sys.modules["__main__"])
