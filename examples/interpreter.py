#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code of a language model, run cell by cell: with E2B's SDK as it is published, on a machine of one's own.

    pip install e2b-code-interpreter
    glovebox serve                     # in another terminal; paste the three lines that it prints
    python3 examples/interpreter.py
"""
from e2b_code_interpreter import Sandbox

with Sandbox.create(timeout=60) as sandbox:
    # Files go in, and what a cell made is there for the next one.
    sandbox.files.write("sales.csv", "month,sold\nJan,3\nFeb,5\nMar,4\n")
    sandbox.run_code("import csv\nrows = list(csv.DictReader(open('sales.csv')))")
    execution = sandbox.run_code("print(len(rows), 'months')\nsum(int(r['sold']) for r in rows)", on_stdout=lambda message: print(message.line, end=""))
    print("sold:", execution.text)

    # An error is data, too.
    execution = sandbox.run_code("rows['Apr']")
    print(f"{execution.error.name}: {execution.error.value}")

    # Another context knows nothing of the first one; other languages are there if the image has them.
    other = sandbox.create_code_context(cwd="/tmp")
    print("other context:", sandbox.run_code("'rows' in globals()", context=other).text)
    print("bash:", "".join(sandbox.run_code("head -n 1 sales.csv", language="bash").logs.stdout).strip())

    # Nothing leaves the sandbox unless it was created so.
    execution = sandbox.run_code("import urllib.request\nurllib.request.urlopen('http://example.com', timeout=5)")
    print("network:", execution.error.name)
