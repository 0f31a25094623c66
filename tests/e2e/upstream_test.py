#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A policy's upstream proxy: everything goes through it, or nothing."""
import os
import sys

sys.dont_write_bytecode = True
import inspect_test  # noqa: E402
from cases import main  # noqa: E402
from egress_test import BIG, domain  # noqa: E402
from internet import GOOD, OTHER  # noqa: E402
from internet_proxy import PASSWORD, USER  # noqa: E402

RULES = (domain("*.good.test"),)


class Upstream(inspect_test.Inspect):
    def by(self, port, kind="socks5", host="proxy.test", rules=RULES, **more):
        return self.policy(*rules, upstream={"type": kind, "address": f"{host}:{port}", **more})

    def with_password(self, port, kind):
        os.environ["TEST_PROXY"] = PASSWORD
        self.addCleanup(os.environ.pop, "TEST_PROXY", None)
        return self.policy(*RULES, upstream={"type": kind, "address": f"proxy.test:{port}", "username": USER,
                                             "password_ref": "PROXY"},
                           secrets={"PROXY": {"source": {"env": "TEST_PROXY"}, "allow": {"hosts": ["proxy.test"]}}})

    def through(self, *options):
        """One answer, and whom proxies were asked for."""
        found = self.python("by_name('api.good.test') and fetch('api.good.test', '/x', port=80, secure=False)", *options)
        return found, self.came_in()["proxied"]

    def test_both_kinds(self):
        for port, kind in ((1080, "socks5"), (3128, "http")):
            with self.subTest(kind):
                self.before = inspect_test.egress_test.NET.counts()
                found, asked = self.through(*self.by(port, kind))
                self.assertEqual(found, [200, f"{GOOD} /x\n"])
                # By the address that was looked up and judged, never by a name.
                self.assertEqual(asked, [f"{GOOD}:80"] * 2)

    def test_with_a_password(self):
        for port, kind in ((1081, "socks5"), (3129, "http")):
            with self.subTest(kind):
                self.assertEqual(self.through(*self.with_password(port, kind))[0], [200, f"{GOOD} /x\n"])
                with open(self.log, encoding="utf-8") as f:
                    self.assertNotIn(PASSWORD, f.read())

    def test_a_password_that_none_can_be_told(self):
        """Not the first part of it instead."""
        for port, kind in ((1081, "socks5"), (3129, "http")):
            with self.subTest(kind):
                options = self.with_password(port, kind)
                os.environ["TEST_PROXY"] = PASSWORD * 20
                self.assertEqual(self.python("by_name('api.good.test')", *options), "ENETUNREACH")
                self.assertIn("longer than 255 bytes", self.errors)

    def test_k1_it_fails_closed(self):
        for port, kind, words in ((1081, "socks5", "other credentials"), (3129, "http", "other credentials"),
                                  (1082, "socks5", "does not speak SOCKS5"), (1082, "http", "no HTTP"),
                                  (1079, "socks5", "can't be reached")):
            with self.subTest((port, kind)):
                self.before = inspect_test.egress_test.NET.counts()
                found = self.python("by_name('api.good.test')", *self.by(port, kind))
                self.assertEqual(found, "ENETUNREACH")
                self.assertIn(words, self.errors)
                self.assertEqual(self.decisions("connect")[-1]["reason"], "upstream_proxy")
                self.assertNotIn(f"{GOOD}:80", self.came_in()["connections"])

    def test_k2_it_is_not_in_the_floor(self):
        found = self.python("by_name('api.good.test')", *self.by(1080, host="inside.test"))
        self.assertEqual(found, "ENETUNREACH")
        self.assertIn("an address that no sandbox may reach", self.errors)
        self.assertEqual(self.came_in()["connections"], [])

    def test_k7_what_goes_past_it(self):
        found = self.python("[by_name('api.good.test'), by_name('other.good.test')]",
                            *self.by(1080, no_proxy=["other.good.test"]))
        self.assertEqual(found, ["ok", "ok"])
        self.assertEqual(self.came_in()["proxied"], [f"{GOOD}:80"])
        self.assertIn(f"{OTHER}:80", self.came_in()["connections"])

    def test_what_the_peer_says_is_the_peers(self):
        self.assertEqual(self.python("by_name('api.good.test', 81)", *self.by(1080)), "ECONNREFUSED")
        code = """
s = socket.create_connection((look("git.good.test")[0], 22), 20)
first = s.recv(100).decode()
s.sendall(b"hello")
print(json.dumps([first, s.recv(100).decode()]))
"""
        for port, kind in ((1080, "socks5"), (3128, "http")):
            self.assertEqual(self.python(code, *self.by(port, kind)), ["SSH-2.0-first\r\n", "HELLO"])

    def test_tls_and_much(self):
        code = f"""
c = http.client.HTTPSConnection("api.good.test", timeout=30)
c.request("GET", "/big")
print(json.dumps([greet("{GOOD}", "api.good.test"), len(c.getresponse().read())]))
"""
        self.assertEqual(self.python(code, *self.by(3128, "http")), [f"{GOOD} /hello", len(BIG)])
        terminated = self.by(1080, rules=(domain("api.good.test", tls="terminate"),))
        self.assertEqual(self.python("fetch('api.good.test', '/y')", *terminated), [200, f"{GOOD} /y\n"])


if __name__ == "__main__":
    main(sys.modules["__main__"])
