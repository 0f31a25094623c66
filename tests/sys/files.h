// SPDX-License-Identifier: Apache-2.0
/* What the cases about files share. */
#pragma once

#include "tests/harness/harness.h"

#include <fcntl.h>

/* A new file with this text, open at its start. */
static inline int make_file(const char *name, const char *text)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, text, strlen(text)), strlen(text));
    ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}
