#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tar with gzip, bzip2, xz and zstd, of a tree with links, modes, times, holes and strange names.
fail() { echo "FAIL: $*"; exit 1; }
cd "$(mktemp -d)" || fail "no folder"
mkdir -p src/sub/deep && seq 50000 > src/numbers && cp /bin/ls src/sub/ls
ln src/numbers src/hard; ln -s ../numbers src/sub/soft; ln -s nowhere src/dangling
chmod 4750 src/sub/ls; chmod 1777 src/sub/deep; mkfifo src/fifo
touch -d '1999-12-31 23:59:59.5' src/numbers
printf x > 'src/ with space'; printf y > $'src/new\nline'; printf z > 'src/ünïcode'
truncate -s 20M src/sparse; printf end >> src/sparse

list() { (cd "$1" && find . -printf '%p %y %m %n %s %T@ %l\n' | sort && find . -type f -exec sha256sum {} + | sort); }
for how in "" z j J --zstd; do
    case $how in --zstd) pack="tar --zstd --format=posix -Scf" unpack="tar --zstd -xpf" ;; *) pack="tar --format=posix -S${how}cf" unpack="tar -xp${how}f" ;; esac
    $pack a.tar src || fail "$pack"
    mkdir out && $unpack a.tar -C out || fail "$unpack"
    diff <(list src) <(list out/src) > differences 2>&1 || fail "tar $how: $(head -3 differences)"
    rm -r out
done
[ "$(tar -tf <(tar -cf - src) | wc -l)" = "$(find src -printf "x\n" | wc -l)" ] || fail "tar -t"
tar -df <(tar -cf - src) || fail "tar -d"

for tool in gzip bzip2 xz "xz -T2" zstd "zstd -T2 -19"; do
    $tool -qk src/numbers -c > packed || fail "$tool"
    ${tool%% *} -dc < packed | cmp - src/numbers || fail "$tool -d"
    [ "$(wc -c < packed)" -lt "$(wc -c < src/numbers)" ] || fail "$tool: not smaller"
    head -c 1000 packed > cut; ${tool%% *} -dc < cut > /dev/null 2>&1 && fail "$tool: took a cut file"
done
gzip src/numbers -c | zcat | tail -1 | grep -qx 50000 || fail zcat
cp src/hard plain && gzip plain && [ ! -e plain ] && gunzip plain.gz && cmp plain src/hard || fail "gzip in place"
head -c 20M /dev/urandom | tee >(sha256sum > before) | zstd -q | zstd -dq | sha256sum > after; sleep 0.2
cmp before after || fail "a stream through zstd"
echo ok
