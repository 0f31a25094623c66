#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The place where agents work: home, temp, current directory, ownership, execute bits, git.
bad() { echo "FAIL: $*" | tr "\n" " "; echo; exit 1; }
[ -n "$HOME" ] && [ -d "$HOME" ] && [ -w "$HOME" ] || bad "HOME '$HOME' is not a writable directory"
[ "$(python3 -c 'import os; print(os.path.expanduser("~"))')" = "$HOME" ] || bad "~ in Python"
[ "$(id -u)" = "$(python3 -c 'import os; print(os.getuid())')" ] && [ -n "$(id -un)" ] || bad "the user has no name: $(id)"
[ -w . ] || bad "current directory $PWD is not writable"; [ "$PWD" = "$(pwd -P)" ] || [ "$(readlink -f "$PWD")" = "$(pwd -P)" ] || bad "PWD is stale"
for t in /tmp "${TMPDIR:-/tmp}" /var/tmp /dev/shm; do [ -d "$t" ] && [ -w "$t" ] || bad "$t is not writable"; done
for t in /tmp /var/tmp /dev/shm; do [ "$(stat -c %a "$t")" = 1777 ] || bad "$t has mode $(stat -c %a "$t")"; done
[ "$(umask)" = 0022 ] || [ "$(umask)" = 0002 ] || [ "$(umask)" = 0077 ] || bad "umask $(umask)"
for base in "$HOME" /tmp; do
  d=$(mktemp -d "$base/case.XXXX") || bad "mktemp in $base"; cd "$d" || exit 1
  mkdir new && echo hello > file && mv file new/file && [ "$(cat new/file)" = hello ] || bad "mkdir and mv in $base"
  [ "$(stat -c %u new/file)" = "$(id -u)" ] || bad "owner of a new file"
  printf '#!/bin/sh\necho ran\n' > new/s; chmod 755 new/s; [ "$(new/s)" = ran ] || bad "cannot run programs in $base"
  chmod 400 new/file; [ "$(stat -c %a new/file)" = 400 ] || bad "chmod"; touch -d '2001-02-03 04:05:06 UTC' new/file; [ "$(stat -c %Y new/file)" = 981173106 ] || bad "touch -d"
  ln -s new/file l && [ "$(cat l)" = hello ] && cp -a new copy && [ "$(stat -c %Y copy/file)" = 981173106 ] || bad "symlink or cp -a"
  if command -v git >/dev/null; then
    export GIT_CONFIG_GLOBAL=$d/gitconfig; git config --global user.name T; git config --global user.email t@example.org
    git init -q repo && cd repo && for i in $(seq 300); do echo "$i" > "f$i"; done && git add . && git commit -qm one || bad "git commit in $base"
    [ -z "$(git status --porcelain)" ] || bad "git status right after the commit: $(git status --porcelain | head -2)"
    git checkout -qb side && echo more >> f1 && git commit -qam two && git checkout -q - && echo other >> f2 && git commit -qam three && git merge -q -m m side || bad "git merge"
    git gc -q 2>/dev/null && git fsck --strict >/dev/null 2>&1 || bad "git gc or fsck"
    git clone -q . ../clone 2>/dev/null && [ "$(git -C ../clone log --oneline | wc -l)" = 4 ] || bad "git clone"
    echo x > f3; git stash -q && [ -z "$(git status --porcelain)" ] && git stash pop -q && [ "$(git status --porcelain)" = " M f3" ] || bad "git stash"
    sleep 0.1; touch f4; [ "$(git status --porcelain)" = " M f3" ] || bad "git status after touch"; git worktree add -q ../wt side && [ -f ../wt/f1 ] || bad "git worktree"
    cd ..
  fi
  cd / && rm -rf "$d" && [ ! -e "$d" ] || bad "rm -rf"
done
[ "$(python3 -c 'import tempfile,os; f=tempfile.NamedTemporaryFile(); print(os.path.dirname(f.name))')" = "$(readlink -f "${TMPDIR:-/tmp}")" ] || [ -n "$TMPDIR" ] || bad "Python's temp directory"
[ "$(date +%s)" -gt 1700000000 ] || bad "clock: $(date)"; getent passwd "$(id -u)" >/dev/null || bad "no passwd entry"
[ -r /etc/resolv.conf ] && [ -r /etc/hosts ] && [ -n "$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)" ] || bad "resolv.conf, hosts or hostname"
case "$PATH" in *:/usr/bin*|/usr/bin*) ;; *) bad "PATH $PATH";; esac
echo ok
