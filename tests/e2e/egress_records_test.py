#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records of other types than addresses: which are asked for outside, what of them the sandbox is given, and what an
attacker's name server makes of that."""
import sys

sys.dont_write_bytecode = True
from cases import main  # noqa: E402
from egress_test import Egress, domain  # noqa: E402
from internet import GOOD, OTHER  # noqa: E402
from internet_records import (ANY, CAA, CNAME, H2, HTTPS, MX, NS, NULL, PTR, SOA, SRV, SVCB, TXT, encode,  # noqa: E402
                              service)

RECORDS = r"""
def message(name, kind, edns=0, size=None, over=socket.SOCK_DGRAM, klass=1, to="127.0.0.53"):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0"
    q = struct.pack(">6H", 7, 256, 1, 0, 0, edns > 0) + labels + struct.pack(">2H", kind, klass)
    if edns:
        q += b"\0" + struct.pack(">HHIH", 41, edns, 0, 0)
    s = socket.socket(socket.AF_INET, over)
    s.settimeout(20)
    s.connect((to, 53))
    if over == socket.SOCK_DGRAM:
        s.send(q)
        return s.recv(65536)
    s.sendall(struct.pack(">H", len(q)) + q)
    size = int.from_bytes(s.recv(2, socket.MSG_WAITALL), "big")
    return s.recv(size, socket.MSG_WAITALL)
def records(name, kind, **more):
    # the code, whether it is cut, and of each record its time to live and data
    a = message(name, kind, **more)
    at, found = 12, []
    while a[at]:
        at += a[at] + 1
    at += 5
    for _ in range(int.from_bytes(a[6:8], "big")):
        assert a[at:at + 2] == b"\xc0\x0c", a
        type_, class_, ttl, size = struct.unpack(">HHIH", a[at + 2:at + 12])
        assert (type_, class_) == (kind, 1), a
        found.append([ttl, a[at + 12:at + 12 + size].hex()])
        at += 12 + size
    return [a[3] & 15, a[2] & 2, found]
"""
EMPTY = [0, 0, []]
FAILED = [2, 0, []]


def given(*data, ttl=300):
    return [0, 0, [[ttl, d.hex()] for d in data]]


class Records(Egress):
    def inside(self, code, *options, **more):
        return self.python(RECORDS + f"print(json.dumps({code}))", *options, **more)

    def ask(self, *questions, types=None, **more):
        """Of pairs of name and type what comes of each, where a rule allows those types."""
        rule = domain("good.test", "*.good.test", "1.2.0.192.in-addr.arpa", **({"dns_types": types} if types else {}))
        return self.inside(f"[records(*q) for q in {questions}]", *self.policy(rule, **more))

    def asked(self):
        return self.came_in()["queries"]


class Services(Records):
    def test_c13_e1_what_leads_past_the_policy_is_removed(self):
        """No keys for encrypted hellos, no HTTP/3, no addresses that the resolver did not give."""
        self.assertEqual(self.ask(("api.good.test", HTTPS)), [given(service(1, p1=H2))])
        self.assertEqual(self.asked(), [f"api.good.test TYPE{HTTPS}"])
        self.assertEqual([(d["type"], d["decision"], d.get("reason")) for d in self.decisions("dns")],
                         [("HTTPS", "allow", None)])

    def test_c13_e1_records_that_are_nothing_without_that_are_left_out(self):
        self.assertEqual(self.ask(("ech.good.test", HTTPS)), [EMPTY])

    def test_targets_are_names_that_are_allowed(self):
        self.assertEqual(self.ask(("svcb.good.test", SVCB), ("alias.good.test", HTTPS), ("away.good.test", HTTPS)),
                         [given(service(1, "api.good.test", p1=H2, p3=b"\x20\xfb")), given(service(0, "api.good.test")), EMPTY])

    def test_d19_a_compressed_target_is_malformed(self):
        self.assertEqual(self.ask(("bad.good.test", HTTPS)), [FAILED])
        self.assertEqual(self.decisions("dns")[0]["error"], "EBADMSG")

    def test_types_that_are_not_asked_for(self):
        self.assertEqual(self.ask(("api.good.test", HTTPS), ("api.good.test", SVCB), dns={"types": ["A"]}), [EMPTY] * 2)
        self.assertEqual(self.asked(), [])
        self.assertEqual([d["reason"] for d in self.decisions("dns")], ["dns_type"] * 2)

    def test_names_that_are_not_allowed(self):
        self.assertEqual(self.ask(("evil.test", HTTPS), ("nowhere.good.test", HTTPS)), [[3, 0, []]] * 2)
        self.assertEqual(self.asked(), [f"nowhere.good.test TYPE{HTTPS}"])

    def test_a_name_with_addresses_of_the_policy_has_nothing_else(self):
        rules = self.policy(domain("api.good.test"), dns={"hosts": {"api.good.test": [OTHER]}})
        self.assertEqual(self.inside("[records('api.good.test', 65), look('api.good.test')]", *rules), [EMPTY, [OTHER]])
        self.assertEqual(self.asked(), [])

    def test_names_are_counted(self):
        found = self.ask(("api.good.test", HTTPS), ("nowhere.good.test", HTTPS), dns={"max_unique_names": 1})
        self.assertEqual([f[0] for f in found], [0, 2])
        self.assertEqual(self.decisions("dns")[-1]["reason"], "limit:dns_names")


class Others(Records):
    def test_d7_types_of_a_rule(self):
        kinds = {"TXT": TXT, "MX": MX, "NS": NS, "SOA": SOA, "CAA": CAA, "TYPE65000": 65000}
        good = encode("good.test")
        found = self.ask(*(("good.test", kind) for kind in kinds.values()), ("_x._tcp.good.test", SRV),
                         ("1.2.0.192.in-addr.arpa", PTR), ("alias2.good.test", CNAME), types=[*kinds, "SRV", "PTR"])
        self.assertEqual(found, [
            given(b"\6v=spf1\4 all", b"\0"), given(b"\0\12\2mx" + good), given(b"\2ns" + good),
            given(b"\2ns" + good + b"\3a.b" + good + bytes.fromhex("0000000100000002000000030000000400000005")),
            given(b"\0\5issueca.test"), given(b"\xc0\x0c any"), given(b"\0\1\0\2\0\x50" + encode("api.good.test")),
            given(good), given(good)])

    def test_d7_types_are_of_the_names_of_their_rule(self):
        rules = self.policy(domain("good.test", dns_types=["TXT"]), domain("*.good.test"))
        self.assertEqual(self.inside("[records('good.test', 16)[:2], records('long.good.test', 16), records('good.test', 15)]", *rules),
                         [[0, 0], EMPTY, EMPTY])
        self.assertEqual(self.asked(), [f"good.test TYPE{TXT}"])

    def test_d7_types_of_all_names(self):
        self.assertEqual(self.ask(("good.test", TXT), ("good.test", MX), dns={"types": ["A", "TXT"]})[1], EMPTY)
        self.assertEqual(self.asked(), [f"good.test TYPE{TXT}"])

    def test_d7_types_that_no_policy_allows(self):
        found = self.ask(("good.test", NULL), ("good.test", ANY), ("good.test", 252), ("good.test", 41),
                         types=["NULL"], dns={"types": ["TYPE10", "A"]})
        self.assertEqual(found, [EMPTY] * 4)
        self.assertEqual(self.asked(), [])
        self.assertEqual([d["reason"] for d in self.decisions("dns")], ["dns_type"] * 4)

    def test_d11_times_to_live_have_bounds(self):
        self.assertEqual(self.ask(("good.test", CAA), types=["CAA"], dns={"ttl_shown": [5, 7]}),
                         [given(b"\0\5issueca.test", ttl=7)])

    def test_d19_messages_of_an_attacker(self):
        found = self.ask(("loop.good.test", MX), ("forward.good.test", MX), ("short.good.test", TXT), ("nul.good.test", PTR),
                         types=["MX", "TXT", "PTR"])
        self.assertEqual(found, [FAILED] * 4)
        self.assertEqual([d.get("error") for d in self.decisions("dns")], ["EBADMSG"] * 4)

    def test_d19_long_answers(self):
        """Over UDP as long as the client says it takes; over TCP 4096 bytes."""
        code = """[[len(f[2]) if f[2] else f[:2] for f in (records(n + ".good.test", 16), records(n + ".good.test", 16, edns=1232),
            records(n + ".good.test", 16, over=socket.SOCK_STREAM))] for n in ("long", "longer", "longest")]"""
        found = self.inside(code, *self.policy(domain("*.good.test", dns_types=["TXT"])))
        self.assertEqual(found, [[[0, 2], 5, 5], [[0, 2], [0, 2], 15], [[2, 0]] * 3])
        self.assertEqual(self.decisions("dns")[-1]["error"], "EMSGSIZE")

    def test_an_audit_asks_for_all_but_what_is_no_data(self):
        found = self.ask(("good.test", CAA), ("good.test", NULL), ("nowhere.test", TXT), ("good.test", HTTPS), mode="audit")
        self.assertEqual(found, [given(b"\0\5issueca.test"), EMPTY, [3, 0, []], EMPTY])
        self.assertEqual([(d["decision"], d.get("would_deny"), d.get("reason")) for d in self.decisions("dns")],
                         [("allow", True, "dns_type"), ("deny", None, "dns_type"), ("allow", True, "dns_name"), ("allow", None, None)])


class Messages(Records):
    def test_d8_what_is_no_query_is_logged(self):
        code = r"""
print(json.dumps([message("api.good.test", 1, klass=3)[3] & 15, message("api.good.test", 255, klass=255)[3] & 15]))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
s.connect(("127.0.0.53", 53))
name = b"\3api\4good\4test\0\0\1\0\1"
for bad in (struct.pack(">6H", 7, 256, 2, 0, 0, 0) + name * 2, struct.pack(">6H", 7, 0x2800, 1, 0, 0, 0) + name,
            struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\x50", struct.pack(">6H", 7, 256, 1, 0, 0, 0) + name + b"x" * 600,
            struct.pack(">6H", 7, 256, 1, 0, 0, 0)):
    s.send(bad)
    a = s.recv(4096)
    assert a[:2] == b"\0\7" and a[2] & 128, a
    print(a[3] & 15, file=sys.stderr)
"""
        done = self.python(RECORDS + code)
        self.assertEqual(done, [5, 5])
        self.assertEqual([l for l in self.errors.split("\n") if l.isdigit()], ["1", "4", "1", "1", "1"])
        self.assertEqual([(d.get("name"), d.get("type"), d["decision"], d["reason"]) for d in self.decisions("dns")],
                         [("api.good.test", "A", "deny", "dns_class"), ("api.good.test", "TYPE255", "deny", "dns_class"),
                          (None, None, "deny", "malformed"), (None, None, "deny", "malformed"), (None, None, "deny", "malformed"),
                          ("api.good.test", "A", "deny", "malformed"), (None, None, "deny", "malformed")])
        self.assertEqual(self.asked(), [])

    def test_own_names_have_no_other_records(self):
        self.assertEqual(self.inside("[records('localhost', k) for k in (65, 16)]"), [EMPTY] * 2)
        self.assertEqual(self.asked(), [])

    def test_addresses_beside_it_all(self):
        self.assertEqual(self.inside("[records('api.good.test', 65)[0], by_name('api.good.test')]"), [0, "ok"])
        self.expect_connections([f"{GOOD}:80"])


if __name__ == "__main__":
    main(sys.modules["__main__"])
