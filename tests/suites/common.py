# SPDX-License-Identifier: Apache-2.0
"""What the suites share: commands that cannot hang, and the lines that the tally counts."""
import ast
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
GLOVEBOX = os.environ.get("GLOVEBOX", os.path.join(BUILD, "cli/glovebox"))
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NATIVE_UID = 65534  # who an ordinary user is natively, when the tests run as root

VERDICT = re.compile(r"(ok|FAIL|skip) ([^:\s]+)(?:: (.*))?$")


class Done:
    def __init__(self, status, output):
        self.status = status  # None: it took too long
        self.output = output


def tail(f, limit=8 << 20):
    f.seek(max(0, f.seek(0, os.SEEK_END) - limit))
    return f.read()


def run(command, seconds, env=None, cwd=None):
    """The command with its output, both streams in one; everything in its group is ended with it."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, env=env, cwd=cwd,
                                   start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        return Done(status, tail(out).decode(errors="replace"))


def say(verdict, name, reason=""):
    reason = " ".join(reason.split())[:300]
    print(f"{verdict} {name}" + (f": {reason}" if reason else ""), flush=True)


def detail(text, lines=40):
    """For the log: indented, so that no line of it is taken for a verdict."""
    for line in text.rstrip().split("\n")[-lines:]:
        print("  " + line[:500], flush=True)


def harness_cases(output):
    """What a program of the harness said: {name: (verdict, reason)}, in its order."""
    cases, said = {}, []
    for line in output.split("\n"):
        match = VERDICT.match(line)
        if not match:
            if line.startswith("  "):
                said.append(line.strip())
            continue
        verdict, name, reason = match.groups()
        cases[name] = verdict, reason or "; ".join(said).removeprefix("skipped: ")
        said = []
    return cases


def tests_of(suite, build=BUILD):
    """The built tests of one meson suite: (name, path of the program)."""
    with open(os.path.join(build, "meson-info/intro-tests.json"), encoding="utf-8") as f:
        return [(t["name"], t["cmd"][0]) for t in json.load(f)
                if any(s.split(":")[-1] == suite for s in t["suite"])]


def wanted(name):
    """Words on the suite's command line choose among its cases."""
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


def e2e_programs(kind):
    """Names in tests/e2e: "server", those that begin so; "internet", of others those whose cases reach internet.py by what
    they import; "plain", the rest."""
    folder = os.path.join(ROOT, "tests/e2e")
    imports, names = {}, sorted(n for n in os.listdir(folder) if n.endswith(".py"))
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            imports[name] = {f"{module}.py" for module in re.findall(r"^(?:from|import) (\w+)", f.read(), re.M)}

    def reaches(name, seen=()):
        return name == "internet.py" or any(reaches(n, (*seen, name)) for n in imports.get(name, ()) if n not in seen)
    def kind_of(name):
        return "server" if name.startswith("server") else "internet" if reaches(name) else "plain"
    return [n for n in names if n.endswith("_test.py") and kind_of(n) == kind]


def named_cases(path):
    """As the cases of an end-to-end test are printed, and "FILE/CASE" of a file of tests/unit."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        text = f.read()
    if path.endswith(".c"):
        return [f"{os.path.basename(path)[:-2]}/{case}" for case in re.findall(r"^TEST\((\w+)\)", text, re.M)]
    return [f"{group.name.lower()}_{test.name[5:]}" for group in ast.parse(text).body if isinstance(group, ast.ClassDef)
            for test in group.body if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")]


def clean_environment(home):
    return {"PATH": PATH, "HOME": home, "TERM": "dumb", "USER": "root", "LANG": "C.UTF-8"}
