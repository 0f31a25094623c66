// SPDX-License-Identifier: Apache-2.0
#include "sandbox/clone.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define AROUND_BYTES (16 * 1024)

/* Has a frame with an array, as what makes a child ready has. */
static int run_true(void *frame)
{
    char path[64];
    char *const words[] = {path, NULL}, *const environment[] = {NULL};
    *(uintptr_t *)frame = (uintptr_t)__builtin_frame_address(0);
    strcpy(path, "/bin/true");
    syscall(SYS_execve, path, words, environment);
    syscall(SYS_exit_group, 1);
    __builtin_unreachable();
}

/* What a sanitizer noted of the child's stack is not to be held against what is mapped there next.
 */
TEST(memory_where_the_stack_was)
{
    uintptr_t frame = 0;
    int pidfd, status;
    pid_t pid = clone_child(run_true, &frame, 0, -1, &pidfd);
    ASSERT_GT(pid, 0);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_EQ(status, 0);
    close(pidfd);
    void *wanted = (void *)((frame & ~(uintptr_t)4095) + 4096 - AROUND_BYTES);
    char *at = mmap(wanted, AROUND_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_EQ((uintptr_t)at, (uintptr_t)wanted);
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(pread(zero, at, AROUND_BYTES, 0), AROUND_BYTES);
    close(zero);
    munmap(at, AROUND_BYTES);
}
