# SPDX-License-Identifier: Apache-2.0
"""Builds the libFuzzer targets of tests/fuzz, and runs one.

The build has a folder of its own, build-fuzz (FUZZ_BUILD), in which everything is made by clang, with ASan,
UBSan and counters of coverage.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("FUZZ_BUILD", "build-fuzz"))
MAX_LEN = {"hello": 3000, "text": 4096, "exec": 2000, "tls_session": 2000, "record": 4096}
MAX_LEN_ELSE = 800


def clang():
    return shutil.which("clang") or shutil.which("clang-14")


def build(names):
    """None, or what the tools said."""
    flags = "-fsanitize=fuzzer-no-link"
    setup = ["meson", "setup", BUILD, ROOT, "-Dfuzzer=true", "-Db_sanitize=address,undefined",
             "-Db_lundef=false", "-Doptimization=1", f"-Dc_link_args={flags}",
             f"-Dc_args={flags} -fno-sanitize-recover=undefined"]
    if os.path.exists(os.path.join(BUILD, "build.ninja")):
        setup.append("--reconfigure")
    for command in (setup, ["ninja", "-C", BUILD, *(f"tests/fuzz/unit-fuzz-{name}" for name in names)]):
        done = subprocess.run(command, env=dict(os.environ, CC=clang()), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            return done.stdout
    return None


def fuzz(name, seconds, keep=False, out=None):
    """Goes on from the kept inputs: (status, what it said). A find, and with keep all inputs that reach
    something new, are put beside them."""
    corpus = os.path.join(HERE, "corpus", name)
    program = os.path.join(BUILD, "tests/fuzz", f"unit-fuzz-{name}")
    os.makedirs(corpus, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="glovebox-fuzz-") as folder:
        new, finds = os.path.join(folder, "new"), os.path.join(folder, "finds")
        os.mkdir(new)
        os.mkdir(finds)
        # Leaks: at the end, and in the replay. After each input it would take most of the time.
        options = [f"-max_len={MAX_LEN.get(name, MAX_LEN_ELSE)}", "-timeout=20", "-detect_leaks=0",
                   f"-artifact_prefix={finds}/"]
        said = []
        with subprocess.Popen([program, *options, f"-max_total_time={seconds}", "-print_final_stats=1", new,
                               corpus], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            for line in process.stdout:
                said.append(line)
                if out:
                    out.write(line)
        for find in glob.glob(os.path.join(finds, "*")):
            kept = os.path.join(corpus, os.path.basename(find))
            shutil.copy(find, kept)
            said.append(f"the input is kept: {os.path.relpath(kept, ROOT)}\n")
        if keep and process.returncode == 0:
            subprocess.run([program, *options, "-merge=1", corpus, new], cwd=folder, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process.returncode, "".join(said)


def main(name, seconds, keep):
    if not clang():
        print("fuzz: there is no clang; install clang-14", file=sys.stderr)
        return 2
    if not re.fullmatch("[a-z0-9_]+", name) or not os.path.exists(os.path.join(HERE, f"{name}.c")):
        print(f"fuzz: {name}: no such target; see tests/fuzz/README.md", file=sys.stderr)
        return 2
    wrong = build([name])
    if wrong:
        print(wrong, file=sys.stderr)
        return 2
    status, said = fuzz(name, seconds, keep, sys.stdout)
    if status != 0:
        print(said.splitlines()[-1])
    return 1 if status else 0
