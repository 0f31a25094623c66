# SPDX-License-Identifier: Apache-2.0
"""Records of the internet's name server that are no addresses: good ones, and those of an attacker. A pointer in them
(0xc0 0x0c) leads to the question's name."""
import struct

NS, CNAME, SOA, NULL, PTR, MX, TXT, SRV, SVCB, HTTPS, ANY, CAA = 2, 5, 6, 10, 12, 15, 16, 33, 64, 65, 255, 257


def encode(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part) + b"\0"


def params(**values):
    """SvcParams, by their number: p1=b"..."."""
    return b"".join(struct.pack(">2H", int(key[1:]), len(value)) + value for key, value in values.items())


def service(priority, target=".", **values):
    return struct.pack(">H", priority) + encode(target) + params(**values)


H2, H3 = b"\2h2", b"\2h3"
HINT4, HINT6 = bytes([45, 33, 32, 66]), bytes.fromhex("2a0f5708000000000000000000000066")
RECORDS = {
    ("api.good.test", HTTPS): [service(1, p1=H2 + H3 + b"\5h3-29", p4=HINT4, p5=b"\0\x08echecho!", p6=HINT6)],
    ("svcb.good.test", SVCB): [service(1, "api.good.test", p1=H2, p3=b"\x20\xfb"), service(2, "evil.test", p1=H2)],
    ("ech.good.test", HTTPS): [service(1, p0=b"\0\5", p5=b"ech"), service(2, p1=H3, p2=b"")],
    ("alias.good.test", HTTPS): [service(0, "api.good.test")],
    ("away.good.test", HTTPS): [service(0, "evil.test")],
    ("bad.good.test", HTTPS): [struct.pack(">H", 1) + b"\xc0\x0c"],
    ("good.test", TXT): [b"\6v=spf1\4 all", b"\0"],
    ("good.test", MX): [b"\0\12\2mx\xc0\x0c"],
    ("good.test", NS): [b"\2ns\xc0\x0c"],
    ("good.test", SOA): [b"\2ns\xc0\x0c\3a.b\xc0\x0c" + struct.pack(">5I", 1, 2, 3, 4, 5)],
    ("good.test", CAA): [b"\0\5issueca.test"],
    ("good.test", 65000): [b"\xc0\x0c any"],
    ("_x._tcp.good.test", SRV): [b"\0\1\0\2\0\x50\3api\4good\4test\0"],
    ("1.2.0.192.in-addr.arpa", PTR): [encode("good.test")],
    ("alias2.good.test", CNAME): [encode("good.test")],
    ("long.good.test", TXT): [bytes([200]) + b"x" * 200] * 5,
    ("longer.good.test", TXT): [bytes([200]) + b"x" * 200] * 15,
    ("longest.good.test", TXT): [bytes([200]) + b"x" * 200] * 25,
    ("loop.good.test", MX): [b"\0\12\1a\xc0\x2e"],
    ("forward.good.test", MX): [b"\0\12\xc3\xff"],
    ("short.good.test", TXT): [b"\6hell"],
    ("nul.good.test", PTR): [b"\4g\0od\4test\0"],
    ("good.test", NULL): [b"anything"],
    ("good.test", ANY): [b"anything"],
}
NAMES = {name for name, _ in RECORDS}
# As they are written in the list of what was asked.
SUFFIX = {1: "", 28: " AAAA"}


def answers(name, kind):
    return [b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1000, len(data)) + data for data in RECORDS.get((name, kind), [])]
