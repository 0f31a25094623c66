#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/security: hostile guests, against the sanitized kernel (GLOVEBOX); and the jail around a kernel that an
attacker has taken over, in the build without sanitizers, which make it wide."""
import os
import subprocess
import sys

from common import GLOVEBOX, ROOT, say

PLAIN = os.environ.get("PLAIN_BUILD", "build")


def main():
    program = os.path.join(ROOT, "tests/security/run_test.py")
    if not os.path.exists(program):
        say("skip", "run", "tests/security has no run_test.py")
        return
    done = subprocess.run(["/usr/bin/python3", program, *sys.argv[1:]], check=False,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, GLOVEBOX=GLOVEBOX))
    jail = subprocess.run(["/usr/bin/python3", os.path.join(ROOT, "tests/security/jail_test.py"), *sys.argv[1:]],
                          check=False, stdin=subprocess.DEVNULL, env=dict(os.environ, BUILD=PLAIN))
    sys.exit(0 if {done.returncode, jail.returncode} <= {0, 1} else 2)


main()
