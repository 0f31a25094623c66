#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/security: hostile guests, against the sanitized kernel (GLOVEBOX); what the sanitized server leaks; and the jail around a kernel that an
attacker has taken over, in the build without sanitizers, which make it wide."""
import os
import subprocess
import sys

from common import GLOVEBOX, ROOT

PLAIN = os.environ.get("PLAIN_BUILD", "build")


def main():
    statuses = set()
    for name, build in (("run", {"GLOVEBOX": GLOVEBOX}), ("deaf", {"GLOVEBOX": GLOVEBOX}), ("leaks", {"GLOVEBOX": GLOVEBOX}), ("jail", {"BUILD": PLAIN})):
        program = os.path.join(ROOT, "tests/security", name + "_test.py")
        done = subprocess.run(["/usr/bin/python3", program, *sys.argv[1:]], check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, **build})
        statuses.add(done.returncode)
    sys.exit(0 if statuses <= {0, 1} else 2)


main()
