#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what a suite says on standard input, one line a case: "ok NAME", "FAIL NAME: REASON",
"skip NAME: REASON". All of it goes to the log; failures go to the terminal too.

    tally.py SUITE LOG COUNTS [EXPECTED]

EXPECTED has the differences that are known and open: "NAME: REASON" a line, where NAME may have
wildcards. Such a case counts as skipped when it fails, and is named on the terminal when it passes, so
that the line can go.
"""
import fnmatch
import os
import re
import sys

VERDICT = re.compile(r"(ok|FAIL|skip) ([^:\s]+)(?:: (.*))?$")


def read_expected(path):
    rules = []
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                name, _, reason = line.strip().partition(": ")
                if name and not name.startswith("#"):
                    if not reason:
                        sys.exit(f"{path}: no reason for {name}")
                    rules.append((name, reason))
    return rules


def main():
    suite, log_path, counts_path = sys.argv[1:4]
    rules = read_expected(sys.argv[4] if len(sys.argv) > 4 else None)
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    last = ""
    with open(log_path, "a", encoding="utf-8") as log:
        for raw in sys.stdin.buffer:
            line = raw.decode(errors="replace").rstrip("\n")
            match = VERDICT.match(line)
            if not match:
                print(line, file=log)
                last = line.strip() or last
                continue
            verdict, name, reason = match.groups()
            full = f"{suite}/{name}"
            rule = next((r for n, r in rules if fnmatch.fnmatchcase(name, n)), None)
            if verdict == "FAIL":
                reason = reason or last or "no reason given"
                if rule:
                    verdict, reason = "skip", f"{rule} ({reason[:120]})"
                else:
                    print(f"FAIL {full}: {reason}", flush=True)
            elif verdict == "ok" and rule and "*" not in rule:
                print(f"note {full}: passes, though tests/expected says: {rule}", flush=True)
            counts[verdict] += 1
            last = ""
            print(f"{verdict} {full}" + (f": {reason}" if reason else ""), file=log, flush=True)
    with open(counts_path, "a", encoding="utf-8") as f:
        print(counts["ok"], counts["FAIL"], counts["skip"], file=f)


main()
