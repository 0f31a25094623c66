#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session of TLS that a program continues is no permission: what it asks is judged by the policy that is in force now."""
import sys

sys.dont_write_bytecode = True
import egress_live_test  # noqa: E402
import inspect_test  # noqa: E402
from cases import main  # noqa: E402
from egress_test import domain  # noqa: E402
from internet import GOOD  # noqa: E402

VERSIONS = "TLSv1_2", "TLSv1_3"


class Resumed(inspect_test.Inspect, egress_live_test.Live):
    AGENT = inspect_test.CLIENT + r"""
contexts, sessions = {}, {}
def visit(version, path, name="api.good.test"):
    # Whether a connection of its own continued the session of the last one, and what came of the request.
    if version not in contexts:
        c = contexts[version] = ssl.create_default_context()
        c.minimum_version = c.maximum_version = ssl.TLSVersion[version]
    s = tcp(look(name)[0], 443)
    if isinstance(s, str):
        return s
    try:
        with contexts[version].wrap_socket(s, server_hostname=name, session=sessions.get(version)) as t:
            t.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path.encode(), name.encode()))
            data = b""
            while piece := t.recv(65536):
                data += piece
            sessions[version] = t.session
            return [t.session_reused, int(data.split()[1])]
    except ssl.SSLError as e:
        return e.reason
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
""" + egress_live_test.Live.AGENT

    @staticmethod
    def rule(path, name="*.good.test"):
        return domain(name, tls="terminate", http={"path": {"prefix": path}})

    def test_another_policy_judges_what_is_continued(self):
        say = self.open(*self.policy(self.rule("/a")))
        for version in VERSIONS:
            with self.subTest(version):
                self.expect(self.set(self.rule("/a")))
                visit = f"visit('{version}', '%s')"
                self.assertEqual([say(visit % path) for path in ("/a", "/a", "/b")], [[False, 200], [True, 200], [True, 403]])
                self.expect(self.set(self.rule("/b")))
                self.assertEqual([say(visit % path) for path in ("/a", "/b")], [[True, 403], [True, 200]])
                self.expect(self.set(self.rule("/b", name="git.good.test")))
                self.assertEqual(say(f"tcp('{GOOD}', 443)"), "EACCES")

    def test_it_is_for_its_name_alone(self):
        say = self.open(*self.policy(self.rule("/a")))
        for version in VERSIONS:
            with self.subTest(version):
                self.assertEqual([say(f"visit('{version}', '/a', '{name}.good.test')") for name in ("api", "git", "git", "api")],
                                 [[False, 200], [False, 200], [True, 200], [False, 200]])


if __name__ == "__main__":
    egress_live_test.have_own_registry()
    main(sys.modules["__main__"])
