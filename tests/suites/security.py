#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/security: hostile guests, against the sanitized kernel (GLOVEBOX); what the sanitized server leaks; that reports of sanitizers are
heard; the library and what serves strangers, by their end-to-end tests; and the jail around a kernel that an attacker has
taken over, in the build without sanitizers, which make it wide."""
import os
import subprocess
import sys

from common import GLOVEBOX, ROOT, detail, say

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from reports import Reports  # noqa: E402

E2E = ("library", "server_events", "server_files", "server_log", "server_programs", "server_protocol", "server_wire")
PLAIN = os.environ.get("PLAIN_BUILD", "build")


def main():
    statuses = set()
    for name, build in (("run", {"GLOVEBOX": GLOVEBOX}), ("deaf", {"GLOVEBOX": GLOVEBOX}), ("leaks", {"GLOVEBOX": GLOVEBOX}),
                        ("reports", {"GLOVEBOX": GLOVEBOX}), ("jail", {"BUILD": PLAIN})):
        program = os.path.join(ROOT, "tests/security", name + "_test.py")
        with Reports() as reports:
            done = subprocess.run(["/usr/bin/python3", program, *sys.argv[1:]], check=False, stdin=subprocess.DEVNULL,
                                  env={**os.environ, **build})
            said = reports.take()
        statuses.add(done.returncode)
        if said:
            detail(said)
            say("FAIL", f"{name}-reports", "a sanitizer has something to report")
    # All at once: mostly they wait.
    programs = [subprocess.Popen(["/usr/bin/python3", os.path.join(ROOT, f"tests/e2e/{name}_test.py"), *sys.argv[1:]], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, env={**os.environ, "GLOVEBOX": GLOVEBOX, "PLAIN_BUILD": PLAIN}) for name in E2E]
    for program in programs:
        sys.stdout.buffer.write(program.communicate()[0])
        sys.stdout.buffer.flush()
        statuses.add(program.returncode)
    sys.exit(0 if statuses <= {0, 1} else 2)


main()
