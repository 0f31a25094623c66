#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fault details delivered to handlers (si_code, si_addr) must be those of Linux.
# Runtimes such as Julia, the JVM or Go decide from them whether a fault is theirs.
command -v gcc >/dev/null || { echo "skip: no gcc"; echo ok; exit 0; }
d=$(mktemp -d) && trap 'rm -rf "$d"' EXIT
cat > "$d/f.c" <<'EOC'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static sigjmp_buf back; static volatile int sig, code; static void *volatile where; static volatile int from;
static void on(int s, siginfo_t *i, void *u) { (void)u; sig = s; code = i->si_code; where = i->si_addr; from = i->si_pid; siglongjmp(back, 1); }
static int bad;
static void want(const char *name, int s, int c, void *a) {
  if (sig != s || code != c || (a && where != a)) { printf("# %s: signal %d code %d addr %p, wanted %d %d %p\n", name, sig, code, (void *)where, s, c, a); bad++; }
  sig = code = 0;
}
#define TRY(stmt) do { if (!sigsetjmp(back, 1)) { stmt; } } while (0)
int main(void) {
  struct sigaction sa = {0}; sa.sa_sigaction = on; sa.sa_flags = SA_SIGINFO;
  int all[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGUSR1};
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) sigaction(all[i], &sa, 0);
  long pg = sysconf(_SC_PAGESIZE);
  char *m = mmap(0, 4 * pg, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  m[0] = m[pg] = m[2 * pg] = 1;
  munmap(m + 3 * pg, pg);
  TRY(m[3 * pg + 8] = 1); want("write to a hole", SIGSEGV, SEGV_MAPERR, m + 3 * pg + 8);
  mprotect(m, pg, PROT_READ);
  TRY(m[16] = 1); want("write to a read-only page", SIGSEGV, SEGV_ACCERR, m + 16);
  mprotect(m + pg, pg, PROT_NONE);
  TRY((void)*(volatile char *)(m + pg + 5)); want("read of a PROT_NONE page", SIGSEGV, SEGV_ACCERR, m + pg + 5);
  TRY(((void (*)(void))(m + 2 * pg))()); want("jump into data", SIGSEGV, SEGV_ACCERR, m + 2 * pg);
  char t[] = "/tmp/caseXXXXXX"; int fd = mkstemp(t); unlink(t);
  if (ftruncate(fd, pg)) return 2;
  char *f = mmap(0, 2 * pg, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  f[0] = 1;
  TRY(f[pg + 1] = 1); want("past the end of a mapped file", SIGBUS, BUS_ADRERR, f + pg + 1);
#ifdef __x86_64__
  volatile int z = 0; volatile int r;
  TRY(r = 77 / z; (void)r); want("integer division by zero", SIGFPE, FPE_INTDIV, 0);
  TRY(__asm__ volatile("ud2")); want("undefined instruction", SIGILL, ILL_ILLOPN, 0);
#endif
  int me = getpid();
  TRY(kill(me, SIGUSR1); pause());
  if (sig != SIGUSR1 || code != SI_USER || from != me) { printf("# kill: code %d pid %d\n", code, from); bad++; }
  printf(bad ? "FAIL: %d fault reports differ from Linux\n" : "ok\n", bad);
  return bad != 0;
}
EOC
gcc -O0 -w -o "$d/f" "$d/f.c" || { echo "FAIL: gcc could not build"; exit 1; }
"$d/f"; rc=$?
[ $rc -gt 1 ] && { echo "FAIL: test program ended with status $rc"; exit 1; }
exit $rc
