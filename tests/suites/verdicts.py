# SPDX-License-Identifier: Apache-2.0
"""What the suites with a table of rows share. A table is a module of tests/e2e: ROWS, a row's number and what it is about; BY,
a row's tests; UNTESTED, why a row has none; rows_of(), the rows that a test shows."""
import os

from common import GLOVEBOX, ROOT, VERDICT, run, say

FOLDER = os.path.join(ROOT, "tests/e2e")


def run_program(program, words, seconds):
    """An end-to-end test with these words: what it said, {test: (verdict, reason)}, and its status."""
    done = run(["/usr/bin/python3", os.path.join(FOLDER, program), *words], seconds, env=dict(os.environ, GLOVEBOX=GLOVEBOX))
    said = {m[2]: (m[1], m[3] or "") for m in map(VERDICT.match, done.output.split("\n")) if m}
    return done.output.rstrip(), said, done.status


def tell_row(table, row, verdicts):
    """verdicts: {test: (verdict, reason)} of all tests that were run, the row's among them."""
    shown = {test: verdict for test, verdict in verdicts.items() if row in table.rows_of(test)}
    failed = sorted(test for test, verdict in shown.items() if verdict[0] == "FAIL")
    missing = sorted(test for test in table.BY.get(row, []) if test not in shown)
    if failed:
        say("FAIL", row, f"{table.ROWS[row]}: {', '.join(failed)}")
    elif missing:
        say("FAIL", row, f"{table.ROWS[row]}: there is no test {', '.join(missing)}")
    elif any(verdict[0] == "ok" for verdict in shown.values()):
        say("ok", row, table.ROWS[row])
    elif shown:
        say("skip", row, next(iter(shown.values()))[1])
    elif row in table.UNTESTED:
        say("skip", row, table.UNTESTED[row])
    else:
        say("FAIL", row, f"{table.ROWS[row]}: no test shows it")


def tell_rows(table, words, verdicts):
    """Of all rows, or of those among the words."""
    words = [word.upper() for word in words]
    for row in table.ROWS:
        if not words or row in words:
            tell_row(table, row, verdicts)
