#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""UDP leaves a sandbox where a rule allows it: to whom, what comes back, and what a program sees of the rest."""
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, descendants, main, wait_until  # noqa: E402
import egress_test  # noqa: E402
from egress_test import PROLOGUE, Egress, cidr, domain  # noqa: E402
from internet import EVIL, GOOD, GOOD6, OTHER  # noqa: E402

PROLOGUE_UDP = r"""
def udp(host=None, port=7, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(20)
    if host:
        s.connect((host, port))
    return s
def code(call, *words):
    try:
        return call(*words)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
def text(got):
    return got.decode() if isinstance(got, bytes) else got
def ask_udp(host, what=b"abc", port=7, family=socket.AF_INET):
    s = udp(host, port, family)
    sent = code(s.send, what)
    return text(code(s.recv, 70000)) if sent == len(what) else sent
"""

SLOW = "tc qdisc add dev out root tbf rate 4mbit burst 32kbit latency 20s"
TO_GOOD = cidr(f"{GOOD}/32", proto=["udp"])


class Udp(Egress):
    HAS_V6 = True

    def setUp(self):
        super().setUp()
        self.heard = len(egress_test.NET.said())

    def said(self):
        return egress_test.NET.said()[self.heard:]

    def inside(self, code, *rules, **more):
        if "print" not in code:
            code = f"print(json.dumps({code}))"
        return self.python(PROLOGUE_UDP + code, *self.policy(*rules, **more))


class Verdicts(Udp):
    def test_e2_an_address_that_a_rule_allows(self):
        self.assertEqual(self.inside(f"ask_udp('{GOOD}')", TO_GOOD), "cba")
        self.assertEqual(self.said(), [(GOOD, "abc")])
        [connect], [close] = self.decisions("connect"), self.decisions("close")
        self.assertEqual([connect[k] for k in ("proto", "decision", "reason", "dst", "port", "program")],
                         ["udp", "allow", "rule:r0", GOOD, 7, "python3"])
        self.assertEqual([close[k] for k in ("proto", "guest_tx", "guest_rx", "flow")], ["udp", 3, 3, connect["flow"]])

    def test_what_no_rule_allows_is_refused_and_nothing_leaves(self):
        code = f"""
s = udp('{EVIL}')
first = s.send(b"x")
refused = code(s.recv, 10)
again = s.send(b"x"), code(s.recv, 10)
print(json.dumps([first, refused, again]))
"""
        self.assertEqual(self.inside(code, TO_GOOD, cidr(f"{EVIL}/32", proto=["tcp"])),
                         [1, "ECONNREFUSED", [1, "ECONNREFUSED"]])
        self.assertEqual(self.said(), [])
        self.assertEqual([(d["proto"], d["decision"], d["reason"]) for d in self.decisions("connect")], [("udp", "deny", "default")])
        self.assertIn(f"denied UDP to {EVIL}:7", self.errors)

    def test_e1_quic_to_a_name_needs_the_protocol(self):
        """Refused, not lost: at that a client goes on with TCP at once."""
        code = "[ask_udp(look('api.good.test')[0], port=443), by_name('api.good.test')]"
        self.assertEqual(self.inside(code, domain("*.good.test")), ["ECONNREFUSED", "ok"])
        self.assertEqual(self.said(), [])

    def test_an_audit_changes_nothing_for_quic(self):
        code = f"[ask_udp(look('api.good.test')[0], port=443), ask_udp('{GOOD}', port=443)]"
        self.assertEqual(self.inside(code, mode="audit"), ["cba", "cba"])
        self.assertEqual([d["would_deny"] for d in self.decisions("connect")], [True, True])

    def test_a_name_is_dialled_by_our_own_look_up(self):
        code = f"[ask_udp(look('api.good.test')[0]), ask_udp(look('rebind.good.test')[0]), ask_udp('{EVIL}')]"
        found = self.inside(code, domain("api.good.test", "rebind.good.test", proto=["udp"]))
        self.assertEqual(found[0], "cba")
        self.assertEqual(found[2], "ECONNREFUSED")
        self.assertEqual({host for host, _ in self.said()}, {GOOD})
        names = [d.get("name") for d in self.decisions("connect") if d["decision"] == "allow"]
        self.assertIn("api.good.test", names)

    def test_a_name_over_ipv6(self):
        code = """
v6 = socket.getaddrinfo("six.good.test", 7, 0, socket.SOCK_DGRAM)[0][4]
s = udp(family=socket.AF_INET6)
s.sendto(b"abc", v6)
data, peer = s.recvfrom(10)
print(json.dumps([data.decode(), peer[0], peer[1]]))
"""
        self.assertEqual(self.inside(code, domain("six.good.test", proto=["udp"])), ["cba", GOOD6, 7])
        self.assertEqual(self.decisions("connect")[0]["dialled"], GOOD6)

    def test_an_ipv6_socket_sends_to_ipv4(self):
        code = f"""
s = udp(family=socket.AF_INET6)
s.sendto(b"abc", ("::ffff:{GOOD}", 7))
data, peer = s.recvfrom(10)
s.setsockopt(socket.IPPROTO_IP, 8, 1)  # IP_PKTINFO
s.sendto(b"abc", ("::ffff:{GOOD}", 7))
_, [(level, kind, info)], _, _ = s.recvmsg(10, 100)
print(json.dumps([data.decode(), peer[0], level, kind, socket.inet_ntoa(info[4:8])]))
"""
        self.assertEqual(self.inside(code, TO_GOOD), ["cba", f"::ffff:{GOOD}", socket.IPPROTO_IP, 8, "10.0.2.15"])

    def test_b_the_floor_is_closed(self):
        closed = ["169.254.169.254", "10.0.0.1", "45.32.0.1", "100.100.100.200"]
        found = self.inside(f"[ask_udp(a) for a in {closed}]", cidr("0.0.0.0/0", proto=["udp"]))
        self.assertEqual(found, ["ECONNREFUSED"] * 4)
        self.assertTrue(all(d["reason"].startswith("floor:") for d in self.decisions("connect")))
        found = self.inside("[code(udp().sendto, b'x', (a, 7)) for a in ('224.0.0.1', '255.255.255.255', '10.0.2.255')]",
                            cidr("0.0.0.0/0", proto=["udp"]))
        self.assertEqual(found[:2], ["ENETUNREACH", "EACCES"])

    def test_k6_a_proxy_carries_no_datagrams_and_quotas_do_not_hold_them(self):
        proxy = {"upstream": {"type": "socks5", "address": f"{OTHER}:1080", "no_proxy": ["api.good.test"]}}
        code = f"[ask_udp('{GOOD}'), ask_udp(look('api.good.test')[0])]"
        rules = cidr(f"{OTHER}/32", f"{GOOD}/32", proto=["udp"]), domain("api.good.test", proto=["udp"])
        self.assertEqual(self.inside(code, *rules[::-1], **proxy), ["ECONNREFUSED", "cba"])
        self.assertEqual(self.inside(code, *rules, limits={"bytes_up": 1000000}), ["ECONNREFUSED"] * 2)
        self.assertEqual([d["reason"] for d in self.decisions("connect") if d["decision"] == "deny"], ["proto"] * 3)
        self.assertEqual(len(self.said()), 1)

    def test_icmp_is_refused_at_the_start(self):
        document = {"version": 1, "rules": [{"id": "a", "action": "allow", "to": "any", "proto": ["icmp"]}]}
        done = subprocess.run([GLOVEBOX, "run", "--policy", self.path("p", json.dumps(document)), "--", "true"],
                              capture_output=True, check=False)
        self.expect_refused(done, "/rules/0/proto: ICMP is not carried")


class Exchanges(Udp):
    def test_so_many_peers_whatever_a_policy_says(self):
        """LIMIT_UDP_PEERS: what goes to others is lost."""
        code = f"""
s = udp()
for _ in range(4):
    for port in range(20000, 24200):
        s.sendto(b"x", ("{GOOD}", port))
        if port % 100 == 0:
            time.sleep(0.02)  # so many questions at once are answered
ends = set()
for port in range(24200, 24210):
    ends.add(code(s.sendto, b"x", ("{GOOD}", port)))
print(json.dumps(sorted(map(str, ends))))
"""
        found = self.inside(code, TO_GOOD, limits={"max_udp_peers": 10000, "max_flows": 10000, "max_new_per_s": 1000000})
        self.assertEqual(len(found), 1)
        peers = {d["port"] for d in self.decisions("connect") if d["decision"] == "allow"}
        self.assertEqual(len(peers), 4096)

    def test_several_peers_of_one_socket(self):
        code = f"""
s = udp()
for n in range(3):
    for host, port in (("{GOOD}", 7), ("{OTHER}", 7), ("{GOOD}", 8)):
        s.sendto(b"%d" % n + host[-2:].encode() + b"%d" % port, (host, port))
got = sorted(s.recvfrom(100)[::-1] for _ in range(9))
print(json.dumps([[list(peer), data.decode()[::-1]] for peer, data in got]))
"""
        found = self.inside(code, cidr("45.33.32.0/24", proto=["udp"]))
        self.assertEqual(sorted(map(json.dumps, found)),
                         sorted(json.dumps([[host, port], f"{n}{host[-2:]}{port}"]) for n in range(3)
                                for host, port in ((GOOD, 7), (OTHER, 7), (GOOD, 8))))
        self.assertEqual(len(self.decisions("connect")), 3)

    def test_e3_a_stranger_is_not_heard(self):
        code = f"""
s = udp()
s.sendto(b"a stranger first", ("{GOOD}", 7))
print(json.dumps(s.recv(100).decode()))
"""
        self.assertEqual(self.inside(code, TO_GOOD), "tsrif regnarts a")

    def test_a_socket_that_is_connected_hears_its_peer_alone(self):
        code = f"""
s = udp()
s.sendto(b"first", ("{GOOD}", 7))
s.recv(10)
s.connect(("{OTHER}", 7))
try:
    s.sendto(b"elsewhere", ("{GOOD}", 8))
    s.send(b"here")
    got = [s.recv(100).decode(), list(s.getpeername())]
    s.setblocking(False)
    got.append(code(s.recv, 10))
finally:
    pass
print(json.dumps(got))
"""
        self.assertEqual(self.inside(code, cidr("45.33.32.0/24", proto=["udp"])), ["ereh", [OTHER, 7], "EAGAIN"])

    def test_sizes_flags_and_queues(self):
        code = f"""
import array, fcntl, termios
s = udp('{GOOD}')
s.send(b"much")
ready = bool(select.select([s], [], [], 20)[0])
size = array.array("i", [0])
fcntl.ioctl(s, termios.FIONREAD, size)
peek = s.recv_into(bytearray(10), 10, socket.MSG_PEEK | socket.MSG_TRUNC)
data, _, flags, peer = s.recvmsg(100)
s.send(b"three times")
three = [s.recv(100).decode() for _ in range(3)]
s.send(b"x" * 60000)
big = s.recv(65536) == b"x" * 60000
empty = s.send(b""), s.recv(10).decode()
over = code(s.send, b"x" * 65508)
e = select.epoll()
e.register(s, select.EPOLLIN | select.EPOLLET)
s.send(b"edge")
edge = e.poll(20)[0][1], s.recv(10).decode()
s.setblocking(False)
print(json.dumps([ready, size[0], peek, len(data), bool(flags & socket.MSG_TRUNC), list(peer), three, big, empty, over,
                  edge, code(s.recv, 10), s.getsockname()[0]]))
"""
        self.assertEqual(self.inside(code, TO_GOOD), [
            True, 5000, 5000, 100, True, [GOOD, 7], ["three times"[::-1]] * 3, True, [0, ""], "EMSGSIZE", [1, "egde"], "EAGAIN",
            "10.0.2.15"])

    def test_many_with_one_call(self):
        """sendmmsg(2) and recvmmsg(2)."""
        code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
class msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.POINTER(iovec)), ("iovlen", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int)]
class mmsghdr(ctypes.Structure):
    _fields_ = [("hdr", msghdr), ("len", ctypes.c_uint)]
buffers = [ctypes.create_string_buffer(b"n%d" % n, 50) for n in range(5)]
iovs = [iovec(ctypes.addressof(b), 2) for b in buffers]
many = (mmsghdr * 5)(*[mmsghdr(msghdr(None, 0, ctypes.pointer(v), 1, None, 0, 0), 0) for v in iovs])
s = udp('{GOOD}')
s.send(b"first")
s.recv(100)
s.setblocking(True)
sent = libc.sendmmsg(s.fileno(), many, 5, 0)
got = 0
while got < 5:
    n = libc.recvmmsg(s.fileno(), ctypes.byref(many, got * ctypes.sizeof(mmsghdr)), 5 - got, 0, None)
    if n <= 0:
        break
    got += n
print(json.dumps([sent, got, sorted(b.raw[:2].decode() for b in buffers)]))
"""
        self.assertEqual(self.inside(code, TO_GOOD), [5, 5, ["0n", "1n", "2n", "3n", "4n"]])

    def test_what_is_sent_before_the_verdict_is_kept_few(self):
        code = f"""
s = udp()
for n in range(20):
    s.sendto(b"%02d" % n, ("{GOOD}", 7))
got = [s.recv(10).decode() for _ in range(8)]
s.sendto(b"end", ("{GOOD}", 7))
while got[-1] != "dne":
    got.append(s.recv(10).decode())
print(json.dumps(got))
"""
        found = self.inside(code, TO_GOOD)
        self.assertEqual(found[:8], [f"{n:02}"[::-1] for n in range(8)])
        self.assertEqual(found[-1], "dne")

    def test_a_port_where_nobody_is(self):
        code = f"""
s = udp('{GOOD}', 5)
s.send(b"x")
first = code(s.recv, 10)
s.send(b"x")
select.select([s], [], [], 20)
error = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
u = udp()
u.sendto(b"x", ("{GOOD}", 5))
u.sendto(b"good", ("{GOOD}", 7))
print(json.dumps([first, errno.errorcode[error], u.recv(10).decode()]))
"""
        self.assertEqual(self.inside(code, TO_GOOD), ["ECONNREFUSED", "ECONNREFUSED", "doog"])

    def test_what_nobody_reads_stays_bounded_and_is_read_later(self):
        code = f"""
s = udp('{GOOD}')
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
for _ in range(30):
    s.send(b"much")
time.sleep(0.2)
got = len(s.recv(10000))
n = 1
s.settimeout(3)
while code(s.recv, 10000) not in ("EAGAIN", "timed out"):
    n += 1
s.settimeout(20)
s.send(b"still")
print(json.dumps([got, 5 < n <= 30, s.recv(100).decode()]))
"""
        self.assertEqual(self.inside(code, TO_GOOD), [5000, True, "llits"])

    def test_a_network_that_is_slow_is_waited_for(self):
        if not shutil.which("tc") or subprocess.run(SLOW.split(), capture_output=True, check=False).returncode:
            self.skipTest("needs tc(8) and the queueing discipline tbf")
        self.addCleanup(subprocess.run, "tc qdisc del dev out root".split(), check=True)
        code = f"""
s = udp('{GOOD}')
s.send(b"x")
s.recv(10)
s.setblocking(False)
p = select.poll()
p.register(s, select.POLLOUT)
became = 0
while became != "EAGAIN":
    became = code(s.send, b"nothing" * 200)
full, later = p.poll(0), p.poll(20000)[0][1]
again = s.send(b"nothing")
s.settimeout(20)
print(json.dumps([full, later, again, [s.send(b"nothing" * 200) for _ in range(50)].count(1400)]))
"""
        self.assertEqual(self.inside(code, TO_GOOD), [[], 4, 7, 50])

    def test_fork_and_close(self):
        code = f"""
s = udp('{GOOD}')
if os.fork() == 0:
    s.send(b"child")
    os._exit(0)
os.wait()
got = s.recv(10).decode()
s.close()
print(json.dumps([got, ask_udp('{GOOD}')]))
"""
        self.assertEqual(self.inside(code, TO_GOOD), ["dlihc", "cba"])
        self.assertEqual([d["guest_tx"] for d in self.decisions("close")], [5, 3])


class Bounds(Udp):
    def test_e11_peers_are_bounded(self):
        code = f"""
held = [udp("{GOOD}") for _ in range(5)]
became = []
for one in held:
    one.send(b"x")
    became.append(text(code(one.recv, 10)))
held[0].close()
print(json.dumps([became, ask_udp("{GOOD}")]))
"""
        self.assertEqual(self.inside(code, TO_GOOD, limits={"max_udp_peers": 4}), [["x"] * 4 + ["ECONNREFUSED"], "cba"])
        self.assertIn("limit:max_udp_peers", [d["reason"] for d in self.decisions("connect")])
        self.assertEqual(len(self.said()), 5)

    def test_new_ones_are_bounded_too(self):
        code = f"""
s = udp()
for n in range(300):
    s.sendto(b"nothing", ("45.33.34.%d" % (n % 250), 7 + n // 250))
s = udp("{GOOD}")
s.settimeout(0.2)
tries = ["first"]
while tries[-1] not in ("cba", "ECONNREFUSED"):
    code(s.send, b"abc")
    tries.append(text(code(s.recv, 10)))
print(json.dumps(True))
"""
        self.assertTrue(self.inside(code, cidr("45.33.0.0/16", proto=["udp"]), limits={"max_new_per_s": 10}))
        reasons = [d.get("reason") for d in self.decisions("connect")]
        self.assertIn("limit:max_new_per_s", reasons)
        self.assertLess(reasons.count("rule:r0"), 200)

    def test_a_peer_that_is_idle_is_let_go(self):
        process = self.start(*self.policy(TO_GOOD, limits={"idle_udp_s": 1}), "--egress-log", self.log, "--", "/usr/bin/python3",
                             "-c", PROLOGUE + PROLOGUE_UDP + f"s = udp('{GOOD}')\nfor line in sys.stdin:\n"
                             "    s.send(b'abc')\n    print(s.recv(10).decode(), flush=True)\n")

        def ask():
            process.stdin.write(b"\n")
            process.stdin.flush()
            return process.stdout.readline()
        self.assertEqual(ask(), b"cba\n")
        self.assertTrue(wait_until(lambda: len(self.decisions("close")) == 1))
        self.assertEqual(ask(), b"cba\n")
        self.assertEqual(len(self.decisions("connect")), 2)
        process.stdin.close()
        process.wait()

    def test_another_policy_ends_what_it_does_not_allow(self):
        name = f"udp-{os.getpid()}"
        both = cidr(f"{GOOD}/32", f"{OTHER}/32", proto=["udp"])
        process = self.start("--name", name, *self.policy(both), "--egress-log", self.log, "--", "/usr/bin/python3", "-uc", PROLOGUE
                             + PROLOGUE_UDP + f"a, b = udp('{GOOD}'), udp('{OTHER}')\nfor line in sys.stdin:\n    became = []\n"
                             "    for s in a, b:\n        sent = code(s.send, b'abc')\n"
                             "        became.append(text(code(s.recv, 10)) if sent == 3 else sent)\n    print(json.dumps(became))\n")

        def ask():
            process.stdin.write(b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        def set_policy(*rules):
            document = json.dumps({"version": 1, "rules": [{"id": "new", "action": "allow", **rule} for rule in rules]})
            done = subprocess.run([GLOVEBOX, "policy", "set", name, "-"], input=document.encode(), capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(ask(), ["cba", "cba"])
        set_policy(TO_GOOD)
        self.assertEqual(ask(), ["cba", "ECONNREFUSED"])
        self.assertEqual([(d["dst"], d["reason"]) for d in self.decisions("close")], [(OTHER, "policy_changed")])
        set_policy(both)
        self.assertEqual(ask(), ["cba", "cba"])
        heard = len(self.said())
        set_policy()
        self.assertEqual(ask(), ["ECONNREFUSED"] * 2)
        self.assertEqual(len(self.said()), heard)

    def test_the_gateway_dies(self):
        code = f"""
s = udp('{GOOD}')
s.send(b"abc")
print(s.recv(10).decode(), flush=True)
end = code(s.recv, 10)
print(json.dumps([end, code(s.send, b"x"), code(udp('{GOOD}').send, b"x")]), flush=True)
"""
        process = self.start(*self.policy(TO_GOOD), "--", "/usr/bin/python3", "-c", PROLOGUE + PROLOGUE_UDP + code)
        self.assertEqual(process.stdout.readline(), b"cba\n")
        [gateway] = [pid for pid, _ in descendants(process.pid) if program(pid) == "glovebox-gateway"]
        os.kill(gateway, signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(json.loads(out), ["ENETUNREACH"] * 3)
        self.assertEqual(len(self.said()), 1)


def program(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")[0].decode()
    except OSError:
        return ""


if __name__ == "__main__":
    main(sys.modules["__main__"])
