// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/image/directory.h"

#include "kernel/core/kernel.h"
#include "kernel/fs/image/place.h"
#include "lib/base/buf.h"

#include <fcntl.h>
#include <stdio.h>

#define SUDOERS_MAX 4096
#define LINE_MAX    256

/* ---- mount points ---- */

static bool is_directory(const char *path, unsigned walk_flags)
{
    const struct walk_base base = image_base();
    struct path p;
    if (walk_path(&base, path, walk_flags | WALK_DIRECTORY, &p, NULL) < 0)
        return false;
    path_put(&p);
    return true;
}

static int add_mount_points(struct super *s)
{
    static const struct {
        const char *path;
        mode_t mode;
        unsigned walk_flags; /* of what will do: who mounts on a link mounts elsewhere */
    } points[] = {
        {"/proc", 0555, 0}, {"/sys", 0555, 0}, {"/dev", 0755, 0}, {"/tmp", 01777, WALK_FOLLOW}};
    for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
        if (is_directory(points[i].path, points[i].walk_flags))
            continue;
        int r = layer_add_directory(s->root, points[i].path + 1, points[i].mode, 0, 0, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- names of machines ---- */

static int add_names(const char *hostname, struct super *s)
{
    struct path etc;
    int r = image_make_directories("/etc");
    if (r == 0)
        r = image_open_directory(s, "/etc", &etc);
    if (r < 0)
        return r;
    r = image_etc_add_names(hostname, etc.dentry);
    path_put(&etc);
    return r;
}

/* ---- the user ---- */

static bool field_is(const char *line, size_t field, const char *wanted)
{
    for (; field > 0; field--) {
        line += strcspn(line, ":\n");
        if (*line++ != ':')
            return false;
    }
    size_t size = strcspn(line, ":\n");
    return size == strlen(wanted) && !strncmp(line, wanted, size);
}

/* In the form of passwd(5) and group(5): whether a line has that name, or that number. */
static bool has_entry(const char *text, const char *name, const char *number)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if ((name && field_is(line, 0, name)) || (number && field_is(line, 2, number)))
            return true;
    return false;
}

/* The file with a line more; one that can't be read, or not as a whole, is left as it is. */
static int add_line(struct super *s, const char *name, const char *first, const char *line,
                    const struct image_options *o)
{
    const struct walk_base base = image_base();
    struct buf b = BUF_INIT(IMAGE_TEXT_MAX_BYTES + LINE_MAX);
    char path[32], number[16];
    size_t size = 0;
    snprintf(path, sizeof(path), "/etc/%s", name);
    snprintf(number, sizeof(number), "%u", o->uid);
    char *text = image_read_text(&base, path, &size);
    bool is_whole =
        text ? strlen(text) == size && size < IMAGE_TEXT_MAX_BYTES - 1 : !image_has(path);
    int r = 0;
    if (is_whole && !(text && has_entry(text, o->user_name, number))) {
        bool is_ended = size == 0 || text[size - 1] == '\n';
        buf_printf(&b, "%s%s%s", text ? text : first, is_ended ? "" : "\n", line);
        r = b.failed ? -ENOMEM : image_add_text(s, "/etc", name, 0644, b.data);
    }
    free(text);
    buf_done(&b);
    return r;
}

static int add_home(const struct image_options *o, struct super *s)
{
    char path[64];
    struct path home;
    snprintf(path, sizeof(path), "/home/%s", o->user_name);
    if (image_has(path))
        return 0;
    int r = image_make_directories("/home");
    if (r == 0)
        r = image_open_directory(s, "/home", &home);
    if (r < 0)
        return r;
    r = layer_add_directory(home.dentry, o->user_name, 0755, o->uid, o->gid, NULL);
    path_put(&home);
    return r;
}

static int add_sudoers(const struct image_options *o, struct super *s)
{
    struct buf b = BUF_INIT(SUDOERS_MAX);
    if (!is_directory("/etc/sudoers.d", WALK_FOLLOW))
        return 0;
    buf_printf(&b, "#%u ALL=(ALL:ALL) NOPASSWD: ALL\n", o->uid);
    image_etc_keep_variables(o, &b);
    int r = b.failed ? -ENOMEM : image_add_text(s, "/etc/sudoers.d", "glovebox", 0440, b.data);
    buf_done(&b);
    return r;
}

static bool is_known(const struct image_options *o)
{
    const struct walk_base base = image_base();
    char *text = image_read_text(&base, "/etc/passwd", NULL);
    bool is = text && has_entry(text, o->user_name, NULL);
    free(text);
    return is;
}

/* A password that is none in the file itself: PAM then needs no line of shadow(5). */
static int add_user(const struct image_options *o, struct super *s)
{
    char user[LINE_MAX], group[LINE_MAX];
    if (is_known(o))
        return 0;
    snprintf(user, sizeof(user), "%s:*:%u:%u::/home/%s:%s\n", o->user_name, o->uid, o->gid,
             o->user_name, image_has("/bin/bash") ? "/bin/bash" : "/bin/sh");
    snprintf(group, sizeof(group), "%s:x:%u:\n", o->user_name, o->gid);
    int r = add_line(s, "passwd", "root:*:0:0:root:/root:/bin/sh\n", user, o);
    if (r == 0)
        r = add_line(s, "group", "root:x:0:\n", group, o);
    return r == 0 ? add_home(o, s) : r;
}

static int report(int r, const char *what, const char *outcome)
{
    if (r < 0 && r != -ENOMEM)
        kernel_log("image: %s: %s; %s, give an image where it can be made", what, strerror(-r),
                   outcome);
    return r == -ENOMEM ? r : 0;
}

int image_directory_complete(const struct image_options *o, struct super *s)
{
    if (!image_options_are_valid(o))
        return -EINVAL;
    int r = add_mount_points(s);
    if (r == 0)
        r = report(add_names(o->hostname, s), "hosts and resolv.conf of /etc",
                   "programs find no machine by its name");
    if (r == 0)
        r = report(add_user(o, s), "the user of the sandbox", "programs find no name for it");
    return r == 0 ? report(add_sudoers(o, s), "/etc/sudoers.d", "sudo may ask for a password") : r;
}
