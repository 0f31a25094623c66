#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Bytes that are no UTF-8, NULs, control codes and terminal sequences on both streams.
import os, signal, subprocess, sys
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
BAD = [b"\xff\xfe\xfd", b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x9a", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf8\x88\x80\x80\x80", b"a\0b\0c", bytes(range(256)),
       b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x1b[?1049h\x1b[?1049l", b"over\rwrite\b\b\x7f", b"\xef\xbb\xbfbom", "\u2028\u2029\u0085\ufeff".encode()]
def stream(fd):
    for i, b in enumerate(BAD): os.write(fd, b"<%d:" % i + b + b">\n")
if sys.argv[1:] == ["child"]: stream(1); stream(2); sys.exit(3)
p = subprocess.run([sys.executable, __file__, "child"], capture_output=True)
want = b"".join(b"<%d:" % i + b + b">\n" for i, b in enumerate(BAD))
if (p.returncode, p.stdout, p.stderr) != (3, want, want): print("FAIL: bytes changed in a pipe"); sys.exit(1)
stream(1); stream(2); os.write(2, b"stderr-end\n")
os.write(1, b"\nlast partial character: \xe6\xbc\n")
print("ok")
