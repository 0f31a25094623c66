#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/e2e: the programs as their users meet them, and programs on a terminal. Those of glovebox serve are
the suite "server", those with an internet the suite "gateway"."""
import concurrent.futures
import os
import subprocess
import sys
import time

from common import GLOVEBOX, ROOT, detail, e2e_programs, named_cases

FOLDER = os.path.join(ROOT, "tests/e2e")


TOGETHER = 3  # much of their time they wait


def run(name):
    began = time.monotonic()
    done = subprocess.run(["/usr/bin/python3", os.path.join(FOLDER, name), *sys.argv[1:]],
                          env=dict(os.environ, GLOVEBOX=GLOVEBOX), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return name, done, time.monotonic() - began


def cases_of(name):
    return len(named_cases(f"tests/e2e/{name}"))


def main():
    broken = False
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        # Those with many cases first, so that none of them is alone at the end.
        runs = [pool.submit(run, name) for name in sorted(e2e_programs("plain"), key=cases_of, reverse=True)]
        for name, done, seconds in (each.result() for each in concurrent.futures.as_completed(runs)):
            sys.stdout.buffer.write(done.stdout)
            sys.stdout.buffer.flush()
            detail(f"{name}: {seconds:.0f} s")
            broken |= done.returncode not in (0, 1)
    sys.exit(2 if broken else 0)


main()
