// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox-server LISTENERS EGRESS PORTS MEMORY_MB CPUS_THOUSANDTHS DISK_MB [DOMAIN]
 *
 * Started by serve/launcher.c with the descriptors of lib/base/launch.h, ends with the channel.
 * LISTENERS: how many there are; EGRESS: "allow" or "deny", PORTS: "public" or "private", for
 * sandboxes whose creator says nothing; then the limits of each sandbox, 0: none; DOMAIN: under
 * which sandboxes are reached.
 */
#include "lib/base/launch.h"
#include "lib/base/map.h"
#include "lib/db/db.h"
#include "lib/tls/credentials.h"
#include "server/boxes.h"
#include "server/connection.h"
#include "server/front.h"
#include "server/hooks.h"
#include "server/json.h"
#include "server/keys.h"
#include "server/launcher.h"
#include "server/log.h"
#include "server/loop.h"
#include "server/metrics.h"
#include "server/measure.h"
#include "server/say.h"
#include "server/schema.h"
#include "server/seal.h"
#include "server/server.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

struct server server;

static void say(const char *level, const char *format, va_list args)
{
    char line[1200];
    size_t size = (size_t)snprintf(line, sizeof(line), "glovebox-server: ");
    int n = vsnprintf(line + size, sizeof(line) - size - 1, format, args);
    size = MIN(size + (size_t)MAX(n, 0), sizeof(line) - 2);
    line[size++] = '\n';
    say_line(line, size);
    line[size - 1] = '\0';
    log_say(level, line + sizeof("glovebox-server: ") - 1);
}

void server_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("warn", format, args);
    va_end(args);
}

void server_fail(const char *format, ...)
{
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    va_start(args, format);
    if (!launcher_failed(why))
        say("error", format, args);
    else
        log_say("error", why);
    va_end(args);
    log_flush();
    _exit(1);
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int64_t server_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t server_wall_ms(void)
{
    return read_clock(CLOCK_REALTIME) / NSEC_PER_MSEC;
}

static void open_records(void)
{
    char why[DB_WHY_MAX];
    int r = db_open(SERVER_DATABASE, schema_steps, ARRAY_SIZE(schema_steps), &server.db, why);
    if (r == -EBUSY)
        server_fail("another glovebox serve uses this state folder; end it, or give --state "
                    "another one");
    if (r < 0)
        server_fail("the records can't be opened: %s; see the state folder", why);
}

/* What is needed only at the start, and by the host's leave. */
static void begin(char **ret_key)
{
    uint64_t starts = 0, seed;
    const char *what;
    signal(SIGPIPE, SIG_IGN);
    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        server_fail("start: the machine has no random numbers; try again");
    map_seed(seed);
    json_start();
    int r = tls_credentials_start();
    if (r == 0)
        r = text_start();
    if (r == 0)
        r = loop_start();
    if (r == 0)
        r = launcher_start(ret_key, &starts);
    metrics_start(starts);
    if (r < 0)
        server_fail("start: %s; free memory and try again", strerror(-r));
    r = server_enter(&what);
    if (r < 0)
        server_fail("start: %s: %s; see glovebox doctor", what, strerror(-r));
    open_records();
    r = server_seal(&what);
    if (r < 0)
        server_fail("start: %s: %s; see glovebox doctor", what, strerror(-r));
}

static void accept_clients(int count)
{
    int listeners[LAUNCH_LISTENERS_MAX];
    for (int i = 0; i < count; i++)
        listeners[i] = LAUNCH_LISTENER_FD + i;
    int r = connections_start(listeners, (size_t)count, front_find, front_look_again);
    if (r < 0)
        server_fail("start: %s; free memory and try again", strerror(-r));
}

static bool end_turn(void)
{
    bool has_more = connections_advance();
    log_flush();
    return has_more;
}

int main(int argc, char **argv)
{
    char *given, made[API_KEY_SIZE + 1];
    int count = argc > 1 ? atoi(argv[1]) : 0;
    say_start();
    if (argc < 7 || count < 1 || count > LAUNCH_LISTENERS_MAX)
        server_fail("only glovebox serve starts this program");
    server.allows_egress = !strcmp(argv[2], "allow");
    server.has_public_ports = !strcmp(argv[3], "public");
    server.memory_mb = atoll(argv[4]);
    server.cpus_thousandths = atoll(argv[5]);
    server.disk_mb = atoll(argv[6]);
    server.domain = argc > 7 ? argv[7] : NULL;
    server.started_ms = server_wall_ms();
    begin(&given);
    int r = keys_start(given, made);
    if (r == -EINVAL)
        server_fail("the given API key is none; it is e2b_ and 40 of 0-9 a-f");
    if (r < 0)
        server_fail("the keys can't be read or written: %s; see the state folder", strerror(-r));
    explicit_bzero(given, strlen(given));
    free(given);
    r = boxes_recover();
    if (r < 0)
        server_fail("the records of sandboxes can't be read: %s; see the state folder",
                    strerror(-r));
    measure_start();
    r = hooks_start();
    if (r < 0)
        server_fail("the records of webhooks can't be read: %s", strerror(-r));
    accept_clients(count);
    launcher_ready(made);
    explicit_bzero(made, sizeof(made));
    for (;;)
        loop_turn(end_turn);
}
