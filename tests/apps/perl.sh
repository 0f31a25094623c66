#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# perl: text, files, fork, pipes, signals, sockets, threads of its own modules.
cd "$(mktemp -d)" || exit 1
cat > t.pl <<'P'
use strict; use warnings;
use File::Temp qw(tempdir tempfile); use File::Find; use File::Path qw(make_path); use Time::HiRes qw(sleep time);
use IO::Socket::INET; use IO::Select; use POSIX qw(:sys_wait_h mkfifo); use Digest::SHA qw(sha256_hex); use Fcntl qw(:flock);
sub is { my ($name, $a, $b) = @_; if ($a ne $b) { print "FAIL: $name: $a, not $b\n"; exit 1 } }
my %count; open my $f, '<', '/etc/passwd' or die; while (<$f>) { $count{(split /:/)[6] // ''}++ } close $f;
is('passwd', keys %count > 0 ? 1 : 0, 1);
is('sha', substr(sha256_hex('abc'), 0, 8), 'ba7816bf');
is("backticks", scalar `echo out; exit 3`, "out\n"); is('status', $? >> 8, 3);
my $pid = fork // die; if (!$pid) { exit 9 } waitpid $pid, 0; is('fork', $? >> 8, 9);
pipe my $r, my $w; $pid = fork; if (!$pid) { close $r; print $w "x" x 200000; exit 0 }
close $w; my $data = do { local $/; <$r> }; waitpid $pid, 0; is('pipe', length $data, 200000);
open my $sort, '|-', 'sort -n > sorted' or die; print $sort "$_\n" for reverse 1 .. 500; close $sort;
is("to a program", scalar `head -1 sorted`, "1\n");
my $got = 0; $SIG{ALRM} = sub { $got++ }; alarm 1; select undef, undef, undef, 5; is('alarm', $got, 1);
$SIG{USR1} = sub { $got = 'usr1' }; kill USR1 => $$; is('kill', $got, 'usr1');
my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die "listen: $!";
$pid = fork; if (!$pid) { my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $server->sockport); print $c "hello\n"; print <$c>; exit 0 }
my $c = $server->accept; is('socket', scalar <$c>, "hello\n"); close $c; waitpid $pid, 0;
my $dir = tempdir(CLEANUP => 1); make_path("$dir/a/b/c"); my $n = 0; find(sub { $n++ }, $dir); is('find', $n, 4);
my ($h, $name) = tempfile(DIR => $dir); flock $h, LOCK_EX or die; print $h "a\nb\n"; close $h;
{ local ($^I, @ARGV) = ('.bak', $name); while (<>) { s/a/A/; print } } is("in place", scalar `cat $name`, "A\nb\n");
mkfifo("$dir/p", 0600); $pid = fork; if (!$pid) { open my $p, '>', "$dir/p"; print $p "f"; exit 0 }
open my $p, '<', "$dir/p"; is('fifo', scalar <$p>, 'f'); waitpid $pid, 0;
my $t = time; sleep 0.05; is('sleep', time - $t >= 0.05 ? 1 : 0, 1);
is('unicode', do { use utf8; my $s = "größe"; length $s }, 5);
is('sort', join(',', sort { $a <=> $b } 10, 9, 100), '9,10,100');
opendir my $d, '/usr/share/perl' or die; is('readdir', (grep /^5/, readdir $d) > 0 ? 1 : 0, 1);
print "ok\n";
P
exec perl t.pl
