#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts of tests/apps or tests/cases: each natively first, then in a sandbox.

    scripts.py FOLDER USER [WORD...]        USER: who they run as in the sandbox

A script's last line is `ok` when all is right, or `skip: REASON`, or `FAIL: REASON`. Lines at its head:
"# seconds: N" (other than 300), "# natively: no".
"""
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import threading

from common import GLOVEBOX, ROOT, clean_environment, detail, run, say

TOGETHER = 2
one_natively = threading.Lock()
INTERPRETERS = {".sh": "/bin/bash", ".py": "/usr/bin/python3"}


def head(path):
    with open(path, encoding="utf-8") as f:
        return dict(re.findall(r"^# (seconds|natively): (\S+)$", "".join(f.readlines()[:12]), re.M))


def natively(path, seconds):
    with tempfile.TemporaryDirectory(prefix="glovebox-native-") as home:
        return run([INTERPRETERS[os.path.splitext(path)[1]], path], seconds,
                   env=clean_environment(home), cwd=home)


def inside(path, seconds, user):
    guest = "/tests/" + os.path.basename(path)
    return run([GLOVEBOX, "run", "--user", user, "--timeout", str(seconds), "--mount",
                f"{os.path.dirname(path)}:/tests:ro", "--", INTERPRETERS[os.path.splitext(path)[1]],
                guest], seconds + 20)


def verdict_of(done, seconds):
    last = (done.output.strip().split("\n") or [""])[-1]
    if done.status is None or (done.status == 124 and last != "ok"):
        return "FAIL", f"took more than {seconds} seconds; last line: {last}"
    if done.status == 0 and last == "ok":
        return "ok", ""
    if done.status == 0 and last.startswith("skip: "):
        return "skip", last.removeprefix("skip: ")
    return "FAIL", f"status {done.status}: {last.removeprefix('FAIL: ')}"


def attempt(path, user):
    """(verdict, reason, what it said when that is of interest)."""
    options = head(path)
    seconds = int(options.get("seconds", 300))
    if options.get("natively") != "no":
        # One at a time: they share ports, names and limits there.
        with one_natively:
            done = natively(path, seconds)
        verdict, reason = verdict_of(done, seconds)
        if verdict != "ok":
            return "skip", ("" if verdict == "skip" else "fails ") + f"natively: {reason}", done.output
    done = inside(path, seconds, user)
    verdict, reason = verdict_of(done, seconds)
    return verdict, reason, done.output if verdict == "FAIL" else ""


def main():
    folder = os.path.join(ROOT, "tests", sys.argv[1])
    user, words = sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory(prefix="glovebox-scripts-") as copy, \
            concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        os.chmod(copy, 0o755)
        names = [n for n in sorted(os.listdir(folder)) if os.path.splitext(n)[1] in INTERPRETERS]
        for name in names:
            shutil.copy(os.path.join(folder, name), copy)
        names = [n for n in names if not words or any(word in n for word in words)]
        results = pool.map(lambda n: attempt(os.path.join(copy, n), user), names)
        for name, (verdict, reason, said) in zip(names, results):
            if said:
                detail(said)
            say(verdict, name, reason)


main()
