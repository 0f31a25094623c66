#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/fuzz for a short while: system calls with the seeds that once found something and some that
nobody has tried, and libFuzzer on what parses a stranger's bytes outside of the kernel.

The kernel is the sanitized one (BUILD). FUZZ_MS is how long a seed, or a target, may go on; FUZZ_TARGETS are
others than those that need no kernel made by clang, which takes minutes.
"""
import concurrent.futures
import os
import random
import subprocess
import sys

from common import ROOT, detail, say

sys.path.insert(0, os.path.join(ROOT, "tests/fuzz"))
import libfuzzer  # noqa: E402

NEW_SEEDS = 8
TARGETS = os.environ.get("FUZZ_TARGETS", "text values config record control_starter").split()


def fuzz_targets(seconds):
    """From the kept inputs on (the unit tests replay them)."""
    wrong = libfuzzer.build(TARGETS) if libfuzzer.clang() else None
    if wrong:
        detail(wrong)
    for name in TARGETS:
        if not libfuzzer.clang():
            say("skip", f"target-{name}", "no clang")
        elif wrong:
            say("FAIL", f"target-{name}", "can't be built")
        else:
            status, said = libfuzzer.fuzz(name, seconds)
            if status != 0:
                detail(said)
            say("FAIL" if status else "ok", f"target-{name}", said.splitlines()[-1] if status else "")


def fuzz_calls(ms):
    """What was said, and whether the program itself did not work."""
    program = os.path.join(ROOT, "tests/fuzz/run")
    first = random.SystemRandom().randrange(1, 1 << 30)
    said, broken = "", False
    for seeds in ([], ["--seeds", f"{first}-{first + NEW_SEEDS - 1}"]):
        done = subprocess.run(["/usr/bin/python3", program, "--ms", ms, *seeds], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said += done.stdout.decode(errors="replace")
        broken |= done.returncode not in (0, 1)
    return said, broken


def main():
    ms = os.environ.get("FUZZ_MS", "2000")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        calls = pool.submit(fuzz_calls, ms)
        fuzz_targets(max(1, int(ms) // 1000))
        said, broken = calls.result()
    sys.stdout.write(said)
    sys.exit(2 if broken else 0)


main()
