#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sqlite3: real data in, joins, indices, transactions that are rolled back, WAL with writers side by side.
fail() { echo "FAIL: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
cd "$(mktemp -d)" || fail "no folder"
sqlite3 u.db <<'S' || fail import
create table c(code text, name text, category text, combining int, bidi text, d text, dd text, digit text, number text, mirrored text, old text, comment text, upper text, lower text, title text);
.separator ;
.import /usr/share/unicode/UnicodeData.txt c
create index by_category on c(category);
S
is rows "$(sqlite3 u.db 'select count(*) from c')" "$(wc -l < /usr/share/unicode/UnicodeData.txt)"
is letters "$(sqlite3 u.db "select count(*) from c where category='Lu'")" "$(awk -F';' '$3 == "Lu"' /usr/share/unicode/UnicodeData.txt | wc -l)"
is join "$(sqlite3 u.db "select b.name from c a join c b on a.lower = b.code where a.name = 'GREEK CAPITAL LETTER OMEGA'")" "GREEK SMALL LETTER OMEGA"
is rollback "$(sqlite3 u.db 'begin; delete from c; rollback; select count(*) > 30000 from c')" 1
is integrity "$(sqlite3 u.db 'vacuum; pragma integrity_check')" ok
sqlite3 w.db 'pragma journal_mode=wal; create table t(who, n)' > /dev/null
for who in 1 2 3; do
    (for n in $(seq 30); do sqlite3 -cmd '.timeout 20000' w.db "insert into t values($who, $n)" || echo failed; done) &
done > errors 2>&1
wait
is writers "$(sqlite3 w.db 'select count(*), count(distinct who), sum(n) from t') $(cat errors)" "90|3|1395 "
sqlite3 u.db .dump | sqlite3 copy.db && is dump "$(sqlite3 copy.db 'select count(*) from c')" "$(sqlite3 u.db 'select count(*) from c')"
is backup "$(sqlite3 u.db '.backup b.db' && sqlite3 b.db 'select max(length(name)) > 50 from c')" 1
echo ok
