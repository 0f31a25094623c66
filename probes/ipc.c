// SPDX-License-Identifier: Apache-2.0
/*
 * System V IPC: the host's segments are not the sandbox's, and its own are bounded and checked.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>

PROBE(attach_the_hosts_shared_memory, IPC,
      .expected = "ENOENT: keys and identifiers are the sandbox's", .outside = OUTSIDE_ESCAPES)
{
    key_t key = (key_t)canary_number("SHM");
    REFUSED(shmget(key, 0, 0), ENOENT);
    for (int id = 0; id < 2000; id++) {
        const char *p = shmat(id, NULL, SHM_RDONLY);
        if (p != (void *)-1 && canary_is_in(p, PAGE))
            probe_escaped("segment %d is the host's", id);
    }
}

PROBE(list_ipc_of_the_host, IPC, .expected = "only what the sandbox made", .outside = OUTSIDE_MAYBE)
{
    static const char *const files[] = {"/proc/sysvipc/shm", "/proc/sysvipc/sem",
                                        "/proc/sysvipc/msg"};
    char text[4096], wanted[32];
    struct shm_info info;
    snprintf(wanted, sizeof(wanted), "%ld", canary_number("SHM"));
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (probe_read_file(files[i], text, sizeof(text)) > 0 && strstr(text, wanted))
            probe_escaped("%s lists the host's segment", files[i]);
    int top = shmctl(0, SHM_INFO, (void *)&info);
    for (int i = 0; i <= top; i++) {
        struct shmid_ds ds;
        if (shmctl(i, SHM_STAT, &ds) >= 0 && ds.shm_perm.__key == canary_number("SHM"))
            probe_escaped("SHM_STAT %d shows the host's segment", i);
    }
}

PROBE(use_segments_of_another_user, IPC, .expected = "EACCES or EPERM")
{
    struct shmid_ds ds;
    probe_need_root();
    int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    NEED(id >= 0);
    pid_t pid = probe_fork();
    if (pid == 0) {
        probe_become_user();
        REFUSED(shmat(id, NULL, 0), EACCES);
        REFUSED(shmctl(id, IPC_STAT, &ds), EACCES);
        REFUSED(shmctl(id, IPC_RMID, NULL), EPERM);
        _exit(0);
    }
    int status = probe_wait(pid);
    shmctl(id, IPC_RMID, NULL);
    if (status != 0)
        probe_unproved("status %d", status);
}

PROBE(remove_segments_that_are_in_use, IPC, .expected = "the segment lives as long as a mapping",
      .after = "use after free of shm segments")
{
    for (int i = 0; i < 200; i++) {
        int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
        char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
        NEED(p != (void *)-1 && shmctl(id, IPC_RMID, NULL) == 0);
        memset(p, 'x', PAGE);
        pid_t pid = probe_fork();
        if (pid == 0)
            _exit(p[1] == 'x' && shmdt(p) == 0 ? 0 : 1);
        NEED(probe_wait(pid) == 0 && shmdt(p) == 0);
        REFUSED(shmat(id, NULL, 0), EINVAL, EIDRM);
    }
    probe_check_kernel();
}

PROBE(attach_where_nothing_may_be, IPC, .expected = "EINVAL or ENOMEM")
{
    /* One is the page at which a program's addresses end where the processor has five levels. */
    static const uint64_t places[] = {0xffffffffff600000, 0xffffffff81000000, 1UL << 63,
                                      0xfffffffffff000, 1};
    int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    NEED(id >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        REFUSED(shmat(id, (void *)places[i], 0), EINVAL, ENOMEM);
    REFUSED(shmdt((void *)0xffffffff81000000), EINVAL);
    REFUSED(shmat(-1, NULL, 0), EINVAL);
    REFUSED(shmat(0x7fffffff, NULL, 0), EINVAL);
    shmctl(id, IPC_RMID, NULL);
}

PROBE(execute_code_in_shared_memory, IPC, .expected = "EACCES: a segment is not executable")
{
    int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0700);
    NEED(id >= 0);
    void *p = shmat(id, NULL, SHM_EXEC);
    int error = errno;
    shmctl(id, IPC_RMID, NULL);
    if (p != (void *)-1)
        probe_escaped("a segment was mapped for execution");
    NEED(error == EACCES || error == EPERM || error == EINVAL);
}

PROBE(ask_semaphores_for_too_much, IPC, .expected = "EINVAL, E2BIG, EFBIG, ERANGE or ENOSPC")
{
    static struct sembuf many[1000];
    int id = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
    NEED(id >= 0);
    REFUSED(semget(IPC_PRIVATE, 1 << 30, IPC_CREAT | 0600), EINVAL, ENOSPC);
    REFUSED(semget(IPC_PRIVATE, -1, IPC_CREAT | 0600), EINVAL);
    REFUSED(semop(id, many, 1000), E2BIG);
    REFUSED(semop(id, many, SIZE_MAX), E2BIG, EINVAL);
    REFUSED(semop(id, &(struct sembuf){9999, 1, 0}, 1), EFBIG);
    REFUSED(semop(id, &(struct sembuf){0, -1, IPC_NOWAIT}, 1), EAGAIN);
    for (int i = 0; i < 3; i++)
        NEED(semop(id, &(struct sembuf){0, 10000, 0}, 1) == 0);
    REFUSED(semop(id, &(struct sembuf){0, 10000, 0}, 1), ERANGE);
    REFUSED(semctl(id, 9999, GETVAL), EINVAL);
    REFUSED(semctl(id, 0, 9999), EINVAL);
    semctl(id, 0, IPC_RMID);
}

PROBE(send_messages_of_bad_sizes, IPC, .expected = "EINVAL, E2BIG or EFAULT")
{
    struct {
        long type;
        char text[64];
    } m = {.type = 1};
    int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    NEED(id >= 0);
    REFUSED(msgsnd(id, &m, SIZE_MAX, IPC_NOWAIT), EINVAL);
    REFUSED(msgsnd(id, &m, 1 << 20, IPC_NOWAIT), EINVAL);
    m.type = 0;
    REFUSED(msgsnd(id, &m, 8, IPC_NOWAIT), EINVAL);
    m.type = 1;
    NEED(msgsnd(id, &m, 64, IPC_NOWAIT) == 0);
    REFUSED(msgrcv(id, &m, 8, 0, IPC_NOWAIT), E2BIG);
    REFUSED(msgrcv(id, (void *)8, 64, 0, IPC_NOWAIT), EFAULT);
    REFUSED(msgrcv(id, &m, SIZE_MAX, 0, IPC_NOWAIT), EINVAL);
    msgctl(id, IPC_RMID, NULL);
    probe_check_kernel();
}
