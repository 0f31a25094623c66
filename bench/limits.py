# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/run that are about many sandboxes: what an idle one costs, and what others feel.

Each figure is a row (title, value as text, what is to be reached and whether it is).
"""
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

BENCH = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(BENCH, "../tests/bombs")
sys.path.insert(0, TESTS)
from run_test import BOMBS, COMMANDS  # noqa: E402

STARTERS = 2  # sandboxes that are started at the same time
RUNS = 200  # of true, for its percentiles
BOMB_SECONDS = 20
SMALL = ["--memory", "256M", "--pids", "64", "--disk", "256M", "--inodes", "20000"]
P99_RATIO = 20  # what a bomb may make of the quiet one


def ms(seconds):
    return f"{seconds * 1e3:.3g} ms"


def percentile(values, part):
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def tree(pids):
    """These processes and all below them."""
    children = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if fields:
            children.setdefault(int(fields[1]), []).append(int(pid))
    found, todo = [], list(pids)
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def pss_bytes(pid):
    found = re.search(r"^Pss:\s+(\d+) kB", read(f"/proc/{pid}/smaps_rollup"), re.M)
    return int(found[1]) * 1024 if found else 0


def cpu_seconds(pids):
    sum_ticks = 0
    for pid in pids:
        fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if fields:
            sum_ticks += int(fields[11]) + int(fields[12])
    return sum_ticks / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, glovebox, count, quick):
        self.glovebox, self.count = glovebox, count
        self.runs = RUNS // 5 if quick else RUNS
        self.options = ["--sandboxes", str(count + 20)]

    def true_seconds(self, runs):
        times = []
        for _ in range(runs):
            begin = time.perf_counter()
            subprocess.run([self.glovebox, "run", *self.options, "--", "/bin/true"], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - begin)
        return times

    def start_idle(self, _number):
        process = subprocess.Popen([self.glovebox, "run", *self.options, "--", "/bin/sh", "-c",
                                    "echo up; exec sleep 3600"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if process.stdout.readline() != b"up\n":
            raise RuntimeError(f"a sandbox did not start: status {process.wait()}")
        return process

    def idle_rows(self, quiet):
        running = []
        begin = time.perf_counter()
        try:
            with ThreadPoolExecutor(STARTERS) as pool:
                for process in pool.map(self.start_idle, range(self.count)):
                    running.append(process)
            took = time.perf_counter() - begin
            yield "sandboxes started in a second, two at a time", f"{self.count / took:.3g}", ""
            time.sleep(2)
            yield from self.cost_rows([p.pid for p in running])
            times = self.true_seconds(self.runs)
            for part in (0.5, 0.99):
                yield (f"true while {self.count} idle, {100 * part:.0f}th percentile", ms(percentile(times, part)),
                       f"quiet: {ms(percentile(quiet, part))}")
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()
                process.stdout.close()

    def cost_rows(self, starters):
        parts = {"glovebox": list(starters)}
        parts["kernel"] = [pid for pid in tree(starters) if "glovebox-kern" in read(f"/proc/{pid}/comm")]
        everything = tree(starters)
        sums = {name: sum(map(pss_bytes, pids)) for name, pids in parts.items()}
        whole = sum(map(pss_bytes, everything))
        if not sums["kernel"]:
            yield "memory (PSS) of an idle sandbox", "not measured: only root can read it", ""
        else:
            each = [f"{value / self.count / (1 << 20):.2f} MiB" for value in (whole, sums["kernel"], sums["glovebox"])]
            yield (f"memory (PSS) of each of {self.count} idle sandboxes", each[0],
                   f"its kernel {each[1]}, glovebox {each[2]}, its programs the rest")
        seconds, before = 10, cpu_seconds(everything)
        time.sleep(seconds)
        used = (cpu_seconds(everything) - before) / seconds
        yield f"processor time of {self.count} idle sandboxes", f"{100 * used:.2g} % of one", \
            f"none: {'met' if used < 0.005 else 'not met'}"

    def light(self, command):
        return subprocess.Popen([self.glovebox, "run", *self.options, *SMALL, "--timeout", str(BOMB_SECONDS), *command],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def seconds_beside(self, command):
        """Of true while a bomb goes off, again whenever it has ended; and how many went off."""
        times, until, lit = [], time.monotonic() + BOMB_SECONDS / 2, 1
        bomb = self.light(command)
        try:
            time.sleep(0.2)
            while time.monotonic() < until and len(times) < self.runs:
                if bomb.poll() is not None:
                    bomb = self.light(command)
                    lit += 1
                times += self.true_seconds(1)
        finally:
            bomb.terminate()
            bomb.wait()
        return times, lit

    def bomb_rows(self, folder, quiet):
        limit = P99_RATIO * percentile(quiet, 0.99)
        bombs = {name: ["--mount", f"{folder}/bombs:/bombs:ro", "--", "/bombs", name] for name in BOMBS}
        bombs |= {name: ["--", *command] for name, (command, _) in COMMANDS.items()}
        for name, command in bombs.items():
            times, lit = self.seconds_beside(command)
            p99 = percentile(times, 0.99)
            yield (f"true beside the bomb {name}, 99th percentile of {len(times)}", ms(p99),
                   f"{P99_RATIO} x quiet: {'met' if p99 <= limit else 'not met'}, {p99 / percentile(quiet, 0.99):.2g} x"
                   + (f"; {lit} went off, one after the other" if lit > 1 else ""))


def rows(glovebox, count, quick):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * count + 1000), hard))
    bench = Bench(glovebox, count, quick)
    bench.true_seconds(5)
    quiet = bench.true_seconds(bench.runs)
    yield "true on a quiet machine, 50th percentile", ms(statistics.median(quiet)), ""
    yield "true on a quiet machine, 99th percentile", ms(percentile(quiet, 0.99)), ""
    with tempfile.TemporaryDirectory(prefix="glovebox-bench-") as folder:
        os.chmod(folder, 0o755)
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-static", "-pthread",
                        os.path.join(TESTS, "bombs.c"), "-o", f"{folder}/bombs"], check=True)
        yield from bench.bomb_rows(folder, quiet)
    yield from bench.idle_rows(quiet)
