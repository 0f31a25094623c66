# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/run that are about glovebox serve: what its clients wait for, on loopback, with one, ten and a hundred
of them at once; and how many it carries.

Each row is (title, {place: text}, what is to be reached and whether it is). The places: the same on the machine itself,
without any sandbox; a client in C that costs next to nothing; E2B's SDK for JavaScript, which costs more than what it asks
for, and runs all commands in a login shell.
"""
import contextlib
import http.client
import json
import os
import re
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
PLACES = ("native", "raw client", "JS SDK")
SDK = ("e2b@2", "@e2b/code-interpreter@2")
AT_ONCE = (1, 10, 100)
CELLS_AT_ONCE = (1, 10, 60)  # of one context, which lets 64 wait
KEY = "e2b_" + "0" * 40
TRUE = ("/bin/true",)
SHELL = ("/bin/bash", "-l", "-c", "true")  # what the SDK makes of "true"
FILE_BYTES = 1 << 20
STREAMS, SANDBOXES = 1000, 300
HELD_BYTES = 256 << 20
HOLD = ("python3", "-c", f"import time; x = bytearray({HELD_BYTES}); print(1, flush=True); time.sleep(3600)")
TARGETS = {
    "first": (15e6, 40e6),  # ns, p50 and p99, of one at a time
    "start": (3e6, None),
    "socket": (1.5e6, None),
    "run_code": (60e6, None),
    "next_cell": (3e6, None),
    "file": 500e6,  # bytes a second
    "kill": 50e6,
    "pss": 20 << 20,
}


def ms(ns):
    return f"{ns / 1e6:.3g} ms"


def met(is_met):
    return "met" if is_met else "not met"


def times_of(samples):
    return f"{ms(limits.percentile(samples, 0.5))}, {ms(limits.percentile(samples, 0.99))}"


def verdict(name, samples):
    """Of p50, and where there is one of p99."""
    words = []
    for part, limit in zip((0.5, 0.99), TARGETS[name]):
        if limit:
            words.append(f"p{100 * part:.0f} {ms(limit)}: {met(limits.percentile(samples, part) <= limit)}")
    return "; ".join(words)


def ratio(samples, native):
    return f"{statistics.median(samples) / statistics.median(native):.3g} x native"


def lives(pid):
    """And is not only waited for."""
    return limits.read(f"/proc/{pid}/stat").rpartition(")")[2][1:2] not in ("", "Z", "X")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def native_memory_back():
    with subprocess.Popen(HOLD, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        begin = time.perf_counter_ns()
        run.kill()
        run.wait()
        return time.perf_counter_ns() - begin


class Server:
    def __init__(self, glovebox, folder):
        self.port = free_port()
        key_file = os.path.join(folder, "key")
        with open(key_file, "w", encoding="ascii") as f:
            f.write(KEY + "\n")
        self.process = subprocess.Popen(
            [glovebox, "serve", "--listen", str(self.port), "--state", os.path.join(folder, "state"), "--api-key-file", key_file,
             "--sandboxes", "1000", "--sandboxes-per-second", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if b"serves on" not in line:
            raise RuntimeError(f"glovebox serve did not start: status {self.process.wait()}")
        while b"API_KEY" not in line:
            line = self.process.stdout.readline()

    def ask(self, method, path, message=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, json.dumps(message) if message else None,
                               {"X-API-Key": KEY, "Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text!r}")
        return json.loads(text) if text else None

    def create(self, template="base"):
        made = self.ask("POST", "/v2/sandboxes", {"templateID": template, "timeout": 3600})
        return made["sandboxID"], made["envdAccessToken"]

    def kill(self, name):
        self.ask("DELETE", f"/sandboxes/{name}")

    def pss_bytes(self):
        """Of the server, and of the launcher that starts it."""
        server = [pid for pid in limits.tree([self.process.pid])
                  if limits.read(f"/proc/{pid}/cmdline").startswith("glovebox-server")]
        return [limits.pss_bytes(pid) for pid in (*server, self.process.pid)]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Bench:
    def __init__(self, glovebox, folder, server, quick):
        self.glovebox, self.folder, self.server = glovebox, folder, server
        self.samples = 60 if quick else 300
        self.rounds = 2 if quick else 5
        self.environment = {**os.environ, "E2B_API_URL": f"http://127.0.0.1:{server.port}",
                            "E2B_SANDBOX_URL": f"http://127.0.0.1:{server.port}", "E2B_API_KEY": KEY}
        self.has_sdk = self.install_sdk()

    def install_sdk(self):
        reason = "node or npm is not installed"
        if shutil.which("node") and shutil.which("npm"):
            shutil.copy(f"{BENCH}/sdk.mjs", self.folder)
            r = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", self.folder, *SDK],
                               capture_output=True, text=True, timeout=300)
            if r.returncode == 0:
                return True
            reason = f"{SDK[0]} can't be fetched: " + (r.stderr.strip().splitlines() or ["?"])[0]
        print(f"bench: {reason}: the column 'JS SDK' stays empty", file=sys.stderr)
        return False

    # ---- clients ----

    def raw(self, verb, at_once, *words, rounds=1):
        """Nanoseconds of each operation."""
        count = max(self.samples // rounds, 2 * at_once)
        r = subprocess.run([f"{self.folder}/requests", verb, str(at_once), str(count), *map(str, words)],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if r.returncode != 0:
            raise RuntimeError(r.stderr.strip())
        return [int(line) for line in r.stdout.split()]

    def sdk(self, verb, at_once, *words, rounds=1):
        count = max(self.samples // 3 // rounds, at_once)
        r = subprocess.run(["node", f"{self.folder}/sdk.mjs", verb, str(at_once), str(count), *map(str, words)],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self.environment)
        if r.returncode != 0:
            raise RuntimeError("the SDK: " + next((l for l in r.stderr.splitlines() if "rror" in l), r.stderr.strip()))
        return [int(line) for line in r.stdout.split()]

    def in_turns(self, **ways):
        """{place: nanoseconds}, of (function, arguments), a part of each in turn."""
        found = {place: [] for place in ways}
        for _ in range(self.rounds):
            for place, (way, *words) in ways.items():
                found[place] += way(*words, rounds=self.rounds)
        return found

    def texts(self, found):
        names = {"native": "native", "raw": "raw client", "sdk": "JS SDK"}
        return {names[place]: times_of(samples) for place, samples in found.items()}

    def ways(self, at_once, native, raw, sdk):
        ways = {"native": (self.raw, "spawn", at_once, *native), "raw": (self.raw, raw[0], at_once, *raw[1:])}
        if sdk and self.has_sdk:
            ways["sdk"] = (self.sdk, sdk, at_once)
        return ways

    # ---- rows ----

    def row(self, title, target, at_once, native, raw, sdk=None):
        found = self.in_turns(**self.ways(at_once, native, raw, sdk))
        words = ratio(found["raw"], found["native"])
        if target and at_once == 1:
            words = f"{verdict(target, found['raw'])}; {words}"
        return f"{title}, {at_once} at once, p50, p99", self.texts(found), words

    def first_rows(self):
        for command, name, target, sdk in ((TRUE, "true", "first", None), (SHELL, "bash -l -c true", None, "first")):
            for at_once in AT_ONCE:
                yield self.row(f"create to the first command's exit ({name})", target, at_once, command,
                               ("first", self.server.port, KEY, *command), sdk)

    def start_rows(self, name, token):
        for command, words, target, sdk in ((TRUE, "true", "start", None), (SHELL, "bash -l -c true", None, "start")):
            for at_once in AT_ONCE:
                yield self.row(f"{words} in a live sandbox", target, at_once, command,
                               ("start", self.server.port, name, token, *command), sdk)
        for at_once in AT_ONCE:
            yield self.row("true by the control socket", "socket", at_once, TRUE, ("socket", name, *TRUE))

    def file_rows(self, name, token):
        for verb in ("write", "read"):
            for at_once in AT_ONCE:
                ways = {"raw": (self.raw, verb, at_once, self.server.port, name, token, FILE_BYTES)}
                if self.has_sdk:
                    ways["sdk"] = (self.sdk, verb, at_once, FILE_BYTES)
                found = self.in_turns(**ways)
                rate = FILE_BYTES * at_once / statistics.median(found["raw"]) * 1e9
                words = f"{rate / 1e6:.3g} MB/s"
                if at_once == 1:
                    words = f"{TARGETS['file'] / 1e6:.0f} MB/s: {met(rate >= TARGETS['file'])}, {words}"
                yield f"{verb} a file of 1 MiB, {at_once} at once, p50, p99", self.texts(found), words

    def run_code_rows(self):
        python = ("/usr/bin/python3", "-c", "1 + 1")
        try:
            name, token = self.server.create("code-interpreter-v1")
            self.raw("cell", 1, self.server.port, name, token)
        except RuntimeError as e:
            yield "run_code", {}, f"not measured: {e}"
            return
        for at_once in AT_ONCE:
            yield self.row("first run_code of a fresh sandbox", "run_code", at_once, python,
                           ("code", self.server.port, KEY), "code")
        for at_once in CELLS_AT_ONCE:
            yield self.row("later run_code", "next_cell", at_once, python, ("cell", self.server.port, name, token), "cell")
        self.server.kill(name)

    def kill_rows(self):
        found = self.raw("kill", 1, self.server.port, KEY)
        yield ("kill to the end of its stream, p50, p99", {"raw client": times_of(found)},
               f"{ms(TARGETS['kill'])}: {met(limits.percentile(found, 0.5) <= TARGETS['kill'])}")
        back, native = [], []
        for _ in range(self.rounds * 2):
            back.append(self.memory_back())
            native.append(native_memory_back())
        yield (f"kill to the end of all its processes, {HELD_BYTES >> 20} MiB held, p50, p99",
               {"native": times_of(native), "raw client": times_of(back)},
               f"{ms(TARGETS['kill'])}: {met(limits.percentile(back, 0.5) <= TARGETS['kill'])}; {ratio(back, native)}")

    def memory_back(self):
        name, _ = self.server.create()
        with subprocess.Popen([self.glovebox, "exec", name, *HOLD], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as run:
            run.stdout.readline()
            shown = subprocess.run([self.glovebox, "inspect", "--json", name], capture_output=True, text=True, check=True)
            starter = int(re.search(r'"starter(?:_pid)?":\s*(\d+)', shown.stdout)[1])
            pids = limits.tree([starter])
            begin = time.perf_counter_ns()
            self.server.kill(name)
            while any(map(lives, pids)):
                pass
            return time.perf_counter_ns() - begin

    def hold_rows(self):
        idle = self.server.pss_bytes()
        shown = f"server {idle[0] / (1 << 20):.2f} MiB, launcher {idle[1] / (1 << 20):.2f} MiB"
        yield ("memory (PSS) of the idle server", {"raw client": shown},
               f"{TARGETS['pss'] >> 20} MiB: {met(0 < sum(idle) <= TARGETS['pss'])}")
        begin = time.monotonic()
        with subprocess.Popen([f"{self.folder}/requests", "hold", str(STREAMS), str(SANDBOXES), str(self.server.port), KEY],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
            is_held = run.stdout.readline() == "held\n"
            took = time.monotonic() - begin
            full = self.server.pss_bytes()
            if is_held:
                with contextlib.suppress(BrokenPipeError):
                    run.stdin.write("go\n")
                    run.stdin.flush()
            is_held = is_held and run.stdout.readline() == "alive\n"
            run.stdin.close()
        each = (full[0] - idle[0]) / STREAMS / 1024
        yield (f"{SANDBOXES} sandboxes at once and {STREAMS} open streams", {"raw client": f"{took:.3g} s" if is_held else "no"},
               f"{met(is_held)}; the server {full[0] / (1 << 20):.1f} MiB, {each:.2g} KiB a stream")

    def rows(self):
        yield from self.hold_rows()
        yield from self.first_rows()
        name, token = self.server.create()
        yield from self.start_rows(name, token)
        yield from self.file_rows(name, token)
        self.server.kill(name)
        yield from self.run_code_rows()
        yield from self.kill_rows()


def make_programs(glovebox, folder):
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(glovebox))), "library")
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", f"-I{BENCH}/../include", f"{BENCH}/requests.c", "-o",
                    f"{folder}/requests", f"-L{library}", f"-Wl,-rpath,{library}", "-lglovebox", "-pthread"], check=True)


def rows(glovebox, quick):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="glovebox-bench-") as folder:
        make_programs(glovebox, folder)
        server = Server(glovebox, folder)
        try:
            yield from Bench(glovebox, folder, server, quick).rows()
        finally:
            server.close()
