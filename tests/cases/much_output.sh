#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program that prints much ends normally; the caller may cut the middle, but says so, keeps
# the exit code and the tail, and does not grow without bound.
set -o pipefail
n=$(yes 0123456789abcdef | head -c 6000000 | wc -c); [ "$n" -eq 6000000 ] || { echo "FAIL: 6000000 bytes through two pipes became $n"; exit 1; }
yes 'stdout flood line' | head -c 6000000; echo
yes 'stderr flood line' | head -c 3000000 >&2; echo >&2
head -c 3000000 /dev/zero | tr '\0' x; echo                    # one line of 3 MB
if command -v node >/dev/null; then node -e 'for (let i = 0; i < 60000; i++) console.log("node line " + i)' | tail -n 1 | grep -qx 'node line 59999' || { echo "FAIL: node output cut"; exit 1; }; fi
python3 -c 'for i in range(60000): print("py line", i)' | tail -n 1 | grep -qx 'py line 59999' || { echo "FAIL: python output cut"; exit 1; }
echo ok
