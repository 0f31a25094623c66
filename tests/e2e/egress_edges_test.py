#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kinds of sockets and of bytes that are not a plain connection, sandboxes next to each other, and what a sandbox inherits."""
import os
import signal
import socket
import sys

sys.dont_write_bytecode = True
import egress_test  # noqa: E402
from cases import descendants, main, run, wait_until  # noqa: E402
from egress_test import NOTHING, PROLOGUE, Egress, cidr, domain  # noqa: E402
from internet import EVIL, GOOD, MACHINE  # noqa: E402

KINDS = r"""
def opened(family, kind, protocol=0):
    try:
        socket.socket(family, kind, protocol).close()
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
def datagram(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(20)
    try:
        s.connect((host, port))
        s.send(b"x" * 1200)
        return "answered" if s.recv(100) else "empty"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
"""
REFUSED = {"EPERM", "EACCES", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT", "EINVAL"}


class Edges(Egress):
    def inside(self, code, *options, **more):
        return self.python(KINDS + (code if "print" in code else f"print(json.dumps({code}))"), *options, **more)


class Sockets(Edges):
    ANY = {"to": "any"}

    def test_b19_e4_e5_what_is_not_tcp_or_udp(self):
        kinds = {"packet": (17, 3, 0), "packet, cooked": (17, 2, 0), "vsock": (40, 1, 0), "crypto": (38, 5, 0), "XDP": (44, 3, 0),
                 "Bluetooth": (31, 3, 1), "CAN": (29, 3, 1), "raw": (2, 3, 255), "raw ICMP": (2, 3, 1), "ping": (2, 2, 1),
                 "raw TCP": (2, 3, 6), "raw IPv6": (10, 3, 58), "SCTP": (2, 1, 132), "DCCP": (2, 6, 33), "UDP-Lite": (2, 2, 136)}
        for user in ("1000", "root"):
            found = self.inside(f"[opened(*k) for k in {list(kinds.values())}]", "--user", user, *self.policy(self.ANY))
            for kind, became in zip(kinds, found):
                with self.subTest(f"{kind}, as {user}"):
                    self.assertIn(became, REFUSED)
        self.assertEqual(self.came_in(), NOTHING)

    def test_r75_no_container_engine_works_inside(self):
        """So none is there that would have to trust the authority: what it is made of is refused, to root as well, and the machine's
        is not seen. What fetches images without an engine has the authority where it looks (clients_go)."""
        code = '''
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def became(result):
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "ok"
def connected(path):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
print(json.dumps([[became(libc.unshare(flag)) for flag in (0x20000, 0x10000000, 0x20000000, 0x40000000)],
                  became(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None)), became(libc.mount(b"none", b"/mnt", b"overlay", 0, None)),
                  [connected(p) for p in ("/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")]]))
'''
        for user in ("1000", "root"):
            spaces, *mounts, sockets = self.inside(code, "--user", user, *self.policy(self.ANY))
            self.assertLessEqual({*spaces, *mounts}, {"EPERM", "ENOSYS", "EINVAL"})
            self.assertEqual(sockets, ["ENOENT"] * 3)

    def test_b19_unix_sockets_of_the_machine(self):
        name = f"glovebox-test-{os.getpid()}"
        path = self.path("socket")
        for address in ("\0" + name, path):
            s = socket.socket(socket.AF_UNIX)
            self.addCleanup(s.close)
            s.bind(address)
            s.listen()
        code = f"""
def reach(address):
    try:
        socket.socket(socket.AF_UNIX).connect(address)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
print(json.dumps([reach("\\0{name}"), reach("/m/socket")]))
"""
        self.assertEqual(self.inside(code, "--mount", f"{self.folder}:/m:ro", *self.policy(self.ANY)), ["ECONNREFUSED"] * 2)

    def test_e1_d5_e12_datagrams_to_an_allowed_name(self):
        """An allow of a name is of TCP: so clients fall back to it. They are told, and don't wait."""
        found = self.inside(f"[look('api.good.test')] + [datagram('{GOOD}', port) for port in (443, 853, 123, 7)] + "
                            "[time.time() > 1.7e9]")
        self.assertEqual((found[0], found[-1]), ([GOOD], True))
        self.assertLessEqual(set(found[1:-1]), {"EACCES", "ECONNREFUSED", "EPERM"})
        self.assertEqual(self.came_in(), {**NOTHING, "queries": ["api.good.test"]})

    def test_e5_options_of_ip(self):
        code = f"""
def options():
    s = socket.socket()
    try:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\\x83\\7\\4" + socket.inet_aton("{EVIL}") + b"\\0")
    except OSError as e:
        return errno.errorcode[e.errno]
    return len(s.getsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, 40))
print(json.dumps(options()))
"""
        self.assertIn(self.inside(code), (0, "ENOPROTOOPT", "EPERM", "EINVAL"))

    def test_e6_urgent_bytes_and_bytes_with_the_connect(self):
        code = f"""
def urgent():
    s = socket.create_connection(("api.good.test", 7), 20)
    try:
        s.sendall(b"abc")
        s.send(b"!", socket.MSG_OOB)
    except OSError as e:
        said = errno.errorcode[e.errno]
    s.sendall(b"def")
    s.shutdown(socket.SHUT_WR)
    data = b""
    while piece := s.recv(100):
        data += piece
    return data.decode()
def early(host, name):
    s = socket.socket()
    s.settimeout(20)
    try:
        s.sendto(b"GET / HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % name.encode(), socket.MSG_FASTOPEN, (host, 80))
        return s.recv(100).decode().split("\\r")[0]
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
print(json.dumps([urgent(), early("{GOOD}", "api.good.test"), early("{EVIL}", "evil.test"), early("10.0.0.1", "api.good.test")]))
"""
        found = self.inside(code)
        self.assertIn(found[0], ("fedcba", "fed!cba"))
        self.assertIn(found[1], ("HTTP/1.1 200 OK", "ENOTSUP"))
        self.assertIn(found[2], ("HTTP/1.1 403 Forbidden", "ECONNRESET", "EACCES", "ENOTSUP"))
        self.assertIn(found[3], ("EACCES", "ENOTSUP"))
        self.assertNotIn(f"{EVIL}:80", self.came_in()["connections"])

    def test_a29_a30_ports(self):
        found = self.inside("[by_name('api.good.test', p) for p in (80, 22, 8080)] + [became('%s', 0)]" % GOOD, allow="api.good.test:80")
        self.assertEqual(found[:3], ["ok", "EACCES", "EACCES"])
        self.assertNotEqual(found[3], "ok")
        self.expect_connections([f"{GOOD}:80"])
        self.assertEqual([(d["reason"], d["words"]) for d in self.decisions("connect") if d["decision"] == "deny"][:2],
                         [("default", "this sandbox may not use that port there")] * 2)

    def test_c29_a_server_that_speaks_first_by_its_address(self):
        """Nothing is known of whom it is for, so the first bytes are waited for, but not for long."""
        code = f"s = tcp('{GOOD}', 22)\nprint(json.dumps(s.recv(100).decode()))"
        rules = self.policy(domain("*.pkg.test"), cidr(f"{GOOD}/32"))
        self.assertEqual(self.inside(code, *rules), "SSH-2.0-first\r\n")

    def test_c30_tls_that_begins_later(self):
        """Behind other words it is not looked at: the name was known before."""
        code = """
import ssl
def hello(name):
    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(i, o, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return o.read()
def said(first):
    s = socket.create_connection(("api.good.test", 7), 20)
    all = first + hello("evil.test")
    s.sendall(all)
    s.shutdown(socket.SHUT_WR)
    data = b""
    while piece := s.recv(5000):
        data += piece
    return data == all[::-1]
print(json.dumps([said(first) for first in (b"EHLO me\\r\\nSTARTTLS\\r\\n", bytes.fromhex("0000000804d2162f"))]))
"""
        self.assertEqual(self.inside(code), [True, True])

    def test_e9_a_second_connection_needs_a_rule_of_its_own(self):
        self.assertEqual(self.inside("[by_name('api.good.test', 22), became('%s', 50000)]" % GOOD, allow="*.good.test:22"),
                         ["ok", "EACCES"])

    def test_h6_e11_so_many_new_ones_in_a_second(self):
        found = self.inside(f"look('api.good.test') and [became('{GOOD}') for _ in range(100)]",
                            *self.policy(domain("*.good.test"), limits={"max_new_per_s": 5}))
        self.assertEqual(set(found), {"ok", "EADDRNOTAVAIL"})
        self.assertLess(len(self.came_in()["connections"]), 60)
        self.assertIn("limit:max_new_per_s", [d.get("reason") for d in self.decisions("connect")])


class Neighbours(Edges):
    LISTEN = """
s = socket.create_server(("10.0.2.15", 8080))
t = socket.create_server(("0.0.0.0", 8081))
print("listening", flush=True)
sys.stdin.read()
"""

    def other(self, code, *options):
        process = self.start(*(options or ("--allow", "*.good.test")), "--", "/usr/bin/python3", "-c", PROLOGUE + code)
        self.assertTrue(process.stdout.readline())
        return process

    def test_b17_e13_nobody_is_reached_from_outside(self):
        self.other(self.LISTEN)
        found = self.inside("[became('10.0.2.15', 8080), became('10.0.2.15', 8081), became('10.0.2.16', 8080)]",
                            *self.policy({"to": "any"}, cidr("10.0.0.0/8")))
        self.assertEqual(found, ["ECONNREFUSED", "ECONNREFUSED", "EACCES"])
        for host in ("127.0.0.1", MACHINE):
            for port in (8080, 8081):
                with socket.socket() as s:
                    self.assertRaises(ConnectionRefusedError, s.connect, (host, port))

    def test_h10_a_gateway_that_stands_still_is_its_sandboxs_own(self):
        process = self.other("print('there', flush=True); sys.stdin.read()")
        gateways = [pid for pid, _ in descendants(process.pid) if egress_test.Limits.program(pid) == "glovebox-gateway"]
        self.assertEqual(len(gateways), 1)
        os.kill(gateways[0], signal.SIGSTOP)
        try:
            self.assertTrue(wait_until(lambda: self.state(gateways[0]) == "T"))
            self.assertEqual(self.inside("by_name('api.good.test')"), "ok")
        finally:
            os.kill(gateways[0], signal.SIGCONT)

    @staticmethod
    def state(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0]


class Inherited(Edges):
    def test_i1_i2_proxy_settings(self):
        """None are needed, and none come in by themselves."""
        proxies = {name: f"http://{EVIL}:80" for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
        code = PROLOGUE + """
import urllib.request
print([n for n in os.environ if "proxy" in n.lower()], urllib.request.urlopen("http://api.good.test/x").status)
"""
        done = run("--allow", "api.good.test", "--", "/usr/bin/python3", "-c", code,
                   env={**os.environ, **proxies, "NO_PROXY": "*"})
        self.expect(done, out=b"[] 200\n")
        self.expect_connections([f"{GOOD}:80"])

    def test_i4_i5_what_is_not_allowed_is_denied(self):
        for rest in ({"rules": []}, {}):
            document = self.path("p.json", '{"version": 1%s}' % (', "rules": []' if rest else ""))
            self.assertEqual(self.inside(f"[look('api.good.test'), became('{GOOD}'), datagram('{GOOD}', 7)]", "--policy", document),
                             ["NONAME", "EACCES", "ECONNREFUSED"])
        self.assertEqual(self.came_in(), NOTHING)


if __name__ == "__main__":
    main(sys.modules["__main__"])
