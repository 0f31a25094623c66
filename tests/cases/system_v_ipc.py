#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# System V shared memory, semaphores and queues, and POSIX shared memory (PostgreSQL).
import ctypes, errno, mmap, os, signal, struct, sys, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(30)
libc = ctypes.CDLL(None, use_errno=True); libc.shmat.restype = ctypes.c_void_p; libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
def c(name, r):
    if r in (-1, None, ctypes.c_void_p(-1).value): die("%s: %s" % (name, os.strerror(ctypes.get_errno())))
    return r
CREAT, EXCL, RMID = 0o1000, 0o2000, 0
shm = c("shmget", libc.shmget(0, ctypes.c_size_t(1 << 20), CREAT | 0o600)); at = c("shmat", libc.shmat(shm, None, 0))
sem = c("semget", libc.semget(0, 2, CREAT | 0o600))
class Op(ctypes.Structure): _fields_ = [("num", ctypes.c_ushort), ("op", ctypes.c_short), ("flg", ctypes.c_short)]
def semop(n, v, flg=0): return libc.semop(sem, ctypes.byref(Op(n, v, flg)), ctypes.c_size_t(1))
pid = os.fork()
if pid == 0:
    c("semop wait", semop(0, -1)); ctypes.memmove(at + 5000, b"from child", 10); c("semop post", semop(1, 1)); os._exit(0)
time.sleep(0.1); ctypes.memmove(at, b"x", 1); c("semop", semop(0, 1)); c("semop", semop(1, -1))
if ctypes.string_at(at + 5000, 10) != b"from child": die("shared memory not shared")
os.waitpid(pid, 0)
if semop(0, -1, 0o4000) != -1 or ctypes.get_errno() != errno.EAGAIN: die("IPC_NOWAIT did not give EAGAIN")
pid = os.fork()                                            # SEM_UNDO of an ended process
if pid == 0: semop(0, 5, 0o10000); os._exit(0)
os.waitpid(pid, 0)
if libc.semctl(sem, 0, 12) != 0: die("SEM_UNDO left the value %d" % libc.semctl(sem, 0, 12))
second = c("second shmat", libc.shmat(shm, None, 0))
if ctypes.string_at(second + 5000, 10) != b"from child": die("second attach differs")
c("IPC_RMID", libc.shmctl(shm, RMID, None)); ctypes.memmove(second, b"still", 5)
if ctypes.string_at(at, 5) != b"still": die("removed segment unusable while attached")
c("shmdt", libc.shmdt(at)); c("shmdt", libc.shmdt(second))
if libc.shmat(shm, None, 0) != ctypes.c_void_p(-1).value: die("attach after removal worked")
c("semctl", libc.semctl(sem, 0, RMID))
q = c("msgget", libc.msgget(0, CREAT | 0o600)); m = struct.pack("l", 7) + b"hello"
c("msgsnd", libc.msgsnd(q, m, ctypes.c_size_t(5), 0)); b = ctypes.create_string_buffer(64)
n = c("msgrcv", libc.msgrcv(q, b, ctypes.c_size_t(50), ctypes.c_long(7), 0))
if (n, b.raw[8:13]) != (5, b"hello"): die("message queue")
c("msgctl", libc.msgctl(q, RMID, None))
name = "/dev/shm/case-%d" % os.getpid()
fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600); os.ftruncate(fd, 1 << 22); os.posix_fallocate(fd, 0, 1 << 22); os.unlink(name)
mm = mmap.mmap(fd, 1 << 22); pid = os.fork()
if pid == 0: mm[-4:] = b"shmm"; os._exit(0)
os.waitpid(pid, 0)
if mm[-4:] != b"shmm": die("POSIX shared memory")
an = mmap.mmap(-1, 4096); pid = os.fork()
if pid == 0: an[:4] = b"anon"; os._exit(0)
os.waitpid(pid, 0)
if an[:4] != b"anon": die("anonymous shared mapping across fork")
print("ok")
