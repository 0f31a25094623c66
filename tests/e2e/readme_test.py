#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of the README and checks that they do what is written below them.

    tests/e2e/readme_test.py [WORD...]     all examples, or those with one of these words in them

One line an example: "ok readme-LINE", or "FAIL readme-LINE" below what was expected and what came.

An example is a "$ COMMAND" line in a ```sh block with the lines that follow it: its output, standard error
too, where a line of "..." stands for any number of lines. They run in order in one empty folder, since
later ones use the files of earlier ones. Blocks of other kinds (```console) are not run. GLOVEBOX names
another program than build/cli/glovebox.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README = os.path.join(ROOT, "README.md")
GLOVEBOX = os.path.abspath(os.environ.get("GLOVEBOX", os.path.join(ROOT, "build/cli/glovebox")))
LIMIT = 60  # seconds after which an example counts as hanging


def examples(text):
    """(name, command, [expected line, ...]) in order."""
    found = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```sh"
        elif inside and line.startswith("$ "):
            found.append((f"readme-{number}", line[2:], []))
        elif inside:
            found[-1][2].append(line)
    return found


def matches(expected, lines):
    """Whether lines are the expected ones, "..." standing for any number of them."""
    if not expected:
        return not lines
    if expected[0] == "...":
        return any(matches(expected[1:], lines[i:]) for i in range(len(lines) + 1))
    if not lines:
        return False
    # JSON: a comma more or less at the end of a line depends on what follows.
    return lines[0].rstrip(",") == expected[0].rstrip(",") and matches(expected[1:], lines[1:])


def run(command, folder, env):
    """The output's lines, or what went wrong as one."""
    try:
        r = subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return [f"(no end within {LIMIT} s)"]
    return r.stdout.decode("utf-8", "backslashreplace").splitlines()


def main(words):
    with open(README, encoding="utf-8") as f:
        found = examples(f.read())
    # `glovebox` of the examples is the one under test.
    failed = False
    with tempfile.TemporaryDirectory(prefix="glovebox-readme-") as folder:
        os.chmod(folder, 0o755)
        tools = os.path.join(folder, ".tools")
        os.mkdir(tools)
        os.symlink(GLOVEBOX, os.path.join(tools, "glovebox"))
        env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        for name, command, expected in found:
            if words and not any(w in name or w in command for w in words):
                continue
            lines = run(command, folder, env)
            if matches(expected, lines):
                print(f"ok {name}", flush=True)
                continue
            failed = True
            print(f"  $ {command}\n  expected: {expected}\n  got:      {lines}\nFAIL {name}", flush=True)
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
