# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/run that are about the way out of a sandbox, beside the same connections made directly, by way of
socat, and of mitmproxy.

The servers are in a network namespace of their own, at public addresses (tests/e2e/internet.py): no packet leaves the
machine. Each row is (title, {place: text}, what is to be reached and whether it is).
"""
import contextlib
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import limits

BENCH = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(BENCH, "../tests/e2e"))
import internet  # noqa: E402

PLACES = ("native", "glovebox", "socat", "mitmproxy")
NAME = "api.good.test"
SOURCE, SINK, ECHO, HTTPS, TLS_ECHO = 5001, 5002, 5003, 5443, 5444  # as flows.c has them
GUEST = "/tmp/bench"
AGENT = 'echo up; while read words; do $0 $words 2>&1 </dev/null; echo "= $?"; done'
MANY, FLOWS, TERMINATED = 64, 10000, 300
CLIENTS = 4  # processes that greet
POLICIES = {
    "address": {"to": {"cidr": [internet.GOOD + "/32"]}, "proto": ["tcp"]},
    "name": {"to": {"domain": [NAME]}, "tls": "passthrough"},
    "https": {"to": {"domain": [NAME]}, "tls": "terminate", "http": {"method": ["GET"]}},
    "raw": {"to": {"domain": [NAME]}, "tls": "terminate", "l7": "raw"},
}
TARGETS = {
    "flow": 1e9,  # bytes a second
    "share": 0.5,  # slowest to fastest of many flows
    "added": 150e3,  # ns
    "https": 300e6,  # bytes a second a core
    "greet": 2000,  # connections a second a core
    "pss": 4 << 20,
    "live": 10e6,  # ns
}


def show_rate(bytes_a_second):
    return f"{bytes_a_second / 1e9:.3g} GB/s" if bytes_a_second >= 1e9 else f"{bytes_a_second / 1e6:.3g} MB/s"


def time_of(ns):
    return f"{ns / 1e3:.3g} µs" if ns < 999e3 else f"{ns / 1e6:.3g} ms"


def kib(size):
    return f"{size / 1024:.3g} KiB"


def met(is_met):
    return "met" if is_met else "not met"


class Place:
    """A shell that runs flows with the words of each line."""

    def __init__(self, name, command, program, host):
        self.name, self.host = name, host
        self.process = subprocess.Popen([*command, "sh", "-c", AGENT, program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pids = {}
        if self.process.stdout.readline() != "up\n":
            raise RuntimeError(f"{name}: did not start, status {self.process.wait()}")

    def run(self, verb, *words):
        """The numbers that it prints."""
        self.process.stdin.write(" ".join(map(str, (verb, *words))) + "\n")
        self.process.stdin.flush()
        lines = []
        while not (line := self.process.stdout.readline()).startswith("= "):
            if not line:
                raise RuntimeError(f"{self.name}: ended, with status {self.process.wait()}")
            lines.append(line.strip())
        if line != "= 0\n":
            raise RuntimeError(f"{self.name}: flows {verb}: {' '.join(lines) or line}")
        return [float(line) for line in lines]

    def cpu_seconds(self, comm):
        if comm not in self.pids:
            self.pids[comm] = find(self.process.pid, comm)
        return limits.cpu_seconds([self.pids[comm]])

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.terminate()
        self.process.wait()


def find(pid, comm):
    """The process of that name below pid."""
    for one in limits.tree([pid]):
        if limits.read(f"/proc/{one}/comm").startswith(comm):
            return one
    raise RuntimeError(f"no process {comm}")


class Bench:
    def __init__(self, glovebox, folder, net, quick):
        self.glovebox, self.folder, self.net = glovebox, folder, net
        self.rounds, self.span_ms, self.samples, self.flows = (2, 150, 300, 2000) if quick else (5, 400, 1000, FLOWS)
        self.started = []
        self.places = {"native": self.begin("native", [], f"{folder}/flows", internet.GOOD)}

    def begin(self, name, command, program, host):
        place = Place(name, command, program, host)
        self.started.append(place)
        return place

    def close_places(self):
        while self.started:
            self.started.pop().close()

    def sandbox_command(self, policy):
        path = f"{self.folder}/{policy}.json"
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "rules": [{"id": policy, "action": "allow", **POLICIES[policy]}],
                       "tls": {"extra_ca_pem": [self.net.root]}, "dns": {"resolvers": [internet.GOOD]},
                       "limits": {"max_flows": FLOWS + 1000, "max_new_per_s": 1000000}}, f)
        return [self.glovebox, "run", "--policy", path, "--mount", f"{self.folder}:{GUEST}:ro", "--"]

    def sandbox(self, policy):
        if policy not in self.places:
            host = internet.GOOD if policy == "address" else NAME
            self.places[policy] = self.begin("glovebox", self.sandbox_command(policy), f"{GUEST}/flows", host)
        return self.places[policy]

    def all_for(self, policy, *others):
        return [self.places["native"], self.sandbox(policy)] + [self.places[o] for o in others if o in self.places]

    def in_turns(self, places, *words):
        """{place: [numbers of a run, for each round]}; HOST stands for the one to call there."""
        found = {p.name: [] for p in places}
        for _ in range(self.rounds):
            for p in places:
                found[p.name].append(p.run(*[p.host if w == "HOST" else w for w in words]))
        return found

    # ---- bytes ----

    def flow_rows(self):
        for verb, title in (("down", "download"), ("up", "upload")):
            found = self.in_turns(self.all_for("address", "socat"), verb, "HOST", 1, self.span_ms)
            rates = {p: statistics.median(r[0] for r in runs) for p, runs in found.items()}
            part = rates["glovebox"] / rates["native"]
            yield (f"one flow, {title}", {p: show_rate(r) for p, r in rates.items()},
                   f"{show_rate(TARGETS['flow'])}: {met(rates['glovebox'] >= TARGETS['flow'])}, {part:.2f} x native")

    def many_rows(self):
        for verb, title in (("down", "download"), ("up", "upload")):
            found = self.in_turns(self.all_for("address", "socat"), verb, "HOST", MANY, self.span_ms)
            sums = {p: statistics.median(sum(r) for r in runs) for p, runs in found.items()}
            shares = {p: statistics.median(min(r) / max(r) for r in runs) for p, runs in found.items()}
            yield f"{MANY} flows at once, {title}", {p: show_rate(r) for p, r in sums.items()}, ""
            yield (f"{MANY} flows, {title}: slowest to fastest", {p: f"{s:.2f}" for p, s in shares.items()},
                   f"{TARGETS['share']}: {met(shares['glovebox'] >= TARGETS['share'])}")

    # ---- times ----

    def times(self, places, *words):
        """Texts of p50 and p99 for each place, and the p50."""
        texts, medians = {}, {}
        for name, runs in self.in_turns(places, *words).items():
            values = [v for r in runs for v in r]
            medians[name] = limits.percentile(values, 0.5)
            texts[name] = f"{time_of(medians[name])}, {time_of(limits.percentile(values, 0.99))}"
        return texts, medians

    def added(self, medians):
        by = max(medians["glovebox"] - medians["native"], 0)
        return f"native + {time_of(TARGETS['added'])}: {met(by <= TARGETS['added'])}, + {time_of(by)}"

    def echo_row(self, title, policy, port, *others):
        sandbox = self.sandbox(policy)
        parts = ("glovebox-kern", "glovebox-gate")
        before = [sandbox.cpu_seconds(part) for part in parts]
        texts, medians = self.times(self.all_for(policy, *others), "echo", "HOST", port, self.samples)
        count = self.rounds * (self.samples + self.samples // 10)
        used = [(sandbox.cpu_seconds(part) - b) / count * 1e9 for part, b in zip(parts, before)]
        return (f"{title}, p50, p99", texts,
                f"{self.added(medians)}; processor: kernel {time_of(used[0])}, gateway {time_of(used[1])}")

    def round_trip_rows(self):
        texts, _ = self.times(self.all_for("address"), "loop", self.samples)
        yield "a byte there and back on loopback, p50, p99", texts, "the kernel's part, at both ends"
        yield self.echo_row("a byte to a server and back", "address", ECHO, "socat")
        yield self.echo_row("the same in TLS that passes through", "name", TLS_ECHO)
        yield self.echo_row("the same in TLS that is terminated", "raw", TLS_ECHO)

    def connect_rows(self):
        for policy in ("address", "name"):
            texts, medians = self.times(self.all_for(policy, "socat"), "connect", "HOST", self.samples // 5)
            yield (f"connect + first byte, by {policy}, p50, p99", texts,
                   f"native + {time_of(medians['glovebox'] - medians['native'])}")

    def live_rows(self):
        """From the command that sets another policy to its word that this one is in force."""
        name = f"bench-{os.getpid()}"
        files = [self.sandbox_command(policy) and f"{self.folder}/{policy}.json" for policy in ("address", "name")]
        words = self.sandbox_command("name")
        words[2:2] = ["--name", name]
        place = self.begin("glovebox", words, f"{GUEST}/flows", NAME)
        values = []
        for turn in range(self.samples // 10):
            begin = time.monotonic_ns()
            subprocess.run([self.glovebox, "policy", "set", name, files[turn % 2]], check=True, capture_output=True)
            values.append(time.monotonic_ns() - begin)
        place.close()
        self.started.remove(place)
        median, most = (limits.percentile(values, part) for part in (0.5, 0.99))
        yield ("another policy in force, p50, p99", {"glovebox": f"{time_of(median)}, {time_of(most)}"},
               f"{time_of(TARGETS['live'])}: {met(median <= TARGETS['live'])}; with the command's own start")

    # ---- TLS that is terminated ----

    def of_a_core(self, verb, *words):
        """What all places do by HTTPS, in turns, and the gateway's processor seconds for all of the sandbox's rounds."""
        sandbox = self.sandbox("https")
        before = sandbox.cpu_seconds("glovebox-gate")
        found = self.in_turns(self.all_for("https", "mitmproxy"), verb, "HOST", *words)
        return found, max(sandbox.cpu_seconds("glovebox-gate") - before, 0.01)

    def https_rows(self):
        found, used = self.of_a_core("fetch", self.span_ms)
        rates = {p: statistics.median(r[0] for r in runs) for p, runs in found.items()}
        a_core = sum(r[1] for r in found["glovebox"]) / used
        yield ("download by HTTPS, terminated", {p: show_rate(r) for p, r in rates.items()},
               f"{show_rate(TARGETS['https'])} a core of the gateway: {met(a_core >= TARGETS['https'])}, {show_rate(a_core)}")
        for how, title in (("resume", "that resume a session"), ("anew", "that resume none")):
            found, used = self.of_a_core("greet", CLIENTS, self.span_ms, how)
            rates = {p: statistics.median(r[0] for r in runs) for p, runs in found.items()}
            a_core = sum(r[0] for r in found["glovebox"]) * self.span_ms / 1e3 / used
            shares = [f"{p} {statistics.median(r[1] for r in found[p]):.0f} %" for p in ("native", "glovebox")]
            target = f"{TARGETS['greet']} a core of the gateway: {met(a_core >= TARGETS['greet'])}, "
            yield (f"HTTPS connections {title}, terminated, a second", {p: f"{r:.0f}" for p, r in rates.items()},
                   f"{target if how == 'resume' else 'a core of the gateway: '}{a_core:.0f}; resumed: {', '.join(shares)}")

    # ---- memory ----

    def hold(self, policy, port, count):
        """Bytes of gateway and kernel when idle, then for each of so many flows, and the seconds that those took."""
        host = internet.GOOD if policy == "address" else NAME
        command = [*self.sandbox_command(policy), "sh", "-c",
                   f"echo up; read go; exec {GUEST}/flows hold {host} {port} {count}"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            try:
                self.expect(run, "up")
                pids = [find(run.pid, part) for part in ("glovebox-gate", "glovebox-kern")]
                time.sleep(0.3)
                idle = [limits.pss_bytes(pid) for pid in pids]
                begin = time.monotonic()
                run.stdin.write("go\n")
                run.stdin.flush()
                self.expect(run, "held")
                took = time.monotonic() - begin
                full = [limits.pss_bytes(pid) for pid in pids]
                run.stdin.write("go\n")
                run.stdin.flush()
                self.expect(run, "alive")
                return idle, [(f - i) / count for f, i in zip(full, idle)], took
            finally:
                run.terminate()

    @staticmethod
    def expect(run, line):
        if run.stdout.readline().strip() != line:
            run.terminate()
            raise RuntimeError(run.stderr.read().strip().rpartition("\n")[2] or "the sandbox ended")

    def hold_rows(self):
        self.close_places()  # what gateways share would count in parts only
        for policy, port, count, title in (("address", ECHO, self.flows, "flows held"),
                                           ("name", ECHO, self.flows, "flows by name held"),
                                           ("raw", TLS_ECHO, TERMINATED, "flows of terminated TLS held")):
            try:
                idle, each, took = self.hold(policy, port, count)
            except RuntimeError as e:
                yield f"{count} {title}", {"glovebox": "no"}, f"not met: {e}"
                continue
            if policy == "address":
                yield ("memory (PSS) of an idle gateway", {"glovebox": f"{idle[0] / (1 << 20):.1f} MiB"},
                       f"{TARGETS['pss'] >> 20} MiB: {met(idle[0] <= TARGETS['pss'])}")
            yield (f"{count} {title}, opened in", {"glovebox": f"{took:.3g} s"},
                   f"all at once: met; each: gateway {kib(each[0])}, kernel {kib(each[1])}")

    # ---- other ways ----

    def start_socat(self):
        """One that forks for each connection, a port each."""
        started = []
        for port in (SOURCE, SINK, ECHO):
            words = [f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,backlog=1024,nodelay",
                     f"TCP:{internet.GOOD}:{port},nodelay"]
            started.append(subprocess.Popen(["socat", *words], stderr=subprocess.DEVNULL))
        self.places["socat"] = self.begin("socat", [], f"{self.folder}/flows", "127.0.0.1")
        wait_for_port(ECHO)
        return started

    def start_mitmproxy(self):
        words = ["--quiet", "--mode", f"reverse:https://{NAME}:{HTTPS}", "--listen-host", "127.0.0.1", "--listen-port",
                 str(HTTPS), "--ssl-insecure", "--set", "stream_large_bodies=1m", "--set",
                 f"confdir={self.folder}/mitmproxy"]
        started = subprocess.Popen(["mitmdump", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.places["mitmproxy"] = self.begin("mitmproxy", [], f"{self.folder}/flows", "127.0.0.1")
        wait_for_port(HTTPS)
        return [started]

    def rows(self):
        others = []
        try:
            for name, program, start in (("socat", "socat", self.start_socat),
                                         ("mitmproxy", "mitmdump", self.start_mitmproxy)):
                if shutil.which(program):
                    others += start()
                else:
                    print(f"bench: {program} is not installed: the column {name} stays empty", file=sys.stderr)
            for part in (self.flow_rows, self.many_rows, self.round_trip_rows, self.connect_rows,
                         self.live_rows, self.https_rows, self.hold_rows):
                yield from part()
        finally:
            self.close_places()
            for process in others:
                process.terminate()
                process.wait()


def wait_for_port(port):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens at port {port}")


def widen_ports():
    """Of this namespace: thousands that are over and done with make it slow to find a free one."""
    with contextlib.suppress(OSError), open("/proc/sys/net/ipv4/ip_local_port_range", "w", encoding="ascii") as f:
        f.write("10000 65000")


def why_not():
    """Why there can be no measurement here, or None."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    for program in ("ip", "nsenter", "openssl"):
        if not shutil.which(program):
            return f"needs {program}; install it"
    if not internet.veth_is_there():
        return "needs network interfaces of type veth, which this machine's kernel does not make"
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < FLOWS + 1000:
        return f"needs {FLOWS + 1000} descriptors, and the limit is {hard}; raise it (ulimit -Hn)"
    return None


def rows(glovebox, quick):
    with tempfile.TemporaryDirectory(prefix="glovebox-bench-") as folder:
        os.chmod(folder, 0o755)
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", f"{BENCH}/flows.c", "-o", f"{folder}/flows",
                        "-lssl", "-lcrypto"], check=True)
        net = internet.Internet(folder)
        widen_ports()
        server = subprocess.Popen(["nsenter", f"--net=/proc/{net.process.pid}/ns/net", f"{folder}/flows", "serve",
                                   internet.GOOD, f"{folder}/good.pem", f"{folder}/key.pem"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            if server.stdout.readline() != b"ready\n":
                raise RuntimeError("the servers did not start")
            yield from Bench(glovebox, folder, net, quick).rows()
        finally:
            server.stdin.close()
            server.stdout.close()
            server.wait()
            net.close()
