#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e: the programs as their users meet them, and programs on a terminal. The first word says which: "plain", or
"server", those of glovebox serve; those with an internet are the suite "gateway"."""
import concurrent.futures
import os
import subprocess
import sys

from common import GLOVEBOX, ROOT, e2e_programs

FOLDER = os.path.join(ROOT, "tests/e2e")


TOGETHER = 2  # much of their time they wait


def run(name):
    return subprocess.run(["/usr/bin/python3", os.path.join(FOLDER, name), *sys.argv[2:]],
                          env=dict(os.environ, GLOVEBOX=GLOVEBOX), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def main():
    broken = False
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        for done in pool.map(run, e2e_programs(sys.argv[1])):
            sys.stdout.buffer.write(done.stdout)
            sys.stdout.buffer.flush()
            broken |= done.returncode not in (0, 1)
    sys.exit(2 if broken else 0)


main()
