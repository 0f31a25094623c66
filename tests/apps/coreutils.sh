#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# GNU coreutils on text, numbers, trees, links, times, modes and big files.
fail() { echo "FAIL: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
cd "$(mktemp -d)" || fail "no folder"

is seq "$(seq 1000 | paste -sd+ | head -c 20)" "1+2+3+4+5+6+7+8+9+10"
is sort "$(printf '%s\n' 10 9 2 33 1 | sort -n | tr '\n' ' ')" "1 2 9 10 33 "
is "sort of many" "$(seq 200000 | sort -R | sort -n --parallel=2 | md5sum)" "$(seq 200000 | md5sum)"
is uniq "$(printf 'a\na\nb\na\n' | uniq -c | tr -s ' \n' ' ')" " 2 a 1 b 1 a "
is join "$(join <(printf '1 a\n2 b\n') <(printf '1 x\n2 y\n') | tail -1)" "2 b y"
is comm "$(comm -12 <(seq 1 5) <(seq 4 9) | tr '\n' ' ')" "4 5 "
is cut "$(echo a:b:c | cut -d: -f2)" "b"
is tr "$(echo hello | tr a-y b-z)" "ifmmp"
is fold "$(printf '%050d' 0 | fold -w 10 | wc -l)" 4
is tac "$(seq 3 | tac | tr '\n' ' ')" "3 2 1 "
is "wc" "$(printf 'one two\nthree\n' | wc | tr -s ' ')" " 2 3 14"
is "base64" "$(head -c 3000 /dev/zero | base64 -w0 | base64 -d | wc -c)" 3000
is sha256sum "$(printf abc | sha256sum)" "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -"
is factor "$(factor 360)" "360: 2 2 2 3 3 5"
is numfmt "$(numfmt --to=iec 1048576)" "1.0M"
is expr "$(expr 6 \* 7)" 42
is date "$(TZ=UTC date -d @86400 +%F)" "1970-01-02"
is "od" "$(printf 'A\0B' | od -An -tx1)" " 41 00 42"
is split "$(seq 1000 | split -l 100 - part. && ls part.* | wc -l && cat part.* | md5sum)" "10
$(seq 1000 | md5sum)"

mkdir -p tree/{a,b,c}/{d,e} && touch tree/{a,b,c}/{d,e}/{1..5}
is "ls -R" "$(ls -R tree | grep -c '^[1-5]$')" 30
cp -a tree copy && is "cp -a" "$(diff -r tree copy && echo same)" same
echo data > f; ln f hard; ln -s f soft
is "stat" "$(stat -c '%h %s %F' hard)" "2 5 regular file"
is "readlink" "$(readlink soft) $(basename "$(realpath soft)")" "f f"
is "du" "$(du -s --apparent-size -B1 f | cut -f1)" 5
chmod 640 f; is "chmod" "$(stat -c %a f)" 640
chmod u=rwx,go= f; is "chmod words" "$(stat -c %A f)" "-rwx------"
touch -d '2001-02-03 04:05:06 UTC' f; is "touch" "$(stat -c %Y f)" 981173106
install -m 750 f installed; is "install" "$(stat -c %a installed)" 750
mv f moved && is mv "$(cat moved)" data
rm -r tree copy && is rm "$(ls -d tree copy 2>/dev/null)" ""
truncate -s 1G sparse; is "truncate" "$(stat -c '%s' sparse) $(($(stat -c %b sparse) < 100))" "1073741824 1"
dd if=/dev/zero of=zeros bs=64K count=64 status=none conv=fsync; is dd "$(wc -c < zeros)" 4194304
head -c 5M /dev/urandom > random; cp random r2; cmp random r2 || fail "cp of 5 MB"
is "tee" "$(seq 5 | tee t1 t2 | wc -l) $(cat t1 t2 | wc -l)" "5 10"
is "shuf" "$(seq 50 | shuf | sort -n | md5sum)" "$(seq 50 | md5sum)"
is "env" "$(env -i A=1 env)" "A=1"
timeout 0.2 sleep 5; is timeout $? 124
is nproc "$(($(nproc) > 0))" 1
is "df" "$(df -P . | tail -1 | wc -w)" 6
is mktemp "$(stat -c %a "$(mktemp)")" 600
is "yes" "$(yes | head -100000 | wc -l)" 100000
mkfifo pipe; (echo through > pipe) & is mkfifo "$(cat pipe)" through
is "test" "$(test moved -ef moved && [ -s moved ] && [ -x moved ] && echo yes)" yes
echo ok
