#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What leaves a sandbox is what its policy names: --allow, --policy, --egress-log. "Nothing left" is asserted at the
other end, by what came in there."""
import atexit
import errno
import json
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from cases import GLOVEBOX, Case, descendants, main, rests, run, wait_until  # noqa: E402
from internet import BIG, EVIL, GOOD, MACHINE, OTHER, RESOLVER, Internet, veth_is_there  # noqa: E402

NET = None
NOTHING = {"queries": [], "connections": [], "datagrams": 0, "requests": [], "authorizations": [], "proxied": []}
CAN_RUN = os.getuid() == 0 and shutil.which("ip") and veth_is_there()


def network(has_v6=False):
    """The internet, made once."""
    global NET
    if NET is None:
        folder = tempfile.mkdtemp(prefix="glovebox-net-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        NET = Internet(folder, has_v6)
        atexit.register(NET.close)
    return NET


# Runs inside: one word of what became of each attempt.
PROLOGUE = r"""
import errno, json, os, select, socket, struct, sys, time
def tcp(host, port=80, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(20)
    try:
        s.connect((host, port))
        return s
    except OSError as e:
        s.close()
        return errno.errorcode.get(e.errno, str(e))
def became(host, port=80):
    s = tcp(host, port)
    if isinstance(s, str):
        return s
    s.close()
    return "ok"
def said(host, port=80, first=b"x", name=""):
    # what becomes of a connection whose peer is a stranger
    s = tcp(host, port)
    if isinstance(s, str):
        return s
    try:
        s.sendall(first)
        return "data" if s.recv(100) else "end"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
    finally:
        s.close()
def look(name):
    try:
        return sorted({a[4][0] for a in socket.getaddrinfo(name, 80, socket.AF_INET, socket.SOCK_STREAM)})
    except socket.gaierror as e:
        return errno_of(e)
def errno_of(e):
    return {socket.EAI_NONAME: "NONAME", socket.EAI_AGAIN: "AGAIN", socket.EAI_NODATA: "NODATA"}.get(e.errno, str(e))
def ask(*labels, kind=1):
    # the code of the answer to a query as it is written
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    name = b"".join(bytes([len(part)]) + part for part in labels if part) + b"\0"
    s.send(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + name + struct.pack(">2H", kind, 1))
    return s.recv(512)[3] & 15
def by_name(name, port=80):
    found = look(name)
    return found if isinstance(found, str) else became(found[0], port)
"""


class Egress(Case):
    HAS_V6 = False  # the machine; one for all cases of a program

    def setUp(self):
        super().setUp()
        if not CAN_RUN:
            self.skipTest("needs root, ip(8) and veth, for network namespaces")
        self.log = self.path("log")
        self.before = network(self.HAS_V6).counts()

    def came_in(self):
        now = NET.counts()
        return {key: now[key][len(self.before[key]):] if isinstance(now[key], list) else now[key] - self.before[key]
                for key in now}

    def expect_connections(self, expected):
        """They are noted by threads, each a while after the client was let in."""
        wait_until(lambda: len(self.came_in()["connections"]) >= len(expected))
        self.assertEqual(sorted(self.came_in()["connections"]), sorted(expected))

    def decisions(self, event=None):
        with open(self.log, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        return [line for line in lines if event in (None, line["event"])]

    def python(self, code, *options, allow="good.test,*.good.test", status=0):
        """What json.dumps(code) says inside."""
        options = options or ("--allow", allow)
        done = run(*options, "--egress-log", self.log, "--", "/usr/bin/python3", "-c",
                   PROLOGUE + code if "print" in code else PROLOGUE + f"print(json.dumps({code}))")
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.errors = done.stderr.decode()
        return json.loads(done.stdout) if done.stdout else None

    def policy(self, *rules, **rest):
        document = {"version": 1, "rules": [{"id": f"r{i}", "action": "allow", **rule} for i, rule in enumerate(rules)],
                    **rest}
        return "--policy", self.path("policy.json", json.dumps(document))


def domain(*names, **more):
    return {"to": {"domain": list(names)}, **more}


def cidr(*nets, **more):
    return {"to": {"cidr": list(nets)}, **more}


class Names(Egress):
    def test_a_name_that_is_allowed_and_all_that_is_not(self):
        found = self.python("[by_name('api.good.test'), by_name('evil.test'), look('a.evil.test')]")
        self.assertEqual(found, ["ok", "NONAME", "NONAME"])
        self.assertEqual(self.came_in(), {**NOTHING, "queries": ["api.good.test"] * 2, "connections": [f"{GOOD}:80"]})
        self.assertEqual([(d["name"], d["decision"]) for d in self.decisions("dns")],
                         [("api.good.test", "allow"), ("evil.test", "deny"), ("a.evil.test", "deny")])
        self.assertIn("glovebox: egress: denied the name evil.test", self.errors)

    def test_without_a_policy_there_is_no_network(self):
        done = run("--", "/usr/bin/python3", "-c", PROLOGUE + f"print(became('{GOOD}'), look('api.good.test'), "
                   "[n for _, n in socket.if_nameindex()])")
        self.expect(done, out=b"ENETUNREACH NONAME ['lo']\n", err=b"")
        self.assertEqual(self.came_in(), NOTHING)

    def test_a1_the_gateway_dials_its_own_resolution(self):
        """The guest says that api.good.test is the attacker's address: that address gets nothing."""
        found = self.python(f"[look('api.good.test'), said('{EVIL}'), became('{GOOD}')]")
        self.assertEqual(found, [[GOOD], "ECONNRESET", "ok"])
        self.expect_connections([f"{GOOD}:80"])

    def test_a3_a4_an_address_without_a_name(self):
        self.assertEqual(self.python(f"[said('{GOOD}'), said('{EVIL}', first=b''), said('{GOOD}', 22)]", allow="*.good.test:80"),
                         ["ECONNRESET", "ECONNRESET", "EACCES"])
        self.assertEqual(self.came_in()["connections"], [])
        denied = self.decisions("connect")
        self.assertEqual([d["decision"] for d in denied], ["deny"] * 3)
        self.assertEqual(denied[0]["dst"], GOOD)
        self.assertEqual(denied[0]["program"], "python3")

    def test_a6_rebinding_meets_the_floor_when_it_is_dialled(self):
        found = self.python("[look('rebind.good.test'), became(look('api.good.test')[0]), by_name('rebind.good.test')]")
        self.assertEqual(found[0], [GOOD])
        self.assertEqual(found[2], "NONAME")
        self.assertIn("resolved:loopback", [d.get("reason") for d in self.decisions()])

    def test_a7_of_a_mixed_answer_the_good_address_is_used(self):
        self.assertEqual(self.python("[look('mixed.good.test'), by_name('mixed.good.test')]"), [[GOOD], "ok"])
        self.assertIn("resolved:metadata", [d.get("reason") for d in self.decisions("dns")])

    def test_a8_an_alias_is_followed_and_allows_nothing_else(self):
        found = self.python("[by_name('x.pkg.test'), by_name('evil.test')]", allow="*.pkg.test")
        self.assertEqual(found, ["ok", "NONAME"])

    def test_a9_addresses_of_others_in_an_answer_are_not_taken(self):
        self.assertEqual(self.python(f"[look('junk.good.test'), said('{EVIL}')]"), [[GOOD], "ECONNRESET"])

    def test_a11_a12_b2_names_that_lead_inside(self):
        names = ["lan", "local", "machine", "metadata"]
        found = self.python(f"[by_name(n + '.good.test') for n in {names}]")
        self.assertEqual(found, ["NONAME"] * 4)
        self.assertEqual([d["reason"] for d in self.decisions("dns")],
                         ["resolved:private", "resolved:loopback", "resolved:host", "resolved:metadata"])
        self.assertEqual(self.came_in()["connections"], [])

    def test_a13_localhost_never_leaves(self):
        found = self.python("[look('localhost'), look('foo.localhost'), look('host.docker.internal'), look('api')]")
        self.assertEqual(found, [["127.0.0.1"], ["127.0.0.1"], "NONAME", "NONAME"])
        self.assertEqual(self.came_in()["queries"], [])

    def test_a15_a16_a17_wildcards_end_at_labels(self):
        found = self.python("[look(n) for n in ('a.b.c.pkg.test', 'pkg.test', 'evilpkg.test', 'pkg.test.evil.test')]",
                            allow="*.pkg.test")
        self.assertEqual(found, [[GOOD], "NONAME", "NONAME", "NONAME"])

    def test_a18_a19_a20_case_dots_and_what_is_no_name(self):
        found = self.python("[look('API.Good.Test'), look('api.good.test.'), ask(b''), ask(b'127', b'0', b'0', b'1'), "
                            "ask(b'api.good', b'test'), ask(b'api', b'good\\0', b'test'), ask(b'0x7f', b'1')]")
        self.assertEqual(found, [[GOOD], [GOOD], 3, 3, 1, 1, 3])

    def test_aliases_that_go_round_and_resolvers_that_fail(self):
        found = self.python("[look('loop.good.test'), look('broken.good.test'), look('nowhere.good.test')]")
        self.assertEqual(found, ["AGAIN", "AGAIN", "NONAME"])

    def test_a_long_answer_is_cut_and_not_refused(self):
        self.assertEqual(len(self.python("look('many.good.test')")), 16)

    def test_d3_every_name_server_is_ours(self):
        code = f"""
def query(to, over):
    q = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\\3api\\4good\\4test\\0" + struct.pack(">2H", 1, 1)
    s = socket.socket(socket.AF_INET, over)
    s.settimeout(10)
    s.connect((to, 53))
    s.sendall((struct.pack(">H", len(q)) if over == socket.SOCK_STREAM else b"") + q)
    return socket.inet_ntoa(s.recv(512)[-4:])
print(json.dumps([query(to, over) for to in ("8.8.8.8", "{EVIL}") for over in (socket.SOCK_DGRAM, socket.SOCK_STREAM)]))
"""
        self.assertEqual(self.python(code), [GOOD] * 4)
        self.assertEqual(self.came_in()["datagrams"], 0)
        self.assertEqual(self.came_in()["connections"], [])

    def test_questions_without_an_answer_are_logged_too(self):
        self.assertEqual(self.python('[ask(b"api", b"good", b"test", kind=k) for k in (28, 16)]'), [0, 0])
        self.assertEqual([(d["type"], d["decision"], d.get("reason")) for d in self.decisions("dns")],
                         [("AAAA", "allow", None), ("TXT", "deny", "dns_type")])
        self.assertEqual({(d["pid"] > 0, d["program"]) for d in self.decisions("dns")}, {(True, "python3")})
        self.assertEqual(self.came_in()["queries"], [])

    def test_d_other_types_have_no_records_and_ask_nobody(self):
        code = """
def query(kind, edns=b""):
    q = struct.pack(">6H", 7, 256, 1, 0, 0, len(edns) > 0) + b"\\4evil\\4test\\0" + struct.pack(">2H", kind, 1) + edns
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.53", 53))
    s.send(q)
    a = s.recv(512)
    return [a[3] & 15, int.from_bytes(a[6:8], "big"), b"allow" in a[40:]]
opt = b"\\0" + struct.pack(">HHIH", 41, 1232, 0, 0)
print(json.dumps([query(1), query(16), query(1, opt), query(65)]))
"""
        self.assertEqual(self.python(code)[0][:2], [3, 0])
        found = self.python(code, "--allow", "evil.test")
        self.assertEqual([f[:2] for f in found], [[0, 1], [0, 0], [0, 1], [0, 0]])


class Addresses(Egress):
    def test_an_address_rule_dials_exactly_that(self):
        found = self.python(f"[became('{GOOD}'), became('{OTHER}'), became('{GOOD}', 22)]",
                            *self.policy(cidr(f"{GOOD}/32", ports=[80])))
        self.assertEqual(found, ["ok", "EACCES", "EACCES"])
        self.expect_connections([f"{GOOD}:80"])

    def test_b3_b9_b10_b11_b12_b14_the_floor_is_closed_whatever_a_policy_says(self):
        closed = ["169.254.169.254", "169.254.170.2", "168.63.129.16", "169.254.1.1", "10.0.2.255", "10.0.0.1", "192.168.1.1",
                  "172.16.0.1", "100.64.0.2", MACHINE, "0.1.2.3", "198.51.100.1", "240.0.0.1", "100.100.100.200", "192.0.0.192",
                  "192.88.99.1"]
        found = self.python(f"[became(a) for a in {closed}]", *self.policy({"to": "any"}, cidr("0.0.0.0/0")))
        self.assertEqual(found, ["EACCES"] * len(closed))
        self.assertTrue(all(d["reason"].startswith("floor:") for d in self.decisions("connect")))

    def test_b1_loopback_is_the_sandboxs_own(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        port = server.getsockname()[1]
        self.assertEqual(self.python(f"[became('127.0.0.1', {port}), became('0.0.0.0', {port})]",
                                     *self.policy({"to": "any"})), ["ECONNREFUSED"] * 2)

    def test_b5_mapped_addresses_are_ipv4(self):
        found = self.python(f"[tcp('::ffff:169.254.169.254', 80, socket.AF_INET6), "
                            f"tcp('::ffff:{GOOD}', 80, socket.AF_INET6).getpeername()[0], "
                            "tcp('2001:4860::8', 80, socket.AF_INET6)]", *self.policy({"to": "any"}))
        self.assertEqual(found, ["EACCES", f"::ffff:{GOOD}", "ENETUNREACH"])

    def test_e10_mail_is_closed(self):
        self.assertEqual(self.python(f"became('{GOOD}', 25)", *self.policy({"to": "any"})), "EACCES")

    def test_an_exemption_takes_the_operator_and_the_policy(self):
        code = f"[became('{MACHINE}', 1), by_name('machine.good.test', 1)]"
        rules = domain("*.good.test"), cidr(f"{MACHINE}/32")
        self.assertEqual(self.python(code, *self.policy(*rules)), ["EACCES", "NONAME"])
        os.makedirs("/etc/glovebox", exist_ok=True)
        if not os.path.exists("/etc/glovebox/config"):
            open("/etc/glovebox/config", "w", encoding="utf-8").close()
            self.addCleanup(os.unlink, "/etc/glovebox/config")
        NET.show(self.folder, "operator", "/etc/glovebox/config", f"floor-except = {MACHINE}/32, 198.18.0.0/15\n")
        try:
            self.assertEqual(self.python(code, *self.policy(*rules)), ["ECONNREFUSED", "ECONNREFUSED"])
            self.assertEqual(self.python(code, *self.policy(domain("*.good.test"))), ["EACCES", "NONAME"])
        finally:
            subprocess.run(["umount", "/etc/glovebox/config"], check=True)
        user = self.path("glovebox/config") if os.makedirs(self.path("glovebox")) is None else ""
        with open(user, "w", encoding="utf-8") as f:
            f.write(f"floor-except = {MACHINE}/32\n")
        done = run("--allow", "good.test", "--", "true", env={**os.environ, "XDG_CONFIG_HOME": self.folder})
        self.expect_refused(done, "floor-except: only /etc/glovebox/config")

    def test_the_interface(self):
        code = f"""
import subprocess
s = tcp("{GOOD}")
own = socket.create_server(("10.0.2.15", 0))
local = socket.create_connection(own.getsockname())
print(json.dumps([[n for _, n in socket.if_nameindex()], s.getsockname()[0], list(s.getpeername()),
                  [local.getsockname()[0], local.getpeername()[0]]]))
"""
        self.assertEqual(self.python(code, *self.policy({"to": "any"})), [["lo", "eth0"], "10.0.2.15", [GOOD, 80], ["10.0.2.15"] * 2])


class Connections(Egress):
    ALL = ("--allow", "*.good.test")

    def test_much_both_ways(self):
        code = """
import http.client
c = http.client.HTTPConnection("api.good.test", timeout=30)
c.request("GET", "/big")
body = c.getresponse().read()
c.request("POST", "/", body)
print(json.dumps([len(body), sum(body), c.getresponse().read().decode()]))
"""
        self.assertEqual(self.python(code, *self.ALL), [len(BIG), sum(BIG), f"{sum(BIG)}\n"])
        close = self.decisions("close")[0]
        self.assertGreater(close["guest_rx"], len(BIG))
        self.assertGreater(close["guest_tx"], len(BIG))
        self.assertLess(close["guest_tx"], len(BIG) + 4096)

    def test_e7_a_server_that_speaks_first(self):
        code = """
socket.getaddrinfo("git.good.test", 22)
s = socket.create_connection(("git.good.test", 22), 20)
first = s.recv(100)
s.sendall(b"hello")
print(json.dumps([first.decode(), s.recv(100).decode()]))
"""
        self.assertEqual(self.python(code, *self.ALL), ["SSH-2.0-first\r\n", "HELLO"])

    def test_e8_a_port_that_is_not_listed(self):
        found = self.python("[by_name('git.good.test', 22), by_name('git.good.test', 80)]", allow="*.good.test:22")
        self.assertEqual(found, ["ok", "EACCES"])

    def test_e6_half_close_goes_both_ways(self):
        code = """
s = socket.create_connection(("api.good.test", 7), 20)
s.sendall(b"abc" * 50000)
s.shutdown(socket.SHUT_WR)
data = b""
while piece := s.recv(70000):
    data += piece
try:
    s.send(b"x")
except OSError as e:
    print(json.dumps([data == b"cba" * 50000, errno.errorcode[e.errno], s.recv(10).decode()]))
"""
        self.assertEqual(self.python(code, *self.ALL), [True, "EPIPE", ""])

    def test_who_writes_before_reading_is_not_held_up(self):
        code = """
s = socket.create_connection(("api.good.test", 11), 20)
time.sleep(0.5)
s.sendall(b"x\\n" + b"y" * 400000)
s.shutdown(socket.SHUT_WR)
data = b""
while piece := s.recv(70000):
    data += piece
print(json.dumps([len(data), data[400000:].decode()]))
"""
        self.assertEqual(self.python(code, *self.ALL), [400006, "400002"])

    def test_what_is_set_and_told_of_a_connection(self):
        """By name, where the gateway stands between, and by address, where it does not."""
        code = f"""
look("api.good.test")
s = tcp("{GOOD}")
for option, value in ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3), (socket.TCP_NODELAY, 1)):
    s.setsockopt(socket.IPPROTO_TCP, option, value)
    assert s.getsockopt(socket.IPPROTO_TCP, option) == value, option
s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
print(json.dumps([s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), info[0], len(info) >= 104]))
"""
        for rule in (domain("*.good.test"), cidr(f"{GOOD}/32")):
            self.assertEqual(self.python(code, *self.policy(rule)), [1, 1, True])  # TCP_ESTABLISHED

    def test_a_reset_is_told(self):
        code = """
def reset(wait):
    s = socket.create_connection(("api.good.test", 9), 20)
    s.send(b"x")
    events = wait(s)
    try:
        return [events, s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if events else repr(s.recv(10))]
    except OSError as e:
        return [events, errno.errorcode[e.errno]]
def polled(s):
    p = select.poll()
    p.register(s, select.POLLIN)
    return p.poll(20000)[0][1]
print(json.dumps([reset(lambda s: 0), reset(polled)]))
"""
        found = self.python(code, *self.ALL)
        self.assertEqual(found[0], [0, "ECONNRESET"])
        self.assertEqual(found[1][0] & 0x19, 0x19)
        self.assertEqual(found[1][1], 104)

    def test_refused_and_dead_addresses(self):
        found = self.python("[by_name('api.good.test', 81), look('dead.good.test')]")
        self.assertEqual(found, ["ECONNREFUSED", sorted(["45.33.32.99", GOOD])])
        self.assertEqual(self.decisions("connect")[0]["error"], "ECONNREFUSED")

    def test_without_waiting(self):
        code = f"""
s = socket.socket()
s.setblocking(False)
look("api.good.test")
first = s.connect_ex(("{GOOD}", 80))
again = s.connect_ex(("{GOOD}", 80))
e = select.epoll()
e.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
writable = e.poll(20)
error = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
s.send(b"GET /et HTTP/1.0\\r\\n\\r\\n")
data = b""
while not data.endswith(b"/et\\n"):
    e.poll(20)
    try:
        while piece := s.recv(7):
            data += piece
    except BlockingIOError:
        pass
denied = socket.socket()
denied.setblocking(False)
begun = denied.connect_ex(("169.254.169.254", 80))
select.select([], [denied], [], 20)
print(json.dumps([errno.errorcode[first], again in (errno.EALREADY, 0), writable[0][1] & 4, error, errno.errorcode[begun],
                  errno.errorcode[denied.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)]]))
"""
        self.assertEqual(self.python(code, *self.ALL), ["EINPROGRESS", True, 4, 0, "EINPROGRESS", "EACCES"])

    def test_a_peer_that_reads_nothing_and_peeks(self):
        code = """
s = socket.create_connection(("api.good.test", 10), 20)
peek = s.recv(5, socket.MSG_PEEK), s.recv(5)
import fcntl, termios
s.setblocking(False)
total = 0
while select.select([], [s], [], 1)[1]:
    total += s.send(b"x" * 1000000)
p = select.poll()
p.register(s, select.POLLOUT | select.POLLIN)
queued = struct.unpack("i", fcntl.ioctl(s, 0x5411, b"1234"))[0]
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print(json.dumps([peek[0] == peek[1] == b"ready", total > 100000, p.poll(0), 0 < queued <= total,
                  s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)]))
"""
        self.assertEqual(self.python(code, *self.ALL), [True, True, [], True, 1])

    def test_sendfile_splice_fork_and_scattered_writes(self):
        code = """
open("f", "wb").write(b"0123456789" * 100000)
s = socket.create_connection(("api.good.test", 80))
os.writev(s.fileno(), [b"POST / ", b"", b"HTTP/1.0\\r\\nContent-", b"Length: 1000000\\r\\n\\r\\n"])
if os.fork() == 0:
    f = os.open("f", os.O_RDONLY)
    os.sendfile(s.fileno(), f, 0, 500000)
    os.lseek(f, 500000, 0)
    r, w = os.pipe()
    left = 500000
    while left:
        n = os.splice(f, w, min(left, 60000))
        left -= n
        while n:
            n -= os.splice(r, s.fileno(), n)
    os._exit(0)
os.wait()
data = b""
while piece := s.recv(1000):
    data += piece
print(json.dumps(data.split()[-1].decode()))
"""
        self.assertEqual(self.python(code, *self.ALL), str(sum(b"0123456789") * 100000))

    def test_a_socket_connects_again(self):
        code = f"""
look("api.good.test")
s = socket.socket()
codes = [s.connect_ex(("10.0.0.1", 80)), s.connect_ex(("{GOOD}", 81)), s.connect_ex(("{GOOD}", 80)),
         s.connect_ex(("{GOOD}", 80))]
import ctypes
ctypes.CDLL(None).connect(s.fileno(), b"\\0" * 16, 16)
codes.append(s.connect_ex(("{GOOD}", 80)))
print(json.dumps([errno.errorcode.get(c, c) for c in codes]))
"""
        self.assertEqual(self.python(code, *self.ALL), ["EACCES", "ECONNREFUSED", 0, "EISCONN", 0])

    def test_attempts_that_are_given_up(self):
        """To a machine that does not answer: closed, or ended, while they are under way."""
        code = """
look("dead.good.test")
for i in range(300):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("45.33.32.99", 80))
    s.close()
print(json.dumps(by_name("api.good.test")))
"""
        self.assertEqual(self.python(code, *self.policy(domain("*.good.test"), limits={"max_new_per_s": 1000})), "ok")

    def test_of_two_addresses_the_one_that_answers(self):
        code = "s = tcp('45.33.32.99') if look('dead.good.test') else 0\nprint(json.dumps([s.getpeername()[0], s.send(b'x')]))"
        self.assertEqual(self.python(code, *self.ALL), ["45.33.32.99", 1])
        self.assertEqual(self.decisions("connect")[0]["dialled"], GOOD)

    def test_requests_without_an_answer_are_bounded(self):
        code = """
held, results = [], []
for i in range(140):
    s = socket.socket()
    s.setblocking(False)
    results.append(errno.errorcode[s.connect_ex(("45.33.32.99", 80))])
    held.append(s)
print(json.dumps([results.count("EINPROGRESS"), results[-1]]), flush=True)
os._exit(0)
"""
        rules = self.policy(cidr("45.33.32.99/32"), limits={"max_new_per_s": 1000})
        self.assertEqual(self.python(code, *rules), [128, "EADDRNOTAVAIL"])

    def test_a_signal_ends_a_connect(self):
        code = """
import signal
def stop(*_):
    raise InterruptedError
signal.signal(signal.SIGALRM, stop)
signal.alarm(1)
s = socket.socket()
try:
    s.connect(("45.33.32.99", 80))
except InterruptedError:
    print(json.dumps("interrupted"))
"""
        self.assertEqual(self.python(code, *self.policy(cidr("45.33.32.99/32"))), "interrupted")

    @unittest.skipUnless(shutil.which("curl"), "curl is not there")
    def test_two_clients(self):
        url = "http://api.good.test/from-curl"
        done = run("--allow", "api.good.test", "--", "sh", "-c", f"curl -sS {url} && /usr/bin/python3 -c '"
                   f"import urllib.request as u; print(u.urlopen(\"{url}\").read())'")
        self.expect(done, out=f"{GOOD} /from-curl\nb'{GOOD} /from-curl\\n'\n".encode(), err=b"")


class Limits(Egress):
    def test_h4_flows_are_bounded(self):
        code = f"""
look("api.good.test")
held = [tcp("{GOOD}") for _ in range(9)]
print(json.dumps([h if isinstance(h, str) else "ok" for h in held]))
"""
        rules = self.policy(domain("*.good.test"), limits={"max_flows": 8})
        self.assertEqual(self.python(code, *rules), ["ok"] * 8 + ["EADDRNOTAVAIL"])
        self.assertEqual(self.decisions("connect")[-1]["reason"], "limit:max_flows")
        self.assertEqual(len(self.decisions("close")), 8)
        self.expect_connections([f"{GOOD}:80"] * 8)

    def test_h4_flows_that_end_are_given_back(self):
        """Those that end well, too, and those of which one side says nothing more (R30)."""
        code = f"""
look("api.good.test")
def end(how):
    s = tcp("{GOOD}")
    while s == "EADDRNOTAVAIL":  # those before are being ended
        time.sleep(0.01)
        s = tcp("{GOOD}")
    if how:
        s.shutdown(how - 1)
    s.close()
for i in range(40):
    end(i % 4)
print(json.dumps("over"))
"""
        self.assertEqual(self.python(code, *self.policy(domain("*.good.test"), limits={"max_flows": 2})), "over")
        self.expect_connections([f"{GOOD}:80"] * 40)

    def test_r06_it_does_not_matter_who_asks(self):
        """By way of another process of the sandbox."""
        code = f"""
relay = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    c = relay.accept()[0]
    c.sendall(json.dumps([by_name("evil.test"), said("{EVIL}"), by_name("api.good.test")]).encode())
    os._exit(0)
s = socket.create_connection(relay.getsockname())
print(s.makefile().read())
"""
        self.assertEqual(self.python(code), ["NONAME", "ECONNRESET", "ok"])
        self.expect_connections([f"{GOOD}:80"])

    def test_d21_a_flood_of_questions(self):
        rules = self.policy(domain("*.good.test"), dns={"max_qps": 5})
        self.python("[look('n%d.good.test' % n) for n in range(40)]", *rules)
        self.assertIn("limit:dns_qps", [d.get("reason") for d in self.decisions("dns")])
        self.assertLess(len(self.came_in()["queries"]), 40)

    def test_different_names_are_bounded(self):
        rules = self.policy(domain("*.good.test"), dns={"max_unique_names": 2})
        names = ["api", "git", "api", "other"]
        self.assertEqual(self.python(f"[look(n + '.good.test') for n in {names}]", *rules), [[GOOD]] * 3 + ["AGAIN"])
        self.assertEqual(self.decisions("dns")[-1]["reason"], "limit:dns_names")

    def test_a_flood_of_denials_does_not_fill_the_log(self):
        many = 5000
        self.python(f"[became('10.0.0.1') for _ in range({many})][-1]")
        told = [d for d in self.decisions() if d.get("decision") == "deny"]
        folded = [d["count"] for d in told if d["event"] == "folded"]
        self.assertEqual(len(told) - len(folded) + sum(folded), many)
        self.assertLess(len(told), many)

    def test_denials_are_told_once_each_and_not_without_end(self):
        self.python("[became('45.33.34.%d' % (n % 100), 80) for n in range(200)]")
        lines = self.errors.splitlines()
        self.assertLess(len(lines), 40)
        self.assertRegex(lines[-1], "further denials are not shown")

    def test_the_gateway_dies_and_nothing_leaves(self):
        code = """
s = socket.create_connection(("api.good.test", 10), 60)
s.recv(5)
print(json.dumps("open"), flush=True)
try:
    end = repr(s.recv(1))
except OSError as e:
    end = errno.errorcode[e.errno]
print(json.dumps([end, became(s.getsockname() and "%s"), look("api.good.test")]), flush=True)
""" % GOOD
        process = self.start("--allow", "*.good.test", "--", "/usr/bin/python3", "-c", PROLOGUE + code)
        self.assertEqual(process.stdout.readline(), b'"open"\n')
        below = [pid for pid, _ in descendants(process.pid) if self.program(pid) == "glovebox-gateway"]
        self.assertEqual(len(below), 1)
        os.kill(below[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(json.loads(out), ["ECONNRESET", "ENETUNREACH", "AGAIN"])
        self.assertRegex(err.decode(), r"\Aglovebox: egress: the gateway has ended; [^\n]*\n\Z")
        self.assertEqual(process.returncode, 0)

    def test_the_end_of_a_gateway_is_told_later(self):
        name = f"gateway-{os.getpid()}"
        self.addCleanup(subprocess.run, [GLOVEBOX, "rm", "-f", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

        def ask(*words):
            return subprocess.run([GLOVEBOX, *words], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()

        ask("create", "--name", name, "--allow", "api.good.test")
        gateway = json.loads(ask("inspect", "--json", name))["egress"]["gateway_pid"]
        self.assertEqual(self.program(gateway), "glovebox-gateway")
        os.kill(gateway, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{gateway}")))
        self.assertEqual(json.loads(ask("inspect", "--json", name))["egress"], {"policy": "deny by default, 1 rule", "gateway_pid": None})
        self.assertIn("egress     nothing: its gateway has ended", ask("inspect", name))
        told, = [json.loads(line) for line in ask("egress", "--json", "--denied", name).splitlines()]
        self.assertEqual((told["event"], told["decision"], told["reason"]), ("gateway", "deny", "gateway_gone"))
        self.assertRegex(told["words"], r"\Athe gateway was killed by SIGKILL; .*start it again\Z")
        self.assertEqual(ask("exec", name, "--", "echo", "alive"), "alive\n")
        ask("stop", name)
        self.assertEqual(len(ask("egress", "--json", name).splitlines()), 1)

    def test_the_end_of_a_sandbox_is_no_end_of_a_gateway(self):
        name = f"gateway-{os.getpid()}"
        for code in ("", "import os; os.kill(os.getpid(), 9)", "x = bytearray(10**9)"):
            run("--name", name, "--memory", "128M", "--allow", "api.good.test", "--", "/usr/bin/python3", "-c", code)
            done = subprocess.run([GLOVEBOX, "egress", "--json", name], stdout=subprocess.PIPE, check=True, timeout=60)
            self.assertEqual(done.stdout, b"")

    def test_a_gateway_that_can_not_wait_does_not_turn(self):
        """poll(2) fails at once, as it does where the host has no memory for it."""
        process = self.start("--allow", "*.good.test", "--", "/usr/bin/python3", "-uc",
                             PROLOGUE + "print(1)\nfor line in sys.stdin: print(by_name('api.good.test'))")
        self.assertEqual(process.stdout.readline(), b"1\n")
        gateway, = [pid for pid, _ in descendants(process.pid) if self.program(pid) == "glovebox-gateway"]
        limits = resource.prlimit(gateway, resource.RLIMIT_NOFILE, (1, resource.prlimit(gateway, resource.RLIMIT_NOFILE)[1]))
        process.stdin.write(b"\n")  # it may be at a poll that is good, up to this
        process.stdin.flush()
        self.assertTrue(rests(gateway))
        resource.prlimit(gateway, resource.RLIMIT_NOFILE, limits)
        process.stdout.readline()
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"ok\n")

    @staticmethod
    def program(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return f.read().split(b"\0")[0].decode()
        except OSError:
            return ""

    def test_the_gateway_ends_with_its_sandbox(self):
        process = self.start("--allow", "*.good.test", "--", "sleep", "60")
        self.assertTrue(wait_until(lambda: any(self.program(p) == "sleep" for p, _ in descendants(process.pid))))
        below = [p for p in descendants(process.pid) if self.program(p[0]) == "glovebox-gateway"]
        self.assertEqual(len(below), 1)
        process.kill()
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{below[0][0]}")))

    def test_what_the_gateway_has_given_up(self):
        process = self.start("--allow", "*.good.test", "--", "sleep", "60")
        self.assertTrue(wait_until(lambda: any(self.program(p) == "sleep" for p, _ in descendants(process.pid))))
        pid = next(p for p, _ in descendants(process.pid) if self.program(p) == "glovebox-gateway")
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            status = dict(line.split(":\t", 1) for line in f.read().splitlines())
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"], int(status["CapEff"], 16), int(status["CapBnd"], 16)),
                         ("2", "1", 0, 0))
        with open(f"/proc/{pid}/environ", "rb") as f:
            self.assertEqual(f.read(), b"GLIBC_TUNABLES=glibc.pthread.rseq=0\0")
        for kind in ("user", "pid", "mnt", "ipc", "uts", "cgroup"):
            self.assertNotEqual(os.readlink(f"/proc/{pid}/ns/{kind}"), os.readlink(f"/proc/self/ns/{kind}"), kind)


class Budgets(Egress):
    ALL = (domain("*.good.test"),)

    def fetched(self, path, **limits):
        """How much of a long answer came, and how long that took."""
        code = f"""
import http.client
c = http.client.HTTPConnection("api.good.test", timeout=60)
count, end, began = 0, "whole", time.monotonic()
try:
    c.request("GET", "{path}")
    r = c.getresponse()
    while piece := r.read1(65536):
        count += len(piece)
except (OSError, http.client.IncompleteRead) as e:
    end = type(e).__name__
print(json.dumps([count, end, time.monotonic() - began, became("{GOOD}") if end != "whole" else ""]))
"""
        return self.python(code, *self.policy(*self.ALL, limits=limits))

    def test_h8_bytes_have_a_quota(self):
        count, end, _, after = self.fetched("/big", bytes_down=1000000)
        self.assertLess(count, 1000000)
        self.assertIn(end, ("ConnectionResetError", "IncompleteRead"))
        self.assertEqual(after, "EADDRNOTAVAIL")
        self.assertIn("limit:bytes_down", [d.get("reason") for d in self.decisions("close")])
        self.assertIn("limit:bytes_down", [d.get("reason") for d in self.decisions("connect")])

    def test_bytes_have_a_rate(self):
        count, end, took, _ = self.fetched("/big", rate_down=4 << 20)
        self.assertEqual((count, end), (len(BIG), "whole"))
        self.assertGreater(took, 1)

    def test_uploads_are_counted_in_any_protocol(self):
        code = """
s = socket.create_connection(("api.good.test", 7), 20)
try:
    while True:
        s.sendall(b"\\0" * 100000)
except OSError as e:
    print(json.dumps(errno.errorcode[e.errno]))
"""
        found = self.python(code, *self.policy(*self.ALL, limits={"bytes_up": 1000000}))
        self.assertIn(found, ("ECONNRESET", "EPIPE"))
        sent = self.decisions("close")[0]["guest_tx"]
        self.assertGreater(sent, 1000000)
        self.assertLess(sent, 1100000)

    def test_idle_connections_end(self):
        code = """
def end_of(s):
    try:
        return repr(s.recv(1))
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
s = [socket.create_connection(("api.good.test", port), 30) for port in (22, 10)]
print(json.dumps([[t.recv(100).decode() for t in s], [end_of(t) for t in s]]))
"""
        found = self.python(code, *self.policy(*self.ALL, limits={"idle_tcp_s": 5}))
        self.assertEqual(found, [["SSH-2.0-first\r\n", "ready"], ["ECONNRESET"] * 2])
        self.assertEqual([d.get("reason") for d in self.decisions("close")], ["limit:idle_tcp"] * 2)


class Documents(Egress):
    def refused(self, document, pattern):
        text = document if isinstance(document, str) else json.dumps({"version": 1, **document})
        done = run("--policy", self.path("p.json", text), "--", "true")
        self.expect_refused(done, pattern)

    def test_what_is_not_enforced_is_refused(self):
        allow = {"id": "a", "action": "allow", "to": {"domain": ["api.good.test"]}}
        for field, value in {"proto": ["icmp"], "transforms": [{"forward": {"url": "https://a.test/"}}]}.items():
            with self.subTest(field):
                self.refused({"rules": [{**allow, field: value}]}, f"p.json: /rules/0/{field}: .*; leave it out")
        self.refused({"rules": [allow], "dns": {"answer": "virtual"}}, "/dns/answer")
        self.refused({"rules": [allow], "log": {"redact_query": False}}, "/log/redact_query")
        self.refused({"rules": [allow], "limits": {"decode_ratio": 5}}, "/limits/decode_ratio")
        self.refused({"rules": [allow], "limits": {"decode_bytes": 5000}}, "/limits/decode_bytes")
        self.refused({"rules": [allow], "upstream": {"type": "https", "address": "proxy.test:1080"}}, "/upstream/type")

    def test_documents_that_are_none(self):
        self.refused('{"version": 1, "rulez": []}', "rulez")
        self.refused("{", "p.json")
        self.refused({"rules": [{"id": "a", "action": "allow", "to": {"domain": ["*"], "cidr": ["0.0.0.0/0"]}}]}, "/to")

    def test_options_that_do_not_go_together(self):
        self.expect_refused(run("--allow", "a.test", "--policy", "/dev/null", "--", "true"), "--allow: not together")
        self.expect_refused(run("--egress-log", "x", "--", "true"), "--egress-log: ")
        self.expect_refused(run("--allow", "a..b", "--", "true"), "--allow: ")
        self.expect_refused(run("--policy", self.path("none"), "--", "true"), "none: No such file")
        self.expect_refused(run("--allow", "a.test", "--egress-log", "/", "--", "true"), "--egress-log: '/'")

    def test_audit_allows_and_says_what_it_would_not(self):
        found = self.python(f"became('{GOOD}')", *self.policy(mode="audit"))
        self.assertEqual(found, "ok")
        self.assertTrue(self.decisions("connect")[0]["would_deny"])

    def test_hosts_and_resolvers_of_the_document(self):
        found = self.python("[by_name('pinned.test'), look('api.good.test')]", *self.policy(
            domain("pinned.test", "*.good.test"), dns={"hosts": {"pinned.test": [OTHER]}, "resolvers": [RESOLVER]}))
        self.assertEqual(found, ["ok", [GOOD]])
        self.assertEqual(self.came_in()["queries"], ["api.good.test"])
        self.expect_connections([f"{OTHER}:80"])

    def test_a_name_that_is_not_text_is_escaped(self):
        code = r"""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.53", 53))
s.send(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\5a\"\n\x1bb\4test\0" + struct.pack(">2H", 1, 1))
bad = s.recv(512)[3] & 15
s.send(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\5a\"'%b\4test\0" + struct.pack(">2H", 1, 1))
print(json.dumps([bad, s.recv(512)[3] & 15]))
"""
        self.assertEqual(self.python(code), [1, 3])
        self.assertEqual([d.get("name") for d in self.decisions("dns")], [None, "a\"'%b.test"])


PACKET = struct.Struct("<IIQiHHBB2x16si16sI4x")
RESOLVE, CONNECT, CLOSE, ANSWER, CONNECTED, READY, ACCEPTED, STOP, DIRECT, FINISH, RESET, NETWORK = range(1, 13)


class Channel(Case):
    """A kernel that was taken over says what it likes: lib/base/gateway.h."""

    def open(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(20)
        policy = os.open(self.path("policy", '{"version": 1, "rules": [{"id": "a", "action": "allow", "to": {"domain": '
                                   '["*.good.test"]}}], "limits": {"max_new_per_s": 100000}, "dns": {"max_qps": 100000, '
                                   '"resolvers": ["127.0.0.1"]}}'), os.O_RDONLY)

        def place():
            for fd, at in ((theirs.fileno(), 100), (policy, 101)):
                os.dup2(fd, at)
            os.dup2(100, 3)
            os.dup2(101, 4)
        process = subprocess.Popen([os.path.join(os.path.dirname(GLOVEBOX), "../gateway/glovebox-gateway"), "test"],
                                   preexec_fn=place, pass_fds=(3, 4), stderr=subprocess.PIPE, env={})
        theirs.close()
        os.close(policy)
        self.addCleanup(self.close, process, ours)
        self.assertEqual([PACKET.unpack(ours.recv(2000)[:PACKET.size])[:2] for _ in range(2)], [(4, READY), (4, NETWORK)])
        return process, ours

    @staticmethod
    def close(process, ours):
        ours.close()
        process.stderr.close()
        process.kill()
        process.wait()

    @staticmethod
    def packet(kind, number, data=b"", version=4, size=None, address="::ffff:45.33.32.10", port=80, protocol=6):
        return PACKET.pack(version, kind, number, 0, port, len(data) if size is None else size, protocol, 0,
                           socket.inet_pton(socket.AF_INET6, address), 7, b"\x1b[31m" * 3, 9) + data

    def test_what_is_no_message_ends_it(self):
        wrong = [[self.packet(RESOLVE, 1, b"x" * 20, version=1)], [self.packet(RESOLVE, 1, b"x" * 20, size=19)],
                 [self.packet(ANSWER, 1)], [self.packet(READY, 1)], [self.packet(77, 1)], [b"x"], [b"x" * 5000],
                 [self.packet(RESOLVE, 5, b"x" * 20), self.packet(RESOLVE, 5, b"x" * 20)], [self.packet(CONNECT, 0)],
                 [self.packet(RESOLVE, 1, b"x" * 513)], [self.packet(CONNECT, 1, protocol=1)]]
        for messages in wrong:
            with self.subTest(messages[-1][:30]):
                process, ours = self.open()
                for message in messages:
                    ours.send(message)
                self.assertEqual(process.wait(20), 1)
                self.assertRegex(process.stderr.read().decode(), r"\Aegress: the gateway: [^\n]*\n\Z")

    def test_any_query_and_any_address_has_an_answer(self):
        process, ours = self.open()
        dice = random.Random(1)
        good = b"\0\7\1\0\0\1\0\0\0\0\0\0\3api\4evil\4test\0\0\1\0\1"
        for number in range(1, 3001):
            query = bytearray(good)
            for _ in range(dice.randrange(4)):
                query[dice.randrange(len(query))] = dice.randrange(256)
            query = bytes(query[:dice.randrange(len(query) + 1)] if dice.randrange(3) == 0 else query)
            if b"good" in query:
                continue
            ours.send(self.packet(RESOLVE, number, query))
            self.assertEqual(PACKET.unpack(ours.recv(1000)[:PACKET.size])[1:3], (ANSWER, number))
        for address in ("::ffff:169.254.169.254", "::ffff:0.0.0.0", "::ffff:255.255.255.255", "::1", "::", "ff02::1"):
            for port, protocol in ((0, 6), (25, 6), (65535, 6), (0, 17), (65535, 17)):
                number += 1
                ours.send(self.packet(CONNECT, number, address=address, port=port, protocol=protocol))
                kind, id_, error = PACKET.unpack(ours.recv(1000))[1:4]
                self.assertEqual((kind, id_), (CONNECTED, number))
                self.assertIn(error, (errno.EACCES, errno.ENETUNREACH))
                ours.send(self.packet(CLOSE, number, b"\xff" * (protocol - 1)))
        ours.shutdown(socket.SHUT_RDWR)
        self.assertEqual(process.wait(20), 0)


if __name__ == "__main__":
    main(sys.modules["__main__"])
