#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The jail around Glovebox's own kernel: what an attacker has who took it over.

    tests/security/jail_test.py [WORD...]     all cases, or those whose name has one of these words in it

glovebox-kernel-compromised (compromised.c) is put in the kernel's place and attacks, once with the whole jail and
once without the seccomp filter, for the walls before it; as the caller and, when that is root, as an ordinary
user. Beside it there is what it must not reach: files of its starter, a listener, another sandbox. And hosts that lack
something (lacking.c) are refused until they are allowed to.

BUILD names another build than build/, without sanitizers.
"""
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
SECONDS = 60
NOBODY = 65534
TEXT = "canary-" + os.urandom(8).hex()
KILLED, REFUSED = "killed", "refused"
failed = False

# By the numbers of x86-64, and their first arguments.
LANDLOCK_CREATE_RULESET, PRCTL = 444, 157
PR_SET_MDWE, PR_SCHED_CORE, PR_SET_SPECULATION_CTRL = 65, 62, 53
EPERM, EINVAL, ENOSYS, EOPNOTSUPP = 1, 22, 38, 95


def say(verdict, name, reason=""):
    global failed
    failed |= verdict == "FAIL"
    print(f"{verdict} {name}" + (f": {reason}" if reason else ""), flush=True)


def wait_for(condition, seconds=SECONDS):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


class World:
    """Of one user: programs, files, a listener, and another sandbox."""

    def __init__(self, folder, uid):
        self.uid, self.folder = uid, folder
        self.secret = os.path.join(folder, "secret")
        self.store = os.path.join(folder, "store")
        self.mounted = os.path.join(folder, "mounted")
        for path in (folder, self.store, self.mounted):
            os.makedirs(path, exist_ok=True)
            self.give(path)
        self.write(self.secret, TEXT)
        self.write(os.path.join(self.mounted, "inside"), TEXT)
        os.symlink(self.secret, os.path.join(self.mounted, "link"))
        self.env = {"PATH": os.environ["PATH"], "TMPDIR": self.store, "XDG_RUNTIME_DIR": folder, "HOME": folder,
                    "CANARY": TEXT}
        self.other = subprocess.Popen(self.words(self.program("cli/glovebox", "kernel/glovebox-kernel", "right"),
                                                 "--name", "other", "--", "sleep", "1000"),
                                      env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.evil = self.program("cli/glovebox", "tests/security/glovebox-kernel-compromised", "wrong")
        self.lacking = os.path.join(folder, "lacking")
        subprocess.run(["cc", "-O1", "-w", os.path.join(HERE, "lacking.c"), "-o", self.lacking], check=True)

    def give(self, path):
        os.chmod(path, 0o755)
        if self.uid != os.geteuid():
            os.chown(path, self.uid, self.uid)

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o644)  # whoever gets there can read it

    def program(self, cli, kernel, name):
        """glovebox looks for its kernel beside itself."""
        for source, target in ((cli, "cli/glovebox"), (kernel, "kernel/glovebox-kernel")):
            path = os.path.join(self.folder, name, target)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(BUILD, source), path)
        return os.path.join(self.folder, name, "cli/glovebox")

    def words(self, program, *more):
        user = [] if self.uid == os.geteuid() else ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}",
                                                    "--clear-groups"]
        return [*user, program, "run", *more]

    def run(self, words, **more):
        return subprocess.run(words, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
                              text=True, errors="replace", check=False, **more)

    def other_pids(self):
        """Of the other sandbox: its starter, its kernel, its first task, its program."""
        wait_for(lambda: children(self.other.pid) and children(children(self.other.pid)[0]))
        kernel = children(self.other.pid)[0]
        init = children(kernel)[0]
        wait_for(lambda: children(init))
        return [self.other.pid, kernel, init, *children(init)]

    def other_store(self):
        """A file in the other sandbox's own folder."""
        wait_for(lambda: glob.glob(os.path.join(self.store, ".glovebox-*")))
        folder = glob.glob(os.path.join(self.store, ".glovebox-*"))[0]
        self.write(os.path.join(folder, "1"), TEXT)
        return os.path.join(folder, "1")

    def end(self):
        self.other.kill()
        self.other.wait()


def attacks(world, listener, abstract):
    """(attack, its arguments, what comes of it in the jail, and without the filter or None: no matter)."""
    pids = [str(pid) for pid in (os.getpid(), *world.other_pids())]
    secrets = [world.secret, world.other_store(), "/etc/shadow", "/etc/hostname", "/etc/machine-id"]
    for path in secrets:
        yield "open-file", [path], REFUSED, REFUSED
    for path in (world.secret, "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/usr/planted"):
        yield "write-file", [path], REFUSED, REFUSED
    yield "read-file", ["/link", TEXT], REFUSED, REFUSED  # of the mounted folder, and leads out of it
    for name in ("make-files", "make-others", "write-own-code", "see-proc", "signal-processes", "send-descriptor"):
        yield name, [], REFUSED, REFUSED
    yield "see-environment", [TEXT], REFUSED, REFUSED
    for name in ("open-processes", "read-memory", "write-memory", "change-limits"):
        yield name, pids, REFUSED, REFUSED
    for name in ("kill", "ptrace"):
        yield name, pids, KILLED, REFUSED
    yield "connect-tcp", [str(listener.getsockname()[1])], KILLED, REFUSED
    yield "connect-unix", [abstract], KILLED, REFUSED
    for name in ("make-devices", "socket-raw", "attach-segment", "execute", "new-namespaces", "mount",
                 "make-writable", "enter-namespaces", "change-root", "map-code", "turn-into-code"):
        yield name, [], KILLED, REFUSED
    for name in ("socket-netlink", "fork", "execute-memory", "keys", "bpf", "io-uring", "userfaultfd", "perf",
                 "other-architecture", "other-numbers", "control-device", "map-file", "receive-descriptors",
                 "send-to-address", "connect-by-sending", "ask-peer", "change-socket"):
        yield name, [], KILLED, None


def outcome(done):
    if "ended by its seccomp filter" in done.stderr and not done.stdout:
        return KILLED
    return REFUSED if done.stdout.startswith("refused ") else done.stdout.strip() or done.stderr.strip()


def attack(world, name, mode, words, expected, label):
    done = world.run(world.words(world.evil, "-v", f"{world.mounted}:/mounted:ro", "--", name, mode, *words))
    expect(label, outcome(done), expected)


def check_attacks(world, who, chosen):
    listener = socket.create_server(("127.0.0.1", 0))
    abstract = "glovebox-" + os.urandom(8).hex()
    unix = socket.socket(socket.AF_UNIX)
    unix.bind("\0" + abstract)
    unix.listen()
    seen = {}
    for name, words, sealed, unfiltered in attacks(world, listener, abstract):
        seen[name] = seen.get(name, 0) + 1
        for mode, expected in (("sealed", sealed), ("unfiltered", unfiltered)):
            label = f"{who}/{mode}/{name}" + (f"-{seen[name]}" if seen[name] > 1 else "")
            if expected and wanted(label, chosen):
                attack(world, name, mode, words, expected, label)
    # That the attacks would see what they look for.
    if wanted(f"{who}/control", chosen):
        attack(world, "read-file", "sealed", ["/inside", TEXT], "reached /inside", f"{who}/control")
    listener.close()
    unix.close()


def check_unharmed(world, who):
    with open(world.secret, encoding="utf-8") as f:
        intact = f.read() == TEXT
    left = [name for name in os.listdir(world.mounted) if name not in ("inside", "link")]
    alive = world.other.poll() is None
    expect(f"{who}/unharmed", (intact, alive, left), (True, True, []))


def has_threads():
    """Whether a core does, or nobody says."""
    try:
        with open("/sys/devices/system/cpu/smt/active", encoding="ascii") as f:
            return f.read().strip() != "0"
    except OSError:
        return True


HAS_THREADS = has_threads()
LACKS = (
    # name; the call that fails, how, with which first argument; options; the control, whether it must be allowed to
    # be missing, and the report's word then
    ("landlock-not-built", (LANDLOCK_CREATE_RULESET, ENOSYS, "-"), [], "landlock", True, "missing"),
    ("landlock-off", (LANDLOCK_CREATE_RULESET, EOPNOTSUPP, "-"), [], "landlock", True, "missing"),
    ("speculation", (PRCTL, EINVAL, PR_SET_SPECULATION_CTRL), [], "speculation", False, "off"),
    ("speculation-asked-for", (PRCTL, EINVAL, PR_SET_SPECULATION_CTRL), ["--speculation-barriers"], "speculation",
     True, "missing"),
    ("core-scheduling", (PRCTL, EPERM, PR_SCHED_CORE), [], "core-scheduling", HAS_THREADS, "missing" if HAS_THREADS else "not-needed"),
    ("mdwe", (PRCTL, EINVAL, PR_SET_MDWE), [], "executable-memory", False, "in-force"),
)


def inspect(world, program, command, name):
    """The state of a control of a sandbox that runs."""
    p = subprocess.Popen([*command, "--name", "lacking", "--", "sleep", "1000"], env=world.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = {}

    def look():
        words = world.words(program, "--json", "lacking")
        words[words.index("run")] = "inspect"
        done = world.run(words)
        found.update(json.loads(done.stdout).get("seal", {}) if done.returncode == 0 else {})
        return name in found
    try:
        wait_for(look)
    finally:
        p.kill()
        p.wait()
    return found.get(name, {}).get("state")


def on_lacking(world, program, how, *options):
    """The words for glovebox run on a host that lacks something."""
    words = world.words(program, *options)
    at = words.index(program)
    return [*words[:at], world.lacking, *map(str, how), *words[at:]]


def expect(label, came, expected):
    say("ok" if came == expected else "FAIL", label, "" if came == expected else f"{came}, not {expected}")


def check_lacking(world, who, chosen):
    right = os.path.join(world.folder, "right/cli/glovebox")
    for name, how, options, control, must_be_allowed, state in LACKS:
        label = f"{who}/lacks/{name}"
        if not wanted(label, chosen):
            continue
        words = on_lacking(world, right, how, *options)
        if must_be_allowed:
            done = world.run([*words, "--", "true"])
            expect(f"{label}-refused", (done.returncode, f"--allow-missing {control}" in done.stderr), (125, True))
            words += ["--allow-missing", control]
        expect(label, world.run([*words, "--", "echo", "runs"]).stdout, "runs\n")
        expect(f"{label}-report", inspect(world, right, words, control), state)
    if wanted(f"{who}/control-without-landlock", chosen):
        words = on_lacking(world, world.evil, LACKS[0][1], "--allow-missing", "landlock", "--", "open-file", "sealed")
        expect(f"{who}/control-without-landlock", outcome(world.run([*words, "/etc/hostname"])),
               "reached /etc/hostname")


def wanted(label, chosen):
    return not chosen or any(word in label for word in chosen)


def main():
    chosen = sys.argv[1:]
    if not os.path.exists(os.path.join(BUILD, "tests/security/glovebox-kernel-compromised")):
        return say("skip", "jail", f"no glovebox-kernel-compromised in {BUILD}") or 0
    users = [("caller", os.geteuid())] + ([("user", NOBODY)] if os.geteuid() == 0 else [])
    for who, uid in users:
        with tempfile.TemporaryDirectory(prefix="glovebox-jail-") as folder:
            os.chmod(folder, 0o755)
            world = World(os.path.join(folder, "world"), uid)
            try:
                check_attacks(world, who, chosen)
                check_lacking(world, who, chosen)
                check_unharmed(world, who)
            finally:
                world.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
