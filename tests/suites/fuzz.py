#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/fuzz for a short while: system calls with the seeds that once found something and some that
nobody has tried, and libFuzzer on what parses a stranger's bytes outside of the kernel.

The kernel is the sanitized one (BUILD). FUZZ_MS is how long a seed, or a library, may go on.
"""
import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile

from common import ROOT, detail, run, say

NEW_SEEDS = 8
# Of each target tests/fuzz/NAME.c, the sources beside it.
LIBRARIES = {"text": ["lib/text/*.c", "lib/base/buf.c"]}


def fuzz_library(name, sources, ms):
    """libFuzzer from the kept inputs on (the unit tests replay them)."""
    clang = shutil.which("clang") or shutil.which("clang-14")
    if not clang:
        say("skip", f"library-{name}", "no clang")
        return
    with tempfile.TemporaryDirectory(prefix="glovebox-fuzz-") as folder:
        program, kept = os.path.join(folder, "fuzz"), f"tests/fuzz/corpus/{name}"
        files = [f for pattern in sources for f in sorted(glob.glob(os.path.join(ROOT, pattern)))]
        done = run([clang, "-g", "-O1", "-std=gnu11", "-D_GNU_SOURCE", "-fno-strict-aliasing",
                    "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined",
                    f"-I{ROOT}", f"{ROOT}/tests/fuzz/{name}.c", *files, "-o", program], 120)
        if done.status == 0:
            os.mkdir(os.path.join(folder, "new"))
            done = run([program, f"-max_total_time={max(1, ms // 1000)}", "-max_len=1000",
                        f"-artifact_prefix={folder}/", os.path.join(folder, "new"),
                        os.path.join(ROOT, kept)], ms // 1000 + 60, cwd=folder)
        if done.status != 0:
            detail(done.output)
        say("ok" if done.status == 0 else "FAIL", f"library-{name}",
            "" if done.status == 0 else f"status {done.status}; keep the input, which is in the log, in {kept}")


def main():
    program = os.path.join(ROOT, "tests/fuzz/run")
    ms = os.environ.get("FUZZ_MS", "3000")
    first = random.SystemRandom().randrange(1, 1 << 30)
    broken = False
    for seeds in ([], ["--seeds", f"{first}-{first + NEW_SEEDS - 1}"]):
        done = subprocess.run(["/usr/bin/python3", program, "--ms", ms, *seeds], check=False,
                              stdin=subprocess.DEVNULL)
        broken |= done.returncode not in (0, 1)
    for name, sources in LIBRARIES.items():
        fuzz_library(name, sources, int(ms))
    sys.exit(2 if broken else 0)


main()
