// SPDX-License-Identifier: Apache-2.0
/*
 * /etc of the host image: who there is and where names come from is made up; what programs of the
 * host's /usr can't do without is the host's.
 *
 * host calls: newfstatat openat
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/image/host.h"
#include "lib/base/buf.h"
#include "lib/base/trust.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define MADE_UP_MAX 16384

/* ---- made up ---- */

static int add_text(struct dentry *etc, const char *name, mode_t mode, struct buf *b)
{
    int r = b->failed ? -ENOMEM : layer_add_file(etc, name, mode, b->data, b->size);
    buf_done(b);
    return r;
}

static int add_users(const struct image_options *o, struct dentry *etc)
{
    struct buf passwd = BUF_INIT(MADE_UP_MAX), group = BUF_INIT(MADE_UP_MAX);
    struct stat st;
    bool has_bash = fstatat(o->root.n, "usr/bin/bash", &st, 0) == 0 && (st.st_mode & S_IXOTH) != 0;
    const char *shell = has_bash ? "/bin/bash" : "/bin/sh";
    buf_printf(&passwd,
               "root:x:0:0:root:/root:%s\n"
               "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
               "bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
               "sys:x:3:3:sys:/dev:/usr/sbin/nologin\n"
               "mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n"
               "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
               "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
               "%s:x:%u:%u::/home/%s:%s\n",
               shell, o->user_name, o->uid, o->gid, o->user_name, shell);
    buf_printf(&group,
               "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\n"
               "mail:x:8:\nsudo:x:27:%s\nwww-data:x:33:\nshadow:x:42:\nutmp:x:43:\nstaff:x:50:\n"
               "users:x:100:\nnogroup:x:65534:\n%s:x:%u:\n",
               o->user_name, o->user_name, o->gid);
    int r = add_text(etc, "passwd", 0644, &passwd);
    int r2 = add_text(etc, "group", 0644, &group);
    return r < 0 ? r : r2;
}

int image_etc_add_names(const char *name, struct dentry *etc)
{
    static const char resolver[] = "nameserver 127.0.0.53\n";
    struct buf hostname = BUF_INIT(MADE_UP_MAX), hosts = BUF_INIT(MADE_UP_MAX);
    buf_printf(&hostname, "%s\n", name);
    buf_printf(&hosts,
               "127.0.0.1\tlocalhost %s\n::1\tlocalhost ip6-localhost ip6-loopback\n"
               "ff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n",
               name);
    int r = add_text(etc, "hostname", 0644, &hostname);
    int r2 = add_text(etc, "hosts", 0644, &hosts);
    if (r == 0)
        r = r2;
    return r == 0 ? layer_add_file(etc, "resolv.conf", 0644, resolver, strlen(resolver)) : r;
}

/* The host's own would tell machines apart; this one is the sandbox's. */
static int add_machine_id(struct dentry *etc)
{
    struct buf b = BUF_INIT(MADE_UP_MAX);
    buf_printf(&b, "%016lx%016lx\n", kernel.boot_id[0] ^ 0x676c6f7665626f78, kernel.boot_id[1]);
    return add_text(etc, "machine-id", 0444, &b);
}

void image_etc_keep_variables(const struct image_options *o, struct buf *b)
{
    for (size_t i = 0; o->has_authority && i < trust_variable_count; i++)
        buf_printf(b, "Defaults env_keep += \"%s\"\n", trust_variables[i].name);
}

/* sudo without a password, for whoever is in the group; sudo(8) refuses other modes. */
static int add_sudo(const struct image_options *o, struct dentry *etc)
{
    struct buf b = BUF_INIT(MADE_UP_MAX);
    buf_printf(&b,
               "Defaults !lecture, !pam_session, env_keep += \"DEBIAN_FRONTEND\"\n"
               "Defaults secure_path=\"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
               "/bin\"\n"
               "root ALL=(ALL:ALL) NOPASSWD: ALL\n%s ALL=(ALL:ALL) NOPASSWD: ALL\n",
               o->user_name);
    image_etc_keep_variables(o, &b);
    return add_text(etc, "sudoers", 0440, &b);
}

/*
 * As Debian's, but for what it starts another program for: E2B's clients run every command in a
 * login shell, and "id -u" was half of what one does. bash has UID; other shells ask.
 */
static const char profile[] =
    "if [ \"${UID:-$(id -u)}\" = 0 ]; then\n"
    "  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
    "else\n"
    "  PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games\n"
    "fi\n"
    "export PATH\n"
    "if [ \"${PS1-}\" ]; then\n"
    "  if [ \"${BASH-}\" ] && [ \"$BASH\" != /bin/sh ]; then\n"
    "    [ ! -f /etc/bash.bashrc ] || . /etc/bash.bashrc\n"
    "  elif [ \"$(id -u)\" = 0 ]; then\n"
    "    PS1='# '\n"
    "  else\n"
    "    PS1='$ '\n"
    "  fi\n"
    "fi\n"
    "if [ -d /etc/profile.d ]; then\n"
    "  for i in /etc/profile.d/*.sh; do\n"
    "    [ ! -r \"$i\" ] || . \"$i\"\n"
    "  done\n"
    "  unset i\n"
    "fi\n";

static int add_fixed_texts(struct dentry *etc)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
                          "networks: files\nprotocols: files\nservices: files\nethers: files\n"
                          "rpc: files\n"},
        {"host.conf", "multi on\n"},
        {"networks", "loopback 127.0.0.0\n"},
        {"fstab", ""},
        {"environment", ""},
        {"profile", profile},
    };
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        int r = layer_add_file(etc, files[i].name, 0644, files[i].text, strlen(files[i].text));
        if (r < 0)
            return r;
    }
    return layer_add_symlink(etc, "mtab", "/proc/mounts");
}

/* Nobody in the sandbox has a password, and all of its users belong to one person. */
static int add_pam(struct dentry *etc)
{
    static const char permit[] = "auth sufficient pam_permit.so\naccount sufficient pam_permit.so\n"
                                 "password sufficient pam_permit.so\n"
                                 "session sufficient pam_permit.so\n";
    static const char deny[] = "auth required pam_deny.so\naccount required pam_deny.so\n"
                               "password required pam_deny.so\nsession required pam_deny.so\n";
    static const char *const services[] = {"su", "su-l", "sudo", "sudo-i", "runuser", "runuser-l"};
    struct dentry *pam;
    int r = layer_add_directory(etc, "pam.d", 0755, 0, 0, &pam);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(services); i++)
        r = layer_add_file(pam, services[i], 0644, permit, strlen(permit));
    return r == 0 ? layer_add_file(pam, "other", 0644, deny, strlen(deny)) : r;
}

/* ---- the host's ---- */

/*
 * A link is shown if it leads to what is in the image: below /usr, or beside itself. Others (of
 * distributions that keep /etc elsewhere) are left out.
 */
static bool link_is_shown(const char *target)
{
    bool goes_up = false;
    for (; !strncmp(target, "../", 3); target += 3)
        goes_up = true;
    if (strstr(target, ".."))
        return false;
    if (*target == '/')
        return !strncmp(target, "/usr/", 5) || !strncmp(target, "/etc/", 5);
    return !goes_up || !strncmp(target, "usr/", 4);
}

static const char *const files[] = {
    "ld.so.cache",
    "ld.so.conf",
    "localtime",
    "timezone",
    "services",
    "protocols",
    "rpc",
    "ethertypes",
    "shells",
    "bash.bashrc",
    "inputrc",
    "debian_version",
    "os-release",
    "lsb-release",
    "redhat-release",
    "fedora-release",
    "system-release",
    "alpine-release",
    "arch-release",
    "SuSE-release",
    "locale.alias",
    "locale.conf",
    "default/locale",
    "login.defs",
    "mailcap",
    "magic",
    "magic.mime",
    "man_db.conf",
    "manpath.config",
    "mime.types",
    "nanorc",
    "vimrc",
    "gai.conf",
    "ca-certificates.conf",
    "ssl/openssl.cnf",
    "ssl/cert.pem",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
    "papersize",
    "matplotlibrc",
    "issue",
    "bindresvport.blacklist",
    "maven/m2.conf",
};

static const char *const directories[] = {
    "alternatives",
    "ld.so.conf.d",
    "ssl/certs",
    "pki/ca-trust",
    "pki/tls/certs",
    "ca-certificates",
    "groff",
    "crypto-policies",
    "fonts",
    "terminfo",
    "perl",
    "vim",
    "X11/xkb",
    "R",
    "maven/logging",
    "skel",
    /* What carries a version in its name: of the releases that are about. */
    "python3",
    "python3.9",
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
    "python3.15",
    "java-8-openjdk",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ImageMagick-6",
    "ImageMagick-7",
};

/* All of them, one after the other; NULL past the last. */
static const char *listed(size_t i)
{
    if (i < ARRAY_SIZE(files))
        return files[i];
    i -= ARRAY_SIZE(files);
    if (i < ARRAY_SIZE(directories))
        return directories[i];
    return NULL;
}

static bool is_in(const char *const *list, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], path))
            return true;
    return false;
}

static bool leads_into(const char *const *list, size_t count, const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < count; i++)
        if (!strncmp(list[i], path, length) && list[i][length] == '/')
            return true;
    return false;
}

static enum lower_verdict verdict(const char *path)
{
    if (is_in(files, ARRAY_SIZE(files), path))
        return LOWER_FILE;
    if (is_in(directories, ARRAY_SIZE(directories), path))
        return LOWER_WHOLE;
    if (leads_into(files, ARRAY_SIZE(files), path) ||
        leads_into(directories, ARRAY_SIZE(directories), path))
        return LOWER_PARTLY;
    return LOWER_HIDDEN;
}

/* What follows the directory at path in an entry; NULL when the entry does not lie in it. */
static const char *below(const char *entry, const char *path)
{
    size_t length = strlen(path);
    if (length == 0)
        return entry;
    return !strncmp(entry, path, length) && entry[length] == '/' ? entry + length + 1 : NULL;
}

static bool was_listed(size_t end, const char *path, const char *name, size_t length)
{
    for (size_t i = 0; i < end; i++) {
        const char *other = below(listed(i), path);
        if (other && strcspn(other, "/") == length && !strncmp(other, name, length))
            return true;
    }
    return false;
}

static int list(const char *path, int (*visit)(void *context, const char *name), void *context)
{
    const char *entry;
    for (size_t i = 0; (entry = listed(i)); i++) {
        char name[NAME_MAX + 1];
        const char *at = below(entry, path);
        size_t length = at ? strcspn(at, "/") : 0;
        if (length == 0 || was_listed(i, path, at, length))
            continue;
        memcpy(name, at, length);
        name[length] = '\0';
        int r = visit(context, name);
        if (r < 0)
            return r;
    }
    return 0;
}

static const struct lower_view view = {verdict, link_is_shown, list};

int image_etc_visit(struct hostfd etc, int (*shown)(struct hostfd fd, bool whole, void *context),
                    void *context)
{
    const char *path;
    for (size_t i = 0; (path = listed(i)); i++) {
        bool whole = i >= ARRAY_SIZE(files);
        struct hostfd fd = {
            openat(etc.n, path, O_PATH | O_CLOEXEC | O_NOFOLLOW | (whole ? O_DIRECTORY : 0))};
        if (!hostfd_is_open(fd))
            continue;
        int r = shown(fd, whole, context);
        hostfd_close(&fd);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_etc(const struct image_options *o, struct dentry *root, struct dentry **ret)
{
    struct hostfd host_etc = image_open_public_directory(o->root, "etc");
    if (!hostfd_is_open(host_etc))
        return layer_add_directory(root, "etc", 0755, 0, 0, ret);
    return layer_add_lower(root, "etc", host_etc, &view, ret);
}

int image_etc_build(const struct image_options *options, struct dentry *root)
{
    struct dentry *etc;
    int r = add_etc(options, root, &etc);
    if (r == 0)
        r = add_users(options, etc);
    if (r == 0)
        r = image_etc_add_names(options->hostname, etc);
    if (r == 0)
        r = add_machine_id(etc);
    if (r == 0)
        r = add_sudo(options, etc);
    if (r == 0)
        r = add_pam(etc);
    return r == 0 ? add_fixed_texts(etc) : r;
}
