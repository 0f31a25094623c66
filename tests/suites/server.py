#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The end-to-end tests of glovebox serve, and a verdict on each row of tests/e2e/server_rows.py from all tests that show it, cases
of tests/sdk too. Words on the command line: rows, or parts of names of tests."""
import concurrent.futures
import sys
import time

from common import detail, e2e_programs, named_cases, say
from verdicts import FOLDER, run_program, tell_rows

sys.dont_write_bytecode = True
sys.path.insert(0, FOLDER)
import server_rows  # noqa: E402

TOGETHER = 3  # much of their time they wait
SECONDS = 1000


def is_row(word):
    return word.upper() in server_rows.ROWS


def words_for(program):
    """The words of the command line, a row's tests in its place; None when none of them is of this program."""
    named, words = set(named_cases(f"tests/e2e/{program}")), []
    for word in sys.argv[1:]:
        for test in server_rows.BY.get(word.upper(), []):
            words += [test] if test in named else server_rows.tests_with(program, test)
        words += [] if is_row(word) else [word]
    return words if words or len(sys.argv) < 2 else None


def run_one(program):
    words, began = words_for(program), time.monotonic()
    if words is None:
        return program, "", {}, 0, 0
    lines, said, status = run_program(program, words, SECONDS)
    return program, lines, said, status, time.monotonic() - began


def size_of(program):
    """The longest ones first, so that none of them is alone at the end."""
    return program in server_rows.PROGRAMS.values(), len(named_cases(f"tests/e2e/{program}"))


def main():
    verdicts = {}
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        runs = [pool.submit(run_one, program) for program in sorted(e2e_programs("server"), key=size_of, reverse=True)]
        for program, lines, said, status, seconds in (each.result() for each in concurrent.futures.as_completed(runs)):
            print(lines, end="\n" if lines else "", flush=True)
            detail(f"{program}: {seconds:.0f} s")
            if status not in (0, 1):
                say("FAIL", program, f"it took more than {SECONDS} seconds" if status is None else f"status {status}")
            for test in set(said) & set(verdicts):
                say("FAIL", test, "two tests have this name")
            verdicts |= said | server_rows.cases_shown(program, said)
    words = [word for word in sys.argv[1:] if is_row(word)]
    if words or len(sys.argv) < 2:
        tell_rows(server_rows, words, verdicts)


main()
