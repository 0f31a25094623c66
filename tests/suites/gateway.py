#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What leaves a sandbox: the end-to-end tests with an internet of their own, and a verdict on each row of tests/e2e/rows.py
from all tests that show it, unit tests too (those of UNIT_BUILD). Words on the command line: rows, or parts of names of tests."""
import concurrent.futures
import os
import sys

from common import BUILD, ROOT, e2e_programs, harness_cases, named_cases, run, tests_of
from verdicts import FOLDER, run_program, tell_rows

sys.dont_write_bytecode = True
sys.path.insert(0, FOLDER)
import rows  # noqa: E402

TOGETHER = 3  # much of their time they wait
SECONDS = 800
UNIT_BUILD = os.path.join(ROOT, os.environ.get("UNIT_BUILD", BUILD))


def is_wanted(test):
    words = [word.lower() for word in sys.argv[1:]]
    return not words or any(word in test.lower() if word.upper() not in rows.ROWS else word.upper() in rows.rows_of(test)
                            for word in words)


def run_e2e(program, tests):
    """What is told of it: lines, and {test: (verdict, reason)}."""
    lines, said, _ = run_program(program, tests if len(sys.argv) > 1 else [], SECONDS)
    lost = [test for test in tests if test not in said]
    lines += "".join(f"\nFAIL {test}: {program} ended without it" for test in lost)
    return lines, said | {test: ("FAIL", "") for test in lost}


def run_unit(program, path, tests):
    """Nothing is told of it: the suite unit does that."""
    done = run([path, *(test.split("/")[1] for test in tests)], SECONDS, cwd=UNIT_BUILD)
    cases = harness_cases(done.output)
    return "", {test: cases.get(test.split("/")[1], ("FAIL", "")) for test in tests}


def plan():
    """(function, arguments, tests): the end-to-end ones first, and of them those with many cases, so that none is alone at the end."""
    for program in sorted(e2e_programs("internet"), key=lambda name: -len(named_cases(f"tests/e2e/{name}"))):
        tests = [test for test in named_cases(f"tests/e2e/{program}") if is_wanted(test)]
        if tests:
            yield run_e2e, program, tests
    for program, path in tests_of("unit", UNIT_BUILD):
        source = f"tests/unit/{program}.c"
        tests = [test for test in (named_cases(source) if os.path.exists(os.path.join(ROOT, source)) else [])
                 if rows.rows_of(test) and is_wanted(test)]
        if tests:
            yield run_unit, program, path, tests


def main():
    verdicts = {}
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        for lines, said in pool.map(lambda job: job[0](*job[1:]), list(plan())):
            print(lines, end="\n" if lines else "", flush=True)
            verdicts |= said
    tell_rows(rows, sys.argv[1:], verdicts)


main()
