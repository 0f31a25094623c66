#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's own tests of Python (libpython3.11-testsuite), natively and in a sandbox: the same result.

Each test that passes natively must pass inside. Those that skip themselves inside though they ran
natively are named too. A test whose result is left to chance by its own making passes when it passes
once in TRIES runs: they are named in OF_CHANCE, each with the reason.
"""
import concurrent.futures
import os
import re
import tempfile

from common import GLOVEBOX, NATIVE_UID, clean_environment, detail, run, say, wanted

MODULES = ["test_os", "test_subprocess", "test_threading", "test_signal", "test_tempfile", "test_io",
           "test_mmap", "test_select"]
SECONDS = 400
TRIES = 20
OF_CHANCE = {
    # It counts the signals that came while its handler, and not SIG_IGN, was in place, and stops when
    # 100 were sent: one turn of the sending thread, at a moment when either may be. Natively 0 came in
    # one of six runs; later versions of Python wait for the first.
    "test_signal.StressTest.test_stress_modifying_handlers": "counts what one turn of a thread met",
}
LINE = re.compile(r"^(test\w*) \((\S+?)\)(?:.*?) \.\.\. (.*)$")
LATE = re.compile(r"^(FAIL|ERROR): (test\w*) \((\S+?)\)")

RAISED = re.compile(r"^[A-Za-z_.]*(Error|Exception|Expired|Interrupt|Failed)\b")


def results(output):
    """{test: (verdict, reason)} of a verbose run."""
    found, waiting, failed = {}, None, None
    for line in output.split("\n"):
        match = LINE.match(line)
        late = LATE.match(line)
        if late:
            failed = name_of(late[2], late[3])
            found[failed] = "FAIL", late[1].lower()
        elif failed and RAISED.match(line):
            found[failed], failed = ("FAIL", line), None
        elif match:
            waiting = name_of(match[1], match[2])
            note(found, waiting, match[3])
        elif re.match(r"^(test\w*) \((\S+?)\)$", line):
            waiting = name_of(*re.match(r"^(test\w*) \((\S+?)\)$", line).groups())
        elif waiting and waiting not in found:
            note(found, waiting, line.rpartition(" ... ")[2])
    return found


def name_of(method, where):
    where = where.removeprefix("test.")
    return where if where.endswith("." + method) else f"{where}.{method}"


def note(found, name, text):
    text = text.strip()
    if text == "ok" or text.endswith(" ok"):
        found[name] = "ok", ""
    elif text.startswith("skipped"):
        found[name] = "skip", text.removeprefix("skipped").strip(" '\"")
    elif text.startswith("expected failure"):
        found[name] = "ok", ""


def command(module):
    return ["/usr/bin/python3", "-m", "test", "-v", "-u", "none", module]


def natively(module):
    with tempfile.TemporaryDirectory(prefix="glovebox-python-") as home:
        os.chmod(home, 0o777)
        words = command(module)
        if os.getuid() == 0:
            words = ["setpriv", f"--reuid={NATIVE_UID}", f"--regid={NATIVE_UID}", "--clear-groups",
                     *words]
        return run(words, SECONDS, env=clean_environment(home), cwd=home)


def inside(words):
    return run([GLOVEBOX, "run", "--timeout", str(SECONDS), "--", *words], SECONDS + 20)


def passes_once(name):
    """Whether a test of chance passes in one of some more runs inside."""
    words = ["/usr/bin/python3", "-m", "unittest", f"test.{name}"]
    return any(inside(words).status == 0 for _ in range(TRIES - 1))


def compare(module, native, guest):
    expected, got = results(native.output), results(guest.output)
    if not expected:
        say("skip", module, f"does not run natively: {native.output[-200:]}")
        return
    for name, (verdict, reason) in sorted(got.items()):
        before, why = expected.get(name, ("ok", ""))
        if before != "ok":
            say("skip", name, f"natively: {why or before}")
        elif verdict == "FAIL" and name in OF_CHANCE and passes_once(name):
            say("ok", name, f"not in its first run: {OF_CHANCE[name]}")
        else:
            say(verdict, name, reason)
    for name in sorted(set(expected) - set(got)):
        if expected[name][0] == "ok":
            say("FAIL", name, "no result")
    if guest.status is None or guest.status == 124:
        say("FAIL", module, f"took more than {SECONDS} seconds")


def main():
    modules = [m for m in MODULES if wanted(m)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        native = pool.map(natively, modules)
        guest = pool.map(lambda module: inside(command(module)), modules)
        for module, before, after in zip(modules, native, guest):
            if any(v == "FAIL" for v, _ in results(after.output).values()):
                detail(after.output, 400)
            compare(module, before, after)


main()
