#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/unit: each library and room of the kernel alone, built with ASan and UBSan (BUILD)."""
import os

from common import BUILD, detail, harness_cases, run, say, tests_of, wanted


def main():
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:abort_on_error=0",
               UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    for name, program in tests_of("unit"):
        if not wanted(name):
            continue
        done = run([program], 400, env=env, cwd=BUILD)
        detail(done.output)
        cases = harness_cases(done.output)
        for case, (verdict, reason) in cases.items():
            say(verdict, f"{name}/{case}", reason)
        if done.status is None:
            say("FAIL", name, "took more than 120 seconds")
        elif not cases or (done.status != 0 and all(v != "FAIL" for v, _ in cases.values())):
            say("FAIL", name, f"status {done.status}")


main()
