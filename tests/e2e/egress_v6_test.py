#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What leaves a sandbox over IPv6, on a machine that has it, and that loses it. On one without: egress_test.py."""
import json
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import main, wait_until  # noqa: E402
from egress_test import PROLOGUE, Egress, cidr, domain  # noqa: E402
from internet import DEAD6, EVIL, EVIL6, GOOD, GOOD6, MACHINE6, OTHER, ROUTER6  # noqa: E402

OWN6, OWN_ROUTER6 = "fd67:6c6f:7665::15", "fd67:6c6f:7665::2"

PROLOGUE6 = r"""
V6 = socket.AF_INET6
def became6(host, port=80):
    s = tcp(host, port, V6)
    if isinstance(s, str):
        return s
    s.close()
    return "ok"
def look6(name, family=V6):
    try:
        return sorted({a[4][0] for a in socket.getaddrinfo(name, 80, family, socket.SOCK_STREAM)})
    except socket.gaierror as e:
        return errno_of(e)
def web(name):
    import urllib.request
    return urllib.request.urlopen(f"http://{name}/", timeout=20).read().decode().split()[0]
"""


class Six(Egress):
    HAS_V6 = True

    def inside(self, code, *options, **more):
        if "print" not in code:
            code = f"print(json.dumps({code}))"
        return self.python(PROLOGUE6 + code, *options, **more)

    def dialled(self):
        return [d.get("dialled") for d in self.decisions("connect")]


class Ways(Six):
    def test_a_name_with_both_families(self):
        found = self.inside("[look6('api.good.test'), look6('api.good.test', 0), became6(look6('api.good.test')[0]), "
                            "by_name('api.good.test')]")
        self.assertEqual(found, [[GOOD6], sorted([GOOD, GOOD6]), "ok", "ok"])
        # Where the machine is slow the gateway tries a second address, too: more than two may come.
        both = {f"{GOOD6}:80", f"{GOOD}:80"}
        wait_until(lambda: set(self.came_in()["connections"]) == both)
        self.assertEqual(set(self.came_in()["connections"]), both)

    def test_a_name_with_ipv6_alone(self):
        self.assertEqual(self.inside("[look('six.good.test'), web('six.good.test')]"), ["NODATA", GOOD6])
        self.assertEqual(self.dialled(), [GOOD6])

    def test_ipv4_is_sorted_first_by_the_library(self):
        code = "[a[4][0] for a in socket.getaddrinfo('api.good.test', 80, 0, socket.SOCK_STREAM)]"
        self.assertEqual(self.inside(code), [GOOD, GOOD6])

    def test_an_address_rule(self):
        rules = self.policy(cidr(f"{GOOD6}/128", ports=[80]))
        found = self.inside(f"[became6('{GOOD6}'), became6('{GOOD6}', 81), became6('{EVIL6}'), became('{GOOD}')]", *rules)
        self.assertEqual(found, ["ok", "EACCES", "EACCES", "EACCES"])
        self.expect_connections([f"{GOOD6}:80"])
        self.assertEqual(self.decisions("connect")[0]["dst"], GOOD6)

    def test_a1_the_gateway_dials_its_own_resolution(self):
        """Another name's address, for a name that is allowed: the connection is dropped before it says a thing."""
        code = f"""
look6('api.good.test')
s = tcp('{EVIL6}', 80, V6)
try:
    s.sendall(b'x')
    print(json.dumps(repr(s.recv(10))))
except OSError as e:
    print(json.dumps(errno.errorcode[e.errno]))
"""
        self.assertEqual(self.inside(code), "ECONNRESET")
        self.assertEqual(self.came_in()["connections"], [])

    def test_b5_mapped_addresses_are_ipv4(self):
        """Also as an answer of type AAAA, which is left out."""
        found = self.inside(f"[became6('::ffff:{GOOD}'), became6('::ffff:169.254.169.254'), look6('mapped.good.test')]",
                            *self.policy(cidr(f"{GOOD}/32"), domain("*.good.test")))
        self.assertEqual(found[:2], ["ok", "EACCES"])
        self.assertNotIn(EVIL, json.dumps(found[2]))
        self.expect_connections([f"{GOOD}:80"])

    def test_b_the_floor_is_closed_whatever_a_policy_says(self):
        closed = ["fd00:ec2::254", "fd00::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1", MACHINE6,
                  "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::169.254.169.254", "::ffff:0:10.0.0.1"]
        found = self.inside(f"[became6(a) for a in {closed}]", *self.policy({"to": "any"}, cidr("::/0")))
        for address, became in zip(closed, found):
            with self.subTest(address):
                self.assertIn(became, ["EACCES", "ENETUNREACH"])
        self.assertEqual(self.came_in()["connections"], [])
        self.assertEqual({d["decision"] for d in self.decisions("connect")}, {"deny"})

    def test_loopback_and_links_stay(self):
        found = self.inside("[became6('::1', 1), became6('fe80::1'), became6('::', 1)]", *self.policy({"to": "any"}))
        self.assertEqual(found, ["ECONNREFUSED", "ENETUNREACH", "ECONNREFUSED"])
        self.assertEqual(self.decisions(), [])

    def test_a_name_whose_ipv6_leads_inside_keeps_its_ipv4(self):
        """NODATA for AAAA: with NXDOMAIN some libraries would give up on both."""
        found = self.inside("[look6('lan6.good.test'), ask(b'lan6', b'good', b'test', kind=28), by_name('lan6.good.test')]")
        self.assertEqual(found, ["NODATA", 0, "ok"])
        self.assertIn("resolved:private", [d.get("reason") for d in self.decisions("dns")])
        self.assertEqual(self.dialled(), [GOOD])

    def test_hosts_of_the_document(self):
        rules = self.policy(domain("pinned.test"), dns={"hosts": {"pinned.test": [GOOD6, OTHER]}})
        self.assertEqual(self.inside("[look('pinned.test'), look6('pinned.test'), became6(look6('pinned.test')[0])]", *rules),
                         [[OTHER], [GOOD6], "ok"])
        self.assertEqual([self.came_in()[k] for k in ("queries", "connections")], [[], [f"{GOOD6}:80"]])


class Attempts(Six):
    def test_an_ipv6_address_that_is_dead_costs_a_moment(self):
        found = self.inside("[look6('dead6.good.test'), became6(look6('dead6.good.test')[0])]")
        self.assertEqual(found, [[DEAD6], "ok"])
        self.assertEqual(self.dialled(), [GOOD])
        self.expect_connections([f"{GOOD}:80"])

    def test_the_other_family_when_the_chosen_one_refuses(self):
        """GOOD serves SSH, GOOD6 does not."""
        self.assertEqual(self.inside("became6(look6('api.good.test')[0], 22)"), "ok")
        self.assertEqual(self.dialled(), [GOOD])

    def test_a_resolver_that_never_answers_for_ipv6(self):
        self.assertEqual(self.inside("by_name('slow6.good.test')"), "ok")
        self.assertEqual(self.dialled(), [GOOD])

    def test_all_refuse(self):
        self.assertEqual(self.inside("[became6(look6('api.good.test')[0], 81), by_name('api.good.test', 81)]"),
                         ["ECONNREFUSED"] * 2)
        self.assertEqual(self.came_in()["connections"], [])


class Interface(Six):
    def test_addresses_and_routes(self):
        code = """
import subprocess
def ip(*words):
    return json.loads(subprocess.run(["ip", "-j", "-6", *words], capture_output=True, check=True).stdout)
addresses = {l["ifname"]: [(a["local"], a["prefixlen"], a["scope"]) for a in l["addr_info"]] for l in ip("addr") if l}
routes = [(r["dst"], r.get("gateway"), r["dev"]) for r in ip("route")]
got = ip("route", "get", "%s")[0]
s = tcp("%s", 80, V6)
own = socket.socket(V6)
own.bind(("%s", 0))
own.listen()
local = socket.create_connection(own.getsockname()[:2])
print(json.dumps([addresses, routes, [got["gateway"], got["prefsrc"]], s.getsockname()[0], local.getpeername()[0]]))
""" % (GOOD6, GOOD6, OWN6)
        found = self.inside(code, *self.policy({"to": "any"}))
        self.assertEqual(found[0], {"lo": [["::1", 128, "host"]], "eth0": [[OWN6, 64, "global"]]})
        self.assertEqual(sorted(found[1]), sorted([["fd67:6c6f:7665::/64", None, "eth0"], ["default", OWN_ROUTER6, "eth0"]]))
        self.assertEqual(found[2:], [[OWN_ROUTER6, OWN6], OWN6, OWN6])

    def test_files_show_it_too(self):
        """What programs read that don't ask by netlink."""
        code = """
def lines(path):
    with open(path) as f:
        return [line.split() for line in f if "eth0" in line]
def text(path):
    with open(path) as f:
        return f.read().strip()
sys_folder = "/sys/class/net/eth0/"
print(json.dumps([lines("/proc/net/dev")[0][0], [r[1:4] + r[7:8] for r in lines("/proc/net/route")],
                  [r[:2] + r[4:5] for r in lines("/proc/net/ipv6_route")], lines("/proc/net/if_inet6"),
                  sorted(os.listdir("/sys/class/net")), os.path.realpath(sys_folder),
                  [text(sys_folder + n) for n in ("address", "mtu", "operstate", "flags", "ifindex", "type", "uevent")],
                  text("/sys/class/net/lo/address"), os.path.exists("/sys/class/net/eth1")]))
"""
        own, none = socket.inet_pton(socket.AF_INET6, OWN6).hex(), "0" * 32
        router, net = socket.inet_pton(socket.AF_INET6, OWN_ROUTER6).hex(), own[:16] + "0" * 16
        self.assertEqual(self.inside(code, *self.policy({"to": "any"})), [
            "eth0:", [["00000000", "0202000A", "0003", "00000000"], ["0002000A", "00000000", "0001", "00FFFFFF"]],
            [[net, "40", none], [none, "00", router], [own, "80", none]], [[own, "02", "40", "00", "80", "eth0"]],
            ["eth0", "lo"], "/sys/devices/virtual/net/eth0",
            ["02:00:0a:00:02:0f", "1500", "up", "0x1003", "2", "1", "INTERFACE=eth0\nIFINDEX=2"], "00:00:00:00:00:00", False])

    def test_b18_a_machine_that_loses_ipv6_and_gets_it_back(self):
        code = """
for line in sys.stdin:
    found = socket.getaddrinfo("api.good.test", 80, 0, socket.SOCK_STREAM)
    flagged = socket.getaddrinfo("api.good.test", 80, 0, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
    print(json.dumps([[a[4][0] for a in found], [a[4][0] for a in flagged], look6("six.good.test"), became6("%s"),
                      became("%s"), open("/proc/net/if_inet6").read().count("eth0")]), flush=True)
""" % (GOOD6, GOOD)
        process = self.start(*self.policy({"to": "any"}), "--", "/usr/bin/python3", "-c", PROLOGUE + PROLOGUE6 + code)
        both = [[GOOD, GOOD6], [GOOD, GOOD6], [GOOD6], "ok", "ok", 1]

        def ask():
            process.stdin.write(b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())
        self.assertEqual(ask(), both)
        subprocess.run(["ip", "-6", "route", "del", "default"], check=True)
        try:
            self.assertEqual(ask(), [[GOOD], [GOOD], "NODATA", "ENETUNREACH", "ok", 0])
        finally:
            subprocess.run(["ip", "-6", "route", "add", "default", "via", ROUTER6], check=True)
        self.assertEqual(ask(), both)
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main(sys.modules["__main__"])
