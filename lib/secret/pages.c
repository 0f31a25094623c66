// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/pages.h"

#include <sys/mman.h>

void *secret_memory_new(size_t size)
{
    void *p = mmap(NULL, MAX(size, (size_t)1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    /* Both are more than is needed to work: a host that bounds locked memory is no reason to stop.
     */
    madvise(p, size, MADV_DONTDUMP);
    mlock(p, size);
    return p;
}

void secret_memory_free(void *p, size_t size)
{
    if (!p)
        return;
    explicit_bzero(p, size);
    munmap(p, MAX(size, (size_t)1));
}
