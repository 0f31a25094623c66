#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# seconds: 500
# gcc, make and ld: a project of 300 C files in three libraries, static and shared, and its tests.
fail() { echo "FAIL: $*"; exit 1; }
cd "$(mktemp -d)" || fail "no folder"
command -v gcc > /dev/null && command -v make > /dev/null || { echo "skip: no gcc or make"; exit 0; }
for lib in 0 1 2; do
    mkdir -p lib$lib
    for i in $(seq 0 99); do
        n=$((lib * 100 + i))
        cat > lib$lib/f$n.c <<C
#include "all.h"
static const int table[] = {$n, $((n * 3)), $((n * 7))};
int f$n(int x)
{
    int s = 0;
    for (int i = 0; i < 3; i++)
        s += table[i] * (x + i);
    return s % 1000003;
}
C
    done
done
{ echo '#pragma once'; echo '#include <stdio.h>'; echo '#include <string.h>'; for n in $(seq 0 299); do echo "int f$n(int x);"; done; } > all.h
{ echo '#include "all.h"'; echo 'int main(void) {'; echo 'int bad = 0;'
  for n in $(seq 0 299); do echo "if (f$n(5) != ($n * 5 + $((n * 3)) * 6 + $((n * 7)) * 7) % 1000003) bad++;"; done
  echo 'printf("%d of 300 wrong\n", bad); return bad != 0; }'; } > test.c
cat > Makefile <<'M'
CFLAGS = -O1 -g -I. -fPIC -MMD
SOURCES0 = $(wildcard lib0/*.c)
SOURCES1 = $(wildcard lib1/*.c)
SOURCES2 = $(wildcard lib2/*.c)
all: test
lib0.a: $(SOURCES0:.c=.o)
	ar rcs $@ $^
lib1.so: $(SOURCES1:.c=.o)
	$(CC) -shared -o $@ $^
lib2.o: $(SOURCES2:.c=.o)
	ld -r -o $@ $^
test: test.o lib2.o lib0.a lib1.so
	$(CC) -o $@ test.o lib2.o lib0.a ./lib1.so
check: test
	./test
-include $(wildcard lib*/*.d) test.d
M
make -s -j2 all > log 2>&1 || fail "make: $(tail -2 log)"
[ "$(make -s check)" = "0 of 300 wrong" ] || fail "tests: $(make -s check | tail -1)"
[ "$(make -q all; echo $?)" = 0 ] || fail "make thinks that something is out of date"
sleep 0.05; touch lib1/f150.c; [ "$(make -n all | grep -c -- '-c -o')" = 1 ] || fail "one file to build again: $(make -n all | head -3)"
[ "$(nm test | grep -c ' T f')" = 200 ] || fail nm
gcc -O2 -flto -I. -o lto test.c lib*/f*.c > log 2>&1 && ./lto > /dev/null || fail "lto: $(tail -1 log)"
echo 'int main(void) { return undefined(); }' > bad.c; gcc bad.c -o bad 2> /dev/null && fail "linked what is undefined"
echo '#include <iostream>
int main() { try { throw 1; } catch (int) { std::cout << "caught\n"; } }' > x.cc
if command -v g++ > /dev/null; then g++ x.cc -o x && [ "$(./x)" = caught ] || fail g++; fi
echo ok
