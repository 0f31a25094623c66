// SPDX-License-Identifier: Apache-2.0
/*
 * What the host image shows of the machine, and above all what it does not. There is nothing to ask
 * of a whole machine: natively all cases but the few that hold anywhere are skipped.
 */
#include "tests/sys/procfs_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>

static int count_names(const char *directory)
{
    DIR *d = opendir(directory);
    int count = 0;
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));)
        count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return count;
}

static void need_image(void)
{
    struct stat st;
    if (!harness_is_inside() || stat("/home/user", &st) < 0)
        SKIP("not in a sandbox with the host image");
}

static void expect_mode(const char *path, mode_t mode, uid_t uid)
{
    struct stat st;
    ASSERT_EQ(stat(path, &st), 0);
    EXPECT_EQ(st.st_mode, mode);
    EXPECT_EQ(st.st_uid, uid);
}

TEST(standard_directories)
{
    static const char *const names[] = {"/usr/bin", "/usr/lib", "/bin/sh", "/etc",
                                        "/tmp",     "/var/tmp", "/run",    "/proc",
                                        "/sys",     "/dev",     "/root"};
    struct stat st;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        EXPECT_EQ(stat(names[i], &st), 0);
}

TEST(temporary_directories_are_for_all)
{
    need_image();
    expect_mode("/tmp", S_IFDIR | 01777, 0);
    expect_mode("/var/tmp", S_IFDIR | 01777, 0);
    expect_mode("/run/lock", S_IFDIR | 01777, 0);
    expect_mode("/home/user", S_IFDIR | 0755, 1000);
    expect_mode("/root", S_IFDIR | 0700, 0);
    expect_mode("/run/user/1000", S_IFDIR | 0700, 1000);
}

TEST(secrets_are_not_there)
{
    static const char *const names[] = {"/etc/shadow",
                                        "/etc/shadow-",
                                        "/etc/gshadow",
                                        "/etc/passwd-",
                                        "/etc/ssl/private",
                                        "/etc/ssh",
                                        "/etc/sudoers.d",
                                        "/etc/crontab",
                                        "/etc/cron.d",
                                        "/etc/netrc",
                                        "/etc/npmrc",
                                        "/etc/pip.conf",
                                        "/etc/gitconfig",
                                        "/etc/krb5.keytab",
                                        "/etc/apt",
                                        "/etc/docker",
                                        "/etc/kubernetes",
                                        "/etc/NetworkManager",
                                        "/etc/wpa_supplicant",
                                        "/etc/profile.d",
                                        "/etc/systemd",
                                        "/etc/fstab.d",
                                        "/etc/postgresql",
                                        "/etc/mysql",
                                        "/var/lib/dpkg/status",
                                        "/var/lib/docker",
                                        "/var/log/syslog",
                                        "/var/backups/passwd.bak",
                                        "/root/.ssh",
                                        "/root/.bash_history",
                                        "/run/secrets",
                                        "/run/docker.sock",
                                        "/lost+found",
                                        "/.dockerenv",
                                        "/etc/ssl/certs/../private"};
    struct stat st;
    need_image();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool closed = !strncmp(names[i], "/root/", 6) && geteuid() != 0;
        EXPECT_ERRNO(lstat(names[i], &st), closed ? EACCES : ENOENT);
    }
}

TEST(other_homes_are_not_there)
{
    need_image();
    EXPECT_EQ(count_names("/home"), 1);
    EXPECT_EQ(count_names("/opt"), 0);
    EXPECT_EQ(count_names("/srv"), 0);
    EXPECT_EQ(count_names("/mnt"), 0);
    EXPECT_EQ(count_names("/var/log"), 0);
    EXPECT_EQ(count_names("/var/lib"), 0);
    EXPECT_EQ(count_names("/boot"), 0);
}

TEST(users_are_made_up)
{
    int lines = 0;
    need_image();
    ASSERT_GT(slurp("/etc/passwd"), 0);
    EXPECT_TRUE(!strncmp(text, "root:x:0:0:", 11));
    EXPECT_TRUE(strstr(text, "\nuser:x:1000:1000:") != NULL);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    EXPECT_EQ(lines, 8);
    ASSERT_GT(slurp("/etc/group"), 0);
    EXPECT_TRUE(strstr(text, "\nuser:x:1000:\n") != NULL);
    EXPECT_TRUE(strstr(text, "\nsudo:x:27:user\n") != NULL);
}

TEST(names_are_resolved_here)
{
    char hostname[65] = "";
    need_image();
    ASSERT_GT(slurp("/etc/resolv.conf"), 0);
    EXPECT_STR(text, "nameserver 127.0.0.53\n");
    ASSERT_EQ(gethostname(hostname, sizeof(hostname) - 1), 0);
    ASSERT_GT(slurp("/etc/hosts"), 0);
    EXPECT_TRUE(!strncmp(text, "127.0.0.1\tlocalhost ", 20));
    EXPECT_TRUE(strstr(text, hostname) != NULL);
    ASSERT_GT(slurp("/etc/hostname"), 0);
    text[strcspn(text, "\n")] = '\0';
    EXPECT_STR(text, hostname);
}

TEST(machine_id_has_its_form)
{
    need_image();
    ASSERT_EQ(slurp("/etc/machine-id"), 33);
    EXPECT_EQ(strspn(text, "0123456789abcdef"), 32);
}

TEST(top_level_links)
{
    char target[64] = "";
    struct stat a, b;
    need_image();
    if (readlink("/bin", target, sizeof(target) - 1) < 0)
        SKIP("the machine is not usr-merged");
    EXPECT_STR(target, "usr/bin");
    ASSERT_EQ(stat("/bin/sh", &a), 0);
    ASSERT_EQ(stat("/usr/bin/sh", &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
}

TEST(system_files_belong_to_root)
{
    struct stat st;
    need_image();
    ASSERT_EQ(stat("/usr/bin", &st), 0);
    EXPECT_EQ(st.st_uid, 0);
    EXPECT_EQ(st.st_gid, 0);
    ASSERT_EQ(stat("/etc/passwd", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 0644);
    ASSERT_EQ(stat("/etc/sudoers", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 0440);
}

TEST(system_files_cannot_be_changed_by_users)
{
    need_image();
    if (geteuid() == 0)
        SKIP("root may change its own copy");
    EXPECT_ERRNO(open("/etc/passwd", O_WRONLY), EACCES);
    EXPECT_ERRNO(open("/usr/bin/x", O_WRONLY | O_CREAT, 0755), EACCES);
    EXPECT_ERRNO(unlink("/etc/hosts"), EACCES);
    EXPECT_ERRNO(mkdir("/x", 0755), EACCES);
    EXPECT_ERRNO(open("/etc/sudoers", O_RDONLY), EACCES);
    EXPECT_ERRNO(open("/root", O_RDONLY), EACCES);
}

TEST(root_changes_its_own_copy)
{
    need_image();
    if (geteuid() != 0)
        SKIP("needs root");
    int fd = open("/etc/hosts", O_WRONLY | O_APPEND);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "# more\n", 7), 7);
    fd = open("/usr/bin/made-here", O_WRONLY | O_CREAT | O_EXCL, 0755);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(unlink("/usr/bin/made-here"), 0);
    ASSERT_EQ(rename("/etc/services", "/etc/moved"), 0);
    EXPECT_ERRNO(access("/etc/services", F_OK), ENOENT);
    EXPECT_EQ(rename("/etc/moved", "/etc/services"), 0);
}

/* Also a kernel that root started reads nothing for its guests that not everybody may read. */
TEST(private_files_of_the_host_stay_closed)
{
    static const char *const directories[] = {"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec"};
    int opened = 0;
    need_image();
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        DIR *d = opendir(directories[i]);
        struct stat st;
        for (struct dirent *e; d && (e = readdir(d));) {
            if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
                continue;
            int fd = openat(dirfd(d), e->d_name, O_RDONLY);
            char c;
            if (fd >= 0 && read(fd, &c, 1) >= 0) {
                EXPECT_TRUE(st.st_mode & 0004);
                opened++;
            }
            if (fd >= 0)
                close(fd);
        }
        if (d)
            closedir(d);
    }
    EXPECT_GT(opened, 20);
}

TEST(certificates_are_there)
{
    need_image();
    if (access("/usr/share/ca-certificates", F_OK) < 0)
        SKIP("the machine has none");
    ASSERT_GT(slurp("/etc/ssl/certs/ca-certificates.crt"), 0);
    EXPECT_TRUE(strstr(text, "BEGIN CERTIFICATE") != NULL);
    EXPECT_TRUE(strstr(text, "PRIVATE KEY") == NULL);
}
