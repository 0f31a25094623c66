// SPDX-License-Identifier: Apache-2.0
/*
 * Files from below with an appendix, and what image_trust_add() makes of images of several kinds.
 */
#include "tests/unit/fs_support.h"

#include "kernel/fs/image/trust.h"
#include "kernel/fs/layer/fdcache.h"
#include "lib/base/trust.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nT3Vycw==\n-----END CERTIFICATE-----\n"
#define SHOWN       "\n" CERTIFICATE

/* ---- files with an appendix ---- */

static void start_with_appendix(void)
{
    static const char *const names[] = {"lib/roots.pem", NULL};
    static const char *const none[] = {NULL};
    static const struct layer_appendix tail = {"+tail", 5, names, none, NULL};
    mkdir("lower", 0755);
    mkdir("lower/lib", 0755);
    mkdir("lower/mylib", 0755);
    host_write("lower/lib/roots.pem", "below");
    host_write("lower/lib/xroots.pem", "below");
    host_write("lower/mylib/roots.pem", "below");
    host_write("lower/roots.pem", "below");
    ASSERT_EQ(symlink("lib/roots.pem", "lower/link"), 0);
    fs_start_over("lower");
    layer_set_appendix(fs_root_super, &tail);
}

static struct file *open_both(const char *name)
{
    struct file *f = NULL;
    struct open_how_in how = {O_RDWR, 0, 0};
    ASSERT_EQ(vfs_open(&fs_super, name, &how, &f), 0);
    return f;
}

static int64_t size_of(const char *name)
{
    struct stat st = {0};
    ASSERT_EQ(fs_stat(name, &st), 0);
    return st.st_size;
}

TEST(only_files_of_that_name_have_it)
{
    start_with_appendix();
    EXPECT_STR(fs_read_file("lib/roots.pem"), "below+tail");
    EXPECT_STR(fs_read_file("link"), "below+tail");
    EXPECT_EQ(size_of("lib/roots.pem"), 10);
    EXPECT_STR(fs_read_file("lib/xroots.pem"), "below");
    EXPECT_STR(fs_read_file("mylib/roots.pem"), "below");
    EXPECT_STR(fs_read_file("roots.pem"), "below");
    dentry_trim(0);
    EXPECT_STR(fs_read_file("lib/roots.pem"), "below+tail");
}

TEST(reading_copies_nothing_and_ends_where_the_size_says)
{
    struct file *f;
    char text[16];
    start_with_appendix();
    uint64_t before = fs_budget.used_inodes;
    ASSERT_EQ(fs_open("lib/roots.pem", O_RDONLY, 0, &f), 0);
    memset(text, '.', sizeof(text));
    EXPECT_EQ(fs_pread(f, text, 4, 3), 4);
    EXPECT_EQ(memcmp(text, "ow+t", 4), 0);
    EXPECT_EQ(fs_pread(f, text, 16, 7), 3);
    EXPECT_EQ(memcmp(text, "ail", 3), 0);
    EXPECT_EQ(fs_pread(f, text, 16, 10), 0);
    EXPECT_EQ(fs_pread(f, text, 16, 5), 5);
    EXPECT_EQ(memcmp(text, "+tail", 5), 0);
    file_put(f);
    EXPECT_EQ(fs_budget.used_bytes, 0);
    EXPECT_EQ(fs_budget.used_inodes, before);
}

TEST(it_stands_behind_what_replaced_the_file)
{
    start_with_appendix();
    EXPECT_EQ(size_of("lib/roots.pem"), 10);
    host_write("lower/new", "a longer one below");
    ASSERT_EQ(rename("lower/new", "lower/lib/roots.pem"), 0);
    fdcache_trim();
    EXPECT_STR(fs_read_file("lib/roots.pem"), "a longer one below+tail");
}

TEST(what_is_written_has_it_once)
{
    start_with_appendix();
    struct file *f = open_both("lib/roots.pem");
    EXPECT_EQ(fs_pwrite(f, "B", 1, 0), 1);
    EXPECT_EQ(fs_pwrite(f, "!", 1, 10), 1);
    file_put(f);
    EXPECT_STR(fs_read_file("lib/roots.pem"), "Below+tail!");
    EXPECT_EQ(size_of("lib/roots.pem"), 11);
    EXPECT_GT(fs_budget.used_bytes, 0);
}

TEST(truncating_into_it)
{
    struct path p;
    start_with_appendix();
    ASSERT_EQ(walk_path(&fs_super, "lib/roots.pem", 0, &p, NULL), 0);
    EXPECT_EQ(vfs_truncate(&p, NULL, fs_super.cred, 7), 0);
    EXPECT_STR(fs_read_file("lib/roots.pem"), "below+t");
    EXPECT_EQ(vfs_truncate(&p, NULL, fs_super.cred, 0), 0);
    EXPECT_STR(fs_read_file("lib/roots.pem"), "");
    path_put(&p);
}

TEST(what_is_mapped_has_it)
{
    struct file *f;
    struct hostfd fd;
    start_with_appendix();
    ASSERT_EQ(fs_open("lib/roots.pem", O_RDONLY, 0, &f), 0);
    ASSERT_EQ(f->ops->map(f, false, &fd), 0);
    const char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd.n, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    EXPECT_STR(p, "below+tail");
    munmap((void *)(uintptr_t)p, 4096);
    file_put(f);
}

TEST(one_more_file_keeps_it)
{
    struct path p;
    start_with_appendix();
    ASSERT_EQ(walk_path(&fs_super, "roots.pem", 0, &p, NULL), 0);
    layer_show_appendix(p.dentry->inode);
    layer_show_appendix(p.dentry->inode);
    path_put(&p);
    dentry_trim(0);
    EXPECT_STR(fs_read_file("roots.pem"), "below+tail");
}

/* ---- images ---- */

static void trust(void)
{
    static const struct image_trust t = {CERTIFICATE, 0x0a1b2c3d};
    ASSERT_EQ(image_trust_add(&t, fs_root_super), 0);
}

static const char *link_of(const char *name)
{
    static char target[256];
    struct path p;
    target[0] = '\0';
    if (walk_path(&fs_super, name, 0, &p, NULL) < 0)
        return target;
    EXPECT_GE(p.dentry->inode->ops->readlink(p.dentry->inode, target, sizeof(target)), 0);
    path_put(&p);
    return target;
}

/* Makes a directory of the image with all above it. */
static void below(const char *path)
{
    char name[256];
    snprintf(name, sizeof(name), "lower/%s/", path);
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(name, 0755);
        *slash = '/';
    }
}

static void expect_hashed(void)
{
    EXPECT_STR(link_of("etc/ssl/certs/0a1b2c3d.0"), "glovebox-ca.pem");
    EXPECT_STR(link_of("etc/ssl/certs/glovebox-ca.pem"), TRUST_CERTIFICATE);
    EXPECT_STR(fs_read_file("etc/ssl/certs/0a1b2c3d.0"), CERTIFICATE);
    EXPECT_STR(fs_read_file(TRUST_CERTIFICATE + 1), CERTIFICATE);
}

TEST(debian)
{
    below("etc/ssl/certs");
    below("usr/local/share/ca-certificates");
    below("usr/lib/python3/pip/_vendor/certifi");
    host_write("lower/etc/ssl/certs/ca-certificates.crt", "roots\n");
    host_write("lower/etc/ssl/certs/other.pem", "root\n");
    host_write("lower/usr/lib/python3/pip/_vendor/certifi/cacert.pem", "roots");
    fs_start_over("lower");
    trust();
    EXPECT_STR(fs_read_file("etc/ssl/certs/ca-certificates.crt"), "roots\n" SHOWN);
    EXPECT_STR(fs_read_file("usr/lib/python3/pip/_vendor/certifi/cacert.pem"), "roots" SHOWN);
    EXPECT_STR(fs_read_file("etc/ssl/certs/other.pem"), "root\n");
    expect_hashed();
    EXPECT_TRUE(strstr(fs_read_file("etc/profile.d/glovebox-ca.sh"),
                       "\nexport CURL_CA_BUNDLE=\"${CURL_CA_BUNDLE-" TRUST_BUNDLE "}\"\n"));
}

TEST(java)
{
    static const char store[] = "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\0"
                                "\xe2\x68\x6e\x45\xfb\x43\xdf\xa4\xd9\x92"
                                "\xdd\x41\xce\xb6\xb2\x1c\x63\x30\xd7\x92";
    struct file *f;
    char bytes[512] = {0};
    below("usr/lib/jvm/java/lib/security");
    below("usr/lib/jvm/other/lib/security");
    int fd = open("lower/usr/lib/jvm/java/lib/security/cacerts", O_CREAT | O_WRONLY, 0644);
    ASSERT_EQ(write(fd, store, sizeof(store) - 1), (ssize_t)sizeof(store) - 1);
    close(fd);
    host_write("lower/usr/lib/jvm/other/lib/security/cacerts", "of no kind that is known");
    fs_start_over("lower");
    trust();
    uint64_t before = fs_budget.used_bytes;
    EXPECT_EQ(size_of("usr/lib/jvm/java/lib/security/cacerts"), sizeof(store) - 1);
    EXPECT_EQ(fs_budget.used_bytes, before);
    ASSERT_EQ(fs_open("usr/lib/jvm/java/lib/security/cacerts", O_RDONLY, 0, &f), 0);
    EXPECT_EQ(fs_pread(f, bytes, sizeof(bytes), 0), 72);
    EXPECT_EQ(memcmp(bytes + 8, "\0\0\0\1\0\0\0\2\0\x0bglovebox-ca", 21), 0);
    file_put(f);
    EXPECT_EQ(size_of("usr/lib/jvm/java/lib/security/cacerts"), 72);
    EXPECT_STR(fs_read_file("usr/lib/jvm/other/lib/security/cacerts"), "of no kind that is known");
    EXPECT_STR(fs_read_file("usr/lib/jvm/other/lib/security/cacerts"), "of no kind that is known");
}

TEST(fedora)
{
    below("etc/ssl");
    below("etc/pki/tls/certs");
    below("etc/pki/ca-trust/extracted/pem");
    below("etc/pki/ca-trust/source/anchors");
    host_write("lower/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "roots\n");
    ASSERT_EQ(symlink("../pki/tls/certs", "lower/etc/ssl/certs"), 0);
    ASSERT_EQ(symlink("/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                      "lower/etc/pki/tls/certs/ca-bundle.crt"),
              0);
    fs_start_over("lower");
    trust();
    EXPECT_STR(fs_read_file("etc/pki/tls/certs/ca-bundle.crt"), "roots\n" SHOWN);
    EXPECT_STR(fs_read_file(TRUST_BUNDLE + 1), "roots\n" SHOWN);
    EXPECT_STR(fs_read_file("etc/pki/tls/certs/0a1b2c3d.0"), CERTIFICATE);
    EXPECT_STR(fs_read_file("etc/pki/ca-trust/source/anchors/glovebox-ca.crt"), CERTIFICATE);
    expect_hashed();
}

TEST(suse)
{
    below("etc/ssl");
    below("var/lib/ca-certificates/pem");
    host_write("lower/var/lib/ca-certificates/ca-bundle.pem", "roots\n");
    ASSERT_EQ(symlink("/var/lib/ca-certificates/pem", "lower/etc/ssl/certs"), 0);
    ASSERT_EQ(symlink("/var/lib/ca-certificates/ca-bundle.pem", "lower/etc/ssl/ca-bundle.pem"), 0);
    fs_start_over("lower");
    trust();
    EXPECT_STR(fs_read_file("etc/ssl/ca-bundle.pem"), "roots\n" SHOWN);
    EXPECT_STR(link_of(TRUST_BUNDLE + 1), "/etc/ssl/ca-bundle.pem");
    EXPECT_STR(fs_read_file(TRUST_BUNDLE + 1), "roots\n" SHOWN);
    expect_hashed();
}

TEST(a_bundle_that_has_another_name)
{
    below("etc/ssl/certs");
    below("opt");
    host_write("lower/opt/all", "roots\n");
    ASSERT_EQ(symlink("/opt/all", "lower/etc/ssl/certs/ca-certificates.crt"), 0);
    fs_start_over("lower");
    trust();
    EXPECT_STR(fs_read_file(TRUST_BUNDLE + 1), "roots\n" SHOWN);
}

TEST(an_image_without_roots)
{
    below("bin");
    fs_start_over("lower");
    trust();
    EXPECT_STR(fs_read_file(TRUST_BUNDLE + 1), CERTIFICATE);
    expect_hashed();
}

TEST(a_subject_that_is_there_already)
{
    below("etc/ssl/certs");
    host_write("lower/etc/ssl/certs/0a1b2c3d.0", "another\n");
    fs_start_over("lower");
    trust();
    EXPECT_STR(fs_read_file("etc/ssl/certs/0a1b2c3d.0"), "another\n");
    EXPECT_STR(fs_read_file("etc/ssl/certs/0a1b2c3d.1"), CERTIFICATE);
}

TEST(an_image_in_which_nothing_can_be_made)
{
    mkdir("lower", 0755);
    host_write("lower/etc", "");
    host_write("lower/usr", "");
    fs_start_over("lower");
    trust();
    EXPECT_STR(fs_read_file("etc"), "");
    EXPECT_EQ(fs_try_open(TRUST_CERTIFICATE + 1, O_RDONLY, 0), -ENOTDIR);
}
