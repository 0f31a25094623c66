// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/image/known_hosts.h"

#include "kernel/core/kernel.h"
#include "kernel/fs/image/place.h"

#define FOLDER "/etc/ssh"

static int add(const char *text, struct super *s)
{
    const char *name =
        image_has(FOLDER "/ssh_known_hosts") ? "ssh_known_hosts2" : "ssh_known_hosts";
    int r = image_make_directories(FOLDER);
    return r < 0 ? r : image_add_text(s, FOLDER, name, 0644, text);
}

int image_known_hosts_add(const char *text, struct super *s)
{
    int r = add(text, s);
    if (r < 0 && r != -ENOMEM)
        kernel_log("the keys of SSH servers: %s: %s; clients ask whether a server's key is right, "
                   "give them an image where it can be made",
                   FOLDER, strerror(-r));
    return r == -ENOMEM ? r : 0;
}
