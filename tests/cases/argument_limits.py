#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Size limits of arguments and environment: Linux accepts what Linux accepts, and says E2BIG beyond.
import errno, os, resource, signal, subprocess, sys
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
def run(args, env=None):
    try: p = subprocess.run(args, env=env, stdout=-1); return p.returncode, p.stdout
    except OSError as e: return e.errno, None
PAGE = os.sysconf("SC_PAGE_SIZE"); ONE = 32 * PAGE         # one string, with its NUL
r = run(["sh", "-c", 'echo ${#1}', "x", "a" * (ONE - 1)]); check(r == (0, b"%d\n" % (ONE - 1)), "argument of %d bytes: %r" % (ONE - 1, r))
r = run(["sh", "-c", 'echo ${#1}', "x", "a" * ONE]); check(r[0] == errno.E2BIG, "argument of %d bytes: %r" % (ONE, r))
r = run(["sh", "-c", 'echo ${#BIG}'], dict(os.environ, BIG="b" * (ONE - 5))); check(r == (0, b"%d\n" % (ONE - 5)), "environment string at the limit: %r" % (r,))
r = run(["true"], dict(os.environ, BIG="b" * ONE)); check(r[0] == errno.E2BIG, "environment string beyond the limit: %r" % (r,))
many = ["%07d" % i for i in range(100000)]
r = run([sys.executable, "-c", "import sys; print(len(sys.argv), sys.argv[-1])"] + many); check(r == (0, b"100001 0099999\n"), "100000 arguments: %r" % (r,))
r = run([sys.executable, "-c", "import sys; print(sum(map(len, sys.argv[1:])))"] + ["c" * 100000] * 15); check(r == (0, b"1500000\n"), "1.5 MB of arguments: %r" % (r,))
r = run(["true"] + ["d" * 100000] * 80); check(r[0] == errno.E2BIG, "8 MB of arguments: %r" % (r,))
r = run(["sh", "-c", "env | wc -l"], {"V%d" % i: "x" * 50 for i in range(5000)}); check(r[0] == 0 and int(r[1]) >= 5000, "5000 variables: %r" % (r,))
hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
def under(mib, n):                                         # n words of one letter, with a stack of so many MiB
    child = lambda: resource.setrlimit(resource.RLIMIT_STACK, (mib << 20, hard))
    return subprocess.run([sys.executable, "-c", """
import os, sys
try: os.execve("/bin/true", ["true"] + ["x"] * %d, {})
except OSError as e: sys.exit(e.errno)""" % n], preexec_fn=child).returncode
# A quarter of the stack for the words and the pointers to them, and 6 MB at most.
for mib, n, want in ((8, 200000, 0), (8, 215000, errno.E2BIG), (8, 2000000, errno.E2BIG), (1, 25000, 0), (1, 27000, errno.E2BIG), (64, 600000, 0), (64, 650000, errno.E2BIG)):
    r = under(mib, n); check(r == want, "%d words, stack of %d MiB: %r" % (n, mib, r))
check(os.sysconf("SC_ARG_MAX") >= 131072, "ARG_MAX %d" % os.sysconf("SC_ARG_MAX"))
p = subprocess.run(["bash", "-c", 'printf "%s\\n" {1..200000} | xargs echo | wc -w'], stdout=-1); check(p.stdout.split() == [b"200000"], "xargs: %r" % p.stdout)
p = subprocess.run(["bash", "-c", 'x=$(head -c 300000 /dev/zero | tr "\\0" q); /bin/true "$x"; echo $?'], stdout=-1, stderr=-1); check(p.stdout == b"126\n" and b"too long" in p.stderr, "bash with a long argument: %r %r" % (p.stdout, p.stderr))
code = "x = 0\n" + "x += 1\n" * 60000 + "print(x)\n"      # 420 kB of code through stdin and through a file
p = subprocess.run([sys.executable, "-"], input=code.encode(), stdout=-1); check(p.stdout == b"60000\n", "long program on stdin")
f = "/tmp/case-%d.py" % os.getpid(); open(f, "w").write(code); p = subprocess.run([sys.executable, f], stdout=-1); os.unlink(f); check(p.stdout == b"60000\n", "long program in a file")
try: open("/tmp/" + "n" * 256, "w"); check(False, "a name of 256 bytes was accepted")
except OSError as e: check(e.errno == errno.ENAMETOOLONG, str(e))
try: open("/tmp/" + "d/" * 2100, "w"); check(False, "a path of 4200 bytes was accepted")
except OSError as e: check(e.errno == errno.ENAMETOOLONG, "long path: %s" % e)
print("ok")
