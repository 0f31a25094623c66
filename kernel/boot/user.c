// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/user.h"

#include "kernel/fs/image/place.h"

#include <stdio.h>

#define FIELDS 7

/* Cuts one line into its fields; missing ones are "". */
static void split(char *line, char *fields[FIELDS])
{
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = line ? line : "";
        line = line ? strchr(line, ':') : NULL;
        if (line)
            *line++ = '\0';
    }
}

static bool parse_id(const char *s, uint32_t *ret)
{
    char *end;
    if (*s < '0' || *s > '9')
        return false;
    unsigned long long v = strtoull(s, &end, 10);
    if (*end || v >= UINT32_MAX)
        return false;
    *ret = (uint32_t)v;
    return true;
}

/* Images need not have the files at all: "root" and "user" are always there. */
static int find_built_in(const char *name, bool by_number, uint32_t wanted, struct user *ret)
{
    if (by_number) {
        ret->uid = wanted;
        return 0;
    }
    if (!strcmp(name, "user"))
        ret->uid = ret->gid = 1000;
    else if (strcmp(name, "root"))
        return -ENOENT;
    return 0;
}

/* *name becomes the user's, a place in passwd, where it was a number. */
static int find_in_passwd(char *passwd, const char **name, struct user *ret)
{
    const char *text = *name;
    uint32_t wanted = 0;
    bool by_number = parse_id(text, &wanted);
    for (char *line = strtok_r(passwd, "\n", &passwd); line; line = strtok_r(NULL, "\n", &passwd)) {
        char *f[FIELDS];
        uint32_t uid, gid;
        split(line, f);
        if (!parse_id(f[2], &uid) || !parse_id(f[3], &gid))
            continue;
        if (by_number ? uid != wanted : strcmp(f[0], text) != 0)
            continue;
        ret->uid = uid;
        ret->gid = gid;
        snprintf(ret->home, sizeof(ret->home), "%s", f[5][0] == '/' ? f[5] : "/");
        *name = f[0];
        return 0;
    }
    return find_built_in(text, by_number, wanted, ret);
}

static bool is_member(char *members, const char *name)
{
    for (char *m = strtok_r(members, ",", &members); m; m = strtok_r(NULL, ",", &members))
        if (!strcmp(m, name))
            return true;
    return false;
}

/* In order, as getgroups(2) shows them. */
static void add_group(struct user *user, gid_t gid)
{
    size_t at = 0;
    while (at < user->group_count && user->groups[at] < gid)
        at++;
    if (at < user->group_count && user->groups[at] == gid)
        return;
    memmove(&user->groups[at + 1], &user->groups[at], (user->group_count - at) * sizeof(gid_t));
    user->groups[at] = gid;
    user->group_count++;
}

/*
 * The supplementary groups of name (NULL: none), and the number of the group `wanted` (NULL: not
 * asked).
 */
static int read_groups(char *group, const char *name, const char *wanted, struct user *ret)
{
    int found = wanted ? -ENOENT : 0;
    for (char *line = strtok_r(group, "\n", &group); line; line = strtok_r(NULL, "\n", &group)) {
        char *f[FIELDS];
        uint32_t gid;
        split(line, f);
        if (!parse_id(f[2], &gid))
            continue;
        if (wanted && !strcmp(f[0], wanted)) {
            ret->gid = gid;
            found = 0;
        }
        /* The last place is for the user's own. */
        if (name && is_member(f[3], name) && ret->group_count < USER_GROUPS_MAX - 1)
            add_group(ret, gid);
    }
    return found;
}

int user_find(const struct walk_base *base, const char *text, struct user *ret)
{
    char name[256];
    struct user user = {.home = "/"};
    if ((size_t)snprintf(name, sizeof(name), "%s", text) >= sizeof(name) || !*name)
        return -EINVAL;
    char *group_name = strchr(name, ':');
    if (group_name)
        *group_name++ = '\0';
    char *passwd = image_read_text(base, "/etc/passwd", NULL);
    char *group = image_read_text(base, "/etc/group", NULL);
    char nothing[1] = "", nothing_too[1] = "";
    const char *user_name = name; /* group(5) has members by their names */
    int r = find_in_passwd(passwd ? passwd : nothing, &user_name, &user);
    uint32_t gid;
    if (group_name)
        user_name = NULL;
    if (r == 0 && group_name && parse_id(group_name, &gid)) {
        user.gid = gid;
        group_name = NULL;
    }
    if (r == 0)
        r = read_groups(group ? group : nothing_too, user_name, group_name, &user);
    /*
     * The user's own group is a supplementary one too, as initgroups(3) has it for whoever logs
     * in: a program that changes its group keeps it, and files that give the group less than
     * others (mode 0604) stay closed to it.
     */
    if (r == 0)
        add_group(&user, user.gid);
    free(passwd);
    free(group);
    if (r == 0)
        *ret = user;
    return r;
}
