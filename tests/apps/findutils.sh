#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# find with its tests and actions, xargs in its forms.
fail() { echo "FAIL: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
cd "$(mktemp -d)" || fail "no folder"
mkdir -p a/b/c 'd e' && touch a/1.txt a/b/2.txt a/b/c/3.c 'd e/4 5.txt' && ln -s a link
head -c 5000 /dev/zero > a/big; chmod 755 a/1.txt; touch -d '10 days ago' a/b/2.txt

is name "$(find . -name '*.txt' | sort | tr '\n' ,)" "./a/1.txt,./a/b/2.txt,./d e/4 5.txt,"
is types "$(find . -type d | wc -l) $(find . -type l | wc -l) $(find . -type f | wc -l)" "5 1 5"
is depth "$(find . -maxdepth 1 -mindepth 1 | wc -l)" 3
is size "$(find . -size +4k)" "./a/big"
is perm "$(find . -type f -perm -u+x)" "./a/1.txt"
is mtime "$(find . -name '*.txt' -mtime +5)" "./a/b/2.txt"
is newer "$(find a -newer a/b/2.txt -name '*.c')" "a/b/c/3.c"
is printf "$(find a/big -printf '%s %m %y %f')" "5000 $(stat -c %a a/big) f big"
is "exec +" "$(find . -name '*.txt' -exec ls -d {} + | wc -l)" 3
is "exec ;" "$(find . -name '*.txt' -exec echo x \; | wc -l)" 3
is execdir "$(find a/b/c -name 3.c -execdir pwd \;)" "$PWD/a/b/c"
is prune "$(find a -name b -prune -o -type f -print | sort | tr '\n' ' ')" "a/1.txt a/big "
is follow "$(find -L link -name 3.c)" "link/b/c/3.c"
is "print0" "$(find . -name '*.txt' -print0 | xargs -0 -n1 basename | sort | tr '\n' ,)" "1.txt,2.txt,4 5.txt,"
is "xargs -P" "$(seq 40 | xargs -P4 -I{} sh -c 'echo {}' | sort -n | tail -1)" 40
is "xargs split" "$(seq 100000 | xargs echo | wc -w)" 100000
seq 3 | xargs -n1 sh -c 'exit 1'; is "xargs status" $? 123
mkdir many && (cd many && seq 3000 | xargs touch)
is "many files" "$(find many -type f | wc -l)" 3000
find many -type f -delete; is delete "$(find many -type f | wc -l)" 0
is "walk of /usr/lib" "$(($(find /usr/lib -maxdepth 3 | wc -l) > 100))" 1
echo ok
