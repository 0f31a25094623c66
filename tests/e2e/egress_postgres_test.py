#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A database's password that a sandbox never has: "postgres" of a secret. What was said to the server is asserted there."""
import atexit
import base64
import glob
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import internet_postgres as servers  # noqa: E402
from cases import GLOVEBOX, Case, main, run, wait_until  # noqa: E402
from internet import GOOD, OTHER, Internet, veth_is_there  # noqa: E402

NET = None
CAN_RUN = os.getuid() == 0 and shutil.which("ip") and shutil.which("nsenter") and veth_is_there()
PASSWORD = "correct-horse-battery"
HOST = "api.good.test"
REAL = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
PROLOGUE = """
import json, os, socket, ssl, struct, sys
def packet(body): return struct.pack(">I", len(body) + 4) + body
def startup(**more):
    words = {"user": "app", "database": "shop", **more}
    return packet(struct.pack(">I", 196608) + b"".join(k.encode() + b"\\0" + v.encode() + b"\\0" for k, v in words.items() if v) + b"\\0")
TLS, GSS, CANCEL = (packet(struct.pack(">I", n)) for n in (80877103, 80877104, 80877102))
def dial(port=5432):
    s = socket.create_connection((HOST, port))
    s.settimeout(20)
    return s
def all_of(s):
    data = b""
    try:
        while piece := s.recv(4096):
            data += piece
            if data.endswith(b"Z\\0\\0\\0\\x05I"):
                break
    except OSError as e:
        data += b"!" + type(e).__name__.encode()
    return data.decode("latin-1")
def say(*what):
    print(json.dumps(what), flush=True)
"""


def network():
    """The internet, with servers in it, made once."""
    global NET
    if NET is None:
        folder = tempfile.mkdtemp(prefix="glovebox-net-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        NET = Internet(folder)
        atexit.register(NET.close)
        with open(os.path.join(folder, "logins"), "wb") as log:
            NET.servers = subprocess.Popen(["nsenter", "-t", str(NET.process.pid), "-n", sys.executable, servers.__file__, folder, GOOD,
                                            PASSWORD], stdin=subprocess.PIPE, stdout=log)
        atexit.register(NET.servers.kill)
        assert wait_until(lambda: os.path.getsize(os.path.join(folder, "logins")) > 0)
    return NET


def logins():
    with open(os.path.join(NET.folder, "logins"), encoding="utf-8") as f:
        return [json.loads(line) for line in f][1:]


class Postgres(Case):
    def setUp(self):
        super().setUp()
        if not CAN_RUN:
            self.skipTest("needs root, ip(8), nsenter(1) and veth, for network namespaces")
        network()

    def policy(self, **postgres):
        secret = {"source": {"file": self.path("password", PASSWORD + "\n")}, "env": ["PGPASSWORD"],
                  "allow": {"hosts": [HOST], "ports": ["5432-5443"]}, "postgres": {"user": "app", "database": "shop", **postgres}}
        rules = [{"id": "db", "action": "allow", "to": {"domain": [HOST, "git.good.test"]}}]
        return self.path("p.json", json.dumps({"version": 1, "tls": {"extra_ca_pem": [NET.root]}, "rules": rules,
                                               "secrets": {"DB": secret}}))

    def guest(self, *command, **postgres):
        """What it says, its errors, and the logins that were tried meanwhile."""
        before, self.log = len(logins()), self.path("log")
        done = run("--policy", self.policy(**postgres), "--egress-log", self.log, "--", *command)
        with open(self.log, "rb") as f:
            self.assertNotIn(PASSWORD.encode(), done.stdout + done.stderr + f.read())
        return done, lambda count: (wait_until(lambda: len(logins()) - before >= count), logins()[before:])[1]

    def python(self, code, **postgres):
        done, came = self.guest("/usr/bin/python3", "-c", PROLOGUE.replace("HOST", repr(HOST)) + code, **postgres)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), came

    def test_the_server_sees_a_good_login_and_the_program_no_password(self):
        (said, variable), came = self.python("""
s = dial()
s.sendall(startup(application_name="x"))
say(all_of(s), os.environ["PGPASSWORD"])
""")
        self.assertTrue(said.startswith("R\0\0\0\x08\0\0\0\0S"), said)
        self.assertNotEqual(variable, PASSWORD)
        seen = came(1)
        self.assertEqual(seen, [{"port": 5432, "tls": True, "ok": True, "user": "app", "database": "shop", "application_name": "x"}])
        with open(self.log, encoding="utf-8") as f:
            events = [json.loads(line) for line in f]
        self.assertEqual([(e["decision"], e["reason"], e["secrets"]) for e in events if e["event"] == "login"], [("allow", "login", ["DB"])])

    def test_psql_with_tls_to_the_gateway(self):
        if not shutil.which("psql"):
            self.skipTest("no psql here")
        done, came = self.guest("/usr/bin/env", "-u", "PGPASSWORD", "psql", "-wAtc", "select",
                                f"host={HOST} user=app dbname=shop sslmode=verify-full sslrootcert=/etc/ssl/certs/ca-certificates.crt")
        self.assertEqual((done.returncode, done.stdout), (0, b"app@shop\n"), done.stderr)
        self.assertTrue(came(1)[0]["ok"])

    def test_another_user_database_or_replication(self):
        answers, came = self.python("""
answers = []
for more in ({"user": "postgres"}, {"database": "other"}, {"database": ""}, {"replication": "true"}):
    s = dial()
    s.sendall(startup(**more))
    answers.append(all_of(s))
say(*answers)
""")
        for answer in answers:
            self.assertIn("C28000\0", answer)
            self.assertIn("secret_violation", answer)
        self.assertFalse(any("user" in seen for seen in came(len(answers))))

    def test_another_host_gets_no_password(self):
        answers, came = self.python("""
s = socket.create_connection(("git.good.test", 5432))
s.sendall(startup())
data = s.recv(9)
say(data.hex())
""")
        self.assertEqual(answers, ["520000002a0000000a"])  # the server asks the program itself
        self.assertFalse(came(1)[0]["ok"])

    def expect_no_login(self, port, words, **postgres):
        (said,), came = self.python(f"s = dial({port})\ns.sendall(startup())\nsay(all_of(s))\n", **postgres)
        self.assertTrue(said.startswith("E"), said)
        self.assertIn(words, said)
        self.assertFalse(came(1)[0]["ok"])
        return came(1)[0]

    def test_servers_that_are_not_to_be_trusted(self):
        for port, words in ((servers.NO_TLS, "does not speak TLS"), (servers.STRANGER, "self-signed"),
                            (servers.SMUGGLER, "no answer to a request for TLS")):
            self.assertNotIn("user", self.expect_no_login(port, words), port)

    def test_what_a_server_may_not_ask_for(self):
        self.expect_no_login(servers.BOMB, "100000 iterations")
        self.expect_no_login(servers.FEW, "less than 4096 iterations")
        (said,), _ = self.python(f"s = dial({servers.IMPOSTOR})\ns.sendall(startup())\nsay(all_of(s))\n")
        self.assertIn("does not know the password", said)

    def test_md5_over_tls(self):
        (said,), came = self.python(f"s = dial({servers.MD5})\ns.sendall(startup())\nsay(all_of(s))\n")
        self.assertTrue(said.startswith("R"), said)
        self.assertTrue(came(1)[0]["ok"])

    def test_without_tls_only_a_proof(self):
        (said,), came = self.python(f"s = dial({servers.PLAIN})\ns.sendall(startup())\nsay(all_of(s))\n", tls="off")
        self.assertTrue(said.startswith("R"), said)
        self.assertEqual((came(1)[0]["ok"], came(1)[0]["tls"]), (True, False))
        (said,), _ = self.python(f"s = dial({servers.TRUST})\ns.sendall(startup())\nsay(all_of(s))\n", tls="off")
        self.assertIn("without showing that it knows the password", said)
        (said,), _ = self.python(f"s = dial({servers.MD5})\ns.sendall(startup())\nsay(all_of(s))\n", tls="off")
        self.assertIn("only answered over TLS", said)

    def test_a_server_that_speaks_first(self):
        (said,), came = self.python(f"s = dial({servers.EAGER})\nimport time\ntime.sleep(1)\ns.sendall(startup())\nsay(all_of(s))\n")
        self.assertNotIn("R\0\0\0\x08", said)
        self.assertFalse(came(1)[0]["ok"])

    def test_what_a_program_may_not_say(self):
        answers, came = self.python("""
answers = []
def one(*pieces):
    s = dial()
    for piece in pieces:
        s.sendall(piece)
    answers.append(all_of(s))
one(startup() + b"Q\\0\\0\\0\\5\\0")
one(TLS + startup())
one(TLS + TLS)
one(GSS + GSS)
one(b"\\x7f\\xff\\xff\\xff\\0\\3\\0\\0")
one(b"\\0\\0\\x27\\x11\\0\\3\\0\\0")
one(packet(struct.pack(">I", 196610) + b"user\\0app\\0\\0"))
one(packet(struct.pack(">I", 196608) + b"user\\0app\\0user\\0postgres\\0\\0"))
one(packet(struct.pack(">I", 196608) + b"user\\0app\\0\\0user\\0postgres\\0\\0"))
one(packet(struct.pack(">I", 196608) + b"user\\0app"))
say(*answers)
""")
        for answer in answers:
            self.assertIn("C08P01\0", answer)
        self.assertFalse(any("user" in seen for seen in came(len(answers))))

    def test_in_single_bytes(self):
        (said,), came = self.python("""
s = dial()
for i in range(len(startup())):
    s.sendall(startup()[i:i + 1])
say(all_of(s))
""")
        self.assertTrue(said.startswith("R"), said)
        self.assertTrue(came(1)[0]["ok"])

    def test_gss_is_declined_and_tls_is_asked_for_once(self):
        answers, _ = self.python("""
s = dial()
s.sendall(GSS)
first = s.recv(1)
s.sendall(TLS)
second = s.recv(1)
t = ssl.create_default_context().wrap_socket(s, server_hostname="api.good.test")
t.sendall(TLS)
say(first.decode(), second.decode(), all_of(t))
""")
        self.assertEqual(answers[:2], ["N", "S"])
        self.assertIn("asked for twice", answers[2])

    def test_a_query_is_cancelled(self):
        _, came = self.python("""
s = dial()
s.sendall(struct.pack(">IIII", 16, 80877102, 42, 4711))
import time
time.sleep(1)
s.sendall(startup(user="postgres"))  # nobody is logged in
s.shutdown(socket.SHUT_WR)
say(all_of(s))
""")
        seen = came(1)[0]
        self.assertEqual((seen["cancel"], seen["tls"], seen["behind"]), ("0000002a00001267", True, ""))

    def test_a_server_that_says_the_password(self):
        (said,), came = self.python(f"s = dial({servers.TELLER})\ns.sendall(startup())\nsay(all_of(s))\n")
        self.assertTrue(came(1)[0]["ok"])
        self.assertIn("Mno entry with ", said)
        for hidden in (PASSWORD, base64.b64encode(PASSWORD.encode()).decode()[4:-4]):
            self.assertNotIn(hidden, said)

    def test_g24_g25_a_password_that_comes_changes_and_goes(self):
        """While the sandbox runs. It is the next login that has another value; that of one that was taken away ends."""
        name, secret = f"pg-{os.getpid()}", {"source": {"file": self.path("password", PASSWORD + "\n")}, "env": ["PGPASSWORD"],
                                             "allow": {"hosts": [HOST], "ports": [5432]}, "postgres": {"user": "app"}}
        self.path("wrong", "not-the-password\n")

        def document(secrets):
            return json.dumps({"version": 1, "tls": {"extra_ca_pem": [NET.root]}, "secrets": secrets,
                               "rules": [{"id": "db", "action": "allow", "to": {"domain": [HOST]}}]}).encode()

        def change(verb, *words, **more):
            done = subprocess.run([GLOVEBOX, "policy", verb, *words], capture_output=True, check=False, timeout=120, **more)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        process = self.start("--name", name, "--policy", self.path("p", document({})), "--", "/usr/bin/python3", "-uc",
                             PROLOGUE.replace("HOST", repr(HOST)) + """
held = []
def begin():
    held.append(dial())
    held[-1].sendall(startup())
def log_in():
    begin()
    return all_of(held[-1])[:9]
def ask(s):
    s.sendall(b"Q" + packet(b"select\\0"))
    return all_of(s)
for line in sys.stdin:
    say(eval(line))
""", text=True)

        def say(code):
            process.stdin.write(code + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())[0]
        asked, is_in = b"R\0\0\0\x2a\0\0\0\n".decode(), "R\0\0\0\x08\0\0\0\0"
        self.assertEqual(say("begin() or held[-1].recv(9).decode('latin-1')"), asked)  # by the server, as there is no secret
        change("set", name, "-", input=document({"DB": secret}))
        self.assertIn("!ConnectionResetError", say("all_of(held[0])"))
        self.assertEqual(say("log_in()"), is_in)
        change("secret", name, f"DB=file:{self.path('wrong')}")
        self.assertEqual(say("log_in()[:1]"), "E")
        self.assertIn("app@shop", say("ask(held[1])"))
        change("secret", name, f"DB=file:{self.path('password')}")
        self.assertEqual(say("log_in()"), is_in)
        change("set", name, "-", input=document({}))
        self.assertEqual([say(f"all_of(held[{i}])[-22:]") for i in (1, 3)], ["!ConnectionResetError"] * 2)
        self.assertEqual(say("begin() or held[-1].recv(9).decode('latin-1')"), asked)

    def real_server(self):
        """Debian's PostgreSQL, whose only role has the password."""
        folder, user = tempfile.mkdtemp(prefix="glovebox-pg-"), pwd.getpwnam("postgres")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for name, text in (("password", PASSWORD), *((n, open(os.path.join(NET.folder, n), encoding="ascii").read())
                                                     for n in ("good.pem", "key.pem"))):
            with open(os.path.join(folder, name), "w", opener=lambda p, f: os.open(p, f, 0o600), encoding="ascii") as f:
                f.write(text)
        for path in (folder, *(os.path.join(folder, name) for name in os.listdir(folder))):
            os.chown(path, user.pw_uid, user.pw_gid)
        data, tools = os.path.join(folder, "data"), os.path.dirname(REAL[-1])
        words = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        subprocess.run([*words, f"{tools}/initdb", "-D", data, "-U", "app", "-A", "scram-sha-256", "--no-sync",
                        f"--pwfile={folder}/password"], check=True, capture_output=True, cwd="/")
        settings = [f"listen_addresses={OTHER}", "port=5432", f"unix_socket_directories={folder}", "ssl=on", "fsync=off",
                    f"ssl_cert_file={folder}/good.pem", f"ssl_key_file={folder}/key.pem", "log_connections=on"]
        with open(os.path.join(data, "pg_hba.conf"), "w", encoding="ascii") as f:
            f.write("hostssl all all all scram-sha-256\n")
        server = subprocess.Popen(["nsenter", "-t", str(NET.process.pid), "-n", *words, REAL[-1], "-D", data,
                                   *(part for s in settings for part in ("-c", s))], stderr=subprocess.PIPE, cwd="/")
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        for line in server.stderr:
            if b"ready to accept" in line:
                return
        self.fail("PostgreSQL does not start")

    def test_a_real_server(self):
        if not REAL or not shutil.which("psql"):
            self.skipTest("no PostgreSQL here (Debian: postgresql)")
        self.real_server()
        query = "select current_user, ssl from pg_stat_ssl where pid = pg_backend_pid()"
        much = b"select length('" + b"y" * 3000000 + b"');\nselect repeat('x', 5000000);\n"
        secret = {"source": {"file": self.path("password", PASSWORD + "\n")}, "allow": {"hosts": ["other.good.test"]},
                  "postgres": {"user": "app", "database": "postgres"}}
        rules = [{"id": "db", "action": "allow", "to": {"domain": ["other.good.test"]}}]
        policy = self.path("real.json", json.dumps({"version": 1, "tls": {"extra_ca_pem": [NET.root]}, "rules": rules, "secrets": {"DB": secret}}))
        for mode in ("disable", "require"):
            place = f"host=other.good.test user=app dbname=postgres sslmode={mode}"
            done = run("--policy", policy, "--", "psql", "-wAtc", query, place)
            self.assertEqual((done.returncode, done.stdout), (0, b"app|t\n"), done.stderr)
            done = run("--policy", policy, "--", "psql", "-wAt", place, input=much)
            self.assertEqual((done.returncode, len(done.stdout)), (0, len("3000000\n") + 5000001), done.stderr)
        with open(self.path("password"), "w", encoding="ascii") as f:
            f.write("another-password\n")
        done = run("--policy", policy, "--", "psql", "-wAtc", "select 1", "host=other.good.test user=app dbname=postgres")
        self.assertIn(b"password authentication failed", done.stderr)


if __name__ == "__main__":
    main(sys.modules["__main__"])
