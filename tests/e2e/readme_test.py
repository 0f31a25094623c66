#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of the README and checks that they do what is written below them.

    tests/e2e/readme_test.py [WORD...]     all examples, or those with one of these words in them

One line an example: "ok readme-LINE", or "FAIL readme-LINE" below what was expected and what came. And one
for ./quickstart, which checks the lines of its tour itself; it builds, so it is run only where all is built.

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


def wanted(words, *texts):
    return not words or any(w in text for w in words for text in texts)


# Its attempts to get out, where no sandbox is: who gets out must be found out, also when more is said behind it.
OUTSIDE = r"""
eval "$(sed -n '/^contained()/,/^}/p' quickstart)"
sandbox() { while [ "$1" != -- ]; do shift; done; shift; "$@" 2>&1; }
say() { printf '%s\n' "$2"; }
wrong=0
contained one 'echo ESCAPED'
contained two --user root 'echo ESCAPED; echo more'
contained three 'true'
contained four 'echo no; exit 125'
contained five 'echo no'
echo $wrong
"""
FOUND_OUT = ["NOT CONTAINED: ESCAPED", "NOT CONTAINED: more", "NOT CONTAINED: ", "NOT TRIED: no", "contained: no", "1"]


def quickstart(words):
    """Whether it ended well, or was not to be run."""
    built = os.path.join(ROOT, "build/cli/glovebox")
    if not wanted(words, "quickstart") or GLOVEBOX != built or not os.access(os.path.dirname(built), os.W_OK):
        return True
    lines = run("./quickstart || echo failed", ROOT, os.environ)
    # Where no sandbox can be started, it says so once and tries nothing.
    no_namespaces = run("unshare --user --map-root-user --mount sh -c 'mount --rbind / /mnt && exec chroot /mnt \"$0\"' "
                        f"{ROOT}/quickstart", ROOT, os.environ)
    good = (any("All as it should be" in line for line in lines) and
            "no sandbox starts here" in no_namespaces[-1] and not any("contained" in line for line in no_namespaces))
    # Without a home; and nothing is written anywhere when there is no place for its files.
    env = {key: value for key, value in os.environ.items() if key != "HOME"}
    lines += run("./quickstart || echo failed", ROOT, env)
    nowhere = run("./quickstart || echo failed", ROOT, {**env, "TMPDIR": "/no/such/folder"})
    outside = run(OUTSIDE, ROOT, os.environ)
    good = (good and "failed" not in lines and nowhere[-1] == "failed" and "/no/such/folder" in nowhere[-2] and outside == FOUND_OUT)
    for line in [] if good else lines + no_namespaces + nowhere + outside:
        print(f"  {line}")
    print(f"{'ok' if good else 'FAIL'} quickstart", flush=True)
    return good


def main(words):
    with open(README, encoding="utf-8") as f:
        found = examples(f.read())
    # `glovebox` of the examples is the one under test.
    failed = not quickstart(words)
    with tempfile.TemporaryDirectory(prefix="glovebox-readme-") as folder:
        os.chmod(folder, 0o755)
        tools = os.path.join(folder, ".tools")
        os.mkdir(tools)
        os.symlink(GLOVEBOX, os.path.join(tools, "glovebox"))
        env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        for name, command, expected in found:
            if not wanted(words, name, command):
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
