#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stdout and stderr stay apart, each in its own order; live order across both as written.
for i in $(seq 60); do echo "o$i"; echo "e$i" >&2; [ $((i % 10)) = 0 ] && sleep 0.05; done
r=$( { for i in 1 2 3; do echo "a$i"; echo "b$i" >&2; done; } 2>&1 | tr '\n' ' ')
[ "$r" = "a1 b1 a2 b2 a3 b3 " ] || { echo "FAIL: merged order $r"; exit 1; }
r=$(python3 -uc 'import sys
for i in range(3): sys.stdout.write("x%d "%i); sys.stderr.write("y%d "%i)' 2>&1); [ "$r" = "x0 y0 x1 y1 x2 y2 " ] || { echo "FAIL: merged python -u order: $r"; exit 1; }
echo done-out
echo ok
