// SPDX-License-Identifier: Apache-2.0
#include "lib/seal/landlock.h"

#include <linux/landlock.h>
#include <sys/syscall.h>

/* Newer than the headers of some machines that this is built on. */
#define ACCESS_FS_TRUNCATE     (1ULL << 14)
#define ACCESS_FS_IOCTL_DEV    (1ULL << 15)
#define ACCESS_NET_BIND_TCP    (1ULL << 0)
#define ACCESS_NET_CONNECT_TCP (1ULL << 1)
#define SCOPE_ABSTRACT_UNIX    (1ULL << 0)
#define SCOPE_SIGNAL           (1ULL << 1)
#define ACCESS_FS_OF_ABI_2     ((1ULL << 14) - 1)

/* struct landlock_ruleset_attr as it is today: the host takes what is 0 in it beyond its own. */
struct ruleset_attr {
    uint64_t handled_access_fs, handled_access_net, scoped;
};

int seal_landlock_begin(struct seal_landlock *ret, unsigned spare)
{
    long abi =
        syscall(SYS_landlock_create_ruleset, NULL, 0, (unsigned)LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 0 && errno != ENOSYS && errno != EOPNOTSUPP)
        return -errno;
    if (abi < SEAL_LANDLOCK_OLDEST)
        return -EOPNOTSUPP;
    struct ruleset_attr attr = {.handled_access_fs = ACCESS_FS_OF_ABI_2};
    if (abi >= 3)
        attr.handled_access_fs |= ACCESS_FS_TRUNCATE;
    if (abi >= 4)
        attr.handled_access_net =
            ACCESS_NET_BIND_TCP | (spare & SEAL_SPARE_CONNECT ? 0 : ACCESS_NET_CONNECT_TCP);
    if (abi >= 5)
        attr.handled_access_fs |= ACCESS_FS_IOCTL_DEV;
    if (abi >= 6)
        attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
    /* The descriptor is close-on-exec. */
    long fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0u);
    if (fd < 0)
        return -errno;
    *ret = (struct seal_landlock){(int)abi, (int)fd, attr.handled_access_fs};
    return 0;
}

static const struct {
    unsigned access;
    uint64_t rights;
} rights_of[] = {
    {SEAL_READ_FILES, LANDLOCK_ACCESS_FS_READ_FILE},
    {SEAL_LIST, LANDLOCK_ACCESS_FS_READ_DIR},
    {SEAL_WRITE_FILES, LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_FS_TRUNCATE},
    {SEAL_MAKE_FILES, LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE},
    {SEAL_MAKE_FOLDERS, LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR},
    {SEAL_MAKE_LINKS, LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REMOVE_FILE},
    {SEAL_MOVE, LANDLOCK_ACCESS_FS_REFER},
    {SEAL_EXECUTE, LANDLOCK_ACCESS_FS_EXECUTE},
};

int seal_landlock_allow(const struct seal_landlock *l, int fd, unsigned access)
{
    struct landlock_path_beneath_attr rule = {.parent_fd = fd};
    for (size_t i = 0; i < ARRAY_SIZE(rights_of); i++)
        if (access & rights_of[i].access)
            rule.allowed_access |= rights_of[i].rights;
    rule.allowed_access &= l->handled;
    long r = syscall(SYS_landlock_add_rule, l->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0u);
    return r < 0 ? -errno : 0;
}

int seal_landlock_enforce(struct seal_landlock *l)
{
    int r = syscall(SYS_landlock_restrict_self, l->ruleset, 0u) < 0 ? -errno : 0;
    base_closep(&l->ruleset);
    l->ruleset = -1;
    return r;
}
