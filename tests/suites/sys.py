#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/sys: each case natively first, then in a sandbox, as an ordinary user and as root.

Linux itself says what is right: a case counts in the sandbox only when it passed natively with the same
kind of user. One that fails natively, or is skipped there, is skipped here, with that reason.
"""
import concurrent.futures
import os
import shutil
import tempfile

from common import GLOVEBOX, NATIVE_UID, clean_environment, detail, harness_cases, run, say, \
    tests_of, wanted

SECONDS = 400
TOGETHER = 3


def natively(program, user):
    """The verdicts of Linux; None when this kind of user can't be had here."""
    words = [program]
    if user == "user" and os.getuid() == 0:
        words = ["setpriv", f"--reuid={NATIVE_UID}", f"--regid={NATIVE_UID}", "--clear-groups",
                 program]
    elif user == "root" and os.getuid() != 0:
        return None
    return harness_cases(run(words, SECONDS, env=clean_environment("/tmp"), cwd="/tmp").output)


def inside(name, program, user):
    words = [GLOVEBOX, "run", "--timeout", str(SECONDS), "--user", user, "--env",
             "GLOVEBOX_TEST_INSIDE=1", "--mount", f"{program}:/test-{name}:ro", "--",
             f"/test-{name}"]
    done = run(words, SECONDS + 20)
    return done, harness_cases(done.output)


def compare(name, user, native, done, cases):
    for case, (verdict, reason) in cases.items():
        expected, why = native.get(case, ("ok", "")) if native is not None else ("ok", "")
        if expected == "FAIL":
            say("skip", f"{user}/{name}/{case}", f"fails natively: {why}")
        elif expected == "skip" and verdict == "FAIL":
            say("skip", f"{user}/{name}/{case}", f"natively: {why}")
        else:
            say(verdict, f"{user}/{name}/{case}", reason)
    if not cases:
        say("FAIL", f"{user}/{name}", f"status {done.status}: {done.output[-200:]}")
        return
    for case in sorted(set(native or {}) - set(cases)):
        say("FAIL", f"{user}/{name}/{case}", "did not come to its end")


def attempt(folder, name, built):
    """Both kinds of user, natively and inside: [(user, native, done, cases)]."""
    # A copy that every user can reach, wherever the build is.
    program = shutil.copy(built, os.path.join(folder, name))
    results = []
    for user in ("user", "root"):
        native = natively(program, user)
        results.append((user, native, *inside(name, program, user)))
    os.unlink(program)
    return results


def main():
    programs = [(name, built) for name, built in tests_of("sys") if wanted(name)]
    with tempfile.TemporaryDirectory(prefix="glovebox-sys-") as folder, \
            concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        os.chmod(folder, 0o755)
        # They mostly sleep.
        for (name, _), results in zip(programs, pool.map(lambda p: attempt(folder, *p), programs)):
            for user, native, done, cases in results:
                if any(verdict == "FAIL" for verdict, _ in cases.values()) or not cases:
                    detail(done.output, 200)
                compare(name, user, native, done, cases)


main()
