#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A command that was given no input sees the end of input at once; it must not wait for ever.
import os, select, shutil, signal, stat, subprocess, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def fail(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
try: st = os.fstat(0)
except OSError: fail("descriptor 0 is closed; programs then open files as stdin")
if os.isatty(0): print("# stdin is a terminal")
else:
    if not select.select([0], [], [], 3)[0]: fail("stdin neither ends nor has data (mode %o)" % st.st_mode)
    data = os.read(0, 4096); print("# stdin: %s, %d bytes" % ("pipe" if stat.S_ISFIFO(st.st_mode) else "device" if stat.S_ISCHR(st.st_mode) else "other", len(data)))
def run(cmd, **kw):
    try: return subprocess.run(cmd, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, **kw)
    except subprocess.TimeoutExpired: fail("%r waits although its input is /dev/null" % (cmd,))
p = run([sys.executable, "-c", "input('name? ')"])
if p.returncode != 1 or b"EOFError" not in p.stderr or b"name?" not in p.stdout: fail("input() without input: %r" % p.stderr[-200:])
if run(["bash", "-c", "read x; echo $?"]).stdout != b"1\n": fail("read in bash")
if run(["cat"]).stdout or run(["sh"]).returncode or run(["sort"]).stdout: fail("filters without input")
d = tempfile.mkdtemp(); open(d + "/f", "w").write("needle\n")
if run(["grep", "-r", "needle"], cwd=d).stdout != b"f:needle\n": fail("grep -r without a file argument")
if shutil.which("node"):
    p = run(["node", "-e", "let n=0;process.stdin.on('data',d=>n+=d.length).on('end',()=>console.log('end',n))"])
    if p.stdout != b"end 0\n": fail("node stdin: %r" % (p.stdout + p.stderr[-200:]))
    p = run(["node"])
    if p.returncode: fail("node without a script: %d" % p.returncode)
if shutil.which("git"):
    p = run(["git", "-c", "core.askPass=", "hash-object", "--stdin"])
    if p.stdout.strip() != b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391": fail("git hash-object of nothing: %r" % p.stdout)
p = subprocess.run(["wc", "-c"], input=b"z" * 300000, stdout=-1)      # given input arrives whole, then ends
if p.stdout.split() != [b"300000"]: fail("300000 bytes of input became %r" % p.stdout)
__import__("shutil").rmtree(d, True); print("ok")
