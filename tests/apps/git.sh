#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# git: init, add, commit, branch, merge with and without conflict, clone over file://, push, rebase, gc, fsck.
fail() { echo "FAIL: $*"; exit 1; }
cd "$(mktemp -d)" || fail "no folder"
export GIT_CONFIG_GLOBAL=$PWD/config GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
git config --global user.name Tester; git config --global user.email t@example.org
git config --global init.defaultBranch main; git config --global advice.detachedHead false
git init -q repo && cd repo || fail init
mkdir -p src && for i in $(seq 300); do echo "int f$i(void) { return $i; }" > src/$i.c; done
git add . && git commit -qm first || fail commit
[ "$(git ls-files | wc -l)" = 300 ] || fail ls-files
[ "$(git rev-parse HEAD^{tree} | wc -c)" = 41 ] || fail tree
git checkout -qb topic && echo "// topic" >> src/1.c && git commit -qam topic || fail branch
git checkout -q main && echo "// main" >> src/2.c && git commit -qam main && git merge -q topic -m merged || fail merge
[ "$(git log --oneline | wc -l)" = 4 ] || fail "log: $(git log --oneline | wc -l)"
git checkout -qb other HEAD~1 && echo conflict >> src/1.c && git commit -qam other
git merge -q main > /dev/null 2>&1 && fail "no conflict"
grep -q '<<<<<<<' src/1.c && git checkout -q --ours src/1.c && git add -A && git commit -qm resolved || fail resolve
git stash list; echo dirty >> src/9.c && git stash -q && git stash pop -q && git checkout -q src/9.c || fail stash
git clone -q "file://$PWD" ../clone || fail "clone over file://"
[ "$(git -C ../clone rev-parse HEAD)" = "$(git rev-parse HEAD)" ] || fail "clone differs"
git clone -q . ../local || fail "local clone"
git init -q --bare ../bare.git && git push -q ../bare.git main other || fail push
(cd ../clone && git checkout -qb work && echo work > w && git add w && git commit -qm work && git push -q origin work) || fail "push back"
git branch | grep -q work || fail "branch did not come"
for i in $(seq 20); do echo $i > n; git add n; git commit -qm "n $i"; done
git rebase -q main > /dev/null 2>&1 || git rebase --abort
git gc -q --aggressive --prune=now || fail gc
[ "$(find .git/objects -name '*.pack' | wc -l)" = 1 ] || fail "packs"
git fsck --full --strict 2>&1 | grep -iE 'error|missing|corrupt' && fail fsck
[ "$(git grep -c 'return 77;' -- src | cut -d: -f2)" = 1 ] || fail grep
git archive HEAD | tar -t | grep -c 'src/.*c$' | grep -qx 300 || fail archive
git worktree add -q ../tree main && [ -f ../tree/src/300.c ] || fail worktree
git bisect start HEAD HEAD~10 > /dev/null 2>&1 && git bisect run sh -c '[ "$(cat n)" -lt 15 ]' > bisected 2>&1
grep -q 'is the first bad commit' bisected || fail "bisect: $(tail -1 bisected)"
echo ok
