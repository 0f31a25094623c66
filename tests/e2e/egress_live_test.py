#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sandbox was let do can be seen while it runs and after, its policy can be replaced under it, and a policy can
be learned from a run: glovebox egress, policy set, policy learn."""
import array
import fcntl
import json
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import egress_test  # noqa: E402
from cases import GLOVEBOX, ROOT, Case, descendants, main, run, wait_until  # noqa: E402
from egress_test import PROLOGUE, Egress, cidr, domain  # noqa: E402
from internet import BIG, CLONE_NEWNS, EVIL, GOOD, MS_PRIVATE, MS_REC, OTHER, check, libc  # noqa: E402

LIMIT = 120
UPDATE = struct.Struct("<IIQQiI40sQ")
SET, DONE, SECRET, GET = 1, 2, 4, 6


def have_own_registry():
    """Root's is one for the machine, and other tests look into it while these here fill it and open it to others."""
    if not egress_test.CAN_RUN:
        return
    check(libc.unshare(CLONE_NEWNS))
    check(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
    os.makedirs("/run/glovebox", 0o700, exist_ok=True)
    check(libc.mount(b"none", b"/run/glovebox", b"tmpfs", 0, b"mode=0700"))


def glovebox(*words, **more):
    return subprocess.run([GLOVEBOX, *words], capture_output=True, timeout=LIMIT, check=False, **more)


def record(*words):
    """The lines that glovebox egress has."""
    done = glovebox("egress", "--json", *words)
    if done.returncode:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Own:
    """A runtime folder of its own, so that no other sandbox of this user is in the way."""

    def setUp(self):
        super().setUp()
        self.runtime = self.path("runtime")
        os.mkdir(self.runtime)
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = self.runtime
        self.addCleanup(lambda: os.environ.pop("XDG_RUNTIME_DIR") if before is None
                        else os.environ.update(XDG_RUNTIME_DIR=before))

    @staticmethod
    def folder_of_registry():
        return "/run/glovebox" if os.geteuid() == 0 else os.path.join(os.environ["XDG_RUNTIME_DIR"], "glovebox")


class Record(Own, Case):
    def inside(self, code, *options, **more):
        done = run(*options, "--", "/usr/bin/python3", "-c", PROLOGUE + code, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_without_a_policy_it_says_why(self):
        """Refused at once, and the reason is there afterwards."""
        name = f"none-{os.getpid()}"
        self.inside("look('example.com'); became('192.0.2.7', 443); became('2001:db8::7'), tcp('2001:db8::7', 80, "
                    "socket.AF_INET6); socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect_ex(('192.0.2.8', 53))",
                    "--name", name)
        lines = record(name)
        self.assertEqual([(d["event"], d.get("proto"), d.get("name", d.get("dst")), d.get("port")) for d in lines],
                         [("dns", None, "example.com", None), ("connect", "tcp", "192.0.2.7", 443),
                          ("connect", "tcp", "2001:db8::7", 80), ("connect", "udp", "192.0.2.8", 53)])
        self.assertEqual({(d["decision"], d["reason"], d["sandbox"]) for d in lines}, {("deny", "no_policy", name)})
        table = glovebox("egress", name)
        self.expect(table)
        self.assertRegex(table.stdout.decode(), rf"\Asandbox {name}, ended\n")
        for advice in ("example.com", "192.0.2.7:443", r"\[2001:db8::7\]:80"):
            self.assertRegex(table.stdout.decode(), rf"no_policy +this sandbox has no network policy; start it with "
                                                    rf"--allow {advice}\n")

    def test_the_latest_is_the_one_without_a_name(self):
        name = f"last-{os.getpid()}"
        self.expect(run("--name", name, "--", "true"))
        self.assertEqual(glovebox("egress", name).stdout.decode().splitlines()[-1],
                         "no program has asked for the network")
        self.assertRegex(glovebox("egress").stdout.decode(), r"\Asandbox [^\n]*, (ended|running)\n")

    def test_a_flood_is_folded_and_counted(self):
        name, many = f"flood-{os.getpid()}", 3000
        self.inside(f"for i in range({many}): became('192.0.2.%d' % (i % 250), 1 + i // 250)", "--name", name)
        lines = record(name)
        folded = [d["count"] for d in lines if d["event"] == "folded"]
        self.assertEqual(len(lines) - len(folded) + sum(folded), many)
        self.assertGreater(sum(folded), 0)

    def test_text_of_the_guest_is_shown_and_does_not_act(self):
        name = f"text-{os.getpid()}"
        self.inside(r"""ask(b"a\x1b[31m\"\n\xe2\x80\xae\x9b", b"test")""", "--name", name)
        shown = glovebox("egress", name).stdout
        self.assertIn(b"\\x1b[31m", shown)
        for raw in (b"\x1b", b"\xe2\x80\xae", b"\x9b"):
            self.assertNotIn(raw, shown)
        self.assertEqual(len(record(name)), 1)

    def test_it_is_private_and_survives_a_kill(self):
        name = f"killed-{os.getpid()}"
        process = self.start("--name", name, "--", "/usr/bin/python3", "-uc",
                             PROLOGUE + "print(look('kill.test')); time.sleep(60)")
        process.stdout.readline()
        self.assertTrue(wait_until(lambda: record(name)))
        folder = os.path.join(self.folder_of_registry(), "egress")
        files = [n for n in os.listdir(folder) if n.endswith("." + name)]
        self.assertEqual(len(files), 1)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, files[0])).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        self.assertIn(b", running\n", glovebox("egress", name).stdout)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertIn(b", ended\n", glovebox("egress", name).stdout)
        self.assertEqual(record(name)[0]["name"], "kill.test")

    def test_so_many_are_kept_for_so_long(self):
        """Records that are old, or more than 32, go with the next start; one whose sandbox runs stays."""
        folder = os.path.join(self.folder_of_registry(), "egress")
        self.expect(run("--", "true"))
        day_ago = int((time.time() - 25 * 3600) * 1000)
        old = [f"{day_ago + i}.old-{os.getpid()}" for i in range(3)]
        for n in old:
            for path in (n, n + "~"):
                with open(os.path.join(folder, path), "w", encoding="utf-8"):
                    pass
                os.utime(os.path.join(folder, path), (day_ago / 1000, day_ago / 1000))
        held = open(os.path.join(folder, old[1]), "r+", encoding="utf-8")
        self.addCleanup(held.close)
        self.addCleanup(lambda: [os.unlink(held.name), os.path.exists(held.name + "~") and os.unlink(held.name + "~")])
        fcntl.fcntl(held, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
        # A start looks at some of those that are too many, and other tests start sandboxes, too.
        for _ in range(60):
            self.expect(run("--", "true"))
            left = os.listdir(folder)
            if not {old[0], old[2]} & set(left):
                break
        self.assertNotIn(old[0], left)
        self.assertNotIn(old[0] + "~", left)
        self.assertNotIn(old[2], left)
        self.assertIn(old[1], left)

    def test_wrong_use(self):
        for words, pattern in ((["nobody-has-this"], "nothing is known of a sandbox of this name; "),
                               (["a", "b"], "takes one name"), (["--al"], "no such option"),
                               (["../x"], "nothing is known")):
            self.expect_refused(glovebox("egress", *words), pattern)

    def test_help_and_manual(self):
        for words in (["egress", "--help"], ["help", "egress"]):
            done = glovebox(*words)
            self.expect(done, err=b"")
        with open(os.path.join(ROOT, "man/glovebox-egress.1"), encoding="utf-8") as f:
            manual = f.read().replace("\\-", "-")
        options = re.findall(r"^  .{4}(--[a-z-]+)", done.stdout.decode(), re.MULTILINE)
        self.assertEqual(len(options), 4)
        for option in options:
            self.assertIn(option, manual)


class Live(Egress):
    """A sandbox that does what it is told, a line at a time."""
    AGENT = r"""
held = []
def get(s, path="/x", host="api.good.test"):
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    data = piece = b" "
    try:
        while piece and not data.endswith(path.encode() + b"\n"):
            piece = s.recv(4096)
            data += piece
        return data[1:16].decode()
    except OSError as e:
        return errno.errorcode[e.errno]
def rest(s):
    total = 0
    try:
        while piece := s.recv(65536):
            total += len(piece)
    except OSError as e:
        return [total, errno.errorcode[e.errno]]
    return [total, "end"]
for line in sys.stdin:
    try:
        print(json.dumps(eval(line)), flush=True)
    except OSError as e:
        print(json.dumps(errno.errorcode.get(e.errno, str(e))), flush=True)
"""

    def setUp(self):
        super().setUp()
        self.name = f"live-{os.getpid()}-{self._testMethodName[5:25].rstrip('_')}"

    def open(self, *options):
        process = self.start("--name", self.name, *options, "--egress-log", self.log, "--", "/usr/bin/python3", "-uc",
                             PROLOGUE + self.AGENT, text=True)

        def say(code):
            process.stdin.write(code + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline() or "null")
        self.assertEqual(say("1"), 1)
        self.process = process
        return say

    def document(self, *rules, **rest):
        return json.dumps({"version": 1, "rules": [{"id": f"r{i}", "action": "allow", **rule}
                                                   for i, rule in enumerate(rules)], **rest})

    def set(self, *rules, options=(), **rest):
        return glovebox("policy", "set", *options, self.name, "-", input=self.document(*rules, **rest).encode())


class Update(Live):
    ALL = "--allow", "*.good.test"

    def test_j1_a_download_ends_when_the_policy_is_tightened(self):
        say = self.open(*self.ALL)
        say("held.append(tcp(look('api.good.test')[0])) or held[0].sendall(b'GET /big HTTP/1.1\\r\\nHost: api.good.test\\r\\n\\r\\n')")
        self.assertGreater(say("len(held[0].recv(1000))"), 0)
        self.expect(self.set(), out=b"generation 2 is in force\n")
        total, how = say("rest(held[0])")
        self.assertLess(total, len(BIG))
        self.assertEqual(how, "ECONNRESET")
        self.assertIn("policy_changed", [d.get("reason") for d in self.decisions()])
        self.assertEqual(say("became('%s')" % GOOD), "EACCES")

    def test_j2_a_session_is_cut_when_its_host_goes(self):
        say = self.open(*self.ALL)
        say("held.extend([tcp(look('git.good.test')[0], 22), tcp(look('other.good.test')[0])])")
        say("held[0].recv(100).decode()")
        self.expect(self.set(domain("other.good.test")))
        self.assertEqual(say("held[0].recv(100).decode()"), "ECONNRESET")
        self.assertEqual(say("get(held[1], host='other.good.test')"), "HTTP/1.1 200 OK")

    def test_j1_what_was_handed_over_and_is_to_be_counted_or_opened(self):
        """It passes where the gateway does not see it any more: so it ends."""
        say = self.open(*self.ALL)
        self.assertEqual(say("held.append(tcp(look('api.good.test')[0], 10)) or held[0].recv(100).decode()"), "ready")
        say("held[0].sendall(b'\\\\0') or time.sleep(0.5)")
        self.expect(self.set(domain("*.good.test"), limits={"bytes_up": 1000000}))
        self.assertEqual(say("rest(held[0])"), [0, "ECONNRESET"])
        self.expect(self.set(domain("*.good.test")))
        wrap = "__import__('ssl').create_default_context(cadata=%r).wrap_socket(%s, server_hostname='api.good.test')"
        say("held.append(" + wrap % (egress_test.NET.root, "tcp(look('api.good.test')[0], 443)") + ")")
        self.assertEqual(say("get(held[1])"), "HTTP/1.1 200 OK")
        self.expect(self.set(domain("*.good.test", tls="terminate"), domain("git.good.test")))
        self.assertEqual(say("rest(held[1])[0]"), 0)
        self.assertEqual([(d["port"], d.get("reason")) for d in self.decisions("close")],
                         [(10, "policy_changed"), (443, "policy_changed")])

    def test_j1_what_passes_and_is_counted_and_is_to_be_opened(self):
        """There the gateway stands between, and looks into nothing."""
        rest = {"tls": {"extra_ca_pem": [egress_test.NET.root]}, "limits": {"bytes_up": 1 << 30}}
        say = self.open(*self.policy(domain("*.good.test"), **rest))
        say("held.append(__import__('ssl').create_default_context(cadata=%r).wrap_socket("
            "tcp(look('api.good.test')[0], 443), server_hostname='api.good.test'))" % egress_test.NET.root)
        self.assertEqual(say("get(held[0])"), "HTTP/1.1 200 OK")
        self.expect(self.set(domain("*.good.test", tls="terminate"), **rest))
        self.assertEqual(say("rest(held[0])[0]"), 0)

    def test_j3_what_is_still_allowed_goes_on(self):
        say = self.open(*self.ALL)
        say("held.append(tcp(look('api.good.test')[0]))")
        self.assertEqual(say("get(held[0])"), "HTTP/1.1 200 OK")
        self.expect(self.set(domain("api.good.test", ports=[80])))
        self.assertEqual(say("get(held[0])"), "HTTP/1.1 200 OK")

    def test_j4_a_loosened_policy_is_for_what_comes(self):
        say = self.open("--allow", "api.good.test")
        self.assertEqual(say("by_name('evil.test')"), "NONAME")
        self.expect(self.set(domain("evil.test")))
        self.assertEqual(say("by_name('evil.test')"), "ok")
        self.assertTrue(wait_until(lambda: self.came_in()["connections"] == [f"{EVIL}:80"]))

    def test_j5_what_is_no_policy_changes_nothing(self):
        say = self.open(*self.ALL)
        say("held.append(tcp(look('api.good.test')[0]))")
        for text, pattern in ((b'{"version": 1,\n "rules": [], "rulez": 1}', "line 2, column .*rulez"), (b"{", "line 1"),
                              (b"", "policy: -: "), (b" " * 300000, "write at most"),
                              (self.document(tls={"client_certs": [{"host": "a.test", "cert_ref": "A", "key_ref": "B"}]})
                               .encode(), "client_certs|/tls")):
            with self.subTest(text[:30]):
                self.expect_refused(glovebox("policy", "set", self.name, "-", input=text), pattern, 1)
        self.assertEqual(say("[get(held[0]), by_name('git.good.test'), by_name('evil.test')]"),
                         ["HTTP/1.1 200 OK", "ok", "NONAME"])
        self.assertEqual({d["gen"] for d in self.decisions()}, {1})

    def test_j6_told_to_be_in_force_is_in_force(self):
        say = self.open("--allow", "evil.test")
        for turn in range(20):
            allowed, denied = ("evil.test", "api.good.test")[::1 if turn % 2 else -1]
            self.expect(self.set(domain(allowed)))
            self.assertEqual(say(f"[by_name('{allowed}'), by_name('{denied}')]"), ["ok", "NONAME"])
        self.assertEqual(record(self.name)[-1]["gen"], 21)

    def test_j7_the_generation_that_was_looked_at(self):
        self.open(*self.ALL)
        self.expect(self.set(options=["--json", "--if-generation", "1"]), out=b'{"generation": 2}\n')
        self.expect_refused(self.set(options=["--if-generation", "1"]), "generation 2 is in force, not 1; ", 1)
        self.expect(self.set(options=["--if-generation=2"]), out=b"generation 3 is in force\n")
        self.expect_refused(self.set(options=["--if-generation", "0"]), "--if-generation 0: ")

    def test_j8_an_answer_from_before_is_judged_by_its_name(self):
        say = self.open(*self.ALL)
        self.assertEqual(say("look('api.good.test')"), [GOOD])
        self.expect(self.set(domain("other.good.test")))
        self.assertEqual(say(f"became('{GOOD}')"), "EACCES")
        self.assertEqual(self.came_in()["connections"], [])

    def test_an_address_that_the_machine_gets_is_its_own(self):
        say = self.open(*self.policy(cidr(f"{OTHER}/32")))
        self.assertEqual(say(f"became('{OTHER}')"), "ok")
        for _ in range(2):
            for device in "lo", "out":
                subprocess.run(["ip", "addr", "add", f"{OTHER}/32", "dev", device], check=True)
            for device in "lo", "out":
                self.assertEqual(say(f"became('{OTHER}')"), "EACCES")
                subprocess.run(["ip", "addr", "del", f"{OTHER}/32", "dev", device], check=True)
            self.assertEqual(say(f"became('{OTHER}')"), "ok")
        self.assertEqual([d["reason"] for d in self.decisions("connect") if d["decision"] == "deny"], ["floor:host"] * 4)

    def test_what_was_looked_up_holds_until_another_policy_or_a_failure(self):
        def asked(code, *expected):
            self.before = egress_test.NET.counts()
            self.assertEqual(say(code), list(expected))
            return len(self.came_in()["queries"])
        say = self.open(*self.ALL)
        say("look('api.good.test')")
        self.assertEqual(asked(f"[became('{GOOD}') for _ in range(3)]", "ok", "ok", "ok"), 1)
        self.assertEqual(asked(f"[became('{GOOD}'), became('{GOOD}', 81)]", "ok", "ECONNREFUSED"), 0)
        self.assertEqual(asked(f"[became('{GOOD}'), became('{GOOD}')]", "ok", "ok"), 1)
        self.expect(self.set(domain("api.good.test")))
        self.assertEqual(asked(f"[became('{GOOD}'), became('{GOOD}')]", "ok", "ok"), 1)

    def test_live_flows_can_be_spared(self):
        say = self.open(*self.ALL)
        say("held.append(tcp(look('api.good.test')[0], 7)) or held[0].sendall(b'abc')")
        self.assertTrue(wait_until(lambda: self.decisions("connect")))
        self.expect(self.set(on_update="new_only"))
        self.assertEqual(say(f"[held[0].shutdown(1), held[0].recv(100).decode(), became('{GOOD}')]"),
                         [None, "cba", "EACCES"])

    def test_it_is_in_the_log(self):
        self.open(*self.ALL)
        self.set()
        self.set(dns={"resolvers": ["9.9.9.9"]})
        self.assertEqual([(d["gen"], d["decision"], "/dns/resolvers" in d.get("error", "")) for d in self.decisions("update")],
                         [(2, "allow", False), (2, "deny", True)])

    def test_j9_what_was_set_up_at_the_start_stays(self):
        secret = {"A": {"source": {"env": "A_SECRET"}, "allow": {"hosts": ["api.good.test"]}}}
        proxy = {"type": "socks5", "address": "45.33.32.10:1080"}
        with_both = dict(secrets=secret, upstream=proxy)
        os.environ["A_SECRET"] = "a-value-that-nobody-knows"
        self.addCleanup(os.environ.pop, "A_SECRET")
        self.open("--policy", self.path("p", self.document(domain("api.good.test"), **with_both)))
        other = {"A": {"source": {"env": "A_SECRET"}, "allow": {"hosts": ["evil.test"]}}}
        for rest, place in (({}, "/upstream"), ({"secrets": secret}, "/upstream"), ({"upstream": proxy}, "/secrets"),
                            ({"upstream": proxy, "secrets": other}, "/secrets"),
                            ({"upstream": {**proxy, "address": "45.33.32.10:1081"}, "secrets": secret}, "/upstream"),
                            ({**with_both, "dns": {"resolvers": ["9.9.9.9"]}}, "/dns/resolvers"),
                            ({**with_both, "tls": {"install_ca": False}}, "/tls/install_ca")):
            with self.subTest(place):
                self.expect_refused(self.set(domain("evil.test"), **rest), f"{place}: can't be changed while", 1)
        self.expect(self.set(domain("git.good.test"), **with_both), out=b"generation 2 is in force\n")
        self.expect(self.set(domain("git.good.test"), **with_both), out=b"generation 3 is in force\n")

    def test_i9_r76_rules_last_as_long_as_their_sandbox(self):
        """And no longer: it can't be paused or started again, so there is nothing that could lose them, or bring them back. It may
        stand still with its machine."""
        def looked(*words):
            done = glovebox(*words, "--", "/usr/bin/python3", "-c", PROLOGUE + "print(by_name('api.good.test'), by_name('evil.test'))")
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.decode().split()
        self.open("--allow", "api.good.test")
        self.expect(self.set(domain("evil.test")))
        still = [self.process.pid]
        for pid, _ in descendants(self.process.pid):
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if re.match(rb"[^\0]*glovebox-(kernel|gateway)", f.read()):
                    still.append(pid)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in still:
                os.kill(pid, number)
        self.assertEqual(looked("exec", self.name), ["NONAME", "ok"])
        self.assertEqual({d["gen"] for d in self.decisions("dns")}, {2})
        self.process.stdin.close()
        self.process.wait()
        self.expect_refused(self.set(domain("evil.test")), "no sandbox of this name is running; ", 125)
        self.assertEqual(looked("run", "--name", self.name), ["NONAME", "NONAME"])

    def test_phases_are_moved_on_from_outside(self):
        phased = self.document(domain("api.good.test", phases=["install"]), domain("git.good.test", phases=["run"]),
                               domain("other.good.test"), phases=["install", "run"])
        say = self.open("--policy", self.path("phased.json", phased))
        both = "[by_name('api.good.test'), by_name('git.good.test', 22), by_name('other.good.test')]"
        self.assertEqual(say(both), ["ok", "NONAME", "ok"])
        say("held.append(tcp(look('api.good.test')[0]))")
        self.expect(glovebox("policy", "phase", self.name, "run"), out=b"generation 2 is in force\n")
        self.assertEqual(say("rest(held[0])"), [0, "ECONNRESET"])
        self.assertEqual(say(both), ["NONAME", "ok", "ok"])
        for none, why in (("none", b"no phase of that name"), ("x" * 40, b"no phase has a name of more than 39 bytes")):
            done = glovebox("policy", "phase", self.name, none)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)
        self.assertEqual(say(both), ["NONAME", "ok", "ok"])
        # Another document does not lead back to where more was open, unless that is said.
        self.assertEqual(self.set(domain("api.good.test", phases=["install"]), domain("evil.test", phases=["run"]),
                                  phases=["install", "run"]).returncode, 0)
        self.assertEqual(say("[look('api.good.test'), look('evil.test')]"), ["NONAME", [EVIL]])
        self.assertEqual(self.set(domain("api.good.test", phases=["install"]), phases=["install", "run"],
                                  options=("--phase", "install")).returncode, 0)
        self.assertEqual(say("look('api.good.test')"), [GOOD])

    def test_inspect_says_what_lets_it_out(self):
        self.open(*self.ALL)
        egress = json.loads(glovebox("inspect", "--json", self.name).stdout)["egress"]
        self.assertEqual(egress["policy"], "deny by default, 1 rule")
        with open(f"/proc/{egress['gateway_pid']}/cmdline", "rb") as f:
            self.assertIn(b"glovebox-gateway", f.read())
        self.assertRegex(glovebox("inspect", self.name).stdout.decode(), r"(?m)^egress     deny by default, 1 rule; gateway \d+$")

    def test_a_secret_gets_another_value(self):
        first, second = "sk-" + "1" * 40, "sk-" + "2" * 40
        os.environ["TEST_KEY"], os.environ["TEST_NEXT"] = first, second
        for name in ("TEST_KEY", "TEST_NEXT"):
            self.addCleanup(os.environ.pop, name)
        say = self.open(*self.policy(domain("api.good.test", tls="terminate"), tls={"extra_ca_pem": [egress_test.NET.root]}, secrets={
            "K": {"source": {"env": "TEST_KEY"}, "env": ["K"], "allow": {"hosts": ["api.good.test"]}}}))
        ask = ("[__import__('urllib.request').request.urlopen(__import__('urllib.request').request.Request("
               "'https://api.good.test/echo', headers={'Authorization': os.environ['K']})).status, os.environ['K']]")
        status, placeholder = say(ask)
        self.expect(glovebox("policy", "secret", self.name, "K=env:TEST_NEXT"))
        self.assertEqual((status, say(ask)), (200, [200, placeholder]))
        self.assertEqual(self.came_in()["authorizations"], [first, second])
        for word, why in (("OTHER=env:TEST_NEXT", b"none of that name"), ("K=env:NOT_SET_AT_ALL", b"NOT_SET_AT_ALL"),
                          ("K", b"K"), ("K=file:/dev/null", b"K")):
            done = glovebox("policy", "secret", self.name, word)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn(why, done.stderr)
        self.assertEqual(say(ask)[0], 200)
        self.assertEqual(self.came_in()["authorizations"], [first, second, second])
        third = "ssh:" + "3" * 40
        self.expect(glovebox("policy", "secret", self.name, f"K=cmd:x={third}; echo $x"))
        self.assertEqual(say(ask)[0], 200)
        self.assertEqual(self.came_in()["authorizations"][-1], third)

    def test_who_has_none_gets_none(self):
        self.expect_refused(self.set(), "no sandbox of this name is running")
        self.start("--name", self.name, "--", "sleep", "60")
        self.assertTrue(wait_until(lambda: self.name.encode() in glovebox("ps").stdout))
        self.expect_refused(self.set(), "started without a network policy.*--allow or --policy")
        for words in (["set", self.name], ["set"], ["set", "a/b", "/dev/null"], ["set", "x", self.path("none")],
                      ["set", "", "/dev/null"]):
            self.assertIn(glovebox("policy", *words).returncode, (1, 125))

    def test_follow(self):
        say = self.open(*self.ALL)
        follower = subprocess.Popen([GLOVEBOX, "egress", "-f", "--json", self.name], stdout=subprocess.PIPE, text=True)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.wait)
        say("[look('api.good.test'), look('evil.test')]")
        self.assertEqual([json.loads(follower.stdout.readline())["name"] for _ in range(2)],
                         ["api.good.test", "evil.test"])
        say(f"became('{GOOD}')")
        self.assertEqual(json.loads(follower.stdout.readline())["event"], "connect")
        self.process.stdin.close()
        self.assertEqual(self.process.wait(), 0)
        lines = [json.loads(line) for line in follower.stdout]
        self.assertEqual(lines[-1]["event"], "close")
        self.assertEqual(follower.wait(), 0)
        denied = record("--denied", self.name)
        self.assertEqual([d["name"] for d in denied], ["evil.test"])
        with open(self.log, encoding="utf-8") as f:
            self.assertEqual([json.loads(line) for line in f], record(self.name))

    def test_it_never_fills_a_disk(self):
        """A program that is let do what it likes: of what it did, the last part is kept."""
        say = self.open(*self.policy(cidr(f"{GOOD}/32"), dns={"max_qps": 100000}, limits={"max_new_per_s": 100000}))
        self.assertEqual(say(f"[became('{GOOD}', 80) for _ in range(2500)] == ['ok'] * 2500"), True)
        self.process.stdin.close()
        self.process.wait()
        folder = os.path.join(Own.folder_of_registry(), "egress")
        sizes = [os.stat(os.path.join(folder, n)).st_size for n in os.listdir(folder)
                 if re.fullmatch(rf"\d+\.{self.name}~?", n)]
        self.assertEqual(len(sizes), 2)
        self.assertLessEqual(max(sizes), 512 * 1024)
        flows = [d["flow"] for d in record(self.name) if d["event"] == "close"]
        self.assertEqual(flows[-1], 2500)
        self.assertEqual(flows, sorted(flows))


class Socket(Live):
    """The one by which a policy comes."""
    def open(self, *options):
        self.socket = os.path.join(Own.folder_of_registry(), "sandboxes", "." + self.name)
        return super().open(*options)

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(s.close)
        s.connect(self.socket)
        s.settimeout(20)
        return s

    @staticmethod
    def packet(kind=SET, version=4, number=0, generation=0, error=0, size=0, phase=b"", document_size=0):
        return UPDATE.pack(version, kind, number, generation, error, size, phase, document_size)

    @staticmethod
    def memory(text, seals=0x2 | 0x4 | 0x8):
        fd = os.memfd_create("x", os.MFD_ALLOW_SEALING)
        os.write(fd, text)
        fcntl.fcntl(fd, 1033, seals)  # F_ADD_SEALS
        return fd

    def send(self, s, data, *fds):
        s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        for fd in fds:
            os.close(fd)

    def answer(self, s):
        data = s.recv(9000)
        return UPDATE.unpack(data[:UPDATE.size]) if data else None


class Abuse(Socket):
    def setUp(self):
        super().setUp()
        self.say = self.open("--allow", "api.good.test")

    def assert_passed_on(self):
        """Once the second of these is answered, what came before the first has been read."""
        for _ in range(2):
            refused = self.connect()
            self.send(refused, self.packet())
            self.assertNotEqual(self.answer(refused)[4], 0)

    def assert_untouched(self):
        self.assertEqual(self.say("[by_name('api.good.test'), by_name('evil.test')]"), ["ok", "NONAME"])

    def test_it_is_the_users_own(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o700)
        self.assertEqual(os.stat(self.socket).st_uid, os.geteuid())
        # Another user does not get there; one that was handed a way is turned away by the host's word.
        folder = os.open(os.path.dirname(self.socket), os.O_PATH)
        pid = os.fork()
        if pid == 0:
            status = 9
            try:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                    status = 1 if s.connect_ex(self.socket) in (1, 13) else 2
                    status += 4 if s.connect_ex(f"/proc/self/fd/{folder}/.{self.name}") in (1, 13) else 0
            finally:
                os._exit(status)
        os.close(folder)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5)

    def test_another_user_with_a_connection_of_its_own(self):
        """The folder is opened for once: SO_PEERCRED alone holds."""
        for path, mode in ((os.path.dirname(self.socket), 0o711), (os.path.dirname(os.path.dirname(self.socket)), 0o711),
                           (self.socket, 0o777)):
            self.addCleanup(os.chmod, path, stat.S_IMODE(os.stat(path).st_mode))
            os.chmod(path, mode)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                    s.settimeout(20)
                    s.connect(self.socket)
                    try:
                        self.send(s, self.packet(), self.memory(self.document().encode()))
                        os.write(writer, b"got " + s.recv(100)[:1])
                    except (BrokenPipeError, ConnectionResetError):
                        os.write(writer, b"got ")
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(pid, 0)
        self.assertEqual(os.read(reader, 100), b"got ")
        os.close(reader)
        self.assert_untouched()

    def test_garbage(self):
        good = self.document().encode()
        cases = [(b"x",), (b"x" * 5000,), (self.packet(),), (self.packet(version=1), good), (self.packet(DONE), good),
                 (self.packet(kind=3), good), (self.packet(GET), good), (self.packet(document_size=10), good),
                 (self.packet(document_size=len(good) + 1), good), (self.packet(SECRET, document_size=1), good),
                 (self.packet(size=5) + b"12345", good), (self.packet() + b"x", good),
                 (self.packet(phase=b"x" * 40), good), (self.packet(phase=b"none"), good), (self.packet(phase=b"none"),)]
        for data, *text in cases:
            with self.subTest(data[:40]):
                s = self.connect()
                self.send(s, data, *[self.memory(t) for t in text])
                answer = self.answer(s)
                self.assertNotEqual(answer[4], 0)
                self.assertIsNone(self.answer(s))
        self.assert_untouched()

    def test_files_that_could_change_or_hold_it_up(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        plain = os.open(self.path("p", self.document()), os.O_RDONLY)
        for fd in (reader, plain, self.memory(self.document().encode(), 0), self.memory(self.document().encode(), 0x8),
                   self.memory(b" " * (256 * 1024 + 1)), os.open("/dev/zero", os.O_RDONLY)):
            s = self.connect()
            self.send(s, self.packet(), fd)
            self.assertNotEqual(self.answer(s)[4], 0)
        self.assert_untouched()

    def test_two_files_at_once_are_none(self):
        s = self.connect()
        self.send(s, self.packet(), self.memory(b"{"), self.memory(b"{"))
        self.assertNotEqual(self.answer(s)[4], 0)
        self.assert_untouched()
        pid = self.process.pid
        self.assertEqual([n for n in os.listdir(f"/proc/{pid}/fd") if "memfd:x" in os.readlink(f"/proc/{pid}/fd/{n}")], [])

    def test_many_who_say_nothing_keep_nobody_out(self):
        before = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        silent = [self.connect() for _ in range(40)]
        self.expect(self.set(domain("other.good.test"), domain("api.good.test")))
        self.assertLessEqual(len(os.listdir(f"/proc/{self.process.pid}/fd")), before + 5)
        for s in silent:
            s.close()
        self.assert_untouched()

    def test_two_policies_at_once(self):
        """What the first one cuts is noted after the second one came, by the policy that it was let go by."""
        self.process.stdin.close()
        self.process.wait()
        os.environ["TEST_KEY"] = "sk-" + "1" * 40
        self.addCleanup(os.environ.pop, "TEST_KEY")
        secrets = {"K": {"source": {"env": "TEST_KEY"}, "env": ["K"], "allow": {"hosts": ["api.good.test"]}}}
        rest = {"tls": {"extra_ca_pem": [egress_test.NET.root]}, "secrets": secrets}
        say = self.open(*self.policy(domain("api.good.test", tls="terminate"), **rest))
        self.expect(self.set(domain("api.good.test", tls="terminate"), domain("git.good.test"), **rest))
        say("held.append(__import__('ssl').create_default_context().wrap_socket(tcp(look('api.good.test')[0], 443), "
            "server_hostname='api.good.test'))")
        say(r"held[0].sendall(('GET /big HTTP/1.1\r\nHost: api.good.test\r\nX-Key: ' + os.environ['K'] + '\r\n\r\n').encode())")
        self.assertEqual(say("held[0].recv(1000)[:15].decode()"), "HTTP/1.1 200 OK")
        inspected = json.loads(glovebox("inspect", "--json", self.name).stdout)
        gateway = inspected["egress"]["gateway_pid"]
        os.kill(gateway, signal.SIGSTOP)
        self.addCleanup(os.kill, gateway, signal.SIGCONT)
        waiting = [self.connect(), self.connect()]
        for s in waiting:
            self.send(s, self.packet(), self.memory(self.document(**rest).encode()))
        self.assert_passed_on()
        os.kill(gateway, signal.SIGCONT)
        self.assertEqual(sorted(self.answer(s)[3:5] for s in waiting), [(3, 0), (4, 0)])
        self.assertLess(say("rest(held[0])[0]"), len(BIG))
        cut = self.decisions("request")
        self.assertEqual([(d["decision"], d["rule"], d["secrets"], d["status"]) for d in cut], [("allow", "r0", ["K"], 200)])

    def test_an_answer_that_there_is_no_room_for(self):
        """Who cuts many flows at once has more to say of them than the starter reads: the answer still comes."""
        self.process.stdin.close()
        self.process.wait()
        many = 3000
        say = self.open(*self.policy(domain("api.good.test"), cidr(f"{GOOD}/32", proto=["udp"]),
                                     dns={"max_qps": 100000}, limits={"max_flows": 4096, "max_udp_peers": 4096,
                                                                      "max_new_per_s": 100000}))
        # So many can be asked for at once; what is asked for behind them is answered behind them.
        say("held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) or [(held[0].sendto(b'x', "
            f"('{GOOD}', 10000 + i)), i % 50 or look('api.good.test')) for i in range({many})] and 1")
        say("look('api.good.test')")
        gateway = json.loads(glovebox("inspect", "--json", self.name).stdout)["egress"]["gateway_pid"]
        os.kill(gateway, signal.SIGSTOP)
        self.addCleanup(lambda: os.path.exists(f"/proc/{gateway}") and os.kill(gateway, signal.SIGCONT))
        s = self.connect()
        self.send(s, self.packet(), self.memory(self.document().encode()))
        self.assert_passed_on()
        self.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.process.send_signal, signal.SIGCONT)
        os.kill(gateway, signal.SIGCONT)
        self.assertTrue(wait_until(lambda: self.decisions("update")))
        self.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.answer(s)[3:5], (2, 0))
        self.assertEqual(len(self.decisions("close")), many)
        self.process.stdin.close()
        self.process.wait()
        self.assertEqual([d["event"] for d in record(self.name)][-1], "lost")

    def test_who_asks_twice_and_who_goes_away(self):
        s = self.connect()
        answers = []
        try:
            # The first one may be answered, and who asked dropped, before the second is sent.
            for _ in range(2):
                self.send(s, self.packet(), self.memory(self.document(domain("api.good.test")).encode()))
            while (answer := self.answer(s)):
                answers.append(answer[4])
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertLessEqual(len(answers), 2)
        for _ in range(50):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as gone:
                gone.connect(self.socket)
                self.send(gone, self.packet(), self.memory(self.document(domain("api.good.test")).encode()))
        self.assert_untouched()

    def test_it_goes_with_the_sandbox(self):
        self.process.stdin.close()
        self.assertEqual(self.process.wait(), 0)
        self.assertFalse(os.path.exists(self.socket))
        self.say = self.open("--allow", "api.good.test")
        self.process.kill()
        self.process.wait()
        self.assertTrue(os.path.exists(self.socket))
        self.expect_refused(self.set(), "no sandbox of this name is running")
        self.assertTrue(wait_until(lambda: self.name.encode() not in glovebox("ps").stdout))
        self.open("--allow", "api.good.test")
        self.expect(self.set())


class Learn(Live):
    def learn(self, code, *options):
        done = glovebox("policy", "learn", *options, "--", "/usr/bin/python3", "-c", PROLOGUE + code)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr.decode()

    def test_what_a_program_did_and_nothing_else(self):
        code = f"""
print([by_name(n) for n in ("api.good.test", "other.good.test", "evil.test")], by_name("git.good.test", 22))
print(became("{GOOD}", 7), became("10.0.0.1"), look("pkg.test"))
"""
        # The address of api.good.test is git.good.test's too: what was looked up last is meant.
        policy, said = self.learn(code)
        allow = {"action": "allow"}
        self.assertEqual(policy, {"version": 1, "default": "deny", "rules": [
            {"id": "learned-1", **allow, "to": {"domain": ["api.good.test", "evil.test", "other.good.test"]}, "ports": [80]},
            {"id": "learned-2", **allow, "to": {"domain": ["git.good.test"]}, "ports": [7, 22]}]})
        self.assertIn("['ok', 'ok', 'ok'] ok\n", said)
        self.assertIn("learn: left out: 10.0.0.1:80, which no policy can allow (floor:private)", said)
        self.assertIn("learn: left out: pkg.test was looked up, but not connected to", said)
        path = self.path("learned.json", json.dumps(policy))
        check = glovebox("policy", "check", "--json", path)
        self.expect(check)
        self.assertEqual(json.loads(check.stdout)["refused_by_run"], None)
        before = code.replace(', look("pkg.test")', "").replace(', became("10.0.0.1")', "")
        again = run("--policy", path, "--", "/usr/bin/python3", "-c", PROLOGUE + before + 'print(by_name("x.pkg.test"))')
        self.expect(again, out=b"['ok', 'ok', 'ok'] ok\nok\nNONAME\n")

    def test_addresses_without_a_name(self):
        policy, _ = self.learn(f"became('{OTHER}'); became('{EVIL}', 80); became('{EVIL}', 81)")
        self.assertEqual(policy["rules"], [
            {"id": "learned-1", "action": "allow", "to": {"cidr": [f"{OTHER}/32"]}, "proto": ["tcp"], "ports": [80]},
            {"id": "learned-2", "action": "allow", "to": {"cidr": [f"{EVIL}/32"]}, "proto": ["tcp"], "ports": [80, 81]}])

    def test_nothing(self):
        policy, said = self.learn("print('hello')")
        self.assertEqual((policy["rules"], said), ([], "hello\n"))

    def test_the_status_is_the_programs(self):
        done = glovebox("policy", "learn", "--", "sh", "-c", "echo to the terminal; exit 7")
        self.assertEqual((done.returncode, done.stderr), (7, b"to the terminal\n"))
        self.assertEqual(json.loads(done.stdout)["rules"], [])

    def test_what_does_not_go_with_it(self):
        for options in (["--allow", "a.test"], ["--policy", "/dev/null"], ["--json"], ["--for-model"]):
            self.expect_refused(glovebox("policy", "learn", *options, "--", "true"), f"{options[0]}: not with policy learn")
        self.expect_refused(glovebox("policy", "learn"), "no command")
        self.expect_refused(glovebox("policy", "learn", "--", "no-such-program"), "no-such-program", 127)


if __name__ == "__main__":
    have_own_registry()
    main(sys.modules[__name__])
