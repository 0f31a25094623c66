// SPDX-License-Identifier: Apache-2.0
/*
 * A client that was not written for this: Python's ssl, as strict as it can be made (X.509 checks
 * that Python 3.13 makes by default), in its own process at the end of a socket pair.
 */
#include "tests/unit/tls_support.h"

#include <openssl/pem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define NAME "api.good.test"

/* Argument: the name to ask for. Its exit status is what came of it; 77: there is no such Python.
 */
static const char program[] =
    "import socket, ssl, sys\n"
    "context = ssl.create_default_context(cafile='authority.pem')\n"
    "context.verify_flags |= ssl.VERIFY_X509_STRICT\n"
    "context.set_alpn_protocols(['h2', 'http/1.1'])\n"
    "try:\n"
    "    s = context.wrap_socket(socket.socket(fileno=3), server_hostname=sys.argv[1],\n"
    "                            suppress_ragged_eofs=False)\n"
    "except ssl.SSLCertVerificationError:\n"
    "    sys.exit(3)\n"
    "assert s.selected_alpn_protocol() == 'http/1.1'\n"
    "s.sendall(b'q' * 100000)\n"
    "got = b''\n"
    "while True:\n"
    "    piece = s.recv(5000)\n"
    "    if not piece:\n"
    "        break\n"
    "    got += piece\n"
    "s.unwrap()\n"
    "sys.exit(0 if got == b'a' * 200000 else 4)\n";

static struct tls_authority *authority;

static void write_authority(void)
{
    uint8_t der[TLS_CERTIFICATE_MAX_BYTES];
    const uint8_t *at = der;
    X509 *root = d2i_X509(NULL, &at, tls_authority_certificate(authority, der, sizeof(der)));
    FILE *f = fopen("authority.pem", "w");
    ASSERT_TRUE(f && root && PEM_write_X509(f, root) && fclose(f) == 0);
    X509_free(root);
}

static pid_t start_python(int fd, const char *name)
{
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        dup2(fd, 3);
        execlp("python3", "python3", "-I", "-c", program, name, NULL);
        _exit(77);
    }
    close(fd);
    return pid;
}

static void send_pending(struct tls_session *s, int fd)
{
    const uint8_t *data;
    size_t size;
    for (tls_session_pending(s, &data, &size); size > 0; tls_session_pending(s, &data, &size)) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        tls_session_sent(s, (size_t)n);
    }
}

/* Hears the request, then answers; returns how much of the request came. */
static size_t serve(struct tls_session *s, int fd)
{
    static char bytes[TLS_SESSION_IN_MAX_BYTES], answer[200000];
    size_t heard = 0, said = 0, taken, n;
    ssize_t got;
    memset(answer, 'a', sizeof(answer));
    while ((got = recv(fd, bytes, tls_session_room(s), 0)) > 0) {
        tls_session_take(s, bytes, (size_t)got, &taken);
        EXPECT_EQ(taken, got);
        while ((n = tls_session_read(s, bytes, sizeof(bytes))) > 0)
            heard += n;
        while (heard == 100000 && said < sizeof(answer)) {
            said += tls_session_write(s, answer + said, sizeof(answer) - said);
            if (said == sizeof(answer))
                tls_session_close(s);
            send_pending(s, fd);
        }
        send_pending(s, fd);
        if (tls_session_progress(s) > TLS_OPEN)
            break;
    }
    return heard;
}

static int converse(const char *asked, const char *shown, enum tls_progress *ret_progress)
{
    int fds[2], status;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    pid_t pid = start_python(fds[1], asked);
    struct tls_session *s = tls_session_accept(authority, shown, time(NULL));
    ASSERT_TRUE(s);
    size_t heard = serve(s, fds[0]);
    close(fds[0]);
    *ret_progress = tls_session_progress(s);
    EXPECT_TRUE(heard == 0 || heard == 100000);
    tls_session_free(s);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        SKIP("no python3");
    return WEXITSTATUS(status);
}

TEST(strict_python)
{
    enum tls_progress progress;
    authority = tls_authority_new("box", time(NULL));
    ASSERT_TRUE(authority);
    write_authority();
    EXPECT_EQ(converse(NAME, NAME, &progress), 0);
    EXPECT_EQ(progress, TLS_CLOSED);
    EXPECT_EQ(converse("192.0.2.1", "192.0.2.1", &progress), 0);
    EXPECT_EQ(converse("2001:db8::1", "2001:db8::1", &progress), 0);
    /* It does look. */
    EXPECT_EQ(converse(NAME, "other.good.test", &progress), 3);
    EXPECT_EQ(progress, TLS_FAILED);
    tls_authority_free(authority);
}
