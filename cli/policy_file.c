// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_file.h"

#include "lib/policy/policy.h"

#include <fcntl.h>

static int fail_read(const char *path, int error, struct sandbox_error *e)
{
    return sandbox_error_set(e, -error, "policy: %s: %s; name a file that can be read", path,
                             strerror(error));
}

int policy_file_read(const char *path, struct buf *ret, struct sandbox_error *e)
{
    char block[16384];
    bool is_standard_input = !strcmp(path, "-");
    _cleanup_close_ int opened = is_standard_input ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    int fd = is_standard_input ? STDIN_FILENO : opened;
    if (fd < 0)
        return fail_read(path, errno, e);
    while (ret->size <= POLICY_DOCUMENT_MAX_BYTES) {
        size_t room = POLICY_DOCUMENT_MAX_BYTES + 1 - ret->size;
        ssize_t n = read(fd, block, MIN(sizeof(block), room));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_read(path, errno, e);
        if (n == 0)
            break;
        if (buf_append(ret, block, (size_t)n) < 0)
            return fail_read(path, ENOMEM, e);
    }
    return 0;
}
