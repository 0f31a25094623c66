#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Here-documents of every size, nested, in substitutions and to programs; the shell stays usable after them.
bad() { echo "FAIL: $*" | tr "\n" " "; echo; exit 1; }
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d" || exit 1
cat > one <<'E'
line $HOME `date` \x
E
[ "$(cat one)" = 'line $HOME `date` \x' ] || bad "quoted here-document: $(cat one)"
v=5; cat > two <<E
v=$v $(echo sub) $((v*2))
	tab
E
[ "$(cat two)" = $'v=5 sub 10\n\ttab' ] || bad "expanded here-document"
cat > three <<-E
	stripped
	E
[ "$(cat three)" = stripped ] || bad "<<- here-document"
for n in 1 511 512 513 4095 4096 4097 65535 65536 65537 300000; do
  s=$(head -c $n /dev/zero | tr '\0' h)
  [ "$(wc -c <<< "$s")" -eq $((n+1)) ] || bad "here-string of $n bytes"
  [ "$(cat <<E | wc -c
$s
E
)" -eq $((n+1)) ] || bad "here-document of $n bytes"
done
out=$(python3 - <<'P'
import sys
print("from python", len(sys.argv), sys.stdin.read() == "")
P
); [ "$out" = "from python 1 True" ] || bad "program as here-document: $out"
sh <<'S' > nested
cat <<'T'
inner
T
echo after
S
[ "$(cat nested)" = $'inner\nafter' ] || bad "nested here-documents"
f() { cat <<E
$1-$2
E
}
[ "$(f a b; f c d)" = $'a-b\nc-d' ] || bad "here-document in a function"
exec 5<<'E'
fd five
E
read -r x <&5; exec 5<&-; [ "$x" = "fd five" ] || bad "here-document on descriptor 5"
cat <<A - <<B > both
first
A
second
B
[ "$(cat both)" = second ] || bad "two here-documents"
(TMPDIR=/no/such/dir; export TMPDIR; [ "$(cat <<< "$(head -c 100000 /dev/zero | tr '\0' z)" | wc -c)" -eq 100001 ]) || bad "large here-string with a bad TMPDIR"
bash -c 'for i in 1 2 3 4 5; do cat <<E >/dev/null & 
bg $i
E
done; wait; echo waited' | grep -qx waited || bad "background here-documents"
if command -v git >/dev/null; then
  git init -q r && git -C r -c user.name=t -c user.email=t@t commit -q --allow-empty -m "$(cat <<'M'
Title

Body with "quotes" and $dollars
M
)" && [ "$(git -C r log -1 --format=%b)" = 'Body with "quotes" and $dollars' ] || bad "commit message from a here-document"
fi
[ "$(echo alive)" = alive ] || bad "shell unusable afterwards"
echo ok
