#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys that log in by SSH and that no program of the sandbox has: "ssh" of a secret. The servers are sshd(8)s, the
clients ssh(1) and git(1); what comes out of the agent when it is not asked by them is asked by hand."""
import atexit
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from cases import GLOVEBOX, Case, main, run, wait_until  # noqa: E402
from internet import EVIL, OTHER, Internet, veth_is_there  # noqa: E402

NET = KEYS = None
SSHD = "/usr/sbin/sshd"
CAN_RUN = os.getuid() == 0 and shutil.which("ip") and veth_is_there()
HOST = "other.good.test"  # pinned, at OTHER
UID = 1234
FAILED = 125
SSH = ["ssh", "-o", "BatchMode=yes"]
CARELESS = [*SSH, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "GlobalKnownHostsFile=/dev/null"]

# What a program inside can say to the agent, and what it makes of the answers. `proxied` runs a command whose agent
# this program is, and has all that was said.
PROLOGUE = r"""
import json, os, socket, struct, subprocess, sys, threading
AGENT = os.environ["SSH_AUTH_SOCK"]
def string(b): return struct.pack(">I", len(b)) + b
def strings(b, count):
    found = []
    for _ in range(count):
        size = struct.unpack(">I", b[:4])[0]
        found.append(b[4:4 + size])
        b = b[4 + size:]
    return found, b
def dial():
    s = socket.socket(socket.AF_UNIX)
    s.connect(AGENT)
    return s
def exactly(s, size):
    data = b""
    while len(data) < size:
        piece = s.recv(size - len(data))
        if not piece: raise EOFError
        data += piece
    return data
def receive(s): return exactly(s, struct.unpack(">I", exactly(s, 4))[0])
def ask(s, message):
    s.sendall(string(message))
    return receive(s)
def identities(s):
    answer = ask(s, b"\x0b")
    assert answer[0] == 12, answer
    count, rest = struct.unpack(">I", answer[1:5])[0], answer[5:]
    found, rest = strings(rest, 2 * count)
    assert not rest
    return found[0::2], [c.decode() for c in found[1::2]]
def sign(s, key, data, flags=0): return ask(s, b"\x0d" + string(key) + string(data) + struct.pack(">I", flags))[0]
def bind(s, host_key, session, signature, forwarding=0):
    return ask(s, b"\x1b" + string(b"session-bind@openssh.com") + string(host_key) + string(session) + string(signature)
               + bytes([forwarding]))[0]
def login(session, key, user=b"git", method=b"publickey", host_key=None, algorithm=b"ssh-ed25519", service=b"ssh-connection"):
    return (string(session) + b"\x32" + string(user) + string(service) + string(method) + b"\1" + string(algorithm) + string(key)
            + (string(host_key) if host_key else b""))
def proxied(words):
    path, heard = "/tmp/agent-%d" % os.getpid(), []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    def serve():
        while True:
            client, agent = listener.accept()[0], dial()
            try:
                while True:
                    message = receive(client)
                    answer = ask(agent, message)
                    heard.append((message, answer))
                    client.sendall(string(answer))
            except (EOFError, OSError):
                client.close()
                agent.close()
    threading.Thread(target=serve, daemon=True).start()
    done = subprocess.run(words, env={**os.environ, "SSH_AUTH_SOCK": path}, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, done.stderr
    return heard
def the_bind(heard):
    message = next(m for m, a in heard if m[0] == 27)
    return strings(message[5 + len(b"session-bind@openssh.com"):], 3)[0]
"""


def keygen(path, *options):
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-C", "", "-f", path, *(options or ("-t", "ed25519"))], check=True)


def text_of(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def start_sshd(folder, address, host_key):
    """An sshd at an address of that internet, for users git and other with the key that the tests use."""
    config, log = os.path.join(folder, f"sshd-{address}.conf"), os.path.join(folder, f"sshd-{address}.log")
    with open(config, "w", encoding="ascii") as f:
        f.write(f"ListenAddress {address}:22\nHostKey {host_key}\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\n"
                "UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\nMaxAuthTries 3\n")
    passwd = os.path.join(folder, "passwd")
    with open(passwd, "w", encoding="utf-8") as f, open("/etc/passwd", encoding="utf-8") as own:
        f.write(own.read() + "".join(f"{name}:x:{UID}:{UID}::{folder}/home:/bin/sh\n" for name in ("git", "other")))
    script = f"mount -t tmpfs none /run && mkdir /run/sshd && mount --bind {passwd} /etc/passwd && exec {SSHD} -D -f {config} -E {log}"
    process = subprocess.Popen(["nsenter", f"--net=/proc/{NET.process.pid}/ns/net", "unshare", "-m", "sh", "-c", script],
                               stdin=subprocess.DEVNULL)

    def end():
        process.send_signal(signal.SIGTERM)
        process.wait()
    atexit.register(end)

    def answers():
        try:
            socket.create_connection((address, 22), 5).close()
        except OSError:
            return False
        return True
    if not wait_until(answers):
        raise RuntimeError(f"no sshd at {address}")


def network():
    """The internet with two sshds, of which the keys are in KEYS; made once."""
    global NET, KEYS
    if NET is not None:
        return
    folder = KEYS = tempfile.mkdtemp(prefix="glovebox-net-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    NET = Internet(folder)
    atexit.register(NET.close)
    for name in ("key", "second", "host", "evil"):
        keygen(os.path.join(folder, name))
    keygen(os.path.join(folder, "rsa"), "-t", "rsa", "-b", "2048")
    keygen(os.path.join(folder, "ecdsa"), "-t", "ecdsa")
    with open(os.path.join(folder, "authorized_keys"), "w", encoding="ascii") as f:
        f.write("".join(text_of(os.path.join(folder, name + ".pub")) for name in ("key", "second", "rsa", "ecdsa")))
    os.mkdir(os.path.join(folder, "home"))
    repository = os.path.join(folder, "home", "repo.git")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", repository], check=True)
    subprocess.run(["chown", "-R", f"{UID}:{UID}", os.path.join(folder, "home")], check=True)
    os.chmod(folder, 0o755)
    start_sshd(folder, OTHER, os.path.join(folder, "host"))
    start_sshd(folder, EVIL, os.path.join(folder, "evil"))


def key_path(name):
    return os.path.join(KEYS, name)


class Ssh(Case):
    def setUp(self):
        super().setUp()
        if not CAN_RUN:
            self.skipTest("needs root, ip(8) and veth, for network namespaces")
        if not os.path.exists(SSHD):
            self.skipTest("needs sshd (openssh-server)")
        network()
        self.log = self.path("log")

    def policy(self, key="key", **ssh):
        rules = [{"id": "a", "action": "allow", "to": {"domain": [HOST, "evil.test"]}, "ports": [22]}]
        secret = {"source": {"file": key_path(key)}, "allow": {"hosts": [HOST]},
                  "ssh": {"host_keys": [text_of(key_path("host.pub")).strip()], **ssh}}
        return self.path("p.json", json.dumps({"version": 1, "rules": rules, "secrets": {"DEPLOY": secret}}))

    def inside(self, *words, key="key", **ssh):
        return run("--policy", self.policy(key, **ssh), "--egress-log", self.log, "--", *words)

    def python(self, code, *options):
        done = run("--policy", self.policy(), "--egress-log", self.log, *options, "--", "/usr/bin/python3", "-c", PROLOGUE + code)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.errors = done.stderr.decode()
        return json.loads(done.stdout)

    def decisions(self):
        """(decision, reason, key, user) of each line about a signature."""
        with open(self.log, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        return [(d["decision"], d["reason"], *d.get("secrets", [None]), d.get("user")) for d in lines if d["event"] == "ssh"]

    # ---- what works ----

    def test_clone_and_push(self):
        url = f"ssh://git@{HOST}{KEYS}/home/repo.git"
        script = f"""set -e
cd /tmp
git clone -q {url} work
cd work
echo work >"file-$$"
git add .
git -c user.name=a -c user.email=a@b commit -q -m work
git push -q origin HEAD:refs/heads/main
git ls-remote origin main | cut -f 1
git rev-parse HEAD
"""
        done = self.inside("/bin/sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        pushed, made = done.stdout.decode().split()
        self.assertEqual(pushed, made)
        at_home = subprocess.run(["git", "-c", "safe.directory=*", "-C", os.path.join(KEYS, "home/repo.git"), "rev-parse", "main"],
                                 capture_output=True, check=True)
        self.assertEqual(at_home.stdout.decode().strip(), made)
        self.assertEqual(set(self.decisions()), {("allow", "ssh:login", "DEPLOY", "git")})
        with open(self.log, encoding="utf-8") as f:
            line = next(d for d in map(json.loads, f) if d["event"] == "ssh")
        self.assertEqual((line["name"], line["port"], line["program"]), (HOST, 22, "ssh"))

    def test_keys_of_all_types(self):
        for key in ("rsa", "ecdsa"):
            done = self.inside(*SSH, f"git@{HOST}", "echo in", key=key)
            self.expect(done, out=b"in\n", err=b"")

    def test_one_key_of_several_secrets(self):
        """Each has its hosts and its user, and none of another's."""
        def secret(host, server, user):
            return {"source": {"file": key_path("key")}, "allow": {"hosts": [host]},
                    "ssh": {"host_keys": [text_of(key_path(server + ".pub")).strip()], "user": user}}
        policy = {"version": 1, "rules": [{"id": "a", "action": "allow", "to": {"domain": [HOST, "evil.test"]}, "ports": [22]}],
                  "secrets": {"FIRST": secret(HOST, "host", "git"), "SECOND": secret("evil.test", "evil", "other"),
                              "THIRD": secret(HOST, "host", "other")}}
        script = f"""ssh-add -L | wc -l
for to in git@{HOST} other@{HOST} other@evil.test; do {' '.join(SSH)} $to 'echo $USER'; done
{' '.join(SSH)} git@evil.test 'echo $USER' || echo no"""
        done = run("--policy", self.path("p.json", json.dumps(policy)), "--egress-log", self.log, "--", "/bin/sh", "-c", script)
        self.assertEqual(done.stdout.decode().split(), ["1", "git", "other", "other", "no"], done.stderr.decode())
        self.assertEqual(self.decisions(), [("allow", "ssh:login", "FIRST", "git"), ("allow", "ssh:login", "THIRD", "other"),
                                            ("allow", "ssh:login", "SECOND", "other"), ("deny", "ssh:user", "SECOND", "git")])

    def test_the_key_is_nowhere_inside(self):
        done = self.inside("/bin/sh", "-c", f"""
ssh-add -L
needle=$(echo {text_of(key_path("key")).splitlines()[2][8:40]})
grep -rlsF "$needle" /etc /home /root /run /tmp /var/tmp /dev/shm /proc/self/environ && exit 3
grep -rlsF "OPENSSH PRIVATE" /etc /home /root /run /tmp /var/tmp /proc/self/environ && exit 4
cat {key_path("key")} 2>/dev/null && exit 5
stat -c '%F %a' "$SSH_AUTH_SOCK"; id -un; stat -c %U "$SSH_AUTH_SOCK"
cat /etc/ssh/ssh_known_hosts
""")
        listed, kind, user, owner, known = done.stdout.decode().splitlines()
        self.assertEqual(done.returncode, 0)
        self.assertEqual(listed.split()[:3], [*text_of(key_path("key.pub")).split()[:2], "DEPLOY"])
        self.assertEqual((kind, owner), ("socket 600", user))
        self.assertEqual(known, " ".join([HOST, *text_of(key_path("host.pub")).split()[:2]]))

    def test_with_words_alone(self):
        known = self.path("known", f"{HOST} {text_of(key_path('host.pub'))}")
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
        words = ["--allow", f"{HOST}:22", "--secret", f"DEPLOY=ssh:file:{key_path('key')}@{HOST}"]
        done = run(*words, "--ssh-known-hosts", known, "--", *SSH, f"git@{HOST}", "id -un")
        self.expect(done, out=b"git\n", err=b"")
        self.expect_refused(run(*words, "--ssh-known-hosts", "/dev/null", "--", "true"), "ssh-keyscan")
        self.expect_refused(run("--allow", HOST, "--ssh-known-hosts", known, "--", "true"), "--ssh-known-hosts: no secret")

    def test_another_key_while_it_runs(self):
        runtime = self.path("run")
        os.mkdir(runtime, 0o700)
        env = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        code = f"while read line; do {' '.join(SSH)} git@{HOST} 'echo in'; ssh-add -L; done"
        process = self.start("--policy", self.policy(), "--name", "turn", "--", "/bin/sh", "-c", code, env=env)

        def ask():
            process.stdin.write(b"\n")
            process.stdin.flush()
            return [process.stdout.readline().decode().split()[:2] for _ in range(2)]
        shown = {name: text_of(key_path(name + ".pub")).split()[:2] for name in ("key", "second")}
        self.assertEqual(ask(), [["in"], shown["key"]])
        turn = [GLOVEBOX, "policy", "secret", "turn"]
        subprocess.run([*turn, f"DEPLOY=file:{key_path('second')}"], env=env, check=True, capture_output=True)
        self.assertEqual(ask(), [["in"], shown["second"]])
        refused = subprocess.run([*turn, f"DEPLOY=file:{key_path('host.pub')}"], env=env, check=False, capture_output=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(b"no private key", refused.stderr)
        self.assertEqual(ask(), [["in"], shown["second"]])

    def test_a_key_with_a_passphrase_is_refused_at_the_start(self):
        locked = os.path.join(self.folder, "locked")
        subprocess.run(["ssh-keygen", "-q", "-N", "secret", "-t", "ed25519", "-f", locked], check=True)
        done = self.inside("echo", "ran", key=locked)
        self.assertEqual((done.returncode, done.stdout), (FAILED, b""))
        self.assertRegex(done.stderr.decode(), r"secret DEPLOY: it has a passphrase; give")

    # ---- what does not ----

    def test_no_other_host(self):
        done = self.inside(*CARELESS, "git@evil.test", "true")
        self.assertEqual(done.returncode, 255)
        self.assertIn(b"Permission denied", done.stderr)
        self.assertIn(("deny", "ssh:host_key", None, None), self.decisions())
        self.assertNotIn("allow", [d[0] for d in self.decisions()])

    def test_no_other_user(self):
        done = self.inside(*SSH, f"other@{HOST}", "true")
        self.assertEqual(done.returncode, 255)
        self.assertIn(b"Permission denied", done.stderr)
        self.assertEqual(self.decisions(), [("deny", "ssh:user", "DEPLOY", "other")])
        self.expect(self.inside(*SSH, f"other@{HOST}", "echo in", user="other"), out=b"in\n")

    def test_no_signature_of_anything_else(self):
        # As git does with gpg.format=ssh.
        done = self.inside("/bin/sh", "-c", "cd /tmp; ssh-add -L >k.pub; echo x >x; ssh-keygen -q -Y sign -f k.pub -n git x")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual([d[:2] for d in self.decisions()], [("deny", "ssh:unbound")])

    def test_no_signature_without_a_bind(self):
        found = self.python("""
s = dial()
(key,), comments = identities(s)
print(json.dumps([comments, sign(s, key, b"anything"), sign(s, key, login(b"s" * 32, key)), ask(s, b"\\x1b" + string(b"query")).hex()]))
""")
        self.assertEqual(found[:3], [["DEPLOY"], 5, 5])
        self.assertIn(b"session-bind@openssh.com", bytes.fromhex(found[3]))
        self.assertEqual([d[:2] for d in self.decisions()], [("deny", "ssh:unbound")] * 2)
        self.assertIn("OpenSSH 8.9", self.errors)

    def test_no_signature_by_a_bind_that_does_not_verify(self):
        pinned = base64.b64decode(text_of(key_path("host.pub")).split()[1]).hex()
        other = base64.b64decode(text_of(key_path("evil.pub")).split()[1]).hex()
        found = self.python(f"""
pinned, other, session = bytes.fromhex("{pinned}"), bytes.fromhex("{other}"), b"s" * 32
forged = string(b"ssh-ed25519") + string(b"f" * 64)
key = identities(dial())[0][0]
def attempt(host_key):
    s = dial()
    return [bind(s, host_key, session, forged), sign(s, key, login(session, key)), bind(s, host_key, session, forged)]
print(json.dumps([attempt(pinned), attempt(other), attempt(b""), attempt(pinned[:-1])]))
""")
        self.assertEqual(found, [[5, 5, 5]] * 4)
        self.assertEqual({d[1] for d in self.decisions()}, {"ssh:session", "ssh:host_key", "ssh:refused", "ssh:bound_twice"})

    def test_a_bind_is_for_its_session_alone(self):
        found = self.python(f"""
heard = proxied({[*SSH, f"git@{HOST}", "true"]})
host_key, session, signature = the_bind(heard)
key = identities(dial())[0][0]
def bound(forwarding=0):
    s = dial()
    return s, bind(s, host_key, session, signature, forwarding)
s, first = bound()
host_bound = b"publickey-hostbound-v00@openssh.com"
other_session = bytes([session[0] ^ 1]) + session[1:]
print(json.dumps([first, identities(s)[1], [
    sign(s, key, login(session, key)), sign(s, key, login(session, key, method=host_bound, host_key=host_key)),
], [
    sign(s, key, login(other_session, key)), sign(s, key, b"anything"), sign(s, key, login(session, key) + b"x"),
    sign(s, key, login(session, key, user=b"root")), sign(s, key, login(session, key, service=b"ssh-userauth")),
    sign(s, key, login(session, key, method=b"hostbased")),
    sign(s, key, login(session, key, method=host_bound, host_key=key)),
    sign(s, key, login(session, key, algorithm=b"ssh-rsa")), sign(s, key, login(session, key), 2),
    sign(s, key, login(session, host_key)),
], bind(s, host_key, session, signature), sign(s, key, login(session, key)), bound(1)[1],
    bind(dial(), host_key, other_session, signature)]))
""")
        # A second bind takes the connection's away.
        self.assertEqual(found, [6, ["DEPLOY"], [14, 14], [5] * 10, 5, 5, 5, 5])
        reasons = [d[1] for d in self.decisions() if d[0] == "deny"]
        self.assertEqual(reasons, ["ssh:session", "ssh:data", "ssh:data", "ssh:user", "ssh:data", "ssh:data", "ssh:host_key",
                                   "ssh:algorithm", "ssh:algorithm", "ssh:algorithm", "ssh:bound_twice", "ssh:refused",
                                   "ssh:forwarded", "ssh:session"])

    def test_what_an_agent_does_besides_is_refused(self):
        found = self.python("""
s = dial()
print(json.dumps([ask(s, bytes([kind]) + string(b"x"))[0] for kind in (1, 9, 17, 18, 19, 20, 21, 22, 23, 25, 26, 99)]
                 + [ask(s, b"\\x1b" + string(b"restrict-destination-v00@openssh.com"))[0], ask(s, b"\\x0d")[0], ask(s, b"\\x0b" + b"x")[0]]))
""")
        self.assertEqual(found, [5] * 15)

    def test_floods_are_bounded(self):
        """LIMIT_AGENTS, GATEWAY_AGENT_MAX."""
        found = self.python("""
def is_closed(s):
    try:
        return s.recv(1) == b""
    except ConnectionResetError:
        return True
many = [dial() for _ in range(17)]
one_too_many = is_closed(many.pop())
served = [len(identities(s)[0]) for s in many]
for s in many: s.close()
def say(data):
    s = dial()
    s.sendall(data)
    return s
sizes = [is_closed(say(struct.pack(">I", size))) for size in (0, 4093, 1 << 18, 0xffffffff)]
# Who only asks, and never reads.
deaf, sent = say(b""), 0
try:
    while sent < 1 << 20:
        sent += deaf.send(string(b"\\x0b") * 100)
except (BrokenPipeError, ConnectionResetError):
    pass
slow = say(b"\\0\\0\\0")
halves = [ask(dial(), b"\\x0b")[0] for _ in range(40)]
slow.sendall(b"\\1\\x0b")
print(json.dumps([one_too_many, served, sizes, sent < 1 << 20, halves == [12] * 40, receive(slow)[0]]))
""")
        self.assertEqual(found, [True, [1] * 16, [True] * 4, True, True, 12])


if __name__ == "__main__":
    main(sys.modules["__main__"])
