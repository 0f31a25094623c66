#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/fuzz for a short while: the seeds that once found something, and some that nobody has tried.

The kernel is the sanitized one (BUILD). FUZZ_MS is how long a seed may go on.
"""
import os
import random
import subprocess
import sys

from common import ROOT

NEW_SEEDS = 8


def main():
    program = os.path.join(ROOT, "tests/fuzz/run")
    ms = os.environ.get("FUZZ_MS", "3000")
    first = random.SystemRandom().randrange(1, 1 << 30)
    broken = False
    for seeds in ([], ["--seeds", f"{first}-{first + NEW_SEEDS - 1}"]):
        done = subprocess.run(["/usr/bin/python3", program, "--ms", ms, *seeds], check=False,
                              stdin=subprocess.DEVNULL)
        broken |= done.returncode not in (0, 1)
    sys.exit(2 if broken else 0)


main()
