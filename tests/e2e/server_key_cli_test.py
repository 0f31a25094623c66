#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox key: a server's keys from the command line; and servers that are none."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, ROOT, Case, main, wait_until  # noqa: E402
from library_test import COMPILER, is_sanitized  # noqa: E402
from server_client import KEY, Served, Server  # noqa: E402
from server_tls_test import make_certificate, trusting  # noqa: E402


def run_key(*words, url=None, key=KEY, **env):
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("E2B_")}, **env}
    if url:
        env["E2B_API_URL"] = url
    if key:
        env["E2B_API_KEY"] = key
    return subprocess.run([GLOVEBOX, "key", *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)


class Asking(Served):
    def ask(self, *words, **more):
        return run_key(*words, url=f"http://127.0.0.1:{self.server.port}", **more)

    def good(self, *words, **more):
        done = self.ask(*words, **more)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()


class KeyCli(Asking):
    def test_a_life(self):
        made = self.good("create", "first")
        self.assertRegex(made, r"\Ae2b_[0-9a-f]{40}\n\Z")
        box = self.server.client(made.strip()).create()
        self.assertEqual(box.run("/bin/echo", "here").out, b"here\n")
        rows = self.good("list").splitlines()
        self.assertEqual(rows[0].split(), ["ID", "NAME", "KEY", "LAST", "USED", "SCOPE"])
        row = next(r for r in rows if "first" in r)
        self.assertRegex(row, r"^ +\d+  first +e2b_[0-9a-f]{4}\.\.\.  20\S+Z +$")
        number = row.split()[0]
        self.assertNotIn(made.strip(), "\n".join(rows))
        self.assertEqual(self.good("rename", number, "second"), "")
        self.assertIn("second", self.good("list"))
        self.assertEqual(self.good("revoke", number), "")
        self.assertNotIn("second", self.good("list"))
        self.assertEqual(self.server.client(made.strip()).ask("GET", "/v2/sandboxes").status, 401)
        self.assertEqual(box.run("/bin/echo", "still").out, b"still\n")
        done = self.ask("revoke", number)
        self.expect_refused(done, f"key: {number}: the server says 404: there is no such key")

    def test_scopes(self):
        self.good("create", "--sandboxes", "3", "--sandboxes-per-minute", "10", "--timeout", "1500ms", "--memory", "300M", "--cpus", "0.5",
                  "--template", "base", "--template", "code-interpreter-v1", "--egress", "named", "--name-prefix", "ag", "--expires", "2h",
                  "--read-only", "--private-ports", "--manage-keys", "narrow")
        listed = json.loads(self.good("list", "--json"))
        asked = self.client.ask("GET", "/api-keys").json()
        self.assertEqual([{**k, "lastUsed": None} for k in listed], [{**k, "lastUsed": None} for k in asked])
        scope = next(k["scope"] for k in listed if k["name"] == "narrow")
        self.assertRegex(scope.pop("expiresAt"), r"\A20\d\d-")
        self.assertEqual(scope, {"sandboxes": 3, "sandboxesPerMinute": 10, "timeout": 2, "memoryMB": 300, "cpusThousandths": 500,
                                 "templates": ["base", "code-interpreter-v1"], "egress": "named", "namePrefix": "ag", "readOnly": True,
                                 "publicPorts": False, "manageKeys": True})
        row = next(r for r in self.good("list").splitlines() if "narrow" in r)
        for word in ('egress="named"', "readOnly", "manageKeys", "publicPorts=false", "sandboxes=3", 'namePrefix="ag"'):
            self.assertIn(word, row.split())
        made = json.loads(self.good("create", "--json", "--egress", "none", "--manage-keys", "narrower"))
        self.assertEqual(made["scope"]["egress"], "none")
        wider = self.ask("create", "--egress", "any", "wider", key=made["key"])
        self.expect_refused(wider, r"key: the server says 400: scope\.egress: ")
        self.expect_refused(self.ask("create", "--manage-keys", "below", key=KEY[:-1] + "f"), "the server says 401: ")

    def test_names_of_others_are_shown_safely(self):
        name = "\x1b]0;evil\x07\n\u202e"
        self.client.ask("POST", "/api-keys", {"name": name, "scope": {}})
        listed = self.good("list")
        self.assertTrue(all(c == "\n" or c.isprintable() for c in listed), listed)
        self.assertIn("evil", listed)

    def test_keys_from_a_file(self):
        path = self.path("key")
        with open(path, "w", encoding="utf-8") as f:
            f.write(KEY + "\n")
        self.assertIn("owner", self.good("list", "--api-key-file", path, key=None))
        done = run_key("list", "--url", f"http://127.0.0.1:{self.server.port}/", "--api-key-file", path, url="http://127.0.0.1:1", key="e2b_no")
        self.assertEqual(done.returncode, 0, done)

    def test_bad_use(self):
        long = self.path("long")
        with open(long, "w", encoding="utf-8") as f:
            f.write("e" * 500)
        for words, pattern in (((), "key: a command is missing; give create, list, rename or revoke"),
                               (("frob",), "key: no such command; give create"),
                               (("create",), "key: create: a key has one name; "), (("create", "a", "b"), "key: create: a key has one name; "),
                               (("create", "--sandboxes", "0", "a"), "--sandboxes"), (("create", "--cpus", "x", "a"), "--cpus"),
                               (("create", "--name", "x"), "--name"), (("create", "\udcff"), "no text in UTF-8"),
                               # Without what is asked for it would be a key that may do more.
                               (("create", "--egress", "\udcff", "x"), "what an option says is no text in UTF-8"),
                               (("create", "--name-prefix", "\udcff", "x"), "what an option says is no text in UTF-8"),
                               (("create", "--template", "\udcff", "x"), "what an option says is no text in UTF-8"),
                               (("list", "x"), "key: list: takes no names"), (("rename", "1"), "key: rename: give an id and a name"),
                               (("rename", "../1", "x"), "'../1' is no id"), (("revoke",), "key: revoke: give ids"),
                               (("revoke", "1", "x"), "'x' is no id"), (("revoke", "18446744073709551617"), "is no id"),
                               (("revoke", "1"), "the server says 400: a key doesn't revoke itself"),
                               (("list", "--api-key-file", self.path("nosuch")), "can't be read|No such file"),
                               (("list", "--api-key-file", long), "no API key in it"),
                               (("list", "--url", "ftp://x"), "is no URL"), (("list", "--url", "http://u:p@127.0.0.1"), "is no URL"),
                               (("list", "--url", "http://127.0.0.1/" + "x" * 3000), "too long")):
            with self.subTest(words):
                self.expect_refused(self.ask(*words), pattern)
        self.expect_refused(self.ask("list", key=None), "no API key; set E2B_API_KEY")
        self.expect_refused(self.ask("list", key="e2b_\r\nX-Other: 1"), "E2B_API_KEY: no API key in it")

    def test_help_and_manual(self):
        text = self.good("--help")
        with open(os.path.join(ROOT, "man/glovebox-key.1"), encoding="utf-8") as f:
            manual = f.read().replace("\\-", "-")
        options = re.findall(r"^  .{4}(--[a-z-]+)", text, re.MULTILINE)
        self.assertGreaterEqual(len(options), 16)
        for option in options:
            self.assertIn(option, manual)
        self.assertEqual(self.good("create", "--help"), text)

    def test_no_key_among_processes(self):
        """Neither as an argument nor in the environment of others."""
        self.server.stop()
        with socket.create_server(("127.0.0.1", self.server.port)) as listener:
            running = subprocess.Popen([GLOVEBOX, "key", "list"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       env={**os.environ, "E2B_API_URL": f"http://127.0.0.1:{self.server.port}", "E2B_API_KEY": KEY})
            with listener.accept()[0]:
                with open(f"/proc/{running.pid}/task/{running.pid}/children", encoding="ascii") as f:
                    client = int(f.read())
                with open(f"/proc/{client}/cmdline", "rb") as f:
                    self.assertNotIn(KEY.encode(), f.read())
            self.assertEqual(running.wait(LIMIT), 125)
            self.assertRegex(running.stderr.read(), b"hung up|Connection reset")
            running.stderr.close()
        self.server.start()


class KeyServers(Case):
    """Whatever answers there."""

    def answered(self, *pieces, words=("list",)):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                with listener.accept()[0] as s:
                    s.settimeout(LIMIT)
                    try:
                        seen = b""
                        while b"\r\n\r\n" not in seen:
                            seen += s.recv(4096)
                        for piece in pieces:
                            s.sendall(piece)
                    except OSError:
                        pass
            answering = threading.Thread(target=serve)
            answering.start()
            done = run_key(*words, url=f"http://127.0.0.1:{listener.getsockname()[1]}")
            answering.join(LIMIT)
        return done

    def test_answers(self):
        def head(size, status="200 OK", more=""):
            return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{more}\r\n".encode()
        for pieces, pattern in (
                ((), "hung up without an answer"), ((b"HTTP/1.1 200 OK\r\n",), "hung up without an answer"),
                ((b"SSH-2.0-OpenSSH_9.2\r\n",), "the answer is no HTTP"),
                ((b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100000,), "no HTTP|too long"),
                ((b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 100000,), "no HTTP|too long"),
                ((head(10), b"[]"), "hung up in the middle"), ((head(9 << 20),), "too long"),
                ((head(5), b"hello"), "no JSON"), ((head(4, "404 Not Found"), b"nope"), "the server says 404: and no sentence"),
                ((head(0, "302 Found", "Location: http://127.0.0.1:1/\r\n"),), "the server says 302"),
                ((head(40, "403 No"), b'{"message":"\\u001b]0;x\\u0007\\u202e bad"}'), "the server says 403: .*0;x.* bad"),
                ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",), "no HTTP")):
            with self.subTest(pieces[:1] and pieces[0][:60]):
                done = self.answered(*pieces)
                self.expect_refused(done, pattern)
                self.assertTrue(all(c == "\n" or c.isprintable() for c in done.stderr.decode()), done.stderr)
        done = self.answered(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n", b"1\r\n]\r\n0\r\n\r\n")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        done = self.answered(head(23), b'[1, {"id": 7}, "x", []]')
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 5))

    def test_nobody(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.expect_refused(run_key("list", url=f"http://127.0.0.1:{port}"), "Connection refused; does glovebox serve run there")

    def give_up(self, begun, url, words, **env):
        """It has a deadline while it is in libc: the alarm is set, and what it does is seen without the minute's wait."""
        asking = subprocess.Popen([GLOVEBOX, "key", "list"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, "E2B_API_URL": url, "E2B_API_KEY": KEY, **env})
        pid = begun()
        with open(f"/proc/{pid}/timers", encoding="ascii") as f:
            self.assertRegex(f.read(), rf"signal: {int(signal.SIGALRM)}/")
        os.kill(pid, signal.SIGALRM)
        out, said = asking.communicate(timeout=LIMIT)
        self.assertEqual((asking.returncode, out), (125, b""))
        self.assertRegex(said.decode(), rf"\Aglovebox: .*{words}[^\n]*\n\Z")

    @unittest.skipUnless(COMPILER and os.path.exists("/proc/self/timers") and not is_sanitized(), "needs a compiler, and /proc/PID/timers")
    def test_nobody_says_who_that_is(self):
        stub, told = self.path("stub.so"), self.path("told")
        code = self.path("stub.c", '#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nint getaddrinfo(void) {\n'
                                   'FILE *f = fopen(getenv("TOLD"), "w"); fprintf(f, "%d\\n", getpid()); fclose(f); for (;;) pause(); }\n')
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", stub, code], check=True)

        def begun():
            self.assertTrue(wait_until(lambda: os.path.exists(told) and os.path.getsize(told)))
            with open(told, encoding="ascii") as f:
                return int(f.read())
        self.give_up(begun, "http://nobody.test", "nobody.test: no answer within 60 s to who that is; see the URL",
                     LD_PRELOAD=stub, TOLD=told)

    def test_tls(self):
        certificate, private = make_certificate(self.folder, "own")
        server = Server(self.folder, "--tls-cert", certificate, "--tls-key", private)
        server.tls = trusting(certificate)
        self.addCleanup(server.end)
        server.client()
        url = f"https://localhost:{server.port}"
        done = run_key("create", "made", url=url, SSL_CERT_FILE=certificate)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(server.client(done.stdout.decode().strip()).ask("GET", "/v2/sandboxes").status, 200)
        other = make_certificate(self.folder, "other")[0]
        self.expect_refused(run_key("list", url=url, SSL_CERT_FILE=other), "localhost: .*certificate")
        self.expect_refused(run_key("list", url=f"https://127.0.0.2:{server.port}", SSL_CERT_FILE=certificate), "127.0.0.2.*(refused|certificate)")
        self.expect_refused(run_key("list", url=f"http://localhost:{server.port}"), "no HTTP|hung up|reset")
        server.stop(signal.SIGKILL)


@unittest.skipIf(os.geteuid() != 0 or not os.path.exists("/etc/gai.conf"), "only root can say what names mean, where there is a gai.conf(5)")
class Names(Asking):
    """One of two addresses of the server's name takes no connection and refuses none."""

    def test_the_next_address_is_tried(self):
        with socket.create_server(("127.0.0.2", self.server.port), backlog=0) as silent:
            waiting = [socket.socket() for _ in range(8)]
            for s in waiting:
                self.addCleanup(s.close)
                s.setblocking(False)
                s.connect_ex(silent.getsockname())
            files = {"hosts": "127.0.0.2 two.test\n127.0.0.1 two.test\n", "gai.conf": "precedence ::ffff:127.0.0.2/128 100\n"}
            mounts = "".join(f"mount --bind {self.path(name)} /etc/{name} && " for name in files)
            for name, text in files.items():
                with open(self.path(name), "w", encoding="utf-8") as f:
                    f.write(text)
            said = subprocess.run(["unshare", "-m", "sh", "-c", f"{mounts}exec \"$@\"", "sh", GLOVEBOX, "key", "list"],
                                  env={**os.environ, "E2B_API_URL": f"http://two.test:{self.server.port}", "E2B_API_KEY": KEY},
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
        self.assertEqual((said.returncode, said.stderr), (0, b""))
        self.assertIn(b"owner", said.stdout)


if __name__ == "__main__":
    main(sys.modules[__name__])
