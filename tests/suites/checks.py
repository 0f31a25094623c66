#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What can be seen without running anything: directions of includes, format, lengths, headers of files,
the table of system calls and its page, the calls that the kernel itself may make, that nothing is left unbuilt, and
no limit and no way round a policy untested."""
import json
import os
import re
import shutil
import subprocess
import sys

from common import BUILD, ROOT, detail, e2e_programs, named_cases, run, say, wanted

LINES_MAX = 1000
MISSING = {"format": "no clang-format-14", "built": f"nothing was built in {BUILD}"}
# Where meson builds every file, and where each is a test of its own.
BUILT_FOLDERS = ("cli/", "gateway/", "kernel/", "lib/", "library/", "probes/", "sandbox/", "tests/sys/", "tests/unit/")
TEST_FOLDERS = ("tests/sys/", "tests/unit/")
FOLDERS = ("abi", "bench", "cli", "client", "courier", "examples", "gateway", "include", "kernel", "lib", "library", "probes", "sandbox", "serve", "server", "tests", "tools")


def walked():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in (".git", "__pycache__")
                      and not (folder == ROOT and f.startswith("build"))]
        yield from (os.path.relpath(os.path.join(folder, n), ROOT) for n in names)


def files():
    """Those of the repository, and those that are about to be; all, where git does not answer."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    names = done.stdout.split("\n") if done.returncode == 0 and done.stdout else sorted(walked())
    return [n for n in names if n and os.path.isfile(os.path.join(ROOT, n))]


def content(name):
    with open(os.path.join(ROOT, name), "rb") as f:
        return f.read()


def is_code(name):
    return name.split("/")[0] in FOLDERS and (
        name.endswith((".c", ".h", ".S", ".def", ".py", ".sh", ".ld", "meson.build"))
        or content(name).startswith(b"#!"))


def verdict(name, wrong):
    for line in wrong[1:]:
        detail(line)
    say("FAIL" if wrong else "ok", name, f"{len(wrong)}: {wrong[0]}" if wrong else "")


def check_includes():
    return [line for line in run(["tools/check_includes"], 30, cwd=ROOT).output.split("\n") if line]


def check_syscalls():
    done = run(["tools/syscalls_doc", "--check"], 30, cwd=ROOT)
    return [line for line in done.output.split("\n") if line]


def check_host_calls():
    """With what the kernel was linked from, where it was built without sanitizers."""
    built = [BUILD] if os.path.isdir(os.path.join(BUILD, "kernel/glovebox-kernel.p")) else []
    done = run(["tools/host_calls", "--check", *built], 60, cwd=ROOT)
    return [line for line in done.output.split("\n") if line]


def check_format():
    formatter = shutil.which("clang-format-14")
    if not formatter:
        return None
    sources = [n for n in files() if n.endswith((".c", ".h")) and n.split("/")[0] in FOLDERS]
    done = run([formatter, "--dry-run", *sources], 90, cwd=ROOT)
    return sorted({line.split(":")[0] + ": not as clang-format has it"
                   for line in done.output.split("\n") if "[-Wclang-format-violations]" in line})


def check_length():
    return [f"{n}: more than {LINES_MAX} lines" for n in files()
            if is_code(n) and not n.endswith(".def") and content(n).count(b"\n") > LINES_MAX]


def check_license():
    return [f"{n}: no SPDX-License-Identifier in its first lines" for n in files()
            if is_code(n) and b"SPDX-License-Identifier: Apache-2.0" not in content(n)[:300]]


def check_limits():
    """Everything that a guest can make grow has a named limit, and a test that hits it."""
    tests = b"".join(content(n) for n in files() if n.startswith(("tests/unit/", "tests/bombs/", "tests/sys/", "tests/e2e/")))
    names = re.findall(rb"^#define (LIMIT_\w+)", content("kernel/core/limits.h"), re.M)
    return [f"kernel/core/limits.h: {name.decode()}: in no test" for name in names
            if not re.search(rb"\b" + name + rb"\b", tests)]


def check_rows():
    """Each way round a policy has a test or a reason, and what is said to be one is."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
    import rows
    sources = [n for n in files() if n.startswith("tests/unit/") and n.endswith(".c")]
    tests = {test for path in [f"tests/e2e/{n}" for n in e2e_programs("internet")] + sources for test in named_cases(path)}
    shown = set().union(*map(rows.rows_of, tests))
    wrong = [f"{row}: {rows.ROWS[row]}: no test shows it" for row in rows.ROWS if row not in shown and row not in rows.UNTESTED]
    wrong += [f"{row}: has a test, and a reason why not" for row in rows.UNTESTED if row in shown or row not in rows.ROWS]
    return wrong + [f"{row}: there is no test {test}" for row, named in rows.BY.items() for test in named if test not in tests]


def built_sources(targets):
    """Paths below ROOT."""
    return {os.path.relpath(source, ROOT) for target in targets for group in target["target_sources"]
            for source in group.get("sources", [])}


def check_built():
    """One that no meson.build names is compiled by nobody, and a test that is none is run by nobody."""
    read = []
    for name in ("targets", "tests"):
        try:
            with open(os.path.join(BUILD, f"meson-info/intro-{name}.json"), encoding="utf-8") as f:
                read.append(json.load(f))
        except OSError:
            return None
    targets, tests = read
    run_by_a_test = {test["cmd"][0] for test in tests}
    built = built_sources(targets)
    tested = built_sources(t for t in targets if t["filename"][0] in run_by_a_test)
    sources = [n for n in files() if n.endswith((".c", ".S")) and n.startswith(BUILT_FOLDERS)]
    wrong = [f"{n}: in no meson.build" for n in sources if n not in built]
    return wrong + [f"{n}: has cases, and is no test of meson's" for n in sources
                    if n.startswith(TEST_FOLDERS) and n in built - tested and b"\nTEST(" in content(n)]


def main():
    for name, check in (("includes", check_includes), ("syscall_table", check_syscalls),
                        ("host_calls", check_host_calls),
                        ("format", check_format), ("length", check_length),
                        ("license", check_license), ("built", check_built),
                        ("limits", check_limits), ("rows", check_rows)):
        if wanted(name):
            wrong = check()
            if wrong is None:
                say("skip", name, MISSING[name])
            else:
                verdict(name, wrong)


main()
