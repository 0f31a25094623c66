#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Code in the sandbox may start other programs, from Python and from Node.
import os, shutil, signal, subprocess, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
d = tempfile.mkdtemp()
out = subprocess.check_output("printf 'c\\nb\\na\\n' | sort | head -n 2 | tr a-z A-Z", shell=True); check(out == b"A\nB\n", "pipeline gave %r" % out)
p = subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 42"], capture_output=True); check((p.returncode, p.stdout, p.stderr) == (42, b"out\n", b"err\n"), "streams and status: %r" % (p,))
p = subprocess.run(["sh", "-c", "kill -9 $$"]); check(p.returncode == -9, "signalled child: %d" % p.returncode)
check(subprocess.check_output(["sh", "-c", "echo $X; pwd -P"], env=dict(os.environ, X="y z"), cwd=d) == b"y z\n" + os.path.realpath(d).encode() + b"\n", "env and cwd")
big = os.urandom(1 << 20); p = subprocess.run(["cat"], input=big, stdout=-1); check(p.stdout == big, "1 MiB through cat")
try: subprocess.run(["sleep", "30"], timeout=0.5); check(False, "timeout ignored")
except subprocess.TimeoutExpired: pass
check(os.system("exit 3") >> 8 == 3 and os.popen("echo p").read() == "p\n", "os.system or os.popen")
ps = [subprocess.Popen(["sh", "-c", "exit %d" % (i % 7)]) for i in range(40)]; check([p.wait() for p in ps] == [i % 7 for i in range(40)], "40 children")
p = subprocess.Popen(["sh", "-c", "echo $PPID; ps -o pid= -p $$ >/dev/null 2>&1; exit 0"], stdout=-1, start_new_session=True); check(int(p.communicate()[0]) == os.getpid(), "parent pid in the child")
check(os.getcwd() and subprocess.run([sys.executable, "-c", "import sys; sys.exit(5)"]).returncode == 5, "python from python")
if shutil.which("node"):
    js = r'''
const cp = require("child_process"), a = require("assert");
a.equal(cp.execSync("echo hi | wc -c").toString().trim(), "3");
a.equal(cp.spawnSync("sh", ["-c", "exit 9"]).status, 9);
a.equal(cp.spawnSync("sh", ["-c", "kill -TERM $$"]).signal, "SIGTERM");
a.equal(cp.spawnSync("/no/such/program").error.code, "ENOENT");
const c = cp.spawn("cat"); let n = 0; c.stdout.on("data", d => n += d.length); c.stdin.end(Buffer.alloc(3000000, 65));
c.on("close", code => { a.equal(code, 0); a.equal(n, 3000000); const f = cp.fork("-", [], {execArgv: ["-e", "process.send(process.pid)"]}).on("message", m => { a.ok(m > 1); console.log("node-ok"); }); f.on("error", e => { throw e; }); });
'''
    p = subprocess.run(["node", "-e", js], capture_output=True, timeout=60); check(b"node-ok" in p.stdout, "node: %s" % p.stderr.decode()[-300:])
if shutil.which("gcc"):
    open(d + "/m.c", "w").write('#include <stdio.h>\nint main(int c,char**v){printf("%d %s\\n",c,v[1]);return 6;}\n')
    p = subprocess.run(["gcc", "-O1", "-o", d + "/m", d + "/m.c"], capture_output=True); check(p.returncode == 0, "gcc: %s" % p.stderr.decode()[-300:])
    p = subprocess.run([d + "/m", "arg"], stdout=-1); check((p.returncode, p.stdout) == (6, b"2 arg\n"), "compiled program")
shutil.rmtree(d); print("ok")
