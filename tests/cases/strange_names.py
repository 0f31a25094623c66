#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Names with spaces, quotes, newlines, leading dashes, other scripts, 255 bytes, and bytes that are no UTF-8.
import os, shutil, signal, subprocess, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
NAMES = [b"with space", b" lead", b"trail ", b"two  spaces", b"tab\there", b"new\nline", b"-dash", b"--help", b"'single'", b'"double"', b"back\\slash", b"$HOME", b"`id`", b"a;b&c|d", b"*?[x]", b"#hash", b"%41%2F", b"~tilde", b"!bang",
         b"\x01ctl\x7f", b"\x1b[31mred", ".", "..", "umlaut ä ö ü", "漢字", "مرحبا", "🚀 rocket", "e\u0301 combining", "\u00e9 precomposed", "\u202etxt.exe", "\u2028sep", b"\xff\xfe bytes", b"caf\xe9", b"x" * 255, ("漢" * 85), b".hidden", b"...", b"CON", b"a:b", b"end."]
NAMES = [n.encode() if isinstance(n, str) else n for n in NAMES if n not in (".", "..")]
d = (os.path.abspath("names72") if sys.argv[1:] == ["keep"] else tempfile.mkdtemp()).encode(); os.makedirs(d, exist_ok=True)
for n in NAMES:
    try:
        with open(os.path.join(d, n), "wb") as f: f.write(n.hex().encode())
    except OSError as e: check(False, "cannot create %r: %s" % (n, e))
got = os.listdir(d); check(sorted(got) == sorted(NAMES), "listing: missing %r, extra %r" % (set(NAMES) - set(got), set(got) - set(NAMES)))
check(len(os.listdir(d.decode())) == len(NAMES) and all(os.path.exists(os.path.join(d.decode(), n)) for n in os.listdir(d.decode())), "names as text")
for n in NAMES: check(open(os.path.join(d, n), "rb").read() == n.hex().encode(), "content of %r" % n)
out = subprocess.check_output(["find", ".", "-type", "f", "-print0"], cwd=d); check(sorted(x[2:] for x in out.split(b"\0") if x) == sorted(NAMES), "find -print0")
r = subprocess.check_output(["bash", "-c", 'n=0; for f in ./* ./.[!.]* ./...; do [ -f "$f" ] && n=$((n+1)); done; echo $n'], cwd=d); check(int(r) == len(NAMES), "bash globs see %d of %d" % (int(r), len(NAMES)))
for n in NAMES: check(subprocess.check_output([b"cat", b"./" + n], cwd=d) == n.hex().encode(), "cat %r" % n)
if shutil.which("node"):
    js = "const fs=require('fs');let b=0;for(const n of fs.readdirSync(Buffer.from('.'),{encoding:'buffer'})){const c=fs.readFileSync(Buffer.concat([Buffer.from('./'),n])).toString();if(c!==n.toString('hex'))b++;}console.log(b,fs.readdirSync('.').length)"
    r = subprocess.check_output(["node", "-e", js], cwd=d).split(); check(r == [b"0", b"%d" % len(NAMES)], "node: %r" % r)
a, b = (os.path.join(d, x.encode()) for x in ("e\u0301 combining", "\u00e9 precomposed")); check(not os.path.samefile(a, b), "two spellings became one file")
for n in NAMES:                                            # rename, link, watch and remove by odd name
    p = os.path.join(d, n); q = os.path.join(d, b"r"); os.rename(p, q); os.rename(q, p); os.symlink(n, q); check(os.readlink(q) == n and os.path.samefile(p, q), "link to %r" % n); os.unlink(q)
t = os.path.join(tempfile.mkdtemp().encode(), b"t.tar"); check(subprocess.run([b"tar", b"-cf", t, b"-C", d, b"."]).returncode == 0, "tar")
check(len(subprocess.check_output([b"tar", b"-tf", t, b"--quoting-style=escape"]).splitlines()) == len(NAMES) + 1, "tar listing")
fd = os.open(os.path.join(d, b"new\nline"), os.O_RDONLY); check(os.fsencode(os.readlink("/proc/self/fd/%d" % fd)).endswith(b"new\nline"), "/proc/self/fd of an odd name")
os.chdir(d); os.mkdir(b"sub \xff\n"); os.chdir(b"sub \xff\n"); check(os.getcwdb().endswith(b"sub \xff\n"), "getcwd in an odd directory"); os.chdir("/"); os.rmdir(os.path.join(d, b"sub \xff\n"))
if sys.argv[1:] != ["keep"]: shutil.rmtree(d)
print("ok")
