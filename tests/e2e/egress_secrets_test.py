#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets that come, and go, while a sandbox runs."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
import egress_live_test  # noqa: E402
import egress_test  # noqa: E402
import files_client  # noqa: E402
from cases import GLOVEBOX, main, wait_until  # noqa: E402
from egress_live_test import glovebox, record  # noqa: E402
from egress_test import domain  # noqa: E402
from files_client import READ  # noqa: E402
from internet import BIG  # noqa: E402

FIRST = "sk-live-4f1d2c3b4a5968778695a4b3c2d1e0f"
SECOND = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
SAY_HALVES = "import sys; print(sys.argv[1] + sys.argv[2], flush=True)"
ASK = ("__import__('urllib.request').request.urlopen(__import__('urllib.request').request.Request("
       "'https://{host}/echo', headers={{'Authorization': {key}}})).read().decode()")
WRAP = "__import__('ssl').create_default_context(cadata=%r).wrap_socket(%s, server_hostname='api.good.test')"


class NewSecrets(egress_live_test.Socket):
    RULES = domain("api.good.test"), domain("other.good.test", ports=[443])

    def setUp(self):
        super().setUp()
        self.rest = {"tls": {"extra_ca_pem": [egress_test.NET.root]}}
        for name, value in (("FIRST", FIRST), ("SECOND", SECOND)):
            os.environ[f"TEST_{name}"] = value
            self.addCleanup(os.environ.pop, f"TEST_{name}")

    @staticmethod
    def secret(variable="TEST_FIRST", host="api.good.test", env=("K",), **more):
        return {"source": {"env": variable}, "env": list(env), "allow": {"hosts": [host]}, **more}

    def open(self, *options, secrets=None):
        rest = self.rest if secrets is None else {**self.rest, "secrets": secrets}
        return super().open(*self.policy(*self.RULES, **rest), *options)

    def change(self, secrets, *options, **more):
        """The placeholders, by name."""
        done = self.set(*self.RULES, options=("--json", *options), secrets=secrets, **self.rest, **more)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout).get("placeholders", {})

    def refuse(self, why, secrets=None, status=1, options=(), **more):
        rest = self.rest if secrets is None else {**self.rest, "secrets": secrets}
        self.expect_refused(self.set(*self.RULES, options=options, **{**rest, **more}), why, status)

    def exec(self, *words, text=None):
        done = glovebox("exec", self.name, "--", *words, **({"input": text} if text else {"stdin": subprocess.DEVNULL}))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def variable(self, name="K"):
        return self.exec("/bin/sh", "-c", f'printf %s "${name}"')

    def said(self, value):
        """What comes back of a program that says it."""
        return self.exec("/usr/bin/python3", "-c", SAY_HALVES, value[:9], value[9:]).strip()

    def ask(self, key, host="api.good.test"):
        return ASK.format(host=host, key=key)

    def asked(self, name="K", host="api.good.test"):
        """What a program that is started now gets from a host that tells it what came."""
        return json.loads(self.exec("/usr/bin/python3", "-c", f"import os; print({self.ask(f'os.environ[{name!r}]', host)})"))

    def came(self):
        return self.came_in()["authorizations"]

    def test_g25_a_first_secret_for_a_sandbox_that_runs(self):
        say = self.open()
        # What there is by now: a connection that passes, one to its files, a program that waits to say something, a copy.
        say("held.append(" + WRAP % (egress_test.NET.root, "tcp(look('api.good.test')[0], 443)") + ")")
        self.assertEqual(say("get(held[0])"), "HTTP/1.1 200 OK")
        say(f"open('/tmp/f', 'w').write({FIRST[:9]!r} + {FIRST[9:]!r})")
        before = files_client.Connection(self.name, user="")
        self.addCleanup(before.close)
        self.assertEqual(before.read("/tmp/f"), FIRST.encode())
        waiting = subprocess.Popen([GLOVEBOX, "exec", "-i", self.name, "--", "/usr/bin/python3", "-c", f"print('here', flush=True); input(); {SAY_HALVES}",
                                    FIRST[:9], FIRST[9:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(waiting.wait)
        self.addCleanup(waiting.kill)
        self.assertEqual(waiting.stdout.readline(), "here\n")

        done = self.set(*self.RULES, secrets={"KEY": self.secret()}, **self.rest)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertRegex(done.stdout.decode(), r"\Ageneration 2 is in force\nsecret KEY is there .*; its placeholder is \S+\n\Z")
        placeholder = done.stdout.decode().split()[-1]
        self.assertEqual(len(placeholder), len(FIRST))
        self.assertNotEqual(placeholder, FIRST)

        self.assertEqual(say("rest(held[0])[0]"), 0)
        self.assertEqual(self.variable(), placeholder)
        self.assertIn(["Authorization", placeholder], self.asked()["headers"])
        self.assertEqual(self.came(), [FIRST])
        # One that runs already can be told the placeholder.
        self.assertEqual(say("os.environ.get('K')"), None)
        self.assertIn(placeholder, say(self.ask(repr(placeholder))))
        self.assertEqual(self.came(), [FIRST, FIRST])

        self.assertEqual(say(f"{FIRST[:9]!r} + {FIRST[9:]!r}"), placeholder)
        self.assertEqual(self.said(FIRST), placeholder)
        self.assertEqual(waiting.communicate("\n", timeout=60)[0], placeholder + "\n")
        with self.assertRaises(OSError):
            before.ask(READ, offset=0, size=100)
        with files_client.Connection(self.name, user="") as after:
            self.assertEqual(after.read("/tmp/f"), placeholder.encode())
        self.expect(glovebox("cp", f"{self.name}:/tmp/f", self.path("copy")))
        with open(self.path("copy"), encoding="utf-8") as f:
            self.assertEqual(f.read(), placeholder)
        with open(self.log, encoding="utf-8") as f:
            self.assertNotIn(FIRST, f.read())
        self.assertNotIn(FIRST, json.dumps(record(self.name)) + glovebox("inspect", "--json", self.name).stdout.decode() +
                         glovebox("logs", self.name).stdout.decode())
        for pid in (self.process.pid, json.loads(glovebox("inspect", "--json", self.name).stdout)["egress"]["gateway_pid"]):
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                self.assertNotIn(FIRST.encode(), f.read())
        folder = os.path.dirname(os.path.dirname(self.socket))
        self.assertEqual(subprocess.run(["grep", "-rs", "-D", "skip", FIRST, folder], check=False, stdout=subprocess.DEVNULL).returncode, 1)

    def test_g25_tls_that_says_no_name_and_a_first_secret(self):
        say = self.open()
        say("held.append(tcp(look('api.good.test')[0], 443))")
        say("held.append(tcp(look('api.good.test')[0], 10)) or held[1].recv(100) and held[1].sendall(b'hello') or 1")
        say("held.append(__import__('ssl')._create_unverified_context().wrap_socket(held[0]))")
        self.assertEqual(say("get(held[2])"), "HTTP/1.1 200 OK")
        self.change({"KEY": self.secret(allow={"hosts": ["api.good.test"], "ports": [443, 10]})})
        self.assertEqual(say("rest(held[2])[0]"), 0)
        self.assertTrue(wait_until(lambda: self.decisions("close")))
        self.assertEqual([(d["port"], d.get("reason")) for d in self.decisions("close")], [(443, "policy_changed")])
        self.assertEqual(say("held[1].sendall(b'hello') or 1"), 1)  # which is no TLS, and is let be

    def test_g25_one_more_by_a_word_and_another_value(self):
        self.open(secrets={"KEY": self.secret()})
        key = self.variable()
        done = glovebox("policy", "secret", self.name, "TOKEN=env:TEST_SECOND@other.good.test")
        self.expect(done, out=done.stdout)
        self.assertRegex(done.stdout.decode(), r"\Asecret TOKEN is there .*; its placeholder is ghp_\S+\n\Z")
        token = done.stdout.decode().split()[-1]
        self.assertEqual([self.variable(), self.variable("TOKEN")], [key, token])
        self.assertIn(["Authorization", token], self.asked("TOKEN", "other.good.test")["headers"])
        self.assertEqual(self.came(), [SECOND])
        self.assertEqual([self.said(FIRST), self.said(SECOND)], [key, token])
        third = "glpat-0123456789abcdefghij"
        os.environ["TEST_THIRD"] = third
        self.addCleanup(os.environ.pop, "TEST_THIRD")
        self.expect(glovebox("policy", "secret", self.name, "TOKEN=env:TEST_THIRD"))
        self.assertIn(["Authorization", token], self.asked("TOKEN", "other.good.test")["headers"])
        self.assertEqual(self.came(), [SECOND, third])
        self.assertEqual([self.said(v) for v in (FIRST, SECOND, third)], [key, token, token])
        self.assertEqual(self.asked()["headers"].count(["Authorization", key]), 1)
        self.assertEqual(self.came()[-1], FIRST)
        for word, why in (("MORE=env:TEST_SECOND", b"say where it may go"), ("MORE=env:NOT_SET_AT_ALL@other.good.test", b"NOT_SET_AT_ALL"),
                          ("MORE=ssh:file:/dev/null@other.good.test", b"MORE"), ("TOKEN=env:TEST_FIRST@api.good.test", b"without @HOST"),
                          ("TOKEN=env:1@x", b"without @HOST"), ("TOKEN=kind:1", b"; write NAME=SOURCE\n"), ("TOKEN", b"; write NAME=SOURCE\n"),
                          ("TOKEN=env:1", b"policy: secret TOKEN: TOKEN=env:1: is no name of a variable")):
            done = glovebox("policy", "secret", self.name, word)
            self.assertNotIn(b"secret.invalid", done.stderr)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (125, b"", 1), done)
            self.assertIn(why, done.stderr)

    def test_g24_g25_one_that_is_taken_away_is_searched_for_still(self):
        self.open(secrets={"KEY": self.secret(), "TOKEN": self.secret("TEST_SECOND", "other.good.test", ["T"])})
        key, token = self.variable(), self.variable("T")
        self.refuse("/secrets: can't be changed")  # forgotten, as it seems
        self.refuse("/secrets: can't be changed", {"KEY": self.secret(host="evil.test")})
        self.assertEqual(self.change({"TOKEN": self.secret("TEST_SECOND", "other.good.test", ["T"])}), {})
        self.assertEqual([self.variable(), self.variable("T")], ["", token])
        self.assertIn(["Authorization", token], self.asked("T", "other.good.test")["headers"])
        self.assertEqual(self.came(), [SECOND])
        self.assertEqual([self.said(FIRST), self.said(SECOND)], [key, token])
        self.assertEqual(self.change({}), {})
        self.assertEqual([self.variable(), self.variable("T")], ["", ""])
        self.assertEqual([self.said(FIRST), self.said(SECOND)], [key, token])
        # One of the same name is another one.
        found = self.change({"KEY": self.secret("TEST_SECOND")})
        self.assertNotIn(found["KEY"], (key, token))
        self.assertEqual(self.variable(), found["KEY"])
        self.assertIn(["Authorization", found["KEY"]], self.asked()["headers"])
        self.assertEqual(self.came(), [SECOND, SECOND])
        self.assertEqual(self.said(FIRST), key)

    def test_g24_g25_a_request_under_way_keeps_what_it_began_with(self):
        say = self.open(secrets={"KEY": self.secret()})
        placeholder = self.variable()

        def get(path):
            return (f"held[0].sendall(('GET {path} HTTP/1.1\\r\\nHost: api.good.test\\r\\nAuthorization: ' + os.environ['K'] + "
                    "'\\r\\n\\r\\n').encode())")
        say("held.append(__import__('ssl').create_default_context().wrap_socket(tcp(look('api.good.test')[0], 443), "
            "server_hostname='api.good.test'))")
        say(get("/big"))
        self.assertEqual(say("held[0].recv(1000)[:15].decode()"), "HTTP/1.1 200 OK")
        for turn in range(3):
            self.change({"TOKEN": self.secret("TEST_SECOND", "other.good.test", ["T"])} if turn % 2 else {})
        say("held.append(held[0].makefile('rb'))")
        self.assertEqual(say(f"len(held[1].read({len(BIG)} - 1000))"), len(BIG) - 1000)
        self.assertTrue(wait_until(lambda: self.decisions("request")))
        self.assertEqual([d["secrets"] for d in self.decisions("request")], [["KEY"]])
        self.change({"AGAIN": self.secret()})
        say(get("/echo"))
        self.assertTrue(wait_until(lambda: len(self.came()) == 2))
        self.assertEqual(self.came(), [FIRST, placeholder])

    def test_g25_many_come_one_by_one_and_all_are_searched_for(self):
        say = self.open()
        values, secrets, found = {}, {}, {}
        for i in range(8):
            values[f"N{i}"] = os.environ[f"TEST_N{i}"] = f"value-number-{i}-" + str(i) * 20
            self.addCleanup(os.environ.pop, f"TEST_N{i}")
            secrets[f"N{i}"] = self.secret(f"TEST_N{i}", env=[f"N{i}"])
            more = self.change(secrets)
            self.assertEqual(list(more), [f"N{i}"])
            found |= more
            self.assertEqual(say(f"{values[f'N{i}'][:9]!r} + {values[f'N{i}'][9:]!r}"), found[f"N{i}"])
        for name, value in values.items():
            self.assertEqual([self.variable(name), self.said(value), say(f"{value[:9]!r} + {value[9:]!r}")], [found[name]] * 3)

    def test_g25_what_is_refused_changes_nothing(self):
        say = self.open("--env", "TAKEN=1")
        good = self.secret()
        say(f"open('/tmp/f', 'w').write({FIRST[:9]!r} + {FIRST[9:]!r})")
        before = files_client.Connection(self.name, user="")
        self.addCleanup(before.close)
        self.assertEqual(before.read("/tmp/f"), FIRST.encode())
        self.refuse("secret KEY: env NOT_SET_AT_ALL: ", {"KEY": self.secret("NOT_SET_AT_ALL")}, 125)
        self.refuse("TAKEN is set already", {"KEY": self.secret(env=["TAKEN"])})
        self.refuse("placeholder", {"KEY": self.secret(placeholder="same-placeholder"), "L": self.secret("TEST_SECOND", env=["L"], placeholder="same-placeholder-2")})
        self.refuse("/dns/resolvers", {"KEY": good}, dns={"resolvers": ["9.9.9.9"]})
        self.refuse("/upstream", {"KEY": good}, upstream={"type": "socks5", "address": "45.33.32.10:1080"})
        self.refuse("generation 1 is in force, not 7", {"KEY": good}, options=("--if-generation", "7"))
        self.refuse("/secrets: can't be changed.*SSH", {"KEY": {"source": {"env": "TEST_FIRST"}, "allow": {"hosts": ["git.good.test"]}, "ssh": {
            "host_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx5RTl0Dt3GFpT1zb2zLGFv0xQv2P9T8oLQ8mVgq1Zs"]}}})
        self.assertEqual(self.variable(), "")
        self.assertEqual({d["gen"] for d in self.decisions()}, {1})
        say("held.append(" + WRAP % (egress_test.NET.root, "tcp(look('api.good.test')[0], 443)") + ")")
        self.assertEqual(say("get(held[0])"), "HTTP/1.1 200 OK")
        # Nor does any of it stand in the way of what comes next.
        found = self.change({"KEY": good})
        self.assertEqual(self.variable(), found["KEY"])
        with self.assertRaises(OSError):
            before.ask(READ, offset=0, size=100)

    def test_g25_values_that_nobody_sent_or_asked_for(self):
        """As another program could write it to the socket."""
        self.open(secrets={"KEY": self.secret()})
        key = self.variable()
        wanted = self.document(*self.RULES, **self.rest, secrets={"KEY": self.secret(), "L": self.secret("TEST_SECOND", env=["L"])}).encode()
        same = self.document(*self.RULES, **self.rest, secrets={"KEY": self.secret()}).encode()

        def values(*rows):
            parts = [b"GBSECRET", (1).to_bytes(4, "little"), len(rows).to_bytes(4, "little")]
            for row in rows:
                parts += [b"".join(len(text).to_bytes(4, "little") for text in row), *row]
            return b"".join(parts)
        row = (b"L", b"placeholder-of-L", SECOND.encode())
        for document, behind, size in ((wanted, b"", 0), (wanted, values(), len(wanted)), (wanted, b"x" * 100, len(wanted)),
                                       (wanted, values(row)[:-1], len(wanted)), (wanted, values(row, row), len(wanted)),
                                       (wanted, values(row, (b"KEY", b"placeholder-of-KEY", FIRST.encode())), len(wanted)),
                                       (wanted, values((b"L", key.encode(), SECOND.encode())), len(wanted)),
                                       (wanted, values((b"L", b"x", SECOND.encode())), len(wanted)),
                                       (wanted, values((b"L", b"placeholder-of-L", b"a\nb" * 10)), len(wanted)),
                                       (same, values(row), len(same)), (wanted, values(row), 1 << 40), (wanted, values(row), 5),
                                       (wanted, b"\0" * (300 << 10), len(wanted)), (b"", values(row), 0)):
            with self.subTest((behind[:60], size)):
                s = self.connect()
                self.send(s, self.packet(document_size=size), self.memory(document + behind))
                self.assertNotEqual(self.answer(s)[4], 0)
        self.assertEqual([self.variable(), self.variable("L")], [key, ""])
        self.assertIn(["Authorization", key], self.asked()["headers"])
        self.assertEqual({d["gen"] for d in self.decisions()}, {1})

    def gateway(self):
        return json.loads(glovebox("inspect", "--json", self.name).stdout)["egress"]["gateway_pid"]

    def begin(self):
        """A change that the gateway does not get to."""
        gateway = self.gateway()
        os.kill(gateway, signal.SIGSTOP)
        self.addCleanup(lambda: os.path.exists(f"/proc/{gateway}") and os.kill(gateway, signal.SIGCONT))
        asking = subprocess.Popen([GLOVEBOX, "policy", "set", self.name, self.path("more", self.document(
            *self.RULES, secrets={"KEY": self.secret()}, **self.rest))], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(asking.wait)
        self.addCleanup(asking.kill)
        self.assertTrue(wait_until(lambda: self.said(FIRST) != FIRST))
        return gateway, asking

    def test_g25_it_is_searched_for_before_the_gateway_has_it(self):
        say = self.open()
        gateway, asking = self.begin()
        self.assertEqual(self.variable(), "")
        self.assertNotEqual(say(f"{FIRST[:9]!r} + {FIRST[9:]!r}"), FIRST)
        # Others wait.
        other = self.connect()
        self.send(other, self.packet(), self.memory(self.document(*self.RULES, **self.rest).encode()))
        os.kill(gateway, signal.SIGCONT)
        out, errors = asking.communicate(timeout=60)
        self.assertEqual((asking.returncode, errors), (0, b""))
        self.assertNotEqual(self.answer(other)[4], 0)  # it has left out the secrets that there are now
        self.assertEqual(self.variable(), out.decode().split()[-1])
        self.assertEqual(self.said(FIRST), self.variable())

    def test_g25_a_gateway_that_dies_on_it(self):
        self.open()
        gateway, asking = self.begin()
        os.kill(gateway, signal.SIGKILL)
        _, errors = asking.communicate(timeout=60)
        self.assertEqual(asking.returncode, 125)
        self.assertIn(b"its gateway has ended", errors)
        self.assertEqual(self.variable(), "")
        self.assertNotEqual(self.said(FIRST), FIRST)  # it may have used it

    def test_g25_several_give_one_more_at_once(self):
        self.open()
        gateway, names = self.gateway(), [f"N{i}" for i in range(6)]
        os.kill(gateway, signal.SIGSTOP)  # so that they come to be at once
        asking = [subprocess.Popen([GLOVEBOX, "policy", "secret", self.name, f"{name}=env:TEST_FIRST@api.good.test"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE) for name in names]
        self.assertTrue(wait_until(lambda: self.said(FIRST) != FIRST))
        os.kill(gateway, signal.SIGCONT)
        for process in asking:
            self.assertEqual((process.communicate(timeout=60)[1], process.returncode), (b"", 0))
        self.assertNotIn("", [self.variable(name) for name in names])


if __name__ == "__main__":
    egress_live_test.have_own_registry()
    main(sys.modules[__name__])
