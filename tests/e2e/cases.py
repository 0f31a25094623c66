# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the real program, a case with a folder of its own, one line a case.

GLOVEBOX names another program than build/cli/glovebox.
"""
import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from reports import Reports
from terminal import Terminal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GLOVEBOX = os.environ.get("GLOVEBOX", os.path.join(ROOT, "build/cli/glovebox"))
LIMIT = 120  # seconds after which a run counts as hanging: a machine may have much else to do
GRACE = 3  # seconds that one which nobody needs any more has to end by itself: a program may ignore it for two


@functools.cache
def is_sanitized():
    """With ASan what is freed is kept for a while: what a process holds says little of it."""
    with open(GLOVEBOX, "rb") as f:
        return b"__asan_init" in f.read()


SLOW = re.compile(rb"\Aglovebox: host: this Linux is older than 6\.6, [^\n]+; [^\n]+\n")


def heard(text):
    """What standard error got, without the line that comes first on a Linux which is slow for Glovebox."""
    return SLOW.sub(b"", text)


def run(*words, input=b"", env=None, **more):
    """glovebox run WORDS... with the output as bytes."""
    done = subprocess.run([GLOVEBOX, "run", *words], input=input, env=env, capture_output=True,
                          timeout=LIMIT, **more)
    done.stderr = heard(done.stderr)
    return done


def start(*words, **more):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([GLOVEBOX, "run", *words], **{**streams, **more})


def stat_fields(pid):
    """The fields of /proc/PID/stat behind the name, or None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()
    except OSError:
        return None


def descendants(pid):
    """(pid, start time) of everything below a process."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = stat_fields(name)
            if fields:
                children.setdefault(int(fields[1]), []).append((int(name), fields[19]))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += [child for child, _ in below]
    return found


def is_alive(process):
    fields = stat_fields(process[0])
    return fields is not None and fields[19] == process[1] and fields[0] not in "ZX"


def rests(pid):
    """Whether a process goes to sleep, again and again, by itself: one that is busy with nothing never does."""
    def sleeps():
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", f.read(), re.M).group(1))
    before = sleeps()
    return wait_until(lambda: sleeps() >= before + 5)


def wait_until(condition, seconds=LIMIT):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def where_it_waits(pid):
    """The name of the function of the host that it sleeps in."""
    with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
        return f.read()


def waits_on_a_socket(pid):
    """It is connected, and sleeps until something comes."""
    return any(word in where_it_waits(pid) for word in ("unix_", "recv", "skb"))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="glovebox-e2e-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content if isinstance(content, bytes) else content.encode())
        return path

    def start(self, *words, **more):
        process = start(*words, **more)

        def end():
            """As whoever wants it ended: one that is killed leaves its cgroups to the next start with its folder."""
            process.terminate()
            process.send_signal(signal.SIGCONT)
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.addCleanup(end)
        return process

    def expect(self, done, status=0, out=None, err=None):
        said = f"stdout {done.stdout[-2000:]!r}, stderr {done.stderr[-2000:]!r}"
        self.assertEqual(done.returncode, status, said)
        if out is not None:
            self.assertEqual(done.stdout, out, said)
        if err is not None:
            self.assertEqual(heard(done.stderr), err, said)

    def expect_refused(self, done, pattern, status=125):
        """One line that says what is wrong and what to do."""
        text = heard(done.stderr).decode()
        statuses = status if isinstance(status, tuple) else (status,)
        self.assertIn(done.returncode, statuses, text)
        self.assertEqual(done.stdout, b"")
        self.assertRegex(text, r"\Aglovebox: [^\n]+: [^\n]+; [^\n]+\n\Z")
        self.assertRegex(text, pattern)


class Tty(Case):
    def open(self, *words, size=(24, 80)):
        terminal = Terminal([GLOVEBOX, "run", *words], size)
        self.addCleanup(terminal.close)
        return terminal


class Lines(unittest.TestResult):
    """Prints one line a case as it ends. A case in whose time a sanitizer has something to report has failed."""

    def __init__(self, reports=None):
        super().__init__()
        self.lines = {}
        self.reports = reports

    def name(self, test):
        words = test.id().split(".")
        return f"{words[-2].lower()}_{words[-1].removeprefix('test_')}"

    def fail(self, test, error):
        print("  " + self._exc_info_to_string(error, test).strip().replace("\n", "\n  "))
        self.lines[self.name(getattr(test, "test_case", test))] = "FAIL"

    def startTest(self, test):
        self.lines[self.name(test)] = "ok"

    def addError(self, test, error):
        self.fail(test, error)

    def addFailure(self, test, error):
        self.fail(test, error)

    def addSubTest(self, test, subtest, error):
        if error:
            print(f"  with {subtest._message}")
            self.fail(subtest, error)

    def addSkip(self, test, reason):
        self.lines[self.name(test)] = f"skip: {reason}"

    def expect_no_report(self, name):
        said = self.reports.take() if self.reports else ""
        if said:
            print("  a sanitizer says:\n  " + said.strip().replace("\n", "\n  "))
            self.lines[name] = "FAIL"

    def stopTest(self, test):
        name = self.name(test)
        self.expect_no_report(name)
        verdict, _, reason = self.lines[name].partition(": ")
        print(f"{verdict} {name}" + (f": {reason}" if reason else ""), flush=True)


def main(module):
    """All cases of a module, or those whose name has one of the words of the command line in it."""
    if not os.access(GLOVEBOX, os.X_OK):
        sys.exit(f"{GLOVEBOX}: not there; build it with: ninja -C build")
    with Reports() if is_sanitized() else contextlib.nullcontext() as reports:
        result = Lines(reports)
        for case in unittest.defaultTestLoader.loadTestsFromModule(module):
            for test in case:
                if len(sys.argv) < 2 or any(word in result.name(test) for word in sys.argv[1:]):
                    test.run(result)
    sys.exit(1 if "FAIL" in result.lines.values() else 0)
