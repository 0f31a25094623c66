// SPDX-License-Identifier: Apache-2.0
#include "sandbox/forget.h"

#include "sandbox/decisions.h"
#include "sandbox/ended.h"

static bool is_running(struct registry *registry, const char *name)
{
    _cleanup_free_ char *text = NULL;
    return registry_read(registry, name, &text) != -ENOENT; /* or that can't be known */
}

int forget_ended(struct registry *registry, const char *name, struct sandbox_error *e)
{
    if (is_running(registry, name))
        return sandbox_error_set(e, -EBUSY,
                                 "%s: it is running; end it with glovebox stop, or both with "
                                 "glovebox rm -f",
                                 name);
    int decisions = kept_forget(registry->folder, DECISIONS_FOLDER, name);
    int r = kept_forget(registry->folder, ENDED_FOLDER, name);
    r = r < 0 ? r : decisions < 0 ? decisions : r + decisions;
    if (r < 0)
        return sandbox_error_set(e, r, "%s: %s; make %s writable", name, strerror(-r),
                                 registry->path);
    if (r == 0)
        return sandbox_error_set(e, -ENOENT,
                                 "%.*s: nothing is known of a sandbox of this name; glovebox ps -a "
                                 "lists those that are known",
                                 REGISTRY_NAME_MAX_BYTES, name);
    return 0;
}
