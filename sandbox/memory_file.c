// SPDX-License-Identifier: Apache-2.0
#include "sandbox/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* A host where memory files must not be executable (vm.memfd_noexec) wants to be told so. */
static int create(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
}

int memory_file_new(const char *name, const void *data, size_t size)
{
    _cleanup_close_ int fd = create(name);
    /* It takes a write whole or not at all. */
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -1;
    return TAKE_FD(fd);
}

int memory_file_new_shared(const char *name, size_t size)
{
    _cleanup_close_ int fd = create(name);
    if (fd < 0 || fallocate(fd, 0, 0, (off_t)size) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return -1;
    return TAKE_FD(fd);
}
